"""Reads clauses about drafts and edits: set, add, remove, create, check, publish, undo. Called by reading.py."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from adapter_service.domains.workbench.planner import conditions, edit_grammar, replies, words
from adapter_service.domains.workbench.planner.clause import ANY_CASE, Clause, Read, full
from adapter_service.domains.workbench.planner.commands import (
    CheckWorkspace,
    Create,
    Edit,
    Publish,
    ShowChange,
    Talk,
    Undo,
    Validate,
)
from adapter_service.domains.workbench.planner.lookup import Lookup
from adapter_service.domains.workbench.pointing_words import is_pronoun

_IT: Final = rf"(?:{words.THING}(?:{words.DRAFT_WORD}|it|that|this|them|result|его|её|ее|их|это|всё|результат)?)"
_SHOW_CHANGE: Final = tuple(
    full(pattern)
    for pattern in (
        rf"(?:{words.SHOW}|what(?:'s| is| are))(?: me)? {words.THING}{words.DRAFT_WORD}",
        r"what(?: has| have|'s)? (?:changed|been changed)|what (?:will|would)(?: be)? change[d]?|what did (?:i|"
        r"you|we) change",
        r"что (?:изменилось|изменится|поменялось|поменяется|будет изменено|(?:я|ты|мы) (?:изменил|поменял)\w*)",
        r"(?:какие|каков\w) (?:изменения|правки)",
    )
)
_VALIDATE: Final = tuple(
    full(pattern)
    for pattern in (
        rf"{words.VALIDATE}(?: {_IT})?(?: again| once more| ещё раз| снова)?",
        rf"(?:is|are) {_IT} (?:valid|ok|okay|correct|right|fine)",
        rf"(?:верн[оаы]|корректн[оаы]|правильн[оаы]) ли {_IT}|{_IT} (?:верно|корректно|правильно)",
    )
)
_PUBLISH: Final = full(rf"{words.PUBLISH}(?: {_IT})?(?: now| to the (?:file|folder|workspace)| в файл| на диск)?")
_UNDO: Final = full(
    rf"(?:{words.UNDO}|{words.REMOVE}|forget)(?: (?P<what>{words.THING}(?:{words.DRAFT_WORD}|it|that|this|"
    rf"everything|all|"
    r"edits?|step|его|её|ее|это|всё|все|шаг)?))?(?: как было)?"
)
_WHOLE_DRAFT: Final = re.compile(
    r"(?:discard|abandon|throw|reset|forget|everything|all|draft|вс[её]|черновик|отбрось|сбрось|как было)", ANY_CASE
)


def read_draft_command(clause: Clause) -> Read:
    """Show, validate, publish or undo the draft."""
    text = clause.text
    if any(form(text) for form in _SHOW_CHANGE):
        return [ShowChange()]
    if any(form(text) for form in _VALIDATE) and text.split():
        return [Validate()]
    if _PUBLISH(text):
        return [Publish()]
    undone = _UNDO(text)
    if undone is None:
        return None
    removes = re.match(rf"(?:{words.REMOVE}|forget)(?!\w)", text, ANY_CASE)
    if removes and not re.search(rf"{words.DRAFT_WORD}$|edit|step|шаг", text, ANY_CASE):
        return None  # "remove it" may mean a field or a document
    last_only = re.search(r"(?<!\w)(?:last|latest|последн\w+)(?!\w)|^(?:undo|откати)\w*$", text, ANY_CASE)
    return [Undo(everything=bool(_WHOLE_DRAFT.search(text)) or not last_only)]


_CHECK_ALL: Final = full(
    rf"{words.VALIDATE} (?:{words.THING}(?:{words.WORKSPACE_WORD}|everything|all(?: the)?(?: documents| files)?|"
    rf"documents|files|"
    r"всё|все(?: документы| файлы)?|документы|файлы))|"
    rf"(?:is everything (?:valid|ok|okay|correct|fine)|are there (?:any )?(?:errors|problems|mistakes|findings)"
    rf"(?: (?:here|in {words.THING}{words.WORKSPACE_WORD}))?|what is wrong(?: here)?|"
    rf"есть ли (?:тут |здесь )?(?:ошибки|проблемы)(?: в {words.THING}{words.WORKSPACE_WORD})?|вс[её] ли (?:верно|"
    rf"правильно|в порядке))"
)


def read_check(clause: Clause) -> Read:
    """Check everything, or one document."""
    if _CHECK_ALL(clause.text):
        return [CheckWorkspace()]
    found = re.fullmatch(rf"{words.VALIDATE} (?P<document>.+)", clause.text, ANY_CASE)
    if found is not None and clause.lookup.names_document(found["document"]) and not is_pronoun(found["document"]):
        return [CheckWorkspace(found["document"])]
    return None


_PLACE_FIRST: Final = re.compile(
    rf"(?:in|for|on|within|at|в|во|для|у)\s+(?P<document>.+?),?\s+(?P<rest>(?:{words.VERB})(?!\w).*)", ANY_CASE
)
_DELETES_DOCUMENT: Final = full(
    rf"{words.REMOVE} (?:the |this |that |этот |эту )?(?:document|file|документ|файл)(?: .+)?"
)


def read_edits(clause: Clause) -> Read:
    """Edits of a document or of the draft."""
    text, lookup = clause.text, clause.lookup
    first = _PLACE_FIRST.fullmatch(text)
    if first is not None and (lookup.names_document(first["document"]) or len(first["document"].split()) <= 3):
        inner = read_edits(replace(clause, text=first["rest"]))
        if inner is not None and all(isinstance(each, Edit) for each in inner):
            edits = [each for each in inner if isinstance(each, Edit)]
            return [*edit_grammar.at_place(edits, first["document"])]
    if _DELETES_DOCUMENT(text):
        return [Talk(replies.NO_DELETION, refusal=True)]
    found = _read_edit(clause)
    return None if found is None else [*found]


def _read_edit(clause: Clause) -> list[Edit] | list[Talk] | None:
    text, lookup = clause.text, clause.lookup

    def behind(verb: str) -> str | None:
        found = re.match(rf"(?:{verb})(?!\w)\s*", text, ANY_CASE)
        return text[found.end() :].strip() if found else None

    if (body := behind(words.SWITCH_ON)) is not None:
        return edit_grammar.read_switch(body, lookup, on=True)
    if (body := behind(words.SWITCH_OFF)) is not None:
        return edit_grammar.read_switch(body, lookup, on=False)
    if (body := behind(words.REPLACE)) is not None:
        swapped = re.sub(r"\s+(?:with|by)\s+", " to ", body, count=1, flags=ANY_CASE)
        return edit_grammar.read_set(swapped, lookup, "replace")
    if (body := behind(words.ADD)) is not None:
        return edit_grammar.read_add(body, lookup) if body else None
    if (body := behind(words.REMOVE)) is not None:
        if not body:
            return None
        if lookup.surely_names_document(body) and not is_pronoun(body):
            return [Talk(replies.NO_DELETION, refusal=True)]
        return edit_grammar.read_remove(body, lookup)
    if (body := behind(words.SET)) is not None and not (clause.asks and text.endswith("?")):
        return edit_grammar.read_set(body, lookup, text)
    return None


_CREATE: Final = re.compile(
    rf"(?:{words.CREATE}|(?:make|add|добав\w+|сдела\w+)(?=\s+(?:a\s+|an\s+)?(?:new|нов\w+)\s))\s+"
    r"(?:a\s+|an\s+|the\s+)?(?:new\s+|нов\w+\s+)?(?P<body>.+)",
    ANY_CASE,
)
_CALLED: Final = re.compile(r"\s+(?:called|named|с именем|по имени|под названием|с названием)\s+", ANY_CASE)
_WITH: Final = re.compile(r"\s+(?:with|having|с|со|где)\s+(?=\S)", ANY_CASE)


def read_create(clause: Clause) -> Read:
    """A new document."""
    found = _CREATE.fullmatch(clause.text)
    if found is None:
        return None
    head, *rest = (
        _WITH.split(found["body"], maxsplit=1) if not _CALLED.search(found["body"]) else _split_called(found["body"])
    )
    content = conditions.fields_of(rest[0]) if rest else {}
    if content is None:
        return [Talk(replies.not_understood(rest[0]), refusal=True)]
    kind, name = _kind_and_name(head, clause.lookup)
    if not kind and clause.lookup.view is not None and not re.match(r"(?:document|документ)", head, ANY_CASE):
        return None if len(head.split()) > 2 else [Create(head.split()[0], " ".join(head.split()[1:]), content)]
    return [Create(kind, name, content)]


def _split_called(body: str) -> list[str]:
    called = _CALLED.search(body)
    assert called is not None  # the caller has looked
    after = _WITH.split(body[called.end() :], maxsplit=1)
    return [f"{body[: called.start()]} {after[0]}", *after[1:]]


def _kind_and_name(head: str, lookup: Lookup) -> tuple[str, str]:
    first, _, rest = head.strip().partition(" ")
    if re.fullmatch(r"documents?|документ\w*", first, ANY_CASE):
        return "", rest.strip()
    if lookup.is_type(first):
        return first, rest.strip()
    phrase = lookup.phrase(head)
    return phrase.kind, phrase.name if phrase.kind else ""
