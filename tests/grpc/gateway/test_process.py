"""`python -m gateway` as a process: settings, readiness, real grpcurl, SIGTERM."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from gateway.cli.processes import free_loopback_ports

BIN = Path(sys.executable).parent


def _gateway(**environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gateway"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def test_it_serves_is_probed_with_grpcurl_and_drains_on_sigterm() -> None:
    (port,) = free_loopback_ports(1)
    process = _gateway(HANDRAIL_GATEWAY_LISTEN=f"127.0.0.1:{port}", HANDRAIL_GATEWAY_LOOP="127.0.0.1:9")
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            grpc.channel_ready_future(channel).result(timeout=60)
        listed = subprocess.run(
            [BIN / "grpcurl", "-plaintext", f"127.0.0.1:{port}", "list"], capture_output=True, text=True, timeout=60
        )
        assert "handrail.loop.v1.WorkflowLoopService" in listed.stdout, listed.stderr
        called = subprocess.run(
            [
                *(BIN / "grpcurl", "-plaintext", "-d", "{}", f"127.0.0.1:{port}"),
                "handrail.loop.v1.WorkflowLoopService/ListDomains",
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert called.returncode != 0
        assert "LOOP_UNAVAILABLE" in called.stderr
        process.send_signal(signal.SIGTERM)
        _, logs = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, logs
    assert [e for e in ("listening", "draining", "stopped") if f'"event":"{e}"' in logs] == [
        "listening",
        "draining",
        "stopped",
    ]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("HANDRAIL_GATEWAY_LISTEN", "nowhere", "must be host:port"),
        ("HANDRAIL_GATEWAY_LISTEN", "0.0.0.0:50050", "not a loopback address"),
        ("HANDRAIL_GATEWAY_LOOP", "50051", "must be host:port"),
        ("HANDRAIL_GATEWAY_DEADLINE_SECONDS", "0", "must be a number of seconds, more than 0"),
        ("HANDRAIL_LOG_LEVEL", "loud", "must be debug, info, warning or error"),
    ],
)
def test_a_wrong_setting_stops_the_start_by_name(name: str, value: str, text: str) -> None:
    process = _gateway(**{name: value})
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert name in err
    assert text in err
    assert "Traceback" not in err


def test_a_taken_port_is_said_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        process = _gateway(HANDRAIL_GATEWAY_LISTEN=address)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"HANDRAIL_GATEWAY_LISTEN: {address} is in use" in err
