"""Fills the slots of one task: texts through resolvers, facts, earlier results, artifacts (requirements C5, C11).

Called by `next_step`. A slot without a meaning becomes a question about that slot alone, or a failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from adapter_service.application.artifact_content import parse_content
from adapter_service.application.decide.check_workspace import still_there
from adapter_service.application.decide.turn import Turn
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.decision import Ask, Candidate, Fail, PromptType
from adapter_service.domain.failure import Stage
from adapter_service.domain.plan import Question, SlotState, Task, TaskSlot
from adapter_service.domain.session import MOST_CANDIDATES
from adapter_service.sdk import (
    ArtifactFill,
    Candidates,
    FactView,
    Resolution,
    ResolveContext,
    Resolved,
    ResultFill,
    Slot,
    Text,
    TextFill,
    Tool,
    Unresolved,
    ValueFill,
)
from adapter_service.sdk import Candidate as SdkCandidate
from handrail_rpc.digest import NotCanonical, canonical_json

MOST_TRIES = 2
_ORDINAL = re.compile(r"\d{1,3}", re.ASCII)
_MISSING = object()


def resolve_task(turn: Turn, task_id: str) -> Ask | Fail | None:
    """Resolve every open slot of a task in `turn.plan`; None when all are settled, else what stands in the way."""
    tool = turn.tool_of(turn.plan.task(task_id))
    for name in tool.parameters:
        task = turn.plan.task(task_id)
        slot = task.slots.get(name, TaskSlot(name))
        if slot.state is not SlotState.OPEN:
            continue
        found = _resolve_slot(turn, task, tool, slot)
        if not isinstance(found, TaskSlot):
            return found
        turn.plan = turn.plan.with_task(task.with_slot(found))
    return None


def accepts(tool: Tool, name: str, value: Any) -> bool:
    """Whether a JSON value is of the parameter's type."""
    try:
        tool.type_of(name).validate_python(value)
    except ValidationError:
        return False
    return True


def _resolve_slot(turn: Turn, task: Task, tool: Tool, slot: TaskSlot) -> TaskSlot | Ask | Fail:
    match slot.fill:
        case TextFill(text):
            beyond = _beyond_options(turn, task, tool, slot.name, text)
            return _apply_resolution(turn, task, tool, slot, beyond or _resolve_text(turn, task, tool, slot.name, text))
        case ValueFill(value, display):
            if slot.name not in tool.artifacts and not accepts(tool, slot.name, value):
                return _plan_invalid(turn, "value_of_wrong_type")
            return slot.resolved(value, display or _display(value), "value")
        case ResultFill(source, path):
            return _from_result(turn, tool, slot, source, path)
        case ArtifactFill(source, artifact_id):
            return _artifact(turn, tool, slot, source, artifact_id)
        case None:
            return _unfilled(turn, task, tool, slot)


def _beyond_options(turn: Turn, task: Task, tool: Tool, name: str, text: str) -> Unresolved | None:
    """A number alone that answers a numbered list and is none of its numbers: asked again, not searched for.

    None where the number may be a value of the parameter, or stands in an option itself.
    """
    asked, options = turn.situation.plan.question, turn.situation.candidates
    said = text.strip(" \t\r\n.!?#№")
    if asked is None or not asked.candidates_of or (asked.task_id, asked.slot) != (task.task_id, name):
        return None
    if not options or not _ORDINAL.fullmatch(said) or 1 <= int(said) <= len(options):
        return None
    named = any(said in re.findall(r"\w+", option.display_name) for option in options)
    if named or accepts(tool, name, int(said)):
        return None
    number = Text(str(len(options)), str(len(options)))
    return Unresolved(texts.filled(texts.CHOOSE_FROM, most=number), "tool_input_invalid")


def _resolve_text(turn: Turn, task: Task, tool: Tool, name: str, text: str) -> Resolution:
    declared = tool.slots.get(name)
    if declared is not None and declared.resolver:
        context = ResolveContext(turn.locale, turn.now, turn.memory, turn.workspace, _values(turn, task, tool))
        return turn.domain.resolvers[declared.resolver](text, context)
    try:
        value = tool.parse(name, text)
        canonical_json(value)  # a number that no input can carry is asked for again, too
    except (ValueError, NotCanonical):  # pydantic's errors are ValueErrors
        return Unresolved(texts.filled(texts.NOT_ACCEPTED, text=texts.quote(text)), "tool_input_invalid")
    return Resolved(value, text.strip())


def _values(turn: Turn, task: Task, tool: Tool) -> dict[str, Any]:
    """What the task's parameters hold so far, artifacts as their contents."""
    values: dict[str, Any] = {}
    for name, slot in task.slots.items():
        if slot.state is not SlotState.RESOLVED:
            continue
        values[name] = slot.value
        if name in tool.artifacts and (current := turn.find_artifact(str(slot.value))) is not None:
            values[name] = parse_content(current.media_type, turn.read_content(current.sha256))
    return values


def _apply_resolution(
    turn: Turn, task: Task, tool: Tool, slot: TaskSlot, resolution: Resolution
) -> TaskSlot | Ask | Fail:
    if slot.vanished:
        return _ask_anew(turn, task, tool, slot, resolution)
    match resolution:
        case Candidates(options, guessed) if len(options) == 1 and not guessed:
            return slot.resolved(options[0].value, options[0].display_name, "user")
        case Candidates(options, guessed) if options:
            return _ask_which(turn, task, tool, slot, options, texts.DID_YOU_MEAN if guessed else texts.WHICH_ONE)
        case Resolved(value, display):
            if not accepts(tool, slot.name, value):
                return _plan_invalid(turn, "resolved_value_of_wrong_type")
            return slot.resolved(value, display, "user")
        case Unresolved(explanation, code):
            return ask_again(turn, task, tool, slot, explanation, code)
        case _:
            nothing = texts.filled(texts.NOT_ACCEPTED, text=_said(slot))
            return ask_again(turn, task, tool, slot, nothing, "entity_not_found")


def ask_again(turn: Turn, task: Task, tool: Tool, slot: TaskSlot, explanation: Text, code: str) -> Ask | Fail:
    """Ask for a slot whose text has no meaning, saying why; after MOST_TRIES the request fails with `code`."""
    if slot.attempts >= MOST_TRIES:
        return turn.fail(Stage.PLANNING, code, explanation, source_code=code)
    waiting = replace(slot.reopened(), fill=None, attempts=slot.attempts + 1, note=explanation)
    turn.plan = turn.plan.with_task(task.with_slot(waiting))
    asked = turn.situation.plan.question
    offered = asked is not None and asked.candidates_of and (asked.task_id, asked.slot) == (task.task_id, slot.name)
    options = still_there(turn, tool, slot.name, turn.situation.candidates) if offered else ()
    if options:
        # A reply that means nothing takes no option away.
        return _offer(turn, task, tool, waiting, question_of(turn, tool, waiting), options)
    return _ask_for(turn, task, tool, waiting)


def _ask_anew(turn: Turn, task: Task, tool: Tool, slot: TaskSlot, resolution: Resolution) -> Ask:
    """What the slot meant has vanished: offer what its words mean now, be it one thing only (requirement C10)."""
    options: tuple[SdkCandidate, ...] = ()
    match resolution:
        case Candidates(found):
            options = tuple(found)
        case Resolved(value, display):
            options = (SdkCandidate(display, display, "", value),)
        case _:
            pass
    if options:
        return _offer(turn, task, tool, slot, question_of(turn, tool, slot), options)
    return _ask_for(turn, task, tool, slot)


def _ask_which(
    turn: Turn, task: Task, tool: Tool, slot: TaskSlot, options: tuple[Any, ...], asked: Text = texts.WHICH_ONE
) -> Ask:
    declared = tool.slots.get(slot.name)
    question = texts.filled(asked, text=_said(slot)).localized(turn.locale)
    if declared is not None and declared.label is not None:
        label = declared.label.localized(turn.locale)
        question = f"{label[:1].upper()}{label[1:]}: {question}"
    return _offer(turn, task, tool, slot, question, options)


def _offer(
    turn: Turn, task: Task, tool: Tool, slot: TaskSlot, question: str, options: Sequence[SdkCandidate | Candidate]
) -> Ask:
    """Ask with a closed list; its opaque ids are of this decision only."""
    turn.candidates = tuple(
        Candidate(turn.ids("cnd"), option.identity, option.display_name, option.description, option.value)
        for option in options[:MOST_CANDIDATES]
    )
    turn.plan = replace(
        turn.plan, question=Question(task.task_id, slot.name, candidates_of=turn.command.decision_number)
    )
    return Ask(
        type=PromptType.SELECT,
        question=question,
        required=is_demanded(tool, slot),
        task_id=task.task_id,
        slot=slot.name,
        options=turn.candidates,
    )


def _said(slot: TaskSlot) -> Text:
    return texts.quote(slot.fill.text if isinstance(slot.fill, TextFill) else slot.name)


def _ask_for(turn: Turn, task: Task, tool: Tool, slot: TaskSlot) -> Ask:
    choices = tool.choices(slot.name)
    if 0 < len(choices) <= MOST_CANDIDATES:
        options = [SdkCandidate(c.identity, c.display.localized(turn.locale), "", c.value) for c in choices]
        return _offer(turn, task, tool, slot, question_of(turn, tool, slot), options)
    turn.plan = replace(turn.plan, question=Question(task.task_id, slot.name))
    return Ask(
        type=PromptType.INPUT,
        question=question_of(turn, tool, slot),
        required=is_demanded(tool, slot),
        task_id=task.task_id,
        slot=slot.name,
    )


def is_demanded(tool: Tool, slot: TaskSlot) -> bool:
    """Whether a question about the slot needs an answer: without one there is no call, or not the one meant."""
    declared = tool.slots.get(slot.name)
    return _is_needed(tool, slot) or (declared is not None and not declared.skippable)


def _is_needed(tool: Tool, slot: TaskSlot) -> bool:
    """Whether an empty slot has to be asked for: the signature needs it, or a finding or a failed call demands it."""
    return tool.is_required(slot.name) or slot.ask


def question_of(turn: Turn, tool: Tool, slot: TaskSlot) -> str:
    """The slot's question, after the reason why it is asked (again)."""
    question = tool.question(slot.name).localized(turn.locale)
    return question if slot.note is None else f"{slot.note.localized(turn.locale)} {question}"


def _unfilled(turn: Turn, task: Task, tool: Tool, slot: TaskSlot) -> TaskSlot | Ask | Fail:
    if slot.name in tool.artifacts:
        if not tool.is_required(slot.name):
            return replace(slot, state=SlotState.ABSENT)
        kind = turn.domain.kind(tool.artifacts[slot.name]).title
        return turn.fail(
            Stage.PLANNING,
            "entity_not_found",
            texts.filled(texts.NO_ARTIFACT, kind=kind),
            helpful_action=texts.NO_ARTIFACT_HELP,
        )
    declared = tool.slots.get(slot.name)
    if declared is not None and declared.fact:
        fact = next((fact for fact in turn.memory.facts if fact.name == declared.fact), None)
        if fact is not None:
            value = value_of_fact(declared, fact)
            if accepts(tool, slot.name, value):
                return slot.resolved(value, _display(value), f"fact:{fact.source}")
    if _is_needed(tool, slot) or slot.attempts:
        return _ask_for(turn, task, tool, slot)
    return replace(slot, state=SlotState.ABSENT)


def value_of_fact(declared: Slot, fact: FactView) -> Any:
    """The value of a slot filled from a fact: as declared, or the fact's own, with where and when it comes from."""
    if declared.fact_value is not None:
        return declared.fact_value(fact)
    observed = None if fact.observed_time is None else fact.observed_time.isoformat()
    return {**fact.value, "source": fact.source, "scope": fact.scope, "observed_time": observed}


def _from_result(turn: Turn, tool: Tool, slot: TaskSlot, source: str, path: str) -> TaskSlot | Fail:
    task = turn.plan.task(source)
    value = turn.result(task)
    for part in path.split(".") if path else ():
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict):
            value = value.get(part, _MISSING)
        else:
            value = _MISSING
        if value is _MISSING:
            break
    if value is _MISSING or value is None or value == []:
        said = turn.tool_of(task)
        told = Text(said.say(turn.result(task), "en"), said.say(turn.result(task), "ru"))
        nothing = texts.filled(texts.NOTHING_FOUND, title=tool.title)
        explanation = Text(f"{told.en} {nothing.en}".strip(), f"{told.ru} {nothing.ru}".strip())
        return turn.fail(Stage.PLANNING, "entity_not_found", explanation)
    if not accepts(tool, slot.name, value):
        return _plan_invalid(turn, "result_of_wrong_type")
    return slot.resolved(value, _display(value), "result")


def _artifact(turn: Turn, tool: Tool, slot: TaskSlot, source: str, artifact_id: str) -> TaskSlot | Fail:
    if source:
        made = turn.plan.task(source).artifact
        artifact_id = made.artifact_id if made is not None else ""
    current = turn.find_artifact(artifact_id)
    wanted = tool.artifacts.get(slot.name)
    if wanted is None:
        return _plan_invalid(turn, "artifact_for_plain_parameter")
    if current is None or current.kind != wanted:
        return turn.fail(
            Stage.PLANNING,
            "entity_not_found",
            texts.filled(texts.NO_ARTIFACT, kind=turn.domain.kind(wanted).title),
            helpful_action=texts.NO_ARTIFACT_HELP,
        )
    return slot.resolved(artifact_id, current.title, "artifact")


def _plan_invalid(turn: Turn, source_code: str) -> Fail:
    return turn.fail(
        Stage.PLANNING,
        "plan_invalid",
        texts.PLAN_INVALID,
        helpful_action=texts.PLAN_INVALID_HELP,
        source_code=source_code,
    )


def _display(value: Any) -> str:
    """The readable form of a single value; a structure has none."""
    if isinstance(value, str | int | float):
        return str(value)
    return ""
