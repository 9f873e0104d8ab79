"""How people wrap a document's name: articles, "document", «файл», a type before or behind it, quotes.

Called by the resolvers and the planner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from adapter_service.domains.workbench.view import View

SURE_TYPE: Final = 90
_QUOTES: Final = "“”„«»\"'`‘’"
_ARTICLE: Final = re.compile(
    r"^(?:(?:the|a|an|my|our|this|that|all|any|every|each|some|все|всех|все те|мой|наш|нашего|наши|каждый|любой)\s+)+",
    re.IGNORECASE,
)
_GENERIC: Final = re.compile(
    r"(?:documents?|files?|configs?|configurations?|entry|entries|items?|objects?|resources?|things?|ones?|everything|"
    r"anything|something|документ\w{0,3}|файл\w{0,3}|конфиг\w{0,3}|конфигураци\w{1,3}|запис\w{1,3}|объект\w{0,3}|"
    r"ресурс\w{0,3}|вс[её])",
    re.IGNORECASE,
)
# Types that configuration folders often have, in the words of a person who speaks Russian.
_RUSSIAN_TYPES: Final = """
сервис service | служб service | деплоймент deployment | развертыван deployment | рабоч workflow | воркфло workflow
схем schema | команд team | пользовател user | правил rule | задач task job | задани job | проект project
пакет package | роль role | секрет secret | чарт chart | шаблон template | шаблонов template | скрипт script
маршрут route | алерт alert | оповещени alert | дашборд dashboard | политик policy | окружени environment
под pod | кластер cluster | приложени app application | контракт contract | заказ order | клиент client customer
"""


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """`name` without wrapping, "" where only a kind was said; `kind` a type of the view, "" where none was said.

    `generic`: a word such as "documents" stood there.
    """

    name: str
    kind: str
    generic: bool


def unquoted(text: str) -> str:
    """A text without the quotation marks around it."""
    text = text.strip()
    while len(text) >= 2 and text[0] in _QUOTES and text[-1] in _QUOTES:
        text = text[1:-1].strip()
    return text


def without_article(text: str) -> str:
    """A phrase without articles and possessives before it."""
    return _ARTICLE.sub("", text.strip())


def type_named(word: str, view: View | None) -> str:
    """The type of the view that a word surely means, "" for none: "services", "Deployment", «сервисы»."""
    if view is None or not word:
        return ""
    lower = word.casefold().replace("ё", "е")
    for entry in _RUSSIAN_TYPES.replace("\n", " | ").split("|"):
        stem, *names = entry.split() or [""]
        ending = lower[len(stem) :]
        if stem and lower.startswith(stem) and re.fullmatch("[а-я]{0,3}", ending):
            for name in names:
                if meant := type_named(name, view):
                    return meant
    if len(word) < 3:
        return ""
    found = view.match_types(word, limit=1)
    if found and found[0][1] >= SURE_TYPE:
        return str(found[0][0])
    # "packages" where the type is npm-package, and no other type ends like this.
    ends = [
        each["type"]
        for each in view.types()
        if "-" in each["type"] and _singular(lower) == each["type"].rpartition("-")[2]
    ]
    return str(ends[0]) if len(ends) == 1 else ""


def _singular(word: str) -> str:
    return (
        word[:-3] + "y"
        if word.endswith("ies")
        else word[:-1]
        if word.endswith("s") and not word.endswith("ss")
        else word
    )


def is_generic(text: str) -> bool:
    """Is the phrase a word for any document?"""
    return _GENERIC.fullmatch(without_article(text)) is not None


def read_phrase(text: str, view: View | None) -> NounPhrase:
    """Take a phrase apart: "the checkout service" is the name checkout and the type service."""
    plain = without_article(unquoted(text))
    if not plain or is_generic(plain):
        return NounPhrase("", "", generic=bool(plain))
    whole = type_named(plain, view)
    if whole:
        return NounPhrase("", whole, generic=False)
    words = plain.split()
    for kind_word, rest in ((words[0], words[1:]), (words[-1], words[:-1])):
        if not rest:
            continue
        named = without_article(
            unquoted(re.sub(r"^(?:called|named|с именем|по имени|под названием)\s+", "", " ".join(rest)))
        )
        if _GENERIC.fullmatch(kind_word):
            inner = read_phrase(named, view)
            return NounPhrase(inner.name, inner.kind, generic=True)
        kind = type_named(kind_word, view)
        if kind and named:
            return NounPhrase(named, kind, generic=False)
    return NounPhrase(plain, "", generic=False)
