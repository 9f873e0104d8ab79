"""`ExecuteTool`: runs a call that a stored decision issued, at most once (requirements E2 to E4).

Called by the servicer. Admit, claim durably, call, record; a repetition attaches to the running attempt or gets the
recorded outcome. An attempt goes on when its client is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_exponential

from adapter_service.application.decide.prepare_input import input_base
from adapter_service.application.execute.attempt import Attempt, RunningFunctions
from adapter_service.application.execute.claim import (
    Claimed,
    ExecuteCommand,
    Recorded,
    Refused,
    admit,
    claim,
    ended_without_result,
    recheck,
    stale_at_write,
)
from adapter_service.application.execute.record_outcome import broken_result, derive, record_refusal, record_success
from adapter_service.application.execute.run_tool import ResultBroken, ToolEnded, call_tool, load_arguments, probe
from adapter_service.application.execute.workspace_of_call import NO_WORKSPACE, CallWorkspace, open_for_call
from adapter_service.application.ports import Clock, Codec, Domains, Ids, Threads, Transaction, UnitOfWork
from adapter_service.application.read_set import reads_of
from adapter_service.application.workspace import own_writes
from adapter_service.application.workspace.open_workspace import OpenWorkspaces
from adapter_service.domain.artifact import Read
from adapter_service.domain.decision import ProgressReport
from adapter_service.domain.errors import AttemptElsewhere, NoThreadFree
from adapter_service.domain.ledger import Execution, ExecutionState
from adapter_service.domain.session import AtRevision
from adapter_service.sdk import NOT_EXECUTED, BaseChanged, Domain, Tool, ToolContext
from handrail_rpc import telemetry
from handrail_rpc.errors import HandrailError, NotFound, Unavailable
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
        workspaces: OpenWorkspaces,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._domains = domains
        self._clock = clock
        self._ids = ids
        self._codec = codec
        self._threads = threads
        self._owner = owner
        self._workspaces = workspaces
        self._live: dict[str, Attempt] = {}
        self._functions = RunningFunctions(threads)
        self._tasks: set[asyncio.Task[AtRevision]] = set()

    async def run(self, command: ExecuteCommand) -> AsyncIterator[ProgressReport | AtRevision]:
        """Progress, then the serialized ToolOutcome.

        Raises the refusals of domain.errors; NotFound for a call that was not issued. Closing the iterator stops
        nothing.
        """
        domain = self._domains.get(command.domain)
        if domain is None:
            raise NotFound.of("domain", command.domain)
        attempt = self._live.get(command.tool_call_id)
        if attempt is not None:
            await self._unit_of_work.write(lambda tx: admit(tx, command), name="execute_tool.adopt_fence")
            async for report in attempt.follow():
                yield report
            if not attempt.was_refused:
                yield await attempt.outcome()
                return
            # Perhaps for what its own caller said (an older fence): this caller's turn. It may not be forgotten yet.
            attempt = self._live.get(command.tool_call_id)
        if attempt is None or attempt.was_refused:
            attempt = self._begin(command, domain)
        async for report in attempt.follow():
            yield report
        yield await attempt.outcome()

    def _begin(self, command: ExecuteCommand, domain: Domain) -> Attempt:
        attempt = Attempt()
        self._live[command.tool_call_id] = attempt
        task = attempt.start(self._attempt(command, domain, attempt))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._forget(command.tool_call_id, attempt, done))
        return attempt

    def is_live(self, tool_call_id: str) -> bool:
        """Whether an attempt in this process can still change the outcome of the call. Safe from any thread."""
        return tool_call_id in self._live or self._functions.is_running(tool_call_id)

    async def stop(self) -> None:
        """End what still runs, at shutdown: its rows stay claimed and are recovered by the next start."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _forget(self, tool_call_id: str, attempt: Attempt, task: asyncio.Task[AtRevision]) -> None:
        if self._live.get(tool_call_id) is attempt:
            del self._live[tool_call_id]
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, HandrailError):
            logger.info("attempt ended without an outcome", tool_call_id=tool_call_id, reason=error.reason)
        elif error is not None:  # its caller may be gone: this is the only place where the cause is told
            logger.error("attempt failed", tool_call_id=tool_call_id, exc_info=error)

    async def _attempt(self, command: ExecuteCommand, domain: Domain, attempt: Attempt) -> AtRevision:
        attributes: dict[str, str | int] = {
            "handrail.tool_call_id": command.tool_call_id,
            "handrail.interaction_id": command.interaction_id,
            "handrail.dispatch_number": command.dispatch_number,
        }
        with log_context(tool_call_id=command.tool_call_id), telemetry.span("adapter.tool", attributes) as span:
            found = await self._unit_of_work.write(
                lambda tx: self._claim(tx, command, domain), name="execute_tool.claim"
            )
            if isinstance(found, AtRevision):
                return found
            call = found.call
            span.set("handrail.tool", call.tool)
            logger.info("tool call claimed", tool=call.tool, attempt=found.execution.attempt, orphan=found.orphan)
            outcome = await self._execute(command, domain, found, attempt)
            logger.info("tool call ended", tool=call.tool)
            return outcome

    def _claim(self, tx: Transaction, command: ExecuteCommand, domain: Domain) -> AtRevision | Claimed:
        now = self._clock()
        execution_id = self._ids("exe")
        found = claim(
            tx,
            command,
            domain,
            now=now,
            owner=self._owner,
            execution_id=execution_id,
            still_running=self._functions.is_running(command.tool_call_id),
        )
        if isinstance(found, Claimed):
            return found
        if isinstance(found, Recorded):
            return _at_revision(tx, command, found.outcome_bytes)
        call = admit(tx, command)[0].call
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
        return _at_revision(tx, command, record_refusal(tx, command, row, found, now=now, codec=self._codec))

    async def _execute(self, command: ExecuteCommand, domain: Domain, claimed: Claimed, attempt: Attempt) -> AtRevision:
        call = claimed.call
        tool = domain.tool(call.tool) if domain.has_tool(call.tool) else None
        base = input_base(call.input_bytes) if tool is not None and tool.base is not None else None
        context = ToolContext(self._clock(), call.idempotency_key, command.locale, attempt.report, base or "")
        seen = NO_WORKSPACE
        if tool is not None and domain.workspace is not None:
            try:
                seen = await open_for_call(self._workspaces, self._threads, domain, tool, claimed, command)
            except ToolEnded as ended:
                refused = ended_without_result(domain, claimed, ended.state, ended.trouble)
                return await self._refuse(command, claimed, refused)
            context = replace(context, workspace=seen.view)
        if claimed.orphan:
            recovered = await self._recover(command, domain, claimed, tool, context)
            if isinstance(recovered, AtRevision):
                return recovered
            claimed = recovered
        assert tool is not None  # the comparison refuses a call of a tool that is gone
        try:
            arguments = await load_arguments(self._unit_of_work, tool, claimed)
            if self._clock() >= claimed.execution.lease_until:
                # A lapsed attempt does not call (settle_dead); while the lease holds nobody can have taken over.
                raise AttemptElsewhere(call.tool_call_id)
            reads = reads_of(domain, tool, call, seen.sha256) if tool.validates else ()
            threads = self._functions.of(call.tool_call_id, domain.name)
            with own_writes.collected() as written:
                result = await call_tool(domain, tool, claimed, arguments, context, threads)
        except ToolEnded as ended:
            refused = ended_without_result(domain, claimed, ended.state, ended.trouble)
            return await self._refuse(command, claimed, refused)
        except BaseChanged:
            return await self._refuse(command, claimed, stale_at_write(command, domain, claimed))
        except ResultBroken as broken:
            logger.error("result cannot be kept", tool=tool.name, exc_info=broken.error)
            return await self._refuse(command, claimed, broken_result(domain, claimed, broken.error))
        # The hash over all files of a large workspace takes a while, in which other calls go on.
        seen = await asyncio.to_thread(seen.after, written) if written else seen
        return await self._succeed(command, domain, tool, claimed, result, reads, seen)

    async def _recover(
        self, command: ExecuteCommand, domain: Domain, claimed: Claimed, tool: Tool | None, context: ToolContext
    ) -> AtRevision | Claimed:
        """What is left of an earlier attempt: its change found by the probe, or a refusal; else the claim to call with.

        That is no orphan any more where the probe says that nothing happened.
        """
        if tool is not None and tool.probe is not None and claimed.call.effect.needs_approval:
            try:
                arguments = await load_arguments(self._unit_of_work, tool, claimed)
            except ToolEnded as ended:
                return await self._refuse(command, claimed, Refused(ExecutionState.UNKNOWN, trouble=ended.trouble))
            result = await probe(tool, arguments, context, self._threads, claimed.call.timeout.total_seconds())
            if result is NOT_EXECUTED:
                claimed = replace(claimed, orphan=False)
            elif result is not None:
                return await self._succeed(command, domain, tool, claimed, result)

        def compare_again(tx: Transaction) -> AtRevision | Claimed:
            now = self._clock()
            refused = recheck(tx, command, domain, claimed, now)
            if refused is None:
                return claimed
            data = record_refusal(tx, command, claimed.execution, refused, now=now, codec=self._codec)
            return _at_revision(tx, command, data)

        return await self._unit_of_work.write(compare_again, name="execute_tool.recheck")

    async def _succeed(
        self,
        command: ExecuteCommand,
        domain: Domain,
        tool: Tool,
        claimed: Claimed,
        result: object,
        reads: tuple[Read, ...] = (),
        seen: CallWorkspace = NO_WORKSPACE,
    ) -> AtRevision:
        try:
            # What happened is not lost because threads are short.
            success = await _patiently(
                NoThreadFree,
                lambda: self._threads.run(lambda: derive(tool, claimed.call, result, command.locale, reads)),
            )
        except Exception as error:
            # The boundary to a domain's callbacks.
            logger.error("callback failed on a result", tool=tool.name, exc_info=error)
            return await self._refuse(command, claimed, broken_result(domain, claimed, error))
        return await self._record(
            command,
            lambda tx: record_success(
                tx, command, domain, claimed, success, now=self._clock(), ids=self._ids, codec=self._codec, seen=seen
            ),
        )

    async def _refuse(self, command: ExecuteCommand, claimed: Claimed, refused: Refused) -> AtRevision:
        return await self._record(
            command,
            lambda tx: record_refusal(tx, command, claimed.execution, refused, now=self._clock(), codec=self._codec),
        )

    async def _record(self, command: ExecuteCommand, unit: Callable[[Transaction], bytes]) -> AtRevision:
        """Write an outcome, patiently: it exists nowhere else. In the end the row stays claimed, an orphan."""

        def record() -> Awaitable[AtRevision]:
            return self._unit_of_work.write(lambda tx: _at_revision(tx, command, unit(tx)), name="execute_tool.record")

        return await _patiently(Unavailable, record)


async def _patiently(error: type[HandrailError], work: Callable[[], Awaitable[T]]) -> T:
    """The result of `work`, which is repeated for up to RECORD_SECONDS while it raises `error`."""
    try:
        return await work()  # nearly always: the rest costs more than a short tool
    except error as first:
        if isinstance(first, AttemptElsewhere):
            raise
    async for trial in AsyncRetrying(
        retry=retry_if_exception(lambda e: isinstance(e, error) and not isinstance(e, AttemptElsewhere)),
        stop=stop_after_delay(RECORD_SECONDS),
        wait=wait_exponential(multiplier=0.1, max=5),
        reraise=True,
    ):
        with trial:
            return await work()
    raise AssertionError("reraise leaves no other way out")


def _at_revision(tx: Transaction, command: ExecuteCommand, outcome: bytes) -> AtRevision:
    return AtRevision(outcome, tx.sessions.revision(command.domain_session_id))
