"""What the planner knows of the workspace while it reads: whether words name a document, a type or a documentation
file.

A sentence alone does not tell "services" from "checkout"; the workspace does. Without one, no word is a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from adapter_service.domains.workbench.errors import WorkbenchError
from adapter_service.domains.workbench.field_names import switch_below
from adapter_service.domains.workbench.noun_phrases import NounPhrase, read_phrase, type_named
from adapter_service.domains.workbench.pointing_words import points_back
from adapter_service.domains.workbench.resolvers import LIKELY, SURE, pages_named
from adapter_service.domains.workbench.view import View
from adapter_service.domains.workbench.workspace_view import OpenWorkspace

_BOTH: Final = re.compile(r"\s*,\s*|\s+(?:and|as well as|и|а также)\s+", re.IGNORECASE)
_MOST_WORDS: Final = 8


@dataclass(frozen=True)
class Lookup:
    """Questions to the workspace; all answers are "no" without one."""

    view: View | None
    shown: Callable[[str], str] = str  # puts quoted parts back in their places
    _scores: dict[str, float] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, workspace: Any) -> Lookup:
        """The lookup of a planning request's workspace."""
        return cls(workspace.view if isinstance(workspace, OpenWorkspace) else None)

    def phrase(self, text: str) -> NounPhrase:
        """A phrase taken apart into name and type."""
        return read_phrase(self.shown(text), self.view)

    def score(self, text: str) -> float:
        """How well a phrase names a document, 0 to 100. Each phrase is looked up once a message."""
        if text not in self._scores:
            self._scores[text] = self._score(text)
        return self._scores[text]

    def _score(self, text: str) -> float:
        if self.view is None or not text.strip() or len(text.split()) > _MOST_WORDS:
            return 0
        text = self.shown(text)
        if self.view.find(text.strip(" `")) is not None:
            return 100
        phrase = self.phrase(text)
        found = self.view.match_documents(phrase.name, limit=1, type=phrase.kind) if phrase.name else []
        return float(found[0]["score"]) if found else 0

    def names_document(self, text: str) -> bool:
        """Does a phrase name a document, slips of the pen included, or point back at one?"""
        return points_back(text) or self.score(text) >= LIKELY

    def surely_names_document(self, text: str) -> bool:
        """Does it name one without any slip?"""
        return points_back(text) or self.score(text) >= SURE

    def documents_in(self, text: str) -> list[str]:
        """The documents that "checkout and billing" names, each in the user's words; one where it is one name."""
        parts = [part for part in _BOTH.split(text) if part.strip()]
        if len(parts) > 1 and not self.surely_names_document(text) and all(self.names_document(part) for part in parts):
            return parts
        return [text]

    def kind(self, text: str) -> str:
        """The type that a word or phrase means, "" for none."""
        phrase = self.phrase(text)
        return phrase.kind if not phrase.name else ""

    def is_type(self, word: str) -> bool:
        """Is one word a type?"""
        return bool(type_named(self.shown(word), self.view))

    def is_switch(self, key: str, path: str) -> bool:
        """Is a document's field true or false now, or an object that is switched by such a field? False for none."""
        if self.view is None or self.view.find(key) is None:
            return False
        try:
            value = self.view.get_value(key, path)
        except WorkbenchError:
            return False
        return isinstance(value, bool) or bool(switch_below(value))

    def is_written_somewhere(self, word: str) -> bool:
        """Does a document of the workspace hold the word?"""
        return self.view is not None and bool(self.view.find_documents(text=word, limit=1)["documents"])

    def names_page(self, text: str) -> bool:
        """Does a phrase name a documentation file?"""
        return self.view is not None and bool(pages_named(self.shown(text), self.view))
