"""What a session's newest interaction is at and what would take it on, in one or two sentences. Called by get_session.

The words are about the state alone: titles of tools, labels of slots, findings and roles, never what a user wrote.
"""

from __future__ import annotations

from datetime import datetime

from adapter_service.application.decide.request_change import failing_slots
from adapter_service.application.decide.turn import Situation
from adapter_service.domain.approval import Mismatch
from adapter_service.domain.artifact import ArtifactVersion
from adapter_service.domain.ledger import ExecutionState
from adapter_service.domain.plan import Plan, Question, RevisionOffer, Task, TaskState
from adapter_service.sdk import Domain, Text

_NO_REQUEST = Text("There was no request yet.", "Запросов ещё не было.")
_CLOSED = Text(
    "The request was canceled or replaced: nothing of it begins any more.",
    "Запрос отменён или заменён другим: больше ничего из него не начнётся.",
)
_COMPLETED = Text("The request was answered.", "Запрос выполнен, ответ дан.")
_ENDED_AT = Text("The request has ended before “{title}” was done.", "Запрос завершён, «{title}» не выполнено.")
_ENDED_FAILED = Text("The request has ended: “{title}” failed.", "Запрос завершён: не удалось выполнить «{title}».")
_QUESTION = Text("Waits for an answer about {slot} of “{title}”.", "Ожидает ответа: {slot} для «{title}».")
_ABOUT_CHANGES = Text("Waits for an answer: what to change in “{title}”.", "Ожидает ответа: что изменить в «{title}».")
_REVISE = Text(
    "Validation failed: {findings} Only “{title}” is offered; every change waits for a version that passes.",
    "Проверка не пройдена: {findings} Предлагается только «{title}»; изменения ждут версии, которая пройдёт проверку.",
)
_APPROVAL = Text(
    "Waits for an approval of “{title}” by the role {role} until {time}.",
    "Ожидает одобрения: «{title}», роль {role}, до {time}.",
)
_NO_LONGER = Text(
    "What was shown is no longer what would be executed ({differs}): a verdict leads to a fresh approval.",
    "Показанное больше не совпадает с тем, что было бы выполнено ({differs}): после решения будет запрошено новое "
    "одобрение.",
)
_OUTDATED = Text(
    "This service works by older rules than those in force: a verdict executes nothing.",
    "Эта служба работает по правилам старее действующих: решение ничего не выполнит.",
)
_EXECUTES = Text("Executes: {titles}.", "Выполняется: {titles}.")
_UNKNOWN = Text(
    "The outcome of “{title}” is unknown: a person has to settle it.",
    "Исход «{title}» неизвестен: его должен подтвердить человек.",
)
_UNTIL = Text("“{title}” waits until {time}.", "«{title}» ожидает до {time}.")
_SIGNAL = Text("“{title}” waits for the signal {signal} until {time}.", "«{title}» ожидает сигнала {signal} до {time}.")
_DECIDES = Text("The next step is being decided.", "Определяется следующий шаг.")


def explain(domain: Domain, situation: Situation, mismatch: Mismatch | None, *, is_outdated: bool) -> Text:
    """The sentence. `mismatch` is what keeps the open approval from letting its call through, besides its verdict;
    `is_outdated`: another process has brought a newer tool or policy version than this one has.
    """
    plan, interaction = situation.plan, situation.interaction
    if interaction is None:
        return _NO_REQUEST
    unknown = [each for each in situation.executions.values() if each.state is ExecutionState.UNKNOWN]
    if unknown:
        return _UNKNOWN.filled(title=_title(domain, unknown[0].tool))
    if interaction.closed and not plan.ended:
        return _CLOSED
    if plan.ended:
        return _ended(domain, plan)
    if plan.offer is not None:
        return _offered(domain, situation, plan.offer)
    if plan.approval_digest:
        return _approval(domain, situation, mismatch, is_outdated=is_outdated)
    if plan.question is not None:
        return _asked(domain, situation, plan.question)
    if plan.calls:
        called = [task.tool for task in plan.tasks if task.tool_call_id in plan.calls]
        return _EXECUTES.filled(titles=_joined([_title(domain, tool) for tool in called]))
    if plan.awaited:
        return _awaited(domain, plan.task(plan.awaited))
    return _DECIDES


def _ended(domain: Domain, plan: Plan) -> Text:
    failed = next((task for task in plan.tasks if task.state is TaskState.FAILED), None)
    if failed is not None:
        return _ENDED_FAILED.filled(title=_title(domain, failed.tool))
    left = next((task for task in plan.tasks if task.state in (TaskState.OPEN, TaskState.CALLED)), None)
    return _COMPLETED if left is None else _ENDED_AT.filled(title=_title(domain, left.tool))


def _offered(domain: Domain, situation: Situation, offer: RevisionOffer) -> Text:
    version = _artifact(situation, offer.artifact_id)
    validation = situation.validations.get(offer.artifact_id)
    kind = domain.kind(version.kind) if version is not None else None
    findings = list(failing_slots(domain, validation, kind).values()) if kind is not None else []
    return _REVISE.filled(findings=_joined(findings, " "), title=_title(domain, offer.action_id))


def _approval(domain: Domain, situation: Situation, mismatch: Mismatch | None, *, is_outdated: bool) -> Text:
    approval = situation.approval
    assert approval is not None  # the plan names it, and approvals are never removed
    shown = approval.snapshot
    waits = _APPROVAL.filled(
        title=_title(domain, shown.tool), role=_plain(shown.required_role), time=_time(shown.expire_time)
    )
    if is_outdated:
        return _joined([waits, _OUTDATED], " ")
    return waits if mismatch is None else _joined([waits, _NO_LONGER.filled(differs=_plain(mismatch.differs))], " ")


def _asked(domain: Domain, situation: Situation, question: Question) -> Text:
    task = situation.plan.task(question.task_id)
    if question.about_changes:
        return _ABOUT_CHANGES.filled(title=_title(domain, task.tool))
    declared = domain.tool(task.tool).slots.get(question.slot) if domain.has_tool(task.tool) else None
    label = declared.label if declared is not None else None
    return _QUESTION.filled(slot=label or _plain(question.slot), title=_title(domain, task.tool))


def _awaited(domain: Domain, task: Task) -> Text:
    assert task.wait is not None  # the plan says so
    title, time = _title(domain, task.tool), _time(task.wait.due)
    if task.wait.signal:
        return _SIGNAL.filled(title=title, signal=_plain(task.wait.signal), time=time)
    return _UNTIL.filled(title=title, time=time)


def _artifact(situation: Situation, artifact_id: str) -> ArtifactVersion | None:
    return next((version for version in situation.artifacts if version.artifact_id == artifact_id), None)


def _title(domain: Domain, tool: str) -> Text:
    return domain.tool(tool).title if domain.has_tool(tool) else _plain(tool)


def _plain(text: str) -> Text:
    return Text(text, text)


def _joined(parts: list[Text], by: str = "; ") -> Text:
    return Text(by.join(part.en for part in parts), by.join(part.ru for part in parts))


def _time(time: datetime) -> Text:
    return _plain(time.strftime("%Y-%m-%d %H:%M UTC"))
