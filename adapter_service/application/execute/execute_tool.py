"""`ExecuteTool`: runs a call that a stored decision issued, at most once (requirements E2 to E4).

Called by the servicer. Admit, claim durably, call, record; a repetition attaches to the running attempt or gets the
recorded outcome. An attempt goes on when its client is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_exponential

from adapter_service.application.check_access import check_access
from adapter_service.application.execute.attempt import Attempt
from adapter_service.application.execute.claim import (
    Claimed,
    ExecuteCommand,
    Recorded,
    Refused,
    claim,
    get_call,
    recheck,
)
from adapter_service.application.execute.record_outcome import broken_result, derive, record_refusal, record_success
from adapter_service.application.execute.run_tool import ToolEnded, call_tool, load_arguments, probe
from adapter_service.application.ports import Clock, Codec, Domains, Ids, Threads, Transaction, UnitOfWork
from adapter_service.domain.decision import ProgressReport
from adapter_service.domain.errors import AttemptElsewhere
from adapter_service.domain.ledger import Execution, ExecutionState
from adapter_service.sdk import Domain, Tool, ToolContext
from handrail_rpc import telemetry
from handrail_rpc.errors import HandrailError, NotFound, ResourceExhausted, Unavailable
from handrail_rpc.logging import get_logger, log_context

RECORD_SECONDS = 60.0

T = TypeVar("T")
logger = get_logger(__name__)


class ExecuteTool:
    """The use case; one instance a process. `owner` is unique per process start."""

    def __init__(
        self,
        unit_of_work: UnitOfWork,
        domains: Domains,
        *,
        clock: Clock,
        ids: Ids,
        codec: Codec,
        threads: Threads,
        owner: str,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._domains = domains
        self._clock = clock
        self._ids = ids
        self._codec = codec
        self._threads = threads
        self._owner = owner
        self._live: dict[str, Attempt] = {}
        self._tasks: set[asyncio.Task[bytes]] = set()

    async def run(self, command: ExecuteCommand) -> AsyncIterator[ProgressReport | bytes]:
        """Progress, then the serialized ToolOutcome.

        Raises the refusals of domain.errors; NotFound for a call that was not issued. Closing the iterator stops
        nothing.
        """
        domain = self._domains.get(command.domain)
        if domain is None:
            raise NotFound.of("domain", command.domain)
        recorded = await self._unit_of_work.read(lambda tx: _find_outcome(tx, command))
        if recorded is not None:
            yield recorded
            return
        attempt = self._live.get(command.tool_call_id)
        if attempt is None:
            attempt = Attempt()
            self._live[command.tool_call_id] = attempt
            task = attempt.start(self._attempt(command, domain, attempt))
            self._tasks.add(task)
            task.add_done_callback(lambda done: self._forget(command.tool_call_id, done))
        else:
            await self._unit_of_work.write(lambda tx: _adopt_fence(tx, command))
        async for report in attempt.follow():
            yield report
        yield await attempt.outcome()

    async def stop(self) -> None:
        """End what still runs, at shutdown: its rows stay claimed and are recovered by the next start."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _forget(self, tool_call_id: str, task: asyncio.Task[bytes]) -> None:
        self._live.pop(tool_call_id, None)
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, HandrailError):
            logger.info("attempt ended without an outcome", tool_call_id=tool_call_id, reason=error.reason)
        elif error is not None:  # its caller may be gone: this is the only place where the cause is told
            logger.error("attempt failed", tool_call_id=tool_call_id, exc_info=error)

    async def _attempt(self, command: ExecuteCommand, domain: Domain, attempt: Attempt) -> bytes:
        attributes: dict[str, str | int] = {
            "handrail.tool_call_id": command.tool_call_id,
            "handrail.interaction_id": command.interaction_id,
            "handrail.dispatch_number": command.dispatch_number,
        }
        with log_context(tool_call_id=command.tool_call_id), telemetry.span("adapter.tool", attributes) as span:
            found = await self._unit_of_work.write(lambda tx: self._claim(tx, command, domain))
            if isinstance(found, Recorded):
                return found.outcome_bytes
            call = found.call
            span.set("handrail.tool", call.tool)
            logger.info("tool call claimed", tool=call.tool, attempt=found.execution.attempt, orphan=found.orphan)
            outcome = await self._execute(command, domain, found, attempt)
            logger.info("tool call ended", tool=call.tool)
            return outcome

    def _claim(self, tx: Transaction, command: ExecuteCommand, domain: Domain) -> Recorded | Claimed:
        now = self._clock()
        execution_id = self._ids("exe")
        found = claim(tx, command, domain, now=now, owner=self._owner, execution_id=execution_id)
        if not isinstance(found, Refused):
            return found
        call = get_call(tx, command)
        row = Execution(
            tool_call_id=call.tool_call_id,
            execution_id=execution_id,
            interaction_id=call.interaction_id,
            idempotency_key=call.idempotency_key,
            tool=call.tool,
            effect=call.effect,
            target=call.target,
            state=found.state,
            attempt=0,
            owner=self._owner,
            lease_until=now,
        )
        return Recorded(record_refusal(tx, command, row, found, now=now, codec=self._codec))

    async def _execute(self, command: ExecuteCommand, domain: Domain, claimed: Claimed, attempt: Attempt) -> bytes:
        call = claimed.call
        tool = domain.tool(call.tool) if domain.has_tool(call.tool) else None
        context = ToolContext(self._clock(), call.idempotency_key, command.locale, attempt.report)
        if claimed.orphan:
            recovered = await self._recover(command, domain, claimed, tool, context)
            if recovered is not None:
                return recovered
        assert tool is not None  # the comparison refuses a call of a tool that is gone
        try:
            arguments = await load_arguments(self._unit_of_work, tool, claimed)
            if self._clock() >= claimed.execution.lease_until:
                # A lapsed attempt does not call (settle_dead); while the lease holds nobody can have taken over.
                raise AttemptElsewhere(call.tool_call_id)
            result = await call_tool(domain, tool, claimed, arguments, context, self._threads)
        except ToolEnded as ended:
            return await self._refuse(command, claimed, Refused(ended.state, trouble=ended.trouble))
        except ValueError as error:
            logger.error("result has no canonical form", tool=tool.name, exc_info=error)
            return await self._refuse(command, claimed, broken_result(domain, claimed))
        return await self._succeed(command, domain, tool, claimed, result)

    async def _recover(
        self, command: ExecuteCommand, domain: Domain, claimed: Claimed, tool: Tool | None, context: ToolContext
    ) -> bytes | None:
        """What is left of an earlier attempt: its change found by the probe, or a refusal; None to call (again)."""
        if tool is not None and tool.probe is not None and claimed.call.effect.needs_approval:
            try:
                arguments = await load_arguments(self._unit_of_work, tool, claimed)
            except ToolEnded as ended:
                return await self._refuse(command, claimed, Refused(ExecutionState.UNKNOWN, trouble=ended.trouble))
            result = await probe(tool, arguments, context, self._threads, claimed.call.timeout.total_seconds())
            if result is not None:
                return await self._succeed(command, domain, tool, claimed, result)

        def compare_again(tx: Transaction) -> bytes | None:
            now = self._clock()
            refused = recheck(tx, command, domain, claimed, now)
            if refused is None:
                return None
            return record_refusal(tx, command, claimed.execution, refused, now=now, codec=self._codec)

        return await self._unit_of_work.write(compare_again)

    async def _succeed(
        self, command: ExecuteCommand, domain: Domain, tool: Tool, claimed: Claimed, result: object
    ) -> bytes:
        try:
            async for trial in _patiently(ResourceExhausted):  # what happened is not lost because threads are short
                with trial:
                    success = await self._threads.run(lambda: derive(tool, claimed.call, result, command.locale))
        except Exception as error:
            # The boundary to a domain's callbacks.
            logger.error("callback failed on a result", tool=tool.name, exc_info=error)
            return await self._refuse(command, claimed, broken_result(domain, claimed))
        return await self._record(
            lambda tx: record_success(
                tx, command, domain, claimed, success, now=self._clock(), ids=self._ids, codec=self._codec
            )
        )

    async def _refuse(self, command: ExecuteCommand, claimed: Claimed, refused: Refused) -> bytes:
        return await self._record(
            lambda tx: record_refusal(tx, command, claimed.execution, refused, now=self._clock(), codec=self._codec)
        )

    async def _record(self, unit: Callable[[Transaction], bytes]) -> bytes:
        """Write an outcome, patiently: it exists nowhere else. In the end the row stays claimed, an orphan."""
        async for trial in _patiently(Unavailable):
            with trial:
                return await self._unit_of_work.write(unit)
        raise Unavailable("the outcome could not be stored; ask again", reason="STORAGE_UNAVAILABLE")


def _patiently(error: type[HandrailError]) -> AsyncRetrying:
    return AsyncRetrying(
        retry=retry_if_exception(lambda e: isinstance(e, error) and not isinstance(e, AttemptElsewhere)),
        stop=stop_after_delay(RECORD_SECONDS),
        wait=wait_exponential(multiplier=0.1, max=5),
        reraise=True,
    )


def _find_outcome(tx: Transaction, command: ExecuteCommand) -> bytes | None:
    call = get_call(tx, command)
    known = tx.calls.find_execution(call.tool_call_id)
    return known.outcome_bytes if known is not None and known.state is not ExecutionState.CLAIMED else None


def _adopt_fence(tx: Transaction, command: ExecuteCommand) -> None:
    check_access(tx, command)
    tx.interactions.raise_epoch(command.interaction_id, command.epoch)
