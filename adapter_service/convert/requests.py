"""Commands from request messages, checked. Called by the servicers; raises InvalidArgument naming every wrong field."""

from __future__ import annotations

from adapter_service.application.cancel_interaction import CancelCommand
from adapter_service.application.decide.turn import DecideCommand
from adapter_service.application.execute.claim import ExecuteCommand
from adapter_service.application.settle_execution import SettleCommand
from adapter_service.convert.observation import read_facts, read_observation
from adapter_service.convert.validation import MOST_ROLES, Violations
from adapter_service.domain.session import Principal
from handrail.adapter.v1 import artifact_service_pb2 as artifact_pb2
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import caller_pb2, tool_pb2

MOST_PAGE = 200
DEFAULT_CONTEXT_LINES, MOST_CONTEXT_LINES = 3, 100
DEFAULT_PAGE = 50


def read_decide(request: pb2.DecideRequest, served_request_id: str) -> DecideCommand:
    """A DecideRequest."""
    bad = Violations()
    bad.identifiers(request, ("request_id", "domain", "domain_session_id", "interaction_id", "run_id", "history_id"))
    bad.identifier("supersedes_interaction_id", request.supersedes_interaction_id, required=False)
    bad.identifier("workspace_snapshot_id", request.workspace_snapshot_id, required=False)
    bad.at_least("lease_epoch", request.lease_epoch, 0)
    bad.at_least("known_session_revision", request.known_session_revision, 0)
    bad.at_least("decision_number", request.decision_number, 1)
    bad.at_least("base_plan_version", request.base_plan_version, 0)
    bad.locale("locale", request.locale)
    if request.supersedes_interaction_id and request.decision_number > 1:
        bad.add("supersedes_interaction_id", "is for decision_number 1 only")
    if request.supersedes_interaction_id and request.supersedes_interaction_id == request.interaction_id:
        bad.add("supersedes_interaction_id", "must be another interaction")
    principal = read_principal(request.HasField("caller"), request.caller, bad)
    facts = read_facts(list(request.facts), bad)
    observation = read_observation(request.observation, bad)
    bad.refuse()
    assert observation is not None  # its absence is a violation
    return DecideCommand(
        domain=request.domain,
        domain_session_id=request.domain_session_id,
        interaction_id=request.interaction_id,
        epoch=request.lease_epoch,
        decision_number=request.decision_number,
        base_plan_version=request.base_plan_version,
        principal=principal,
        locale=request.locale,
        facts=facts,
        observation=observation,
        observation_bytes=request.observation.SerializeToString(deterministic=True),
        history_id=request.history_id,
        supersedes=request.supersedes_interaction_id,
        request_id=served_request_id,
        known_revision=request.known_session_revision,
        workspace_snapshot_id=request.workspace_snapshot_id,
    )


def read_execute(request: pb2.ExecuteToolRequest, served_request_id: str) -> ExecuteCommand:
    """An ExecuteToolRequest."""
    bad = Violations()
    bad.identifiers(
        request,
        ("request_id", "domain", "domain_session_id", "interaction_id", "run_id", "tool_call_id", "history_id"),
    )
    bad.at_least("lease_epoch", request.lease_epoch, 0)
    bad.at_least("known_session_revision", request.known_session_revision, 0)
    bad.at_least("dispatch_number", request.dispatch_number, 1)
    bad.locale("locale", request.locale)
    principal = read_principal(request.HasField("caller"), request.caller, bad)
    bad.refuse()
    return ExecuteCommand(
        domain=request.domain,
        domain_session_id=request.domain_session_id,
        interaction_id=request.interaction_id,
        epoch=request.lease_epoch,
        tool_call_id=request.tool_call_id,
        dispatch_number=request.dispatch_number,
        principal=principal,
        locale=request.locale,
        history_id=request.history_id,
        request_id=served_request_id,
        known_revision=request.known_session_revision,
    )


def read_cancel(request: pb2.CancelInteractionRequest) -> CancelCommand:
    """A CancelInteractionRequest."""
    bad = Violations()
    bad.identifiers(request, ("request_id", "domain", "domain_session_id", "interaction_id", "history_id"))
    bad.at_least("lease_epoch", request.lease_epoch, 0)
    bad.at_least("known_session_revision", request.known_session_revision, 0)
    bad.refuse()
    return CancelCommand(
        domain=request.domain,
        domain_session_id=request.domain_session_id,
        interaction_id=request.interaction_id,
        epoch=request.lease_epoch,
        history_id=request.history_id,
        known_revision=request.known_session_revision,
    )


def read_settle(request: pb2.SettleExecutionRequest, served_request_id: str) -> SettleCommand:
    """A SettleExecutionRequest."""
    bad = Violations()
    bad.identifiers(
        request,
        (
            "request_id",
            "domain",
            "domain_session_id",
            "interaction_id",
            "tool_call_id",
            "history_id",
            "settled_by",
        ),
    )
    bad.locale("locale", request.locale)
    if request.outcome not in (tool_pb2.OUTCOME_SUCCEEDED, tool_pb2.OUTCOME_FAILED):
        bad.add("outcome", "must be OUTCOME_SUCCEEDED (it happened) or OUTCOME_FAILED (it did not)")
    comment = bad.text("comment", request.comment)
    bad.refuse()
    return SettleCommand(
        domain=request.domain,
        domain_session_id=request.domain_session_id,
        interaction_id=request.interaction_id,
        tool_call_id=request.tool_call_id,
        history_id=request.history_id,
        happened=request.outcome == tool_pb2.OUTCOME_SUCCEEDED,
        settled_by=request.settled_by,
        comment=comment,
        locale=request.locale,
        request_id=served_request_id,
    )


def check_open_session(request: pb2.OpenSessionRequest) -> None:
    """An OpenSessionRequest."""
    bad = Violations()
    bad.identifiers(request, ("request_id", "domain", "conversation_id"))
    bad.refuse()


def check_delete_session(request: pb2.DeleteSessionRequest) -> None:
    """A DeleteSessionRequest."""
    bad = Violations()
    bad.identifiers(request, ("request_id", "domain", "conversation_id"))
    bad.refuse()


def check_describe(request: pb2.DescribeDomainRequest) -> str:
    """The locale of a DescribeDomainRequest, English where none is named."""
    bad = Violations()
    bad.identifier("domain", request.domain)
    locale = request.locale or "en"
    bad.locale("locale", locale)
    bad.refuse()
    return locale


def read_get_session(request: pb2.GetSessionRequest) -> tuple[Principal, str]:
    """The caller and locale of a GetSessionRequest."""
    bad = Violations()
    bad.identifier("domain_session_id", request.domain_session_id)
    locale = request.locale or "en"
    bad.locale("locale", locale)
    principal = read_principal(request.HasField("caller"), request.caller, bad)
    bad.refuse()
    return principal, locale


def read_principal(present: bool, message: caller_pb2.Principal, bad: Violations) -> Principal:
    """On whose behalf a call is made; must be named."""
    if not present or not message.principal:
        bad.add("caller", "must be set, with a principal")
    bad.identifier("caller.principal", message.principal, required=False)
    if len(message.roles) > MOST_ROLES:
        bad.add("caller.roles", f"must be at most {MOST_ROLES}")
    for index, role in enumerate(message.roles[:MOST_ROLES]):
        bad.identifier(f"caller.roles[{index}]", role, required=False)
    return Principal(message.principal, frozenset(message.roles))


def check_get_artifact(request: artifact_pb2.GetArtifactRequest | artifact_pb2.ReadArtifactRequest) -> None:
    """A GetArtifactRequest or ReadArtifactRequest."""
    bad = Violations()
    bad.identifiers(request, ("conversation_id", "artifact_id"))
    bad.at_least("version", request.version, 0)
    if isinstance(request, artifact_pb2.ReadArtifactRequest):
        bad.at_least("offset", request.offset, 0)
    bad.refuse()


def read_diff_artifact(request: artifact_pb2.DiffArtifactRequest) -> int:
    """The unchanged lines around each change that a DiffArtifactRequest wants; its other fields are checked."""
    bad = Violations()
    bad.identifiers(request, ("conversation_id", "artifact_id"))
    bad.at_least("from_version", request.from_version, 0)
    bad.at_least("to_version", request.to_version, 0)
    context = request.context_lines if request.HasField("context_lines") else DEFAULT_CONTEXT_LINES
    if not 0 <= context <= MOST_CONTEXT_LINES:
        bad.add("context_lines", f"must be within 0 and {MOST_CONTEXT_LINES}, or unset for {DEFAULT_CONTEXT_LINES}")
    bad.refuse()
    return context


def read_page_size(request: artifact_pb2.ListArtifactsRequest) -> int:
    """The page size of a ListArtifactsRequest, whose other fields are checked."""
    bad = Violations()
    bad.identifier("conversation_id", request.conversation_id)
    bad.identifier("page_token", request.page_token, required=False)
    if not 0 <= request.page_size <= MOST_PAGE:
        bad.add("page_size", f"must be within 1 and {MOST_PAGE}, or 0 for {DEFAULT_PAGE}")
    bad.refuse()
    return request.page_size or DEFAULT_PAGE
