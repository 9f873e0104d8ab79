"""Numbers with their nouns: "1 document", «5 документов». Called by the answers."""

from __future__ import annotations

from typing import Final

_NOUNS: Final = {
    "document": ("document", "documents", "документ", "документа", "документов"),
    "file": ("file", "files", "файл", "файла", "файлов"),
    "section": ("section", "sections", "раздел", "раздела", "разделов"),
    "line": ("line", "lines", "строка", "строки", "строк"),
}


def counted(number: int, noun: str, locale: str) -> str:
    """A number with one of the nouns above in the right form."""
    one, many, ru_one, ru_few, ru_many = _NOUNS[noun]
    if locale != "ru":
        return f"{number} {one if number == 1 else many}"
    if number % 10 == 1 and number % 100 != 11:
        return f"{number} {ru_one}"
    few = number % 10 in (2, 3, 4) and number % 100 not in (12, 13, 14)
    return f"{number} {ru_few if few else ru_many}"
