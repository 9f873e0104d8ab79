"""docs/tutorial.md is true: its module has under 60 lines, its test passes, it is served and talked to as printed."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapter_service.domain_registry import load_domains
from adapter_service.sdk import Tool, wrap
from adapter_service.sdk.wrapping import ToolOptions
from gateway.cli.processes import ADAPTER, free_loopback_ports
from tests.domains.tutorial import ROOT, TUTORIAL, block
from tests.fakes.processes import running_stack

PRINTED_ADAPTER = "127.0.0.1:50052"
NAME = "incident_desk"


def run(arguments: list[str], folder: Path, typed: str = "") -> subprocess.CompletedProcess[str]:
    """A command in the folder of the tutorial's files."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, input=typed, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_module_has_fewer_than_sixty_lines_and_imports_the_sdk_only() -> None:
    lines = block("incident_desk.py").splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) <= 120
    imported = {found for line in lines for found in re.findall(r"^(?:from|import) ([\w.]+)", line)}
    assert {name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names} == {
        "adapter_service.sdk"
    }


def test_its_test_passes_as_printed_and_fails_without_the_validator(tmp_path: Path) -> None:
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"test_{NAME}.py"]
    (tmp_path / f"test_{NAME}.py").write_text(block(f"test_{NAME}.py"), "utf-8")
    module = block(f"{NAME}.py")
    (tmp_path / f"{NAME}.py").write_text(module, "utf-8")
    passed = run(command, tmp_path)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    (tmp_path / f"{NAME}.py").write_text(
        module.replace('        validator(check_incident, "incident"),\n', ""), "utf-8"
    )
    failed = run(command, tmp_path)
    assert failed.returncode == 1
    assert "expected question, but got approval “File incident" in failed.stdout


def test_a_result_that_is_a_list_is_used_as_it_says(tmp_path: Path) -> None:
    assert "draft incident $1.0.service high" in TUTORIAL
    (tmp_path / f"{NAME}.py").write_text(block(f"{NAME}.py"), "utf-8")
    (tmp_path / "said.py").write_text(
        "import asyncio\n"
        "from adapter_service.testing import running_domain\n"
        "from incident_desk import create_domain\n"
        "async def talk():\n"
        "    async with running_domain(create_domain) as desk:\n"
        "        waiting = await desk.say('draft_incident mail high; file_incident')\n"
        "        print((await waiting.approve(by='duty officer')).tools)\n"
        "        made = await desk.say('list incidents mail; draft incident $1.0.service high')\n"
        "        print(made.made[-1].content['service'])\n"
        "        print((await desk.say('list incidents mail; draft incident $1.service high')).failure_code)\n"
        "asyncio.run(talk())\n",
        "utf-8",
    )
    said = run(["said.py"], tmp_path)
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stdout.splitlines() == ["('file_incident',)", "mail", "entity_not_found"]


def test_it_is_served_and_talked_to_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"{NAME}.py").write_text(block(f"{NAME}.py"), "utf-8")
    adapter = f"127.0.0.1:{free_loopback_ports(1)[0]}"
    settings = dict(re.findall(r"^export (\w+)=(.*)$", TUTORIAL, re.MULTILINE))
    assert set(settings) == {"HANDRAIL_ADAPTER_DOMAINS", "HANDRAIL_ADAPTERS"}
    settings = {name: value.replace(PRINTED_ADAPTER, adapter) for name, value in settings.items()}
    monkeypatch.chdir(tmp_path)  # the services are started "in the folder of the module"
    data = tmp_path / "data"
    with running_stack(data, {**settings, ADAPTER.listen_setting: adapter}) as stack:
        (command,) = re.findall(r"^`handrail (chat [^`]+)`", TUTORIAL, re.MULTILINE)
        typed = block("typed") + "/quit\n"
        said = run(["-m", "gateway.cli", *command.split(), "--address", stack.gateway.target], tmp_path, typed)
    assert said.returncode == 0, said.stdout + said.stderr
    at = 0
    for line in block("shown").splitlines():
        found = said.stdout.find(line, at)
        assert found >= 0, f"{line!r} is not shown after position {at}:\n{said.stdout}"
        at = found
    (filed,) = (data / "domains" / NAME / "incidents.jsonl").read_text("utf-8").splitlines()
    assert {name: json.loads(filed)[name] for name in ("service", "severity", "summary")} == {
        "service": "mail",
        "severity": "critical",
        "summary": "The queue is stuck",
    }


def test_a_mistake_in_it_refuses_the_start_with_exit_code_2(tmp_path: Path) -> None:
    broken = (
        block(f"{NAME}.py").replace('slots={"service":', 'slots={"sevice":').replace('makes="incident", rev', "rev")
    )
    (tmp_path / f"{NAME}.py").write_text(broken, "utf-8")
    environment = {
        **os.environ,
        "HANDRAIL_DATA_DIR": str(tmp_path),
        "HANDRAIL_ADAPTER_DOMAINS": f"{NAME}:create_domain",
    }
    started = subprocess.run(
        [sys.executable, "-m", "adapter_service"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert started.returncode == 2
    assert "Traceback" not in started.stderr
    assert "did you mean service?" in started.stderr
    assert "tool change_incident: a DRAFT tool needs makes=" in started.stderr


def test_a_package_announces_it_by_the_printed_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (printed,) = re.findall(r"^```toml\n(.*?)^```$", TUTORIAL, re.DOTALL | re.MULTILINE)
    ((group, points),) = tomllib.loads(printed)["project"]["entry-points"].items()
    installed = tmp_path / "site-packages"
    information = installed / f"{NAME}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (information / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (installed / f"{NAME}.py").write_text(block(f"{NAME}.py"), "utf-8")
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    found = load_domains(None, (NAME,), tmp_path, lambda: datetime(2030, 1, 1, tzinfo=UTC))
    assert list(found) == [NAME]


def test_every_option_that_the_text_names_exists() -> None:
    (example,) = re.findall(r"`(wrap\(….*?\))` overrides", TUTORIAL, re.DOTALL)
    named = set(re.findall(r"(\w+)=", example)) - {"seconds", "requester_may_approve"}
    assert len(named) >= 5
    assert named <= set(inspect.signature(wrap).parameters) | set(ToolOptions.__annotations__)
    (listed,) = re.findall(r"among it (.*?)\. Texts", TUTORIAL, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", listed)) <= set(Tool.__dataclass_fields__)


def test_the_readme_leads_to_the_tutorial() -> None:
    assert "(docs/tutorial.md)" in (ROOT / "README.md").read_text("utf-8")
