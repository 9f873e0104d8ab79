"""`handrail audit verify` and `handrail audit export`: the hash chain of an audit trail, checked here or by the Loop.

An exported trail is JSON lines, one row a line, oldest first, with exactly the members that are hashed: enough to
verify it without any server. Exit code 1 where something was found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import BinaryIO

from google.protobuf.json_format import MessageToDict
from rich.console import Console
from rich.text import Text

from gateway.cli.client import HandrailClient
from gateway.cli.events import one_line
from gateway.cli.refusals import EXIT_FAILED, EXIT_OK
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail_rpc import localized_text
from handrail_rpc.audit_chain import MEMBERS, ChainRow, Fault, Finding, Verdict
from handrail_rpc.audit_verifier import ChainVerifier
from handrail_rpc.digest import JsonValue, NotCanonical, parse_json_strict

_UNARY_SECONDS = 60.0
_PAGE = 200
_BATCH = 500
_FAULTS = {value: name.removeprefix("AUDIT_FAULT_").lower() for name, value in loop.AuditFault.items()}


@dataclass(frozen=True, slots=True)
class KeptHead:
    """A head that was kept outside the database. `number` 0: at whichever row."""

    hash: str
    number: int = 0

    def is_at(self, number: int, hash: str) -> bool:
        return hash == self.hash and self.number in (0, number)


class FileUnreadable(Exception):
    """The file cannot be read or written; the text says why."""


async def verify(console: Console, client: HandrailClient, conversation_id: str, kept: KeptHead | None) -> int:
    """Let the Loop verify one trail and compare a kept head. Raises HandrailError."""
    request = loop.VerifyAuditRequest(conversation_id=conversation_id)
    found = await client.call(lambda: client.stub.VerifyAudit(request, timeout=_UNARY_SECONDS))
    findings = [(each.number, _FAULTS.get(each.fault, "unspecified"), each.explanation) for each in found.findings]
    lost = False
    if kept is not None:
        lost = not kept.is_at(found.checked_rows, found.head_hash) and not await _has_row(client, conversation_id, kept)
    _tell(console, conversation_id, found.checked_rows, found.head_hash, findings, kept if lost else None)
    return EXIT_OK if found.valid and not lost else EXIT_FAILED


async def verify_all(console: Console, client: HandrailClient) -> int:
    """Verify every conversation of the caller. Raises HandrailError."""
    result, token = EXIT_OK, ""
    while True:
        page = await _conversations(client, token)
        for conversation in page.conversations:
            result = max(result, await verify(console, client, conversation.conversation_id, None))
        token = page.next_page_token
        if not token:
            return result


async def export(client: HandrailClient, conversation_id: str, output: Path | None) -> int:
    """Write the trail as JSON lines. Raises HandrailError, FileUnreadable."""
    rows = _rows(client, conversation_id)
    if output is None:
        async for row in rows:
            sys.stdout.write(_line(row) + "\n")
        return EXIT_OK
    try:
        with output.open("w", encoding="utf-8", newline="\n") as file:
            async for row in rows:
                file.write(_line(row) + "\n")
    except OSError as error:
        raise FileUnreadable(f"{output} cannot be written: {error.strerror}") from error
    return EXIT_OK


def verify_file(console: Console, path: Path, kept: KeptHead | None, locale: str) -> int:
    """Verify an exported trail without a server. Raises FileUnreadable for a file that is none."""
    try:
        with path.open("rb") as file:
            verdict, wrong, has_kept = _verify_open(file, kept)
    except OSError as error:
        raise FileUnreadable(f"{path} cannot be read: {error.strerror}") from error
    findings = [
        (each.number, each.fault.value, each.text.localized(locale))
        for each in sorted((*wrong, *verdict.findings), key=lambda each: each.number)
    ]
    lost = kept if kept is not None and not has_kept else None
    _tell(console, str(path), verdict.checked_rows, verdict.head.hash, findings, lost)
    return EXIT_OK if not findings and lost is None else EXIT_FAILED


def _verify_open(file: BinaryIO, kept: KeptHead | None) -> tuple[Verdict, list[Finding], bool]:
    """The verdict, what the order of the lines adds to it, and whether the kept head is there.

    Only the places of the lines are held in memory: the rows are read twice, newest first.
    """
    places: list[tuple[int, int]] = []
    wrong: list[Finding] = []
    has_kept, offset, highest = False, 0, 0
    for line, data in enumerate(file, start=1):
        row = _read(data, line)
        if row.number < highest:
            text = localized_text.Text(
                f"Row {row.number} stands on line {line}, behind row {highest}.",
                f"Строка журнала {row.number} стоит в файле {line}-й, после строки {highest}.",
            )
            wrong.append(Finding(row.number, Fault.REORDERED, text))
        highest = max(highest, row.number)
        places.append((row.number, offset))
        offset += len(data)
        has_kept = has_kept or (kept is not None and kept.is_at(row.number, row.hash))
    places.sort(reverse=True)
    verifier = ChainVerifier(None)
    for batch in _batches(file, places):
        verifier.feed(batch)
    verifier.end()
    if verifier.wants_search:
        for batch in _batches(file, places):
            verifier.search(batch)
    return verifier.verdict(), wrong, has_kept


def _batches(file: BinaryIO, places: list[tuple[int, int]]) -> Iterator[list[ChainRow]]:
    for start in range(0, len(places), _BATCH):
        rows = []
        for _, offset in places[start : start + _BATCH]:
            file.seek(offset)
            rows.append(_read(file.readline(), 0))
        yield rows


def _read(data: bytes, line: int) -> ChainRow:
    """A line as a row. Raises FileUnreadable where it is none at all; what is merely changed is for the verifier."""
    try:
        row = parse_json_strict(data)
        number, hash, scheme = int(row["number"]), row["hash"], row["digest_scheme"]
        members: dict[str, JsonValue] = {name: row[name] for name in MEMBERS}
    except (NotCanonical, KeyError, TypeError, ValueError) as error:
        raise FileUnreadable(f"line {line} is not a row of an exported audit trail") from error
    # More than the known members would be part of no hash, so nobody could say who wrote it.
    known = row.keys() == {*MEMBERS, "number", "hash", "digest_scheme"}
    return ChainRow(number, str(hash), str(scheme), members if known else None)


def _line(event: loop.AuditEvent) -> str:
    """The members that are hashed, and the row's own number, hash and scheme; the keys in alphabetical order."""
    row = {
        "actor": event.actor,
        "code": event.code,
        "conversation_id": event.conversation_id,
        "decision_id": event.decision_id,
        "decision_number": str(event.decision_number),
        "details": MessageToDict(event.details),
        "digest": event.digest,
        "digest_scheme": event.digest_scheme,
        "event_time": event.event_time.ToDatetime(UTC).isoformat(timespec="microseconds"),
        "hash": event.hash,
        "interaction_id": event.interaction_id,
        "kind": loop.AuditKind.Name(event.kind).removeprefix("AUDIT_KIND_").lower(),
        "number": str(event.number),
        "run_id": event.run_id,
    }
    return json.dumps(row, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


async def _rows(client: HandrailClient, conversation_id: str) -> AsyncGenerator[loop.AuditEvent, None]:
    token = ""
    while True:
        request = loop.ListAuditEventsRequest(conversation_id=conversation_id, page_size=_PAGE, page_token=token)
        page = await _list(client, request)
        for event in page.audit_events:
            yield event
        token = page.next_page_token
        if not token:
            return


async def _list(client: HandrailClient, request: loop.ListAuditEventsRequest) -> loop.ListAuditEventsResponse:
    return await client.call(lambda: client.stub.ListAuditEvents(request, timeout=_UNARY_SECONDS))


async def _conversations(client: HandrailClient, token: str) -> loop.ListConversationsResponse:
    request = loop.ListConversationsRequest(page_size=_PAGE, page_token=token)
    return await client.call(lambda: client.stub.ListConversations(request, timeout=_UNARY_SECONDS))


async def _has_row(client: HandrailClient, conversation_id: str, kept: KeptHead) -> bool:
    async for event in _rows(client, conversation_id):
        if kept.is_at(event.number, event.hash):
            return True
    return False


def _tell(
    console: Console,
    subject: str,
    rows: int,
    head_hash: str,
    findings: list[tuple[int, str, str]],
    lost: KeptHead | None,
) -> None:
    """One line for the trail, one for each finding."""
    valid = not findings and lost is None
    console.print(
        Text.assemble(
            ("valid    " if valid else "tampered ", "bold green" if valid else "bold red"),
            f"{one_line(subject)}  {rows} rows",
            (f"  head {one_line(head_hash)}" if head_hash else "", "dim"),
        )
    )
    for number, fault, explanation in findings:
        console.print(Text.assemble((f"  {fault} ", "red"), f"row {number}: {one_line(explanation)}"))
    if lost is not None:
        place = f" as row {lost.number}" if lost.number else ""
        console.print(
            Text.assemble(
                ("  rewritten ", "red"),
                f"the trail does not have the head {one_line(lost.hash)}{place}, as it had once",
            )
        )
