"""The end-to-end tests talk to three real processes through the gateway; most share one stack of a session."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from gateway.cli.client import HandrailClient, connect
from gateway.cli.processes import Stack
from handrail_rpc.context import Caller
from tests.fakes.processes import running_stack


@pytest.fixture(scope="session")
def handrail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One stack for the tests that break nothing."""
    with running_stack(tmp_path_factory.mktemp("handrail")) as stack:
        yield stack


@pytest.fixture
def caller() -> Caller:
    """A principal of its own for each test, so that no test sees another's inbox."""
    return Caller(principal=f"tester-{uuid.uuid4().hex[:12]}")


@pytest_asyncio.fixture
async def client(handrail: Stack, caller: Caller) -> AsyncIterator[HandrailClient]:
    async with connect(handrail.gateway.target, caller) as connected:
        yield connected
