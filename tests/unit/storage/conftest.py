"""The open database that most tests of the storage write to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from handrail_storage import Database
from tests.unit.storage.writing import COUNTER, METADATA, ignore


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    async with Database(f"sqlite:///{tmp_path}/test.db") as opened:
        await opened.write(METADATA.create_all)
        await opened.write(lambda c: ignore(c.execute(sa.insert(COUNTER).values(id=1, n=0))))
        yield opened
