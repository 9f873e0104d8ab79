"""A Russian spelling of a Latin name in Latin letters: «чекаут» is close to "checkout", «биллинг» to "billing".

Called by the matching of names, which is tolerant of the rest.
"""

from __future__ import annotations

from typing import Final

# The usual way in which Russian speakers write English words; the fuzzy match takes care of what is ambiguous.
_LETTERS: Final = {
    "дж": "j", "кс": "x", "ау": "ou", "эй": "ay", "ай": "i",
    "а": "a", "б": "b", "в": "v", "г": "g", "д": "d", "е": "e", "ж": "j", "з": "z", "и": "i", "й": "y", "к": "k",
    "л": "l", "м": "m", "н": "n", "о": "o", "п": "p", "р": "r", "с": "s", "т": "t", "у": "u", "ф": "f", "х": "h",
    "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sch", "ъ": "", "ы": "y", "ь": "", "э": "e", "ю": "u", "я": "ya",
}  # fmt: skip


def latin(text: str) -> str:
    """Cyrillic letters of a folded text in Latin ones; other characters as they are."""
    result: list[str] = []
    position = 0
    while position < len(text):
        pair = _LETTERS.get(text[position : position + 2])
        if pair is not None and position + 2 <= len(text):
            result.append(pair)
            position += 2
            continue
        result.append(_LETTERS.get(text[position], text[position]))
        position += 1
    return "".join(result)
