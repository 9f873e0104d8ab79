"""Checks of request shapes: every wrong field of a request is named at once, with the accepted form and the limit."""

from __future__ import annotations

from collections.abc import Iterable

from adapter_service.domain.session import MOST_MESSAGE_CHARACTERS
from handrail_rpc.digest import NotCanonical, normalise_text
from handrail_rpc.errors import FieldViolation, InvalidArgument

MOST_ID_CHARACTERS = 128
MOST_ROLES = 64


class Violations:
    """Collects violations; `refuse` raises InvalidArgument if there are any."""

    def __init__(self) -> None:
        self._found: list[FieldViolation] = []

    def add(self, field: str, description: str) -> None:
        """One wrong field."""
        self._found.append(FieldViolation(field, description))

    def identifier(self, field: str, value: str, *, required: bool = True) -> None:
        """An opaque id."""
        if required and not value:
            self.add(field, "must not be empty")
        elif len(value) > MOST_ID_CHARACTERS:
            self.add(field, f"must have at most {MOST_ID_CHARACTERS} characters")

    def identifiers(self, message: object, names: Iterable[str]) -> None:
        """Several required ids of a request."""
        for name in names:
            self.identifier(name, getattr(message, name))

    def text(self, field: str, value: str) -> str:
        """A user's text in NFC, bounded; what is returned for a wrong one is never used."""
        try:
            normal = normalise_text(value)
        except NotCanonical:
            self.add(field, "must be well-formed Unicode")
            return ""
        if len(normal) > MOST_MESSAGE_CHARACTERS:
            self.add(field, f"must have at most {MOST_MESSAGE_CHARACTERS} characters")
            return ""
        return normal

    def at_least(self, field: str, value: int, least: int) -> None:
        """A lower bound of a number."""
        if value < least:
            self.add(field, f"must be {least} or more")

    def locale(self, field: str, value: str) -> None:
        """The locales that texts exist in."""
        if value not in ("en", "ru"):
            self.add(field, "must be en or ru")

    def refuse(self) -> None:
        """Raise InvalidArgument naming every wrong field."""
        if self._found:
            raise InvalidArgument.fields(self._found)
