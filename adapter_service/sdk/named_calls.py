"""From a message that names tools and their arguments to tasks: the grammar of NamedToolPlanner, which calls it.

"lend_book Moby Dick days=14; list loans" — the first words name a tool, then come pairs and the values of the required
parameters in their order. Everything the domain has to say stays with the engine: texts are resolved, types checked,
missing values asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from adapter_service.sdk.memory import Memory
from adapter_service.sdk.named_words import Word, words_of
from adapter_service.sdk.parameter_values import takes_text
from adapter_service.sdk.plan import ArtifactFill, Fill, ResultFill, TaskDraft, TextFill
from adapter_service.sdk.text import Text
from adapter_service.sdk.tool import Tool

MOST_NAME_WORDS = 8
_THEN = ("then", "затем", "потом")
_RESULT = re.compile(r"\$(\w+)((?:\.\w+)*)")
_NAME_PARTS = re.compile(r"[-_\s]+")

_UNKNOWN_PARAMETER = Text(
    "“{tool}” has no “{given}”. It takes: {accepted}. Text with a colon or an equals sign goes in quotes.",
    "У «{tool}» нет «{given}». Можно указать: {accepted}. Текст с двоеточием или знаком равенства берётся в кавычки.",
)
_TOO_MANY = Text(
    "“{tool}” does not take “{given}”. It takes: {accepted}.",
    "«{tool}» не принимает «{given}». Можно указать: {accepted}.",
)
_NO_SUCH_RESULT = Text(
    "“{given}” names no earlier action of this message; write $1 for the first one.",
    "«{given}» не указывает на предыдущее действие этого сообщения; первое обозначается $1.",
)
_NOTHING = Text("nothing", "ничего")


class NotUnderstood(Exception):
    """A message names a tool, and arguments that it does not take; `reply` says what it takes."""

    def __init__(self, reply: Text) -> None:
        super().__init__(reply.en)
        self.reply = reply


@dataclass(frozen=True)
class ToolNames:
    """How messages name the tools of a domain: by name and by title in both languages, in any case."""

    tools: Sequence[Tool]
    _by_words: Mapping[tuple[str, ...], Tool] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Names go before titles; of equal titles the first tool's counts."""
        found: dict[tuple[str, ...], Tool] = {}
        for names in ((tool.name for tool in self.tools), (tool.title.en for tool in self.tools)):
            for name, tool in zip(names, self.tools, strict=True):
                found.setdefault(_parts(name), tool)
        for tool in self.tools:
            found.setdefault(_parts(tool.title.ru), tool)
        object.__setattr__(self, "_by_words", found)

    def named(self, words: Sequence[Word]) -> tuple[Tool, int] | None:
        """The tool that the first words name, as many of them as possible, and how many words that took."""
        said: list[str] = []
        best: tuple[Tool, int] | None = None
        for count, word in enumerate(words[:MOST_NAME_WORDS], 1):
            heads = bool(word.key) and word.sign == ":" and not word.text  # "lend book: Moby Dick"
            if (word.key and not heads) or word.quoted or word.ends_call:
                break
            said += _parts(word.key or word.text)
            tool = self._by_words.get(tuple(said))
            if tool is not None:
                best = (tool, count)
            if heads:
                break
        return best


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part for part in _NAME_PARTS.split(name.casefold()) if part)


def accepted_of(tool: Tool) -> Text:
    """The parameters of a tool as a message names them."""
    names = ", ".join(tool.parameters)
    return Text(names, names) if names else _NOTHING


def calls_of(message: str, names: ToolNames) -> list[tuple[Tool, list[Word]]] | None:
    """The named tools, each with its words; None where a part of the message names none."""
    parts: list[list[Word]] = [[]]
    words = list(words_of(message))
    for index, word in enumerate(words):
        # "now and then" is no separator: a tool has to follow.
        follows = (
            not word.quoted
            and word.raw.casefold() in _THEN
            and names.named(words[index + 1 : index + 1 + MOST_NAME_WORDS]) is not None
        )
        if word.ends_call or follows:
            parts.append([])
        else:
            parts[-1].append(word)
    calls: list[tuple[Tool, list[Word]]] = []
    for part in parts:
        found = names.named(part)
        if found is not None:
            calls.append((found[0], part[found[1] :]))
        elif part:
            return None
    return calls or None


def drafts_of(calls: Iterable[tuple[Tool, list[Word]]], memory: Memory) -> tuple[TaskDraft, ...]:
    """Tasks in the order of the calls. Raises NotUnderstood for arguments that a tool does not take."""
    made: list[tuple[Tool, TaskDraft]] = []
    for tool, words in calls:
        given, values = _arguments(tool, words)
        given.update(_positional(tool, given, values))
        fills: dict[str, Fill] = {}
        for name in tool.parameters:
            if name in tool.artifacts:
                artifact = _artifact(tool, name, given.get(name), made, memory)
                if artifact is not None:
                    fills[name] = artifact
            elif name in given:
                fills[name] = _fill(given[name], made)
        after = (made[-1][1].name,) if made and made[-1][0].may_wait else ()
        made.append((tool, TaskDraft(f"call_{len(made) + 1}", tool.name, fills, after)))
    return tuple(draft for _, draft in made)


def pairs_of(message: str) -> dict[str, str] | None:
    """The pairs of a message that holds nothing else, such as "days=7"; None for any other message."""
    pairs: dict[str, list[str]] = {}
    name, takes = "", ""  # the pair whose value still takes words: one behind "=", all behind ":"
    for word in words_of(message):
        if word.key:
            name = _parameter(word.key)
            pairs[name] = [word.text] if word.text else []
            takes = "" if word.text or word.quoted else word.sign
        elif takes and not word.ends_call:
            pairs[name].append(word.text)
            takes = takes if takes == ":" else ""
        else:
            return None
    return {name: " ".join(values) for name, values in pairs.items()} or None


def _parameter(key: str) -> str:
    return key.replace("-", "_").casefold()


def _arguments(tool: Tool, words: Sequence[Word]) -> tuple[dict[str, str], list[str]]:
    """Pairs by parameter, and the other words."""
    pairs: dict[str, str] = {}
    values: list[str] = []
    known = [_is_pair(tool, word) for word in words]
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not known[index - 1]:
            values.append(word.text if not word.key else word.raw)
            continue
        if word.text or word.quoted:
            pairs[_parameter(word.key)] = word.text
            continue
        taken: list[str] = []
        while index < len(words) and not known[index] and not (word.sign == "=" and taken):
            taken.append(words[index].text if not words[index].key else words[index].raw)
            index += 1
        pairs[_parameter(word.key)] = " ".join(taken)
    return {name: text for name, text in pairs.items() if text}, values


def _is_pair(tool: Tool, word: Word) -> bool:
    """Whether a word with a key is a pair. Raises NotUnderstood for one that names no parameter; "at 10:30" is none."""
    if not word.key:
        return False
    if _parameter(word.key) in tool.parameters:
        return True
    if word.sign == ":" and word.text:
        return False
    given = Text(word.key, word.key)
    raise NotUnderstood(_UNKNOWN_PARAMETER.filled(tool=tool.title, given=given, accepted=accepted_of(tool)))


def _positional(tool: Tool, given: Mapping[str, str], values: Sequence[str]) -> dict[str, str]:
    """Words for the parameters that no pair names: the last one that takes any text gets the words that are left."""
    if not values:
        return {}
    free = [name for name in tool.parameters if name not in given and name not in tool.artifacts]
    if not free:
        said = Text(" ".join(values), " ".join(values))
        raise NotUnderstood(_TOO_MANY.filled(tool=tool.title, given=said, accepted=accepted_of(tool)))
    names = [name for name in free if tool.is_required(name)]
    if not names:  # of optional ones the last that takes any text is meant, else the first
        taking = [name for name in free if takes_any_text(tool, name)]
        return {(taking or free[:1])[-1]: " ".join(values)}
    texts = [index for index, name in enumerate(names) if takes_any_text(tool, name)]
    greedy = texts[-1] if texts else len(names) - 1
    left = list(values)
    found: dict[str, str] = {}
    for name in names[:greedy]:
        if len(left) > 1:
            found[name] = left.pop(0)
    for name in reversed(names[greedy + 1 :]):
        if len(left) > 1 and _fits(tool, name, left[-1]):
            found[name] = left.pop()
    found[names[greedy] if len(found) >= greedy or texts else names[0]] = " ".join(left)
    return found


def takes_any_text(tool: Tool, name: str) -> bool:
    """Whether any words can be a value of the parameter, or be understood by its resolver."""
    slot = tool.slots.get(name)
    if slot is not None and slot.resolver:
        return True
    return not tool.choices(name) and takes_text(tool.type_of(name).json_schema())


def _fits(tool: Tool, name: str, text: str) -> bool:
    slot = tool.slots.get(name)
    if _RESULT.fullmatch(text) or (slot is not None and slot.resolver):
        return True
    try:
        tool.parse(name, text)
    except ValueError:
        return False
    return True


def _fill(text: str, made: Sequence[tuple[Tool, TaskDraft]]) -> Fill:
    """The user's words, or for "$1.books.0.title" a part of the result of an earlier call."""
    result = _RESULT.fullmatch(text)
    if result is None:
        return TextFill(text)
    named = _parameter(result[1])
    for number, (tool, draft) in reversed(list(enumerate(made, 1))):
        if named in (str(number), tool.name):
            return ResultFill(draft.name, result[2].removeprefix("."))
    raise NotUnderstood(_NO_SUCH_RESULT.filled(given=Text(text, text)))


def _artifact(
    tool: Tool, name: str, given: str | None, made: Sequence[tuple[Tool, TaskDraft]], memory: Memory
) -> ArtifactFill | None:
    """The named artifact, else the one made last in this message, else the session's newest of that kind."""
    kind = tool.artifacts[name]
    of_kind = [artifact for artifact in memory.artifacts if artifact.kind == kind]
    if given is not None:
        for artifact in of_kind:
            if given in (artifact.artifact_id, artifact.title) or given.casefold() == artifact.title.casefold():
                return ArtifactFill(artifact_id=artifact.artifact_id)
        return ArtifactFill(artifact_id=given)
    if not tool.is_required(name):
        return None
    for maker, draft in reversed(made):
        if maker.makes_kind == kind:
            return ArtifactFill(task=draft.name)
    return ArtifactFill(artifact_id=of_kind[0].artifact_id) if of_kind else None
