"""The labelled requests as data: their form, and the loader that names file, case and field of what is wrong.

docs/evaluation.md explains each field. Called by the command and by tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator

CASES_FOLDER: Final = Path(__file__).parent / "cases"
WORKSPACE_FOLDER: Final = Path(__file__).parent / "workspace"
OPTIONAL: Final = "optional"
ANY: Final = "any"
_MOST_CHARACTERS = 200_000


class Ending(StrEnum):
    """How a turn ends, as the last event of its run says."""

    COMPLETED = "completed"
    CLARIFICATION = "clarification"
    APPROVAL = "approval"
    WAITING = "waiting"
    FAILED = "failed"
    BLOCKED = "blocked"
    CANCELED = "canceled"
    SUPERSEDED = "superseded"


Locale = Literal["en", "ru"]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
# One name, or several of which each is right: "get_airport|search_airports".
Names = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\|[a-z][a-z0-9_]*)*$")]
Filled = Annotated[str, StringConstraints(min_length=1, max_length=_MOST_CHARACTERS, pattern=r"\S")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class Turn(_Strict):
    """One message or click, and what has to follow.

    Args:
        say: what the user writes.
        do: a click instead: approve or reject the open approval, or skip the open question.
        choose: a click on the option of the open question with this identity or name.
        tools: the tools that start, in order; None ("any" in a file) where that is not judged.
        slots: what the user must be shown, by slot: a text, or several of which one is enough.
        clarification: the slot that has to be asked for; "optional" where a question is neither right nor wrong.
        ending: how the run may end; by default clarification where one is expected, else completed.
        code: the failure's code, where it has to be that one.
    """

    say: Filled | None = None
    do: Literal["approve", "reject", "skip"] | None = None
    choose: Filled | None = None
    tools: tuple[Names, ...] | None = ()
    slots: dict[Name, tuple[Filled, ...]] = Field(default_factory=dict)
    clarification: Names | None = None
    ending: tuple[Ending, ...] = ()
    code: Name | None = None
    forbidden_tools: tuple[Name, ...] = ()
    forbidden_claims: tuple[Filled, ...] = ()

    @field_validator("tools", "ending", "forbidden_tools", "forbidden_claims", mode="before")
    @classmethod
    def _several(cls, value: Any, info: Any) -> Any:
        """A list of the file is a tuple; one ending need not stand in a list."""
        if info.field_name == "ending":
            value = [value] if isinstance(value, str) else value
            known = {each.value for each in Ending}
            wrong = [each for each in value if each not in known] if isinstance(value, list) else []
            if wrong:
                raise ValueError(f"{wrong[0]!r} is no ending; accepted are {', '.join(sorted(known))}")
            return tuple(Ending(each) for each in value) if isinstance(value, list) else value
        if info.field_name == "tools" and value == ANY:
            return None
        if not isinstance(value, list | tuple):
            raise ValueError("must be a list" + (f", or {ANY}" if info.field_name == "tools" else ""))
        return tuple(value)

    @field_validator("slots", mode="before")
    @classmethod
    def _alternatives(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        several = {name: (texts,) if isinstance(texts, str) else texts for name, texts in value.items()}
        for name, texts in several.items():
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"{name} must be a text or a list of texts; a number stands in quotes")
        return {name: tuple(texts) for name, texts in several.items()}

    @model_validator(mode="after")
    def _one_act(self) -> Turn:
        if [self.say, self.do, self.choose].count(None) != 2:
            raise ValueError("give one of say, do and choose")
        asked = self.clarification not in (None, OPTIONAL)
        if asked and self.ending not in ((), (Ending.CLARIFICATION,)):
            raise ValueError("ending: a turn that has to ask ends with clarification; leave it out")
        if self.clarification is None and Ending.CLARIFICATION in self.ending:
            raise ValueError("clarification: name the slot, or optional, where the turn may end with a question")
        return self

    @property
    def endings(self) -> tuple[Ending, ...]:
        """The endings that are right."""
        if self.ending:
            return self.ending
        if self.clarification == OPTIONAL:
            return (Ending.COMPLETED, Ending.CLARIFICATION)
        return (Ending.CLARIFICATION,) if self.clarification else (Ending.COMPLETED,)

    @property
    def expected_slots(self) -> frozenset[str]:
        """The slots of which one has to be asked for; empty where no question is expected."""
        if self.clarification in (None, OPTIONAL):
            return frozenset()
        return frozenset((self.clarification or "").split("|"))


class _Labelled(_Strict):
    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    intent: Name
    turns: tuple[Turn, ...]
    position: tuple[float, float] | None = None

    @field_validator("turns", "position", mode="before")
    @classmethod
    def _tuple(cls, value: Any) -> Any:
        if value == []:
            raise ValueError("must not be empty")
        return tuple(value) if isinstance(value, list) else value

    @field_validator("position")
    @classmethod
    def _on_the_globe(cls, value: tuple[float, float] | None) -> tuple[float, float] | None:
        if value is not None and not (-90 <= value[0] <= 90 and -180 <= value[1] <= 180):
            raise ValueError("latitude and longitude in degrees: from -90 to 90, from -180 to 180")
        return value


class _Header(_Strict):
    domain: Name
    locale: Locale
    held_out: bool
    cases: Annotated[list[Any], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled request: a conversation of its own, played turn by turn. `held_out` cases are reported apart."""

    id: str
    domain: str
    locale: Locale
    held_out: bool
    intent: str
    turns: tuple[Turn, ...]
    # Latitude and longitude in degrees, told as the user's own with the first message.
    position: tuple[float, float] | None = None


class CasesInvalid(Exception):
    """Cases that cannot be used; `mistakes` has a line for each, with file, case and field."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes


def load_cases(folder: Path = CASES_FOLDER) -> tuple[Case, ...]:
    """Every case of the folder's *.yaml files, by file and place. Raises CasesInvalid with all mistakes at once."""
    mistakes: list[str] = []
    cases: list[Case] = []
    files: dict[str, str] = {}
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise CasesInvalid([f"{folder}: no *.yaml files"])
    for path in paths:
        for case in _load_file(path, mistakes):
            if case.id in files:
                mistakes.append(f"{path.name}: case {case.id}: id: {files[case.id]} has a case of that id already")
            files.setdefault(case.id, path.name)
            cases.append(case)
    if mistakes:
        raise CasesInvalid(mistakes)
    return tuple(cases)


def _load_file(path: Path, mistakes: list[str]) -> list[Case]:
    try:
        header = _Header.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        mistakes.append(f"{path.name}: cannot be read: {error}")
        return []
    except yaml.YAMLError as error:
        mistakes.append(f"{path.name}: is no YAML: {' '.join(str(error).split())}")
        return []
    except ValidationError as error:
        mistakes.extend(f"{path.name}: {line}" for line in _lines(error))
        return []
    cases = []
    for number, data in enumerate(header.cases, 1):
        try:
            found = _Labelled.model_validate(data)
        except ValidationError as error:
            name = data.get("id") if isinstance(data, dict) else None
            where = f"case {name}" if isinstance(name, str) else f"case number {number}"
            mistakes.extend(f"{path.name}: {where}: {line}" for line in _lines(error))
            continue
        cases.append(
            Case(found.id, header.domain, header.locale, header.held_out, found.intent, found.turns, found.position)
        )
    return cases


def _lines(error: ValidationError) -> list[str]:
    """'turns[0].tools[1]: …' for each mistake."""
    return [f"{_path(each['loc'])}{each['msg'].removeprefix('Value error, ')}" for each in error.errors()]


def _path(steps: tuple[int | str, ...]) -> str:
    named = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return f"{named.removeprefix('.')}: " if named else ""
