"""What stands behind an edit: "…, but do not publish it", "for now". Called by the planner.

Words behind an edit never become a part of its value: they are understood here, or the message is refused by naming
them. A value of several words that may be text goes on to the resolver of values, which knows the field.
"""

from __future__ import annotations

import re
from typing import Final

from adapter_service.domains.workbench.noun_phrases import unquoted
from adapter_service.domains.workbench.planner.commands import Edit
from adapter_service.domains.workbench.planner.quotes import MARK
from adapter_service.domains.workbench.planner.words import PUBLISH

_BEFORE: Final = r"(?<=[^\s,;.(])[\s,;.—–(-]+"
_BUT: Final = (
    r"(?:(?:but|and|however|though|just|only|yet|still|so|then|please|но|и|а|только|однако|просто|пока|ещё|еще|"
    r"пожалуйста)[\s,]+)*"
)
_OBJECT: Final = (
    r"(?:\s+(?:it|this|that|them|the (?:change|draft)|anything|его|её|ее|это|ничего|изменени[ея]|черновик))?"
)
_YET: Final = (
    r"(?:[\s,]+(?:yet|now|right now|just yet|for now|please|pls|thanks|thank you|пока(?: что)?|сейчас|пожалуйста|"
    r"спасибо))*"
)
_RESTRAINT: Final = re.compile(
    rf"{_BEFORE}{_BUT}(?:"
    rf"(?:do not|don['’]t|dont|never|not)\s+(?:{PUBLISH}|publishing|published){_OBJECT}|"
    rf"without\s+(?:publishing|applying|saving|committing|releasing|shipping|writing){_OBJECT}|"
    rf"не\s+(?:надо\s+|нужно\s+)?(?:{PUBLISH}|публик\w+|применя\w+|сохраня\w+|записыва\w+){_OBJECT}|"
    rf"без\s+(?:публикации|применения|сохранения|записи){_OBJECT}"
    rf"){_YET}[\s)]*(?=$|[,;.!\n]|\s(?:and|then|и|потом|затем)\s)",
    re.IGNORECASE,
)
# It is a draft anyway, and how long it is meant for changes nothing in it.
_FOR_NOW: Final = re.compile(
    rf"{_BEFORE}(?:for now|for the time being|for the moment|пока что|пока|на время)(?=\s*(?:$|[,;.!\n]))",
    re.IGNORECASE,
)
_NO_PART_OF_A_VALUE: Final = re.compile(
    rf"(?<![\w'’-])(?:but|however|though|although|except|without|don['’]t|dont|do|does|didn['’]t|not|never|only|just|yet|"
    rf"please|pls|thanks|thank|for now|because|since|unless|until|if|when|while|later|instead|so that|as soon|asap|"
    rf"then|also|но|однако|хотя|кроме|без|не|ни|только|лишь|пока|пожалуйста|спасибо|потому|если|когда|чтобы|потом|"
    rf"затем|вместо|также|{PUBLISH}|publishing|published|публик\w+)(?![\w'’-])|[()]|(?<=\s)[—–-]+(?=\s)",
    re.IGNORECASE,
)
_ENDS_IN_NUMBER: Final = re.compile(r"\S\s+[-+]?\d[\w.:%-]*$")
_AMOUNT: Final = re.compile(r"[+-]= \d+(?:[.,]\d+)?")


def without_restraint(text: str) -> tuple[str, bool]:
    """The text without "but do not publish it" and "for now", and whether it said not to publish."""
    kept, restraints = _RESTRAINT.subn("", _FOR_NOW.sub("", text))
    return _FOR_NOW.sub("", kept), restraints > 0


def leftover(edit: Edit, clause: str) -> str:
    """The words of a clause that an edit has taken for a part of its field, value or document; "" for none."""
    value = edit.value or ""
    if value and _ENDS_IN_NUMBER.search(edit.field):
        return _from_there(value, clause)  # "replicas 7 … as soon as possible": the value was said before
    for said in (edit.document, edit.field):
        mark = _NO_PART_OF_A_VALUE.search(said) if unquoted(said) == said else None
        if mark is not None:
            return _from_there(mark.group(), clause)
    quoted = MARK.match(value)
    if quoted is not None and value[quoted.end() :].strip(" ,;"):
        # Of a quoted value the quotation marks say where it ends.
        return _from_there(value[quoted.end() :].strip(" ,;"), clause)
    if not _AMOUNT.fullmatch(value):
        mark = _NO_PART_OF_A_VALUE.search(value) if len(value.split()) > 1 else None
        if mark is not None:
            return _from_there(mark.group(), clause)
        if behind := _behind_the_joint(value, clause):
            return behind
    return _behind_the_joint(edit.field, clause)


def _from_there(word: str, clause: str) -> str:
    """The clause from the last place of these words on."""
    at = clause.casefold().rfind(word.casefold())
    return clause[at:] if at > 0 else word


def _behind_the_joint(said: str, clause: str) -> str:
    """Of words that do not stand together in the clause the last ones: the document was between them."""
    flat, words = " ".join(clause.split()), said.split()
    if len(words) < 2 or said in flat:
        return ""
    together = max(size for size in range(len(words)) if " ".join(words[:size]) in flat)
    return _from_there(" ".join(words[together:]), flat) if together else _from_there(words[-1], flat)
