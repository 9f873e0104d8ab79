"""`python -m loop_service` serves; `python -m loop_service migrate` applies the migrations of its database."""

from __future__ import annotations

import sys

from handrail_rpc.errors import StartRefused, Unavailable
from handrail_rpc.logging import configure_logging
from handrail_rpc.server import run_process
from handrail_rpc.settings import load_settings
from loop_service.bootstrap import migrate_database, serve
from loop_service.config import LoopSettings

USAGE = "usage: python -m loop_service [migrate]"


async def _run() -> None:
    arguments = sys.argv[1:]
    if arguments not in ([], ["migrate"]):
        raise StartRefused(USAGE)
    settings = load_settings(LoopSettings)
    configure_logging("handrail-loop", settings.log_level)
    if arguments:
        try:
            before, after = migrate_database(settings)
        except Unavailable as error:
            raise StartRefused(error.message, exit_code=1) from error
        done = "is up to date at" if before == after else f"migrated from {before or 'nothing'} to"
        sys.stdout.write(f"loop database {done} {after}\n")
        return
    await serve(settings)


if __name__ == "__main__":
    run_process(_run)
