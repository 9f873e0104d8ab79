"""`DeleteSession`: erases the content of a conversation's session. Called by the servicer for the Loop.

Keys, states and hashes of the ledger stay, and so do the tombstones: a key must not execute again, and nothing of the
conversation may begin again ("Ledger rows and tombstones outlive every row that can name them", soundness.md).

A change whose outcome is unknown is not erased from under the person who has to settle it: its target stays locked,
and input and summary are what that person decides by. So it has to be settled first (SettleExecution).
"""

from __future__ import annotations

from collections.abc import Callable

from adapter_service.application.ports import Clock, Domains, Threads, Transaction, UnitOfWork
from adapter_service.application.workspace.uploaded import upload_id
from adapter_service.domain.errors import AttemptElsewhere, ExecutionUnsettled
from adapter_service.domain.ledger import Execution, ExecutionState
from adapter_service.domain.session import Session
from handrail_rpc.errors import Unavailable
from handrail_rpc.logging import get_logger

logger = get_logger(__name__)


class DeleteSession:
    """The use case; one instance a process. `is_live` says whether this process still works on a call."""

    def __init__(
        self,
        unit_of_work: UnitOfWork,
        domains: Domains,
        threads: Threads,
        *,
        clock: Clock,
        is_live: Callable[[str], bool],
    ) -> None:
        self._unit_of_work = unit_of_work
        self._domains = domains
        self._threads = threads
        self._clock = clock
        self._is_live = is_live

    async def run(self, domain: str, conversation_id: str) -> bool:
        """Whether there was anything to erase. Idempotent.

        Raises AttemptElsewhere while a call of the session still runs, and ExecutionUnsettled while the outcome of a
        change is unknown; then nothing changes. A domain that is served no longer can still be erased.
        """
        known = await self._unit_of_work.read(lambda tx: _find(tx, domain, conversation_id))
        if known is None:
            return False

        def erase(tx: Transaction) -> bool:
            session = _find(tx, domain, conversation_id)
            if session is None or session.erased:
                return False
            self._check_settled(tx, session)
            tx.erasure.erase(session.domain_session_id, self._clock())
            tx.sessions.touch(session.domain_session_id)
            return True

        erased = not known.erased and await self._unit_of_work.write(erase, name="delete_session.erase")
        # Also for a repetition: the one before may have died between the commit and this.
        await self._let_domain_forget(known)
        if not await self._unit_of_work.truncate_log():
            logger.warning("a reader held up the truncation of the log; what was erased stays there until the next one")
        return erased

    async def _let_domain_forget(self, session: Session) -> None:
        """What the domain itself keeps of the session's upload, a search index for example. Raises Unavailable."""
        domain = self._domains.get(session.domain)
        if domain is None or domain.workspace is None:
            return
        forget, workspace_id = domain.workspace.forget, upload_id(session.domain_session_id)
        try:
            await self._threads.run(lambda: forget(workspace_id))
        except Exception as error:
            # The boundary to a domain's callback.
            logger.error("domain could not forget a workspace", domain=domain.name, exc_info=error)
            raise Unavailable(
                "the domain has not erased what it keeps of the workspace yet; ask again", reason="WORKSPACE_KEPT"
            ) from error

    def _check_settled(self, tx: Transaction, session: Session) -> None:
        now = self._clock()
        for tool_call_id in tx.erasure.begun_calls(session.domain_session_id):
            execution = tx.calls.find_execution(tool_call_id)
            if self._is_live(tool_call_id):
                raise AttemptElsewhere(tool_call_id)
            if execution is None:
                continue
            if execution.state is ExecutionState.CLAIMED and not execution.is_orphan(now):
                raise AttemptElsewhere(tool_call_id)
            if _is_unsettled_change(execution):
                raise ExecutionUnsettled(tool_call_id)


def _is_unsettled_change(execution: Execution) -> bool:
    """An orphan of a change counts: nobody knows what it did."""
    unknown = execution.state in (ExecutionState.CLAIMED, ExecutionState.UNKNOWN)
    return unknown and execution.effect.needs_approval


def _find(tx: Transaction, domain: str, conversation_id: str) -> Session | None:
    session = tx.sessions.find_by_conversation(conversation_id)
    return None if session is None or session.domain != domain else session
