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
    @property
    def known_revision(self) -> int: ...


def check_access(tx: Transaction, access: Access) -> tuple[Session, Interaction | None]:
    """The session and, if it was seen before, the interaction.

    Raises HistoryDiverged, NotFound for an unknown session or another session's interaction, LeaseLost for an epoch
    below the fence. Storing a higher epoch, or what the caller knows, is the writer's task.
    """
    history_id, session, interaction = tx.access(access.domain_session_id, access.interaction_id)
    if access.history_id != history_id:
        raise HistoryDiverged(history_id)
    if session is None or session.domain != access.domain or session.erased:
        raise NotFound.of("session", access.domain_session_id)
    if interaction is not None:
        if interaction.domain_session_id != session.domain_session_id:
            raise NotFound.of("interaction", access.interaction_id)
        if access.epoch < interaction.epoch:
            raise LeaseLost(access.epoch, interaction.epoch)
    if session.revision < access.known_revision:
        raise HistoryDiverged(
            history_id,
            f"known_session_revision {access.known_revision} is above the session's {session.revision}: "
            "this database was put back to an older copy",
        )
    if access.known_revision < session.acknowledged_revision:
        raise HistoryDiverged(
            history_id,
            f"known_session_revision {access.known_revision} is below {session.acknowledged_revision}, which the "
            "caller knew before: its database was put back to an older copy",
        )
    return session, interaction
