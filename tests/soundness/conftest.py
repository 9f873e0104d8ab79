"""A real Adapter with the probe domain on a real SQLite file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.adapter_harness import Probe, running_probe


@pytest.fixture
async def probe(tmp_path: Path) -> AsyncIterator[Probe]:
    async with running_probe(tmp_path) as running:
        yield running
