"""Tables, stores and the unit of work of the Loop's own database."""
