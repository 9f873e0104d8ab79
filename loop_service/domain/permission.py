"""Who may see, approve and settle what, in one place (E5): the required role, separation of duties, the operator.

Each right is a table of cases; a caller of the same tenant has it where every fact of one case is as it says. Called by
the use cases through `permits`; storage turns the same tables into a condition for ListPending.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from handrail_rpc.context import Caller
from handrail_rpc.errors import PermissionDenied

OPERATOR: Final = "operator"
MAY_READ_TRAILS: Final = frozenset({"auditor", OPERATOR})


@dataclass(frozen=True, slots=True)
class Gate:
    """What a person's decision is bound to. An empty `required_role` is no role; `requester` owns the conversation."""

    tenant: str
    requester: str
    required_role: str
    requester_may_approve: bool


class Fact(StrEnum):
    """What is looked at. HOLDS_ROLE holds where no role is required."""

    IS_REQUESTER = "is_requester"
    NAMES_ROLE = "names_role"
    HOLDS_ROLE = "holds_role"
    REQUESTER_MAY_APPROVE = "requester_may_approve"
    IS_OPERATOR = "is_operator"


Case = Mapping[Fact, bool]
Right = tuple[Case, ...]

_OTHERS_WITH_THE_ROLE: Case = {Fact.IS_REQUESTER: False, Fact.NAMES_ROLE: True, Fact.HOLDS_ROLE: True}
# Where nobody but the requester is named, another person of the tenant is who must decide.
_OTHERS_BY_SEPARATION: Case = {
    Fact.IS_REQUESTER: False,
    Fact.NAMES_ROLE: False,
    Fact.REQUESTER_MAY_APPROVE: False,
}
_ANY_OPERATOR: Case = {Fact.IS_REQUESTER: False, Fact.IS_OPERATOR: True}

MAY_APPROVE: Final[Right] = (
    {Fact.IS_REQUESTER: True, Fact.REQUESTER_MAY_APPROVE: True, Fact.HOLDS_ROLE: True},
    _OTHERS_WITH_THE_ROLE,
    _OTHERS_BY_SEPARATION,
)
MAY_SEE_APPROVAL: Final[Right] = ({Fact.IS_REQUESTER: True}, _OTHERS_WITH_THE_ROLE, _OTHERS_BY_SEPARATION)
MAY_SETTLE: Final[Right] = (
    {Fact.IS_REQUESTER: True, Fact.REQUESTER_MAY_APPROVE: True},
    _OTHERS_WITH_THE_ROLE,
    _OTHERS_BY_SEPARATION,
    _ANY_OPERATOR,
)
MAY_SEE_EXECUTION: Final[Right] = (
    {Fact.IS_REQUESTER: True},
    _OTHERS_WITH_THE_ROLE,
    _OTHERS_BY_SEPARATION,
    _ANY_OPERATOR,
)


def permits(right: Right, gate: Gate, caller: Caller) -> bool:
    """Whether `caller` has the right. Nobody of another tenant has any."""
    facts = {
        Fact.IS_REQUESTER: gate.requester == caller.principal,
        Fact.NAMES_ROLE: bool(gate.required_role),
        Fact.HOLDS_ROLE: not gate.required_role or caller.has_role(gate.required_role),
        Fact.REQUESTER_MAY_APPROVE: gate.requester_may_approve,
        Fact.IS_OPERATOR: caller.has_role(OPERATOR),
    }
    return gate.tenant == caller.tenant and any(
        all(facts[fact] is wanted for fact, wanted in case.items()) for case in right
    )


def may_see_trail(caller: Caller, principal: str, tenant: str) -> bool:
    """Whether the audit trail of `principal`'s conversation may be read: by its owner and by who keeps watch.

    A role that lets one look into the trails of others must be named: "*", which callers have as long as nobody is
    authenticated, is not enough.
    """
    own = caller.principal == principal
    return caller.tenant == tenant and (own or not caller.roles.isdisjoint(MAY_READ_TRAILS))


def check_may_approve(gate: Gate, caller: Caller, approval_id: str) -> None:
    """Raises PermissionDenied for who may see the approval and lacks the role, or made the request."""
    if permits(MAY_APPROVE, gate, caller):
        return
    if gate.required_role and not caller.has_role(gate.required_role):
        raise PermissionDenied(
            f"approval {approval_id} requires the role {gate.required_role}",
            reason="ROLE_REQUIRED",
            metadata={"required_role": gate.required_role},
        )
    raise PermissionDenied(
        f"approval {approval_id} may not be resolved by the principal who made the request",
        reason="REQUESTER_MAY_NOT_APPROVE",
    )


def check_may_settle(gate: Gate, caller: Caller, tool_call_id: str) -> None:
    """Raises PermissionDenied for the requester of a call that somebody else has to settle (separation of duties)."""
    if not permits(MAY_SETTLE, gate, caller):
        raise PermissionDenied(
            f"tool call {tool_call_id} may not be settled by the principal who made the request",
            reason="REQUESTER_MAY_NOT_SETTLE",
        )
