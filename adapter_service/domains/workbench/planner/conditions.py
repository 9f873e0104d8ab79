"""Searches: which type, which fields with which values, which words. Called by reading.

"services that use port 8080", "deployments with replicas = 3 and image nginx", «сервисы с портом 8080».
"""

from __future__ import annotations

import re
from typing import Any, Final

from adapter_service.domains.workbench.edits import parse_value
from adapter_service.domains.workbench.field_names import forms_of
from adapter_service.domains.workbench.noun_phrases import unquoted
from adapter_service.domains.workbench.planner import words
from adapter_service.domains.workbench.planner.commands import Command, FindDocuments
from adapter_service.domains.workbench.planner.lookup import Lookup
from adapter_service.domains.workbench.planner.quotes import is_marked

_I: Final = re.IGNORECASE
_BY_WORDS: Final = (
    r"(?:about|mentioning|that mention|which mention|mention|mentions|containing|that contain|which contain|contains?|"
    r"on|regarding|related to|with the words?|with the text|"
    r"про|о|об|обо|где упоминается|где упоминаются|упоминающ\w+|содержащ\w+|содерж[аи]т|где есть|со словом|"
    r"со словами|с текстом)"
)
_BY_FIELD: Final = (
    r"(?:that|which|who)?\s*(?:are |is )?(?:with|having|have|has|using|use|uses|used|where|whose|in|of|for|by|"
    r"from|owned by|"
    r"listening on|listen on|listens on|running|run|runs|"
    r"с|со|где|у которых|у которого|в которых|которые|использующ\w+|использу[ею]т|слуша\w+|име[ею]т|имеющ\w+|для|из|в)"
)
_PATTERNS: Final = tuple(
    re.compile(pattern, _I)
    for pattern in (
        rf"(?:(?:{words.FIND}|{words.LIST}|{words.SHOW})(?: me)?|which|what|how many|какие|сколько|все|all)\s+"
        rf"(?P<kind>[^,]*?)\s+(?:(?P<words>{_BY_WORDS})|(?P<fields>{_BY_FIELD}))\s+(?P<rest>.+)",
        rf"(?P<kind>[^,\s]+(?:\s[^,\s]+)?)\s+(?:(?P<words>{_BY_WORDS})|(?P<fields>{_BY_FIELD}))\s+(?P<rest>.+)",
        r"у\s+как(?:ого|их)\s+(?P<kind>\S+)\s+(?P<fields>)(?P<rest>.+)",
        r"(?:what|which|who|where)\s+(?P<kind>)(?P<fields>uses|has|have|runs|listens on)\s+(?P<rest>.+)",
        r"(?:кто|что|где)\s+(?P<kind>)(?P<fields>использует|имеет|слушает)\s+(?P<rest>.+)",
        r"where\s+(?:is|are)\s+(?P<kind>)(?P<rest>.+?)\s+(?P<words>mentioned|used|defined|set|configured|referenced)",
        r"where\s+(?:do|does)\s+(?:we|it|they)\s+(?P<kind>)(?P<words>use|mention|define|set|configure)\s+(?P<rest>.+)",
        r"где\s+(?:у нас\s+)?(?P<kind>)(?P<words>упомина\w+|использу\w+|встреча\w+|задан\w*|задаётся|задается|"
        r"указан\w*|"
        r"настро\w+)\s+(?P<rest>.+)",
    )
)
_OF_TYPE: Final = re.compile(
    r"(?:documents?|files?|документ\w*|файл\w*) (?:of (?:the )?type|типа|вида) (?P<kind>\S+)", _I
)
_IS_THERE: Final = re.compile(
    r"(?:is there|do we have|есть ли(?: у нас)?|у нас есть)\s+(?:an?\s+|any\s+)?(?P<kind>\S+)\s+"
    r"(?:called\s+|named\s+|с именем\s+|по имени\s+)?(?P<name>\S+)",
    _I,
)
_PLAIN: Final = re.compile(rf"(?:{words.FIND})(?: me)?\s+(?P<rest>.+)", _I)
_USE_WORDS: Final = re.compile(
    r"^(?:(?:use|uses|using|have|has|having|listen on|listens on|run on|runs on|are|is|a|an|the|field|"
    r"использу[ею]т|име[ею]т|есть|слуша[ею]т|поле|полем|значение)\s+)+",
    _I,
)
_AND: Final = re.compile(r"\s*,\s*(?:and\s+|и\s+)?|\s+(?:and|и)\s+(?:with\s+|с\s+|со\s+)?", _I)
_IS: Final = re.compile(
    r"\s*(?:==|=)\s*|:\s+|\s+(?:is|are|equals to|equals|equal to|set to|of|being|равен|равно|равна|равны|равным|"
    r"со значением)\s+",
    _I,
)
_NAME: Final = re.compile(r"[^\W\d][\w-]*", _I)
_VALUE: Final = re.compile(r"[-+]?\d[\w.:%/-]*|true|false|null|[\w.-]*[/:@][\w./:@-]+|[\w-]+\.[\w.-]+", _I)


def read_find(text: str, lookup: Lookup) -> list[Command] | None:
    """A search, or None where the clause is none."""
    text = _OF_TYPE.sub(r"\g<kind>", text)
    called = _IS_THERE.fullmatch(text)
    if called is not None and lookup.is_type(called["kind"]):
        return [FindDocuments(called["kind"], unquoted(called["name"]))]
    for pattern in _PATTERNS:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        kind = _kind(found["kind"], lookup)
        if kind is None:
            continue
        groups = found.groupdict()
        command = _words(kind, found["rest"]) if groups.get("words") else _conditions(kind, found["rest"])
        if command is not None:
            return [command]
    plain = _PLAIN.fullmatch(text)
    if plain is None:
        return None
    phrase = lookup.phrase(plain["rest"])
    if not phrase.name:
        return None
    condition = _conditions(phrase.kind, phrase.name)
    if condition is not None and condition.where:
        return [condition]
    return [FindDocuments(phrase.kind, unquoted(phrase.name))]


def _kind(said: str, lookup: Lookup) -> str | None:
    """The type that was said, "" for any document; None where the words are neither."""
    if not said.strip():
        return ""
    if re.match(rf"(?:{words.VERB}|what|which|how|что|как)(?!\w)", said.strip(), _I):
        return None
    phrase = lookup.phrase(re.sub(r"\s+(?:are|is|do|does|have)$", "", said.strip()))
    if phrase.name:
        return None
    return said.strip() if phrase.kind else ""


def _words(kind: str, rest: str) -> FindDocuments | None:
    return FindDocuments(kind, unquoted(rest.strip()))


def _conditions(kind: str, rest: str) -> FindDocuments | None:
    """Fields and values where the words are such, otherwise words to look for."""
    where: dict[str, Any] = {}
    loose: list[str] = []
    for part in _AND.split(rest):
        pair = _pair(part)
        if pair is None:
            loose.append(unquoted(_USE_WORDS.sub("", part.strip())))
        else:
            where[pair[0]] = pair[1]
    return FindDocuments(kind, " ".join(filter(None, loose)), where)


def _pair(part: str) -> tuple[str, Any] | None:
    """ "port 8080", "replicas = 3", "3 replicas", "namespace prod" with a mark of value, "a field debug"."""
    exists = re.match(
        r"^(?:a |an |the )?(?:field|key|поле(?:м)?|ключ(?:ом)?)\s+(?P<name>[\w./\[\]-]+)$", part.strip(), _I
    )
    if exists is not None:
        return exists["name"], None
    text = _USE_WORDS.sub("", part.strip())
    said = _IS.search(text)
    if said is not None:
        name, value = text[: said.start()].strip(), text[said.end() :].strip()
        return (name, _value(value)) if name and value and len(name.split()) <= 3 else None
    tokens = text.split()
    if len(tokens) < 2 or len(tokens) > 3:
        return None
    if _VALUE.fullmatch(tokens[-1]) or is_marked(tokens[-1]):
        return " ".join(tokens[:-1]), _value(tokens[-1])
    if _VALUE.fullmatch(tokens[0]):
        return " ".join(tokens[1:]), _value(tokens[0])
    # "with license ISC": where no field is called so, the search falls back to the words.
    return (tokens[0], _value(tokens[1])) if len(tokens) == 2 and _NAME.fullmatch(tokens[0]) else None


def _value(text: str) -> Any:
    bare = unquoted(text)
    return bare if bare != text.strip() else parse_value(bare)


def fields_of(text: str) -> dict[str, Any] | None:
    """The fields of a new document: "port 8080 and replicas = 2"; None where a part is no field with a value."""
    pairs = [_pair(part) for part in _AND.split(text)]
    if any(pair is None or pair[1] is None for pair in pairs):
        return None
    content: dict[str, Any] = {}
    for pair in pairs:
        assert pair is not None  # none of them is
        *above, name = forms_of(pair[0])[0].split(".")
        inner = content
        for step in above:
            inner = inner.setdefault(step, {})
            if not isinstance(inner, dict):
                return None
        inner[name] = pair[1]
    return content
