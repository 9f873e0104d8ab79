"""`RpcServer`: how every Handrail process serves gRPC, from the bind to the end of the drain.

Composition roots build one, add their servicers, and `await serve()`; `__main__` modules wrap that in `run_process`.
The drain follows engineering.md 'grpc.aio': health NOT_SERVING, a moment for balancers, the `draining` event that
streams and workers watch, stop(grace), flush telemetry (bounded), dispose engines.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import signal
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextvars import ContextVar
from typing import Any, NoReturn, TypeVar

import grpc.aio
from grpc_health.v1 import health_pb2_grpc

from handrail_rpc import crash_points, telemetry
from handrail_rpc.channel import MOST_MESSAGE_BYTES
from handrail_rpc.errors import HandrailError, StartRefused, Unavailable
from handrail_rpc.health import HEALTH_SERVICE, Health
from handrail_rpc.interceptors import NO_LIMITS, Boundary, CallLimits
from handrail_rpc.logging import get_logger
from handrail_rpc.reflection import REFLECTION_SERVICES, add_reflection
from handrail_rpc.settings import ListenAddress

_OPTIONS: tuple[tuple[str, Any], ...] = (
    # The default would let a second process bind the same port unseen.
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.max_receive_message_length", MOST_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MOST_MESSAGE_BYTES),
)
_HOOK_SECONDS = 10.0

# Set by `run_process`: what a signal calls.
_process_stops: ContextVar[list[Callable[[], None]] | None] = ContextVar("handrail_process_stops", default=None)

T = TypeVar("T")
Hook = Callable[[], Awaitable[object]]
logger = get_logger(__name__)


class RpcServer:
    """One listening gRPC server with health, reflection and drain.

    `listen_setting` names the setting in error texts; `subscriptions` are methods whose streams idle for long;
    `reply_points` is the prefix of the crash points around replies, "" for none; `limits` bound the calls at once.
    Make it within the running event loop.
    """

    def __init__(
        self,
        listen: ListenAddress,
        *,
        listen_setting: str,
        grace_seconds: float = 5.0,
        drain_pause_seconds: float = 0.2,
        subscriptions: Collection[str] = (),
        reply_points: str = "",
        limits: CallLimits = NO_LIMITS,
    ) -> None:
        self.draining = asyncio.Event()
        self.port = 0
        self._listen = listen
        self._listen_setting = listen_setting
        self._grace_seconds = grace_seconds
        self._drain_pause_seconds = drain_pause_seconds
        self._services: list[str] = []
        self._health = Health(self.draining)
        self._on_drain: list[Hook] = []
        self._on_stop: list[Hook] = []
        self._stop_requested = asyncio.Event()
        self._hurry = asyncio.Event()
        self._stopping: asyncio.Task[None] | None = None
        self._started = False
        process = _process_stops.get()
        if process is not None:
            process.append(self.request_stop)
        boundary = Boundary(
            subscriptions=subscriptions,
            plain_services=(HEALTH_SERVICE, *REFLECTION_SERVICES),
            reply_points=reply_points,
            limits=limits,
        )
        self._server = grpc.aio.server(interceptors=(boundary,), options=_OPTIONS)

    @property
    def target(self) -> str:
        """Where clients reach the started server."""
        return ListenAddress(self._listen.host, self.port).target

    def add_service(self, full_name: str, register: Callable[[grpc.aio.Server], object]) -> None:
        """Serve `full_name`; `register` is `lambda s: add_XServicer_to_server(servicer, s)`. Before `start`."""
        register(self._server)
        self._services.append(full_name)
        self._health.add(full_name)

    def on_drain(self, hook: Hook) -> None:
        """Await `hook` once `draining` is set, beside stop(grace), before telemetry is flushed: end the workers."""
        self._on_drain.append(hook)

    def on_stop(self, hook: Hook) -> None:
        """Await `hook` at the very end, the last added first: close channels, dispose engines."""
        self._on_stop.append(hook)

    def set_ready(self, ready: bool, *, service: str | None = None, reason: str = "") -> None:
        """SERVING or NOT_SERVING for one service or all. Ignored while draining: that is final."""
        if self._stop_requested.is_set():
            return
        self._health.set(ready, service)
        logger.info("serving" if ready else "not serving", service_name=service or "all", reason=reason)

    async def start(self) -> int:
        """Bind and listen, health NOT_SERVING; returns the port.

        Raises StartRefused if the address is not loopback (there is no authentication and TLS yet), or taken.
        """
        if not self._listen.is_loopback:
            raise StartRefused(
                f"{self._listen_setting}: {self._listen.target} is not a loopback address; without authentication and "
                "TLS this process listens on loopback only, for example 127.0.0.1 or [::1]"
            )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        add_reflection(self._server, [*self._services, HEALTH_SERVICE], until_draining, self.draining)
        _probe(self._listen, self._listen_setting)
        try:
            self.port = self._server.add_insecure_port(self._listen.target)
        except RuntimeError as error:
            raise StartRefused(f"{self._listen_setting}: cannot listen on {self._listen.target}") from error
        await self._server.start()
        self._started = True
        logger.info("listening", address=self.target, services=self._services)
        if crash_points.chosen:
            logger.warning(
                "THIS PROCESS MAY KILL ITSELF: a crash point is set, which is for tests only",
                setting=crash_points.VARIABLE,
            )
        return self.port

    def request_stop(self) -> None:
        """What a signal does; the second request cuts the grace short."""
        if self._stop_requested.is_set():
            self._hurry.set()
        self._stop_requested.set()

    @property
    def stop_requested(self) -> asyncio.Event:
        """Set by the first signal, before the drain begins: what waits at start-up (for a schema) watches it."""
        return self._stop_requested

    async def serve(self) -> None:
        """Start if needed, wait for `request_stop` (under `run_process` a signal calls it), drain on every path."""
        try:
            if not self._started:
                await self.start()
            await self._stop_requested.wait()
        finally:
            await self.stop()

    async def stop(self) -> None:
        """The drain, once; further calls wait for the same one. Shielded from the caller's cancellation."""
        if self._stopping is None:
            self._stop_requested.set()
            self._stopping = asyncio.create_task(self._drain())
        await asyncio.shield(self._stopping)

    async def _drain(self) -> None:
        if self._started:
            logger.info("draining")
            self._health.set(False)
            await _either(asyncio.sleep(self._drain_pause_seconds), self._hurry)
        self.draining.set()
        drained = asyncio.gather(*(self._run(hook, "drain") for hook in self._on_drain), return_exceptions=True)
        if self._started:
            await _either(self._server.stop(self._grace_seconds), self._hurry)
            if self._hurry.is_set():
                await self._server.stop(0)
        await _either(drained, self._hurry)
        await asyncio.to_thread(telemetry.shutdown)
        for hook in reversed(self._on_stop):
            await self._run(hook, "stop")
        if self._started:
            logger.info("stopped")

    async def _run(self, hook: Hook, phase: str) -> None:
        try:
            await asyncio.wait_for(_awaited(hook), _HOOK_SECONDS)
        except Exception as error:
            logger.error("stop hook failed", phase=phase, exc_info=error)


async def until_draining(source: AsyncIterable[T], draining: asyncio.Event) -> AsyncGenerator[T, None]:
    """Pass `source` on until `draining` is set; then raise Unavailable (SERVER_DRAINING).

    For streams whose own loop does not watch the event. The source is closed on every path.
    """
    iterator = aiter(source)
    drained = asyncio.ensure_future(draining.wait())
    try:
        while True:
            following = asyncio.ensure_future(_next(iterator))
            try:
                await asyncio.wait({following, drained}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not following.done():
                    following.cancel()
                    await asyncio.wait({following})
            if following.cancelled():
                raise Unavailable("the server is shutting down; resume from the last cursor", reason="SERVER_DRAINING")
            found = following.result()
            if found is None:
                return
            yield found[0]
    finally:
        drained.cancel()
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()


def run_process(main: Callable[[], Coroutine[Any, Any, object]]) -> NoReturn:
    """Run a service's `main` to its end and exit: 0, or a StartRefused's code (1 for another refusal: a database that
    cannot be read) with its text alone on stderr.

    SIGTERM and SIGINT ask every `RpcServer` that `main` made to stop; before there is one they end `main` at once.
    """

    async def owned() -> None:
        stops: list[Callable[[], None]] = []
        _process_stops.set(stops)
        work = asyncio.ensure_future(main())
        early = False

        def stop() -> None:
            nonlocal early
            if not stops:
                early = work.cancel()
            for each in stops:
                each()

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        try:
            await work
        except asyncio.CancelledError:
            if not early:
                raise

    _spare_collector()
    try:
        asyncio.run(owned())
    except StartRefused as refusal:
        sys.stderr.write(f"{refusal}\n")
        sys.exit(refusal.exit_code)
    except HandrailError as error:
        sys.stderr.write(f"{error.message}\n")
        sys.exit(1)
    sys.exit(0)


def _spare_collector() -> None:
    """What is imported by now lives as long as the process, so the collector of cycles need not look at it again.

    A call makes some hundred objects, which go by their reference counts; looking for cycles after every 700 of them
    took a tenth of a round's time (docs/performance.md).
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _probe(listen: ListenAddress, setting: str) -> None:
    """Ask the system itself why an address cannot be bound: gRPC only says that it failed."""
    if listen.port == 0:
        return
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((listen.host, listen.port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                text = f"{listen.target} is in use by another process; stop it or choose another port"
            else:
                text = f"cannot listen on {listen.target}: {error.strerror}"
            raise StartRefused(f"{setting}: {text}") from error


async def _next(iterator: AsyncIterator[T]) -> tuple[T] | None:
    try:
        return (await anext(iterator),)
    except StopAsyncIteration:
        return None


async def _either(work: Awaitable[object], event: asyncio.Event) -> None:
    """Until `work` is done or `event` is set; the rest is canceled."""
    tasks = {asyncio.ensure_future(work), asyncio.ensure_future(event.wait())}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _awaited(hook: Hook) -> object:
    return await hook()
