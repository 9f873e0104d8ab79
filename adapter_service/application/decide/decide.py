"""`Decide`: one numbered decision (requirements B1 to B3). Called by the servicer.

In one thread load from one snapshot and compute outside any transaction; then one transaction checks everything again
and stores plan, facts, calls, approval and decision (soundness rules first_writer, fence_interaction, tombstone,
supersede_in_decide). Equal requests get the stored bytes.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial

from adapter_service.application.check_access import check_access
from adapter_service.application.decide.apply_observation import apply_observation
from adapter_service.application.decide.check_workspace import check_workspace
from adapter_service.application.decide.load_situation import load_retried, load_situation
from adapter_service.application.decide.next_step import next_step
from adapter_service.application.decide.summary import summary_of_outcome
from adapter_service.application.decide.turn import DecideCommand, Situation, Turn
from adapter_service.application.ports import Clock, Codec, Domains, Ids, Threads, Transaction, UnitOfWork
from adapter_service.application.workspace.open_workspace import OpenedWorkspace, OpenWorkspaces
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.approval import ApprovalState
from adapter_service.domain.decision import Blocked, Complete, Decision, DecisionOutcome, Fail
from adapter_service.domain.errors import DecisionContradiction, DecisionGap, InteractionClosed, StalePlanVersion
from adapter_service.domain.failure import Failure, Progress, Stage
from adapter_service.domain.ledger import ExecutionState
from adapter_service.domain.observation import Retry
from adapter_service.domain.session import MOST_PARALLEL_READS, AtRevision, Interaction, StoredDecision
from adapter_service.sdk import BaseChanged, Domain, ReplyVerdict
from handrail_rpc.errors import HandrailError, NotFound, Unavailable
from handrail_rpc.logging import get_logger

MOST_RECOMPUTATIONS = 4
_WITHOUT_OUTCOME = (ReplyVerdict.NEW_REQUEST, ReplyVerdict.CANCEL, ReplyVerdict.UNCLEAR)

logger = get_logger(__name__)


class _Moved(Exception):
    """What the computation read has changed meanwhile: compute again."""


class Decide:
    """The use case; one instance a process."""

    def __init__(
        self,
        unit_of_work: UnitOfWork,
        domains: Domains,
        *,
        clock: Clock,
        ids: Ids,
        codec: Codec,
        threads: Threads,
        workspaces: OpenWorkspaces,
        parallel_reads: int = MOST_PARALLEL_READS,
    ) -> None:
        self._unit_of_work = unit_of_work
        self._domains = domains
        self._workspaces = workspaces
        self._parallel_reads = parallel_reads
        self._clock = clock
        self._ids = ids
        self._codec = codec
        self._threads = threads

    async def run(self, command: DecideCommand) -> AtRevision:
        """The serialized Decision. Raises the refusals of domain.errors, NotFound for an unknown domain or session."""
        domain = self._domains.get(command.domain)
        if domain is None:
            raise NotFound.of("domain", command.domain)
        for _ in range(MOST_RECOMPUTATIONS):
            try:
                found = await self._threads.run(lambda: self._load_and_compute(command, domain))
                if isinstance(found, AtRevision):
                    return await self._replay(command, found)
                return await self._unit_of_work.write(partial(self._store, found), name="decide.store")
            except _Moved:
                continue
        raise Unavailable("the session is changing too fast; ask again", reason="SESSION_BUSY")

    async def _replay(self, command: DecideCommand, stored: AtRevision) -> AtRevision:
        def adopt(tx: Transaction) -> None:
            check_access(tx, command)
            tx.interactions.raise_epoch(command.interaction_id, command.epoch)

        await self._unit_of_work.write(adopt, name="decide.replay")
        return stored

    def _load_and_compute(self, command: DecideCommand, domain: Domain) -> tuple[Turn, Decision, bytes] | AtRevision:
        opened = None
        if domain.workspace is not None:
            stored = self._unit_of_work.read_now(lambda tx: _find_stored(tx, command))
            if stored is not None:
                return stored
            opened = self._workspaces.open_now(domain, command.domain_session_id)
        found = self._unit_of_work.read_now(lambda tx: self._load(tx, command, domain, opened))
        return found if isinstance(found, AtRevision) else self._compute(command, domain, found, opened)

    def _read_content(self, sha256: str) -> bytes:
        """Contents are immutable, so any snapshot will do."""
        return self._unit_of_work.read_now(lambda tx: tx.artifacts.content(sha256))

    def _load(
        self, tx: Transaction, command: DecideCommand, domain: Domain, opened: OpenedWorkspace | None
    ) -> Situation | AtRevision:
        session, interaction = check_access(tx, command)
        stored = _check_number(tx, command, interaction)
        if stored is not None:
            return AtRevision(stored, session.revision)
        if opened is not None and not opened.is_newest(tx, session.domain_session_id):
            raise _Moved  # an upload came after it was opened
        workspace_sha256 = opened.sha256 if opened is not None else None
        if isinstance(command.observation, Retry):
            return load_retried(
                tx, session, interaction, command.observation, domain, workspace_sha256=workspace_sha256
            )
        return load_situation(
            tx,
            session,
            interaction,
            domain,
            workspace_sha256=workspace_sha256,
            snapshot_id=command.workspace_snapshot_id,
        )

    def _compute(
        self, command: DecideCommand, domain: Domain, situation: Situation, opened: OpenedWorkspace | None
    ) -> tuple[Turn, Decision, bytes]:
        turn = Turn(command, domain, situation, self._clock(), self._ids, self._read_content)
        turn.parallel_reads = self._parallel_reads
        try:
            if opened is not None:
                turn.workspace = opened.view()
                version = opened.use.documentation_version(turn.workspace)
                turn.workspace_state = opened.state(situation.workspace, version)
            outcome = apply_observation(turn) if situation.knows_snapshot else _snapshot_unknown(turn)
            if outcome is None and turn.verdict not in _WITHOUT_OUTCOME:
                check_workspace(turn)
                outcome = next_step(turn)
            return self._encoded(turn, outcome)
        except HandrailError:
            raise
        except BaseChanged as error:
            raise _Moved from error  # a file changed while it was being looked at
        except BaseException as error:
            # A callback of the domain broke, exits or tells what cannot be encoded: the request ends with a failure
            # instead of never getting an answer. In this thread nothing else raises what is no Exception.
            logger.error("domain callback failed", domain=domain.name, exc_info=error)
            turn = Turn(command, domain, situation, turn.now, self._ids, self._read_content)
            if opened is not None:
                turn.workspace_state = opened.state(situation.workspace, "")
            return self._encoded(turn, _broken(turn))

    def _encoded(self, turn: Turn, outcome: DecisionOutcome | None) -> tuple[Turn, Decision, bytes]:
        decision = self._decision(turn, outcome)
        return turn, decision, self._codec.decision(decision)

    def _decision(self, turn: Turn, outcome: DecisionOutcome | None) -> Decision:
        command = turn.command
        if outcome is None:
            turn.plan = turn.situation.plan
        else:
            ended = isinstance(outcome, Complete | Fail | Blocked)
            turn.plan = replace(turn.plan, version=command.base_plan_version + 1, ended=ended)
        return Decision(
            decision_id=self._ids("dec"),
            decision_number=command.decision_number,
            plan_version=turn.plan.version,
            outcome=outcome,
            context_size_bytes=turn.context_size(),
            summary=summary_of_outcome(turn, outcome),
            blocks=tuple(turn.blocks),
            reply_verdict=turn.verdict,
            workspace=turn.workspace_state,
        )

    def _store(self, computed: tuple[Turn, Decision, bytes], tx: Transaction) -> AtRevision:
        turn, decision, data = computed
        command = turn.command
        session, interaction = check_access(tx, command)
        stored = _check_number(tx, command, interaction)
        if stored is not None:
            return AtRevision(stored, session.revision)  # first_writer: the loser's work is discarded
        if session.revision != turn.situation.session.revision:
            raise _Moved
        now = self._clock()
        if interaction is None:
            tx.interactions.add(
                Interaction(command.interaction_id, session.domain_session_id, command.epoch, False, 0, 0), now
            )
        elif interaction.epoch < command.epoch:
            tx.interactions.raise_epoch(command.interaction_id, command.epoch)
        for ended in _ended_by(command):
            _close(tx, ended, session.domain_session_id, now)
        if command.facts:
            tx.sessions.store_facts(session.domain_session_id, command.facts, now)
        tx.sessions.touch(session.domain_session_id, command.known_revision)
        for end in turn.ended_approvals:
            tx.calls.resolve_approval(end.digest, end.state, end.approval_id, end.resolved_by)
        if decision.outcome is not None:
            if turn.new_approval is not None:
                tx.calls.add_approval(turn.new_approval)
            for call in turn.calls:
                tx.calls.add_call(call)
            if turn.candidates:
                tx.interactions.add_candidates(command.interaction_id, command.decision_number, turn.candidates)
        tx.interactions.advance(command.interaction_id, command.decision_number, turn.plan)
        _store_workspace(tx, turn)
        tx.interactions.add_decision(
            command.interaction_id,
            decision.decision_id,
            StoredDecision(command.decision_number, command.base_plan_version, command.observation_bytes, data),
            now,
        )
        return AtRevision(data, session.revision + 1)


def _find_stored(tx: Transaction, command: DecideCommand) -> AtRevision | None:
    """What an equal request was answered, before a workspace is opened for it."""
    session, interaction = check_access(tx, command)
    stored = _check_number(tx, command, interaction)
    return None if stored is None else AtRevision(stored, session.revision)


def _store_workspace(tx: Transaction, turn: Turn) -> None:
    """What the session is at, and the interaction where its plan was checked against that; mostly nothing to write."""
    state = turn.workspace_state
    if state is None:
        return
    if state != turn.situation.workspace:
        tx.workspaces.put_state(turn.situation.session.domain_session_id, state)
    interaction = turn.situation.interaction
    if interaction is None or (turn.workspace_checked and interaction.workspace_sha256 != state.sha256):
        tx.interactions.see_workspace(turn.command.interaction_id, state.sha256)


def _check_number(tx: Transaction, command: DecideCommand, interaction: Interaction | None) -> bytes | None:
    """The stored bytes of an equal request, None for the next number; otherwise the refusal is raised."""
    stored_number = interaction.decision_number if interaction is not None else 0
    plan_version = interaction.plan_version if interaction is not None else 0
    number = command.decision_number
    if number <= stored_number:
        stored = tx.interactions.find_decision(command.interaction_id, number)
        assert stored is not None  # decisions go with their session only, which is refused before
        if (stored.base_plan_version, stored.observation_bytes) != (
            command.base_plan_version,
            command.observation_bytes,
        ):
            raise DecisionContradiction(number, "another observation or base_plan_version is stored under this number")
        return stored.decision_bytes
    if number > stored_number + 1:
        raise DecisionGap(number, stored_number)
    if interaction is not None and interaction.closed:
        raise InteractionClosed(command.interaction_id)
    if command.base_plan_version != plan_version:
        raise StalePlanVersion(command.base_plan_version, plan_version)
    return None


def _ended_by(command: DecideCommand) -> frozenset[str]:
    """Interactions of which nothing begins any more from this decision on: superseded, or taken up by a retry."""
    retried = command.observation.interaction_id if isinstance(command.observation, Retry) else ""
    return frozenset({command.supersedes, retried} - {""})


def _close(tx: Transaction, interaction_id: str, domain_session_id: str, now: datetime) -> None:
    """Write the tombstone of a superseded interaction (soundness rule supersede_in_decide)."""
    known = tx.interactions.find(interaction_id)
    if known is None:
        tx.interactions.add(Interaction(interaction_id, domain_session_id, 0, True, 0, 0), now)
    elif known.domain_session_id == domain_session_id:
        tx.interactions.close(interaction_id)
    else:
        raise NotFound.of("interaction", interaction_id)


def _snapshot_unknown(turn: Turn) -> Fail:
    turn.end_approval(ApprovalState.STALE)
    turn.plan = turn.plan.waiting_for_nothing()
    return turn.fail(
        Stage.CONTEXT,
        "workspace_snapshot_unknown",
        texts.SNAPSHOT_UNKNOWN,
        helpful_action=texts.SNAPSHOT_UNKNOWN_HELP,
    )


def _broken(turn: Turn) -> Fail:
    """A failure without confirmed steps: telling them would call the broken domain again. The ledger says how far the
    request had come, the calls of this very observation included (requirement G3).
    """
    states = {execution.state for execution in turn.situation.executions.values()}
    progress = Progress.NOT_EXECUTED
    if ExecutionState.UNKNOWN in states:
        progress = Progress.UNKNOWN
    elif ExecutionState.SUCCEEDED in states:
        progress = Progress.PARTIAL
    return Fail(
        Failure(
            stage=Stage.PLANNING,
            code="plan_invalid",
            explanation=texts.PLAN_INVALID.localized(turn.locale),
            source_code="domain_error",
            progress=progress,
            request_id=turn.command.request_id,
        )
    )
