"""`python -m loop_service` as a real process: settings, schema, kill -9 and resumption."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, decision_pb2, tool_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail.loop.v1 import workflow_loop_service_pb2_grpc
from tests.fakes.adapter import FakeAdapter, call, complete, request_approval
from tests.fakes.processes import poll
from tests.grpc.loop.driver import check_runs, collect, last, names
from tests.grpc.loop.errors import refused

ROOT = Path(__file__).parents[3]
SERVICE = "handrail.loop.v1.WorkflowLoopService"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class LoopProcess:
    def __init__(self, folder: Path, adapter: str) -> None:
        self.port = free_port()
        self.environment = {
            **os.environ,
            "HANDRAIL_DATA_DIR": str(folder),
            "HANDRAIL_LOOP_LISTEN": f"127.0.0.1:{self.port}",
            "HANDRAIL_ADAPTERS": f"test={adapter}",
            "HANDRAIL_LOG_LEVEL": "warning",
        }
        self.process: subprocess.Popen[bytes] | None = None

    def migrate(self) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "loop_service", "migrate"],
            env=self.environment,
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        return done.stdout.decode()

    def spawn(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "loop_service"], env=self.environment, cwd=ROOT)

    def kill(self, number: int) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(timeout=20)

    def channel(self) -> grpc.aio.Channel:
        options = [("grpc.max_reconnect_backoff_ms", 200), ("grpc.initial_reconnect_backoff_ms", 50)]
        return grpc.aio.insecure_channel(f"127.0.0.1:{self.port}", options=options)


@pytest.fixture
def loops() -> Iterator[list[LoopProcess]]:
    started: list[LoopProcess] = []
    yield started
    for one in started:
        if one.process is not None and one.process.poll() is None:
            one.process.kill()
            one.process.wait()


async def until_health(channel: grpc.aio.Channel, wanted: int) -> None:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    request = health_pb2.HealthCheckRequest(service=SERVICE)

    async def reached() -> bool:
        try:
            return bool((await stub.Check(request, wait_for_ready=True, timeout=20)).status == wanted)
        except grpc.aio.AioRpcError:
            return False

    await poll(reached, f"health {wanted}", 30)


async def test_missing_schema_is_named_and_mended_while_it_runs(tmp_path: Path, loops: list[LoopProcess]) -> None:
    loop = LoopProcess(tmp_path / "data", "127.0.0.1:1")
    loops.append(loop)
    loop.spawn()
    async with loop.channel() as channel:
        await until_health(channel, health_pb2.HealthCheckResponse.NOT_SERVING)
        stub: Any = workflow_loop_service_pb2_grpc.WorkflowLoopServiceStub(channel)
        refusal = await refused(stub.ListConversations(pb.ListConversationsRequest()), "UNAVAILABLE")
        assert refusal.reason == "SCHEMA_NOT_READY"
        assert "python -m loop_service migrate" in refusal.message
        assert "migrated from nothing to 0002" in await asyncio.to_thread(loop.migrate)
        await until_health(channel, health_pb2.HealthCheckResponse.SERVING)
        assert not (await stub.ListConversations(pb.ListConversationsRequest())).conversations
    assert loop.kill(signal.SIGTERM) == 0


async def test_wrong_settings_are_named_and_exit_2(tmp_path: Path) -> None:
    environment = {**os.environ, "HANDRAIL_ADAPTERS": "aviation", "HANDRAIL_LOOP_TOOL_ACTIONS": "none"}
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "loop_service"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
    )
    assert done.returncode == 2
    text = done.stderr.decode()
    assert "HANDRAIL_ADAPTERS" in text
    assert "HANDRAIL_LOOP_TOOL_ACTIONS" in text
    assert "Traceback" not in text


async def test_kill_9_while_a_call_runs_and_while_an_approval_is_open(tmp_path: Path, loops: list[LoopProcess]) -> None:
    def script(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        match request.observation.WhichOneof("kind"):
            case "approval_resolved":
                approval_id = request.observation.approval_resolved.approval_id
                return call("call_file", effect=tool_pb2.EFFECT_EXTERNAL, approval_id=approval_id)
            case "tool_finished":
                first = request.observation.tool_finished.calls[0].tool_call_id
                return request_approval() if first == "call_look" else complete("Filed.")
            case _:
                return call("call_look")

    adapter = await FakeAdapter(script).start()
    loop = LoopProcess(tmp_path, adapter.target)
    loops.append(loop)
    loop.migrate()
    loop.spawn()
    try:
        async with loop.channel() as channel:
            stub: Any = workflow_loop_service_pb2_grpc.WorkflowLoopServiceStub(channel)
            create = pb.CreateConversationRequest(request_id="1", domain="test")
            await until_health(channel, health_pb2.HealthCheckResponse.SERVING)
            conversation_id = (await stub.CreateConversation(create)).conversation.conversation_id
            send = pb.SendMessageRequest(request_id="2", conversation_id=conversation_id, text="file")
            gate = adapter.hold("tool")
            stream = stub.SendMessage(send)
            await adapter.until_arrived("tool")
            loop.kill(signal.SIGKILL)
            stream.cancel()
            gate.set()
            loop.spawn()
            await until_health(channel, health_pb2.HealthCheckResponse.SERVING)
            # The same request again: the run that was interrupted is streamed from its start to its ending.
            approval = last(await collect(stub.SendMessage(send)), "approval_required")
            loop.kill(signal.SIGKILL)
            loop.spawn()
            await until_health(channel, health_pb2.HealthCheckResponse.SERVING)
            resolve = pb.ResolveApprovalRequest(
                request_id="3",
                approval_id=approval.approval_id,
                verdict=approval_pb2.VERDICT_APPROVE,
                snapshot_digest=approval.snapshot_digest,
            )
            done = await collect(stub.ResolveApproval(resolve))
            assert names(done)[-1] == "completed"
            watch = pb.WatchConversationRequest(conversation_id=conversation_id)
            stored = (await collect(stub.WatchConversation(watch)))[:-1]
            assert [e.sequence for e in stored] == list(range(1, len(stored) + 1))
            check_runs(stored)
            assert adapter.executions == 2
        assert loop.kill(signal.SIGTERM) == 0
    finally:
        await adapter.stop()
