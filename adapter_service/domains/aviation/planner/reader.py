"""A clause while it is read: tokens with the measures among them, looked at by index. Called by grammar and places."""

from __future__ import annotations

from dataclasses import dataclass

from adapter_service.domains.aviation.planner.lexicon import is_a
from adapter_service.domains.aviation.planner.measures import Measure
from adapter_service.domains.aviation.planner.tokens import Token
from adapter_service.domains.aviation.planner.word_kinds import Cat


@dataclass(slots=True)
class Reader:
    """A clause being read: its tokens and measures. `at_means_to`: «в»/«на» name a destination here."""

    text: str
    tokens: list[Token]
    measures: dict[int, Measure]
    at_means_to: bool = False

    def token(self, index: int) -> Token | None:
        """The token at an index, or None behind the end."""
        return self.tokens[index] if 0 <= index < len(self.tokens) else None

    def is_at(self, index: int, *wanted: Cat) -> bool:
        """Is there a token at the index that may do one of these things?"""
        token = self.token(index)
        return token is not None and is_a(token, *wanted)

    def measure_at(self, index: int) -> Measure | None:
        """The measure at an index, or None."""
        token = self.token(index)
        return self.measures.get(token.start) if token is not None and token.kind == "measure" else None

    def between(self, first: int, behind: int) -> str:
        """The text from one token up to before another."""
        return self.text[self.tokens[first].start : self.tokens[behind - 1].end]

    def skip(self, index: int, *unwanted: Cat) -> int:
        """The first index from `index` on that does none of these things."""
        while self.is_at(index, *unwanted):
            index += 1
        return index
