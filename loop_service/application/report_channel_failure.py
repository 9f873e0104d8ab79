"""Records a fault of the client's own channel: its microphone, its socket (G2). Called by the servicer.

It is an event outside any run with the report's own request id, and never the cause of anything else: no interaction
and no run changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from handrail_rpc.errors import InvalidArgument, OutOfRange
from loop_service.application.accept import CallInfo, check_open, find_replay, visible_conversation
from loop_service.application.environment import Environment
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.domain.audit import AuditEntry, AuditKind
from loop_service.domain.conversation import AcceptedRequest
from loop_service.domain.events import ChannelFailed, NewEvent
from loop_service.domain.failures import CHANNEL_CODES, Progress, make_failure

METHOD = "ReportChannelFailure"


@dataclass(frozen=True, slots=True)
class ChannelReport:
    """Checked in shape and normalised; `source_code` is the client's own."""

    request_id: str
    body_sha256: str
    conversation_id: str
    channel: str
    code: str
    source_code: str


class ReportChannelFailure:
    def __init__(self, storage: UnitOfWork, env: Environment) -> None:
        self._storage = storage
        self._env = env

    async def execute(self, report: ChannelReport, call: CallInfo) -> bytes:
        """Bytes of the stored Event.

        Raises NotFound, RequestIdReused, InvalidArgument for a code that is none of a channel's, and OutOfRange for a
        repetition whose event retention has removed.
        """
        if report.code not in CHANNEL_CODES:
            raise InvalidArgument.field("code", f"must be one of {', '.join(CHANNEL_CODES)}")
        now = self._env.clock.now()
        return await self._storage.write(
            lambda tx: self._store(tx, now, report, call), name="report_channel_failure.store"
        )

    def _store(self, tx: Transaction, now: datetime, report: ChannelReport, call: CallInfo) -> bytes:
        conversation = visible_conversation(tx, report.conversation_id, call.caller)
        scope = call.scope(METHOD, report.request_id)
        known = find_replay(tx, scope, report.body_sha256)
        if known is not None:
            return _event(tx, known)
        check_open(conversation)
        failure = make_failure(report.code, call.caller.locale, report.request_id, (), source_code=report.source_code)
        # It says nothing of how far any request has come.
        failure = replace(failure, progress=Progress.UNSPECIFIED)
        payload = ChannelFailed(report.channel, self._env.codec.encode_failure(failure))
        entry = AuditEntry(
            "", "", AuditKind.CHANNEL_FAILED, call.caller.principal, digest=report.body_sha256, code=report.code
        )
        tx.journal.append(conversation, [NewEvent("", "", report.request_id, payload)], [entry], now)
        tx.conversations.save(conversation)
        accepted = AcceptedRequest(
            scope, report.body_sha256, conversation.conversation_id, event_sequence=conversation.last_sequence
        )
        tx.requests.insert(accepted, now)
        return _event(tx, accepted)


def _event(tx: Transaction, accepted: AcceptedRequest) -> bytes:
    """The event that the report made, as it is stored."""
    found = tx.journal.events(accepted.conversation_id, accepted.event_sequence - 1, 1)
    if not found or found[0].sequence != accepted.event_sequence:
        raise OutOfRange("the event of this report is no longer kept", reason="EVENT_NOT_KEPT")
    return found[0].data
