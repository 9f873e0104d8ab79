"""A database that was put back to an older copy: what this service does about it before anything else runs.

soundness.md 'Restored databases' (history, loop_restore, diverged_ends). Bootstrap calls `EndLostInteractions` at each
start; advance calls `check_session`; recover_conversation calls `stop_as_diverged`.
"""

from __future__ import annotations

from functools import partial

from loop_service.application.adapter_calls import Diverged
from loop_service.application.environment import Environment
from loop_service.application.ports import Session
from loop_service.application.stopping import request_stop
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.application.work import Work
from loop_service.domain.audit import SYSTEM
from loop_service.domain.conversation import Conversation
from loop_service.domain.interaction import Stop, StopKind

LOOP_RESTORED = "LOOP_RESTORED"
"""source_code of session_diverged: this database was put back."""
RECOVERED = "RECOVERED"
"""source_code of session_diverged: an operator ended what was open."""
_BATCH = 100


def check_session(conversation: Conversation, session: Session, history_id: str) -> None:
    """After this database was put back: whether the session is exactly as far as the conversation knows it.

    Only then nothing of it was lost here. Raises Diverged otherwise; under the same history nothing is compared.
    """
    if conversation.loop_history_id == history_id:
        return
    known = (conversation.domain_session_id, conversation.history_id)
    if conversation.domain_session_id and known != (session.domain_session_id, session.history_id):
        raise Diverged("HISTORY_DIVERGED")
    if session.session_revision != conversation.session_revision:
        raise Diverged(LOOP_RESTORED)


def stop_as_diverged(work: Work, *, by: str, source: str, request_id: str, traceparent: str = "") -> None:
    """Record that the interaction ends as session_diverged, in place of any other stop, and queue a run for it.

    That run closes the interaction at the Adapter and records every call that its ledger names (loop_restore).
    """
    work.interaction.stop = Stop(StopKind.DIVERGED, "session_diverged", source, by)
    request_stop(work, StopKind.DIVERGED, by=by, reason=source, request_id=request_id, traceparent=traceparent)


class EndLostInteractions:
    """Once for each history: every interaction that was open when this database was put back is to be ended."""

    def __init__(self, storage: UnitOfWork, env: Environment) -> None:
        self._storage = storage
        self._env = env

    async def run(self) -> int:
        """The number of interactions that are to be ended. Before the workers and the use cases begin.

        A crash in between is healed by the next start: what is marked stays marked, and the history counts as swept
        only in the end.
        """
        if await self._storage.read(lambda tx: tx.divergence.is_swept(self._env.history_id)):
            return 0
        ended, after = 0, ""
        while True:
            marked, after = await self._storage.write(partial(self._mark, after=after), name="lost_histories.mark")
            ended += marked
            if not after:
                return ended

    def _mark(self, tx: Transaction, after: str) -> tuple[int, str]:
        """One batch: how many interactions were marked, and after which conversation to go on ("" at the end)."""
        lost = tx.divergence.open_in_other_history(self._env.history_id, after, _BATCH)
        for conversation in lost:
            interaction = tx.interactions.find(conversation.active_interaction_id)
            if interaction is None or interaction.is_terminal:
                continue
            run = tx.runs.find(interaction.active_run_id) if interaction.active_run_id else None
            work = Work(tx, self._env, conversation, interaction, run, self._env.clock.now())
            stop_as_diverged(work, by=SYSTEM, source=LOOP_RESTORED, request_id=self._env.ids.new("req"))
            work.save()
        if len(lost) == _BATCH:
            return len(lost), lost[-1].conversation_id
        tx.divergence.mark_swept(self._env.history_id)
        return len(lost), ""
