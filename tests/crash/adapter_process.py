"""A real Adapter process that serves the lasting probe domain and the pages: `python -m tests.crash.adapter_process`.

Its settings come from the environment, as for `python -m adapter_service`; tests.crash.site migrates its database.
"""

from __future__ import annotations

from adapter_service.bootstrap import start
from adapter_service.config import AdapterSettings
from handrail_rpc.logging import configure_logging
from handrail_rpc.server import run_process
from handrail_rpc.settings import load_settings
from tests.crash.domain import LastingWorld, lasting_domain
from tests.fakes.pages_domain import PagesWorld, make_pages_domain


async def main() -> None:
    settings = load_settings(AdapterSettings)
    configure_logging("handrail-adapter", settings.log_level)
    domains = [lasting_domain(LastingWorld(folder=settings.data_dir)), make_pages_domain(PagesWorld())]
    running = await start(settings, domains=domains)
    await running.server.serve()


if __name__ == "__main__":
    run_process(main)
