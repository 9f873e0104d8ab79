"""What the reading use cases return; convert.views makes messages of them."""

from __future__ import annotations

from dataclasses import dataclass

from loop_service.domain.approval import Approval
from loop_service.domain.clarification import Clarification
from loop_service.domain.interaction import Interaction


@dataclass(frozen=True, slots=True)
class InteractionView:
    """An interaction with what it waits for."""

    interaction: Interaction
    clarification: Clarification | None
    approval: Approval | None
