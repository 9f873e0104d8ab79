"""A real Adapter process that serves the probe domain; killed and restarted by tests.

Run as `python -m tests.fakes.probe_adapter DATA_DIR PORT`. Effects are kept in DATA_DIR/effects.txt.
"""

from __future__ import annotations

import sys
from pathlib import Path

from adapter_service.bootstrap import migrate_database, start
from adapter_service.config import AdapterSettings
from handrail_rpc import telemetry
from handrail_rpc.logging import configure_logging
from handrail_rpc.server import run_process
from handrail_rpc.settings import ListenAddress
from tests.fakes.probe_domain import World, make_domain


async def main(folder: Path, port: int) -> None:
    """Migrate, serve, and print the port once it listens."""
    settings = AdapterSettings(listen=ListenAddress("127.0.0.1", port), data_dir=folder)
    migrate_database(settings)
    running = await start(settings, domains=[make_domain(World(folder=folder))])
    sys.stdout.write(f"{running.port}\n")
    sys.stdout.flush()
    await running.server.serve()


if __name__ == "__main__":
    configure_logging("adapter")
    telemetry.configure("handrail-adapter")
    run_process(lambda: main(Path(sys.argv[1]), int(sys.argv[2])))
