"""`python -m adapter_service`: the Domain Adapter; `… migrate` applies migrations (contract.md 'Processes').

`… restored` renews the history of a database that was put back from a backup.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from adapter_service.bootstrap import migrate_database, renew_database_history, run_adapter
from adapter_service.config import AdapterSettings
from handrail_rpc.errors import StartRefused, Unavailable
from handrail_rpc.logging import configure_logging
from handrail_rpc.server import run_process
from handrail_rpc.settings import load_settings


async def _serve() -> None:
    settings = load_settings(AdapterSettings)
    configure_logging("handrail-adapter", settings.log_level)
    await run_adapter(settings)


async def _migrate() -> None:
    settings = load_settings(AdapterSettings)
    configure_logging("handrail-adapter", settings.log_level)
    before, after = await asyncio.to_thread(migrate_database, settings)
    done = "is up to date at" if before == after else f"migrated from {before or 'nothing'} to"
    sys.stdout.write(f"adapter database {done} {after}\n")


async def _restored() -> None:
    settings = load_settings(AdapterSettings)
    configure_logging("handrail-adapter", settings.log_level)
    try:
        before, after = await asyncio.to_thread(renew_database_history, settings)
    except Unavailable as error:
        raise StartRefused(error.message, exit_code=1) from error
    sys.stdout.write(f"adapter database has the history {after} now, before: {before}\n")


_COMMANDS = {None: _serve, "migrate": _migrate, "restored": _restored}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m adapter_service",
        description="Handrail's Domain Adapter. Settings are environment variables: HANDRAIL_ADAPTER_LISTEN, "
        "HANDRAIL_ADAPTER_DATABASE_URL, HANDRAIL_DATA_DIR, HANDRAIL_ADAPTER_DOMAINS, HANDRAIL_LOG_LEVEL.",
    )
    parser.add_argument(
        "command",
        nargs="?",
        choices=["migrate", "restored"],
        help="migrate: apply migrations and exit; restored: after a backup was put back, renew the history and exit",
    )
    run_process(_COMMANDS[parser.parse_args().command])
