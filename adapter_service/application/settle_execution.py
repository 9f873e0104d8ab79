"""`SettleExecution`: a person's verdict on a call whose outcome is unknown; it frees the target (soundness rules
settle_dead, target_lock). Called by the servicer.

Idempotent by verdict: the Loop repeats it after a crash. Nothing is invented: a call that a person says happened has a
receipt without a result, and the artifact version that it was about counts as dealt with (requirement F4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from adapter_service.application.execute.record_outcome import settle_artifacts
from adapter_service.application.ports import Clock, Codec, Domains, Ids, Transaction, UnitOfWork
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.errors import (
    AlreadySettled,
    AttemptLive,
    HistoryDiverged,
    OutcomeRecorded,
    ToolCallUnknown,
)
from adapter_service.domain.failure import Failure, Stage
from adapter_service.domain.ledger import (
    Execution,
    ExecutionState,
    Receipt,
    ToolCall,
    ToolOutcome,
    Trouble,
    may_be_settled,
)
from adapter_service.sdk import Domain, Text
from handrail_rpc.errors import NotFound

NOT_EXECUTED = "settled_not_executed"


@dataclass(frozen=True, slots=True)
class SettleCommand:
    """A checked SettleExecutionRequest; `happened` False: it did not."""

    domain: str
    domain_session_id: str
    interaction_id: str
    tool_call_id: str
    history_id: str
    happened: bool
    settled_by: str
    comment: str
    locale: str
    request_id: str

    @property
    def verdict(self) -> ExecutionState:
        """The state that the verdict brings."""
        return ExecutionState.SUCCEEDED if self.happened else ExecutionState.FAILED


class SettleExecution:
    """The use case; one instance a process. `is_live` says whether this process still works on a call."""

    def __init__(
        self,
        unit_of_work: UnitOfWork,
        domains: Domains,
        *,
        clock: Clock,
        ids: Ids,
        codec: Codec,
        is_live: Callable[[str], bool],
    ) -> None:
        self._unit_of_work = unit_of_work
        self._domains = domains
        self._clock = clock
        self._ids = ids
        self._codec = codec
        self._is_live = is_live

    async def run(self, command: SettleCommand) -> bytes:
        """The serialized ToolOutcome as it is from now on.

        Raises HistoryDiverged, NotFound for an unknown domain or call and for an unknown or erased session,
        AttemptLive, AlreadySettled and OutcomeRecorded; then nothing changes.
        """
        domain = self._domains.get(command.domain)
        if domain is None:
            raise NotFound.of("domain", command.domain)
        return await self._unit_of_work.write(
            lambda tx: self._settle(tx, command, domain), name="settle_execution.settle"
        )

    def _settle(self, tx: Transaction, command: SettleCommand, domain: Domain) -> bytes:
        call = _issued_call(tx, command)
        known = tx.calls.find_execution(call.tool_call_id)
        now = self._clock()
        if known is not None and not may_be_settled(known.state, command.verdict):
            return _recorded(known, command)
        if self._is_live(call.tool_call_id) or (
            known is not None and known.state is ExecutionState.CLAIMED and not known.is_orphan(now)
        ):
            raise AttemptLive(call.tool_call_id)
        row = known or self._first_row(call, command, now)
        outcome = _outcome(row, command, domain, now)
        settled = replace(
            row,
            state=outcome.state,
            outcome_bytes=self._codec.outcome(outcome),
            trouble=None if command.happened else Trouble(NOT_EXECUTED, _not_executed(domain, call.tool)),
            settled_by=command.settled_by,
            settle_time=now,
            settle_comment=command.comment,
        )
        if known is None:
            # Nothing had begun here, and from now on nothing can: the claim finds this row.
            tx.calls.add_execution(settled, domain.name, now)
        else:
            tx.calls.settle_by_person(settled, now)
        if command.happened and call.effect.needs_approval and domain.has_tool(call.tool):
            settle_artifacts(tx, domain, call)
        tx.sessions.touch(command.domain_session_id)
        return settled.outcome_bytes

    def _first_row(self, call: ToolCall, command: SettleCommand, now: datetime) -> Execution:
        return Execution(
            tool_call_id=call.tool_call_id,
            execution_id=self._ids("exe"),
            interaction_id=call.interaction_id,
            idempotency_key=call.idempotency_key,
            tool=call.tool,
            effect=call.effect,
            target=call.target,
            state=command.verdict,
            attempt=0,
            owner="",
            lease_until=now,
        )


def _issued_call(tx: Transaction, command: SettleCommand) -> ToolCall:
    history_id = tx.sessions.history_id()
    if command.history_id != history_id:
        raise HistoryDiverged(history_id)
    session = tx.sessions.find(command.domain_session_id)
    if session is None or session.erased or session.domain != command.domain:
        raise NotFound.of("session", command.domain_session_id)
    interaction = tx.interactions.find(command.interaction_id)
    call = tx.calls.find_call(command.tool_call_id)
    if (
        interaction is None
        or interaction.domain_session_id != session.domain_session_id
        or call is None
        or call.interaction_id != interaction.interaction_id
    ):
        raise ToolCallUnknown(command.tool_call_id)
    return call


def _recorded(known: Execution, command: SettleCommand) -> bytes:
    """The recorded outcome where the verdict agrees with it: repeated, or known here all along."""
    did_not_happen = (ExecutionState.FAILED, ExecutionState.BLOCKED)
    agrees = known.state is command.verdict or (not command.happened and known.state in did_not_happen)
    if agrees:
        return known.outcome_bytes
    if known.settled_by:
        raise AlreadySettled(known.tool_call_id, known.state.value, known.settled_by, known.settle_time)
    raise OutcomeRecorded(known.tool_call_id, known.state.value)


def _outcome(row: Execution, command: SettleCommand, domain: Domain, now: datetime) -> ToolOutcome:
    if command.happened:
        by = Text(command.settled_by, command.settled_by)
        summary = texts.filled(texts.SETTLED_EXECUTED, title=_title(domain, row.tool), by=by)
        receipt = Receipt(row.execution_id, row.idempotency_key, now, "", summary.localized(command.locale))
        return ToolOutcome(row.tool_call_id, row.tool, ExecutionState.SUCCEEDED, receipt)
    failure = Failure(
        stage=Stage.TOOL,
        code=NOT_EXECUTED,
        explanation=_not_executed(domain, row.tool).localized(command.locale),
        source_code=NOT_EXECUTED,
        request_id=command.request_id,
    )
    return ToolOutcome(row.tool_call_id, row.tool, ExecutionState.FAILED, failure=failure)


def _not_executed(domain: Domain, tool: str) -> Text:
    return texts.filled(texts.SETTLED_NOT_EXECUTED, title=_title(domain, tool))


def _title(domain: Domain, tool: str) -> Text:
    return domain.tool(tool).title if domain.has_tool(tool) else Text(tool, tool)
