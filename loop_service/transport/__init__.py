"""gRPC servicers: convert, execute, convert."""
