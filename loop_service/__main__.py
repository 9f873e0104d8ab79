"""`python -m loop_service` serves; `python -m loop_service migrate` applies the migrations of its database.

`… restored` renews the history of a database that was put back from a backup.
"""

from __future__ import annotations

import sys

from handrail_rpc.errors import StartRefused, Unavailable
from handrail_rpc.logging import configure_logging
from handrail_rpc.server import run_process
from handrail_rpc.settings import load_settings
from loop_service.bootstrap import migrate_database, renew_database_history, serve
from loop_service.config import LoopSettings

USAGE = "usage: python -m loop_service [migrate | restored]"


async def _run() -> None:
    arguments = sys.argv[1:]
    if arguments not in ([], ["migrate"], ["restored"]):
        raise StartRefused(USAGE)
    settings = load_settings(LoopSettings)
    configure_logging("handrail-loop", settings.log_level)
    if arguments:
        command = migrate_database if arguments == ["migrate"] else renew_database_history
        try:
            before, after = command(settings)
        except Unavailable as error:
            raise StartRefused(error.message, exit_code=1) from error
        if arguments == ["restored"]:
            sys.stdout.write(f"loop database has the history {after} now, before: {before}\n")
            return
        done = "is up to date at" if before == after else f"migrated from {before or 'nothing'} to"
        sys.stdout.write(f"loop database {done} {after}\n")
        return
    await serve(settings)


if __name__ == "__main__":
    run_process(_run)
