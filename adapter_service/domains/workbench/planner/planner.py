"""The planner of the workbench: from one text to tasks with slots, without a model and without stored sentences.

Called by the engine through the domain. Hide quotes, split into clauses, read each into commands, compose tasks; where
a part is not understood it is named, and nothing of the message is done. Replies to questions are told apart in
dialogue.py.
"""

from __future__ import annotations

import dataclasses
import logging
import re
import unicodedata
from typing import Any, Final

from adapter_service.domains.workbench.noun_phrases import unquoted
from adapter_service.domains.workbench.planner import commands as c
from adapter_service.domains.workbench.planner import dialogue, replies
from adapter_service.domains.workbench.planner.already import without_idle_publication
from adapter_service.domains.workbench.planner.clause import clause_of
from adapter_service.domains.workbench.planner.clauses import split_clauses
from adapter_service.domains.workbench.planner.composing import Composer
from adapter_service.domains.workbench.planner.lookup import Lookup
from adapter_service.domains.workbench.planner.quotes import Quotes
from adapter_service.domains.workbench.planner.reading import read_clause
from adapter_service.domains.workbench.planner.trailing import leftover, without_restraint
from adapter_service.sdk import PlanningRequest, Proposal, ReplyVerdict, Text

# A longer text is no request of this domain; the Loop has a limit of its own, this one keeps the reading cheap.
LONGEST_TEXT: Final = 2_000
_MOST_COMMANDS: Final = 12
_POLITE: Final = re.compile(
    r"(?<=\w)\s*,\s*(?:please|пожалуйста)\s*,\s*|(?<=\w)\s+(?:please|пожалуйста)(?=\s)", re.IGNORECASE
)
_LOGGER: Final = logging.getLogger(__name__)


class WorkbenchPlanner:
    """Understands English and Russian requests about documents, documentation and changes. Keeps no state."""

    def plan(self, request: PlanningRequest) -> Proposal:
        """Propose what to do about one text. Never raises for a text it does not understand."""
        try:
            return self._plan(request)
        except (ValueError, LookupError, RecursionError) as error:
            _LOGGER.exception("planner failed", extra={"cause": type(error).__name__, "length": len(request.text)})
            verdict = ReplyVerdict.NEW_REQUEST if request.begins_interaction else ReplyVerdict.UNCLEAR
            return Proposal(verdict, reply=replies.not_understood(request.text))

    def _plan(self, request: PlanningRequest) -> Proposal:
        text = normalise(request.text)[:LONGEST_TEXT]
        lookup = Lookup.of(request.workspace)

        def read(said: str) -> list[c.Command]:
            # Beside a question or an approval "but do not publish it" contradicts what is under way: not heeded.
            return read_message(said, lookup, heeds_restraint=request.begins_interaction)

        def understand(said: str) -> Proposal:
            return _understand(said, request, lookup)

        if request.begins_interaction:
            if dialogue.cancels(text):
                return Proposal(ReplyVerdict.NEW_REQUEST, reply=replies.NOTHING_TO_CANCEL)
            return understand(text)
        if request.open_question is not None:
            return dialogue.answer_or_else(text, request, lookup, read, understand)
        return dialogue.while_busy(text, request, lookup, read, understand)


def normalise(text: str) -> str:
    """NFC, control characters as spaces, runs of spaces as one; line breaks stay."""
    text = unicodedata.normalize("NFC", text)
    text = "".join(char if char == "\n" or unicodedata.category(char)[0] != "C" else " " for char in text)
    return re.sub(r"[^\S\n]+", " ", text).strip()


def read_message(text: str, lookup: Lookup, *, heeds_restraint: bool = True) -> list[c.Command]:
    """The commands of a message in order, with its quoted parts as they were written."""
    quotes = Quotes()
    shown = Lookup(lookup.view, quotes.show)
    hidden = quotes.hide(text)
    plain, restrained = without_restraint(hidden) if heeds_restraint else (hidden, False)
    found = _commands(plain, shown)
    if plain != hidden and not any(isinstance(each, c.Edit | c.Create) for each in found):
        found, restrained = _commands(hidden, shown), False  # such words may be asked about
    if restrained and any(isinstance(each, c.Publish) for each in found):
        return [c.Talk(replies.CONTRADICTION, refusal=True)]
    return [_with_quotes(each, quotes) for each in found]


def _commands(hidden: str, lookup: Lookup) -> list[c.Command]:
    found: list[c.Command] = []
    for part in split_clauses(_POLITE.sub(" ", hidden)):
        clause = clause_of(part, lookup)
        if clause.text:
            found += [_or_refused(each, clause.text) for each in read_clause(clause)]
    return found


def _or_refused(command: c.Command, clause: str) -> c.Command:
    """An edit that has taken words behind it for its own is none."""
    part = leftover(command, clause) if isinstance(command, c.Edit) else ""
    return c.Talk(replies.not_a_value(part), refusal=True) if part else command


def _with_quotes(command: c.Command, quotes: Quotes) -> c.Command:
    changed = {field.name: _shown(getattr(command, field.name), quotes) for field in dataclasses.fields(command)}
    return dataclasses.replace(command, **changed)


def _shown(value: Any, quotes: Quotes) -> Any:
    if isinstance(value, str):
        return quotes.show(value)
    if isinstance(value, Text):
        return Text(quotes.show(value.en), quotes.show(value.ru))
    if isinstance(value, dict):
        return {quotes.show(name): _condition(each, quotes) for name, each in value.items()}
    return value


def _condition(value: Any, quotes: Quotes) -> Any:
    """A quoted value of a field is what stands between the quotation marks."""
    return unquoted(quotes.show(value)) if isinstance(value, str) and quotes.show(value) != value else value


def _understand(text: str, request: PlanningRequest, lookup: Lookup) -> Proposal:
    """The tasks of a complete request, or a reply."""
    composer = Composer(request.memory, lookup, request.locale)
    found = _follow_up(text, composer) or read_message(text, lookup)
    if len(found) > _MOST_COMMANDS:
        return _reply(replies.too_long(_MOST_COMMANDS))
    talk: Text | None = None
    for command in found:
        reply = composer.add(command)
        if reply is None:
            continue
        if isinstance(command, c.Talk) and not command.refusal:
            talk = talk or reply
        else:
            return _reply(reply)
    if composer.tasks:
        return Proposal(ReplyVerdict.NEW_REQUEST, tasks=without_idle_publication(composer.tasks, request))
    return _reply(talk or replies.not_understood(text))


def _follow_up(text: str, composer: Composer) -> list[c.Command]:
    """ "no, 4" after a draft is its next edit."""
    value = dialogue.corrected_value(text)
    return [c.Edit("set", value=value)] if value and composer.current() is not None else []


def _reply(text: Text) -> Proposal:
    return Proposal(ReplyVerdict.NEW_REQUEST, reply=text)
