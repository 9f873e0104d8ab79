"""The three services as real processes: migrate, start, wait until they serve, kill, restart, stop.

`handrail up` and `handrail demo` run on it, and so do the end-to-end tests. Nothing here imports a service: each one
is `python -m <package>` with an environment, as an operator would start it.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc.aio
from grpc_health.v1 import health_pb2

START_SECONDS = 60.0
STOP_SECONDS = 12.0
MIGRATE_SECONDS = 60.0
_POLL_SECONDS = 0.03
_TAIL_LINES = 25
_LOWEST_PORT = 10_000


@dataclass(frozen=True, slots=True)
class Service:
    """One of the three processes of contract.md 'Processes': how it starts, listens and reports its health."""

    name: str
    module: str
    listen_setting: str
    default_listen: str
    health_service: str
    has_database: bool = True


LOOP = Service(
    "loop", "loop_service", "HANDRAIL_LOOP_LISTEN", "127.0.0.1:50051", "handrail.loop.v1.WorkflowLoopService"
)
ADAPTER = Service(
    "adapter",
    "adapter_service",
    "HANDRAIL_ADAPTER_LISTEN",
    "127.0.0.1:50052",
    "handrail.adapter.v1.DomainAdapterService",
)
GATEWAY = Service(
    "gateway",
    "gateway",
    "HANDRAIL_GATEWAY_LISTEN",
    "127.0.0.1:50050",
    "handrail.loop.v1.WorkflowLoopService",
    has_database=False,
)
# The order of the start; stopping goes the other way, so that clients are let go before what serves them.
SERVICES = (ADAPTER, LOOP, GATEWAY)


class ProcessFailed(Exception):
    """A service or a migration did not do its part; the text is for a terminal and ends with the log's tail."""


def free_loopback_ports(count: int) -> list[int]:
    """`count` different ports that were free a moment ago, all held open together while they are chosen.

    They lie below the range from which the system takes the ports of outgoing connections: while a service restarts,
    a client's own connection could otherwise take its port, or even connect to itself there.
    """
    held: list[socket.socket] = []
    try:
        while len(held) < count:
            each = socket.socket()
            held.append(each)
            try:
                each.bind(("127.0.0.1", _LOWEST_PORT + secrets.randbelow(_first_outgoing_port() - _LOWEST_PORT)))
            except OSError:
                held.pop().close()
        return [int(each.getsockname()[1]) for each in held]
    finally:
        for each in held:
            each.close()


def _first_outgoing_port() -> int:
    try:
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        lowest = 0
    # A range widened almost to the bottom leaves no room below it.
    return lowest if lowest >= _LOWEST_PORT + 1_000 else 32_768


def _someone_listens(target: str) -> bool:
    host, _, port = target.rpartition(":")
    if not port.isdecimal():
        # The service itself refuses such a setting, with the accepted form.
        return False
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=0.5).close()
    except (OSError, OverflowError):
        return False
    return True


def isolated_environment(data_dir: Path, overrides: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without its own HANDRAIL_* settings, with `data_dir` and free ports instead.

    A demo or a test must neither read a person's database nor meet a running Handrail's ports. `overrides` win.
    """
    kept = ("HANDRAIL_OTLP_ENDPOINT", "HANDRAIL_LOG_LEVEL")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HANDRAIL_") or key in kept}
    loop, adapter, gateway, http = (f"127.0.0.1:{port}" for port in free_loopback_ports(4))
    environment |= {
        "HANDRAIL_DATA_DIR": str(data_dir),
        LOOP.listen_setting: loop,
        ADAPTER.listen_setting: adapter,
        GATEWAY.listen_setting: gateway,
        "HANDRAIL_GATEWAY_HTTP_LISTEN": http,
        "HANDRAIL_GATEWAY_LOOP": loop,
        "HANDRAIL_ADAPTERS": f"aviation={adapter},workbench={adapter}",
        "HANDRAIL_AVIATION_OUTBOX": str(data_dir / "outbox"),
    }
    return environment | dict(overrides or {})


class ServiceProcess:
    """One service as a child process in a session of its own, its output appended to `log_path`."""

    def __init__(self, service: Service, environment: Mapping[str, str], log_path: Path) -> None:
        self.service = service
        self.environment = dict(environment)
        self.log_path = log_path
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def target(self) -> str:
        """host:port that it listens on."""
        return self.environment.get(self.service.listen_setting) or self.service.default_listen

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The exit code of a process that ended (negative: the signal that killed it), else None."""
        return None if self._process is None else self._process.poll()

    @property
    def pid(self) -> int:
        """Process id; raises ProcessFailed if it was never started."""
        if self._process is None:
            raise ProcessFailed(f"{self.service.name} was not started")
        return self._process.pid

    def start(self) -> None:
        """Start it, if it does not run already, on the same port as before.

        Raises ProcessFailed if the port is taken: the health check could not tell another Handrail from this one.
        """
        if self.running:
            return
        if _someone_listens(self.target):
            raise ProcessFailed(
                f"{self.service.name} cannot start: something listens on {self.target} already "
                f"({self.service.listen_setting}); is another Handrail running?"
            )
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            # A session of its own: the terminal's Ctrl-C reaches `handrail` only, which stops all three in order.
            self._process = subprocess.Popen(
                [sys.executable, "-m", self.service.module],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the running process (SIGSTOP and SIGCONT in tests)."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and gone when this returns."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def terminate(self, seconds: float = STOP_SECONDS) -> int | None:
        """SIGTERM; SIGKILL if it still runs after `seconds`. Returns its exit code, None if it never ran."""
        if self._process is None:
            return None
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        return self._process.returncode

    def log_tail(self, lines: int = _TAIL_LINES) -> str:
        """The last lines of its log; "" if there is none yet."""
        try:
            text = self.log_path.read_text("utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def failure(self, what: str) -> ProcessFailed:
        tail = self.log_tail() or "(nothing was logged)"
        return ProcessFailed(f"{self.service.name} ({self.target}) {what}\nThe end of {self.log_path}:\n{tail}")

    async def wait_serving(self, seconds: float = START_SECONDS) -> None:
        """Poll gRPC health until SERVING.

        Raises ProcessFailed with the log's tail if the process ends first or is not SERVING after `seconds`.
        """
        deadline = time.monotonic() + seconds
        seen = "did not answer"
        while time.monotonic() < deadline:
            if not self.running:
                raise self.failure(f"ended with exit code {self.exit_code} before it served")
            answer = await self._health(min(2.0, max(0.1, deadline - time.monotonic())))
            if answer == health_pb2.HealthCheckResponse.SERVING:
                return
            if answer is not None:
                seen = f"answered {health_pb2.HealthCheckResponse.ServingStatus.Name(answer)}"
            await asyncio.sleep(_POLL_SECONDS)
        raise self.failure(f"{seen} within {seconds:g} seconds")

    async def _health(self, seconds: float) -> int | None:
        # A connection a check: a channel that failed once would wait for its backoff before it looks again.
        async with grpc.aio.insecure_channel(self.target) as channel:
            check = channel.unary_unary(
                "/grpc.health.v1.Health/Check",
                request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                response_deserializer=health_pb2.HealthCheckResponse.FromString,
            )
            try:
                answer = await check(
                    health_pb2.HealthCheckRequest(service=self.service.health_service), timeout=seconds
                )
            except grpc.aio.AioRpcError:
                return None
            return answer.status


class Stack:
    """The three services of one environment. A context manager: leaving it stops whatever still runs."""

    def __init__(self, environment: Mapping[str, str], log_dir: Path) -> None:
        self.environment = dict(environment)
        self.log_dir = log_dir
        self._processes = {
            each.name: ServiceProcess(each, self.environment, log_dir / f"{each.name}.log") for each in SERVICES
        }

    @classmethod
    def isolated(cls, data_dir: Path, overrides: Mapping[str, str] | None = None) -> Self:
        """A stack on its own data directory and free ports; see `isolated_environment`."""
        return cls(isolated_environment(data_dir, overrides), data_dir / "logs")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except BaseException:
            # Interrupted while they drain: nothing that was started is left behind.
            self.kill()
            raise

    @property
    def loop(self) -> ServiceProcess:
        return self._processes[LOOP.name]

    @property
    def adapter(self) -> ServiceProcess:
        return self._processes[ADAPTER.name]

    @property
    def gateway(self) -> ServiceProcess:
        return self._processes[GATEWAY.name]

    @property
    def processes(self) -> tuple[ServiceProcess, ...]:
        """In the order of the start."""
        return tuple(self._processes[each.name] for each in SERVICES)

    def migrate(self) -> list[str]:
        """Apply both services' migrations, side by side; returns what each printed.

        Raises ProcessFailed with the output of the one that failed.
        """
        started = [
            (
                each,
                subprocess.Popen(
                    [sys.executable, "-m", each.module, "migrate"],
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                ),
            )
            for each in SERVICES
            if each.has_database
        ]
        outputs: list[str] = []
        failures: list[str] = []
        for service, process in started:
            try:
                output, _ = process.communicate(timeout=MIGRATE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
                failures.append(f"python -m {service.module} migrate took more than {MIGRATE_SECONDS:g} s\n{output}")
                continue
            outputs.append(output.strip())
            if process.returncode:
                failures.append(f"python -m {service.module} migrate ended with {process.returncode}\n{output}")
        if failures:
            raise ProcessFailed("\n".join(failures).rstrip())
        return outputs

    def start(self) -> None:
        """Start each process that does not run."""
        for process in self.processes:
            process.start()

    async def wait_serving(self, seconds: float = START_SECONDS) -> None:
        """Wait until all three are SERVING; raises ProcessFailed for the first that is not."""
        try:
            async with asyncio.TaskGroup() as group:
                for process in self.processes:
                    group.create_task(process.wait_serving(seconds))
        except* ProcessFailed as failed:
            raise _first(failed) from None

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Stop the gateway, the Loop, then the Adapter: SIGTERM, and SIGKILL after `seconds` each."""
        for process in reversed(self.processes):
            process.terminate(seconds)

    def kill(self) -> None:
        """SIGKILL all three."""
        for process in self.processes:
            process.kill()

    async def wait_for_exit(self) -> ServiceProcess:
        """Return the first process that ends by itself."""
        while True:
            for process in self.processes:
                if not process.running:
                    return process
            await asyncio.sleep(0.2)


def _first(group: BaseExceptionGroup[ProcessFailed]) -> ProcessFailed:
    found: Iterable[BaseException] = group.exceptions
    for each in found:
        if isinstance(each, ProcessFailed):
            return each
        if isinstance(each, BaseExceptionGroup):
            return _first(each)
    raise AssertionError("a group of ProcessFailed holds at least one")
