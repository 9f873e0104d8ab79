"""What a process imports before it serves: imports are most of a restart's time (docs/performance.md, Restart)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_DEAR = ("sqlalchemy.dialects.postgresql", "sqlalchemy.orm", "sqlalchemy.ext.asyncio", "alembic", "typer", "pip")


@pytest.mark.parametrize("service", ["loop_service", "adapter_service", "gateway"])
def test_a_start_imports_nothing_that_serving_does_not_need(service: str) -> None:
    code = f"import sys, {service}.__main__; print(*(name for name in {_DEAR!r} if name in sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
