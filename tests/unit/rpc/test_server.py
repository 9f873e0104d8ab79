"""Starting, health, reflection and the drain, on real servers and, for signals, in real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.errors import StartRefused, Unavailable
from handrail_rpc.server import RpcServer, until_draining
from handrail_rpc.settings import ListenAddress
from tests.unit.rpc.serving import LOOP, calling, error_info, serving

SERVING, NOT_SERVING, UNKNOWN = 1, 2, 3
BIN = Path(sys.executable).parent


async def _answer(request: object, context: object) -> pb.ListDomainsResponse:
    return pb.ListDomainsResponse()


async def _health(channel: grpc.aio.Channel, service: str) -> int:
    answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service))
    return int(answer.status)


async def test_health_is_per_service_and_not_serving_until_ready() -> None:
    server = RpcServer(ListenAddress("127.0.0.1", 0), listen_setting="X", drain_pause_seconds=0, grace_seconds=0)
    server.add_service("a.v1.A", lambda s: None)
    server.add_service("b.v1.B", lambda s: None)
    await server.start()
    async with grpc.aio.insecure_channel(server.target) as channel:
        assert [await _health(channel, name) for name in ("", "a.v1.A", "b.v1.B")] == [NOT_SERVING] * 3
        server.set_ready(True, service="a.v1.A")
        assert [await _health(channel, name) for name in ("", "a.v1.A", "b.v1.B")] == [
            NOT_SERVING,
            SERVING,
            NOT_SERVING,
        ]
        server.set_ready(True)
        assert await _health(channel, "") == SERVING
        listed = await channel.unary_unary(
            "/grpc.health.v1.Health/List", response_deserializer=health_pb2.HealthListResponse.FromString
        )(b"")
        assert set(listed.statuses) == {"", "a.v1.A", "b.v1.B"}
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await _health(channel, "c.v1.C")
        assert failed.value.code() is grpc.StatusCode.NOT_FOUND
    await server.stop()


async def test_a_health_watcher_sees_the_drain_and_does_not_hold_it_up() -> None:
    async with serving(_answer, grace_seconds=20.0) as server, grpc.aio.insecure_channel(server.target) as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=LOOP))
        unknown = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service="nobody"))
        assert (await watch.read()).status == SERVING
        assert (await unknown.read()).status == UNKNOWN
        began = time.monotonic()
        await server.stop()
        assert time.monotonic() - began < 10
        assert (await watch.read()).status == NOT_SERVING
        assert await watch.read() is grpc.aio.EOF


async def test_the_drain_is_in_order() -> None:
    order: list[str] = []

    async def stream(request: Any, context: Any) -> None:
        await context.write(pb.WatchConversationResponse())
        await server.draining.wait()
        order.append("stream ends")
        raise Unavailable("resume after sequence 7", reason="SERVER_DRAINING")

    async def note(what: str) -> None:
        order.append(what)

    async with serving(_answer, stream, grace_seconds=20.0) as server:
        server.on_stop(lambda: note("database closed"))
        server.on_stop(lambda: note("channel closed"))
        server.on_drain(lambda: note("worker ended" if server.draining.is_set() else "too early"))
        async with calling(server.target) as stub:
            call = stub.WatchConversation(pb.WatchConversationRequest())
            await call.read()
            await server.stop()
            with pytest.raises(grpc.aio.AioRpcError) as failed:
                await call.read()
    assert error_info(failed.value).reason == "SERVER_DRAINING"
    assert "resume after sequence 7" in (failed.value.details() or "")
    assert sorted(order[:2]) == ["stream ends", "worker ended"]
    assert order[2:] == ["channel closed", "database closed"]


async def test_a_hook_that_fails_does_not_keep_the_others_from_closing() -> None:
    closed: list[str] = []

    async def fail() -> None:
        raise RuntimeError("broken")

    async def close() -> None:
        closed.append("database")

    async with serving(_answer) as server:
        server.on_stop(close)
        server.on_stop(fail)
    assert closed == ["database"]


async def test_ready_is_ignored_once_draining() -> None:
    async with serving(_answer) as server:
        await server.stop()
        server.set_ready(True)
        assert server.draining.is_set()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "no-such-host.invalid"])
async def test_a_bind_that_is_not_loopback_is_refused_by_the_setting_s_name(host: str) -> None:
    server = RpcServer(ListenAddress(host, 0), listen_setting="HANDRAIL_LOOP_LISTEN")
    with pytest.raises(StartRefused, match=r"HANDRAIL_LOOP_LISTEN: .* is not a loopback address"):
        await server.start()


async def test_a_taken_port_is_refused_even_to_a_second_server_of_ours() -> None:
    async with serving(_answer) as first:
        second = RpcServer(ListenAddress("127.0.0.1", first.port), listen_setting="HANDRAIL_LOOP_LISTEN")
        with pytest.raises(StartRefused, match=r"HANDRAIL_LOOP_LISTEN: 127.0.0.1:\d+ is in use"):
            await second.start()


async def test_until_draining_passes_on_closes_its_source_and_ends_unavailable() -> None:
    draining = asyncio.Event()
    closed = asyncio.Event()

    async def source() -> AsyncIterator[int]:
        try:
            yield 1
            draining.set()
            await asyncio.Event().wait()
        finally:
            closed.set()

    passed = until_draining(source(), draining)
    assert await anext(passed) == 1
    with pytest.raises(Unavailable) as ended:
        await anext(passed)
    assert ended.value.reason == "SERVER_DRAINING"
    assert closed.is_set()


async def test_until_draining_ends_with_its_source() -> None:
    async def source() -> AsyncIterator[int]:
        yield 1
        yield 2

    assert [n async for n in until_draining(source(), asyncio.Event())] == [1, 2]


async def test_a_reflection_client_that_stays_is_let_go_by_the_drain() -> None:
    async with serving(_answer, grace_seconds=20.0) as server, grpc.aio.insecure_channel(server.target) as channel:
        call = channel.stream_stream(
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )()
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        assert LOOP in [each.name for each in (await call.read()).list_services_response.service]
        await server.stop()
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call.read()
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    assert error_info(failed.value).reason == "SERVER_DRAINING"


@pytest.mark.parametrize("tool", ["grpcurl", "buf"])
async def test_real_clients_list_describe_and_call_through_reflection(tool: str) -> None:
    async def run(*arguments: str) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            str(BIN / arguments[0]), *arguments[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        out, _ = await asyncio.wait_for(process.communicate(), 30)
        return process.returncode or 0, out.decode()

    async with serving(_answer) as server:
        if tool == "grpcurl":
            code, text = await run("grpcurl", "-plaintext", server.target, "list")
            assert code == 0, text
            assert text.split() == [
                "grpc.health.v1.Health",
                "grpc.reflection.v1.ServerReflection",
                "grpc.reflection.v1alpha.ServerReflection",
                LOOP,
            ]
            for symbol in (LOOP, "grpc.reflection.v1.ServerReflection", "grpc.health.v1.Health"):
                code, text = await run("grpcurl", "-plaintext", server.target, "describe", symbol)
                assert (code, "is a service" in text) == (0, True), text
            code, text = await run("grpcurl", "-plaintext", "-d", "{}", server.target, f"{LOOP}/ListDomains")
        else:
            curl = ("buf", "curl", "--protocol", "grpc", "--http2-prior-knowledge")
            for version in ("grpc-v1", "grpc-v1alpha"):
                code, text = await run(
                    *curl, "--reflect-protocol", version, "--list-methods", f"http://{server.target}"
                )
                assert (code, f"{LOOP}/ListDomains" in text) == (0, True), text
            code, text = await run(*curl, "-d", "{}", f"http://{server.target}/{LOOP}/ListDomains")
        assert (code, "".join(text.split())) == (0, "{}")


PROGRAM = """
    import asyncio, sys
    from handrail_rpc import server as serving
    from handrail_rpc.logging import configure_logging, get_logger
    from handrail_rpc.server import RpcServer, run_process
    from handrail_rpc.settings import ListenAddress

    # Only the second signal ends a worker that does not end by itself.
    serving._HOOK_SECONDS = 600

    async def main():
        configure_logging("test")
        server = RpcServer(ListenAddress("127.0.0.1", 0), listen_setting="X", grace_seconds=60, drain_pause_seconds=0)
        server.add_service("a.v1.A", lambda s: None)
        async def closed():
            print("closed", flush=True)
        async def worker():
            print("draining", flush=True)
            if {worker_hangs}:
                await asyncio.Event().wait()
        server.on_stop(closed)
        server.on_drain(worker)
        await server.start()
        server.set_ready(True)
        print("ready", flush=True)
        await server.serve()

    run_process(main)
"""


def _process(*, worker_hangs: bool = False) -> subprocess.Popen[str]:
    program = textwrap.dedent(PROGRAM).replace("{worker_hangs}", str(worker_hangs))
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_exits_zero(number: signal.Signals) -> None:
    process = _process()
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "draining\nclosed\n")


def test_a_second_signal_cuts_the_grace_short() -> None:
    process = _process(worker_hangs=True)
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    assert process.stdout.readline() == "draining\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "closed\n")


@pytest.mark.parametrize(
    ("refusal", "code"), [("StartRefused('HANDRAIL_X: must be y')", 2), ("Unavailable('HANDRAIL_X: must be y')", 1)]
)
def test_a_refused_start_is_one_line_and_a_code(refusal: str, code: int) -> None:
    program = f"""
        from handrail_rpc.errors import StartRefused, Unavailable
        from handrail_rpc.server import run_process
        async def main():
            raise {refusal}
        run_process(main)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "HANDRAIL_X: must be y\n")
