"""gRPC servicers: convert, execute, convert. Registered by bootstrap."""
