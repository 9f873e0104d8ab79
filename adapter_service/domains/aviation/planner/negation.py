"""A command that is forbidden: "don't file a flight plan", "you should not change it", «не надо подавать план».

Called by the grammar for every clause. No tool leaves a thing undone, so such a clause is refused by these words.
"""

from __future__ import annotations

from typing import Final

from adapter_service.domains.aviation.planner.lexicon import is_a, word_set
from adapter_service.domains.aviation.planner.tokens import Token
from adapter_service.domains.aviation.planner.word_kinds import Cat

_NEGATORS: Final = word_set("not don't dont doesn't shouldn't mustn't needn't never cannot не нельзя незачем")
# What drafts, changes or files; "fly to Oslo instead" changes a plan too.
_COMMANDS: Final = (Cat.FILE, Cat.DRAFT, Cat.CHANGE, Cat.REMOVE)
_CONTRASTS: Final = ("but", "а")
# What may stand between the two; «не могли бы вы подать» is only polite, so that no such word is among these.
_BETWEEN: Final = word_set(
    """
    want wanted wish going like have to you me us we i yet ever please just actually now be bother try even already
    really automatically either must should would
    надо нужно нужен нужна стоит следует хочу хотим хочется хотел хотела хотелось бы буду будем будет мне нам пока
    сейчас пожалуйста еще больше собираюсь планирую вздумай смей должен должна должны требуется необходимо ты вы
    никогда уже никуда ничего за меня
    """
)
_UNWANTED: Final = word_set("надо нужно стоит следует хочу хотим требуется необходимо")
_PLEASE: Final = ("please", "пожалуйста")


def negated_command(words: list[Token]) -> str:
    """The words of a forbidden command, as they were written; "" where nothing is forbidden."""
    commands = [index for index, token in enumerate(words) if _is_command(words, index, token)]
    for index, token in enumerate(words):
        needless = token.lower == "no" and _lower(words, index + 1) == "need"
        if token.lower not in _NEGATORS and not needless:
            continue
        behind = index + 1
        while behind < len(words) and behind not in commands and _may_stand_between(words, behind):
            behind += 1
        forbidden = behind in commands and _lower(words, behind + 1) != "ли"
        if forbidden or _forbids_what_was_said(words, index, bool(commands and commands[0] < index)):
            return " ".join(word.text for word in words[index : behind + 1])
    return ""


def _is_command(words: list[Token], index: int, token: Token) -> bool:
    if is_a(token, Cat.FLY):  # "not flying to Oslo but to Rome" corrects
        command = not any(word.lower in _CONTRASTS for word in words[index:])
    else:
        command = is_a(token, *_COMMANDS)
    return command and not (token.lower in _BETWEEN and _lower(words, index + 1) in _BETWEEN)


def _lower(words: list[Token], index: int) -> str:
    return words[index].lower if 0 <= index < len(words) else ""


def _may_stand_between(words: list[Token], index: int) -> bool:
    if words[index].text == ",":
        return _lower(words, index - 1) in _PLEASE or _lower(words, index + 1) in _PLEASE
    return words[index].lower in _BETWEEN


def _forbids_what_was_said(words: list[Token], index: int, after_command: bool) -> bool:
    """«План подавать не надо», "file it? Please don't": the negation stands behind."""
    token = words[index]
    if token.lower == "не":
        return after_command and _lower(words, index + 1) in _UNWANTED
    ends = all(word.kind == "mark" or word.lower in _BETWEEN for word in words[index + 1 :])
    return ends and (token.lower in ("don't", "dont") or (token.lower == "not" and _lower(words, index - 1) == "do"))
