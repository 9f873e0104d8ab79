"""What is allowed now: a readable list of rules over effect, roles and state (requirements A2, B5, E1 to E3).

The engine asks before each call; GetSession explains every action with the same list; the claim of an execution uses
the comparison of domain.approval, which the last three rules wrap. A rule that does not hold is a policy block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adapter_service.domain.approval import Mismatch
from adapter_service.domain.artifact import Validation
from adapter_service.domain.failure import PolicyBlock
from adapter_service.sdk import ArtifactKind, Effect, Text, Tool
from handrail_rpc.failure_catalogue import CATALOGUE


@dataclass(frozen=True, slots=True)
class Subject:
    """A tool about to be called, and the state that rules look at.

    Args:
        kind: of the artifact that the tool gets; None if it gets none.
        validation: of the artifact's current version; None if that was not validated.
        mismatch: result of comparing the open approval with the world; None if it matches.
    """

    tool: Tool
    roles: frozenset[str]
    closed: bool
    kind: ArtifactKind | None
    validation: Validation | None
    mismatch: Mismatch | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `holds` says whether it allows the call; `prerequisite` names the tool whose run would lift it.

    What it tells is the catalogue's entry of its code.
    """

    name: str
    code: str
    effects: frozenset[Effect]
    holds: Callable[[Subject], bool]
    prerequisite: Callable[[Subject], str] = lambda _subject: ""

    @property
    def explanation(self) -> Text:
        return CATALOGUE[self.code].explanation

    @property
    def lifted_by(self) -> Text:
        return CATALOGUE[self.code].lifted_by


ALL = frozenset(Effect)
CHANGING = frozenset({Effect.CHANGE, Effect.EXTERNAL})


def role_permits(roles: frozenset[str], tool: Tool) -> bool:
    """Whether one of the caller's roles permits the tool; "*" stands for every role."""
    return not tool.roles or "*" in roles or bool(roles & set(tool.roles))


def _needs_validation(subject: Subject) -> bool:
    return subject.kind is not None and bool(subject.kind.validate_tool)


def _no_mismatch(code: str) -> Callable[[Subject], bool]:
    return lambda subject: subject.mismatch is None or subject.mismatch.code != code


INTERACTION_OPEN = Rule(
    "interaction_open",
    "interaction_closed",
    ALL,
    lambda subject: not subject.closed,
)
ROLE_PERMITS = Rule(
    "role_permits",
    "tool_not_permitted",
    ALL,
    lambda subject: role_permits(subject.roles, subject.tool),
)
VALIDATED = Rule(
    "validation_passed",
    "validation_missing",
    CHANGING,
    lambda subject: not _needs_validation(subject) or subject.validation is not None,
    lambda subject: subject.kind.validate_tool if subject.kind is not None else "",
)
VALIDATION_PASSED = Rule(
    "validation_passed",
    "validation_failed",
    CHANGING,
    lambda subject: not _needs_validation(subject) or subject.validation is None or subject.validation.passed,
    lambda subject: subject.kind.revise_tool if subject.kind is not None else "",
)
APPROVAL_MISSING = Rule(
    "approval_matches",
    "approval_missing",
    CHANGING,
    _no_mismatch("approval_missing"),
)
APPROVAL_STALE = Rule(
    "approval_matches",
    "approval_stale",
    CHANGING,
    _no_mismatch("approval_stale"),
)
APPROVAL_EXPIRED = Rule(
    "approval_matches",
    "approval_expired",
    CHANGING,
    _no_mismatch("approval_expired"),
)
TARGET_FREE = Rule(
    "target_lock",
    "target_busy",
    CHANGING,
    lambda _subject: True,  # judged in the claim only: there the lock is taken
)

RULES: tuple[Rule, ...] = (
    INTERACTION_OPEN,
    ROLE_PERMITS,
    VALIDATED,
    VALIDATION_PASSED,
    APPROVAL_MISSING,
    APPROVAL_STALE,
    APPROVAL_EXPIRED,
    TARGET_FREE,
)


def violated(subject: Subject) -> tuple[Rule, ...]:
    """The rules that do not allow the call now, in order."""
    return tuple(rule for rule in RULES if subject.tool.effect in rule.effects and not rule.holds(subject))


def rule_for(code: str) -> Rule:
    """The rule that a block with this code comes from. Raises KeyError."""
    for rule in RULES:
        if rule.code == code:
            return rule
    raise KeyError(code)


def block_of(rule: Rule, tool: str, locale: str, *, approval_id: str = "", tool_call_id: str = "") -> PolicyBlock:
    """The block of a rule for one tool, in the caller's locale."""
    return PolicyBlock(
        code=rule.code,
        rule=rule.name,
        explanation=rule.explanation.localized(locale),
        lifted_by=rule.lifted_by.localized(locale),
        tool=tool,
        approval_id=approval_id,
        tool_call_id=tool_call_id,
    )
