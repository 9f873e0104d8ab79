"""Texts of the planner itself: what it can do, what it did not understand. Called by the planner modules.

They claim nothing that a tool would have to do, and name no document (requirement F4).
"""

from __future__ import annotations

from typing import Final

from adapter_service.sdk import Text

_CAN: Final = Text(
    "I can tell what is in the workspace, list, find, show and compare documents, quote the documentation, and "
    "draft, check, "
    "show and publish a change.",
    "Я умею рассказать, что есть в рабочей области, показать, найти и сравнить документы, процитировать "
    "документацию, а также "
    "подготовить, проверить, показать и опубликовать изменение.",
)
_EXAMPLES: Final = Text(
    "For example: “what is in this workspace”, “find services that use port 8080”, “set replicas to 3 in checkout "
    "and publish "
    "it”, “what do the docs say about retries?”.",
    "Например: «что в этой папке», «найди сервисы с портом 8080», «поставь replicas 3 в checkout и опубликуй», "
    "«что написано "
    "про ретраи?».",
)
HELP: Final = Text(f"{_CAN.en} {_EXAMPLES.en}", f"{_CAN.ru} {_EXAMPLES.ru}")
GREETING: Final = Text(f"Hello. {_CAN.en}", f"Здравствуйте. {_CAN.ru}")
THANKS: Final = Text("You are welcome.", "Пожалуйста.")
NO_QUESTION: Final = Text(
    "There is no open question. Say what to do, for example “publish it”.",
    "Открытого вопроса нет. Скажите, что сделать, например: «опубликуй».",
)
NOTHING_TO_CANCEL: Final = Text("There is nothing to cancel.", "Отменять нечего.")
NO_CHANGE: Final = Text(
    "There is no draft in this conversation yet. Say what to change, for example “set replicas to 3 in checkout”.",
    "В этом разговоре ещё нет черновика. Скажите, что изменить, например: «поставь replicas 3 в checkout».",
)
SETTLED: Final = Text(
    "Nothing was done: the last draft has been published already, and there is no newer one.",
    "Ничего не сделано: последний черновик уже опубликован, а нового нет.",
)
CONTRADICTION: Final = Text(
    "Nothing was done: the message says both to publish and not to publish. Say one of them.",
    "Ничего не сделано: в сообщении сказано и опубликовать, и не публиковать. Оставьте что-то одно.",
)
NO_DELETION: Final = Text(
    "Nothing was done: I change fields of documents, and cannot delete whole files.",
    "Ничего не сделано: я меняю поля документов, а удалять файлы целиком не умею.",
)
NOTHING_MORE: Final = Text("There is no list to go on with.", "Продолжать нечего: списка ещё не было.")
TWO_NEEDED: Final = Text("Say which two documents to compare.", "Скажите, какие два документа сравнить.")
_QUOTE_LIMIT: Final = 120


def _quoted(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _QUOTE_LIMIT else flat[: _QUOTE_LIMIT - 1] + "…"


def not_understood(part: str) -> Text:
    """A part of the message that has no meaning here; nothing of the message was done."""
    quote = _quoted(part)
    return Text(
        f"I did not understand “{quote}”, so nothing was done. {HELP.en}",
        f"Я не понял: «{quote}», поэтому ничего не сделано. {HELP.ru}",
    )


def not_a_value(part: str) -> Text:
    """Words behind an edit that may not become a part of its value."""
    quote = _quoted(part)
    return Text(
        f"I did not understand “{quote}”, so nothing was done. If these words belong to the value, put all of the "
        f"value in quotation marks.",
        f"Я не понял: «{quote}», поэтому ничего не сделано. Если эти слова входят в значение, возьмите всё значение "
        f"в кавычки.",
    )


def too_long(limit: int) -> Text:
    """A message with more commands than one request takes."""
    return Text(
        f"That is more than {limit} commands at once, so nothing was done. Please split the message.",
        f"Это больше {limit} команд сразу, поэтому ничего не сделано. Разделите сообщение.",
    )
