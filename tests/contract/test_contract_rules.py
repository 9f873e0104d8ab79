"""Rules of the contract that buf does not know: names, request ids, paging, comments on states, loopback wire names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2

ROOT = Path(__file__).parents[2]
FILES = descriptor_pb2.FileDescriptorSet.FromString(
    (ROOT / "proto/python/handrail/descriptor_set.binpb").read_bytes()
).file
OURS = [file for file in FILES if file.package.startswith("handrail.")]

READ_ONLY = {"ListDomains", "GetConversation", "ListConversations", "ListMessages", "WatchConversation",
             "GetInteraction", "GetRun", "ListPending", "ListAuditEvents", "GetArtifact", "ListArtifacts",
             "ReadArtifact", "DescribeDomain", "GetSession", "VerifyAudit", "GetApproval",
             "ListDivergedConversations", "DiffArtifact", "GetWorkspace", "ReadWorkspaceFile"}  # fmt: skip
SERVED = {
    "handrail.loop.v1.WorkflowLoopService": {
        "ListDomains", "CreateConversation", "GetConversation", "ListConversations", "ListMessages", "SendMessage",
        "ResolveApproval", "WatchConversation", "CancelInteraction", "GetInteraction", "GetRun", "ListPending",
        "ListAuditEvents", "VerifyAudit", "GetApproval", "SignalInteraction", "SettleExecution", "DeleteConversation",
        "ReportChannelFailure", "ListDivergedConversations", "RecoverConversation"},
    "handrail.adapter.v1.DomainAdapterService": {
        "DescribeDomain", "OpenSession", "Decide", "ExecuteTool", "CancelInteraction", "GetSession",
        "SettleExecution", "DeleteSession"},
    "handrail.adapter.v1.ArtifactService": {
        "GetArtifact", "ListArtifacts", "ReadArtifact", "DiffArtifact", "UploadWorkspace", "GetWorkspace",
        "ReadWorkspaceFile"},
}  # fmt: skip


def messages() -> Iterator[tuple[str, descriptor_pb2.DescriptorProto]]:
    for file in OURS:
        for message in file.message_type:
            yield f"{file.package}.{message.name}", message


MESSAGES = dict(messages())


def methods() -> Iterator[tuple[str, descriptor_pb2.MethodDescriptorProto]]:
    for file in OURS:
        for service in file.service:
            for method in service.method:
                yield f"{file.package}.{service.name}", method


def test_exactly_the_served_rpcs_are_in_the_contract() -> None:
    found: dict[str, set[str]] = {}
    for service, method in methods():
        found.setdefault(service, set()).add(method.name)
    assert found == SERVED


@pytest.mark.parametrize(("service", "method"), [pytest.param(s, m, id=m.name) for s, m in methods()])
def test_mutating_requests_have_a_request_id_and_lists_are_paged(
    service: str, method: descriptor_pb2.MethodDescriptorProto
) -> None:
    request = {field.name for field in MESSAGES[method.input_type.lstrip(".")].field}
    response = {field.name for field in MESSAGES[method.output_type.lstrip(".")].field}
    assert ("request_id" in request) == (method.name not in READ_ONLY)
    if method.name.startswith("List"):
        assert {"page_size", "page_token"} <= request
        assert "next_page_token" in response


def test_times_are_timestamps_named_time_and_ids_name_their_kind() -> None:
    for name, message in MESSAGES.items():
        for field in message.field:
            if field.type_name == ".google.protobuf.Timestamp":
                assert field.name.endswith("_time") or (name, field.name) == ("handrail.loop.v1.Waiting", "until")
            assert field.name != "id", name
            assert "cancelled" not in field.name


@pytest.mark.parametrize("enum", ["InteractionState", "RunState", "TaskState", "ApprovalOutcome", "ApprovalState"])
def test_each_state_says_active_waiting_or_terminal(enum: str) -> None:
    text = "\n".join(path.read_text() for path in (ROOT / "proto/handrail").rglob("*.proto"))
    (body,) = re.findall(rf"enum {enum} {{(.*?)\n}}", text, re.DOTALL)
    comments = re.findall(r"// (.*)\n\s+\w+ = [1-9]", body)
    assert len(comments) == len(re.findall(r"= [1-9]\d*;", body))
    assert all(re.match(r"(Active|Waiting|Terminal)\b", comment) for comment in comments), comments


def test_every_file_names_its_go_and_java_packages() -> None:
    for file in OURS:
        assert file.options.go_package
        assert file.options.java_package
