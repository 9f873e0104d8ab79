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
        kind: of the artifact that has to pass validation first (domain.judged); None if there is none.
        validation: of that artifact's current version; None if that was not validated.
        mismatch: result of comparing the open approval with the world; None if it matches.
        target_busy: another change of the same target is under way or unknown. Decisions leave it to the claim, where
            the lock is taken.
    """

    tool: Tool
    roles: frozenset[str]
    closed: bool
    kind: ArtifactKind | None
    validation: Validation | None
    mismatch: Mismatch | None
    target_busy: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `holds` says whether it allows the call; `prerequisite` names the tool whose run would lift it.

    `statement` is the rule in one sentence; what its block tells is the catalogue's entry of its code. `lifting` is
    listed where the block itself tells nothing that would lift it.
    """

    name: str
    code: str
    effects: frozenset[Effect]
    statement: Text
    holds: Callable[[Subject], bool]
    prerequisite: Callable[[Subject], str] = lambda _subject: ""
    lifting: Text | None = None

    @property
    def explanation(self) -> Text:
        return CATALOGUE[self.code].explanation

    @property
    def lifted_by(self) -> Text:
        return CATALOGUE[self.code].lifted_by

    @property
    def listed_lifted_by(self) -> Text:
        """What is listed with the rule; a block tells it only where the caller can bring it about."""
        return self.lifting or self.lifted_by


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
    Text(
        "Only a request that was neither canceled nor replaced goes on.",
        "Продолжается только запрос, который не отменён и не заменён другим.",
    ),
    lambda subject: not subject.closed,
)
ROLE_PERMITS = Rule(
    "role_permits",
    "tool_not_permitted",
    ALL,
    Text(
        "A tool runs only for a caller whose roles permit it.",
        "Действие выполняется только для того, кому его разрешают роли.",
    ),
    lambda subject: role_permits(subject.roles, subject.tool),
    lifting=Text("a role that the tool permits", "роль, для которой действие разрешено"),
)
VALIDATED = Rule(
    "validation_passed",
    "validation_missing",
    CHANGING,
    Text(
        "A change takes an artifact only at a version that was validated.",
        "Изменение применяется только к проверенной версии.",
    ),
    lambda subject: not _needs_validation(subject) or subject.validation is not None,
    lambda subject: subject.kind.validate_tool if subject.kind is not None else "",
)
VALIDATION_PASSED = Rule(
    "validation_passed",
    "validation_failed",
    CHANGING,
    Text(
        "After a failed validation only a revision is offered; every change waits for a version that passes.",
        "После неудачной проверки предлагается только исправление; изменения ждут версии, которая пройдёт проверку.",
    ),
    lambda subject: not _needs_validation(subject) or subject.validation is None or subject.validation.passed,
    lambda subject: subject.kind.revise_tool if subject.kind is not None else "",
)
APPROVAL_MISSING = Rule(
    "approval_matches",
    "approval_missing",
    CHANGING,
    Text(
        "A change runs only after a person has approved it.",
        "Изменение выполняется только после одобрения человеком.",
    ),
    _no_mismatch("approval_missing"),
)
APPROVAL_STALE = Rule(
    "approval_matches",
    "approval_stale",
    CHANGING,
    Text(
        "What runs is exactly what was approved: tool, content, validation, input, policy and key.",
        "Выполняется ровно то, что одобрено: действие, содержимое, проверка, входные данные, правила и ключ.",
    ),
    _no_mismatch("approval_stale"),
)
APPROVAL_EXPIRED = Rule(
    "approval_matches",
    "approval_expired",
    CHANGING,
    Text("An approval holds until its time of expiry.", "Одобрение действует до истечения своего срока."),
    _no_mismatch("approval_expired"),
)
TARGET_FREE = Rule(
    "target_lock",
    "target_busy",
    CHANGING,
    Text(
        "A target has one change at a time; one whose outcome is unknown counts as under way.",
        "Один объект меняет только одно действие; действие с неизвестным исходом считается незавершённым.",
    ),
    lambda subject: not subject.target_busy,
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


_ALLOWED = {
    Effect.READ: Text("Allowed: it only reads.", "Разрешено: действие только читает."),
    Effect.DRAFT: Text(
        "Allowed: it only makes a new version, nothing outside changes.",
        "Разрешено: создаётся только новая версия, вовне ничего не меняется.",
    ),
    Effect.CHANGE: Text("Allowed: exactly this was approved.", "Разрешено: одобрено именно это."),
    Effect.EXTERNAL: Text("Allowed: exactly this was approved.", "Разрешено: одобрено именно это."),
}
_BLOCKED = Text("{why} What would lift it: {lifted_by}.", "{why} Что это снимет: {lifted_by}.")
_ROLES = Text("one of the roles {roles}", "одна из ролей: {roles}")


def explained(tool: Tool, rules: tuple[Rule, ...]) -> Text:
    """In one sentence or two why a tool is allowed now, or the first of the rules that block it with what lifts it."""
    if not rules:
        return _ALLOWED[tool.effect]
    first, lifted_by = rules[0], rules[0].lifted_by
    if first is ROLE_PERMITS:
        lifted_by = _ROLES.filled(roles=Text(*(", ".join(tool.roles),) * 2))
    return _BLOCKED.filled(why=first.explanation, lifted_by=lifted_by) if lifted_by.en else first.explanation


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
