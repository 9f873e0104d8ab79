"""`OpenSession`: the session of a conversation, made once. Called by the servicer."""

from __future__ import annotations

from adapter_service.application.ports import Clock, Domains, Ids, Transaction, UnitOfWork
from adapter_service.domain.session import Session
from handrail_rpc.errors import FailedPrecondition, NotFound


class OpenSession:
    """The use case; one instance a process."""

    def __init__(self, unit_of_work: UnitOfWork, domains: Domains, *, clock: Clock, ids: Ids) -> None:
        self._unit_of_work = unit_of_work
        self._domains = domains
        self._clock = clock
        self._ids = ids

    async def run(self, domain: str, conversation_id: str) -> tuple[Session, str]:
        """The session and the history id; the same session for every repetition.

        Raises NotFound for an unknown domain, FailedPrecondition where the conversation has another domain's session.
        """
        if domain not in self._domains:
            raise NotFound.of("domain", domain)
        known = await self._unit_of_work.read(lambda tx: _find(tx, domain, conversation_id))
        if known is not None:
            return known

        def open_once(tx: Transaction) -> tuple[Session, str]:
            found = _find(tx, domain, conversation_id)
            if found is not None:
                return found
            session = Session(self._ids("ses"), domain, conversation_id, self._clock(), 0)
            tx.sessions.add(session)
            return session, tx.sessions.history_id()

        return await self._unit_of_work.write(open_once, name="open_session.open")


def _find(tx: Transaction, domain: str, conversation_id: str) -> tuple[Session, str] | None:
    session = tx.sessions.find_by_conversation(conversation_id)
    if session is None:
        return None
    if session.domain != domain:
        raise FailedPrecondition.state(
            "SESSION_DOMAIN", conversation_id, f"the conversation has a session of the domain {session.domain}"
        )
    return session, tx.sessions.history_id()
