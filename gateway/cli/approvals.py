"""`handrail inbox` and `handrail approve`: what waits for a person, and resolving an approval by its digest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway.cli.client import HandrailClient
from gateway.cli.conversing import Turn, digest_is_of_what_is_shown, show
from gateway.cli.events import approval_lines, one_line
from gateway.cli.refusals import EXIT_FAILED, EXIT_OK, EXIT_REFUSED
from handrail.common.v1.approval_pb2 import Verdict
from handrail.loop.v1.event_pb2 import PolicyBlocked
from handrail.loop.v1.workflow_loop_service_pb2 import PendingItem, PendingKind
from handrail_rpc.errors import NotFound

_COLUMNS = ("kind", "id", "conversation", "what", "role", "expires", "since")
_WIDEST = max(len(name) for name in _COLUMNS)
_UNBOUNDED = 100_000
_REFUSING_CODES = frozenset({"approval_stale", "approval_expired"})
_VERDICT_WORDS = {
    Verdict.VERDICT_APPROVE: "approve",
    Verdict.VERDICT_REJECT: "reject",
    Verdict.VERDICT_REQUEST_CHANGES: "request changes to",
}


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """What of the inbox is asked for; empty values ask for everything."""

    kind: PendingKind.ValueType = PendingKind.PENDING_KIND_UNSPECIFIED
    conversation_id: str = ""
    interaction_id: str = ""
    domain: str = ""
    tool: str = ""
    requested_by_me: bool = False
    created_before: Timestamp | None = None


EVERYTHING = InboxFilter()


async def show_inbox(console: Console, client: HandrailClient, wanted: InboxFilter = EVERYTHING) -> int:
    """Print what waits for this caller and fits the filter; returns EXIT_OK. Raises HandrailError."""
    items = await client.pending(
        wanted.kind,
        wanted.conversation_id,
        interaction_id=wanted.interaction_id,
        domain=wanted.domain,
        tool=wanted.tool,
        requested_by_me=wanted.requested_by_me,
        created_before=wanted.created_before,
    )
    if not items:
        console.print(
            "nothing waits for you" if wanted == EVERYTHING else "nothing waits for you that fits", style="dim"
        )
        return EXIT_OK
    rows = [_row(item) for item in items]
    table = Table(*_COLUMNS, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    if console.measure(table, options=console.options.update(width=_UNBOUNDED)).maximum <= console.width:
        console.print(table)
    else:
        # A table cut to a narrow terminal would cut the ids, and `approve` needs one whole.
        for row in rows:
            for name, value in zip(_COLUMNS, row, strict=True):
                if value:
                    console.print(Text.assemble((f"{name:<{_WIDEST}}  ", "dim"), value))
            console.print()
    for hint in _hints(items):
        console.print(hint, style="dim")
    return EXIT_OK


def _hints(items: Sequence[PendingItem]) -> Iterator[str]:
    """The commands that answer what is listed."""
    kinds = {item.WhichOneof("item") for item in items}
    if kinds & {"approval", "clarification"}:
        yield "handrail approve <approval id>, or handrail chat --conversation <conversation>"
    if "execution" in kinds:
        yield "handrail settle <interaction> <call> with --happened, --did-not-happen or --try-again:"
    for item in items:
        if item.WhichOneof("item") == "execution":
            yield f"  handrail settle {one_line(item.interaction_id)} {one_line(item.execution.tool_call_id)}"


def _row(item: PendingItem) -> tuple[str, ...]:
    return tuple(one_line(cell) for cell in _cells(item))


def _cells(item: PendingItem) -> tuple[str, ...]:
    since = _age(item.create_time.ToDatetime(UTC))
    if item.WhichOneof("item") == "approval":
        approval = item.approval
        expires = approval.expire_time.ToJsonString() if approval.HasField("expire_time") else ""
        what = f"{approval.title} (digest {approval.snapshot_digest[:12]}…)"
        return ("approval", approval.approval_id, item.conversation_id, what, approval.required_role, expires, since)
    if item.WhichOneof("item") == "execution":
        call = item.execution
        what = f"outcome unknown: {call.summary or call.tool} (interaction {item.interaction_id})"
        return ("call", call.tool_call_id, item.conversation_id, what, "", "", since)
    question = item.clarification
    expires = question.expire_time.ToJsonString() if question.HasField("expire_time") else ""
    what = question.prompt.question
    return ("question", question.clarification_id, item.conversation_id, what, "", expires, since)


def _age(time: datetime) -> str:
    seconds = max(0, int((datetime.now(UTC) - time).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


async def resolve(
    console: Console,
    client: HandrailClient,
    approval_id: str,
    *,
    digest: str,
    verdict: Verdict.ValueType,
    comment: str,
    confirm: Callable[[str], bool],
    verbose: bool,
) -> int:
    """Show what is open under `approval_id`, then resolve it by digest and print the run that follows.

    With `digest` nothing is asked: it is what the person saw elsewhere, and the server compares it. Without, the
    shown approval's digest is sent after `confirm`. Returns the exit code. Raises HandrailError; NotFound if nothing
    is open and no digest was given.
    """
    try:
        approval = await client.pending_approval(approval_id)
    except NotFound:
        if not digest:
            raise
        # Closed: the server knows whether this repeats the recorded verdict or comes too late.
        console.print(f"  approval {approval_id} is not open; sending the digest given", style="dim")
    else:
        for line in approval_lines(approval):
            console.print(line)
        if not digest:
            if not digest_is_of_what_is_shown(approval):
                console.print("  the digest is not that of the snapshot shown; nothing was sent", style="bold red")
                return EXIT_FAILED
            if not confirm(f"{_VERDICT_WORDS[verdict]} exactly this (digest {approval.snapshot_digest[:12]}…)?"):
                console.print("  not confirmed; nothing was sent", style="yellow")
                return EXIT_REFUSED
            digest = approval.snapshot_digest
    console.print(f"  {_VERDICT_WORDS[verdict]} {approval_id} with digest {digest}", style="dim")
    events = client.resolve_approval(approval_id, verdict, digest, comment=comment)
    return _exit_code(await show(console, events, verbose=verbose), approval_id, verdict)


def _exit_code(turn: Turn, approval_id: str, verdict: Verdict.ValueType) -> int:
    """A verdict that was not carried out (failed, stale or expired, canceled although approved) is EXIT_FAILED.

    Blocks of other codes are met on the way, for example before the next approval is asked for.
    """
    blocks: list[PolicyBlocked] = turn.of("policy_blocked")
    if turn.failed or any(each.approval_id == approval_id or each.code in _REFUSING_CODES for each in blocks):
        return EXIT_FAILED
    if verdict == Verdict.VERDICT_APPROVE and turn.ending == "canceled":
        return EXIT_FAILED
    return EXIT_OK
