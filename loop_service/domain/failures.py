"""Failures that this service itself tells, one catalogue with the texts in English and Russian (G1).

Failures that the Adapter decides carry their own texts and pass through as bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    ADMISSION = "admission"
    CONTEXT = "context"
    PLANNING = "planning"
    POLICY = "policy"
    TOOL = "tool"
    GENERATION = "generation"
    VERIFICATION = "verification"
    DEADLINE = "deadline"
    STORAGE = "storage"
    ADAPTER = "adapter"
    CHANNEL = "channel"


class Progress(StrEnum):
    NOT_EXECUTED = "not_executed"
    PARTIAL = "partial"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Text:
    """One text in both languages; `{name}` parts are filled in."""

    en: str
    ru: str

    def of(self, locale: str, **values: str) -> str:
        return (self.ru if locale == "ru" else self.en).format(**values)


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    stage: Stage
    retryable: bool
    explanation: Text
    helpful_action: Text = Text("", "")


_AGAIN = Text("Send the request again.", "Отправьте запрос ещё раз.")
_SMALLER = Text("Split the request into smaller ones.", "Разбейте запрос на несколько меньших.")

CATALOGUE: dict[str, CatalogueEntry] = {
    "adapter_unavailable": CatalogueEntry(
        Stage.ADAPTER,
        True,
        Text(
            "The domain service did not answer in time. Your message is kept.",
            "Доменная служба не ответила вовремя. Ваше сообщение сохранено.",
        ),
        Text("Send the request again in a little while.", "Отправьте запрос ещё раз немного позже."),
    ),
    "adapter_failed": CatalogueEntry(
        Stage.ADAPTER,
        True,
        Text(
            "The domain service met an internal error and could not go on.",
            "В доменной службе произошла внутренняя ошибка, продолжить не удалось.",
        ),
        _AGAIN,
    ),
    "domain_not_served": CatalogueEntry(
        Stage.ADAPTER,
        False,
        Text(
            "This domain is configured, but the service behind it does not offer it.",
            "Эта предметная область настроена, но служба, к которой она относится, её не предоставляет.",
        ),
        Text(
            "Open a conversation in a domain that is listed as available.",
            "Откройте беседу в области, которая указана как доступная.",
        ),
    ),
    "session_diverged": CatalogueEntry(
        Stage.STORAGE,
        False,
        Text(
            "The records of the two services do not match, so nothing more was executed.",
            "Записи двух служб расходятся, поэтому больше ничего не выполнялось.",
        ),
        Text(
            "Start a new conversation; an operator should compare the two databases.",
            "Начните новую беседу; администратору следует сверить обе базы данных.",
        ),
    ),
    "deadline_exceeded": CatalogueEntry(
        Stage.DEADLINE,
        True,
        Text(
            "The request used up its working time: {limit} s.",
            "Запрос исчерпал отведённое время работы: {limit} с.",
        ),
        _SMALLER,
    ),
    "tool_action_limit_reached": CatalogueEntry(
        Stage.DEADLINE,
        False,
        Text(
            "The request reached its limit of tool actions: {limit}.",
            "Достигнут предел числа действий с инструментами на один запрос: {limit}.",
        ),
        _SMALLER,
    ),
    "clarification_limit_reached": CatalogueEntry(
        Stage.DEADLINE,
        False,
        Text(
            "The request is still unclear, and the limit of questions is reached: {limit}.",
            "Запрос всё ещё неясен, а предел числа уточняющих вопросов достигнут: {limit}.",
        ),
        Text("Say the whole request again in one message.", "Сформулируйте запрос целиком в одном сообщении."),
    ),
    "decision_limit_reached": CatalogueEntry(
        Stage.DEADLINE,
        False,
        Text(
            "The request reached its limit of decisions: {limit}.",
            "Достигнут предел числа решений на один запрос: {limit}.",
        ),
        _SMALLER,
    ),
    "generation_limit_reached": CatalogueEntry(
        Stage.DEADLINE,
        False,
        Text(
            "The request reached its limit of model generations: {limit}.",
            "Достигнут предел числа обращений к модели на один запрос: {limit}.",
        ),
        _SMALLER,
    ),
    "tool_outcome_unknown": CatalogueEntry(
        Stage.TOOL,
        False,
        Text(
            "It is not known whether “{tool}” took effect; it will not be called again by itself.",
            "Неизвестно, сработал ли инструмент «{tool}»; автоматически он повторно вызван не будет.",
        ),
        Text(
            "Check the result where the change should have arrived, then decide.",
            "Проверьте результат там, где должно было появиться изменение, и решите, что делать дальше.",
        ),
    ),
    "plan_invalid": CatalogueEntry(
        Stage.PLANNING,
        False,
        Text(
            "The domain service made a decision that cannot be carried out.",
            "Доменная служба приняла решение, которое нельзя выполнить.",
        ),
    ),
    "storage_unavailable": CatalogueEntry(
        Stage.STORAGE,
        True,
        Text("The data could not be stored or read.", "Не удалось сохранить или прочитать данные."),
        _AGAIN,
    ),
    "internal_error": CatalogueEntry(
        Stage.CONTEXT,
        True,
        Text(
            "An internal error stopped the request; its cause is logged under the request id.",
            "Внутренняя ошибка остановила запрос; причина записана в журнал под идентификатором запроса.",
        ),
        _AGAIN,
    ),
    "approval_expired": CatalogueEntry(
        Stage.POLICY,
        False,
        Text(
            "The approval expired before anybody resolved it; nothing was executed.",
            "Срок действия одобрения истёк, а решение так и не было принято; ничего не выполнено.",
        ),
        Text("Send a message to ask for a fresh approval.", "Напишите сообщение, чтобы запросить новое одобрение."),
    ),
    "approval_stale": CatalogueEntry(
        Stage.POLICY,
        False,
        Text(
            "What this approval was bound to has changed since it was shown.",
            "То, к чему относилось это одобрение, с тех пор изменилось.",
        ),
        Text("Approve what is shown now.", "Одобрите то, что показано сейчас."),
    ),
    "approval_rejected": CatalogueEntry(
        Stage.POLICY,
        False,
        Text("The approval was rejected.", "В одобрении отказано."),
    ),
}

TEXTS: dict[str, Text] = {
    "reply_skip": Text("Skip", "Пропустить"),
    "reply_yes": Text("Yes", "Да"),
    "reply_no": Text("No", "Нет"),
    "reply_approve": Text("Approve", "Одобрить"),
    "reply_reject": Text("Reject", "Отклонить"),
    "reply_request_changes": Text("Request changes", "Запросить изменения"),
    "reason_canceled": Text("Canceled on request.", "Отменено по просьбе пользователя."),
    "reason_rejected": Text("The approval was rejected.", "В одобрении отказано."),
    "reason_superseded": Text("A new request took its place.", "Его сменил новый запрос."),
}


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure made here. `confirmed_steps` are bytes of ConfirmedStep, oldest first (G3)."""

    stage: Stage
    code: str
    explanation: str
    helpful_action: str
    retryable: bool
    request_id: str
    progress: Progress
    confirmed_steps: tuple[bytes, ...] = ()
    source_code: str = ""


def make_failure(
    code: str,
    locale: str,
    request_id: str,
    confirmed_steps: tuple[bytes, ...],
    *,
    unknown: bool = False,
    source_code: str = "",
    **values: str,
) -> Failure:
    """The catalogue's failure in `locale`; `values` fill its texts. Raises KeyError for a code it lacks."""
    entry = CATALOGUE[code]
    if unknown:
        progress = Progress.UNKNOWN
    else:
        progress = Progress.PARTIAL if confirmed_steps else Progress.NOT_EXECUTED
    return Failure(
        entry.stage,
        code,
        entry.explanation.of(locale, **values),
        entry.helpful_action.of(locale, **values),
        entry.retryable,
        request_id,
        progress,
        confirmed_steps,
        source_code,
    )
