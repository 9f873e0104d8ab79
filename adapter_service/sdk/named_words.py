"""Splits a message that names tools and arguments into words, pairs and separators. Called by named_calls.

Quotes keep words together ("…", '…', «…», “…”), brackets a JSON value; a quote inside a word is an apostrophe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_QUOTES = {'"': '"', "'": "'", "«": "»", "“": "”"}
_BRACKETS = {"[": "]", "{": "}"}
_KEY = re.compile(r"([^\W\d][\w-]*)([=:])")
_END = re.compile(r"[\s;]")


@dataclass(frozen=True, slots=True)
class Word:
    """A plain or quoted word, or one with a key: in "days=14" `key` is "days", `sign` "=", `text` "14".

    `raw` is what was written. `ends_call` is a semicolon or the end of a line, and nothing else.
    """

    text: str
    raw: str
    quoted: bool = False
    key: str = ""
    sign: str = ""
    ends_call: bool = False


def words_of(message: str) -> Iterator[Word]:
    """The words of a message in their order."""
    at = 0
    while at < len(message):
        character = message[at]
        if character in ";\n":
            yield Word("", character, ends_call=True)
            at += 1
        elif character.isspace():
            at += 1
        else:
            word = _word(message, at)
            yield word
            at += len(word.raw)


def _word(message: str, at: int) -> Word:
    key = _KEY.match(message, at)
    begin = key.end() if key is not None else at
    text, quoted, end = _value(message, begin)
    raw = message[at:end]
    if key is None:
        return Word(text, raw, quoted)
    return Word(text, raw, quoted, key[1], key[2])


def _value(message: str, at: int) -> tuple[str, bool, int]:
    """The text from `at` to the end of the word, whether it was quoted, and where it ends."""
    first = message[at : at + 1]
    if first in _QUOTES and first:
        close = message.find(_QUOTES[first], at + 1)
        if close >= 0 and (close + 1 == len(message) or _END.match(message, close + 1)):
            return message[at + 1 : close], True, close + 1
    if first in _BRACKETS and first:
        close = _closing(message, at)
        if close >= 0:
            return message[at : close + 1], False, close + 1
    found = _END.search(message, at)
    end = found.start() if found is not None else len(message)
    return message[at:end], False, end


def _closing(message: str, at: int) -> int:
    """Where the bracket at `at` is closed, -1 where it is not; brackets within double quotes do not count."""
    depth, within = 0, False
    for index in range(at, len(message)):
        character = message[index]
        if character == '"' and message[index - 1] != "\\":
            within = not within
        elif not within and character in _BRACKETS:
            depth += 1
        elif not within and character in _BRACKETS.values():
            depth -= 1
            if depth == 0:
                return index
    return -1
