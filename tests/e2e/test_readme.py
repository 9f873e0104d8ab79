"""The README's client program, its probe commands and its chat, run as they are printed, against the real processes;
and that the commands, targets and files it names exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import typer.main

from gateway.cli.main import app
from gateway.cli.processes import Stack

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BIN = Path(sys.executable).parent
PRINTED_ADDRESS = "127.0.0.1:50050"


def test_the_client_program_of_the_readme_gets_its_answer(handrail: Stack) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert PRINTED_ADDRESS in program
    program = program.replace(PRINTED_ADDRESS, handrail.gateway.target)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split()[1] == "run_started"
    assert any(line.endswith(" completed") for line in lines)
    assert "Heathrow" in lines[-1]
    assert "EGLL" in lines[-1]


def test_the_probe_commands_of_the_readme_succeed(handrail: Stack) -> None:
    (block,) = re.findall(r"## Probe it\n\n```\n(.*?)```", README, re.DOTALL)
    conversation_id = "conv_…"
    commands = block.replace("\\\n", " ").strip().splitlines()
    assert len(commands) == 5
    for command in commands:
        words = shlex.split(
            command.replace(PRINTED_ADDRESS, handrail.gateway.target).replace("conv_…", conversation_id)
        )
        words[0] = str(BIN / words[0])
        result = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
        if found := re.search(r'"conversationId": "(conv_\w+)"', result.stdout):
            conversation_id = found.group(1)
        if "SendMessage" in command:
            assert '"completed"' in result.stdout


def test_the_chat_about_documents_answers_from_the_folder(handrail: Stack, tmp_path: Path) -> None:
    (command,) = re.findall(r"`handrail (chat --[^`]+)`", README)
    assert "FOLDER" in command
    (tmp_path / "guide.md").write_text("# Guide\n\n## Retries\n\nA failed call is retried three times.\n", "utf-8")
    words = shlex.split(command.replace("FOLDER", str(tmp_path)))
    result = subprocess.run(
        [str(BIN / "handrail"), *words, "--address", handrail.gateway.target],
        input="what do the docs say about retries?\n/quit\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "> A failed call is retried three times." in result.stdout


def test_what_the_readme_names_exists() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README)
    folders = re.findall(r"^\| `([\w/]+)` \|", README, re.MULTILINE)
    assert {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} == set(links), "each document has its link"
    assert len(folders) >= 8
    assert [path for path in folders if not (ROOT / path).exists()] == []
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:`|^)make ([a-z-]+)", README, re.MULTILINE)) <= targets
    commands = set(re.findall(r"`handrail ([a-z]+)", README))
    known = typer.main.get_command(app)
    assert {"chat", "conformance", "approve"} <= commands
    assert commands <= set(getattr(known, "commands", {}))
