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
TOOL_INPUT_INVALID = CATALOGUE["tool_input_invalid"].explanation
OUTCOME_UNKNOWN = _UNKNOWN.explanation
OUTCOME_UNKNOWN_HELP = _UNKNOWN.helpful_action
SETTLED_NOT_EXECUTED = CATALOGUE["settled_not_executed"].situations["step"].explanation
SETTLED_EXECUTED = Text("{title}: confirmed by {by}.", "{title}: выполнение подтверждено ({by}).")
VALIDATION_FAILED = CATALOGUE["validation_failed"].situations["findings"].explanation
ARTIFACT_MOVED = CATALOGUE["tool_failed"].situations["artifact_changed"].explanation
UNVERIFIED_IDENTITY = CATALOGUE["unverified_identity"].explanation
CLAIMED_CHANGE = CATALOGUE["claimed_change_not_executed"].explanation
ANSWER_EMPTY = CATALOGUE["answer_empty"].explanation
CHANGES_UNCLEAR = CATALOGUE["clarification_limit_reached"].situations["changes"].explanation
WHAT_TO_CHANGE = Text("What should be changed in “{title}”?", "Что нужно изменить в «{title}»?")
ASK_LABEL = Text("Please give: {label}.", "Укажите: {label}.")
WHICH_ONE = Text(
    "“{text}” can mean several things. Which one do you mean?",
    "«{text}» может означать разное. Что вы имеете в виду?",
)
POLICY_OUTDATED = CATALOGUE["policy_version_outdated"].explanation
POLICY_OUTDATED_HELP = CATALOGUE["policy_version_outdated"].helpful_action
DEMO_FACT = Text("{label} is a demonstration value.", "{label} — демонстрационное значение.")
NOT_UNDERSTOOD = Text(
    "I did not understand this request. I can do the following: {titles}.",
    "Не удалось понять запрос. Я умею следующее: {titles}.",
)
NOTHING_TO_CANCEL = Text("There is nothing to cancel.", "Отменять нечего.")
