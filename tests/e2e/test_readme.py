"""The README's client program and its probe commands, run as they are printed, against the real processes."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

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
