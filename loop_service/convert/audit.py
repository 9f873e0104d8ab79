"""The verdict on an audit trail as a message. Called by the servicer."""

from __future__ import annotations

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.audit_chain import Verdict
from loop_service.convert.names import AUDIT_FAULT


def verified(conversation_id: str, verdict: Verdict, locale: str) -> pb.VerifyAuditResponse:
    return pb.VerifyAuditResponse(
        conversation_id=conversation_id,
        valid=verdict.valid,
        checked_rows=verdict.checked_rows,
        head_hash=verdict.head.hash,
        findings=[
            pb.AuditFinding(
                number=each.number,
                fault=AUDIT_FAULT.number(each.fault.value),
                explanation=each.text.localized(locale),
            )
            for each in verdict.findings
        ],
    )
