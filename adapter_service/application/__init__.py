"""Use cases of the Adapter, one module each. They know ports and domain data, neither gRPC nor SQL."""
