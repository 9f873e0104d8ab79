"""Replies to an open question, and texts that arrive while an approval is open or something works (C7). Called by the
planner.

A text is an answer unless it clearly is a correction ("no, 4"), a whole new request, or a cancellation. An approval is
never given by text, and a text that merely agrees changes nothing and is no value (assent.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from adapter_service.domains.workbench.planner import commands as c
from adapter_service.domains.workbench.planner.assent import is_value, only_yes, only_yes_or_no
from adapter_service.domains.workbench.planner.lookup import Lookup
from adapter_service.domains.workbench.planner.words import CANCEL, LEAD_IN, QUESTION_WORD, VERB
from adapter_service.domains.workbench.pointing_words import is_pronoun
from adapter_service.sdk import (
    ArtifactFill,
    Fill,
    OpenQuestion,
    PlanningRequest,
    Proposal,
    ReplyVerdict,
    SlotPatch,
    TaskDraft,
    TextFill,
    ValueFill,
)

Read = Callable[[str], list[c.Command]]
Understand = Callable[[str], Proposal]

_CORRECTING: Final = re.compile(
    r"^(?:(?:no|nope|not that|wait|sorry|oops|actually|i meant|i mean|rather|wrong|correction|hold on|better|instead|"
    r"нет|не то|неверно|постой|погоди|подожди|извини|извините|ой|ошибся|ошиблась|точнее|вернее|лучше|я имел в виду|"
    r"я имела в виду|на самом деле)(?![\w'’-])[\s,.!:;—–-]*)+(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_LEAD: Final = re.compile(
    r"^(?:(?:it'?s|it is|that'?s|that is|it should be|should be|make it|make that|let it be|let'?s take|take|use|"
    r"i mean|i meant|"
    r"the answer is|the value is|probably|yes,|ok,|okay,|well,|please|это|пусть будет|сделай|возьми|да,|хорошо,|ну,|"
    r"пожалуйста|значение|наверное|думаю)(?![\w'’-])[\s,:—–-]*)+(?=\S)",
    re.IGNORECASE,
)
_TRAILER: Final = re.compile(r"[\s,]*(?:please|thanks|instead|пожалуйста|спасибо|лучше)?[\s.!]*$", re.IGNORECASE)
_FREE_SLOTS: Final = frozenset({"value", "query", "text", "identity"})
_EDITING: Final = ("draft_change", "revise_change")
# Slots that would take any words: their questions are asked again where the text only says yes or no.
_TAKES_ANY_WORDS: Final = _FREE_SLOTS | {"field"}
_MOST_DOCUMENT_WORDS: Final = 4


def cancels(text: str) -> bool:
    """Is the whole text a cancellation?"""
    return CANCEL.fullmatch(text.strip()) is not None


def corrected_value(text: str) -> str:
    """The value of "no, 4" or "actually 4"; "" where the text is something else."""
    corrected = _CORRECTING.match(text)
    value = _TRAILER.sub("", _LEAD.sub("", corrected["rest"].strip())).strip() if corrected else ""
    return value if re.fullmatch(r"[-+]?\d[\w.:%-]*|true|false", value, re.IGNORECASE) else ""


def answer_or_else(text: str, request: PlanningRequest, lookup: Lookup, read: Read, understand: Understand) -> Proposal:
    """A text while a question is open."""
    question = request.open_question
    assert question is not None, "called with an open question"
    if cancels(text):
        return Proposal(ReplyVerdict.CANCEL)
    if len(question.options) == 1 and only_yes(text):
        return Proposal(ReplyVerdict.ANSWER, answer_text=question.options[0])  # "did you mean …?" "yes"
    if question.slot in _TAKES_ANY_WORDS and only_yes_or_no(text) and not _asks_yes_or_no(text, request, lookup):
        # Asked again: an empty text is what no resolver accepts. As an answer, UNCLEAR would be resolved again.
        return Proposal(ReplyVerdict.CORRECTION, patches=(SlotPatch(question.task_id, question.slot, TextFill("")),))
    corrected = _CORRECTING.match(text)
    said = corrected["rest"].strip() if corrected and corrected["rest"].strip() else text
    if _may_be_command(said, question):
        found = read(said)
        if question.slot == "value" and len(found) == 1 and (value := _value_alone(found[0])):
            return Proposal(ReplyVerdict.ANSWER, answer_text=value)
        patches = _patches(found, question)
        if patches:
            return Proposal(ReplyVerdict.CORRECTION, patches=patches)
        if found and not any(isinstance(each, c.Talk) for each in found):
            # Also a command that cannot be done now ("show the diff" without a draft) is not the name of anything.
            return understand(said)
    return Proposal(ReplyVerdict.ANSWER, answer_text=_TRAILER.sub("", _LEAD.sub("", said)) or text)


def _asks_yes_or_no(text: str, request: PlanningRequest, lookup: Lookup) -> bool:
    """Whether "yes" can be the answer: it is one of the options, or the field is true or false now."""
    question = request.open_question
    assert question is not None, "called with an open question"
    if text.strip(" .!").casefold() in (option.casefold() for option in question.options):
        return True
    task = next((task for task in request.tasks if task.task_id == question.task_id), None)
    if question.slot != "value" or task is None or "field" not in task.fills:
        return False
    return lookup.is_switch(task.fills.get("document") or task.fills.get("change", ""), task.fills["field"])


def _value_alone(command: c.Command) -> str:
    """The value of "make it 4"; "" for any other command."""
    if not isinstance(command, c.Edit) or command.operation != "set" or command.document or command.field:
        return ""
    return command.value or ""


def _may_be_command(text: str, question: OpenQuestion) -> bool:
    """A command has a verb and an object; a name or a value may look like a question's word."""
    plain = text.strip()
    if question.slot == "rebase":
        return len(plain.split()) > 1 and re.match(rf"(?:{VERB})(?!\w)", plain, re.IGNORECASE) is not None
    begins = re.match(rf"(?:{VERB})(?!\w)", plain, re.IGNORECASE) is not None
    if question.slot in _FREE_SLOTS:
        return begins and len(plain.split()) > 1
    return begins or plain.endswith("?")


def _patches(found: list[c.Command], question: OpenQuestion) -> tuple[SlotPatch, ...]:
    """One edit as a correction of the very task that asks: "remove it", "set spec.port to 80" instead of a value."""
    if len(found) != 1 or question.tool not in _EDITING:
        return ()
    edit = found[0]
    if not isinstance(edit, c.Edit) or (
        edit.document and question.tool == "revise_change" and not is_pronoun(edit.document)
    ):
        return ()
    fills: dict[str, Fill] = {}
    if edit.operation != "set" or edit.field:
        fills["operation"] = ValueFill(edit.operation)
    if edit.field:
        fills["field"] = TextFill(edit.field)
    if edit.document and question.tool == "draft_change":
        fills["document"] = TextFill(edit.document)
    if edit.value is not None:
        fills["value"] = TextFill(edit.value)
    elif edit.operation == "remove":
        fills["value"] = ValueFill(None)
    if question.slot not in fills and edit.operation == "remove" and question.tool == "revise_change":
        fills[question.slot] = ValueFill(None)  # "remove it": what validation found to be one too many
    if not fills:
        return ()
    return tuple(SlotPatch(question.task_id, slot, fill) for slot, fill in fills.items())


def while_busy(text: str, request: PlanningRequest, lookup: Lookup, read: Read, understand: Understand) -> Proposal:
    """A text while an approval is open, or while something works."""
    if cancels(text):
        return Proposal(ReplyVerdict.CANCEL)
    if request.approval_open and only_yes_or_no(text):
        return Proposal(ReplyVerdict.UNCLEAR)
    corrected = _CORRECTING.match(text)
    said = (corrected["rest"].strip() if corrected else text).strip()
    changing = any(task.tool in (*_EDITING, "draft_document", "publish_change") for task in request.tasks)
    found = read(said) if said else []
    if changing and request.approval_open:
        correction = _correction_of_draft(found, said, request, lookup, corrects=corrected is not None)
        if correction is not None:
            return correction
    elif corrected is not None and (patch := _other_document(said, request)) is not None:
        return Proposal(ReplyVerdict.CORRECTION, patches=(patch,))
    asks = _asks(said, strictly=request.approval_open)
    weak = any(isinstance(each, c.Talk) or (isinstance(each, c.AskDocumentation) and not asks) for each in found)
    if not found or weak or any(isinstance(each, c.Publish) for each in found):
        return Proposal(ReplyVerdict.UNCLEAR)
    return understand(said)


def _asks(text: str, *, strictly: bool) -> bool:
    """Whether words are meant for the documentation: beside an approval only a question is, as it ends the approval."""
    if strictly:
        return text.endswith("?") or QUESTION_WORD.match(LEAD_IN.sub("", text)) is not None
    return text.endswith("?") or len(text.split()) > 2


def _correction_of_draft(
    found: list[c.Command], said: str, request: PlanningRequest, lookup: Lookup, *, corrects: bool
) -> Proposal | None:
    """Edits of the draft that waits for its approval: it is revised, checked and asked about again (requirement E5)."""
    current = next((each for each in request.memory.artifacts if each.kind == "change" and not each.settled), None)
    if current is None:
        return None
    draft = ArtifactFill(artifact_id=current.artifact_id)
    if len(found) == 1 and isinstance(found[0], c.Undo):
        if found[0].everything:
            return Proposal(ReplyVerdict.CANCEL)
        return Proposal(ReplyVerdict.CORRECTION, tasks=(TaskDraft("u", "undo_change", {"change": draft}),))
    edits = [each for each in found if isinstance(each, c.Edit)]
    if edits and len(edits) == len(found) and all(_of_draft(each, current.title) for each in edits):
        if not all(_says_what(each, lookup) for each in edits):
            return Proposal(ReplyVerdict.UNCLEAR)  # "make it so"
        return Proposal(ReplyVerdict.CORRECTION, tasks=_revisions(edits, draft))
    value = _TRAILER.sub("", _LEAD.sub("", said)).strip()
    if not edits and is_value(value, lookup, introduced=corrects or _LEAD.match(said) is not None):
        return Proposal(ReplyVerdict.CORRECTION, tasks=_revisions([c.Edit("set", value=value)], draft))
    return None


def _says_what(edit: c.Edit, lookup: Lookup) -> bool:
    """Whether an edit names a field, or a value that is one."""
    if edit.field or edit.value is None:
        return True
    return is_value(edit.value, lookup, introduced=True)


def _of_draft(edit: c.Edit, key: str) -> bool:
    said = edit.document.casefold().strip()
    return not said or is_pronoun(said) or said in key.casefold() or key.casefold().rpartition("/")[2] in said


def _revisions(edits: list[c.Edit], draft: ArtifactFill) -> tuple[TaskDraft, ...]:
    tasks: list[TaskDraft] = []
    for index, edit in enumerate(edits):
        source = ArtifactFill(task=tasks[-1].name) if tasks else draft
        fills: dict[str, Fill] = {"change": source, "operation": ValueFill(edit.operation)}
        if edit.field:
            fills["field"] = TextFill(edit.field)
        if edit.value is not None:
            fills["value"] = TextFill(edit.value)
        elif edit.operation == "remove":
            fills["value"] = ValueFill(None)
        tasks.append(TaskDraft(f"r{index}", "revise_change", fills))
    return tuple(tasks)


def _other_document(said: str, request: PlanningRequest) -> SlotPatch | None:
    """ "no, billing" while a task about one document works."""
    tasks = [task for task in request.tasks if "document" in task.fills]
    if not tasks or not said or len(said.split()) > _MOST_DOCUMENT_WORDS:
        return None
    return SlotPatch(tasks[-1].task_id, "document", TextFill(said))
