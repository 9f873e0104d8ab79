"""Messages that go on with the list shown last: "show more", "next page", «ещё 10», "previous", "by name instead".

Called by the planner before it reads a message as a request of its own. Only a message that says nothing else is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adapter_service.domains.aviation.countries import country_name
from adapter_service.domains.aviation.planner import replies
from adapter_service.domains.aviation.planner.lexicon import is_a, number_of, ordinal_of, word_set
from adapter_service.domains.aviation.planner.list_memory import ShownList, shown_list
from adapter_service.domains.aviation.planner.orders import read_sort, sort_of, sorts_at
from adapter_service.domains.aviation.planner.reader import Reader
from adapter_service.domains.aviation.planner.search_tasks import SearchComposer
from adapter_service.domains.aviation.planner.tokens import Token, tokenise
from adapter_service.domains.aviation.planner.word_kinds import Cat
from adapter_service.sdk import Fill, Text, ValueFill

_MORE: Final = word_set(
    """
    more next another further following rest remaining continue others other
    еще дальше далее следующие следующую следующая следующих следующей остальные остальных продолжи продолжай продолжить
    другие
    """
)
_PREVIOUS: Final = word_set("previous earlier предыдущие предыдущую предыдущая предыдущих предыдущей")
_PAGE: Final = word_set("page страница страницу страницы страничку")
_REVERSED: Final = word_set("наоборот reversed")
# Words that may stand beside these and add nothing.
_BESIDE: Final = word_set(
    """
    results result ones entries of go on the list them it ten results items those these now instead number
    результаты результатов из них список списка их его порядке штук номер теперь а
    """
)
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class _Step:
    """What a message asks of a list: another page, or another order."""

    way: str  # more, previous, page, order
    number: int | None = None
    sort: str = ""


def go_on(text: str, composer: SearchComposer) -> Text | bool:
    """Add the task that the message asks for: True. A text where that cannot be done; False where it asks otherwise."""
    step = _step(tokenise(text))
    if step is None:
        return False
    shown = shown_list(composer.memory)
    if shown is None:
        return replies.NO_LIST if step.way in ("more", "previous", "page") else False
    if step.way == "order":
        _search(composer, shown, shown.limit, 0, _sort_of(step, shown))
        return True
    limit = min(max(step.number or shown.limit, 1), _MOST) if step.way == "more" else shown.limit
    offset = shown.next_offset
    if step.way == "previous":
        offset = max(0, shown.offset - shown.limit)
    elif step.way == "page":
        offset = ((step.number or 1) - 1) * shown.limit
    if offset >= shown.total or (step.way == "previous" and shown.offset == 0):
        return replies.list_is_over(shown.total) if shown.offset or step.way != "previous" else replies.LIST_BEGINS
    _search(composer, shown, limit, offset, str(shown.query.get("sort", "")))
    return True


def _step(tokens: list[Token]) -> _Step | None:
    tokens = [token for token in tokens if token.kind != "mark"]
    order = _order(tokens)
    if order is not None:
        return order
    way, number = "", None
    for token in tokens:
        if token.lower in _PAGE:
            way = way if way in ("more", "previous") else "page"
        elif token.lower in _MORE or token.lower in _PREVIOUS:
            way = "previous" if token.lower in _PREVIOUS else "more"
        elif number is None and (number_of(token) is not None or ordinal_of(token) is not None):
            number = number_of(token) if number_of(token) is not None else ordinal_of(token)
        elif not _adds_nothing(token):
            return None
    if way == "page" and number is None:
        return None
    return _Step(way, number) if way else None


def _adds_nothing(token: Token) -> bool:
    if token.lower in _BESIDE:
        return True
    # "Tell me more about that airport" asks about an airport.
    if is_a(token, Cat.OF, Cat.THIS) or (is_a(token, Cat.AIRPORT) and not is_a(token, Cat.AIRPORTS)):
        return False
    return is_a(token, Cat.SHOW, Cat.FIND, Cat.FILLER, Cat.ME, Cat.AIRPORTS, Cat.AND, Cat.IT)


def _order(tokens: list[Token]) -> _Step | None:
    """ "Sort them by name", «по высоте», "in reverse order", "farthest first"."""
    reader = Reader("", tokens, {})
    sort, reverse = "", False
    index = 0
    while index < len(tokens):
        token = tokens[index]
        following = reader.token(index + 1)
        if token.lower in _REVERSED:
            reverse, index = True, index + 1
        elif is_a(token, Cat.SORT) or sorts_at(reader, index):
            # "reverse" stands for what is reversed until an order is told.
            told, index = read_sort(reader, index, sort or "?")
            reverse = reverse or told.endswith("_desc")
            sort = told.removesuffix("_desc").removeprefix("?")
        elif sort_of(token) and following is not None and following.lower in ("first", "сначала"):
            sort, index = sort_of(token), index + 2
        elif token.lower in _BESIDE or is_a(token, Cat.IT, Cat.FILLER, Cat.SHOW, Cat.AND, Cat.AIRPORTS):
            index += 1
        else:
            return None
    if reverse:
        return _Step("order", sort=f"{sort}_desc" if sort else "reverse")
    return _Step("order", sort=sort) if sort else None


def _sort_of(step: _Step, shown: ShownList) -> str:
    if step.sort != "reverse":
        return step.sort
    known = str(shown.query.get("sort", "name"))
    known = "name" if known == "relevance" else known
    return known.removesuffix("_desc") if known.endswith("_desc") else f"{known}_desc"


def _search(composer: SearchComposer, shown: ShownList, limit: int, offset: int, sort: str) -> None:
    fills: dict[str, Fill | None] = {}
    for slot, value in shown.query.items():
        display = str(value)
        if slot in ("country", "except_country"):
            display = ", ".join(country_name(code, composer.locale) for code in value)
        fills[slot] = ValueFill(value, display)
    if sort.startswith("distance") and not {"center_icao", "center_lat_deg"} & set(fills):
        fills.update(composer.centre(None))
    for slot, number in (("limit", limit), ("offset", offset)):
        fills[slot] = ValueFill(number, str(number))
    if sort:
        fills["sort"] = ValueFill(sort, sort)
    composer.add("search_airports", fills)
