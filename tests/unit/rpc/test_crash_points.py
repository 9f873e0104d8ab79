"""The crash points' own behaviour: what is chosen, when a process ends there, and what a wrong name is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from handrail_rpc import crash_points
from handrail_rpc.crash_points import POINTS, parse, reply_point
from handrail_rpc.errors import StartRefused
from handrail_rpc.settings import load_settings
from loop_service.config import LoopSettings

NAME = "loop.send_message.accept.after_commit"
OTHER = "adapter.tool.before"


def _run(chosen: str, *reached: str) -> subprocess.CompletedProcess[str]:
    """A process that reaches points in turn and prints each that it survived."""
    code = "import sys\nfrom handrail_rpc import crash_points\nprint(crash_points.chosen, flush=True)\n"
    code += "for name in sys.argv[1:]:\n    crash_points.reach(name)\n    print(name, flush=True)\n"
    environment = os.environ | {crash_points.VARIABLE: chosen}
    return subprocess.run(
        [sys.executable, "-c", code, *reached], capture_output=True, text=True, env=environment, timeout=30, check=False
    )


def test_without_the_variable_a_point_is_nothing() -> None:
    ran = _run("", NAME, OTHER)
    assert (ran.returncode, ran.stdout.split()) == (0, ["False", NAME, OTHER])
    assert not crash_points.chosen, "no test process has a crash point"


def test_a_process_is_killed_at_the_nth_time_and_says_where() -> None:
    ran = _run(f"{OTHER},{NAME}:3", NAME, NAME, NAME, NAME)
    assert ran.returncode == -signal.SIGKILL
    assert ran.stdout.split() == ["True", NAME, NAME]
    assert NAME in ran.stderr


def test_points_in_a_file_are_used_up_by_the_crash(tmp_path: Path) -> None:
    file = tmp_path / "points"
    chosen = f"@{file}"
    assert _run(chosen, NAME).returncode == 0, "there is no file yet"
    file.write_text(f"{OTHER}:2,{NAME}")
    assert _run(chosen, OTHER, NAME).returncode == -signal.SIGKILL
    assert not file.exists()
    assert file.with_name("points.reached").read_text() == NAME
    assert _run(chosen, OTHER, OTHER, NAME).returncode == 0, "a restart is unharmed"


@pytest.mark.parametrize("text", ["loop.nowhere", NAME.upper(), f"{NAME}:0", f"{NAME}:x", f"{NAME},", " "])
def test_a_wrong_choice_refuses_the_start_with_the_accepted_names(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(crash_points.VARIABLE, text)
    with pytest.raises(StartRefused) as refused:
        load_settings(LoopSettings)
    told = str(refused.value)
    assert crash_points.VARIABLE in told
    assert all(name in told for name in POINTS)


def test_names_and_counts_are_read() -> None:
    assert parse(f" {NAME} , {OTHER}:12") == {NAME: 1, OTHER: 12}


def test_a_reply_has_its_own_point_or_that_of_queries() -> None:
    assert reply_point("loop.reply", "handrail.loop.v1.WorkflowLoopService/SendMessage") == "loop.reply.send_message"
    assert reply_point("loop.reply", "handrail.loop.v1.WorkflowLoopService/ListPending") == "loop.reply.query"
    assert reply_point("adapter.reply", "handrail.adapter.v1.ArtifactService/ReadArtifact") == "adapter.reply.query"
