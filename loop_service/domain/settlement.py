"""A call whose outcome is unknown, and the person's verdict that settles it (E4, soundness rule settle_dead)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from loop_service.domain.errors import WrongState
from loop_service.domain.permission import Gate


class Verdict(StrEnum):
    """Names of handrail.loop.v1.Settlement without prefix, in lower case."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    TRY_AGAIN = "try_again"

    @property
    def happened(self) -> bool:
        return self is Verdict.HAPPENED


@dataclass(slots=True)
class Settlement:
    """One row of `settlements`, made with the unknown outcome; `verdict` None until a person settles it, once.

    `successor_interaction_id` is the interaction that tries again, `run_id` its first run.
    """

    settlement_id: str
    interaction_id: str
    tool_call_id: str
    conversation_id: str
    domain: str
    gate: Gate
    tool: str
    summary: str
    approval_id: str
    create_time: datetime
    verdict: Verdict | None = None
    settled_by: str = ""
    settle_time: datetime | None = None
    comment: str = ""
    successor_interaction_id: str = ""
    run_id: str = ""

    def settle(self, verdict: Verdict, by: str, comment: str, now: datetime) -> None:
        """Record the first verdict. Raises WrongState for another one after it; nothing changes then."""
        if self.verdict is not None:
            raise already_settled(self)
        self.verdict = verdict
        self.settled_by = by
        self.comment = comment
        self.settle_time = now


def already_settled(settlement: Settlement) -> WrongState:
    """FAILED_PRECONDITION that says how it was settled, by whom and when."""
    verdict = settlement.verdict.value if settlement.verdict is not None else "open"
    when = settlement.settle_time.isoformat(timespec="seconds") if settlement.settle_time else "an unknown time"
    return WrongState(
        "EXECUTION_SETTLED",
        settlement.tool_call_id,
        f"tool call {settlement.tool_call_id} was already settled as {verdict} by {settlement.settled_by} at {when}",
        state=verdict,
    )
