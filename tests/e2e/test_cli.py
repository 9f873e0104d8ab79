"""The command `handrail` as a person uses it: `python -m gateway.cli` with typed lines, against real processes."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self

import pytest

from gateway.cli.client import HandrailClient
from gateway.cli.processes import SERVICES, Stack, free_loopback_ports, isolated_environment
from handrail_rpc.context import Caller
from tests.e2e.talking import plan_awaiting_approval, say

COMMAND = [sys.executable, "-m", "gateway.cli"]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(handrail: Stack, caller: Caller) -> Run:
    """Run a command as the test's caller, with lines for its input."""

    def run_command(command: str, *arguments: str, lines: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, command, *arguments, "--address", handrail.gateway.target, "--principal", caller.principal],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run_command


def test_chat_asks_in_place_and_takes_a_number(run: Run) -> None:
    ended = run("chat", lines=("Build a route from Berlin Brandenburg to San Jose", "/skip", "2", "/quit"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"^(?:> )?  \? .+", ended.stdout, re.MULTILINE)
    assert re.search(r"^ +2\. .+", ended.stdout, re.MULTILINE)
    assert "this question is required" in ended.stdout
    assert "artifact" in ended.stdout
    assert "  ✓ " in ended.stdout


def test_chat_uses_the_position_and_the_language(run: Run) -> None:
    ended = run("chat", "--position", "52.52,13.40", "--locale", "ru", lines=("Какой аэропорт ближайший ко мне?",))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "?" not in [line.strip()[:1] for line in ended.stdout.splitlines()], ended.stdout
    assert re.search("[а-яА-Я]", ended.stdout.split("✓", 1)[1])
    assert "Напишите, что нужно." in ended.stdout
    assert not re.search("^conversation conv_|goes on|limitation", ended.stdout, re.MULTILINE)


async def test_a_folder_for_a_domain_without_workspace_makes_no_conversation(
    run: Run, client: HandrailClient, tmp_path: Path
) -> None:
    before = await client.conversations()
    ended = run("chat", "--domain", "aviation", "--folder", str(tmp_path), lines=("/quit",))
    assert ended.returncode == 2
    assert "the domain aviation works on no folder; leave --folder out" in ended.stdout
    assert await client.conversations() == before


async def test_chat_goes_on_with_a_conversation_and_approves_in_place(run: Run, client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    approval = await plan_awaiting_approval(client, conversation)
    later = run("chat", "--conversation", conversation, lines=("c", "/quit"))
    assert later.returncode == 0, later.stdout + later.stderr
    assert approval.snapshot_digest in later.stdout
    assert approval.snapshot.idempotency_key not in later.stdout
    assert f"who may approve: role {approval.required_role}, until " in later.stdout
    assert "(FPL-" in later.stdout
    assert "say what should change" in later.stdout
    assert len(await client.pending(conversation_id=conversation)) == 1
    detailed = run("chat", "-v", "--conversation", conversation, lines=("/quit",))
    assert approval.snapshot.idempotency_key in detailed.stdout
    approved = run("chat", "--conversation", conversation, lines=("y", "/quit"))
    assert approved.returncode == 0, approved.stdout + approved.stderr
    assert "approved by" in approved.stdout
    assert "▪ file_flight_plan" in approved.stdout
    assert not re.search(r"\(receipt|◇ decision", approved.stdout)
    assert not await client.pending(conversation_id=conversation)


async def test_chat_sends_changes_back_and_rejects(run: Run, client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    old = await plan_awaiting_approval(client, conversation)
    ended = run("chat", "--conversation", conversation, lines=("c change the level to FL370", "n", "/quit"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "changes requested by" in ended.stdout
    assert "F370" in ended.stdout
    assert "canceled [code approval_rejected]" in ended.stdout
    assert not await client.pending(conversation_id=conversation)
    assert old.snapshot_digest in ended.stdout


async def test_chat_cancels_what_is_open(run: Run, client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    await say(client, conversation, "Which airport is nearest to me?", "clarification_required")
    ended = run("chat", "--conversation", conversation, lines=("/cancel", "/cancel"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "■ canceled" in ended.stdout
    assert "nothing is open" in ended.stdout
    assert not await client.pending(conversation_id=conversation)


def test_a_failed_run_is_explained_and_is_the_exit_code(run: Run) -> None:
    ended = run("chat", lines=("Find the airport EDDB and then build a route from there to XQZW", "XQZW", "XQZW"))
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert re.search(r"✗ failed \[stage \w+, code \w+\] \S+", ended.stdout)
    assert "progress: partial" in ended.stdout
    assert "confirmed: search_airports" in ended.stdout


async def test_inbox_and_approve(run: Run, client: HandrailClient) -> None:
    assert "nothing waits for you" in run("inbox").stdout
    conversation = (await client.create_conversation("aviation")).conversation_id
    question = (await client.create_conversation("aviation")).conversation_id
    approval = await plan_awaiting_approval(client, conversation)
    await say(client, question, "Which airport is nearest to me?", "clarification_required")
    listed = run("inbox")
    assert listed.returncode == 0, listed.stderr
    for part in (approval.approval_id, conversation, question, approval.title, approval.snapshot_digest[:12]):
        assert part in listed.stdout, listed.stdout

    unconfirmed = run("approve", approval.approval_id, lines=("n",))
    assert unconfirmed.returncode == 2
    assert "nothing was sent" in unconfirmed.stdout
    assert approval.snapshot_digest in unconfirmed.stdout
    wrong = run("approve", approval.approval_id, "--digest", "0" * 64)
    assert wrong.returncode == 2
    assert "refused FAILED_PRECONDITION" in wrong.stderr
    assert approval.approval_id in wrong.stderr
    assert len(await client.pending(conversation_id=conversation)) == 1

    approved = run("approve", approval.approval_id, lines=("y",))
    assert approved.returncode == 0, approved.stdout + approved.stderr
    assert "file_flight_plan" in approved.stdout
    receipt = re.search(r"receipt (\w+)", approved.stdout)
    assert receipt is not None
    again = run("approve", approval.approval_id, "--digest", approval.snapshot_digest)
    assert again.returncode == 0, again.stdout + again.stderr
    assert receipt[0] in again.stdout
    other = run("approve", approval.approval_id, "--digest", approval.snapshot_digest, "--reject")
    assert other.returncode == 2
    assert "refused FAILED_PRECONDITION" in other.stderr
    assert "approved by" in other.stderr
    without = run("approve", approval.approval_id)
    assert without.returncode == 2
    assert "`handrail inbox` lists what is open" in without.stderr


async def test_approving_a_superseded_digest_shows_the_block_and_fails(run: Run, client: HandrailClient) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    old = await plan_awaiting_approval(client, conversation)
    await say(client, conversation, "Change the level to FL370", "approval_required")
    ended = run("approve", old.approval_id, "--digest", old.snapshot_digest)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "code approval_stale" in ended.stdout
    assert "approval required" in ended.stdout


def test_wrong_usage_and_refusals_are_one_line(run: Run) -> None:
    for arguments in (("--position", "north"), ("--position", "91,0"), ("--locale", "de")):
        wrong = run("chat", *arguments)
        assert wrong.returncode == 2
        assert arguments[0] in wrong.stderr
    domain = run("chat", "--domain", "nope")
    assert domain.returncode == 2
    assert re.search(r"^refused INVALID_ARGUMENT: .*\(field domain\).*\[request \S+\]$", domain.stdout, re.MULTILINE)
    unknown = run("chat", "--conversation", "conv_nope")
    assert unknown.returncode == 2
    assert "CONVERSATION_NOT_FOUND" in unknown.stdout
    both = run("approve", "apr_1", "--reject", "--request-changes", "x")
    assert both.returncode == 2


@pytest.mark.parametrize("arguments", [("inbox",), ("chat",), ("approve", "apr_1", "--digest", "0" * 64)])
def test_an_address_where_nobody_answers_is_named(arguments: tuple[str, ...]) -> None:
    address = f"127.0.0.1:{free_loopback_ports(1)[0]}"
    ended = subprocess.run(
        [*COMMAND, *arguments],
        env=os.environ | {"HANDRAIL_ADDRESS": address},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 3
    said = ended.stdout + ended.stderr
    assert address in said
    assert "handrail up" in said
    assert "Traceback" not in said


class Terminal:
    """A process on a pseudo terminal, read with a deadline."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        self._main, side = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=side,
            stdout=side,
            stderr=side,
            env=env,
            start_new_session=True,
            # A test run in a shell's background ignores Ctrl-C, and so would what it starts.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        os.close(side)
        self.text = ""

    def expect(self, pattern: str, seconds: float = 120.0) -> None:
        """Read until the pattern appears behind what was matched before."""
        deadline = time.monotonic() + seconds
        while (found := re.search(pattern, self.text)) is None:
            assert time.monotonic() < deadline, f"{pattern!r} did not appear in:\n{self.text}"
            if select.select([self._main], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self._main, 65_536).decode("utf-8", errors="replace")
                except OSError:
                    raise AssertionError(f"ended without {pattern!r}:\n{self.text}") from None
        self.text = self.text[found.end() :]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """A test that failed midway leaves nothing running: `handrail` stops its services on SIGTERM."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)

    def interrupt(self, pattern: str) -> None:
        """Ctrl-C until the pattern appears.

        Pressed again as a person would: CPython's input() misses one that comes between its prompt and its read.
        """
        for seconds in (10.0, 10.0, 60.0):
            self.process.send_signal(signal.SIGINT)
            try:
                self.expect(pattern, seconds)
                break
            except AssertionError:
                if self.process.poll() is not None or seconds > 10.0:
                    raise

    def type(self, text: str) -> None:
        os.write(self._main, text.encode())

    def hang_up(self) -> None:
        """Close the terminal, and tell the process as the kernel tells a session's leader."""
        os.close(self._main)
        self.process.send_signal(signal.SIGHUP)

    def close(self) -> int:
        code = self.process.wait(60)
        os.close(self._main)
        return code


def test_ctrl_c_at_the_prompt_leaves_the_chat(handrail: Stack, caller: Caller) -> None:
    with Terminal("chat", "--address", handrail.gateway.target, "--principal", caller.principal) as terminal:
        terminal.expect(r"conversation conv_\w+")
        terminal.expect(r"> ")
        terminal.type("Find the airport EDDB\n")
        terminal.expect(r"✓ .*Brandenburg")
        terminal.expect(r"> ")
        terminal.process.send_signal(signal.SIGINT)
        # A signal between the prompt and readline's select is seen with the next key only.
        terminal.type("\n")
        terminal.expect(r"left; handrail chat --conversation conv_\w+ goes on")
        assert terminal.close() == 0


async def test_ctrl_c_at_the_confirmation_sends_nothing(
    handrail: Stack, caller: Caller, client: HandrailClient
) -> None:
    conversation = (await client.create_conversation("aviation")).conversation_id
    approval = await plan_awaiting_approval(client, conversation)
    arguments = ("--address", handrail.gateway.target, "--principal", caller.principal)
    with Terminal("approve", approval.approval_id, *arguments) as terminal:
        terminal.expect(r"\[y/N\] ")
        terminal.interrupt("interrupted")
        assert terminal.close() == 130
    assert len(await client.pending(conversation_id=conversation)) == 1


def test_sigterm_ends_a_chat_in_the_middle_of_a_turn(handrail: Stack, caller: Caller) -> None:
    arguments = ("--address", handrail.gateway.target, "--principal", caller.principal)
    with Terminal("chat", "--verbose", *arguments) as terminal:
        terminal.expect(r"> ")
        handrail.adapter.send_signal(signal.SIGSTOP)
        try:
            terminal.type("Find the airport EDDB\n")
            terminal.expect("run started")
            terminal.process.send_signal(signal.SIGTERM)
            assert terminal.close() == 128 + signal.SIGTERM
        finally:
            handrail.adapter.send_signal(signal.SIGCONT)


def test_up_runs_all_three_until_ctrl_c(tmp_path: Path) -> None:
    environment = isolated_environment(tmp_path)
    with Terminal("up", env=environment) as terminal:
        terminal.expect("Handrail is up")
        terminal.expect("Try next")
        terminal.expect("grpcurl")
        listed = subprocess.run(
            [*COMMAND, "inbox", "--address", environment["HANDRAIL_GATEWAY_LISTEN"]],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (listed.returncode, listed.stdout.strip()) == (0, "nothing waits for you")
        second = subprocess.run(
            [*COMMAND, "up"], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert second.returncode == 1
        assert "Traceback" not in second.stdout + second.stderr
        terminal.process.send_signal(signal.SIGINT)
        terminal.expect("stopping")
        assert terminal.close() == 0
    _nobody_listens(environment)


def test_up_stops_its_services_when_its_terminal_is_closed(tmp_path: Path) -> None:
    environment = isolated_environment(tmp_path)
    with Terminal("up", env=environment) as terminal:
        terminal.expect("grpcurl")
        terminal.hang_up()
        deadline = time.monotonic() + 60
        while terminal.process.poll() is None:
            # The shell of a closed terminal hangs up too, while the services still drain.
            assert time.monotonic() < deadline, "it does not end"
            terminal.process.send_signal(signal.SIGHUP)
            with suppress(subprocess.TimeoutExpired):
                terminal.process.wait(0.02)
    _nobody_listens(environment)


def _nobody_listens(environment: dict[str, str]) -> None:
    for service in SERVICES:
        host, _, port = environment[service.listen_setting].rpartition(":")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=2)


def test_up_ends_readably_when_a_service_dies(tmp_path: Path) -> None:
    environment = isolated_environment(tmp_path, {"HANDRAIL_ADAPTERS": "nonsense"})
    ended = subprocess.run([*COMMAND, "up"], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 1
    assert "HANDRAIL_ADAPTERS" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr


def test_migrate_prints_what_it_did_and_may_be_repeated(tmp_path: Path) -> None:
    environment = isolated_environment(tmp_path)
    for _ in range(2):
        ended = subprocess.run(
            [*COMMAND, "migrate"], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert ended.stdout.strip()
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["adapter.db", "loop.db"]
