"""Composes the answer from the results of the plan's tasks and checks it (requirements F3 to F5).

Called by `next_step` when nothing is left to do. Later model-written answers go through the same checks.
"""

from __future__ import annotations

from dataclasses import replace

from pydantic_core import to_jsonable_python

from adapter_service.application.decide.turn import Turn
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.answer import failed_check, fragment_name, unverified_fragments
from adapter_service.domain.artifact import ArtifactReference
from adapter_service.domain.decision import Answer, Ask, Complete, Fail
from adapter_service.domain.failure import Stage
from adapter_service.domain.observation import ActionChoice, ApprovalResolved, Retry, ToolFinished, WakeUp
from adapter_service.domain.plan import Origin, Task, TaskState
from adapter_service.sdk import DocumentationCitation, Effect, EntityCitation, Tool
from handrail_rpc.digest import canonical_json

_FAILED = {
    "answer_empty": texts.ANSWER_EMPTY,
    "unverified_identity": texts.UNVERIFIED_IDENTITY,
    "claimed_change_not_executed": texts.CLAIMED_CHANGE,
}


def compose(turn: Turn) -> Complete | Fail:
    """The answer to the request, or the failure of a check."""
    done = turn.done_tasks()
    told = [task for task in done if not _is_outdated(turn, task, done)]
    parts = [turn.say(task) for task in told]
    if turn.plan.reply is not None:
        parts.append(turn.plan.reply.localized(turn.locale))
    text = "\n\n".join(dict.fromkeys(part for part in parts if part))
    executed = {task.tool: task.artifact is not None for task in done}
    settled = {version.settled_by: True for version in turn.situation.artifacts if version.settled_by}
    code = failed_check(
        turn.domain, text, known_identities=_known_identities(turn, done), executed={**settled, **executed}
    )
    if code is not None:
        return turn.fail(Stage.VERIFICATION, code, _FAILED[code])
    unverified, others = unverified_fragments(turn.domain, text, _known_fragments(turn, done))
    if unverified and not others:
        return turn.fail(Stage.VERIFICATION, "unverified_citation", texts.UNVERIFIED_CITATION)
    return Complete(
        Answer(
            text=text,
            citations=_citations(turn, told),
            documentation=_documentation(turn, told),
            limitations=(*_unconfirmed(turn, unverified), *_limitations(turn, told)),
            artifacts=_artifacts(done),
            tool_call_ids=tuple(task.tool_call_id for task in done),
            partial=any(task.state in (TaskState.SKIPPED, TaskState.FAILED) for task in turn.plan.tasks),
        )
    )


def tell_side_answers(turn: Turn, ask: Ask) -> Ask:
    """The question with what was asked beside it and is known by now: nobody has to wait for the whole plan.

    Such an answer is checked as any other (F4); where it fails, it is left to the final one, which answers everything
    (F1). With the next question it is not told again.
    """
    found = [
        task
        for task in turn.done_tasks()
        if task.origin is Origin.CORRECTION and _stands_alone(turn.tool_of(task)) and task.task_id not in turn.plan.told
    ]
    text = "\n\n".join(dict.fromkeys(part for task in found if (part := turn.say(task))))
    known = _known_identities(turn, tuple(found))
    executed = {task.tool: task.artifact is not None for task in found}
    if not text or failed_check(turn.domain, text, known_identities=known, executed=executed):
        return ask
    turn.plan = replace(turn.plan, told=(*turn.plan.told, *(task.task_id for task in found)))
    return replace(ask, question="\n\n".join([text, *_limitations(turn, found), ask.question]))


def _stands_alone(tool: Tool) -> bool:
    """Whether its result is an answer by itself, and no step of what is being prepared."""
    return not (tool.effect.needs_approval or tool.validates or tool.revises)


def _is_outdated(turn: Turn, task: Task, done: tuple[Task, ...]) -> bool:
    """Whether a later step tells more about the same artifact: a newer version, a newer validation, the change that
    carried it out (a draft that is told as "not written yet" beside its publication would contradict it).
    """
    artifact_id = _artifact_of(turn, task)
    if not artifact_id or turn.tool_of(task).effect.needs_approval:
        return False
    tool = turn.tool_of(task)
    for later in done[done.index(task) + 1 :]:
        if _artifact_of(turn, later) != artifact_id:
            continue
        other = turn.tool_of(later)
        if other.effect.needs_approval or (tool.validates and other.validates):
            return True
        if tool.effect is Effect.DRAFT and other.effect is Effect.DRAFT:
            return True
    return False


def _artifact_of(turn: Turn, task: Task) -> str:
    if task.artifact is not None:
        return task.artifact.artifact_id
    tool = turn.tool_of(task)
    for name in tool.artifacts:
        slot = task.slots.get(name)
        if slot is not None and slot.value is not None:
            return str(slot.value)
    return ""


def _known_identities(turn: Turn, done: tuple[Task, ...]) -> frozenset[str]:
    """Identities in the context: results, their citations and referents, memory, and the user's own words."""
    known = {referent.identity for referent in turn.memory.referents}
    known |= {candidate.identity for candidate in turn.situation.candidates}
    known |= turn.domain.identities(_own_words(turn))
    for task in done:
        tool, result = turn.tool_of(task), turn.result(task)
        known |= {citation.identity for citation in tool.cites(result)}
        known |= {referent.identity for referent in tool.referents(result)}
        known |= turn.domain.identities(canonical_json(to_jsonable_python(tool.view(result))).decode("utf-8"))
        call = turn.situation.inputs.get(task.tool_call_id)
        if call is not None:
            known |= turn.domain.identities(call.decode("utf-8"))
    return frozenset(known)


def _known_fragments(turn: Turn, done: tuple[Task, ...]) -> frozenset[str]:
    """Fragments in the context: those that results cite or show, and the user's own words."""
    known = set(turn.domain.fragments(_own_words(turn)))
    for task in done:
        tool, result = turn.tool_of(task), turn.result(task)
        known |= {fragment_name(citation) for citation in tool.cites_documentation(result)}
        known |= turn.domain.fragments(canonical_json(to_jsonable_python(tool.view(result))).decode("utf-8"))
    return frozenset(known)


def _unconfirmed(turn: Turn, names: tuple[str, ...]) -> tuple[str, ...]:
    told = (texts.filled(texts.CITATION_UNCONFIRMED, name=texts.quote(name)) for name in names)
    return tuple(text.localized(turn.locale) for text in told)


def _own_words(turn: Turn) -> str:
    observation = turn.command.observation
    if isinstance(observation, ActionChoice | ToolFinished | WakeUp | Retry):
        return ""
    return observation.comment if isinstance(observation, ApprovalResolved) else observation.text


def _citations(turn: Turn, told: list[Task]) -> tuple[EntityCitation, ...]:
    return tuple(dict.fromkeys(c for task in told for c in turn.tool_of(task).cites(turn.result(task))))


def _documentation(turn: Turn, told: list[Task]) -> tuple[DocumentationCitation, ...]:
    return tuple(dict.fromkeys(c for task in told for c in turn.tool_of(task).cites_documentation(turn.result(task))))


def _limitations(turn: Turn, told: list[Task]) -> tuple[str, ...]:
    found: list[str] = []
    for task in told:
        tool = turn.tool_of(task)
        found += tool.limitations(turn.result(task), turn.locale)
        for slot in task.slots.values():
            if slot.source == "fact:demo":  # a demo position is named as one (requirement H4)
                found.append(texts.filled(texts.DEMO_FACT, label=tool.label(slot.name)).localized(turn.locale))
    return tuple(dict.fromkeys(found))


def _artifacts(done: tuple[Task, ...]) -> tuple[ArtifactReference, ...]:
    newest: dict[str, ArtifactReference] = {}
    for task in done:
        if task.artifact is not None:
            newest[task.artifact.artifact_id] = task.artifact
    return tuple(newest.values())
