"""Names of fields as people say them: "max retries" for maxRetries, "ports" for port, «порт» for port.

Called by the resolvers and by find_documents. Data only: a name that is not here is taken as it was said.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any, Final

import snowballstemmer

MOST_FORMS: Final = 4
# What people call common fields of configuration in Russian.
_RUSSIAN: Final = """
порт port | реплика replicas | копия replicas | образ image | версия version | имя name | название name title
заголовок title | описание description | владелец owner | таймаут timeout | адрес address host url | хост host
пользователь user | пароль password | уровень level | режим mode | тип type kind | регион region | зона zone
память memory | процессор cpu | метка labels label tag | тег tags tag | окружение environment env | среда environment
команда team command | ключ key | значение value | путь path | лимит limit limits | предел limit | запрос requests
повтор retries retry | попытка attempts retries | зависимость dependencies dependsOn | ссылка url link
лицензия license | автор author authors | дата date | статус status | приоритет priority | размер size | язык language
протокол protocol | расписание schedule | почта email | телефон phone | сервер server | база database | домен domain
"""
_WORD: Final = re.compile(r"[^\W_]+")


@lru_cache(maxsize=4_096)
def _stem(word: str) -> str:
    return str(snowballstemmer.stemmer("russian").stemWord(word))


def _dictionary() -> dict[str, tuple[str, ...]]:
    entries = (entry.split() for line in _RUSSIAN.strip().splitlines() for entry in line.split("|"))
    return {_stem(words[0]): tuple(words[1:]) for words in entries if words}


_BY_STEM: Final = _dictionary()


def folded(name: str) -> str:
    """A name without case, accents and what joins its words: "max-retries", "maxRetries" and "max retries" are one."""
    plain = unicodedata.normalize("NFKD", name.casefold().replace("ё", "е"))
    return "".join(char for char in plain if char.isalnum())


def forms_of(name: str) -> list[str]:
    """A field's name as it was said and in its other forms, likeliest first, at most MOST_FORMS."""
    said = name.strip()
    forms = [said]
    if re.search("[а-яё]", said, re.IGNORECASE):
        forms = [*_BY_STEM.get(_stem(said.casefold().replace("ё", "е")), ()), said]
    elif " " in said:
        words = _WORD.findall(said)
        forms = [words[0] + "".join(word.capitalize() for word in words[1:]), "_".join(words), "-".join(words)]
    elif "." not in said and "/" not in said:
        forms.append(said[:-1] if said.endswith("s") and not said.endswith("ss") else f"{said}s")
        if said != said.casefold():
            forms.append(said.casefold())
    return forms[:MOST_FORMS]


def same_name(said: str, name: str) -> bool:
    """Whether a person who says `said` may mean the field `name`."""
    wanted = folded(name)
    return any(folded(form) == wanted for form in forms_of(said))


_SWITCHES: Final = ("enabled", "enable", "active", "create")


def switch_below(value: Any) -> str:
    """The name of the field that turns an object on or off: "turn on tls" is meant for tls.enabled; "" for none."""
    if not isinstance(value, dict):
        return ""
    return next((name for name in _SWITCHES if isinstance(value.get(name), bool)), "")
