"""What every call on a session checks first, in its own transaction: history, session, interaction, fence.

Called by decide, execute_tool and cancel_interaction (soundness rules history, fence_interaction).
"""

from __future__ import annotations

from typing import Protocol

from adapter_service.application.ports import Transaction
from adapter_service.domain.errors import HistoryDiverged, LeaseLost
from adapter_service.domain.session import Interaction, Session
from handrail_rpc.errors import NotFound


class Access(Protocol):
    """The members that all commands on an interaction have."""

    @property
    def domain(self) -> str: ...
    @property
    def domain_session_id(self) -> str: ...
    @property
    def interaction_id(self) -> str: ...
    @property
    def epoch(self) -> int: ...
    @property
    def history_id(self) -> str: ...


def check_access(tx: Transaction, access: Access) -> tuple[Session, Interaction | None]:
    """The session and, if it was seen before, the interaction.

    Raises HistoryDiverged, NotFound for an unknown session or another session's interaction, LeaseLost for an epoch
    below the fence. Storing a higher epoch is the writer's task.
    """
    history_id = tx.sessions.history_id()
    if access.history_id != history_id:
        raise HistoryDiverged(history_id)
    session = tx.sessions.find(access.domain_session_id)
    if session is None or session.domain != access.domain:
        raise NotFound.of("session", access.domain_session_id)
    interaction = tx.interactions.find(access.interaction_id)
    if interaction is not None:
        if interaction.domain_session_id != session.domain_session_id:
            raise NotFound.of("interaction", access.interaction_id)
        if access.epoch < interaction.epoch:
            raise LeaseLost(access.epoch, interaction.epoch)
    return session, interaction
