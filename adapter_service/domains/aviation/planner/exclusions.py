"""What a request leaves out: "not in Germany", "except Poland and Czechia", «кроме Германии». Called by the grammar.

Countries can be left out of a search. Anything else that is left out no tool can leave out, so the clause is refused.
"""

from __future__ import annotations

from typing import Final

from adapter_service.domains.aviation.countries import country_code
from adapter_service.domains.aviation.planner.lexicon import categories, is_a
from adapter_service.domains.aviation.planner.names import read_name
from adapter_service.domains.aviation.planner.reader import Reader
from adapter_service.domains.aviation.planner.word_kinds import Cat

_PREPOSITIONS: Final = (Cat.AT, Cat.FROM, Cat.TO, Cat.NEAR, Cat.OF)


def exclusion_at(reader: Reader, index: int) -> int | None:
    """Where what is left out begins, if at `index` something is left out; None where nothing is."""
    token = reader.tokens[index]
    behind = reader.skip(index + 1, *_PREPOSITIONS)
    if token.lower in ("outside", "вне"):
        return behind if countries_at(reader, behind)[0] else None  # "what is it like outside"
    if is_a(token, Cat.EXCEPT):
        return behind
    following = reader.token(index + 1)
    if token.lower not in ("not", "не") or following is None or following.kind != "word":
        return None
    # "Not in Germany", «не Орли»; but «не подскажете» is only polite.
    return behind if not categories(following) or is_a(following, *_PREPOSITIONS) else None


def countries_at(reader: Reader, index: int) -> tuple[list[str], int]:
    """The countries that are named from `index` on ("Germany, Poland or Czechia"), and the index behind them."""
    found: list[str] = []
    end = index
    while True:
        _, longest = read_name(reader, reader.skip(index, Cat.GENERIC))
        begin = reader.skip(index, Cat.GENERIC)
        named = next((e for e in range(longest, begin, -1) if country_code(reader.between(begin, e))), None)
        if named is None:
            return found, end
        found.append(reader.between(begin, named))
        end = named
        index = named
        while (token := reader.token(index)) is not None and (token.text == "," or is_a(token, Cat.AND, Cat.OR)):
            index += 1
        index = reader.skip(index, Cat.AT, Cat.OF) if index > named else index
        if index == named:
            return found, end
