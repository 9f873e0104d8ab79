"""Reads one clause into commands, or says which part was not understood. Called by the planner.

The forms are tried from the most special to the most general; each has to account for the whole clause, so that
nothing of a message is dropped silently.
"""

from __future__ import annotations

from typing import Final

from adapter_service.domains.workbench.planner import reading_drafts as drafts
from adapter_service.domains.workbench.planner import reading_questions as questions
from adapter_service.domains.workbench.planner import replies, words
from adapter_service.domains.workbench.planner.clause import Clause, Read, full
from adapter_service.domains.workbench.planner.commands import Command, Describe, More, Talk


def read_clause(clause: Clause) -> list[Command]:
    """The commands of a clause; a Talk that refuses where it has no meaning."""
    for form in _FORMS:
        found = form(clause)
        if found is not None:
            return found
    return [Talk(replies.not_understood(clause.text), refusal=True)]


def _talk(clause: Clause) -> Read:
    if words.GREETING.fullmatch(clause.text):
        return [Talk(replies.GREETING)]
    if words.THANKS.fullmatch(clause.text):
        return [Talk(replies.THANKS)]
    if words.YES_OR_NO.fullmatch(clause.text):
        return [Talk(replies.NO_QUESTION)]
    return [Talk(replies.HELP)] if words.HELP.fullmatch(clause.text) else None


_DESCRIBE_FORMS: Final = tuple(
    full(pattern)
    for pattern in (
        rf"(?:what(?:'s| is| are|s)?(?: there)?|show(?: me)?|tell me)(?: what(?:'s| is))? (?:in|inside|here in|"
        rf"there in) {words.THING}"
        rf"{words.WORKSPACE_WORD}",
        rf"{words.DESCRIBE} {words.THING}{words.WORKSPACE_WORD}",
        rf"(?:tell me about|show(?: me)?|an? overview of|overview of) {words.THING}{words.WORKSPACE_WORD}",
        r"what(?:'s| is| do (?:we|you|i) have)(?: here| there| in here)?(?: in it)?",
        r"what (?:do (?:we|you|i) have|have (?:we|you|i)(?: got)?|is there)(?: here| there)?",
        r"(?:an? )?overview|what(?:'s| is) (?:in )?here|what types(?: of documents)? (?:are there|do we have|"
        r"exist)(?: here)?",
        rf"(?:что|чего)(?: (?:есть|лежит|находится|имеется))? (?:в|во) {words.THING}{words.WORKSPACE_WORD}"
        r"(?: (?:есть|лежит|находится))?",
        r"что (?:тут|здесь)(?: (?:есть|лежит|у нас(?: есть)?|находится))?|что у (?:нас|меня) (?:тут |здесь )?(?:есть)?",
        rf"(?:опиши|покажи|дай обзор|обзор|расскажи про|расскажи о) {words.THING}{words.WORKSPACE_WORD}",
        r"(?:show|list|open|what)(?: me)?(?: is)?(?: all)?(?: the)? (?:docs|documentation)(?: is there|"
        r" do we have| files)?",
        r"(?:покажи|открой|перечисли|какая)(?: у нас)?(?: есть)?(?: вся| всю)? (?:доки|документаци[яю])(?: есть)?",
        r"обзор|какие (?:виды|типы)(?: документов)?(?: (?:тут|здесь))?(?: есть)?",
    )
)


def _describe(clause: Clause) -> Read:
    return [Describe()] if any(form(clause.text) for form in _DESCRIBE_FORMS) else None


_MORE: Final = full(
    r"(?:(?:show|give|list)(?: me)? )?(?:some )?(?:more|the next(?: ones| page| results)?|next(?: page)?|the rest|"
    r"the others|"
    r"more (?:documents|results|of them))|(?:покажи |дай |выведи )?(?:ещё|еще|дальше|следующ\w+(?: страниц\w+)?|"
    r"остальн\w+|продолж\w+)(?: документ\w+| результат\w+)?"
)


def _more(clause: Clause) -> Read:
    return [More()] if _MORE(clause.text) else None


_FORMS: Final = (
    _talk,
    _describe,
    _more,
    questions.read_explicit_documentation,
    drafts.read_draft_command,
    drafts.read_check,
    questions.read_comparison,
    drafts.read_create,
    drafts.read_edits,
    questions.read_references,
    questions.read_field,
    questions.read_list,
    questions.read_search,
    questions.read_show,
    questions.read_what_about,
    questions.read_name,
    questions.read_question,
)
