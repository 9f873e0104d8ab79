"""The claiming transaction: comparison and claim in one (requirements E2, E4; soundness rule serializable_claim).

Called by `execute_tool` before a tool runs. What it returns says what to do; what it recorded is durable by then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from adapter_service.application.check_access import check_access
from adapter_service.application.decide.prepare_input import input_arguments
from adapter_service.application.ports import Transaction
from adapter_service.application.read_set import holds
from adapter_service.domain import failure_texts as texts
from adapter_service.domain import policy
from adapter_service.domain.approval import Approval, World, compare
from adapter_service.domain.errors import AttemptElsewhere, InteractionClosed, ToolCallUnknown
from adapter_service.domain.failure import PolicyBlock
from adapter_service.domain.ledger import Execution, ExecutionState, IssuedCall, ToolCall, Trouble
from adapter_service.domain.session import Interaction, Principal
from adapter_service.sdk import Domain, Text, Tool
from handrail_rpc.digest import sha256_hex

# Beyond the tool's own timeout: what claiming, loading contents and recording may take.
LEASE_MARGIN = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class ExecuteCommand:
    """A checked ExecuteToolRequest."""

    domain: str
    domain_session_id: str
    interaction_id: str
    epoch: int
    tool_call_id: str
    dispatch_number: int
    principal: Principal
    locale: str
    history_id: str
    request_id: str
    known_revision: int = 0


@dataclass(frozen=True, slots=True)
class Recorded:
    """The call has its outcome; nothing is called."""

    outcome_bytes: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """To be recorded without calling: a block, or trouble with the state it ends in."""

    state: ExecutionState
    block: PolicyBlock | None = None
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """This process may call the tool until `execution.lease_until`.

    `orphan`: an earlier attempt may have had an effect; the tool's probe may say that it had none.
    """

    execution: Execution
    call: ToolCall
    orphan: bool


def admit(tx: Transaction, command: ExecuteCommand) -> tuple[IssuedCall, Interaction]:
    """The issued call and its interaction, after the fence was checked and raised.

    Raises the refusals of check_access, ToolCallUnknown for any other call.
    """
    _, interaction = check_access(tx, command)
    issued = tx.calls.find_issued(command.tool_call_id)
    if issued is None or interaction is None or issued.call.interaction_id != command.interaction_id:
        raise ToolCallUnknown(command.tool_call_id)
    if interaction.epoch < command.epoch:
        tx.interactions.raise_epoch(command.interaction_id, command.epoch)
    return issued, interaction


def claim(
    tx: Transaction,
    command: ExecuteCommand,
    domain: Domain,
    *,
    now: datetime,
    owner: str,
    execution_id: str,
    still_running: bool,
) -> Recorded | Refused | Claimed:
    """Compare and claim. `still_running`: a function of an earlier attempt runs in this process.

    Raises InteractionClosed for a fenced interaction, AttemptElsewhere for a live lease or a change that still runs.
    """
    issued, interaction = admit(tx, command)
    call, known = issued.call, issued.execution
    lease_until = now + call.timeout + LEASE_MARGIN
    if known is not None and known.state is not ExecutionState.CLAIMED:
        return Recorded(known.outcome_bytes)
    if known is not None:
        if still_running and call.effect.needs_approval:
            # Its time-out could not be recorded. Whatever the lease and a probe say: its change may still come.
            raise AttemptElsewhere(call.tool_call_id)
        taken = _take_over(tx, call, known, now=now, owner=owner, lease_until=lease_until)
        tx.sessions.touch(command.domain_session_id, command.known_revision)
        return taken
    if interaction.closed:
        raise InteractionClosed(command.interaction_id)
    changing = call.effect.needs_approval
    if changing and command.dispatch_number > 1 and not call.idempotent:
        return Refused(ExecutionState.UNKNOWN, trouble=unknown_trouble(domain, call))
    refused = mismatch(tx, command, domain, call, now)
    if refused is not None:
        return refused
    execution = Execution(
        tool_call_id=call.tool_call_id,
        execution_id=execution_id,
        interaction_id=call.interaction_id,
        idempotency_key=call.idempotency_key,
        tool=call.tool,
        effect=call.effect,
        target=call.target,
        state=ExecutionState.CLAIMED,
        attempt=1,
        owner=owner,
        lease_until=lease_until,
    )
    tx.calls.add_execution(execution, domain.name, now)
    tx.sessions.touch(command.domain_session_id, command.known_revision)
    return Claimed(execution, call, orphan=False)


def _take_over(
    tx: Transaction, call: ToolCall, known: Execution, *, now: datetime, owner: str, lease_until: datetime
) -> Claimed:
    """An attempt exists: a live one is left alone, an orphan is taken over (soundness rule live_attempt)."""
    if not known.is_orphan(now):
        raise AttemptElsewhere(call.tool_call_id)
    tx.calls.take_over(call.tool_call_id, known.attempt + 1, owner, lease_until)
    taken = replace(known, attempt=known.attempt + 1, owner=owner, lease_until=lease_until)
    return Claimed(taken, call, orphan=True)


def recheck(
    tx: Transaction, command: ExecuteCommand, domain: Domain, claimed: Claimed, now: datetime
) -> Refused | None:
    """Whether a call taken over may be made again: the whole comparison, tombstone included (recheck_recovery).

    Also refuses where this attempt no longer holds the lease (settle_dead).
    """
    call = claimed.call
    interaction = tx.interactions.find(command.interaction_id)
    unknown = Refused(ExecutionState.UNKNOWN, trouble=unknown_trouble(domain, call))
    if call.effect.needs_approval and not call.idempotent and claimed.orphan:
        return unknown
    if not holds_lease(tx, claimed, now):
        raise AttemptElsewhere(call.tool_call_id)
    closed = interaction is None or interaction.closed
    refused = mismatch(tx, command, domain, call, now)
    if not call.effect.needs_approval or not claimed.orphan:
        if closed:
            return Refused(ExecutionState.BLOCKED, block=_block(policy.INTERACTION_OPEN, command, call))
        return refused
    # A mismatch after a crash says nothing about the first attempt: it may have had its effect.
    return unknown if closed or refused is not None else None


def holds_lease(tx: Transaction, claimed: Claimed, now: datetime) -> bool:
    """Whether this attempt is still the one that may call and record."""
    row = tx.calls.find_execution(claimed.call.tool_call_id)
    mine = claimed.execution
    return (
        row is not None
        and row.state is ExecutionState.CLAIMED
        and (row.owner, row.attempt) == (mine.owner, mine.attempt)
        and now < mine.lease_until
    )


def mismatch(tx: Transaction, command: ExecuteCommand, domain: Domain, call: ToolCall, now: datetime) -> Refused | None:
    """Everything that must hold for a call, besides tombstone and ledger row; None if it holds."""
    if not domain.has_tool(call.tool) or domain.tool(call.tool).version != call.tool_version:
        if call.effect.needs_approval:
            return Refused(ExecutionState.BLOCKED, block=_block(policy.APPROVAL_STALE, command, call))
        title = domain.tool(call.tool).title if domain.has_tool(call.tool) else Text(call.tool, call.tool)
        trouble = Trouble("tool_failed", texts.filled(texts.TOOL_FAILED, title=title), source_code="tool_changed")
        return Refused(ExecutionState.FAILED, trouble=trouble)
    tool = domain.tool(call.tool)
    if not policy.role_permits(command.principal.roles, tool):
        return Refused(ExecutionState.BLOCKED, block=_block(policy.ROLE_PERMITS, command, call))
    intact = sha256_hex(call.input_bytes) == call.input_sha256
    if not call.effect.needs_approval:
        return _unapproved_mismatch(tx, domain, tool, intact)
    if not intact:  # before anything is read from the bytes
        return Refused(ExecutionState.BLOCKED, block=_block(policy.APPROVAL_STALE, command, call))
    approval = tx.calls.find_approval(call.approval_digest) if call.approval_digest else None
    found = compare(approval, world_of_call(tx, domain, tool, call, approval, now))
    if found is not None:
        return Refused(ExecutionState.BLOCKED, block=_block(policy.rule_for(found.code), command, call))
    if call.target and tx.calls.target_is_busy(domain.name, call.target, besides=call.tool_call_id):
        return Refused(ExecutionState.BLOCKED, block=_block(policy.TARGET_FREE, command, call))
    return None


def _unapproved_mismatch(tx: Transaction, domain: Domain, tool: Tool, intact: bool) -> Refused | None:
    """READ and DRAFT: the input as stored, and this process's policy is the one in force."""
    if not intact:
        trouble = Trouble("tool_input_invalid", texts.filled(texts.TOOL_INPUT_INVALID, title=tool.title))
        return Refused(ExecutionState.FAILED, trouble=trouble)
    if tx.calls.stored_version(domain.name, "policy", "") != str(domain.policy_version):
        trouble = Trouble("policy_version_outdated", texts.POLICY_OUTDATED, texts.POLICY_OUTDATED_HELP)
        return Refused(ExecutionState.FAILED, trouble=trouble)
    return None


def world_of_call(
    tx: Transaction, domain: Domain, tool: Tool, call: ToolCall, approval: Approval | None, now: datetime
) -> World:
    """The world in this transaction. The artifact is the one that the stored input names, at its current version."""
    world = World(
        now=now,
        tool=tool.name,
        tool_version=str(tool.version),
        stored_tool_version=tx.calls.stored_version(domain.name, "tool", tool.name),
        policy_version=str(domain.policy_version),
        stored_policy_version=tx.calls.stored_version(domain.name, "policy", ""),
        input_sha256=sha256_hex(call.input_bytes),
        key_used=tx.calls.key_is_used(call.idempotency_key, besides=call.tool_call_id)
        or (approval is not None and call.idempotency_key != approval.snapshot.idempotency_key),
    )
    for name in tool.artifacts:
        named = input_arguments(call.input_bytes).get(name)
        current = tx.artifacts.find(named["artifact_id"]) if named else None
        if current is None:
            continue
        validation = tx.artifacts.find_validation(current.artifact_id, current.version)
        return replace(
            world,
            artifact_id=current.artifact_id,
            artifact_version=current.version,
            artifact_sha256=current.sha256,
            needs_validation=bool(domain.kind(current.kind).validate_tool),
            validation_sha256=validation.sha256 if validation is not None else "",
            validation_passed=validation.passed if validation is not None else None,
            validation_outdated=validation is not None and not holds(tx, domain, validation),
        )
    return world


def ended_without_result(domain: Domain, claimed: Claimed, state: ExecutionState, trouble: Trouble) -> Refused:
    """How a call ends that gave no result. A failure of a repetition says nothing about the first attempt."""
    call = claimed.call
    if claimed.orphan and call.effect.needs_approval and state is ExecutionState.FAILED:
        source_code = trouble.source_code or trouble.code
        return Refused(ExecutionState.UNKNOWN, trouble=unknown_trouble(domain, call, source_code))
    return Refused(state, trouble=trouble)


def stale_at_write(command: ExecuteCommand, domain: Domain, claimed: Claimed) -> Refused:
    """What the tool would replace is not what was approved (soundness rule compare_at_write): a policy block.

    In a repetition it may be the first attempt's own change, or somebody's after it: then nobody can tell.
    """
    if claimed.orphan:
        return Refused(ExecutionState.UNKNOWN, trouble=unknown_trouble(domain, claimed.call, "base_changed"))
    return Refused(ExecutionState.BLOCKED, block=_block(policy.APPROVAL_STALE, command, claimed.call))


def _block(rule: policy.Rule, command: ExecuteCommand, call: ToolCall) -> PolicyBlock:
    return policy.block_of(
        rule, call.tool, command.locale, approval_id=call.approval_id, tool_call_id=call.tool_call_id
    )


def unknown_trouble(domain: Domain, call: ToolCall, source_code: str = "") -> Trouble:
    """Nobody can say whether the call had an effect; a person settles it (requirement E4)."""
    title = domain.tool(call.tool).title if domain.has_tool(call.tool) else Text(call.tool, call.tool)
    return Trouble(
        "tool_outcome_unknown",
        texts.filled(texts.OUTCOME_UNKNOWN, title=title),
        helpful_action=texts.OUTCOME_UNKNOWN_HELP,
        source_code=source_code,
    )
