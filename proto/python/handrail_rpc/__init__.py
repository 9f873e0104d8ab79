"""What every Handrail process and client shares about the wire; nothing here knows a domain or the loop.

The light part (errors, status, digest, context, channel) needs gRPC and protobuf only. `server`, `telemetry`,
`settings`, `logging` and `interceptors` need the `[server]` extra.
"""

import os

# gRPC's core would write its own informational lines (a peer's goaway) between our JSON lines on stderr. It reads this
# once, when it is first imported, so it is set before any module here imports it; a value that is set already wins.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
