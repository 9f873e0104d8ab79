"""`python -m adapter_service`: the Domain Adapter; `… migrate` applies migrations (contract.md 'Processes')."""

from __future__ import annotations

import argparse
import asyncio
import sys

from adapter_service.bootstrap import migrate_database, run_adapter
from adapter_service.config import AdapterSettings
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m adapter_service",
        description="Handrail's Domain Adapter. Settings are environment variables: HANDRAIL_ADAPTER_LISTEN, "
        "HANDRAIL_ADAPTER_DATABASE_URL, HANDRAIL_DATA_DIR, HANDRAIL_ADAPTER_DOMAINS, HANDRAIL_LOG_LEVEL.",
    )
    parser.add_argument("command", nargs="?", choices=["migrate"], help="apply migrations and exit")
    run_process(_migrate if parser.parse_args().command == "migrate" else _serve)
