"""The engine's words: explanations of the failures it reports, from the shared catalogue (G1), and its questions.

A tool's own ToolError brings its texts along. `{text}` quotes the user's own words, shortened by `quote`; every other
placeholder is filled with a title or label.
"""

from __future__ import annotations

from adapter_service.sdk import Text
from handrail_rpc.failure_catalogue import CATALOGUE

MOST_QUOTED_CHARACTERS = 80


def quote(text: str) -> Text:
    """The user's words as a question or explanation repeats them: one line, shortened."""
    line = " ".join(text.split())
    short = line if len(line) <= MOST_QUOTED_CHARACTERS else line[: MOST_QUOTED_CHARACTERS - 1].rstrip() + "…"
    return Text(short, short)


def filled(template: Text, **names: Text) -> Text:
    """A text with its placeholders filled in each locale."""
    return template.filled(**names)


_PLAN = CATALOGUE["plan_invalid"].situations["plan"]
_ARTIFACT = CATALOGUE["entity_not_found"].situations["artifact"]
_UNKNOWN = CATALOGUE["tool_outcome_unknown"].situations["step"]

PLAN_INVALID = _PLAN.explanation
PLAN_INVALID_HELP = _PLAN.helpful_action
NOTHING_FOUND = CATALOGUE["entity_not_found"].explanation
NO_ARTIFACT = _ARTIFACT.explanation
NO_ARTIFACT_HELP = _ARTIFACT.helpful_action
NOT_ACCEPTED = CATALOGUE["tool_input_invalid"].situations["text"].explanation
TOOL_FAILED = CATALOGUE["tool_failed"].explanation
TOOL_TIMEOUT = CATALOGUE["tool_timeout"].explanation
TRY_AGAIN = CATALOGUE["tool_timeout"].helpful_action
RESULT_TOO_LARGE = CATALOGUE["tool_result_too_large"].explanation
RESULT_TOO_LARGE_HELP = CATALOGUE["tool_result_too_large"].helpful_action
THE_RESULT = Text("result", "результат")
THE_ARTIFACT = Text("artifact", "документ")
TOOL_INPUT_INVALID = CATALOGUE["tool_input_invalid"].explanation
OUTCOME_UNKNOWN = _UNKNOWN.explanation
OUTCOME_UNKNOWN_HELP = _UNKNOWN.helpful_action
SETTLED_NOT_EXECUTED = CATALOGUE["settled_not_executed"].situations["step"].explanation
SETTLED_EXECUTED = Text("{title}: confirmed by {by}.", "{title}: выполнение подтверждено ({by}).")
VALIDATION_FAILED = CATALOGUE["validation_failed"].situations["findings"].explanation
ARTIFACT_MOVED = CATALOGUE["tool_failed"].situations["artifact_changed"].explanation
UNVERIFIED_IDENTITY = CATALOGUE["unverified_identity"].explanation
UNVERIFIED_CITATION = CATALOGUE["unverified_citation"].explanation
CITATION_UNCONFIRMED = Text(
    "The source “{name}” that the answer names is not confirmed.",
    "Источник «{name}», названный в ответе, не подтверждён.",
)
CLAIMED_CHANGE = CATALOGUE["claimed_change_not_executed"].explanation
ANSWER_EMPTY = CATALOGUE["answer_empty"].explanation
CHANGES_UNCLEAR = CATALOGUE["clarification_limit_reached"].situations["changes"].explanation
WHAT_TO_CHANGE = Text("What should be changed in “{title}”?", "Что нужно изменить в «{title}»?")
WHICH_ONE = Text(
    "“{text}” can mean several things. Which one do you mean?",
    "«{text}» может означать разное. Что вы имеете в виду?",
)
CHOOSE_FROM = Text("Choose a number from 1 to {most}.", "Выберите номер от 1 до {most}.")
DID_YOU_MEAN = Text(
    "I do not know “{text}”. Did you mean this?", "Я не знаю «{text}». Может быть, вы имели в виду это?"
)
POLICY_OUTDATED = CATALOGUE["policy_version_outdated"].explanation
POLICY_OUTDATED_HELP = CATALOGUE["policy_version_outdated"].helpful_action
DEMO_FACT = Text("{label} is a demonstration value.", "{label} — демонстрационное значение.")
NOT_UNDERSTOOD = Text(
    "I did not understand this request. I can do the following: {titles}.",
    "Не удалось понять запрос. Я умею следующее: {titles}.",
)
NOTHING_TO_CANCEL = Text("There is nothing to cancel.", "Отменять нечего.")
VANISHED = Text("“{text}” is no longer there.", "«{text}» больше нет.")
SNAPSHOT_UNKNOWN = CATALOGUE["workspace_snapshot_unknown"].explanation
SNAPSHOT_UNKNOWN_HELP = CATALOGUE["workspace_snapshot_unknown"].helpful_action
WORKSPACE_PATH = Text(
    "The path is not one that a workspace takes: relative, with / between names, at most 240 characters, no hidden "
    "names, none that differs from another's in case only.",
    "Такой путь недопустим: нужен относительный путь с / между именами, не длиннее 240 символов, без скрытых имён и "
    "без отличий от других только регистром.",
)
WORKSPACE_FILE_TOO_LARGE = Text(
    "The file would be larger than 2 MiB, which is the limit.", "Файл получился бы больше допустимых 2 МиБ."
)
WORKSPACE_FULL = Text(
    "The workspace would have more than 20,000 files or 200 MiB, which are its limits.",
    "В рабочей области стало бы больше допустимых 20 000 файлов или 200 МиБ.",
)
WORKSPACE_NOT_WRITABLE = Text(
    "The file could not be written; nothing was changed.", "Файл не удалось записать; ничего не изменено."
)
