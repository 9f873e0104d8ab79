"""Records how a call ended: ledger row, result, artifact version, validation and memory in one transaction (B3).

Called by `execute_tool`. The outcome is encoded once; every repetition of the call gets these bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from adapter_service.application.artifact_content import ContentTooLarge, encode_content
from adapter_service.application.decide.prepare_input import input_arguments
from adapter_service.application.execute.claim import Claimed, ExecuteCommand, Refused, unknown_trouble
from adapter_service.application.execute.workspace_of_call import NO_WORKSPACE, CallWorkspace
from adapter_service.application.findings import read_findings, read_result, records
from adapter_service.application.ports import Codec, Ids, Transaction
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.artifact import ArtifactReference, ArtifactVersion, Read, Validation
from adapter_service.domain.errors import AttemptElsewhere
from adapter_service.domain.failure import Failure, Progress, Stage
from adapter_service.domain.ledger import Execution, ExecutionState, Receipt, ToolCall, ToolOutcome, Trouble, may_become
from adapter_service.domain.session import MOST_ARTIFACT_BYTES
from adapter_service.sdk import Domain, Referent, Severity, Text, Tool
from handrail_rpc.digest import canonical_json, sha256_hex

MOST_SUMMARY_CHARACTERS = 300
MOST_TITLE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class MadeContent:
    """The artifact content of a result, ready to store."""

    kind: str
    media_type: str
    title: str
    data: bytes
    sha256: str
    sources: tuple[str, ...]
    data_scope: str


@dataclass(frozen=True, slots=True)
class Success:
    """A result with everything derived from it, computed before the recording transaction."""

    result_bytes: bytes
    result_sha256: str
    summary: str
    referents: tuple[Referent, ...]
    made: MadeContent | None
    validation: Validation | None


def derive(tool: Tool, call: ToolCall, result: Any, locale: str, reads: tuple[Read, ...] = ()) -> Success:
    """What a result means, by the tool's callbacks; `reads`: what a validation read. Raises what a callback raises."""
    data = canonical_json(result)
    value = read_result(tool, result)
    made = None
    if tool.makes is not None:
        content = encode_content(tool.makes.media_type, tool.makes.content(value))
        if len(content) > MOST_ARTIFACT_BYTES:
            raise ContentTooLarge(texts.THE_ARTIFACT, len(content), MOST_ARTIFACT_BYTES)
        made = MadeContent(
            tool.makes.kind,
            tool.makes.media_type,
            tool.makes.title(value)[:MOST_TITLE_CHARACTERS],
            content,
            sha256_hex(content),
            tuple(tool.makes.sources(value)),
            tool.makes.data_scope(value),
        )
    summary = tool.say(value, locale)[:MOST_SUMMARY_CHARACTERS]
    referents = tuple(tool.referents(value))
    # Text that can be neither stored nor sent is found here, and not when an outcome is to be recorded.
    told = [summary, *(text for each in referents for text in (each.kind, each.identity, each.display_name))]
    canonical_json(told if made is None else [*told, made.title, made.data_scope, *made.sources])
    return Success(
        result_bytes=data,
        result_sha256=sha256_hex(data),
        summary=summary,
        referents=referents,
        made=made,
        validation=_validation(tool, call, result, reads) if tool.validates else None,
    )


def _validation(tool: Tool, call: ToolCall, result: Any, reads: tuple[Read, ...]) -> Validation:
    """Bound to exactly the version that was judged; the hash covers it, the validator, findings and `reads` (E1)."""
    judged = input_arguments(call.input_bytes)[tool.validates]
    findings = read_findings(result)
    body = {
        "artifact_id": judged["artifact_id"],
        "artifact_version": str(judged["version"]),
        "artifact_sha256": judged["sha256"],
        "tool": tool.name,
        "tool_version": str(tool.version),
        "findings": result,
        "reads": [[read.kind.value, read.name, read.version] for read in reads],
    }
    return Validation(
        artifact_id=judged["artifact_id"],
        version=judged["version"],
        sha256=sha256_hex(canonical_json(body)),
        passed=all(finding.severity is not Severity.ERROR for finding in findings),
        findings=records(findings),
        tool_call_id=call.tool_call_id,
        reads=reads,
    )


def record_success(
    tx: Transaction,
    command: ExecuteCommand,
    domain: Domain,
    claimed: Claimed,
    success: Success,
    *,
    now: datetime,
    ids: Ids,
    codec: Codec,
    seen: CallWorkspace = NO_WORKSPACE,
) -> bytes:
    """Store a result and everything it makes; returns the outcome's bytes, or those recorded before."""
    stored = _recorded_before(tx, claimed)
    if stored is not None:
        return stored
    call = claimed.call
    made = (
        _add_version(tx, command, domain, call, success.made, now, ids, seen.sha256)
        if success.made is not None
        else None
    )
    if success.made is not None and made is None:
        trouble = Trouble("tool_failed", texts.filled(texts.ARTIFACT_MOVED, title=domain.tool(call.tool).title))
        refused = Refused(
            ExecutionState.FAILED, trouble=replace(trouble, source_code="artifact_changed", retryable=True)
        )
        return record_refusal(tx, command, claimed.execution, refused, now=now, codec=codec)
    tx.artifacts.put_content(success.result_sha256, success.result_bytes)
    if success.validation is not None:
        tx.artifacts.add_validation(success.validation, now)
    if call.effect.needs_approval:
        settle_artifacts(tx, domain, call)
    if success.referents:
        interaction = tx.interactions.find(call.interaction_id)
        if interaction is not None and not interaction.closed:
            tx.sessions.remember(command.domain_session_id, success.referents)
    seen.record(tx, call.interaction_id)
    tx.sessions.touch(command.domain_session_id)
    receipt = Receipt(claimed.execution.execution_id, call.idempotency_key, now, success.result_sha256, success.summary)
    artifacts = () if made is None else (made,)
    outcome = ToolOutcome(call.tool_call_id, call.tool, ExecutionState.SUCCEEDED, receipt, artifacts=artifacts)
    data = codec.outcome(outcome)
    settled = replace(
        claimed.execution,
        state=ExecutionState.SUCCEEDED,
        outcome_bytes=data,
        result_sha256=success.result_sha256,
        workspace_sha256=seen.sha256,
    )
    tx.calls.settle(settled, now)
    return data


def record_refusal(
    tx: Transaction, command: ExecuteCommand, execution: Execution, refused: Refused, *, now: datetime, codec: Codec
) -> bytes:
    """Store a block, a failure or an unknown outcome; final for this call (soundness rule blocked_final).

    Raises AttemptElsewhere where another attempt has taken the call over: its outcome is the one that counts.
    """
    known = tx.calls.find_execution(execution.tool_call_id)
    if known is not None and known.state is not ExecutionState.CLAIMED:
        return known.outcome_bytes
    if known is not None and (known.owner, known.attempt) != (execution.owner, execution.attempt):
        raise AttemptElsewhere(execution.tool_call_id)
    assert may_become(known.state if known is not None else None, refused.state)
    outcome = ToolOutcome(
        execution.tool_call_id,
        execution.tool,
        refused.state,
        failure=None if refused.trouble is None else _failure(command, refused),
        block=refused.block,
    )
    data = codec.outcome(outcome)
    settled = replace(execution, state=refused.state, outcome_bytes=data, trouble=refused.trouble)
    if known is None:
        tx.calls.add_execution(settled, command.domain, now)
    else:
        tx.calls.settle(settled, now)
    tx.sessions.touch(command.domain_session_id)
    return data


def _recorded_before(tx: Transaction, claimed: Claimed) -> bytes | None:
    """Bytes recorded by someone else. A result is recorded even by an attempt that lost its lease: it did happen."""
    row = tx.calls.find_execution(claimed.call.tool_call_id)
    if row is not None and row.state is not ExecutionState.CLAIMED:
        return row.outcome_bytes
    return None


def _failure(command: ExecuteCommand, refused: Refused) -> Failure:
    trouble = refused.trouble
    assert trouble is not None  # the caller checked
    unknown = refused.state is ExecutionState.UNKNOWN
    helpful = trouble.helpful_action or Text("", "")
    return Failure(
        stage=Stage.TOOL,
        code=trouble.code,
        explanation=trouble.explanation.localized(command.locale),
        source_code=trouble.source_code or trouble.code,
        helpful_action=helpful.localized(command.locale),
        retryable=trouble.retryable,
        progress=Progress.UNKNOWN if unknown else Progress.NOT_EXECUTED,
        request_id=command.request_id,
    )


def _add_version(
    tx: Transaction,
    command: ExecuteCommand,
    domain: Domain,
    call: ToolCall,
    made: MadeContent,
    now: datetime,
    ids: Ids,
    workspace_sha256: str,
) -> ArtifactReference | None:
    """The new version's reference; None where the revised artifact is no longer at the version that was revised."""
    tool = domain.tool(call.tool)
    artifact_id, version = ids("art"), 1
    base = input_arguments(call.input_bytes).get(tool.revises) if tool.revises else None
    if base is not None:
        current = tx.artifacts.find(base["artifact_id"])
        if current is None or (current.version, current.sha256) != (base["version"], base["sha256"]):
            return None
        artifact_id, version = current.artifact_id, current.version + 1
    session = tx.sessions.find(command.domain_session_id)
    assert session is not None  # the claim found it
    tx.artifacts.put_content(made.sha256, made.data)
    new = ArtifactVersion(
        artifact_id=artifact_id,
        conversation_id=session.conversation_id,
        domain_session_id=session.domain_session_id,
        kind=made.kind,
        version=version,
        latest_version=version,
        sha256=made.sha256,
        media_type=made.media_type,
        title=made.title,
        size_bytes=len(made.data),
        tool_call_id=call.tool_call_id,
        tool=call.tool,
        input_sha256=call.input_sha256,
        sources=made.sources,
        create_time=now,
        data_scope=made.data_scope,
        input_artifacts=_input_artifacts(tool, call),
        workspace_sha256=workspace_sha256,
    )
    tx.artifacts.add_version(new)
    return new.reference


def _input_artifacts(tool: Tool, call: ToolCall) -> tuple[ArtifactReference, ...]:
    """The versions that the call read, as its input names them."""
    arguments = input_arguments(call.input_bytes)
    named = [arguments[name] for name in tool.artifacts if arguments.get(name) is not None]
    return tuple(ArtifactReference(each["artifact_id"], each["version"], each["sha256"]) for each in named)


def settle_artifacts(tx: Transaction, domain: Domain, call: ToolCall) -> None:
    """Note that the versions which the call was about are dealt with: later answers may claim the change (F4)."""
    arguments = input_arguments(call.input_bytes)
    for name in domain.tool(call.tool).artifacts:
        named = arguments.get(name)
        if named is not None:
            tx.artifacts.mark_settled(named["artifact_id"], named["version"], call.tool)


def broken_result(domain: Domain, claimed: Claimed, error: Exception) -> Refused:
    """The tool returned something that cannot be kept, or that its own callbacks cannot read. A change may have
    happened: then it is unknown.
    """
    call = claimed.call
    source_code = "tool_result_too_large" if isinstance(error, ContentTooLarge) else "result_unreadable"
    if call.effect.needs_approval:
        return Refused(ExecutionState.UNKNOWN, trouble=unknown_trouble(domain, call, source_code))
    title = domain.tool(call.tool).title
    if isinstance(error, ContentTooLarge):
        size, limit = (Text(f"{number}", f"{number}") for number in (error.size, error.limit))
        explanation = texts.filled(texts.RESULT_TOO_LARGE, title=title, what=error.what, size=size, limit=limit)
        trouble = Trouble("tool_result_too_large", explanation, helpful_action=texts.RESULT_TOO_LARGE_HELP)
        return Refused(ExecutionState.FAILED, trouble=trouble)
    trouble = Trouble("tool_failed", texts.filled(texts.TOOL_FAILED, title=title), source_code=source_code)
    return Refused(ExecutionState.FAILED, trouble=trouble)
