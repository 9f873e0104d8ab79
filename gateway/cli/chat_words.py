"""The chat's own words in Russian, in one table under the English ones. Used by chat and chat_lines.

What the services say comes in the caller's language already.
"""

from __future__ import annotations

import os
from collections.abc import Callable

Say = Callable[[str], str]

RUSSIAN = {
    "Type a request. /cancel ends what is open, /skip passes over a question that is not required, "
    "/help shows this, /quit leaves (so do Ctrl-D and Ctrl-C at the prompt).": "Напишите, что нужно. /cancel "
    "прекращает начатое, /skip пропускает необязательный вопрос, /help показывает эту подсказку, /quit завершает "
    "беседу (как и Ctrl-D и Ctrl-C в начале строки).",
    "conversation {id} in {domain}. ": "беседа {id}, домен {domain}. ",
    "left; handrail chat --conversation {id} goes on": "продолжить: handrail chat --conversation {id}",
    "the service is busy; trying again in {seconds:g} s": "сервис занят; повтор через {seconds:g} с",
    "stopped watching; the run goes on, /cancel ends it": "вывод остановлен, работа идёт; /cancel прекратит её",
    "you": "вы",
    "handrail": "handrail",
    "its events follow": "дальше — как идёт работа",
    "nothing is open": "ничего не начато",
    "canceled": "отменено",
    "say what should change: c <what to change>": "напишите, что изменить: c <что изменить>",
    "the digest is not that of the snapshot shown; nothing was sent": "контрольная сумма не от показанного снимка; "
    "ничего не отправлено",
    "nothing is asked": "вопроса нет",
    "this question is required; answer it, or /cancel": "на этот вопрос нужен ответ; либо /cancel",
    "y approve, n reject, c <what to change>": "y утвердить, n отклонить, c <что изменить>",
    "y accept, n reject, c <what to change>": "y принять, n отклонить, c <что изменить>",
    "1-{most} or text": "1-{most} или текст",
    "y/n": "y/n",
    "answer": "ответ",
    "not required: /skip goes on without it": "необязательно: /skip — дальше без ответа",
    "approval required: ": "нужно утверждение: ",
    "still waits for its approval, unchanged: ": "всё ещё ждёт утверждения, без изменений: ",
    "who may approve: role {role}": "кто может утвердить: роль {role}",
    "until {time}": "до {time}",
    "digest": "контрольная сумма",
    "this approval cannot be given from here: it has no digest": "отсюда утвердить нельзя: нет контрольной суммы",
    "approved": "утверждено",
    "rejected": "отклонено",
    "changes requested": "запрошены изменения",
    "expired": "срок истёк",
    "stale": "устарело",
    "withdrawn": "отозвано",
    "superseded": "заменено новым запросом",
    " by {who}": ", кто: {who}",
    "approval": "утверждение",
    "limitation: ": "ограничение: ",
    "source: ": "источник: ",
    "artifact": "артефакт",
    "version {version}": "версия {version}",
    "partial: some of the request was not done": "частично: не всё из запроса выполнено",
    "failed": "не получилось",
    "blocked": "заблокировано",
    "blocked by policy": "не разрешено правилами",
    "[stage {stage}, code {code}]": "[этап {stage}, код {code}]",
    "[code {code}]": "[код {code}]",
    "what helps: ": "что поможет: ",
    "what lifts it: ": "что это снимет: ",
    "progress: ": "выполнено: ",
    "not executed": "ничего",
    "partial": "частично",
    "unknown": "неизвестно",
    "a retry can work": "повтор может помочь",
    "the same request will not work again": "тот же запрос снова не сработает",
    "request": "запрос",
    "confirmed: ": "сделано: ",
    "waiting for the signal {signal}": "ждёт сигнала {signal}",
    "waiting until {time}": "ждёт до {time}",
}


def words(locale: str) -> Say:
    """English words → those of the locale, 'en' or 'ru'; a word that the table lacks stays English."""
    return (lambda english: RUSSIAN.get(english, english)) if locale == "ru" else (lambda english: english)


def terminal_locale() -> str:
    """'ru' where the terminal's language is Russian (LC_ALL, LC_MESSAGES, LANG, the first that is set), else 'en'."""
    named = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
    return "ru" if named == "ru" or named.startswith(("ru_", "ru.")) else "en"
