"""A person's verdict on an approval, addressed by its id and digest (contract.md 'Resolving an approval', E1 to E5).

Called by the servicer. Who resolves comes from the credential. Comparison with the content and the claim are the
Adapter's; here only what the Loop stores is compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from handrail_rpc.errors import NotFound, Unavailable
from loop_service.application.accept import (
    Accepted,
    Acceptor,
    CallInfo,
    admit,
    claim_if,
    find_replay,
    first_sequence,
    visible_approval,
)
from loop_service.application.environment import Environment
from loop_service.application.lifecycle import close_approval, is_checking_expiry, resume, start_run
from loop_service.application.stopping import request_stop
from loop_service.application.store_ports import Resolution, Transaction
from loop_service.application.work import Work
from loop_service.domain.approval import (
    STATUS_OF,
    Approval,
    ApprovalStatus,
    DigestMatch,
    Verdict,
    closed_error,
    match_digest,
)
from loop_service.domain.conversation import AcceptedRequest, Conversation, RequestScope
from loop_service.domain.decision import PolicyBlock
from loop_service.domain.errors import WrongState
from loop_service.domain.events import NAMES, RunStarted
from loop_service.domain.failures import CATALOGUE, TEXTS
from loop_service.domain.interaction import InteractionState, StopKind
from loop_service.domain.observation import ApprovalResolution
from loop_service.domain.permission import check_may_approve
from loop_service.domain.run import Run, RunState

METHOD = "ResolveApproval"


@dataclass(frozen=True, slots=True)
class ApprovalVerdict:
    request_id: str
    body_sha256: str
    approval_id: str
    verdict: Verdict
    snapshot_digest: str
    comment: str


class ResolveApproval:
    def __init__(self, acceptor: Acceptor, env: Environment) -> None:
        self._acceptor = acceptor
        self._env = env

    async def execute(self, request: ApprovalVerdict, call: CallInfo) -> AcceptedRequest:
        """Returns what the verdict made, or what the same verdict made before; its run is to be streamed.

        Raises NotFound, PermissionDenied, RequestIdReused, WrongState for a closed approval, an unknown digest or a
        busy interaction, and Unavailable while nobody can tell whether it has expired; then nothing changes.
        """
        return await self._acceptor.accept(
            lambda tx, now, owner: self._accept(tx, now, owner, request, call), name="resolve_approval.accept"
        )

    def _accept(self, tx: Transaction, now: datetime, owner: str, request: ApprovalVerdict, call: CallInfo) -> Accepted:
        approval, conversation = visible_approval(tx, request.approval_id, call.caller)
        scope = call.scope(METHOD, request.request_id)
        known = find_replay(tx, scope, request.body_sha256)
        if known is not None:
            return Accepted(known)
        check_may_approve(approval.gate, call.caller, approval.approval_id)
        match = match_digest(approval, request.snapshot_digest, tx.approvals.earlier_digests(approval.approval_id))
        if match is DigestMatch.NEVER_ISSUED:
            raise WrongState(
                "DIGEST_UNKNOWN",
                approval.approval_id,
                f"snapshot_digest: was never issued for approval {approval.approval_id}, "
                f"which is {approval.status.value}; nothing was changed",
                state=approval.status.value,
            )
        recorded = tx.approvals.find_resolution(approval.approval_id, request.verdict.value, request.snapshot_digest)
        if recorded is not None:
            return Accepted(self._record(tx, now, scope, request, approval, recorded.run_id))
        work = self._open_work(tx, now, approval, conversation)
        if match is DigestMatch.SUPERSEDED:
            return self._answer_stale(work, scope, request, approval, call)
        if approval.status is not ApprovalStatus.OPEN:
            raise closed_error(approval)
        if is_checking_expiry(work) and (work.interaction.is_busy or request.verdict is not Verdict.REJECT):
            raise Unavailable(
                f"whether approval {approval.approval_id} has expired is being asked of the domain service, which has "
                "not answered yet; nothing was changed",
                reason="APPROVAL_BEING_CHECKED",
                retry_after=self._env.timings.expiry_recheck,
            )
        if work.interaction.is_busy or work.interaction.state is not InteractionState.AWAITING_APPROVAL:
            raise _not_now(approval, work)
        return self._resolve(work, scope, request, approval, call, owner)

    def _open_work(self, tx: Transaction, now: datetime, approval: Approval, conversation: Conversation) -> Work:
        interaction = tx.interactions.find(approval.interaction_id)
        if interaction is None:
            raise NotFound.of("approval", approval.approval_id)
        return Work(tx, self._env, conversation, interaction, None, now)

    def _resolve(
        self,
        work: Work,
        scope: RequestScope,
        request: ApprovalVerdict,
        approval: Approval,
        call: CallInfo,
        owner: str,
    ) -> Accepted:
        by = call.caller.principal
        if request.verdict is Verdict.REJECT:
            request_stop(
                work,
                StopKind.REJECT,
                by=by,
                reason=request.comment or TEXTS["reason_rejected"].of(call.caller.locale),
                request_id=request.request_id,
                traceparent=call.traceparent,
                approval_id=approval.approval_id,
                code="approval_rejected",
            )
            close_approval(work, STATUS_OF[request.verdict], by=by, digest=request.snapshot_digest)
        else:
            # A rejection ends work instead of adding to it: it is never refused.
            admit(work.tx, self._env, owner)
            start_run(
                work,
                request_id=request.request_id,
                traceparent=call.traceparent,
                approval_id=approval.approval_id,
            )
            close_approval(work, STATUS_OF[request.verdict], by=by, digest=request.snapshot_digest)
            if request.verdict is Verdict.APPROVE:
                work.interaction.approved_id = approval.approval_id
            resume(work)
            work.observe(
                ApprovalResolution(
                    approval.approval_id,
                    request.snapshot_digest,
                    request.verdict,
                    request.comment,
                    by,
                ),
                kind="approval_resolved",
            )
        work.tx.approvals.insert_resolution(
            Resolution(approval.approval_id, request.verdict.value, request.snapshot_digest, work.run.run_id, by),
            work.now,
        )
        accepted = self._record(work.tx, work.now, scope, request, approval, work.run.run_id)
        step = claim_if(work, owner)
        work.save()
        return Accepted(replace(accepted, first_sequence=first_sequence(work)), step)

    def _answer_stale(
        self,
        work: Work,
        scope: RequestScope,
        request: ApprovalVerdict,
        approval: Approval,
        call: CallInfo,
    ) -> Accepted:
        """The content changed since: a policy block and the current approval again, made once, as a run of its own."""
        interaction = work.interaction
        current = work.tx.approvals.find(interaction.approval_id) if interaction.approval_id else None
        if current is None or interaction.is_busy or interaction.state is not InteractionState.AWAITING_APPROVAL:
            raise _not_now(approval, work)
        run = Run(
            run_id=self._env.ids.new("run"),
            conversation_id=work.conversation.conversation_id,
            interaction_id=interaction.interaction_id,
            request_id=request.request_id,
            create_time=work.now,
            state=RunState.ENDED,
            approval_id=approval.approval_id,
            resumed_run_id=interaction.last_run_id,
            traceparent=call.traceparent,
            start_time=work.now,
            end_time=work.now,
        )
        work.use_run(run)
        work.emit(RunStarted("", approval.approval_id, run.resumed_run_id, work.env.history_id))
        wording = CATALOGUE["approval_stale"].situations["verdict"]
        locale = call.caller.locale
        work.block(
            PolicyBlock(
                "approval_stale",
                "approval_matches",
                wording.explanation.of(locale),
                approval.approval_id,
                wording.helpful_action.of(locale),
                current.tool,
                "",
            )
        )
        ending = current.required_event()
        work.emit(ending)
        run.ending = NAMES[type(ending)]
        work.tx.approvals.insert_resolution(
            Resolution(
                approval.approval_id,
                request.verdict.value,
                request.snapshot_digest,
                run.run_id,
                call.caller.principal,
            ),
            work.now,
        )
        accepted = self._record(work.tx, work.now, scope, request, approval, run.run_id)
        work.save()
        return Accepted(accepted)

    def _record(
        self,
        tx: Transaction,
        now: datetime,
        scope: RequestScope,
        request: ApprovalVerdict,
        approval: Approval,
        run_id: str,
    ) -> AcceptedRequest:
        accepted = AcceptedRequest(
            scope,
            request.body_sha256,
            approval.conversation_id,
            interaction_id=approval.interaction_id,
            run_id=run_id,
        )
        tx.requests.insert(accepted, now)
        return accepted


def _not_now(approval: Approval, work: Work) -> WrongState:
    """The interaction is busy, waits for something else or has ended; its state is named."""
    state = work.interaction.state.value
    if approval.is_resolved:
        return closed_error(approval)
    advice = "nothing of it is open any more" if work.interaction.is_terminal else "wait for what it asks next"
    return WrongState(
        "INTERACTION_STATE",
        work.interaction.interaction_id,
        f"approval {approval.approval_id} is {approval.status.value} and interaction "
        f"{work.interaction.interaction_id} is {state}; {advice}",
        state=state,
    )
