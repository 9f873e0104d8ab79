"""Runs a domain in a test, without processes and without a network: what domain authors import in their tests.

The real engine decides and executes, over a database in a temporary folder; only the Loop's part is played here.
docs/tutorial.md shows it.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path

import structlog

from adapter_service.bootstrap import RunningAdapter, migrate_database, random_id, system_clock
from adapter_service.config import AdapterSettings
from adapter_service.domain_registry import DomainSource, load_domains
from adapter_service.testing.replies import Approval, Artifact, Reply
from adapter_service.testing.session import DomainSession
from handrail_rpc.settings import ListenAddress, default_database_url

__all__ = ["Approval", "Artifact", "DomainSession", "Reply", "running_domain"]


@asynccontextmanager
async def running_domain(
    domain: DomainSource,
    *,
    locale: str = "en",
    principal: str = "author",
    roles: Iterable[str] = ("*",),
    settings: Mapping[str, str] | None = None,
    clock: Callable[[], datetime] = system_clock,
) -> AsyncIterator[DomainSession]:
    """A conversation with a domain, or with what its factory makes, below a temporary folder.

    Args:
        locale: "en" or "ru".
        principal, roles: who talks; the role "*" stands for every role.
        settings: environment variables of the domain, such as the one that names the folder of its workspace; the
            environment itself is not read.
        clock: the Adapter's time, UTC.

    Raises StartRefused where the domain is declared wrongly, with every mistake and its fix.
    """
    with tempfile.TemporaryDirectory(prefix="handrail-domain-") as folder:
        service = AdapterSettings(
            listen=ListenAddress("127.0.0.1", 0),
            data_dir=Path(folder),
            # Whatever the environment says: a test never touches another database.
            database=default_database_url(Path(folder), "adapter"),
        )
        environment = dict(settings or {})
        domains = load_domains([domain], None, service.data_dir, clock, environment)
        migrate_database(service)
        running = RunningAdapter(service, domains, clock, random_id, environment)
        with _readable_warnings():
            try:
                await running.open_without_listening()
                (name,) = domains
                yield DomainSession(running, name, locale=locale, principal=principal, roles=roles)
            finally:
                await running.stop()


@contextmanager
def _readable_warnings() -> Iterator[None]:
    """What goes wrong is printed with the author's line of code, where nobody has set up structlog otherwise."""
    if structlog.is_configured():
        yield
        return
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.reset_defaults()
