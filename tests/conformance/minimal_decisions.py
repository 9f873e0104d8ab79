"""Decide, by hand: the number first, then the one observation. Called by minimal_adapter."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta

from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import approval_pb2, decision_pb2, fact_pb2, prompt_pb2, tool_pb2
from tests.conformance.minimal_state import Approval, Interaction, Refusal, Session, Store, check_fields, invalid

_IDS = ("request_id", "domain", "domain_session_id", "interaction_id", "run_id", "history_id")
_PARAMETER = {"probe_read": "key", "probe_count": "key", "probe_ask": "subject", "probe_change": "key"}


def decide(store: Store, request: pb2.DecideRequest) -> tuple[Session, decision_pb2.Decision]:
    """The stored decision of an equal request, or the next one."""
    _check(request)
    session, interaction = store.access(request)
    number, observed = request.decision_number, request.observation.SerializeToString(deterministic=True)
    if number <= len(interaction.decisions):
        answered, decision = interaction.decisions[number - 1]
        if answered != (request.base_plan_version, observed):
            raise Refusal("ABORTED", "DECISION_CONTRADICTION", "another observation has this number")
        return session, decision
    if number > len(interaction.decisions) + 1:
        raise Refusal("ABORTED", "DECISION_GAP", "a decision before it is missing")
    if interaction.closed:
        raise Refusal("FAILED_PRECONDITION", "INTERACTION_CLOSED", "the interaction is closed")
    if request.base_plan_version != interaction.plan_version:
        current = str(interaction.plan_version)
        raise Refusal("ABORTED", "STALE_PLAN_VERSION", "the plan moved on", current_plan_version=current)
    decision = _observe(store, session, interaction, request.observation)
    decision.decision_id, decision.decision_number = store.new_id("dec"), number
    if decision.WhichOneof("outcome"):
        interaction.plan_version += 1
    decision.plan_version = interaction.plan_version
    interaction.decisions.append(((request.base_plan_version, observed), decision))
    if request.supersedes_interaction_id:
        superseded = request.supersedes_interaction_id
        session.interactions.setdefault(superseded, Interaction(superseded)).closed = True
    session.revision += 1
    return session, decision


def _check(request: pb2.DecideRequest) -> None:
    check_fields(request, ids=_IDS, least={"lease_epoch": 0, "decision_number": 1, "base_plan_version": 0})
    for index, fact in enumerate(request.facts):
        if fact.source == fact_pb2.SOURCE_UNSPECIFIED:
            raise invalid(f"facts[{index}].source")
    if request.observation.WhichOneof("kind") is None:
        raise invalid("observation")
    if request.observation.HasField("user_message") and not request.observation.user_message.text.strip():
        raise invalid("observation.user_message.text")
    resolved = request.observation.approval_resolved
    if request.observation.HasField("approval_resolved") and not resolved.verdict and not resolved.expired:
        raise invalid("observation.approval_resolved.verdict")


def _observe(
    store: Store, session: Session, interaction: Interaction, observation: obs.Observation
) -> decision_pb2.Decision:
    kind = observation.WhichOneof("kind")
    if interaction.open_call and kind != "tool_finished":
        raise Refusal("ABORTED", "DECISION_CONTRADICTION", "a call is not finished")
    if kind == "retry" and not interaction.decisions:
        return _retry(store, session, interaction, observation.retry)
    if kind == "user_message":
        return _message(store, interaction, observation.user_message)
    if kind == "clarification_reply" and interaction.asked:
        return _reply(store, interaction, observation.clarification_reply)
    if kind == "tool_finished" and interaction.open_call:
        return _finished(store, interaction, observation.tool_finished)
    if kind == "approval_resolved" and interaction.approval is not None:
        return _resolved(store, interaction, observation.approval_resolved)
    raise Refusal("FAILED_PRECONDITION", "UNEXPECTED_OBSERVATION", "the interaction does not wait for this")


def _message(store: Store, interaction: Interaction, message: obs.UserMessage) -> decision_pb2.Decision:
    tool, arguments = _parse(message.text)
    if message.begins_interaction and tool in store.tools:
        interaction.tool, interaction.arguments = tool, arguments
        return _next(store, interaction)
    if interaction.approval is not None and _correct(interaction, message.text):
        interaction.approval = None
        decision = _next(store, interaction)
        decision.reply_verdict = decision_pb2.REPLY_VERDICT_CORRECTION
        return decision
    if message.begins_interaction:
        return decision_pb2.Decision(complete=decision_pb2.Complete(), summary="nothing was understood")
    verdict = decision_pb2.REPLY_VERDICT_NEW_REQUEST if tool in store.tools else decision_pb2.REPLY_VERDICT_UNCLEAR
    return decision_pb2.Decision(reply_verdict=verdict)


def _correct(interaction: Interaction, text: str) -> bool:
    """Take `name=value` for an argument of the request, if it is one."""
    name, equals, value = text.strip().partition("=")
    if not equals or name not in interaction.arguments:
        return False
    interaction.arguments[name] = value
    return True


def _retry(store: Store, session: Session, interaction: Interaction, retry: obs.Retry) -> decision_pb2.Decision:
    """Take up the request of an ended interaction whose call was surely not executed."""
    ended, outcome = session.interactions.get(retry.interaction_id), store.outcomes.get(retry.tool_call_id)
    if ended is None or outcome is None or retry.tool_call_id not in ended.calls:
        raise Refusal("NOT_FOUND", "TOOL_CALL_NOT_FOUND", "the call was not issued there")
    if outcome.outcome not in (tool_pb2.OUTCOME_FAILED, tool_pb2.OUTCOME_BLOCKED):
        raise Refusal("FAILED_PRECONDITION", "UNEXPECTED_OBSERVATION", "the call may have been executed")
    ended.closed = True
    interaction.tool, interaction.arguments = ended.tool, dict(ended.inputs[retry.tool_call_id])
    return _next(store, interaction)


def _parse(text: str) -> tuple[str, dict[str, str]]:
    """`tool name=value …`."""
    tool, *pairs = text.split() or [""]
    return tool, dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _reply(store: Store, interaction: Interaction, reply: obs.ClarificationReply) -> decision_pb2.Decision:
    if reply.skip:
        raise invalid("observation.clarification_reply.skip")
    if reply.selected_candidate_id:
        raise invalid("observation.clarification_reply.selected_candidate_id")
    if _parse(reply.text)[0] in store.tools:
        return decision_pb2.Decision(reply_verdict=decision_pb2.REPLY_VERDICT_NEW_REQUEST)
    interaction.arguments[interaction.asked] = reply.text
    interaction.asked = ""
    decision = _next(store, interaction)
    decision.reply_verdict = decision_pb2.REPLY_VERDICT_ANSWER
    return decision


def _next(store: Store, interaction: Interaction) -> decision_pb2.Decision:
    """Ask for what is missing, request the approval of a change, or call."""
    missing = _PARAMETER[interaction.tool]
    if missing not in interaction.arguments:
        interaction.asked = missing
        target = prompt_pb2.TaskTarget(task_id="t1", slot=missing)
        prompt = prompt_pb2.Prompt(
            type=prompt_pb2.PROMPT_TYPE_INPUT, task=target, question=f"Which {missing}?", required=True
        )
        return decision_pb2.Decision(ask=decision_pb2.Ask(prompt=prompt), summary=prompt.question)
    if interaction.tool == "probe_change":
        return _request_approval(store, interaction)
    return _call(store, interaction, store.new_id("key"))


def input_of(store: Store, interaction: Interaction) -> dict[str, str]:
    """The final input: arguments, and for a change its target and base."""
    given = dict(interaction.arguments)
    if interaction.tool == "probe_change":
        given |= {"target": f"counter/{given['key']}", "base": store.base(given["key"])}
    return given


def hash_of(value: dict[str, str]) -> str:
    """SHA-256 of the RFC 8785 JSON, which for ASCII keys and strings is sorted, without spaces."""
    data = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(data.encode()).hexdigest()


def _request_approval(store: Store, interaction: Interaction) -> decision_pb2.Decision:
    given, tool = input_of(store, interaction), store.tools[interaction.tool]
    expires = datetime.now(UTC) + timedelta(hours=1)
    snapshot = approval_pb2.ApprovalSnapshot(
        digest_scheme="rfc8785-sha256-v1",
        tool=tool.name,
        tool_version=tool.version,
        input_sha256=hash_of(given),
        policy_version=store.policy_version,
        required_role=tool.approval.required_role,
        idempotency_key=store.new_id("key"),
    )
    snapshot.expire_time.FromDatetime(expires)
    members = dict.fromkeys(("artifact_id", "artifact_version", "artifact_sha256", "validation_sha256"), "")
    for name in ("digest_scheme", "tool", "tool_version", "input_sha256", "policy_version", "required_role"):
        members[name] = getattr(snapshot, name)
    members["idempotency_key"] = snapshot.idempotency_key
    members["expire_time"] = expires.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    interaction.approval = Approval(snapshot, hash_of(members))
    requested = decision_pb2.RequestApproval(
        snapshot=snapshot,
        title=tool.title,
        input_preview=json.dumps(given),
        change_ref=f"{given['target']} from {given['base'] or 'nothing'}",
        requester_may_approve=True,
    )
    return decision_pb2.Decision(request_approval=requested, summary="An approval is needed.")


def _resolved(store: Store, interaction: Interaction, resolved: obs.ApprovalResolved) -> decision_pb2.Decision:
    approval = interaction.approval
    assert approval is not None
    if resolved.snapshot_digest != approval.digest:
        raise Refusal("FAILED_PRECONDITION", "UNEXPECTED_OBSERVATION", "another approval is open")
    interaction.approval = None
    if resolved.verdict == approval_pb2.VERDICT_REQUEST_CHANGES:
        if not _correct(interaction, resolved.comment):
            interaction.arguments.clear()  # so that it is asked for
        return _next(store, interaction)
    if resolved.verdict == approval_pb2.VERDICT_APPROVE:
        return _call(store, interaction, approval.snapshot.idempotency_key, approval, resolved.approval_id)
    decision = decision_pb2.Decision(summary="It was not approved.")
    decision.blocked.block.code = "approval_rejected"
    decision.blocked.block.tool = interaction.tool
    return decision


def _call(
    store: Store, interaction: Interaction, key: str, approval: Approval | None = None, approval_id: str = ""
) -> decision_pb2.Decision:
    tool, given = store.tools[interaction.tool], input_of(store, interaction)
    call = tool_pb2.ToolCall(
        tool_call_id=store.new_id("call"),
        tool=tool.name,
        tool_version=tool.version,
        effect=tool.effect,
        idempotency_key=key,
        input_sha256=hash_of(given) if approval is None else approval.snapshot.input_sha256,
        target=given.get("target", ""),
        summary=f"{tool.name} {interaction.arguments}",
        approval_id=approval_id,
    )
    interaction.calls[call.tool_call_id] = call
    interaction.inputs[call.tool_call_id] = dict(interaction.arguments)
    interaction.open_call = call.tool_call_id
    return decision_pb2.Decision(call_tool=decision_pb2.CallTool(calls=[call]), summary=call.summary)


def _finished(store: Store, interaction: Interaction, finished: obs.ToolFinished) -> decision_pb2.Decision:
    outcome = store.outcomes.get(interaction.open_call)
    told = {(call.tool_call_id, call.outcome) for call in finished.calls}
    if outcome is None or told != {(outcome.tool_call_id, outcome.outcome)}:
        raise Refusal("ABORTED", "DECISION_CONTRADICTION", "the ledger says otherwise")
    interaction.open_call = ""
    decision = decision_pb2.Decision(summary="The call ended.")
    if outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED:
        answer = decision.complete.answer
        answer.text, answer.tool_call_ids[:] = outcome.receipt.summary, [outcome.tool_call_id]
    elif outcome.outcome == tool_pb2.OUTCOME_BLOCKED:
        return _next(store, interaction)
    else:
        decision.fail.failure.CopyFrom(outcome.failure)
    return decision
