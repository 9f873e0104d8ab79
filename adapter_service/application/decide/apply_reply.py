"""Applies what a user says or clicks while a question or an approval is open: scoped patches only (C5 to C8).

Called by `apply_observation`.
"""

from __future__ import annotations

from dataclasses import replace

from adapter_service.application.decide.resolve_slots import accepts, is_demanded, value_of_fact
from adapter_service.application.decide.take_proposal import ProposalInvalid, ask_planner, corrected
from adapter_service.application.decide.turn import Turn
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.approval import ApprovalState
from adapter_service.domain.decision import Ask, Candidate, DecisionOutcome, PromptType
from adapter_service.domain.errors import InvalidObservation
from adapter_service.domain.failure import Stage
from adapter_service.domain.observation import ClarificationReply
from adapter_service.domain.plan import Question, SlotState, TaskSlot
from adapter_service.sdk import Proposal, ReplyVerdict, Text, TextFill
from handrail_rpc.digest import normalise_text
from handrail_rpc.logging import get_logger

logger = get_logger(__name__)

_REPLY = "observation.clarification_reply"


def apply_reply(turn: Turn, reply: ClarificationReply) -> DecisionOutcome | None:
    """An answer by structure is applied at once; a free text is classified by the planner unless it was judged."""
    question = turn.plan.question
    assert question is not None  # refused before
    if question.about_changes:
        return _changes(turn, reply, question)
    if (reply.task_id or reply.slot) and (reply.task_id, reply.slot) != (question.task_id, question.slot):
        raise InvalidObservation.field(
            f"{_REPLY}.slot", f"must be the open question's: task {question.task_id}, slot {question.slot}"
        )
    if reply.candidate_id:
        _pick(turn, question, reply.candidate_id)
        return None
    if reply.skip:
        _skip(turn, question)
        return None
    if _answers_by_fact(turn, question):
        return None
    if not reply.text.strip():
        raise InvalidObservation.field(f"{_REPLY}.text", "must not be empty where no response is set")
    if reply.judged_answer:
        answer(turn, question, reply.text)
        return None
    return apply_text(turn, reply.text, approval_open=False)


def apply_text(
    turn: Turn, text: str, *, approval_open: bool, all_is_correction: bool = False
) -> DecisionOutcome | None:
    """Classify a text and apply it where it is an answer or a correction; otherwise only `turn.verdict` is set."""
    proposal = ask_planner(turn, text, approval_open=approval_open)
    turn.verdict = proposal.verdict
    question = turn.plan.question
    if proposal.verdict is ReplyVerdict.ANSWER:
        if question is None or question.about_changes:
            turn.verdict = ReplyVerdict.UNCLEAR
            return None
        answer(turn, question, proposal.answer_text or text)
    elif proposal.verdict is ReplyVerdict.CORRECTION or (all_is_correction and proposal.tasks):
        _correct(turn, proposal)
    return None


def answer(turn: Turn, question: Question, text: str) -> None:
    """A text fills the asked slot; a member of the closed list named exactly is that member."""
    named = normalise_text(text).strip().casefold()
    meant = [
        candidate
        for candidate in turn.situation.candidates
        if question.candidates_of and named in (candidate.display_name.casefold(), candidate.identity.casefold())
    ]
    if len(meant) == 1:  # of several with the same name none is taken for granted
        _fill(turn, question, meant[0])
        return
    attempts = turn.plan.task(question.task_id).slots.get(question.slot, TaskSlot(question.slot)).attempts
    plan = turn.plan.patched(question.task_id, question.slot, TextFill(text), attempts=attempts)
    turn.plan = replace(plan, question=None)


def _pick(turn: Turn, question: Question, candidate_id: str) -> None:
    """The stored snapshot, not the live catalogue, decides (requirement C5)."""
    for candidate in turn.situation.candidates:
        if question.candidates_of and candidate.candidate_id == candidate_id:
            _fill(turn, question, candidate)
            return
    raise InvalidObservation.field(
        f"{_REPLY}.selected_candidate_id", "must be one of the candidates that the open question offers"
    )


def _fill(turn: Turn, question: Question, candidate: Candidate) -> None:
    known = turn.plan.task(question.task_id).slots.get(question.slot)
    # The words that the list was made from: where the choice vanishes, another list is made from them.
    words = known.fill if known is not None and isinstance(known.fill, TextFill) else None
    plan = turn.plan.patched(question.task_id, question.slot, words)
    task = plan.task(question.task_id)
    filled = task.slots[question.slot].resolved(candidate.value, candidate.display_name, "choice")
    turn.plan = replace(plan.with_task(task.with_slot(filled)), question=None)


def _skip(turn: Turn, question: Question) -> None:
    task = turn.plan.task(question.task_id)
    slot = task.slots.get(question.slot, TaskSlot(question.slot))
    if is_demanded(turn.tool_of(task), slot):
        raise InvalidObservation.field(f"{_REPLY}.skip", "this question is required; it cannot be skipped")
    absent = TaskSlot(slot.name, state=SlotState.ABSENT, source="skipped")
    turn.plan = replace(turn.plan.with_task(task.with_slot(absent)), question=None)


def _answers_by_fact(turn: Turn, question: Question) -> bool:
    """Whether the fact that the slot wants came with the reply: then the fact is the answer, not the text."""
    tool = turn.tool_of(turn.plan.task(question.task_id))
    declared = tool.slots.get(question.slot)
    if declared is None or not declared.fact:
        return False
    fact = next((fact for fact in turn.command.facts if fact.name == declared.fact), None)
    if fact is None or not accepts(tool, question.slot, value_of_fact(declared, fact)):
        return False
    turn.plan = replace(turn.plan.patched(question.task_id, question.slot, None), question=None)
    return True


def _changes(turn: Turn, reply: ClarificationReply, question: Question) -> DecisionOutcome | None:
    if reply.candidate_id or reply.skip:
        raise InvalidObservation.field(f"{_REPLY}.text", "this question is answered by a text")
    found = apply_changes(turn, question.task_id, reply.text, rounds=question.rounds)
    if turn.verdict in (ReplyVerdict.NEW_REQUEST, ReplyVerdict.CANCEL) and not reply.judged_answer:
        return None  # the Loop supersedes or cancels; the plan is dropped with this turn
    if turn.verdict is not ReplyVerdict.CORRECTION:
        turn.verdict = None
    return found


def _correct(turn: Turn, proposal: Proposal) -> None:
    """Patch and add tasks before the open ones; the open approval no longer fits (requirement E5).

    A question that is still open afterwards is asked again by `next_step`.
    """
    turn.verdict = ReplyVerdict.UNCLEAR
    if not proposal.tasks and not proposal.patches:
        return
    try:
        plan = corrected(turn, proposal.patches, proposal.tasks)
    except ProposalInvalid as invalid:
        logger.warning("correction refused", reason=str(invalid))
        return
    turn.plan = replace(plan, question=None, offer=None)
    turn.end_approval(ApprovalState.STALE)
    turn.verdict = ReplyVerdict.CORRECTION


def apply_changes(turn: Turn, task_id: str, text: str, *, rounds: int) -> DecisionOutcome | None:
    """Take a text as the changes that were asked for; ask what to change where it says none (requirement E5).

    The first text comes with a person's request for changes, so that whatever the planner proposes is one.
    `turn.verdict` is left at what the text turned out to be.
    """
    if text.strip():
        apply_text(turn, text, approval_open=True, all_is_correction=rounds == 0)
        if turn.verdict is ReplyVerdict.CORRECTION:
            return None
    if rounds >= 2:
        return turn.fail(Stage.PLANNING, "clarification_limit_reached", texts.CHANGES_UNCLEAR)
    turn.plan = replace(turn.plan, question=Question(task_id, "", about_changes=True, rounds=rounds + 1))
    task = turn.plan.task(task_id)
    tool = turn.tool_of(task)
    title, artifact = tool.title, None
    for name in tool.artifacts:
        slot = task.slots.get(name)
        current = turn.find_artifact(str(slot.value)) if slot is not None else None
        if current is not None:
            title, artifact = Text(current.title, current.title), current.reference
    return Ask(
        type=PromptType.INPUT,
        question=texts.filled(texts.WHAT_TO_CHANGE, title=title).localized(turn.locale),
        required=True,
        task_id="" if artifact is not None else task_id,
        artifact=artifact,
    )
