"""What must hold of a conversation once it rests, whatever died on the way (the promises of soundness.md).

Read from both databases and through the Loop's own RPCs; called after each scenario.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from google.protobuf.json_format import MessageToDict

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.digest import canonical_json, sha256_hex
from loop_service.domain.audit import AuditEntry, AuditKind, chained_object
from loop_service.domain.interaction import ACTIVE, TERMINAL
from tests.crash.actor import Actor, persist, until
from tests.crash.site import Site
from tests.fakes.processes import check_history

_ACTIVE = {state.value for state in ACTIVE}
_TERMINAL = {state.value for state in TERMINAL}


async def check_conversation(site: Site, actor: Actor, *, effects_are_counted: bool = True) -> None:
    """Wait until the conversation rests, then check every promise; fails with what is broken.

    Effects are those of the lasting probe domain; another domain's scenario looks after its own.
    """
    await until(lambda: _at_rest(site, actor.conversation_id), "rest: no interaction that is busy")
    rows = Rows.read(site, actor.conversation_id)
    rows.check_next_actions()
    rows.check_decisions()
    rows.check_calls(Counter(site.effects()) if effects_are_counted else None)
    await _check_events(actor)
    await _check_messages(actor, rows)
    await _check_audit(actor)


async def _at_rest(site: Site, conversation_id: str) -> bool | None:
    rows = Rows.read(site, conversation_id)
    busy = [each for each in rows.interactions if each["active_run_id"] or each["state"] in _ACTIVE]
    return None if busy or rows.inbox else True


@dataclass(frozen=True)
class Rows:
    """One conversation as both databases have it."""

    interactions: list[dict[str, Any]]
    clarifications: list[dict[str, Any]]
    approvals: list[dict[str, Any]]
    decisions: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    inbox: list[dict[str, Any]]
    adapter_decisions: dict[tuple[str, int], bytes]
    adapter_calls: dict[str, dict[str, Any]]
    executions: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, site: Site, conversation_id: str) -> Rows:
        with closing(_reading(site, "loop")) as loop, closing(_reading(site, "adapter")) as adapter:
            interactions = _rows(
                loop, "SELECT * FROM interactions WHERE conversation_id = ? ORDER BY create_time", conversation_id
            )
            ids = [each["interaction_id"] for each in interactions]

            def of(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
                marks = ",".join("?" * len(ids))
                return _rows(connection, f"SELECT * FROM {table} WHERE interaction_id IN ({marks})", *ids)

            return cls(
                interactions,
                of(loop, "clarifications"),
                of(loop, "approvals"),
                of(loop, "decisions"),
                of(loop, "tool_calls"),
                of(loop, "inbox"),
                {(r["interaction_id"], r["decision_number"]): r["decision"] for r in of(adapter, "decisions")},
                {r["tool_call_id"]: r for r in of(adapter, "tool_calls")},
                {r["tool_call_id"]: r for r in of(adapter, "executions")},
            )

    def check_next_actions(self) -> None:
        """No state without a next action: ended, or waiting for something that is open, due or expected."""
        for each in self.interactions:
            what = {key: value for key, value in each.items() if value not in ("", 0, None, b"")}
            match each["state"]:
                case state if state in _TERMINAL:
                    open_items = [r for r in self.clarifications + self.approvals if r["status"] == "open"]
                    left = [r for r in open_items if r["interaction_id"] == each["interaction_id"]]
                    assert not left, f"an ended interaction leaves something open: {what}"
                case "awaiting_clarification":
                    assert self._is_open(self.clarifications, "clarification_id", each), f"no question is open: {what}"
                case "awaiting_approval":
                    assert self._is_open(self.approvals, "approval_id", each), f"no approval is open: {what}"
                case "waiting":
                    assert each["wait_until"] or each["wait_signal"] or each["stop_kind"], (
                        f"it waits for nothing: {what}"
                    )
                case state:
                    raise AssertionError(f"{state} with nobody at work: {what}")

    @staticmethod
    def _is_open(rows: list[dict[str, Any]], key: str, interaction: dict[str, Any]) -> bool:
        return any(row[key] == interaction[key] and row["status"] == "open" for row in rows)

    def check_decisions(self) -> None:
        """Both sides have the same bytes under the same number, without a gap."""
        ended = {each["interaction_id"] for each in self.interactions if each["state"] in _TERMINAL}
        numbers: dict[str, list[int]] = {each["interaction_id"]: [] for each in self.interactions}
        for row in self.decisions:
            key = (row["interaction_id"], row["number"])
            assert self.adapter_decisions.get(key) == row["data"], f"decision {key} differs between the services"
            numbers[key[0]].append(key[1])
        for interaction_id, found in numbers.items():
            assert sorted(found) == list(range(1, len(found) + 1)), f"decisions of {interaction_id}: {found}"
        stored = {(row["interaction_id"], row["number"]) for row in self.decisions}
        ahead = [key for key in self.adapter_decisions if key not in stored and key[0] not in ended]
        assert not ahead, f"the Adapter has decisions that a living interaction does not know: {ahead}"

    def check_calls(self, effects: Counter[str] | None) -> None:
        """At most one effect a key, exactly one behind a success, and every dispatched call has its outcome."""
        for call in self.calls:
            call_id, outcome = call["tool_call_id"], call["outcome"]
            row = self.adapter_calls[call_id]
            execution = self.executions.get(call_id)
            changing = row["effect"] in ("change", "external")
            if outcome:
                assert execution is None or execution["state"] != "claimed" or outcome == "unknown", (call, execution)
            else:
                assert not call["dispatch_number"] or not changing or self._goes_on(call), f"no outcome: {call}"
            if execution is not None and execution["outcome"] and call["raw_outcome"]:
                assert execution["outcome"] == call["raw_outcome"], f"the outcomes of {call_id} differ"
            if changing and effects is not None:
                happened = effects[row["idempotency_key"]]
                assert happened <= 1, f"{happened} effects of one key: {call}"
                assert outcome != "succeeded" or happened == 1, f"a success without an effect: {call}"
                assert outcome not in ("blocked", "failed") or happened == 0, f"an effect without a success: {call}"

    def _goes_on(self, call: dict[str, Any]) -> bool:
        return any(
            each["interaction_id"] == call["interaction_id"] and each["state"] not in _TERMINAL
            for each in self.interactions
        )


async def _check_events(actor: Actor) -> None:
    """Gapless, one ending a run, and exactly what clients had been told."""
    history = await persist(lambda: actor.requester.history(actor.conversation_id))
    check_history(history)
    stored = {event.sequence: event.SerializeToString(deterministic=True) for event in history}
    for sequence, data in actor.heard.events.items():
        assert stored.get(sequence) == data, f"a client was told event {sequence}, which is not what is stored"


async def _check_messages(actor: Actor, rows: Rows) -> None:
    """Every message is there once, in its order, and belongs to an interaction."""
    messages = await persist(lambda: actor.requester.messages(actor.conversation_id))
    said = [each for each in messages if each.role == pb.ROLE_USER]
    assert len(said) == len(actor.heard.texts), f"{len(actor.heard.texts)} messages were sent, {len(said)} are stored"
    clicks = actor.heard.texts.count("")
    typed = Counter(each.text for each in said)
    for text in filter(None, actor.heard.texts):
        assert typed[text], f"the message {text!r} is lost"
        typed[text] -= 1
    assert typed.total() == clicks
    known = {each["interaction_id"] for each in rows.interactions}
    assert {each.interaction_id for each in said} <= known


async def _check_audit(actor: Actor) -> None:
    """The chain, computed again by hand from what ListAuditEvents shows, and as VerifyAudit finds it."""
    request, stub = pb.VerifyAuditRequest(conversation_id=actor.conversation_id), actor.requester.stub
    verified = await persist(lambda: actor.requester.call(lambda: stub.VerifyAudit(request, timeout=30)))
    assert verified.valid, verified.findings
    previous = ""
    rows = await persist(lambda: actor.requester.audit_events(actor.conversation_id))
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    for row in rows:
        micros = row.event_time.ToMicroseconds()
        entry = AuditEntry(
            row.interaction_id,
            row.run_id,
            AuditKind(pb.AuditKind.Name(row.kind).removeprefix("AUDIT_KIND_").lower()),
            row.actor,
            row.decision_number,
            row.decision_id,
            row.digest,
            row.code,
            MessageToDict(row.details),
        )
        time = datetime.fromtimestamp(micros // 1_000_000, UTC).replace(microsecond=micros % 1_000_000)
        made = chained_object(row.conversation_id, row.number, entry, time, previous, row.digest_scheme)
        assert sha256_hex(canonical_json(made)) == row.hash, (
            f"audit row {row.number} does not follow from the one before"
        )
        previous = row.hash


def _reading(site: Site, name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{site.database(name)}?mode=ro", uri=True, timeout=10, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("BEGIN")
    return connection


def _rows(connection: sqlite3.Connection, statement: str, *values: object) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.execute(statement, values)]
