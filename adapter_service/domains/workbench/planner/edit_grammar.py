"""The grammar of edits: which document, which field, which value, in either order, English and Russian.

Called by reading with what stands behind the verb. The document is found first, wherever it stands; what is left must
be a field and a value to the last word, or the edit is not understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from adapter_service.domains.workbench.planner.commands import Edit
from adapter_service.domains.workbench.planner.lookup import Lookup
from adapter_service.domains.workbench.planner.quotes import is_marked
from adapter_service.domains.workbench.planner.words import LOWERS, LOWERS_RU, RAISES, RAISES_RU, TAKES_BARE_VALUE
from adapter_service.domains.workbench.pointing_words import points_back

_PREPOSITION: Final = re.compile(
    r"(?:(?<=[\s,])|^)(?:in|of|for|on|from|inside|within|into|у|в|во|для|из|от)\s+", re.IGNORECASE
)
# "set owner to platform" gives a value, "add a tag to checkout" a place.
_PREPOSITION_OF_ADDING: Final = re.compile(
    r"(?:(?<=[\s,])|^)(?:in|of|for|on|inside|within|into|to|у|в|во|для|к|ко|на)\s+", re.IGNORECASE
)
_INNER: Final = re.compile(r"\s(?:in|of|for|on|from|to|у|в|во|для|из|к|на)\s", re.IGNORECASE)
_DANGLING: Final = re.compile(
    r"\s(?:in|of|for|on|from|to|be|as|at|with|and|у|в|во|для|из|к|на|до|от|и|с)$|^(?:the|a|an)$", re.IGNORECASE
)
_TO: Final = re.compile(
    r"\s*(?:=|:=)\s*|:\s+|\s+(?:to be|to|equals to|equals|equal to|as|with the value|with value|of value|"
    r"на|в значение|равным|равной|равную|равный|равное|равно|равна|со значением|значение|до)\s+",
    re.IGNORECASE,
)
_BARE_TO: Final = re.compile(r"^(?:to|=|на|в|до|равным|равно)\s+", re.IGNORECASE)
_FROM_OLD: Final = re.compile(r"\s+(?:from|с|со)\s+\S+(?=\s+(?:to|на)\s+)", re.IGNORECASE)
_AND: Final = re.compile(r"\s*,\s*(?:and\s+|и\s+|а\s+)?|\s+(?:and|и)\s+", re.IGNORECASE)
_POSSESSIVE: Final = re.compile(r"^(?P<owner>.+?)['’]s\s+(?P<rest>.+)$", re.IGNORECASE)
_ITS: Final = re.compile(
    r"^(?:(?:its|their|his|her|them|его|её|ее|их|ему|ей|им)|"
    r"(?:у|in|for|на|для|в)\s+(?:него|неё|нее|ней|них|нем|нём|it|them))\s+(?=\S)",
    re.IGNORECASE,
)
# The dative stands behind the field or the value, too: «поставь replicas им 5», «поставь replicas 5 им».
_FOR_THEM: Final = re.compile(r"\s+(?:ему|ей|им)(?=\s|$)", re.IGNORECASE)
_IT: Final = re.compile(r"^(?:it|that|this|the value|значение|его|её|ее|это)(?:\s+|$)", re.IGNORECASE)
_FIELD_FIRST: Final = re.compile(
    r"^(?:the\s+|a\s+|an\s+)?(?:new\s+)?(?:field|key|property|setting|entry|поле|ключ|свойство|параметр|"
    r"нов\w+\s+поле)\s+",
    re.IGNORECASE,
)
_BY: Final = re.compile(r"\s+by\s+(?P<amount>\d+(?:\.\d+)?)(?!\S)", re.IGNORECASE)
_BY_RU: Final = re.compile(r"\s+на\s+(?P<amount>\d+(?:[.,]\d+)?)(?!\S)", re.IGNORECASE)
_USES: Final = re.compile(
    r"^(?P<document>.+?)\s+(?:use|have|run|listen on|использовать|иметь)\s+(?P<rest>.+)$", re.IGNORECASE
)
_SUBORDINATE: Final = re.compile(
    r"(?<!\w)(?:that|which|who|whom|because|when|if|so that|что|чтобы|котор\w+|потому|когда|если|как)(?!\w)",
    re.IGNORECASE,
)
_SCALAR: Final = re.compile(r"[-+]?\d[\w.:%-]*|true|false|on|off|yes|no|да|нет", re.IGNORECASE)
_ARTICLE: Final = re.compile(r"^(?:the|a|an|another|new|ещё один|еще один|новый|новую|новое)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """The document of an edit in the user's words ("" where none was said), and the text without it."""

    document: str
    rest: str


def find_place(body: str, lookup: Lookup, preposition: re.Pattern[str] = _PREPOSITION) -> Place:
    """Take the document out of an edit: "replicas of checkout to 3", «у checkout порт на 90», "checkout's port to
    3".
    """
    owned = _POSSESSIVE.match(body)
    if owned is not None and (lookup.names_document(owned["owner"])):
        return Place(owned["owner"], owned["rest"])
    its = _ITS.match(body)
    if its is not None:
        return Place("it", body[its.end() :])
    theirs = _FOR_THEM.search(body)
    if theirs is not None:
        return Place("it", f"{body[: theirs.start()]}{body[theirs.end() :]}")
    best: Place | None = None
    for found in preposition.finditer(body):
        for end in _ends(body, found.end()):
            said = body[found.end() : end].strip(" ,")
            rest = " ".join(f"{body[: found.start()].rstrip(' ,')} {body[end:].lstrip(' ,')}".split())
            if rest and _is_place(said, lookup):
                best = Place(said, rest)
                break  # the longest name from here; of several places the last one counts
    return best or Place("", body)


def _is_place(said: str, lookup: Lookup) -> bool:
    if not said or _DANGLING.search(said):
        return False
    if _INNER.search(said) or _TO.search(said):
        return lookup.surely_names_document(said)
    return lookup.names_document(said) or len(lookup.documents_in(said)) > 1


def _ends(body: str, start: int) -> list[int]:
    """Where a name that begins at `start` may end, the farthest first."""
    ends = {len(body)}
    ends |= {found.start() for found in _TO.finditer(body, start)}
    ends |= {found.start() for found in re.finditer(r"[\s,]", body) if found.start() > start}
    return sorted(ends, reverse=True)


def guessed_place(body: str) -> Place:
    """The words behind the last preposition, where no document has such a name: the question will say so."""
    found = list(re.finditer(r"\s(?:in|of|for|on|from|у|в|во|для|из)\s+(?=\S)", body, re.IGNORECASE))
    for match in reversed(found):
        said, rest = body[match.end() :].strip(), body[: match.start()].strip()
        if 0 < len(said.split()) <= 4 and rest:
            return Place(said, rest)
    return Place("", body)


def read_set(body: str, lookup: Lookup, verb: str) -> list[Edit] | None:
    """Edits that set fields; None where words are left over. Some verbs take a value without "to", some an amount."""
    if not body:
        return [Edit("set")]
    bare_value = TAKES_BARE_VALUE.match(verb) is not None
    by = (_BY_RU if RAISES_RU.match(verb) or LOWERS_RU.match(verb) else _BY).search(body)
    if by is not None:
        return _by_amount(f"{body[: by.start()]}{body[by.end() :]}".strip(), by["amount"], verb, lookup)
    used = _USES.match(body)
    if used is not None and lookup.names_document(used["document"]):
        return read_set(f"{used['rest']} in {used['document']}", lookup, "set")
    body = _FROM_OLD.sub("", body)
    value = _value_alone(body)
    if value is not None:
        return [Edit("set", value=value)]
    if lookup.surely_names_document(body):
        return [Edit("set", document=body)]
    place = find_place(body, lookup)
    pairs = _assignments(place.rest, bare_value)
    if not place.document and (pairs is None or _ends_in_place(pairs)):
        guessed = guessed_place(body)
        again = _assignments(guessed.rest, bare_value) if guessed.document else None
        if again is not None and _plain(again):
            place, pairs = guessed, again
    if pairs is None:
        return None
    if not place.document and len(pairs) == 1:
        place, pairs = _of_document(pairs[0], lookup)
    documents = lookup.documents_in(place.document) if place.document else [""]
    return [Edit("set", document, field, value) for document in documents for field, value in pairs]


def _by_amount(body: str, amount: str, verb: str, lookup: Lookup) -> list[Edit] | None:
    """ "replicas of checkout by 1": the value is reckoned from the present one when the field is known."""
    place = find_place(body, lookup)
    if not place.document:
        place, _ = _of_document((body, None), lookup)
    field = _ARTICLE.sub("", _FIELD_FIRST.sub("", place.rest or body))
    sign = "-" if LOWERS.match(verb) or LOWERS_RU.match(verb) else "+"
    raises = RAISES.match(verb) or RAISES_RU.match(verb)
    if not _may_be_field(field) or not (raises or sign == "-"):
        return None
    return [Edit("set", place.document, field, f"{sign}= {amount}")]


def _of_document(pair: tuple[str, str | None], lookup: Lookup) -> tuple[Place, list[tuple[str, str | None]]]:
    """«образ billing»: the document behind its field without a preposition, as Russian's genitive puts it."""
    field, _, document = pair[0].rpartition(" ")
    if field and lookup.surely_names_document(document):
        return Place(document, field), [(field, pair[1])]
    return Place("", ""), [pair]


def _plain(pairs: list[tuple[str, str | None]]) -> bool:
    return all(value is None or len(value.split()) == 1 for _, value in pairs)


def _ends_in_place(pairs: list[tuple[str, str | None]]) -> bool:
    """Does the last value go on with "in something": then that may be a document which is not there?"""
    said = pairs[-1][1] or pairs[-1][0]
    return re.search(r"\S\s(?:in|of|for|on|from|у|в|во|для|из)\s\S", said, re.IGNORECASE) is not None


def _value_alone(body: str) -> str | None:
    """ "it to 4", "to 4", "4", «на 4»: a value without a field."""
    it = _IT.match(body)
    rest = body[it.end() :] if it else body
    to = _BARE_TO.match(rest)
    if to is not None and (it is not None or to.start() == 0):
        value = rest[to.end() :].strip()
        if it is None and len(value.split()) > 1 and to.group().strip().casefold() == "в":
            return None  # «в checkout replicas 7»: a place, and what is to be there
        return value or None
    if it is not None and rest and len(rest.split()) == 1:
        return rest
    return body if len(body.split()) == 1 and (_SCALAR.fullmatch(body) or is_marked(body)) else None


def _assignments(text: str, bare_value: bool) -> list[tuple[str, str | None]] | None:
    """ "replicas to 3 and image to x" as pairs; one field without a value is a pair with None."""
    parts = [part for part in _AND.split(text) if part.strip()]
    # "Set replicas to 7, keep quiet": behind a value that was said with "to" a bare word is none.
    bare = bare_value and _TO.search(parts[0] if parts else "") is None
    pairs = [_assignment(part, bare) for part in parts]
    if len(parts) > 1 and all(pair is not None and pair[1] is not None for pair in pairs):
        return [pair for pair in pairs if pair is not None]
    whole = _assignment(text, bare_value)
    return None if whole is None else [whole]


def _assignment(text: str, bare_value: bool) -> tuple[str, str | None] | None:
    text = _FIELD_FIRST.sub("", text.strip())
    found = _TO.search(text)
    if found is not None:
        field, value = text[: found.start()].strip(), text[found.end() :].strip()
        field = _ARTICLE.sub("", field)
        return (field, value) if value and _may_be_field(field) else None
    words = text.split()
    if len(words) >= 2:
        last, first = words[-1], words[0]
        if _SCALAR.fullmatch(first) and not _SCALAR.fullmatch(last) and not is_marked(last) and len(words) <= 4:
            return (" ".join(words[1:]), first)  # «3 реплики»
        if _SCALAR.fullmatch(last) or is_marked(last) or (bare_value and len(words) == 2 and not _ARTICLE.match(text)):
            field = _ARTICLE.sub("", " ".join(words[:-1]))
            return (field, last) if _may_be_field(field) else None
    field = _ARTICLE.sub("", text)
    return (field, None) if _may_be_field(field) and len(field.split()) <= 3 else None


def _may_be_field(text: str) -> bool:
    """Whether a few words may be a field's name: no subordinate clause."""
    return 0 < len(text.split()) <= 4 and _SUBORDINATE.search(text) is None


def read_switch(body: str, lookup: Lookup, *, on: bool) -> list[Edit] | None:
    """ "enable tracing in checkout": the field is true or false."""
    place = find_place(body, lookup)
    if not place.document:
        guessed = guessed_place(body)
        place = guessed if guessed.document else place
    field = _ARTICLE.sub("", _FIELD_FIRST.sub("", place.rest))
    value = "true" if on else "false"
    return [Edit("set", place.document, field, value)] if _may_be_field(field) else None


def read_remove(body: str, lookup: Lookup) -> list[Edit] | None:
    """ "the field debug from checkout", "tag old from tags in checkout", «поле debug из checkout»."""
    place = find_place(body, lookup)
    inner = re.match(r"^(?P<value>\S+|.+?)\s+(?:from|of|из)\s+(?P<field>\S+)$", place.rest, re.IGNORECASE)
    if place.document and inner is not None:
        value = inner["value"].split()[-1]
        return [Edit("remove", place.document, inner["field"], value)]
    if not place.document:
        guessed = guessed_place(body)
        place = guessed if guessed.document else place
    field = _ARTICLE.sub("", _FIELD_FIRST.sub("", place.rest.strip()))
    if points_back(field):
        return [Edit("remove", place.document)]
    fields = [part for part in _AND.split(field) if part.strip()]
    if any(not _may_be_field(_FIELD_FIRST.sub("", each)) for each in fields) or not fields:
        return None
    return [Edit("remove", place.document, _ARTICLE.sub("", _FIELD_FIRST.sub("", each))) for each in fields]


def read_add(body: str, lookup: Lookup) -> list[Edit] | None:
    """ "a port 9090 to checkout", "timeout = 5 to checkout", "9090 to ports in checkout", «порт 9090 в checkout»."""
    place = find_place(body, lookup, _PREPOSITION_OF_ADDING)
    if not place.document:
        named = re.match(r"^(?P<rest>.+?\s\S+)\s+(?:to|into|in|в|к|для)\s+(?P<document>\S+)$", body, re.IGNORECASE)
        if named is not None and not _TO.search(named["rest"]):
            place = Place(named["document"], named["rest"])
    rest = _ARTICLE.sub("", _FIELD_FIRST.sub("", _ARTICLE.sub("", place.rest)))
    into = re.match(r"^(?P<value>\S+)\s+(?:to|into|in|в|к)\s+(?:the\s+)?(?P<field>\S+)$", rest, re.IGNORECASE)
    if into is not None:
        return [Edit("add", place.document, into["field"], into["value"])]
    pair = _assignment(rest, bare_value=True)
    if pair is None:
        return None
    field, value = pair
    if value is None and (_SCALAR.fullmatch(field) or is_marked(field)):
        field, value = "", field
    return [Edit("add", place.document, field, value)]


def at_place(edits: list[Edit], document: str) -> list[Edit]:
    """The edits in a document that was named before them."""
    return [edit if edit.document else replace(edit, document=document) for edit in edits]
