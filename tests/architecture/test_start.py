"""What a process imports before it serves: imports are most of a restart's time (docs/performance.md, Restart)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_DEAR = (
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.orm",
    "sqlalchemy.ext.asyncio",
    "alembic",
    "typer",
    "pip",
    "anthropic",
    "httpx2",
)


@pytest.mark.parametrize("service", ["loop_service", "adapter_service", "gateway"])
def test_a_start_imports_nothing_that_serving_does_not_need(service: str) -> None:
    code = f"import sys, {service}.__main__; print(*(name for name in {_DEAR!r} if name in sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


@pytest.mark.parametrize("model", ["", "fake-model"])
def test_the_models_sdk_is_imported_only_where_a_model_is_configured(tmp_path: Path, model: str) -> None:
    code = """
import asyncio, sys
from loop_service.bootstrap import start
from loop_service.config import LoopSettings

async def main():
    running = await start(LoopSettings(), migrate_first=True)
    await running.ready.wait()
    await running.stop()

asyncio.run(main())
print("anthropic" in sys.modules)
"""
    configured = {"HANDRAIL_LOOP_MODEL": model, "HANDRAIL_LOOP_MODEL_KEY": "key"} if model else {}
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HANDRAIL_")},
        "HANDRAIL_DATA_DIR": str(tmp_path),
        "HANDRAIL_LOOP_LISTEN": "127.0.0.1:0",
        **configured,
    }
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split()[-1] == str(bool(model))
