"""What a chat shows of an event: briefly, an unchanged approval once, and in Russian, too."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from gateway.cli import chat, chat_lines
from gateway.cli.chat_lines import ChatLines
from gateway.cli.chat_words import RUSSIAN, terminal_locale, words
from handrail.common.v1.approval_pb2 import ApprovalSnapshot
from handrail.common.v1.tool_pb2 import OUTCOME_SUCCEEDED
from handrail.loop.v1 import event_pb2 as events
from handrail_rpc.digest import snapshot_digest, snapshot_fields_from_proto
from tests.unit.cli.test_events import KINDS, _fill

SNAPSHOT = ApprovalSnapshot(
    digest_scheme="rfc8785-sha256-v1", tool="file_flight_plan", artifact_id="art_1", idempotency_key="key_1"
)


def approval(**more: Any) -> events.Event:
    asked = events.ApprovalRequired(
        approval_id="apr_1",
        title="File it",
        snapshot=SNAPSHOT,
        snapshot_digest=snapshot_digest(snapshot_fields_from_proto(SNAPSHOT)),
        input_preview="-old\n+new",
        required_role="dispatcher",
        **more,
    )
    asked.expire_time.FromJsonString("2030-01-02T03:04:05Z")
    return events.Event(approval_required=asked)


def told(lines: ChatLines, event: events.Event) -> str:
    return "\n".join(line.plain for line in lines.of(event))


def test_an_approval_shows_what_a_person_needs_and_the_digest_only_of_the_hashes() -> None:
    shown = told(ChatLines(words("en")), approval())
    digest = approval().approval_required.snapshot_digest
    for part in ("File it", "-old", "+new", "role dispatcher", "until 2030-01-02T03:04:05Z", f"digest  {digest}"):
        assert part in shown
    assert not re.search("key_1|art_1|digest_scheme", shown)


def test_an_approval_announced_again_takes_one_line_unless_it_changed() -> None:
    lines = ChatLines(words("en"))
    told(lines, approval())
    again = told(lines, approval())
    assert again.count("\n") == 0
    assert "unchanged: File it" in again
    changed = approval()
    changed.approval_required.snapshot_digest = "f" * 64
    assert "+new" in told(lines, changed)


def test_what_only_the_protocol_needs_is_not_shown() -> None:
    lines = ChatLines(words("en"))
    assert told(lines, events.Event(decision_made=events.DecisionMade(decision_number=1))) == ""
    assert told(lines, events.Event(policy_blocked=events.PolicyBlocked(code="validation_missing"))) == ""
    assert "approval_stale" in told(lines, events.Event(policy_blocked=events.PolicyBlocked(code="approval_stale")))
    done = events.Event(tool_finished=events.ToolFinished(tool="get_weather", outcome=OUTCOME_SUCCEEDED))
    done.tool_finished.receipt.execution_id, done.tool_finished.receipt.summary = "exe_1", "EDDB"
    assert told(lines, done).strip() == "▪ get_weather: EDDB"


def test_an_answer_names_the_sources_that_its_text_does_not() -> None:
    event = events.Event()
    event.completed.answer.text = "As a.md#one says."
    event.completed.answer.documentation_citations.add(path="a.md", anchor="one")
    event.completed.answer.documentation_citations.add(path="b.md", anchor="two")
    event.completed.answer.limitations.append("only two files")
    shown = told(ChatLines(words("en")), event)
    assert "source: b.md#two" in shown
    assert "source: a.md" not in shown
    assert "limitation: only two files" in shown


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_a_server_reaches_the_terminal_with_control_characters(kind: str) -> None:
    event = events.Event(sequence=1)
    getattr(event, kind).SetInParent()
    assert isinstance(told(ChatLines(words("ru")), event), str)
    _fill(getattr(event, kind), "a\x1b[2J\u202e")
    assert not {"\x1b", "\u202e"} & set(told(ChatLines(words("ru")), event))


def test_every_own_word_of_the_chat_has_its_russian() -> None:
    own = set()
    for module in (chat, chat_lines):
        for node in ast.walk(ast.parse(Path(module.__file__).read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("_say", "_tell"):
                own |= {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
    own = {each for each in own if isinstance(each, str) and re.search("[a-z]{3} |[a-z]{4}", each)}
    assert len(own) > 30
    styles_and_names = {"yellow", "bold red", "_", "STAGE_", "PROGRESS_"}
    assert own - set(RUSSIAN) - styles_and_names == set()
    assert chat.HELP in RUSSIAN
    for english, russian in RUSSIAN.items():
        assert re.findall(r"\{.*?\}", english) == re.findall(r"\{.*?\}", russian)


def test_in_russian_an_approval_has_no_english_word_of_the_chat() -> None:
    shown = told(ChatLines(words("ru")), approval())
    assert "нужно утверждение: File it" in shown
    assert "кто может утвердить: роль dispatcher" in shown
    assert not re.search("approval|until|digest", shown)


@pytest.mark.parametrize(
    ("settings", "locale"),
    [
        ({"LANG": "ru_RU.UTF-8"}, "ru"),
        ({"LANG": "en_US.UTF-8"}, "en"),
        ({"LANG": "ru_RU.UTF-8", "LC_ALL": "C"}, "en"),
        ({}, "en"),
    ],
)
def test_the_terminals_language_is_the_chats(
    settings: dict[str, str], locale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert terminal_locale() == locale
