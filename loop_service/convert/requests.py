"""Request messages to the use cases' inputs: shape, limits, normalisation; what needs the state is checked there.

Every refusal names the field and the accepted form. Called by the servicers.
"""

from __future__ import annotations

import re
from datetime import UTC

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message as ProtoMessage

from handrail.common.v1 import approval_pb2, fact_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.digest import NotCanonical, canonical_json, normalise_text, sha256_hex
from handrail_rpc.errors import FieldViolation, InvalidArgument
from loop_service.application.cancel_interaction import Cancellation
from loop_service.application.create_conversation import NewConversation
from loop_service.application.delete_conversation import DeletionRequest
from loop_service.application.report_channel_failure import ChannelReport
from loop_service.application.resolve_approval import ApprovalVerdict
from loop_service.application.send_message import NewMessage, Reply
from loop_service.convert.names import VERDICT
from loop_service.domain import conversation as limits
from loop_service.domain.approval import Verdict
from loop_service.domain.observation import ReplyResponse

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Checks:
    """Collects what is wrong with a request, to be told all at once."""

    def __init__(self) -> None:
        self._violations: list[FieldViolation] = []

    def wrong(self, field: str, description: str) -> None:
        self._violations.append(FieldViolation(field, description))

    def finish(self) -> None:
        if self._violations:
            raise InvalidArgument.fields(self._violations)

    def request_id(self, value: str) -> str:
        """Every mutating request has one."""
        if not value:
            self.wrong("request_id", "must not be empty; a repetition with the same id is answered by what it made")
        elif len(value) > limits.MOST_REQUEST_ID_CHARACTERS:
            self.wrong("request_id", f"must be at most {limits.MOST_REQUEST_ID_CHARACTERS} characters")
        return value

    def identifier(self, field: str, value: str, *, required: bool = True) -> str:
        if required and not value:
            self.wrong(field, "must not be empty")
        elif len(value) > limits.MOST_ID_CHARACTERS:
            self.wrong(field, f"must be at most {limits.MOST_ID_CHARACTERS} characters")
        return value

    def text(self, field: str, value: str, most: int, *, required: bool = False) -> str:
        """NFC-normalised; the limit counts characters after that."""
        try:
            normal = normalise_text(value)
        except NotCanonical:
            self.wrong(field, "must be well-formed Unicode text")
            return ""
        if "\0" in normal:
            self.wrong(field, "must not contain the character NUL")
        elif len(normal) > most:
            self.wrong(field, f"must be at most {most} characters, not {len(normal)}")
        elif required and not normal.strip():
            self.wrong(field, f"must be 1 to {most} characters and not only white space")
        return normal


def body_sha256(request: ProtoMessage) -> str:
    """What makes two requests the same: everything but the request_id."""
    body = type(request)()
    body.CopyFrom(request)
    body.ClearField("request_id")
    return sha256_hex(body.SerializeToString(deterministic=True))


def new_conversation(request: pb.CreateConversationRequest) -> NewConversation:
    checks = Checks()
    request_id = checks.request_id(request.request_id)
    if not request.domain:
        checks.wrong("domain", "must not be empty; ListDomains names the domains")
    title = checks.text("title", request.title, limits.MOST_TITLE_CHARACTERS)
    if len(request.labels) > limits.MOST_LABELS:
        checks.wrong("labels", f"must be at most {limits.MOST_LABELS}, not {len(request.labels)}")
    labels: dict[str, str] = {}
    for key, value in request.labels.items():
        name = checks.text("labels", key, limits.MOST_LABEL_CHARACTERS, required=True)
        if name in labels:
            checks.wrong("labels", "must not have two keys that Unicode normalisation (NFC) makes the same")
        labels[name] = checks.text("labels", value, limits.MOST_LABEL_CHARACTERS)
    checks.finish()
    return NewConversation(request_id, body_sha256(request), request.domain, title, labels)


def new_message(request: pb.SendMessageRequest) -> NewMessage:
    checks = Checks()
    request_id = checks.request_id(request.request_id)
    checks.identifier("conversation_id", request.conversation_id)
    checks.identifier("workspace_snapshot_id", request.workspace_snapshot_id, required=False)
    reply = _reply(request, checks)
    has_response = reply is not None and reply.response.is_set
    text = checks.text("text", request.text, limits.MOST_TEXT_CHARACTERS, required=not has_response)
    if len(request.facts) > limits.MOST_FACTS:
        checks.wrong("facts", f"must be at most {limits.MOST_FACTS}, not {len(request.facts)}")
    for index, fact in enumerate(request.facts[: limits.MOST_FACTS]):
        _check_fact(f"facts[{index}]", fact, checks)
    checks.finish()
    return NewMessage(
        request_id,
        body_sha256(request),
        request.conversation_id,
        text.strip() and text,
        reply,
        request.workspace_snapshot_id,
        tuple(fact.SerializeToString(deterministic=True) for fact in request.facts),
    )


def _reply(request: pb.SendMessageRequest, checks: Checks) -> Reply | None:
    if not request.HasField("reply"):
        return None
    reply = request.reply
    checks.identifier("reply.interaction_id", reply.interaction_id, required=False)
    checks.identifier("reply.clarification_id", reply.clarification_id, required=False)
    response = ReplyResponse()
    match reply.WhichOneof("response"):
        case "selected_candidate_id":
            response = ReplyResponse(selected_candidate_id=reply.selected_candidate_id)
        case "skip":
            if not reply.skip:
                checks.wrong("reply.skip", "must be true where it is set; leave it out to answer")
            response = ReplyResponse(skip=True)
        case "confirmed":
            response = ReplyResponse(confirmed=reply.confirmed)
        case "review_verdict":
            name = VERDICT.name(reply.review_verdict)
            if name == "unspecified":
                checks.wrong(
                    "reply.review_verdict",
                    "must be VERDICT_APPROVE, VERDICT_REJECT or VERDICT_REQUEST_CHANGES",
                )
            else:
                response = ReplyResponse(review_verdict=Verdict(name))
        case _:
            pass
    if response.is_set and not reply.clarification_id:
        checks.wrong("reply.clarification_id", "must be set where the reply has a response")
    return Reply(reply.interaction_id, reply.clarification_id, response)


def _check_fact(field: str, fact: fact_pb2.Fact, checks: Checks) -> None:
    if not fact.name or len(fact.name) > limits.MOST_ID_CHARACTERS:
        checks.wrong(f"{field}.name", f"must be 1 to {limits.MOST_ID_CHARACTERS} characters")
    if fact.source == fact_pb2.SOURCE_UNSPECIFIED or fact.source not in fact_pb2.Source.values():
        checks.wrong(f"{field}.source", "must be SOURCE_DEVICE, SOURCE_USER, SOURCE_DEMO or SOURCE_SYSTEM")
    if len(fact.scope) > limits.MOST_ID_CHARACTERS:
        checks.wrong(f"{field}.scope", f"must be at most {limits.MOST_ID_CHARACTERS} characters")
    if fact.ByteSize() > limits.MOST_FACT_BYTES:
        checks.wrong(field, f"must be at most {limits.MOST_FACT_BYTES} bytes")
    elif fact.name == "position":
        _check_position(field, fact, checks)
    else:
        _check_canonical(field, fact, checks)
    if fact.HasField("observed_time"):
        try:
            fact.observed_time.ToDatetime(UTC)
        except ValueError:
            checks.wrong(f"{field}.observed_time", "must be within the years 1 to 9999")


def _check_canonical(field: str, fact: fact_pb2.Fact, checks: Checks) -> None:
    """A value without a canonical form would be refused by the Adapter, after the message was accepted."""
    try:
        canonical_json(MessageToDict(fact.value))
    except NotCanonical as error:
        checks.wrong(f"{field}.value", str(error))
    except ValueError:
        checks.wrong(f"{field}.value", "must not contain NaN or an infinity")


def _check_position(field: str, fact: fact_pb2.Fact, checks: Checks) -> None:
    """{lat, lon} in degrees; NaN and infinities fail the comparison."""
    for name, most in (("lat", 90.0), ("lon", 180.0)):
        value = fact.value.fields.get(name)
        number = value.number_value if value is not None and value.HasField("number_value") else None
        if number is None or not -most <= number <= most:
            checks.wrong(f"{field}.value.{name}", f"must be a number from -{most:g} to {most:g} degrees")


def approval_verdict(request: pb.ResolveApprovalRequest) -> ApprovalVerdict:
    checks = Checks()
    request_id = checks.request_id(request.request_id)
    checks.identifier("approval_id", request.approval_id)
    name = VERDICT.name(request.verdict)
    if request.verdict == approval_pb2.VERDICT_UNSPECIFIED or name == "unspecified":
        checks.wrong("verdict", "must be VERDICT_APPROVE, VERDICT_REJECT or VERDICT_REQUEST_CHANGES")
    if not _DIGEST.fullmatch(request.snapshot_digest):
        checks.wrong("snapshot_digest", "must be the 64 lower-case hex digits that were shown")
    comment = checks.text("comment", request.comment, limits.MOST_COMMENT_CHARACTERS)
    if name == Verdict.REQUEST_CHANGES.value and not comment.strip():
        checks.wrong("comment", "must say what should change, with VERDICT_REQUEST_CHANGES")
    checks.finish()
    return ApprovalVerdict(
        request_id,
        body_sha256(request),
        request.approval_id,
        Verdict(name),
        request.snapshot_digest,
        comment,
    )


def cancellation(request: pb.CancelInteractionRequest) -> Cancellation:
    checks = Checks()
    request_id = checks.request_id(request.request_id)
    checks.identifier("interaction_id", request.interaction_id)
    reason = checks.text("reason", request.reason, limits.MOST_REASON_CHARACTERS)
    checks.finish()
    return Cancellation(request_id, body_sha256(request), request.interaction_id, reason)


def deletion(request: pb.DeleteConversationRequest) -> DeletionRequest:
    checks = Checks()
    request_id = checks.request_id(request.request_id)
    checks.identifier("conversation_id", request.conversation_id)
    checks.finish()
    return DeletionRequest(request_id, body_sha256(request), request.conversation_id)


def channel_report(request: pb.ReportChannelFailureRequest) -> ChannelReport:
    checks = Checks()
    request_id = checks.request_id(request.request_id)
    checks.identifier("conversation_id", request.conversation_id)
    channel = checks.text("channel", request.channel, limits.MOST_CHANNEL_CHARACTERS, required=True)
    source_code = checks.text("source_code", request.source_code, limits.MOST_SOURCE_CODE_CHARACTERS)
    checks.finish()
    return ChannelReport(request_id, body_sha256(request), request.conversation_id, channel, request.code, source_code)


def check_identifier(field: str, value: str) -> str:
    """One id of a reading request."""
    checks = Checks()
    checks.identifier(field, value)
    checks.finish()
    return value
