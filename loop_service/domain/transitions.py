"""The one table of state changes of an interaction (requirement C2): states as data.

Every status change goes through `move`; a step that the table does not name is refused and nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from loop_service.domain.errors import IllegalTransition
from loop_service.domain.events import StatusChanged
from loop_service.domain.interaction import ACTIVE, TERMINAL, WAITING, Interaction, InteractionState

S = InteractionState


@dataclass(frozen=True, slots=True)
class Transition:
    """From any of `sources` to `destination`; `name` is what a refusal calls it."""

    name: str
    sources: frozenset[InteractionState]
    destination: InteractionState


BEGIN = Transition("begin", frozenset({S.NEW}), S.PREPARING)
RESUME = Transition("resume", WAITING | {S.EXECUTING}, S.PREPARING)
CALL_TOOL = Transition("call_tool", frozenset({S.PREPARING}), S.EXECUTING)
ASK = Transition("ask", frozenset({S.PREPARING}), S.AWAITING_CLARIFICATION)
REQUEST_APPROVAL = Transition("request_approval", frozenset({S.PREPARING}), S.AWAITING_APPROVAL)
# From executing or a wait for a person too: an ending is held back while a dispatched change lacks its outcome.
WAIT = Transition("wait", ACTIVE | {S.AWAITING_APPROVAL, S.AWAITING_CLARIFICATION}, S.WAITING)
GENERATE = Transition("generate", frozenset({S.PREPARING}), S.GENERATING)
COMPLETE = Transition("complete", frozenset({S.GENERATING}), S.COMPLETED)
FAIL = Transition("fail", ACTIVE | WAITING, S.FAILED)
BLOCK = Transition("block", frozenset({S.PREPARING}), S.BLOCKED)
CANCEL = Transition("cancel", ACTIVE | WAITING, S.CANCELED)
SUPERSEDE = Transition("supersede", ACTIVE | WAITING, S.SUPERSEDED)

TABLE: tuple[Transition, ...] = (
    BEGIN,
    RESUME,
    CALL_TOOL,
    ASK,
    REQUEST_APPROVAL,
    WAIT,
    GENERATE,
    COMPLETE,
    FAIL,
    BLOCK,
    CANCEL,
    SUPERSEDE,
)
LEGAL: frozenset[tuple[InteractionState, InteractionState]] = frozenset(
    (source, transition.destination) for transition in TABLE for source in transition.sources
)


def move(interaction: Interaction, transition: Transition, now: datetime) -> StatusChanged:
    """Set the state and the times that go with it; returns the event to store. Raises IllegalTransition."""
    before = interaction.state
    if before not in transition.sources:
        raise IllegalTransition(interaction.interaction_id, transition.name, before.value)
    interaction.state = transition.destination
    interaction.update_time = now
    if transition.destination in TERMINAL:
        interaction.end_time = now
    return StatusChanged(before.value, transition.destination.value)
