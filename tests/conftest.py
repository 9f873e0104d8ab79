"""What holds for every test: a property is judged by what it finds, never by how long one example took.

Services in the test's own process log plain lines: structlog's own rendering of a traceback, with every local value,
takes longer than the test that provokes it.

No test connects to another machine: the one model provider that there can be is the fake one (tests/fakes/provider.py).
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import settings

settings.register_profile("handrail", deadline=None)
settings.load_profile("handrail")
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)


@pytest.fixture(autouse=True, scope="session")
def _only_this_machine() -> Iterator[None]:
    """Python's own connections (a model's SDK among them) reach loopback only; gRPC's are made elsewhere."""
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(str(address[0])):
            raise ConnectionRefusedError(f"a test tried to connect to {address[0]}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect_here)
        yield


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
