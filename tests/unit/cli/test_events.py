"""Every kind of event has a line; a failure shows all that G1 and G3 ask for; a server cannot write escape codes."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from gateway.cli.client import ENDINGS
from gateway.cli.conversing import Turn, digest_is_of_what_is_shown, parse_position
from gateway.cli.events import QUIET_KINDS, event_lines, rendered_kinds
from gateway.cli.refusals import exit_code_of, refusal_line
from handrail.common.v1.approval_pb2 import ApprovalSnapshot
from handrail.common.v1.failure_pb2 import ConfirmedStep, Failure, Progress, Stage
from handrail.common.v1.prompt_pb2 import Prompt, PromptOption, PromptType
from handrail.loop.v1 import event_pb2 as events
from handrail_rpc.digest import snapshot_digest, snapshot_fields_from_proto
from handrail_rpc.errors import FailedPrecondition, HandrailError, InvalidArgument, NotFound, RemoteFault, Unavailable

KINDS = [field.name for field in events.Event.DESCRIPTOR.oneofs_by_name["payload"].fields]


def _text(event: events.Event, *, verbose: bool = False) -> str:
    return "\n".join(line.plain for line in event_lines(event, verbose=verbose))


def _event(kind: str) -> events.Event:
    event = events.Event(sequence=1)
    getattr(event, kind).SetInParent()
    return event


def test_every_kind_of_event_has_a_rendering() -> None:
    assert rendered_kinds() == set(KINDS)
    assert set(KINDS) >= ENDINGS


def test_a_choice_shows_who_made_it_and_why_a_models_answer_was_not_taken() -> None:
    event = events.Event(
        decision_made=events.DecisionMade(
            action_id="look", chosen_by=events.CHOSEN_BY_DEFAULT, model_code="model_refused", summary="several ways on"
        )
    )
    assert "[look, chosen by default: model_refused]: several ways on" in _text(event)
    event.decision_made.chosen_by, event.decision_made.model_code = events.CHOSEN_BY_MODEL, ""
    assert "[look, chosen by model]: several ways on" in _text(event)


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_shows_a_line_unless_it_is_quiet(kind: str) -> None:
    assert _text(_event(kind), verbose=True)
    assert bool(_text(_event(kind))) == (kind not in QUIET_KINDS)


def test_an_ending_is_never_quiet() -> None:
    assert not QUIET_KINDS & ENDINGS


def test_a_failure_names_stage_code_explanation_help_and_confirmed_steps() -> None:
    failure = Failure(
        stage=Stage.STAGE_TOOL,
        code="tool_failed",
        source_code="filing_key_conflict",
        explanation="The outbox is full.",
        helpful_action="Empty it.",
        retryable=True,
        request_id="req_1",
        progress=Progress.PROGRESS_PARTIAL,
        confirmed_steps=[ConfirmedStep(tool="get_airport", summary="Found EDDB"), ConfirmedStep(tool="get_weather")],
    )
    text = _text(events.Event(failed=events.Failed(failure=failure)))
    for part in (
        "stage tool, code tool_failed (from filing_key_conflict)",
        "The outbox is full.",
        "what helps: Empty it.",
        "progress: partial; a retry can work; request req_1",
        "confirmed: get_airport — Found EDDB",
        "confirmed: get_weather",
    ):
        assert part in text


def test_a_question_numbers_its_options_and_tells_when_it_may_be_skipped() -> None:
    prompt = Prompt(
        type=PromptType.PROMPT_TYPE_SELECT,
        question="Which one?",
        options=[PromptOption(display_name="A", description="first"), PromptOption(display_name="B")],
    )
    event = events.Event(clarification_required=events.ClarificationRequired(prompt=prompt))
    assert "1. A — first" in _text(event)
    assert "2. B" in _text(event)
    assert "/skip" in _text(event)
    event.clarification_required.prompt.required = True
    assert "/skip" not in _text(event)


def _fill(message: Any, text: str, depth: int = 0) -> None:
    """Set every string within `message` to `text`."""
    for member in message.DESCRIPTOR.fields:
        if member.message_type is None:
            if member.type == member.TYPE_STRING and not member.is_repeated:
                setattr(message, member.name, text)
        elif depth < 4 and member.message_type.full_name.startswith("handrail."):
            inner = getattr(message, member.name)
            _fill(inner.add() if member.is_repeated else inner, text, depth + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_or_id_of_a_server_reaches_the_terminal_with_control_characters(kind: str) -> None:
    event = _event(kind)
    _fill(getattr(event, kind), "a\x1b[2J\u202e")
    for verbose in (False, True):
        assert not {"\x1b", "\u202e"} & set(_text(event, verbose=verbose))
    # Square brackets are what a server wrote, not the markup of the terminal library.
    output = io.StringIO()
    console = Console(file=output)
    for line in event_lines(event, verbose=True):
        console.print(line)
    assert kind in ("live", "status_changed") or "[2J" in output.getvalue()


def test_a_snapshot_without_a_digest_is_shown_as_one() -> None:
    approval = events.ApprovalRequired(approval_id="apr_1", snapshot_digest="f" * 64)
    approval.snapshot.expire_time.nanos = 1
    assert "has no digest" in _text(events.Event(approval_required=approval))
    assert not digest_is_of_what_is_shown(approval)


def test_control_characters_of_a_server_do_not_reach_the_terminal() -> None:
    answer = events.Completed()
    answer.answer.text = "a\x1b[2Jb\u202ec\x07"
    assert not {"\x1b", "\u202e", "\x07"} & set(_text(events.Event(completed=answer)))


def test_an_approval_shows_every_field_of_the_snapshot_and_its_digest() -> None:
    snapshot = ApprovalSnapshot(
        digest_scheme="rfc8785-sha256-v1",
        tool="file_flight_plan",
        artifact_id="art_1",
        artifact_version=3,
        idempotency_key="key_1",
    )
    fields = snapshot_fields_from_proto(snapshot)
    approval = events.ApprovalRequired(
        approval_id="apr_1", snapshot=snapshot, snapshot_digest=snapshot_digest(fields), input_preview="(FPL-X\n-A320)"
    )
    text = _text(events.Event(approval_required=approval))
    for value in (*fields.values(), approval.snapshot_digest, "apr_1", "(FPL-X", "-A320)"):
        assert value in text
    assert digest_is_of_what_is_shown(approval)
    approval.snapshot.artifact_version = 4
    assert not digest_is_of_what_is_shown(approval)


def test_a_turn_without_an_ending_counts_as_failed() -> None:
    assert Turn(()).failed
    assert Turn((_event("run_started"),)).ending == ""
    assert not Turn((_event("run_started"), _event("completed"))).failed


@pytest.mark.parametrize("text", ["", "52.5", "1,2,3", "north,east", "91,0", "0,181", "nan,0"])
def test_a_position_of_another_form_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(ValueError, match="lat,lon"):
        parse_position(text)


def test_a_position_is_read_in_degrees() -> None:
    assert parse_position("52.52, -13.4") == (52.52, -13.4)


@pytest.mark.parametrize(
    ("error", "parts", "code"),
    [
        (InvalidArgument.field("text", "must not be empty"), ("INVALID_ARGUMENT", "field text"), 2),
        (FailedPrecondition.state("APPROVAL_STATE", "apr_1", "is approved"), ("APPROVAL_STATE of apr_1",), 2),
        (NotFound.of("approval", "apr_1"), ("APPROVAL_NOT_FOUND", "handrail inbox"), 2),
        (Unavailable("socket text", reason="PEER_UNAVAILABLE"), ("unreachable", "host:1", "handrail up"), 3),
        (RemoteFault("an internal error occurred"), ("failed INTERNAL", "internal error"), 1),
    ],
)
def test_a_refusal_is_one_line_with_what_is_named_and_what_helps(
    error: HandrailError, parts: tuple[str, ...], code: int
) -> None:
    line = refusal_line(error, "host:1").plain
    assert "\n" not in line
    assert "socket text" not in line
    for part in parts:
        assert part in line
    assert exit_code_of(error) == code


@pytest.mark.parametrize("message", ["nothing was settled; try again", "nobody answers"])
def test_to_try_again_is_said_once(message: str) -> None:
    assert refusal_line(Unavailable(message, reason="ADAPTER_UNAVAILABLE")).plain.count("try again") == 1


def test_a_reason_that_is_the_code_is_said_once() -> None:
    assert refusal_line(InvalidArgument.field("text", "must not be empty")).plain.count("INVALID_ARGUMENT") == 1
    assert "NOT_FOUND APPROVAL_NOT_FOUND" in refusal_line(NotFound.of("approval", "apr_1")).plain
