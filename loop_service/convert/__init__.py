"""The one place where domain values and protobuf messages meet. Pure functions."""
