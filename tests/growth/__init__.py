"""What grows with history and what waiting costs, counted on all three services with the benchmark's domain."""
