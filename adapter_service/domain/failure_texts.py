"""Explanations and helpful actions of the failures that the engine itself reports, in English and Russian (G1).

A tool's own ToolError brings its texts along. `{text}` quotes the user's own words, shortened by `quote`; every other
placeholder is filled with a title or label.
"""

from __future__ import annotations

from adapter_service.sdk import Text

MOST_QUOTED_CHARACTERS = 80


def quote(text: str) -> Text:
    """The user's words as a question or explanation repeats them: one line, shortened."""
    line = " ".join(text.split())
    short = line if len(line) <= MOST_QUOTED_CHARACTERS else line[: MOST_QUOTED_CHARACTERS - 1].rstrip() + "…"
    return Text(short, short)


def filled(template: Text, **names: Text) -> Text:
    """A text with its placeholders filled in each locale."""
    return Text(
        template.en.format(**{key: value.en for key, value in names.items()}),
        template.ru.format(**{key: value.ru for key, value in names.items()}),
    )


PLAN_INVALID = Text(
    "The plan for this request was not valid, so it was stopped here.",
    "План для этого запроса оказался некорректным, поэтому выполнение остановлено.",
)
PLAN_INVALID_HELP = Text("Say the request in other words.", "Сформулируйте запрос иначе.")
NOTHING_FOUND = Text(
    "{title}: the step before found nothing to go on with.", "{title}: предыдущий шаг ничего не нашёл."
)
NO_ARTIFACT = Text("There is no {kind} to work with yet.", "Пока нет того, с чем нужно работать: {kind}.")
NO_ARTIFACT_HELP = Text("Create it first.", "Сначала нужно это создать.")
NOT_ACCEPTED = Text("“{text}” is not an accepted value.", "Значение «{text}» не подходит.")
TOOL_FAILED = Text(
    "{title}: the step failed for an internal reason.", "{title}: шаг не выполнен из-за внутренней ошибки."
)
TOOL_TIMEOUT = Text(
    "{title}: the step took too long and was stopped.", "{title}: шаг занял слишком много времени и был остановлен."
)
TRY_AGAIN = Text("Try again.", "Повторите попытку.")
TOOL_INPUT_INVALID = Text("{title}: the input is not valid.", "{title}: недопустимые входные данные.")
OUTCOME_UNKNOWN = Text(
    "{title}: it is not known whether the step took effect.", "{title}: неизвестно, был ли шаг выполнен."
)
OUTCOME_UNKNOWN_HELP = Text(
    "Check the target system and settle the outcome; do not simply repeat it.",
    "Проверьте результат во внешней системе; не повторяйте действие вслепую.",
)
VALIDATION_FAILED = Text("The validation failed: {findings}", "Проверка не пройдена: {findings}")
ARTIFACT_MOVED = Text(
    "{title}: the document was changed meanwhile, so this change was not made.",
    "{title}: документ тем временем изменился, поэтому правка не внесена.",
)
UNVERIFIED_IDENTITY = Text(
    "The composed answer named something that no result contains, so it is not shown.",
    "Составленный ответ называл то, чего нет ни в одном результате, поэтому он не показан.",
)
CLAIMED_CHANGE = Text(
    "The composed answer claimed an action that was not executed, so it is not shown.",
    "Составленный ответ сообщал о действии, которое не выполнялось, поэтому он не показан.",
)
ANSWER_EMPTY = Text("No answer could be composed.", "Составить ответ не удалось.")
CHANGES_UNCLEAR = Text(
    "It did not become clear what should be changed.", "Не удалось понять, что именно нужно изменить."
)
WHAT_TO_CHANGE = Text("What should be changed in “{title}”?", "Что нужно изменить в «{title}»?")
ASK_LABEL = Text("Please give: {label}.", "Укажите: {label}.")
WHICH_ONE = Text(
    "“{text}” can mean several things. Which one do you mean?",
    "«{text}» может означать разное. Что вы имеете в виду?",
)
POLICY_OUTDATED = Text(
    "This service still works by older rules than those in force, so nothing more was executed.",
    "Служба всё ещё работает по старым правилам, хотя действуют новые, поэтому больше ничего не выполнено.",
)
POLICY_OUTDATED_HELP = Text(
    "An operator has to start the newer version of the service.",
    "Администратору нужно запустить более новую версию службы.",
)
DEMO_FACT = Text("{label} is a demonstration value.", "{label} — демонстрационное значение.")
NOT_UNDERSTOOD = Text(
    "I did not understand this request. I can do the following: {titles}.",
    "Не удалось понять запрос. Я умею следующее: {titles}.",
)
NOTHING_TO_CANCEL = Text("There is nothing to cancel.", "Отменять нечего.")
