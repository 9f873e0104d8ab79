"""Failures that this service itself tells, made from the shared catalogue, and the Loop's other short texts (G1).

Failures that the Adapter decides carry their own texts and pass through as bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from handrail_rpc.failure_catalogue import CATALOGUE
from handrail_rpc.failure_catalogue import of_stage as catalogue_codes
from handrail_rpc.failure_entry import Stage
from handrail_rpc.localized_text import Text

__all__ = ["CATALOGUE", "CHANNEL_CODES", "TEXTS", "Failure", "Progress", "Stage", "Text", "make_failure"]


CHANNEL_CODES = catalogue_codes(Stage.CHANNEL)
"""What a client may report of its own channel."""


class Progress(StrEnum):
    UNSPECIFIED = "unspecified"
    """Of a failure that is no failure of a run."""
    NOT_EXECUTED = "not_executed"
    PARTIAL = "partial"
    UNKNOWN = "unknown"


TEXTS: dict[str, Text] = {
    "reply_skip": Text("Skip", "Пропустить"),
    "reply_yes": Text("Yes", "Да"),
    "reply_no": Text("No", "Нет"),
    "reply_approve": Text("Approve", "Одобрить"),
    "reply_reject": Text("Reject", "Отклонить"),
    "reply_request_changes": Text("Request changes", "Запросить изменения"),
    "reason_canceled": Text("Canceled on request.", "Отменено по просьбе пользователя."),
    "reason_rejected": CATALOGUE["approval_rejected"].explanation,
    "settle_it": Text(
        "Then settle it: handrail settle {interaction_id} {tool_call_id} with --happened, --did-not-happen or "
        "--try-again.",
        "Затем зафиксируйте исход: handrail settle {interaction_id} {tool_call_id} с ключом --happened, "
        "--did-not-happen или --try-again.",
    ),
    "reason_deleted": Text("The conversation was deleted.", "Беседа удалена."),
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
