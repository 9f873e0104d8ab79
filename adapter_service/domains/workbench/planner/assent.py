"""Whether a text says yes or no and nothing else, and whether words are a value. Called by dialogue.py.

Words never approve, and they are no value either: who approves a draft by text must not change it by that (C7, E5).
"""

from __future__ import annotations

import re
from typing import Final

from adapter_service.domains.workbench.noun_phrases import unquoted
from adapter_service.domains.workbench.planner.lookup import Lookup
from adapter_service.domains.workbench.planner.words import PUBLISH

_SAYS: Final = frozenset(
    [
        "yes",
        "yep",
        "yeah",
        "yup",
        "ok",
        "okay",
        "sure",
        "approve",
        "approved",
        "approving",
        "confirm",
        "confirmed",
        "accept",
        "accepted",
        "agree",
        "agreed",
        "authorise",
        "authorize",
        "allow",
        "ahead",
        "fine",
        "good",
        "great",
        "perfect",
        "right",
        "correct",
        "lgtm",
        "certainly",
        "absolutely",
        "proceed",
        "alright",
        "да",
        "ага",
        "угу",
        "ок",
        "окей",
        "конечно",
        "давай",
        "давайте",
        "хорошо",
        "ладно",
        "согласен",
        "согласна",
        "согласны",
        "одобряю",
        "одобряем",
        "одобрено",
        "одобрить",
        "подтверждаю",
        "подтверждаем",
        "подтверждено",
        "подтвердить",
        "утверждаю",
        "утверждаем",
        "принимаю",
        "разрешаю",
        "верно",
        "правильно",
        "отлично",
        "прекрасно",
        "годится",
        "подходит",
        "устраивает",
        "поехали",
        "вперед",
        "вперёд",
        "действуй",
        "действуйте",
    ]
)
_DENIES: Final = frozenset(
    [
        "no",
        "nope",
        "nah",
        "not",
        "reject",
        "rejected",
        "decline",
        "disagree",
        "wrong",
        "bad",
        "нет",
        "неа",
        "не",
        "отклоняю",
        "отклонено",
        "отклонить",
        "против",
        "неверно",
        "неправильно",
        "плохо",
    ]
)
_BESIDE: Final = frozenset(
    [
        "i",
        "i'm",
        "we",
        "we're",
        "it",
        "it's",
        "this",
        "that",
        "that's",
        "the",
        "a",
        "all",
        "everything",
        "is",
        "are",
        "am",
        "was",
        "be",
        "do",
        "does",
        "please",
        "go",
        "now",
        "so",
        "just",
        "then",
        "to",
        "with",
        "your",
        "my",
        "our",
        "me",
        "you",
        "let's",
        "let",
        "and",
        "looks",
        "look",
        "seems",
        "sounds",
        "of",
        "course",
        "very",
        "for",
        "change",
        "changes",
        "draft",
        "edit",
        "thanks",
        "thank",
        "hereby",
        "fully",
        "can",
        "may",
        "will",
        "я",
        "мы",
        "это",
        "этот",
        "эту",
        "этого",
        "этой",
        "всё",
        "все",
        "его",
        "её",
        "ее",
        "их",
        "с",
        "со",
        "на",
        "и",
        "а",
        "ну",
        "пожалуйста",
        "так",
        "очень",
        "уже",
        "теперь",
        "сейчас",
        "можно",
        "можете",
        "вполне",
        "меня",
        "нас",
        "мне",
        "нам",
        "изменение",
        "изменения",
        "правку",
        "правки",
        "черновик",
        "спасибо",
        "делай",
        "делайте",
    ]
)
_PUBLISHES: Final = re.compile(PUBLISH, re.IGNORECASE)
_WORD: Final = re.compile(r"[\w'’-]+")
_SCALAR: Final = re.compile(r"[-+]?\d[\w.:%-]*|true|false|on|off|null", re.IGNORECASE)
# "shop/search:2.0", "LOG_LEVEL", "billing-v2": no ordinary word.
_WRITTEN_AS_A_VALUE: Final = re.compile(r"(?=\S*[\d/:._@=-])\S*\w\S*|[A-Z][A-Z]+")
_JSON: Final = re.compile(r"[\[{].*[\]}]", re.DOTALL)


def only_yes_or_no(text: str) -> bool:
    """Does the whole text say yes or no and nothing else: "yes, I approve it", «да, публикуй», "no"?"""
    said = _words_of(text)
    speaks = [word in _SAYS or word in _DENIES or _PUBLISHES.fullmatch(word) is not None for word in said]
    known = all(says or word in _BESIDE for word, says in zip(said, speaks, strict=True))
    return any(speaks) and known and not text.rstrip().endswith("?")


def only_yes(text: str) -> bool:
    """Does the whole text say yes and nothing else?"""
    return only_yes_or_no(text) and _DENIES.isdisjoint(_words_of(text))


def _words_of(text: str) -> list[str]:
    return [word.casefold().replace("’", "'") for word in _WORD.findall(text)]


def is_value(words: str, lookup: Lookup, *, introduced: bool) -> bool:
    """Whether a few words are a value, rather than a sentence.

    A number, true or false, a quoted text, JSON, or one word that is written as no ordinary word. An ordinary word
    ("no, platform") only where it is `introduced` as one and a document of the workspace holds it.
    """
    said = words.strip()
    if not said or only_yes_or_no(said):
        return False
    if unquoted(said) != said or _JSON.fullmatch(said):
        return True
    if len(said.split()) > 1:
        return False
    if _SCALAR.fullmatch(said) or _WRITTEN_AS_A_VALUE.fullmatch(said):
        return True
    return introduced and lookup.is_written_somewhere(said)
