"""Words of a text and of a question, folded and stemmed, English and Russian.

Called by the searches and the matching. The folding is what SQLite's unicode61 tokenizer does to the indexed text, so
that a word of a question and a word of a file meet.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

import snowballstemmer

WORD: Final = re.compile(r"[^\W_]+")
_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]")
_HUMP: Final = re.compile(r"(?<=[a-zа-я0-9])(?=[A-ZА-Я])|(?<=[A-Z])(?=[A-Z][a-z])")

_STOP_TEXT: Final = """
a an and are as at be been by can could did do does for from had has have how i if in into is it its me my of
on or our should so than that the their them then there these they this to was we were what when where which
who why will with would you your about tell say says please there any some all does not no а без бы был была
были быть в вам вас ваш весь во вот все всё где да для до его ее если есть еще ещё же за здесь и из или им их
к как какая какие какой каком когда кто ли мне меня мой мы на над надо нам нас не нет ни но ну о об он она они
оно от по под при про с сам свой себя со так такой там то тот тоже только ты у уже чем что чтобы эта эти это
этот я написано расскажи скажи пожалуйста можно нужно
"""
# Words that a question has and an answer need not have.
STOP_WORDS: Final = frozenset(_STOP_TEXT.split())


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a folded word; a number and a word of other letters is its own."""
    if len(word) < 3 or any(character.isdigit() for character in word):
        return word
    # A stemmer object keeps state while it works, so threads do not share one.
    return str(snowballstemmer.stemmer("russian" if _CYRILLIC.search(word) else "english").stemWord(word))


@lru_cache(maxsize=16384)
def fold(text: str) -> str:
    """Lower case, without the accents of Latin letters, ё as е."""
    if text.isascii():
        return text.lower()
    folded = []
    for character in unicodedata.normalize("NFC", text):
        base = unicodedata.normalize("NFD", character)[0] if "\u00c0" <= character <= "\u02af" else character
        folded.append(base)
    return "".join(folded).lower().replace("ё", "е")


def fold_for_index(text: str) -> str:
    """What the index has to do itself before SQLite's tokenizer sees a text."""
    return text.replace("ё", "е").replace("Ё", "Е")


def words(text: str) -> list[str]:
    """The folded words of a text in order; "maxRetries" is one word, "max-retries" two."""
    return WORD.findall(fold(text))


def name_words(text: str) -> list[str]:
    """As `words`, and the parts of a name in humps too: "maxRetries" is maxretries, max, retries."""
    found = words(text)
    if _HUMP.search(text):
        found += [word for word in words(_HUMP.sub(" ", text)) if word not in found]
    return found


def query_terms(text: str) -> list[str]:
    """The words of a question that say what it is about; all of them where it has no others."""
    found = list(dict.fromkeys(words(text)))
    telling = [word for word in found if word not in STOP_WORDS]
    return telling or found
