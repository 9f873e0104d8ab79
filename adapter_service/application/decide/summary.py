"""One sentence about a decision, in the caller's locale, for the event stream. Called by `decide`."""

from __future__ import annotations

from adapter_service.application.decide.turn import Turn
from adapter_service.domain.decision import (
    Ask,
    Blocked,
    CallTools,
    Choose,
    Complete,
    DecisionOutcome,
    Fail,
    RequestApproval,
    Wait,
)
from adapter_service.sdk import ReplyVerdict, Text

_VERDICTS = {
    ReplyVerdict.NEW_REQUEST: Text("The text is a new request.", "Сообщение — новый запрос."),
    ReplyVerdict.CANCEL: Text("The text withdraws the request.", "Сообщение отменяет запрос."),
    ReplyVerdict.UNCLEAR: Text("It is unclear what the text refers to.", "Неясно, к чему относится сообщение."),
}
_APPROVAL = Text("An approval is needed: ", "Нужно одобрение: ")
_COMPLETE = Text("The request is answered.", "Ответ готов.")


_SIGNAL = Text("Waiting for the signal “{name}”.", "Ожидается сигнал «{name}».")
_TIME = Text("Waiting for {seconds} s.", "Пауза: {seconds} с.")


def _told_wait(wait: Wait, turn: Turn) -> str:
    if wait.until is None:
        return _SIGNAL.localized(turn.locale).format(name=wait.signal)
    return _TIME.localized(turn.locale).format(seconds=f"{wait.until.total_seconds():.0f}")


def summary_of_outcome(turn: Turn, outcome: DecisionOutcome | None) -> str:
    """The sentence; at most a few hundred characters."""
    match outcome:
        case None:
            return _VERDICTS[turn.verdict].localized(turn.locale) if turn.verdict in _VERDICTS else ""
        case Ask():
            return outcome.question
        case CallTools(calls):
            return "; ".join(call.summary for call in calls)
        case Choose(actions):
            return "; ".join(action.title for action in actions)
        case RequestApproval():
            return f"{_APPROVAL.localized(turn.locale)}{outcome.title}"
        case Wait():
            return _told_wait(outcome, turn)
        case Complete():
            return _COMPLETE.localized(turn.locale)
        case Fail(failure):
            return failure.explanation
        case Blocked(block):
            return block.explanation
