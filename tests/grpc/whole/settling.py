"""Brings a call of the probe domain to an unknown outcome and settles it; used by the tests of this folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from handrail.common.v1 import approval_pb2
from handrail.loop.v1 import event_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.fakes.probe_domain import World
from tests.grpc.loop.driver import last, names
from tests.grpc.whole.running import Whole

HAPPENED = pb.SETTLEMENT_HAPPENED
DID_NOT = pb.SETTLEMENT_DID_NOT_HAPPEN
TRY_AGAIN = pb.SETTLEMENT_TRY_AGAIN
POST = "write memo at 3 then post"


@dataclass
class UnsureWorld(World):
    """Changes break off while `unsure`: nobody can say whether they had an effect. They have one if `happens`."""

    unsure: bool = True
    happens: bool = False
    broken_off: list[str] = field(default_factory=list)

    def act(self, key: str) -> None:
        if not self.unsure or self.happens:
            super().act(key)
        if self.unsure:
            self.broken_off.append(key)
            raise ConnectionError("the line broke off")


def who(name: str, roles: str = "", tenant: str = "local") -> Any:
    """Metadata of a caller."""
    return (("x-handrail-principal", name), ("x-handrail-roles", roles), ("x-handrail-tenant", tenant))


@dataclass
class Unknown:
    """A call whose outcome is unknown, in an interaction that ended with it."""

    conversation_id: str
    interaction_id: str
    tool_call_id: str
    approval: event_pb2.ApprovalRequired
    events: list[event_pb2.Event]


async def unknown(whole: Whole, text: str = POST, *, owner: Any = None, approver: Any = None) -> Unknown:
    """Ask, approve, and see the call break off."""
    conversation_id = await whole.create(metadata=owner)
    asked = await whole.driver.send(conversation_id, text, metadata=owner)
    approval = last(asked, "approval_required")
    events = await whole.driver.resolve(approval, approval_pb2.VERDICT_APPROVE, metadata=approver or owner)
    assert names(events)[-1] == "failed", names(events)
    assert last(events, "failed").failure.code == "tool_outcome_unknown"
    call = last(events, "tool_finished").tool_call_id
    return Unknown(conversation_id, events[-1].interaction_id, call, approval, events)


def settle(whole: Whole, found: Unknown, verdict: pb.Settlement.ValueType, metadata: Any = None, **fields: Any) -> Any:
    """The call that settles it, to be awaited."""
    given: dict[str, Any] = {
        "request_id": whole.driver.next_id(),
        "interaction_id": found.interaction_id,
        "tool_call_id": found.tool_call_id,
        "settlement": verdict,
        "comment": "looked at the board",
        **fields,
    }
    return whole.driver.stub.SettleExecution(pb.SettleExecutionRequest(**given), metadata=metadata)


async def pending_executions(whole: Whole, metadata: Any = None, **fields: Any) -> list[pb.PendingItem]:
    """What the caller may settle."""
    request = pb.ListPendingRequest(kind=pb.PENDING_KIND_EXECUTION, **fields)
    return list((await whole.driver.stub.ListPending(request, metadata=metadata)).items)


async def approval_of(whole: Whole, approval_id: str, metadata: Any = None) -> pb.Approval:
    """The approval as it is now."""
    request = pb.GetApprovalRequest(approval_id=approval_id)
    return (await whole.driver.stub.GetApproval(request, metadata=metadata)).approval
