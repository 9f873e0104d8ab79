"""What the Loop settles by structure when text answers something open (C7): commands, ordinals, display names.

Everything else goes to the Adapter. Text is never taken as an approval.
"""

from __future__ import annotations

import re
import unicodedata

from loop_service.domain.clarification import Clarification
from loop_service.domain.observation import ReplyResponse

_STOP_WORDS = frozenset(
    {
        "cancel",
        "cancel it",
        "cancel that",
        "cancel this",
        "stop",
        "stop it",
        "abort",
        "never mind",
        "nevermind",
        "forget it",
        "отмена",
        "отмени",
        "отменить",
        "отмените",
        "стоп",
        "остановись",
        "прекрати",
        "не надо",
        "забудь",
    }
)
_SKIP_WORDS = frozenset({"skip", "skip it", "skip this", "пропусти", "пропустить", "пропустим", "дальше"})
_YES_WORDS = frozenset({"yes", "y", "yes please", "yep", "sure", "ok", "okay", "да", "ага", "хорошо", "конечно"})
_NO_WORDS = frozenset({"no", "n", "no thanks", "nope", "нет", "не", "нет спасибо"})
_FILLER = frozenset(
    {"the", "a", "one", "option", "number", "no", "variant", "please", "take", "choose", "let", "it", "be"}
    | {"вариант", "номер", "пожалуйста", "давай", "давайте", "выбираю", "бери", "возьми", "пусть", "будет"}
)
_EDGES = " \t\r\n.,!?;:…)»«\"'("
_ENGLISH = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_RUSSIAN_STEMS = ("перв", "втор", "трет", "четв[её]рт", "пят", "шест", "седьм", "восьм", "девят", "десят")
_RUSSIAN_ENDING = "(ый|ий|ой|ая|ья|ое|ье|ого|его|ую|ью|ую|ом|ем|ей|ым|им)"
_RUSSIAN = tuple(re.compile(f"{stem}(ь)?{_RUSSIAN_ENDING}") for stem in _RUSSIAN_STEMS)
_RUSSIAN_LAST = re.compile(rf"последн{_RUSSIAN_ENDING}|последняя|последнюю|последнее|последний")
_NUMBER = re.compile(r"[#№]?(\d{1,3})(?:st|nd|rd|th|-?(?:й|я|е|ый|ой|ую|ю))?")


def is_stop_command(text: str) -> bool:
    """An explicit command to cancel, and nothing else in the message."""
    return _plain(text) in _STOP_WORDS


def classify_by_structure(text: str, clarification: Clarification) -> ReplyResponse:
    """The response that `text` means for the question; unset where only the domain can tell."""
    plain = _plain(text)
    if not clarification.required and plain in _SKIP_WORDS:
        return ReplyResponse(skip=True)
    if clarification.type == "confirm":
        if plain in _YES_WORDS:
            return ReplyResponse(confirmed=True)
        if plain in _NO_WORDS:
            return ReplyResponse(confirmed=False)
    if clarification.options:
        named = [o for o in clarification.options if _plain(o.display_name) == plain]
        if len(named) == 1:
            return ReplyResponse(selected_candidate_id=named[0].candidate_id)
        position = _ordinal(plain, len(clarification.options))
        if position is not None:
            return ReplyResponse(selected_candidate_id=clarification.options[position].candidate_id)
    return ReplyResponse()


def _plain(text: str) -> str:
    """Case, punctuation at the edges and repeated spaces do not matter."""
    folded = unicodedata.normalize("NFC", text).casefold().strip(_EDGES)
    return " ".join(folded.replace(",", " ").split())


def _ordinal(plain: str, count: int) -> int | None:
    """Index that an ordinal names, if the whole text is one ("the second one", "последнюю", "2")."""
    words = [w for w in plain.split() if w not in _FILLER]
    if len(words) != 1:
        return None
    word = words[0]
    if word == "last" or _RUSSIAN_LAST.fullmatch(word):
        return count - 1
    position: int | None = None
    number = _NUMBER.fullmatch(word)
    if number is not None:
        position = int(number.group(1)) - 1
    elif word in _ENGLISH:
        position = _ENGLISH.index(word)
    else:
        position = next((i for i, pattern in enumerate(_RUSSIAN) if pattern.fullmatch(word)), None)
    return position if position is not None and 0 <= position < count else None
