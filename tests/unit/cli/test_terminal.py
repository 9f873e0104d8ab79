"""What the command does with a terminal: its width and encoding, markup in what a server sends, typed lines."""

from __future__ import annotations

import io
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest
from rich.console import Console

from gateway.cli import terminal
from gateway.cli.approvals import show_inbox
from gateway.cli.chat import Chat
from gateway.cli.client import HandrailClient
from gateway.cli.processes import free_loopback_ports
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail.loop.v1.event_pb2 import Event
from handrail.loop.v1.interaction_state_pb2 import InteractionState

APPROVAL, CONVERSATION = "apr_" + "a" * 30, "conv_" + "c" * 30


class Inbox:
    """Stands for a client with one open approval."""

    def __init__(self, title: str) -> None:
        item = loop.PendingItem(conversation_id=CONVERSATION)
        item.approval.approval_id, item.approval.title = APPROVAL, title
        item.approval.snapshot_digest, item.approval.required_role = "d" * 64, "dispatcher"
        item.approval.expire_time.GetCurrentTime()
        item.create_time.GetCurrentTime()
        self._item = item

    async def pending(self, *_filters: object, **_more: object) -> list[loop.PendingItem]:
        return [self._item]


async def _shown(title: str, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stdout", output := io.TextIOWrapper(io.BytesIO(), "utf-8"))
    console = terminal.open_console()
    console.width = width
    await show_inbox(console, cast(HandrailClient, Inbox(title)))
    output.flush()
    return cast(io.BytesIO, output.buffer).getvalue().decode("utf-8")


@pytest.mark.parametrize("width", [20, 80, 120, 200])
@pytest.mark.parametrize("title", ["File it", "File it, with a title that is longer than many a terminal is wide" * 3])
async def test_the_inbox_shows_ids_and_titles_whole_on_any_terminal(
    title: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = await _shown(title, width, monkeypatch)
    for whole in (APPROVAL, CONVERSATION, title, "dispatcher"):
        assert whole in text


async def test_markup_and_emoji_names_of_a_server_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "File [/x] [red]it :airplane:" in await _shown("File [/x] [red]it :airplane:", 200, monkeypatch)


def test_a_terminal_that_lacks_a_character_gets_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", output := io.TextIOWrapper(io.BytesIO(), "ascii"))
    terminal.open_console().print("✓ погода")
    output.flush()
    assert cast(io.BytesIO, output.buffer).getvalue() == b"? ??????\n"


def test_typed_bytes_that_are_no_text_are_read_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"EDD\xff\n"), "utf-8"))
    terminal.open_console()
    assert terminal.read_line("") == "EDD\ufffd"
    with pytest.raises(EOFError):
        terminal.read_line("")


def test_reading_a_line_leaves_the_handler_of_ctrl_c_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"y\n"), "utf-8"))
    before = signal.getsignal(signal.SIGINT)
    terminal.read_line("")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("option", "value"),
    [("--principal", "Анна"), ("--principal", ""), ("--tenant", "a b"), ("--roles", "a b"), ("--address", "nowhere")],
)
def test_an_option_that_could_not_be_sent_is_wrong_usage(option: str, value: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "gateway.cli", "inbox", option, value], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 2
    assert option in ended.stderr
    assert "Traceback" not in ended.stderr


def test_ports_are_free_differ_and_are_never_those_of_outgoing_connections() -> None:
    ports = free_loopback_ports(20)
    assert len(set(ports)) == 20
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()) as out:
        assert max(ports) < out.getsockname()[1]


class RunThatJustEnds:
    """A client whose active run ends between the look at the conversation and the look at the interaction."""

    def __init__(self) -> None:
        self.watched_after = -1

    async def conversation(self, conversation_id: str) -> loop.Conversation:
        sequence = 7 if self.watched_after < 0 else 9
        self.watched_after = 0
        return loop.Conversation(conversation_id=conversation_id, last_sequence=sequence, active_interaction_id="int_1")

    async def messages(self, conversation_id: str) -> list[loop.Message]:
        return []

    async def interaction(self, interaction_id: str) -> loop.Interaction:
        return loop.Interaction(interaction_id=interaction_id, state=InteractionState.INTERACTION_STATE_EXECUTING)

    async def watch(
        self, conversation_id: str, after_sequence: int, *, follow: bool, history_id: str
    ) -> AsyncGenerator[Event, None]:
        self.watched_after = after_sequence
        ended = Event(sequence=9)
        ended.completed.answer.text = "the answer"
        if after_sequence < 9:
            yield ended
        else:
            raise AssertionError("the run's ending is before the cursor: the chat would wait for ever")


async def test_a_chat_sees_the_ending_of_a_run_that_ends_while_it_enters() -> None:
    output = io.StringIO()
    client: Any = RunThatJustEnds()
    await Chat(Console(file=output), lambda prompt: "")._enter(client, "aviation", "conv_1")
    assert client.watched_after == 7
    assert "the answer" in output.getvalue()
