"""What a person probes with: the real grpcurl and `buf curl` list, describe, call and stream through the gateway."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.processes import Stack

LOOP = "handrail.loop.v1.WorkflowLoopService"
BIN = Path(sys.executable).parent


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)


def _camel(value: Any) -> Any:
    """Both spellings of proto JSON are right, and a tool prints what the reflected descriptors make it print."""
    if isinstance(value, dict):
        return {re.sub("_([a-z])", lambda found: found[1].upper(), key): _camel(each) for key, each in value.items()}
    return [_camel(each) for each in value] if isinstance(value, list) else value


def _objects(text: str) -> list[dict]:
    """The JSON objects that a tool printed one after another."""
    decoder, found, position = json.JSONDecoder(), [], 0
    while position < len(text.rstrip()):
        while text[position].isspace():
            position += 1
        value, position = decoder.raw_decode(text, position)
        found.append(_camel(value))
    return found


class Grpcurl:
    """grpcurl over plain HTTP/2."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.command = [str(BIN / "grpcurl"), "-plaintext"]

    def list(self, service: str = "") -> subprocess.CompletedProcess[str]:
        return _run(*self.command, self.target, "list", *([service] if service else []))

    def call(self, method: str, body: dict, *headers: str) -> subprocess.CompletedProcess[str]:
        flags = [part for header in headers for part in ("-H", header)]
        return _run(*self.command, *flags, "-d", json.dumps(body), self.target, method)


class BufCurl:
    """buf curl in the gRPC protocol over plain HTTP/2."""

    def __init__(self, target: str) -> None:
        self.base = f"http://{target}"
        self.command = [str(BIN / "buf"), "curl", "--protocol", "grpc", "--http2-prior-knowledge"]

    def list(self, service: str = "") -> subprocess.CompletedProcess[str]:
        if service:
            return _run(*self.command, "--list-methods", self.base)
        return _run(*self.command, "--list-services", self.base)

    def call(self, method: str, body: dict, *headers: str) -> subprocess.CompletedProcess[str]:
        flags = [part for header in headers for part in ("-H", header)]
        return _run(*self.command, *flags, "-d", json.dumps(body), f"{self.base}/{method}")


@pytest.fixture(params=["grpcurl", "buf"])
def probe(request: pytest.FixtureRequest, handrail: Stack) -> Grpcurl | BufCurl:
    return (Grpcurl if request.param == "grpcurl" else BufCurl)(handrail.gateway.target)


def test_it_lists_the_services_and_their_methods(probe: Grpcurl | BufCurl) -> None:
    services = probe.list()
    assert services.returncode == 0, services.stderr
    assert {LOOP, "handrail.adapter.v1.ArtifactService", "grpc.health.v1.Health"} <= set(services.stdout.split())
    methods = probe.list(LOOP)
    assert methods.returncode == 0, methods.stderr
    for name in ("SendMessage", "ResolveApproval", "WatchConversation", "ListPending"):
        assert any(line.endswith(name) for line in methods.stdout.split()), methods.stdout


def test_grpcurl_describes_services_and_messages(handrail: Stack) -> None:
    target = handrail.gateway.target
    service = _run(str(BIN / "grpcurl"), "-plaintext", target, "describe", LOOP)
    assert service.returncode == 0, service.stderr
    assert "rpc SendMessage ( .handrail.loop.v1.SendMessageRequest ) returns ( stream" in service.stdout
    message = _run(str(BIN / "grpcurl"), "-plaintext", target, "describe", "handrail.common.v1.ApprovalSnapshot")
    assert message.returncode == 0, message.stderr
    assert "string idempotency_key" in message.stdout


@pytest.mark.parametrize("process", ["gateway", "loop", "adapter"])
def test_each_process_answers_health_and_reflection(handrail: Stack, process: str) -> None:
    running = getattr(handrail, process)
    probe = Grpcurl(running.target)
    for service in ("", running.service.health_service):
        health = probe.call("grpc.health.v1.Health/Check", {"service": service})
        assert health.returncode == 0, health.stderr
        assert json.loads(health.stdout) == {"status": "SERVING"}
    assert running.service.health_service in probe.list().stdout.split()


def test_it_calls_and_streams_a_message(probe: Grpcurl | BufCurl) -> None:
    who = f"x-handrail-principal: prober-{uuid.uuid4().hex[:8]}"
    domains = probe.call(f"{LOOP}/ListDomains", {}, who)
    assert domains.returncode == 0, domains.stderr
    listed = {each["domain"]: each for each in _objects(domains.stdout)[0]["domains"]}
    assert "file_flight_plan" in {tool["name"] for tool in listed["aviation"]["tools"]}
    created = probe.call(f"{LOOP}/CreateConversation", {"requestId": uuid.uuid4().hex, "domain": "aviation"}, who)
    assert created.returncode == 0, created.stderr
    conversation_id = _objects(created.stdout)[0]["conversation"]["conversationId"]
    body = {"requestId": uuid.uuid4().hex, "conversationId": conversation_id, "text": "Find the airport EDDB"}
    streamed = probe.call(f"{LOOP}/SendMessage", body, who)
    assert streamed.returncode == 0, streamed.stderr
    events = [each["event"] for each in _objects(streamed.stdout)]
    assert "runStarted" in events[0]
    assert "completed" in events[-1]
    assert "Brandenburg" in events[-1]["completed"]["answer"]["text"]
    again = probe.call(f"{LOOP}/SendMessage", body, who)
    assert _objects(again.stdout) == _objects(streamed.stdout), "the same request_id replays the run"


def test_an_error_is_readable_and_the_exit_code_is_not_zero(probe: Grpcurl | BufCurl) -> None:
    unknown = probe.call(f"{LOOP}/GetConversation", {"conversationId": "conv_nope"}, "x-request-id: probe-1")
    assert unknown.returncode != 0
    said = unknown.stdout + unknown.stderr
    assert "conversation 'conv_nope' does not exist" in said
    # buf prints the details as they are on the wire.
    said += "".join(base64.b64decode(f"{each}==").decode("latin-1") for each in re.findall(r'"value": "(\w+)"', said))
    assert "CONVERSATION_NOT_FOUND" in said
    assert "probe-1" in said
