"""`Text`: what a person reads, in English and Russian. Used by the failure catalogue, both services and the SDK."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """One text in both languages; `{name}` parts are filled in by `of` or `filled`."""

    en: str
    ru: str

    def localized(self, locale: str) -> str:
        """The text for a locale as it is: Russian for "ru", otherwise English."""
        return self.ru if locale == "ru" else self.en

    def of(self, locale: str, **values: str) -> str:
        """The text for a locale with its parts filled in. Raises KeyError where one is not given."""
        return self.localized(locale).format(**values)

    def filled(self, **names: Text) -> Text:
        """The text with its parts filled in each language. Raises KeyError where one is not given."""
        return Text(
            self.en.format(**{key: value.en for key, value in names.items()}),
            self.ru.format(**{key: value.ru for key, value in names.items()}),
        )


NOTHING = Text("", "")
"""Where there is nothing to say, for example because no action would help."""
