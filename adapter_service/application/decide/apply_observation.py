"""Applies the one observation of a decision to the plan. Called by `decide` before `next_step`.

Returns an outcome where the observation itself ends or stops the request, None to go on. Where the text of a user is
neither answer nor correction, `turn.verdict` says so and the plan stays as it was (requirement C7).
"""

from __future__ import annotations

from dataclasses import replace

from adapter_service.application.decide.apply_reply import apply_changes, apply_reply, apply_text
from adapter_service.application.decide.observe_calls import observe_calls
from adapter_service.application.decide.request_change import announce_again, insert_revision
from adapter_service.application.decide.take_proposal import ProposalInvalid, ask_planner, tasks_of
from adapter_service.application.decide.turn import ApprovalEnd, Turn
from adapter_service.domain import failure_texts as texts
from adapter_service.domain import policy
from adapter_service.domain.approval import ApprovalState
from adapter_service.domain.decision import Blocked, DecisionOutcome
from adapter_service.domain.errors import (
    DecisionContradiction,
    InvalidObservation,
    ToolCallUnknown,
    UnexpectedObservation,
)
from adapter_service.domain.failure import PolicyBlock, Stage
from adapter_service.domain.ledger import ExecutionState
from adapter_service.domain.observation import (
    ActionChoice,
    ApprovalResolved,
    ClarificationReply,
    Observation,
    Retry,
    ToolFinished,
    UserMessage,
    Verdict,
    WakeUp,
)
from adapter_service.domain.plan import Origin, Plan, TaskState
from adapter_service.sdk import Proposal, ReplyVerdict, Text


def apply_observation(turn: Turn) -> DecisionOutcome | None:
    """See the module's text. Raises the refusals of domain.errors where the observation does not fit the state."""
    observation = turn.command.observation
    _refuse_unexpected(turn, observation)
    match observation:
        case UserMessage(begins_interaction=True):
            return _begin(turn, observation.text)
        case UserMessage():
            return apply_text(turn, observation.text, approval_open=bool(turn.plan.approval_digest))
        case ClarificationReply():
            return apply_reply(turn, observation)
        case ActionChoice():
            _choose(turn, observation)
            return None
        case ToolFinished():
            return observe_calls(turn, observation)
        case ApprovalResolved():
            return _resolve_approval(turn, observation)
        case WakeUp():
            _wake(turn, observation)
            return None
        case Retry():
            _take_up(turn, observation)
            return None


def _refuse_unexpected(turn: Turn, observation: Observation) -> None:
    plan, command = turn.plan, turn.command

    def unexpected(state: str) -> UnexpectedObservation:
        return UnexpectedObservation(command.interaction_id, f"interaction {command.interaction_id} {state}")

    retries = isinstance(observation, Retry)
    begins = retries or (isinstance(observation, UserMessage) and observation.begins_interaction)
    if begins != (command.decision_number == 1):
        field = "retry" if retries else "user_message.begins_interaction"
        raise InvalidObservation.field(f"observation.{field}", "must be set exactly for decision_number 1")
    if retries:
        return  # the plan that was loaded is the ended interaction's
    if plan.ended:
        raise unexpected("has ended; a message begins another one")
    if plan.calls and not isinstance(observation, ToolFinished):
        raise DecisionContradiction(command.decision_number, "the calls of the previous decision are not finished")
    if isinstance(observation, ToolFinished) and not plan.calls:
        raise DecisionContradiction(command.decision_number, "the previous decision called no tool")
    if isinstance(observation, ClarificationReply) and plan.question is None:
        raise unexpected("has no open question")
    if isinstance(observation, ActionChoice) and plan.offer is None:
        raise unexpected("offers no actions")
    if isinstance(observation, ApprovalResolved) and not plan.approval_digest:
        raise unexpected("has no open approval")
    if isinstance(observation, WakeUp) and (plan.question or plan.approval_digest or plan.offer):
        raise unexpected("waits for an answer, not for a time or a signal")
    if isinstance(observation, WakeUp) and not plan.awaited:
        raise unexpected("does not wait for a time or a signal")


def _begin(turn: Turn, text: str) -> DecisionOutcome | None:
    turn.plan = Plan(principal=turn.command.principal.principal)
    proposal = ask_planner(turn, text, begins=True)
    try:
        tasks = tasks_of(turn, proposal.tasks, Origin.REQUEST)
    except ProposalInvalid as invalid:
        return turn.fail(
            Stage.PLANNING,
            "plan_invalid",
            texts.PLAN_INVALID,
            helpful_action=texts.PLAN_INVALID_HELP,
            source_code=str(invalid).replace(" ", "_")[:60],
        )
    turn.plan = replace(turn.plan, tasks=tasks, reply=None if tasks else _reply(turn, proposal))
    return None


def _take_up(turn: Turn, retry: Retry) -> None:
    """Go on with the plan of an ended interaction where the call surely had no effect; otherwise it is refused."""
    execution = turn.situation.executions.get(retry.tool_call_id)
    if execution is None:
        raise ToolCallUnknown(retry.tool_call_id)
    if execution.state not in (ExecutionState.FAILED, ExecutionState.BLOCKED):
        raise UnexpectedObservation(
            retry.interaction_id,
            f"tool call {retry.tool_call_id} is {execution.state.value}; only one that was not executed is tried again",
        )
    turn.plan = turn.plan.taken_up(retry.tool_call_id)


def _reply(turn: Turn, proposal: Proposal) -> Text:
    if proposal.reply is not None:
        return proposal.reply
    if proposal.verdict is ReplyVerdict.CANCEL:
        return texts.NOTHING_TO_CANCEL
    titles = [tool.title for tool in turn.domain.tools if policy.role_permits(turn.command.principal.roles, tool)]
    joined = Text("; ".join(title.en for title in titles), "; ".join(title.ru for title in titles))
    return texts.filled(texts.NOT_UNDERSTOOD, titles=joined)


def _wake(turn: Turn, wake_up: WakeUp) -> None:
    """The awaited task is done. A wake-up is authoritative: whether it was due is not asked of any clock here."""
    task = turn.plan.task(turn.plan.awaited)
    told = {"signal": wake_up.signal, "payload": dict(wake_up.payload), "limit_passed": wake_up.limit_passed}
    turn.plan = turn.plan.with_task(replace(task, state=TaskState.DONE, wait=None, wake_up=told))


def _choose(turn: Turn, choice: ActionChoice) -> None:
    offer = turn.plan.offer
    assert offer is not None  # refused above
    if choice.action_id != offer.action_id:
        raise InvalidObservation.field(
            "observation.action_choice.action_id", f"must be one of the offered actions: {offer.action_id}"
        )
    turn.plan = replace(turn.plan, offer=None)
    insert_revision(turn, offer)


def _resolve_approval(turn: Turn, resolved: ApprovalResolved) -> DecisionOutcome | None:
    approval = turn.approval
    assert approval is not None  # refused above
    if resolved.digest != approval.digest:
        raise UnexpectedObservation(
            turn.command.interaction_id, "snapshot_digest is not the one of the interaction's open approval"
        )
    tool = turn.domain.tool(approval.snapshot.tool)
    if resolved.verdict is None:
        if turn.now < approval.snapshot.expire_time:
            # Somebody else's timer was early: expiry is decided by this clock alone (soundness rule adapter_clock).
            return announce_again(turn, approval)
        turn.end_approval(ApprovalState.EXPIRED, approval_id=resolved.approval_id)
        return Blocked(
            policy.block_of(policy.APPROVAL_EXPIRED, tool.name, turn.locale, approval_id=resolved.approval_id)
        )
    if resolved.verdict is Verdict.APPROVE:
        rule = tool.approval
        if rule is not None and not rule.requester_may_approve and resolved.resolved_by == turn.plan.principal:
            # The Loop refuses this first; here it is what keeps the call from running (requirement E5).
            turn.end_approval(ApprovalState.STALE, approval_id=resolved.approval_id, resolved_by=resolved.resolved_by)
            return None
        _approve(turn, resolved)
        return None
    if resolved.verdict is Verdict.REJECT:
        turn.end_approval(ApprovalState.REJECTED, approval_id=resolved.approval_id, resolved_by=resolved.resolved_by)
        return Blocked(_rejected(turn, tool.name, resolved.approval_id))
    return _request_changes(turn, resolved)


def _approve(turn: Turn, resolved: ApprovalResolved) -> None:
    assert turn.approval is not None  # refused above
    turn.approval = replace(
        turn.approval,
        state=ApprovalState.APPROVED,
        approval_id=resolved.approval_id,
        resolved_by=resolved.resolved_by,
    )
    turn.ended_approvals.append(
        ApprovalEnd(resolved.digest, ApprovalState.APPROVED, resolved.approval_id, resolved.resolved_by)
    )


def _rejected(turn: Turn, tool: str, approval_id: str) -> PolicyBlock:
    explanation = Text("The action was rejected.", "Действие отклонено.")
    return PolicyBlock(
        "approval_rejected", "approval_matches", explanation.localized(turn.locale), "", tool, approval_id
    )


def _request_changes(turn: Turn, resolved: ApprovalResolved) -> DecisionOutcome | None:
    task_id = turn.plan.approval_task
    turn.end_approval(
        ApprovalState.CHANGES_REQUESTED, approval_id=resolved.approval_id, resolved_by=resolved.resolved_by
    )
    found = apply_changes(turn, task_id, resolved.comment, rounds=0)
    turn.verdict = None  # a verdict is no free-text reply
    return found
