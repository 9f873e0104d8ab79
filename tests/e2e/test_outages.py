"""Parts that are away or set up wrongly: the Adapter for a second and for good, no database, malformed settings,
and a plan version that has moved on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2

from gateway.cli.client import HandrailClient, connect
from gateway.cli.processes import ServiceProcess, Stack, isolated_environment
from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter
from handrail.adapter.v1.domain_adapter_service_pb2_grpc import DomainAdapterServiceStub
from handrail.adapter.v1.observation_pb2 import Observation, UserMessage
from handrail.common.v1.caller_pb2 import Principal
from handrail.common.v1.failure_pb2 import Stage
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail_rpc.context import Caller
from tests.e2e.talking import say, turn_of
from tests.fakes.processes import check_history, poll, refusal_of, running_stack

# Enough for a freshly started Adapter, which still builds its indexes, on a busy machine.
ACTIVE_SECONDS = 8


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose Loop gives an interaction a few seconds."""
    settings = {"HANDRAIL_LOOP_ACTIVE_TIME_SECONDS": str(ACTIVE_SECONDS), "HANDRAIL_LOOP_STOP_PATIENCE_SECONDS": "1"}
    with running_stack(tmp_path_factory.mktemp("impatient"), settings) as stack:
        yield stack


async def test_an_adapter_that_is_away_for_a_second_delays_a_run_only(handrail: Stack, caller: Caller) -> None:
    async with connect(handrail.gateway.target, caller) as client:
        conversation = (await client.create_conversation("aviation")).conversation_id
        handrail.adapter.kill()
        try:
            run = asyncio.ensure_future(turn_of(client.send_message(conversation, "Find the airport EDDB")))
            await poll(lambda: client.history(conversation), "the run that meets no Adapter")
            assert not run.done()
        finally:
            handrail.adapter.start()
        turn = await asyncio.wait_for(run, 60)
        assert turn.ending == "completed", turn.last
        check_history(await client.history(conversation))
        await handrail.wait_serving()


async def test_an_adapter_that_stays_away_fails_the_run_and_keeps_the_message(impatient: Stack, caller: Caller) -> None:
    async with connect(impatient.gateway.target, caller) as client:
        conversation = (await client.create_conversation("aviation")).conversation_id
        impatient.adapter.kill()
        turn = await asyncio.wait_for(turn_of(client.send_message(conversation, "Find the airport EDDB")), 60)
        assert turn.ending == "failed", turn.last
        failure = turn.last.failed.failure
        assert (failure.code, failure.stage) == ("adapter_unavailable", Stage.STAGE_ADAPTER)
        assert failure.explanation
        assert failure.retryable
        messages = await client.messages(conversation)
        assert [each.text for each in messages if each.role == loop.ROLE_USER] == ["Find the airport EDDB"]
        check_history(await client.history(conversation))
        listed = {each.domain: each.available for each in await client.domains()}
        assert listed["aviation"] is False
        impatient.adapter.start()
        # The Loop looks for a lost peer every two seconds or so, which is most of what this Loop gives a run.
        await poll(lambda: _is_available(client), "the aviation domain being available again")
        again = await say(client, conversation, "Find the airport EDDB")
        assert again.ending == "completed", again.last


async def _is_available(client: HandrailClient) -> bool:
    return {each.domain: each.available for each in await client.domains()}["aviation"]


async def test_an_adapter_that_hangs_is_treated_as_away(impatient: Stack, caller: Caller) -> None:
    async with connect(impatient.gateway.target, caller) as client:
        conversation = (await client.create_conversation("aviation")).conversation_id
        await say(client, conversation, "Find the airport EDDB", "completed")
        impatient.adapter.send_signal(signal.SIGSTOP)
        try:
            turn = await asyncio.wait_for(turn_of(client.send_message(conversation, "Find the airport EDDM")), 60)
        finally:
            impatient.adapter.send_signal(signal.SIGCONT)
        assert turn.ending == "failed", turn.last
        assert turn.last.failed.failure.code in ("adapter_unavailable", "deadline_exceeded")
        again = await say(client, conversation, "Find the airport EDDM")
        assert again.ending == "completed", again.last


async def test_the_gateway_says_that_the_loop_is_away(tmp_path: Path) -> None:
    with Stack.isolated(tmp_path) as stack:
        stack.gateway.start()
        await stack.gateway.wait_serving()
        async with connect(stack.gateway.target) as client:
            refusal = await refusal_of(
                client.stub.CreateConversation(loop.CreateConversationRequest(request_id="r1", domain="aviation"))
            )
        assert refusal.name == "UNAVAILABLE"
        assert refusal.domain == "handrail"
        assert refusal.metadata["request_id"]


async def test_a_stale_plan_version_is_aborted_with_the_current_one_named(handrail: Stack) -> None:
    """The Loop sends the version it knows; a client cannot. So this one goes straight to the Adapter."""
    async with grpc.aio.insecure_channel(handrail.adapter.target) as channel:
        stub = DomainAdapterServiceStub(channel)
        session = await stub.OpenSession(
            adapter.OpenSessionRequest(request_id="r1", domain="aviation", conversation_id="conv_stale")
        )

        def decide(number: int, base: int, text: str) -> adapter.DecideRequest:
            message = UserMessage(message_id=f"msg_{number}", text=text, begins_interaction=number == 1)
            return adapter.DecideRequest(
                request_id=f"r-{number}-{base}",
                domain="aviation",
                domain_session_id=session.domain_session_id,
                history_id=session.history_id,
                interaction_id="int_stale",
                run_id="run_stale",
                lease_epoch=1,
                decision_number=number,
                base_plan_version=base,
                caller=Principal(principal="local", tenant="local", roles=["*"]),
                locale="en",
                observation=Observation(user_message=message),
            )

        parts = [part async for part in stub.Decide(decide(1, 0, "Which airport is nearest to me?"))]
        decision = parts[-1].decision
        assert decision.WhichOneof("outcome") == "ask"
        refusal = await refusal_of(stub.Decide(decide(2, decision.plan_version + 7, "Find the airport EDDB")))
        assert (refusal.name, refusal.reason) == ("ABORTED", "STALE_PLAN_VERSION")
        assert str(decision.plan_version) in refusal.text
        again = [part async for part in stub.Decide(decide(1, 0, "Which airport is nearest to me?"))]
        assert again[-1].decision.SerializeToString() == decision.SerializeToString()


async def _health(process: ServiceProcess) -> int | None:
    async with grpc.aio.insecure_channel(process.target) as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            request = health_pb2.HealthCheckRequest(service=process.service.health_service)
            return (await check(request, timeout=2)).status
        except grpc.aio.AioRpcError:
            return None


@pytest.mark.parametrize("name", ["loop", "adapter"])
async def test_a_service_without_its_database_is_not_serving_and_names_the_command(tmp_path: Path, name: str) -> None:
    with Stack.isolated(tmp_path) as stack:
        process: ServiceProcess = getattr(stack, name)
        process.start()
        command = f"python -m {process.service.module} migrate"
        await poll(lambda: _says_not_serving(process), f"{name} NOT_SERVING")
        await poll(lambda: command in process.log_tail(), f"the log of {name} naming {command!r}")
        assert process.running
        stack.migrate()
        await process.wait_serving()


async def _says_not_serving(process: ServiceProcess) -> bool:
    return await _health(process) == health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.mark.parametrize(
    ("module", "setting", "value", "form"),
    [
        ("loop_service", "HANDRAIL_LOOP_LISTEN", "nonsense", "host:port"),
        ("loop_service", "HANDRAIL_LOOP_LISTEN", "127.0.0.1:99999", "host:port"),
        ("loop_service", "HANDRAIL_ADAPTERS", "aviation", "domain=host:port"),
        ("loop_service", "HANDRAIL_LOOP_ACTIVE_TIME_SECONDS", "soon", "seconds"),
        ("loop_service", "HANDRAIL_LOOP_DATABASE_URL", "not a url", "sqlite"),
        ("adapter_service", "HANDRAIL_ADAPTER_LISTEN", "nonsense", "host:port"),
        ("adapter_service", "HANDRAIL_ADAPTER_DATABASE_URL", "mysql://x", "sqlite"),
        ("gateway", "HANDRAIL_GATEWAY_LISTEN", "nonsense", "host:port"),
        ("gateway", "HANDRAIL_GATEWAY_LOOP", "nonsense", "host:port"),
        ("gateway", "HANDRAIL_GATEWAY_DEADLINE_SECONDS", "-1", "seconds"),
        ("gateway", "HANDRAIL_GATEWAY_LISTEN", "0.0.0.0:0", "loopback"),
    ],
)
def test_a_malformed_setting_stops_the_start_with_its_name_and_form(
    tmp_path: Path, module: str, setting: str, value: str, form: str
) -> None:
    environment = isolated_environment(tmp_path, {setting: value})
    ended = subprocess.run(
        [sys.executable, "-m", module], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 2, ended.stderr
    assert setting in ended.stderr
    assert form in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.glob("*.db")), "nothing was made"


def test_a_second_process_on_the_same_database_or_port_is_refused(handrail: Stack) -> None:
    for process in handrail.processes:
        ended = subprocess.run(
            [sys.executable, "-m", process.service.module],
            env=os.environ | process.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 2, ended.stderr
        assert "Traceback" not in ended.stderr
        assert process.target in ended.stderr or ".db" in ended.stderr
    for process in handrail.processes:
        assert process.running
