"""The front door: one address for clients, in front of the Loop. Knows the wire, nothing about what it carries."""
