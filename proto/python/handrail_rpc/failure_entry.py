"""The shape of the failure catalogue: stages, and what one entry says. The entries are in failure_catalogue.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from handrail_rpc.localized_text import NOTHING, Text


class Stage(StrEnum):
    """Where in the cycle a failure arose: names of handrail.common.v1.Stage without prefix, in lower case."""

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


@dataclass(frozen=True, slots=True)
class Wording:
    """What is told in one situation (G1). `helpful_action` is empty where nothing helps."""

    explanation: Text
    helpful_action: Text = NOTHING
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One code.

    Args:
        stages: where it can arise, the usual one first.
        wording: the usual one.
        situations: further wordings of the same code, by a name of the catalogue's own.
        lifted_by: for a policy block, what would lift it; the end of a sentence.
        provoked_by: the test that provokes it on a real service, `<file below tests/ without .py>::<function>`.
        reachable_with: what will make it reachable, where nothing does yet.
    """

    stages: tuple[Stage, ...]
    wording: Wording
    situations: Mapping[str, Wording] = field(default_factory=dict)
    lifted_by: Text = NOTHING
    provoked_by: str = ""
    reachable_with: str = ""

    @property
    def stage(self) -> Stage:
        return self.stages[0]

    @property
    def explanation(self) -> Text:
        return self.wording.explanation

    @property
    def helpful_action(self) -> Text:
        return self.wording.helpful_action

    @property
    def retryable(self) -> bool:
        return self.wording.retryable

    @property
    def wordings(self) -> tuple[Wording, ...]:
        """Every wording, the usual one first."""
        return (self.wording, *self.situations.values())


def entry(
    *stages: Stage,
    en: str,
    ru: str,
    help: Text = NOTHING,
    retryable: bool = False,
    situations: Mapping[str, Wording] | None = None,
    lifted_by: Text = NOTHING,
    provoked_by: str = "",
    reachable_with: str = "",
) -> Entry:
    """One line of the catalogue: the explanation in both languages, and the rest where it is not the usual."""
    return Entry(
        stages, Wording(Text(en, ru), help, retryable), situations or {}, lifted_by, provoked_by, reachable_with
    )
