"""How an event looks in a terminal: one line a kind, more only for questions, approvals, failures and answers.

`chat`, `approve` and `demo` print what `event_lines` returns. What a person reads as an explanation (questions,
answers, failures) comes from the services in the caller's language; the words around it are English.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

from rich.text import Text

from handrail.common.v1.answer_pb2 import Answer
from handrail.common.v1.failure_pb2 import ConfirmedStep, Failure, Progress, Stage
from handrail.common.v1.prompt_pb2 import Prompt
from handrail.common.v1.tool_pb2 import Outcome
from handrail.loop.v1 import event_pb2 as events
from handrail.loop.v1.interaction_state_pb2 import InteractionState
from handrail_rpc.digest import SNAPSHOT_FIELDS, NotCanonical, snapshot_fields_from_proto

# Kinds that only matter to someone who follows the protocol; shown with --verbose.
QUIET_KINDS = frozenset({"run_started", "message_accepted", "status_changed", "content_delta", "live", "tool_progress"})

# A result's summary is cut: the answer says it in full, and the receipt is what identifies the execution.
_MOST_SUMMARY = 120


def clean(text: str) -> str:
    """`text` without control characters: what a server sends must not move the cursor or rewrite the screen."""
    return "".join(
        char if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else " " for char in text
    )


def one_line(text: str) -> str:
    """`clean` text on one line."""
    return " ".join(clean(text).split())


def shorten(text: str, most: int) -> str:
    """`text`, cut to `most` characters with an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def event_lines(event: events.Event, *, verbose: bool = False) -> list[Text]:
    """The lines of one event; empty for the kinds of QUIET_KINDS unless `verbose`, and for an unknown kind."""
    kind = event.WhichOneof("payload")
    if kind is None or (kind in QUIET_KINDS and not verbose):
        return []
    renderer = _RENDERERS.get(kind)
    return [] if renderer is None else renderer(getattr(event, kind))


def rendered_kinds() -> frozenset[str]:
    """The kinds of events that have a rendering."""
    return frozenset(_RENDERERS)


def enum_word(enum_name: str, prefix: str) -> str:
    """'STAGE_TOOL' with prefix 'STAGE_' → 'tool'."""
    return enum_name.removeprefix(prefix).lower()


def state_word(state: InteractionState.ValueType) -> str:
    """'executing', 'awaiting_approval', …; 'new' for the unset origin of the first change."""
    if state == InteractionState.INTERACTION_STATE_UNSPECIFIED:
        return "new"
    return enum_word(InteractionState.Name(state), "INTERACTION_STATE_")


def failure_lines(failure: Failure, heading: str = "failed") -> list[Text]:
    """Stage, code, explanation, what helps, the confirmed steps (requirements G1, G3)."""
    other = failure.source_code and failure.source_code != failure.code
    code = f"{failure.code} (from {failure.source_code})" if other else failure.code
    lines = [
        Text.assemble(
            (f"  ✗ {heading} ", "bold red"),
            (f"[stage {enum_word(Stage.Name(failure.stage), 'STAGE_')}, code {one_line(code)}] ", "red"),
            one_line(failure.explanation),
        )
    ]
    if failure.helpful_action:
        lines.append(Text.assemble(("    what helps: ", "yellow"), one_line(failure.helpful_action)))
    progress = enum_word(Progress.Name(failure.progress), "PROGRESS_").replace("_", " ")
    retry = "a retry can work" if failure.retryable else "the same request will not work again"
    lines.append(Text(f"    progress: {progress}; {retry}; request {one_line(failure.request_id)}", "dim"))
    lines += confirmed_step_lines(failure.confirmed_steps)
    return lines


def confirmed_step_lines(steps: Iterable[ConfirmedStep]) -> list[Text]:
    """What had been executed and is stored, one line a step."""
    return [
        Text.assemble(
            ("    confirmed: ", "green"),
            one_line(step.tool),
            ("" if not step.summary else " — "),
            one_line(step.summary),
        )
        for step in steps
    ]


def prompt_lines(prompt: Prompt) -> list[Text]:
    """The question, and its options numbered from 1."""
    lines = [Text.assemble(("  ? ", "bold yellow"), (clean(prompt.question), "bold"))]
    for number, option in enumerate(prompt.options, 1):
        about = f" — {one_line(option.description)}" if option.description else ""
        lines.append(Text.assemble((f"      {number}. ", "yellow"), one_line(option.display_name), (about, "dim")))
    if not prompt.required:
        lines.append(Text("      not required: /skip goes on without it", "dim"))
    return lines


def approval_lines(approval: events.ApprovalRequired) -> list[Text]:
    """Everything a person approves: title, preview, target, every snapshot field, the digest."""
    lines = [
        Text.assemble(("  ! approval required: ", "bold magenta"), (one_line(approval.title), "bold")),
        Text.assemble(("      approval  ", "dim"), one_line(approval.approval_id)),
    ]
    if approval.change_ref:
        lines.append(Text.assemble(("      changes   ", "dim"), one_line(approval.change_ref)))
    lines += [
        Text.assemble(("      │ ", "magenta"), clean(line))
        for line in approval.input_preview.splitlines()
        if line.strip()
    ]
    width = max(len(name) for name in SNAPSHOT_FIELDS)
    try:
        fields = snapshot_fields_from_proto(approval.snapshot)
    except NotCanonical as error:
        lines.append(Text(f"      the snapshot has no digest ({error}); it cannot be approved from here", "bold red"))
        return lines
    for name in SNAPSHOT_FIELDS:
        if fields[name]:
            lines.append(Text.assemble((f"      {name:<{width}}  ", "dim"), one_line(fields[name])))
    digest = one_line(approval.snapshot_digest)
    lines.append(Text.assemble((f"      {'snapshot_digest':<{width}}  ", "dim"), (digest, "bold")))
    return lines


def answer_lines(answer: Answer) -> list[Text]:
    """The answer's text, its limitations and artifacts."""
    lines = [
        Text.assemble(("  ✓ " if number == 0 else "    ", "bold green"), clean(line))
        for number, line in enumerate(answer.text.splitlines() or [""])
    ]
    lines += [Text.assemble(("    limitation: ", "yellow"), one_line(each)) for each in answer.limitations]
    lines += [
        Text(
            f"    artifact {one_line(each.title)} "
            f"({one_line(each.media_type)}, {one_line(each.artifact_id)} version {each.version})",
            "dim",
        )
        for each in answer.artifacts
    ]
    if answer.partial:
        lines.append(Text("    partial: some of the request was not done", "yellow"))
    return lines


def _run_started(event: events.RunStarted) -> list[Text]:
    source = one_line(event.approval_id or event.message_id)
    resumed = f", resumes {one_line(event.resumed_run_id)}" if event.resumed_run_id else ""
    return [Text(f"  · run started for {source}{resumed}", "dim")]


def _message_accepted(event: events.MessageAccepted) -> list[Text]:
    return [Text(f"  · message {one_line(event.message_id)} joined the run", "dim")]


def _status_changed(event: events.StatusChanged) -> list[Text]:
    return [Text(f"  · {state_word(getattr(event, 'from'))} → {state_word(event.to)}", "dim")]


def _decision_made(event: events.DecisionMade) -> list[Text]:
    kind = enum_word(events.DecisionKind.Name(event.kind), "DECISION_KIND_").replace("_", " ")
    chosen = ""
    if event.action_id:
        by = enum_word(events.ChosenBy.Name(event.chosen_by), "CHOSEN_BY_")
        why = f": {one_line(event.model_code)}" if event.model_code else ""
        chosen = f" [{one_line(event.action_id)}, chosen by {by}{why}]"
    # The summary of an ask is its question, which follows.
    told = event.summary and event.kind != events.DecisionKind.DECISION_KIND_ASK
    summary = f": {one_line(event.summary)}" if told else ""
    return [Text(f"  ◇ decision {event.decision_number}: {kind}{chosen}{summary}", "cyan")]


def _tool_started(event: events.ToolStarted) -> list[Text]:
    return [Text(f"  ▸ {one_line(event.tool)}", "blue")]


def _tool_progress(event: events.ToolProgress) -> list[Text]:
    return [Text(f"    {one_line(event.tool)} {event.percent} % {one_line(event.message)}".rstrip(), "dim")]


def _tool_finished(event: events.ToolFinished) -> list[Text]:
    tool = one_line(event.tool)
    if event.outcome == Outcome.OUTCOME_SUCCEEDED:
        receipt = event.receipt
        return [
            Text.assemble(
                ("  ▪ ", "green"),
                f"{tool}: {shorten(one_line(receipt.summary), _MOST_SUMMARY)}",
                (f" (receipt {one_line(receipt.execution_id)})", "dim"),
            )
        ]
    word = enum_word(Outcome.Name(event.outcome), "OUTCOME_")
    if event.HasField("failure"):
        return failure_lines(event.failure, f"{tool} {word}")
    return [Text.assemble(("  ✗ ", "red"), f"{tool} {word}")]


def _artifact_published(event: events.ArtifactPublished) -> list[Text]:
    about = f"({event.media_type}, {event.artifact_id} version {event.version}, sha256 {event.sha256[:12]}…)"
    return [Text.assemble(("  ▪ artifact: ", "green"), one_line(event.title), " ", (one_line(about), "dim"))]


def _clarification_required(event: events.ClarificationRequired) -> list[Text]:
    return prompt_lines(event.prompt)


def _approval_resolved(event: events.ApprovalResolved) -> list[Text]:
    word = enum_word(events.ApprovalOutcome.Name(event.outcome), "APPROVAL_OUTCOME_").replace("_", " ")
    by = f" by {one_line(event.resolved_by)}" if event.resolved_by else ""
    return [Text.assemble(("  ! ", "magenta"), f"approval {one_line(event.approval_id)}: {word}{by}")]


def _policy_blocked(event: events.PolicyBlocked) -> list[Text]:
    lines = [
        Text.assemble(
            ("  ⊘ blocked by policy ", "bold yellow"),
            (f"[code {one_line(event.code)}, rule {one_line(event.rule)}] ", "yellow"),
            one_line(event.explanation),
        )
    ]
    if event.lifted_by:
        lines.append(Text.assemble(("    what lifts it: ", "yellow"), one_line(event.lifted_by)))
    return lines


def _content_delta(event: events.ContentDelta) -> list[Text]:
    return [Text(f"  … {one_line(event.text)}", "dim")]


def _completed(event: events.Completed) -> list[Text]:
    return answer_lines(event.answer)


def _failed(event: events.Failed) -> list[Text]:
    return failure_lines(event.failure)


def _blocked(event: events.Blocked) -> list[Text]:
    return failure_lines(event.failure, "blocked")


def _canceled(event: events.Canceled) -> list[Text]:
    code = f" [code {one_line(event.code)}]" if event.code else ""
    return [
        Text(f"  ■ canceled{code} {one_line(event.reason)}", "yellow"),
        *confirmed_step_lines(event.confirmed_steps),
    ]


def _superseded(event: events.Superseded) -> list[Text]:
    return [
        Text(f"  ■ superseded by {one_line(event.by_interaction_id)} {one_line(event.reason)}", "yellow"),
        *confirmed_step_lines(event.confirmed_steps),
    ]


def _waiting(event: events.Waiting) -> list[Text]:
    if event.WhichOneof("condition") == "signal":
        limit = f", at most until {event.limit_time.ToJsonString()}" if event.HasField("limit_time") else ""
        return [Text(f"  ⧖ waiting for the signal {one_line(event.signal)}{limit}", "yellow")]
    return [Text(f"  ⧖ waiting until {event.until.ToJsonString()}", "yellow")]


def _channel_failed(event: events.ChannelFailed) -> list[Text]:
    return failure_lines(event.failure, f"channel {one_line(event.channel)} failed")


def _execution_settled(event: events.ExecutionSettled) -> list[Text]:
    happened = event.outcome == Outcome.OUTCOME_SUCCEEDED
    word = "it happened" if happened else "it did not happen"
    again = f"; tried again as {one_line(event.successor_interaction_id)}" if event.successor_interaction_id else ""
    by = one_line(event.settled_by)
    mark = ("  ⚖ ", "green" if happened else "yellow")
    return [Text.assemble(mark, f"{one_line(event.tool)} settled by {by}: {word}{again}")]


def _signal_received(event: events.SignalReceived) -> list[Text]:
    word = "received" if event.delivered else "received and kept"
    return [Text(f"  ⚑ signal {one_line(event.signal)} {word}", "cyan")]


def _live(event: events.Live) -> list[Text]:
    return [Text("  · live", "dim")]


_RENDERERS: dict[str, Callable[..., list[Text]]] = {
    "run_started": _run_started,
    "message_accepted": _message_accepted,
    "status_changed": _status_changed,
    "decision_made": _decision_made,
    "tool_started": _tool_started,
    "tool_progress": _tool_progress,
    "tool_finished": _tool_finished,
    "artifact_published": _artifact_published,
    "clarification_required": _clarification_required,
    "approval_required": approval_lines,
    "approval_resolved": _approval_resolved,
    "policy_blocked": _policy_blocked,
    "content_delta": _content_delta,
    "completed": _completed,
    "failed": _failed,
    "blocked": _blocked,
    "canceled": _canceled,
    "superseded": _superseded,
    "waiting": _waiting,
    "channel_failed": _channel_failed,
    "execution_settled": _execution_settled,
    "signal_received": _signal_received,
    "live": _live,
}
