"""Texts that users read, in English and Russian. Used by every declaration of a domain."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """One text in both locales."""

    en: str
    ru: str

    def localized(self, locale: str) -> str:
        """The text for a locale: Russian for "ru", otherwise English."""
        return self.ru if locale == "ru" else self.en
