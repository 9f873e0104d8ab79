"""`CancelInteraction`: writes the tombstone and names every call in the ledger (soundness rules tombstone,
close_names_all). Called by the servicer. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass

from adapter_service.application.check_access import check_access
from adapter_service.application.ports import Clock, Domains, Transaction, UnitOfWork
from adapter_service.domain.ledger import Execution
from adapter_service.domain.session import Interaction
from handrail_rpc.errors import NotFound


@dataclass(frozen=True, slots=True)
class CancelCommand:
    """A checked CancelInteractionRequest."""

    domain: str
    domain_session_id: str
    interaction_id: str
    epoch: int
    history_id: str
    known_revision: int = 0


@dataclass(frozen=True, slots=True)
class Closed:
    """Every ledger row of the closed interaction, and the revision of its session."""

    executions: tuple[Execution, ...]
    session_revision: int


class CancelInteraction:
    """The use case; one instance a process."""

    def __init__(self, unit_of_work: UnitOfWork, domains: Domains, *, clock: Clock) -> None:
        self._unit_of_work = unit_of_work
        self._domains = domains
        self._clock = clock

    async def run(self, command: CancelCommand) -> Closed:
        """Every ledger row of the interaction; nothing of it begins after this has returned.

        An interaction that was never seen here gets its tombstone too. Raises the refusals of check_access.
        """
        if command.domain not in self._domains:
            raise NotFound.of("domain", command.domain)
        return await self._unit_of_work.write(lambda tx: self._close(tx, command), name="cancel_interaction.close")

    def _close(self, tx: Transaction, command: CancelCommand) -> Closed:
        session, interaction = check_access(tx, command)
        if interaction is None or not interaction.closed:
            tx.sessions.touch(session.domain_session_id, command.known_revision)
        if interaction is None:
            new = Interaction(command.interaction_id, session.domain_session_id, command.epoch, True, 0, 0)
            tx.interactions.add(new, self._clock())
            return Closed((), tx.sessions.revision(session.domain_session_id))
        tx.interactions.raise_epoch(command.interaction_id, command.epoch)
        tx.interactions.close(command.interaction_id)
        rows = tx.calls.executions_of(command.interaction_id)
        return Closed(rows, tx.sessions.revision(session.domain_session_id))
