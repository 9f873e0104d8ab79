"""Reads clauses that ask: list, find, show, compare, references, fields, documentation. Called by reading.py."""

from __future__ import annotations

import re
from typing import Final

from adapter_service.domains.workbench.planner import conditions, words
from adapter_service.domains.workbench.planner.clause import ANY_CASE, Clause, Read, full
from adapter_service.domains.workbench.planner.commands import (
    AskDocumentation,
    Compare,
    FindDocuments,
    ListDocuments,
    ReadDocument,
    ReadPage,
    References,
)
from adapter_service.domains.workbench.planner.lookup import Lookup
from adapter_service.domains.workbench.pointing_words import is_pronoun, points_back
from adapter_service.domains.workbench.resolvers import SURE

_COMPARE_FORMS: Final = tuple(
    re.compile(pattern, ANY_CASE)
    for pattern in (
        rf"{words.COMPARE} (?P<a>.+?) (?:and|with|to|against|versus|vs\.?|и|с|со) (?P<b>.+)",
        r"(?:what(?:'s| is| are)?|show(?: me)?|tell me)?\s*(?:the )?(?:differences?|diff) (?:between|"
        r"of) (?P<a>.+?) and (?P<b>.+)",
        r"what(?:'s| is) different (?:between|in) (?P<a>.+?) and (?P<b>.+)",
        r"how (?:do|does|is|are|did) (?P<a>.+?) (?:differ(?:ent)?|different) (?:from|to|than) (?P<b>.+)",
        r"how do (?P<a>.+?) and (?P<b>.+?) differ",
        r"(?P<a>.+?) (?:vs\.?|versus|против) (?P<b>.+)",
        r"(?:чем|как) (?:отличаются|различаются) (?P<a>.+?) (?:и|от) (?P<b>.+)",
        r"(?:чем|как) (?:отличается )?(?P<a>.+?) (?:отличается )?от (?P<b>.+)",
        r"(?:какая |в чём |в чем |покажи )?(?:разница|различия|разницу|отличия)(?: есть)? между (?P<a>.+?) и (?P<b>.+)",
    )
)
_COMPARE_BOTH: Final = full(
    rf"{words.COMPARE} (?:them|these|those|both|the two|the first two|them both|these two|их|эти два|оба|"
    rf"первые два|обоих)"
    r"(?: (?:documents|files|документа|файла))?|how do they differ|чем они отличаются"
)


def read_comparison(clause: Clause) -> Read:
    """Two documents to compare."""
    if _COMPARE_BOTH(clause.text):
        return [Compare()]
    for form in _COMPARE_FORMS:
        found = form.fullmatch(clause.text)
        if found is None:
            continue
        explicit = re.match(rf"{words.COMPARE}(?!\w)", clause.text, ANY_CASE) is not None
        a, b = found["a"].strip(), found["b"].strip()
        if explicit or (clause.lookup.names_document(a) and clause.lookup.names_document(b)):
            return [Compare(a, b)]
    alone = re.fullmatch(rf"{words.COMPARE}(?: (?P<a>.+))?", clause.text, ANY_CASE)
    return [Compare(alone["a"] or "")] if alone else None


_REFER_TO: Final = (
    re.compile(
        r"(?:what|who|which (?:documents|files|\w+))(?: (?:else|all))? (?:uses?|depends? on|refers? to|"
        r"references?|links? to|"
        r"points? to|needs?|mentions?) (?P<document>.+)",
        ANY_CASE,
    ),
    re.compile(r"(?:show|find|list) (?:me )?(?:all )?(?:references|links) to (?P<document>.+)", ANY_CASE),
    re.compile(
        r"(?:кто|какие (?:документы|файлы|\w+)|что)(?: (?:ещё|еще))? (?:использу[ею]т|завис[ия]т от|ссыла[ею]тся на|"
        r"нужда[ею]тся в|упомина[ею]т) (?P<document>.+)",
        ANY_CASE,
    ),
    re.compile(r"(?:покажи|найди) (?:все )?ссылки на (?P<document>.+)", ANY_CASE),
)
_REFER_FROM: Final = (
    re.compile(
        r"what (?:does|do|documents does) (?P<document>.+?) (?:use|depend on|refer to|reference|link to|point to|need)",
        ANY_CASE,
    ),
    re.compile(
        r"(?:show|find|list|what are) (?:me )?(?:the |all )?(?:references|dependencies|links) (?:of|from|"
        r"in) (?P<document>.+)",
        ANY_CASE,
    ),
    re.compile(
        r"(?:от чего|от кого|на что|на кого|что)(?: (?:зависит|ссылается|использует))? (?P<document>.+?)"
        r"(?: (?:зависит|ссылается|использует))?",
        ANY_CASE,
    ),
    re.compile(r"(?:покажи|найди) (?:все )?(?:зависимости|ссылки из) (?P<document>.+)", ANY_CASE),
)


def read_references(clause: Clause) -> Read:
    """What refers to a document, or what it refers to."""
    for forms, direction in ((_REFER_TO, "to"), (_REFER_FROM, "from")):
        for form in forms:
            found = form.fullmatch(clause.text)
            if found is not None and clause.lookup.surely_names_document(found["document"]):
                return [References(found["document"], direction)]
    return None


_FIELD_OF: Final = tuple(
    re.compile(pattern, ANY_CASE)
    for pattern in (
        rf"(?:{words.SHOW}(?: me)?|tell me|what(?:'s| is| are)?|which|{words.FIND})\s+(?:the |"
        rf"is the )?(?P<field>[^,]+?)\s+"
        r"(?:of|in|for|from|on|does)\s+(?P<document>.+?)(?:\s+(?:have|use|has|run))?",
        r"(?:how many|how much|what|which)\s+(?P<field>[^,]+?)\s+(?:does|do|is|are)\s+(?P<document>.+?)\s+"
        r"(?:have|use|need|run|listen on|set to)",
        rf"(?:{words.SHOW}(?: me)?|tell me|what(?:'s| is| are)?)\s+(?:the )?(?P<document>.+?)['’]s\s+(?P<field>.+)",
        r"(?:какой|какая|какое|какие|каков\w?|сколько|чему равн\w+)\s+(?:сейчас\s+)?(?P<field>[^,]+?)\s+"
        r"(?:у|в|во|для|из|на)\s+(?P<document>.+)",
        r"(?:какой|какая|какое|какие|сколько)\s+у\s+(?P<document>.+?)\s+(?P<field>\S+)",
        rf"{words.SHOW}\s+(?P<field>[^,]+?)\s+(?:у|в|во|для|из)\s+(?P<document>.+)",
        rf"(?:{words.SHOW}|какой|какая|какое|сколько)\s+(?P<field>[а-яё]+)\s+(?P<document>\S+)",
    )
)
_ALL_FIELDS: Final = re.compile(
    r"(?:(?:all )?(?:fields?|keys|properties|settings|content|contents|text)|(?:все )?(?:поля|ключи|настройки|"
    r"содержимое|текст))"
    r"(?: есть)?",
    ANY_CASE,
)
_OWNER: Final = re.compile(
    r"(?:who|which team) (?:owns|maintains|is responsible for|is the owner of) (?P<document>.+)|"
    r"(?:кто владеет|кто владелец(?: у)?|кому принадлежит|кто отвечает за|чей) (?P<ru>.+)",
    ANY_CASE,
)
_ITS_FIELD: Final = tuple(
    re.compile(pattern, ANY_CASE)
    for pattern in (
        rf"(?:{words.SHOW}(?: me)?|tell me|what(?:'s| is| are)|which is)\s+its\s+(?P<field>.+)",
        rf"(?:{words.SHOW}|какой|какая|какое|какие)\s+(?:его|её|ее|у него|у неё|у нее)\s+(?P<field>.+)",
    )
)


def read_field(clause: Clause) -> Read:
    """One field of a document."""
    text, lookup = clause.text, clause.lookup
    owner = _OWNER.fullmatch(text)
    if owner is not None and lookup.surely_names_document(owner["document"] or owner["ru"]):
        return [ReadDocument(owner["document"] or owner["ru"], "owner")]
    for form in _ITS_FIELD:
        found = form.fullmatch(text)
        if found is not None and len(found["field"].split()) <= 3:
            return [ReadDocument("it", found["field"])]
    if lookup.surely_names_document(re.sub(rf"^(?:{words.SHOW})(?: me)?\s+", "", text, flags=ANY_CASE)):
        return None
    for form in _FIELD_OF:
        found = form.fullmatch(text)
        if found is None or len(found["field"].split()) > 4 or lookup.kind(found["field"]):
            continue
        if lookup.surely_names_document(found["document"]):
            if _ALL_FIELDS.fullmatch(found["field"]):
                return [ReadDocument(found["document"])]
            return [ReadDocument(found["document"], re.sub(r"^the\s+", "", found["field"], flags=ANY_CASE))]
    return None


def read_explicit_documentation(clause: Clause) -> Read:
    """What the documentation says, asked in such words."""
    found = words.ABOUT_DOCUMENTATION.match(clause.text)
    if found is None:
        return None
    query = next(each for each in found.groups() if each)
    return [AskDocumentation(query.strip())]


_OF_TYPE: Final = re.compile(
    r"^(?:the |all |все )?(?:documents?|files?|документ\w*|файл\w*) (?:of (?:the )?type|типа|вида) ", ANY_CASE
)
_LIST_ALONE: Final = full(rf"{words.SHOW}(?: me)?(?: мне)? (?:(?:the |a )?list|список|перечень)")
_LIST_FORMS: Final = tuple(
    re.compile(pattern, ANY_CASE)
    for pattern in (
        rf"(?:{words.LIST}|{words.SHOW}|{words.FIND})(?: me)?(?: us)?(?: мне| нам)?"
        r"(?: (?:(?:a |the )?list of(?: all)?|(?:полный |весь )?(?:список|перечень))(?: всех)?(?P<listed>))?"
        r" (?P<kind>.+)",
        r"(?:what|which|how many) (?P<kind>.+?) (?:are|is|do we have|do you have|have we(?: got)?|exist|are there|"
        r"there are)"
        r"(?: there| here| available| defined)*",
        r"(?:how many|what|which) (?P<kind>\S+)",
        r"(?:какие|сколько)(?: (?:у нас|тут|здесь|всего|вообще))*(?: есть| имеются)? (?P<kind>.+?)(?: (?:есть|"
        r"имеются|тут|"
        r"здесь|у нас|всего|"
        r"существуют))*",
        r"(?:all|все) (?P<kind>.+)",
    )
)


def read_list(clause: Clause) -> Read:
    """All documents, or those of a type."""
    if _LIST_ALONE(clause.text):
        return [ListDocuments()]
    for form in _LIST_FORMS:
        found = form.fullmatch(clause.text)
        if found is None:
            continue
        said = _OF_TYPE.sub("", found["kind"])
        phrase = clause.lookup.phrase(said)
        if phrase.name:
            explicit = re.match(rf"{words.LIST}(?!\w)", clause.text, ANY_CASE) or _says_list(found)
            if explicit and len(phrase.name.split()) == 1 and not clause.lookup.names_document(phrase.name):
                return [ListDocuments(phrase.name)]  # an unknown type: the question says which there are
            continue
        if phrase.kind or phrase.generic:
            if phrase.kind and _is_one(said, clause.lookup):
                continue
            return [ListDocuments(said if phrase.kind else "")]
    return None


def _says_list(found: re.Match[str]) -> bool:
    """ "show a list of gizmos", «покажи список gizmos»: what is listed is a type, not a document."""
    return found.groupdict().get("listed") is not None


def _is_one(said: str, lookup: Lookup) -> bool:
    """ "the config" where a document is called so, too."""
    return lookup.score(said) >= SURE and not re.match(r"(?:all|все)\s", said, ANY_CASE)


_A_LIST_OF: Final = re.compile(
    rf"^{words.SHOW}(?: me| us| мне| нам)? (?:(?:a |the )?list of|(?:полный |весь )?(?:список|перечень)) ", ANY_CASE
)


_FIELD_ALONE: Final = re.compile(r"(?:the )?(?:field|поле) (?P<field>[\w$./-]+)", ANY_CASE)


def read_search(clause: Clause) -> Read:
    """A search by type, fields and words."""
    alone = _FIELD_ALONE.fullmatch(clause.text)
    if alone is not None:
        return [FindDocuments(where={alone["field"]: None})]
    return conditions.read_find(_A_LIST_OF.sub("find ", clause.text), clause.lookup)


_SHOW_IT: Final = re.compile(
    rf"(?:{words.SHOW}|{words.FIND}|{words.DESCRIBE}|what(?:'s| is) in|what does|что в|"
    rf"что внутри)(?: me)?(?: us)? (?P<document>.+?)"
    r"(?: (?:document|file|again|say|contain|look like|ещё раз|снова))?",
    ANY_CASE,
)


def read_show(clause: Clause) -> Read:
    """A document or a documentation file to show."""
    found = _SHOW_IT.fullmatch(clause.text)
    if found is None:
        return None
    said, lookup = found["document"], clause.lookup
    if lookup.names_page(said) and lookup.score(said) < SURE:
        return [ReadPage(said)]
    several = lookup.documents_in(said)
    commands = re.match(rf"{words.SHOW}(?!\w)", clause.text, ANY_CASE) is not None
    if commands and (not clause.asks or lookup.names_document(said)):
        return [ReadDocument(each) for each in several]
    if len(several) > 1 or lookup.surely_names_document(said):
        return [ReadDocument(each) for each in several]
    return None


def read_name(clause: Clause) -> Read:
    """A name or a type alone."""
    text, lookup = clause.text, clause.lookup
    what_is = re.fullmatch(r"(?:what(?:'s| is)|who is|что такое|что за|кто такой)\s+(?P<name>.+)", text, ANY_CASE)
    said = what_is["name"] if what_is else text
    if lookup.names_page(said) and lookup.score(said) < SURE:
        return [ReadPage(said)]
    if points_back(text) or (lookup.score(said) >= SURE and not is_pronoun(said)):
        return [ReadDocument(said)]
    kind = lookup.phrase(said)
    return [ListDocuments(said)] if kind.kind and not kind.name and not what_is else None


_WHAT_ABOUT: Final = re.compile(
    r"(?:(?:what|how) about|explain(?: to me)?|tell me (?:more )?about|объясни(?: мне)?|поясни|"
    r"расскажи (?:мне )?(?:про|о|об)|anything (?:on|about)|what else (?:on|about)|(?:а )?(?:что|как) (?:насч[её]т|"
    r"по поводу)|(?:а )?что с|"
    r"(?:есть )?что-(?:нибудь|то) (?:про|о|об))\s+(?P<what>.+)",
    ANY_CASE,
)


def read_what_about(clause: Clause) -> Read:
    """ "What about …", "explain …"."""
    found = _WHAT_ABOUT.fullmatch(clause.text)
    if found is None:
        return None
    if clause.lookup.surely_names_document(found["what"]):
        return [ReadDocument(found["what"])]
    return [AskDocumentation(found["what"], explicit=False)]


def read_question(clause: Clause) -> Read:
    """Any other question goes to the documentation; so do a few words that are no command."""
    if clause.asks:
        return [AskDocumentation(clause.text, explicit=False)]
    if words.UNSUPPORTED.match(clause.text) or re.match(rf"(?:{words.VERB})(?!\w)", clause.text, ANY_CASE):
        return None
    return [AskDocumentation(clause.text, explicit=False)] if 0 < len(clause.text.split()) <= 4 else None
