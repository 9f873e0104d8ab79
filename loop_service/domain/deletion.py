"""How far the deletion of a conversation has come; states as data."""

from __future__ import annotations

from enum import StrEnum

from handrail_rpc.errors import FailedPrecondition, PreconditionViolation


class Deletion(StrEnum):
    NONE = ""
    REQUESTED = "requested"
    """Active: what is open in it is being ended; nothing new begins in it. It can still be refused."""
    DELETED = "deleted"
    """Active: nobody may read it any more; its content is being erased in both services."""
    ERASED = "erased"
    """Terminal: only the audit trail, the request ids and the runs' counts are left."""

    @property
    def hides(self) -> bool:
        """Whether the conversation is not found any more."""
        return self in (Deletion.DELETED, Deletion.ERASED)


class BeingDeleted(FailedPrecondition):
    """Nothing new is accepted in a conversation that is being deleted."""

    def __init__(self, conversation_id: str) -> None:
        text = f"conversation {conversation_id} is being deleted; nothing more can be sent to it"
        super().__init__(
            text,
            [PreconditionViolation("CONVERSATION_STATE", conversation_id, text)],
            reason="CONVERSATION_STATE",
            metadata={"state": Deletion.REQUESTED.value},
        )


class Unsettled(FailedPrecondition):
    """Calls whose outcome is unknown: what a person needs to settle them may not be erased before."""

    def __init__(self, conversation_id: str, tool_call_ids: tuple[str, ...]) -> None:
        text = (
            f"conversation {conversation_id} has calls whose outcome is unknown ({', '.join(tool_call_ids)}); "
            "settle them by SettleExecution, then delete it"
        )
        super().__init__(
            text,
            [PreconditionViolation("EXECUTION_STATE", call, text) for call in tool_call_ids],
            reason="EXECUTION_UNSETTLED",
            metadata={"tool_call_id": tool_call_ids[0]} if tool_call_ids else None,
        )
