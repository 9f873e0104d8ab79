"""The composition root: builds every part, starts and ends it. Called by __main__, by tests, and by `handrail up`.

The server listens at once. While the schema is missing or older it is NOT_SERVING and every call is answered
UNAVAILABLE naming the command that mends it; it becomes serving once the schema is there.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, time_ns
from typing import TYPE_CHECKING

from handrail.adapter.v1 import artifact_service_pb2_grpc
from handrail.loop.v1 import workflow_loop_service_pb2_grpc
from handrail_rpc import telemetry
from handrail_rpc.errors import StartRefused, Unavailable
from handrail_rpc.interceptors import CallLimits
from handrail_rpc.logging import get_logger
from handrail_rpc.server import RpcServer
from handrail_storage import Database, SchemaState, migrate, renew_history, wait_for_schema
from loop_service.application.accept import Acceptor
from loop_service.application.advance import Advance
from loop_service.application.audit_trail import AuditTrail
from loop_service.application.cancel_interaction import CancelInteraction
from loop_service.application.claim_runs import ClaimRuns
from loop_service.application.create_conversation import CreateConversation
from loop_service.application.delete_conversation import DeleteConversation
from loop_service.application.environment import Environment
from loop_service.application.fire_timers import FireTimers
from loop_service.application.list_diverged import ListDiverged
from loop_service.application.lost_histories import EndLostInteractions
from loop_service.application.ports import ActionModel, Clock, Ids, ReplyModel
from loop_service.application.queries import ListDomains, Queries
from loop_service.application.recover_conversation import RecoverConversation
from loop_service.application.report_channel_failure import ReportChannelFailure
from loop_service.application.resolve_approval import ResolveApproval
from loop_service.application.send_message import SendMessage
from loop_service.application.settle_execution import SettleExecution
from loop_service.application.signal_interaction import SignalInteraction
from loop_service.application.store_ports import UnitOfWork
from loop_service.application.stream_events import StreamEvents
from loop_service.application.trim_events import TrimEvents
from loop_service.clients.adapter_client import AdapterClient
from loop_service.config import LoopSettings
from loop_service.convert.codec import ProtoCodec
from loop_service.storage.unit_of_work import SqlUnitOfWork
from loop_service.transport.artifact_servicer import ArtifactServicer
from loop_service.transport.servicer import WorkflowLoopServicer
from loop_service.transport.use_cases import ReadyUseCases, UseCases
from loop_service.worker.eraser import Eraser
from loop_service.worker.feed import EventFeed
from loop_service.worker.housekeeping import Housekeeping
from loop_service.worker.runner import Runner
from loop_service.worker.timers import TimerLoop

if TYPE_CHECKING:
    from loop_service.clients.workflow_model import WorkflowModel

MIGRATIONS = Path(__file__).parent / "storage" / "migrations"
MIGRATE_COMMAND = "python -m loop_service migrate"
LOOP_SERVICE = "handrail.loop.v1.WorkflowLoopService"
ARTIFACT_SERVICE = "handrail.adapter.v1.ArtifactService"

logger = get_logger(__name__)


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class RandomIds:
    """44 bits of milliseconds, then 76 random ones: opaque, and ids made together are neighbours in every index.

    Indexes over wholly random ids touch another page for each row, and all their pages fill up and split at once.
    """

    def new(self, prefix: str) -> str:
        return f"{prefix}_{time_ns() // 1_000_000:011x}{secrets.token_hex(10)[:19]}"


@dataclass(frozen=True, slots=True)
class Models:
    """The workflow model in its two parts, None where there is none; `client` is what has to be closed."""

    replies: ReplyModel | None
    actions: ActionModel | None
    client: WorkflowModel | None


@dataclass(slots=True)
class Parts:
    """What runs once the database is open; ended in reverse."""

    database: Database
    adapter: AdapterClient
    runner: Runner
    timers: TimerLoop
    housekeeping: Housekeeping | None
    eraser: Eraser | None = None


@dataclass(slots=True)
class RunningLoop:
    """A started Loop. `ready` is set once it serves; `stop` drains and ends everything, once."""

    server: RpcServer
    port: int
    feed: EventFeed
    models: Models
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    parts: Parts | None = None
    opening: asyncio.Task[None] | None = None

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def stop(self) -> None:
        await self.server.stop()


def migrate_database(settings: LoopSettings) -> tuple[str | None, str]:
    """Apply the migrations; returns the revisions before and after."""
    return migrate(settings.database, MIGRATIONS)


def renew_database_history(settings: LoopSettings) -> tuple[str, str]:
    """The operator's command after a restore; the history ids before and after. Raises StartRefused, Unavailable."""
    return renew_history(settings.database, lambda: RandomIds().new("his"))


async def start(
    settings: LoopSettings,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
    migrate_first: bool = False,
    reply_model: ReplyModel | None = None,
    action_model: ActionModel | None = None,
) -> RunningLoop:
    """Listen and open the database in the background; await `ready` to know that it serves.

    `migrate_first` applies the migrations before (tests, `handrail up`). `reply_model` judges replies that no rule
    can classify; without one they are treated as answers. `action_model` picks among several offered actions; without
    one the default is taken. Where a model is configured it is both, unless they are given. Raises StartRefused for an
    address that cannot be used.
    """
    if migrate_first:
        await asyncio.to_thread(migrate_database, settings)
    client = _workflow_model(settings)
    models = Models(reply_model or client, action_model or client, client)
    use_cases = UseCases()
    feed = EventFeed(settings.reader_lag_events)
    server = RpcServer(
        settings.listen,
        listen_setting="HANDRAIL_LOOP_LISTEN",
        grace_seconds=settings.grace_seconds,
        subscriptions=(f"/{LOOP_SERVICE}/WatchConversation",),
        reply_points="loop.reply",
        # A cancel waits for its ending, and is never refused.
        limits=CallLimits(settings.unary_calls, settings.streams, frozenset({f"{LOOP_SERVICE}/CancelInteraction"})),
    )
    servicer, artifacts = WorkflowLoopServicer(use_cases), ArtifactServicer(use_cases)
    server.add_service(
        LOOP_SERVICE,
        lambda s: workflow_loop_service_pb2_grpc.add_WorkflowLoopServiceServicer_to_server(servicer, s),
    )
    server.add_service(
        ARTIFACT_SERVICE,
        lambda s: artifact_service_pb2_grpc.add_ArtifactServiceServicer_to_server(artifacts, s),
    )
    port = await server.start()
    running = RunningLoop(server, port, feed, models)
    running.opening = asyncio.create_task(
        _open(running, settings, use_cases, clock or SystemClock(), ids or RandomIds())
    )
    running.opening.add_done_callback(lambda task: _opened(running, task))
    server.on_drain(lambda: _end_work(running))
    server.on_stop(lambda: _close(running))
    return running


async def _open(
    running: RunningLoop,
    settings: LoopSettings,
    use_cases: UseCases,
    clock: Clock,
    ids: Ids,
) -> None:
    """Wait for the schema, open the database, take up what was under way, serve."""

    def tell(state: SchemaState) -> None:
        use_cases.reason = state.message
        logger.warning("waiting for the schema", message=state.message)

    database = await _open_database(running, settings.database, use_cases, tell, lambda: ids.new("his"))
    if database is None:
        return
    feed = running.feed
    env = Environment(
        clock,
        ids,
        ProtoCodec(),
        settings.budget(),
        tuple(sorted(settings.adapters)),
        settings.timings(),
        judges_replies=running.models.replies is not None,
        picks_actions=running.models.actions is not None,
        queued_runs=settings.queued_runs,
        history_id=database.history.history_id,
    )
    adapter = AdapterClient(settings.adapters)
    timers_changed = asyncio.Event()
    storage = SqlUnitOfWork(database, feed.publish, timers_changed.set)
    claims = ClaimRuns(storage, env)
    runner = Runner(
        Advance(storage, adapter, env, running.models.replies, running.models.actions),
        claims,
        places=settings.concurrent_runs,
        lease=env.timings.lease,
        poll_seconds=settings.poll_seconds,
    )
    timer_loop = TimerLoop(FireTimers(storage, env), clock, runner.wake, timers_changed, settings.poll_seconds)
    running.parts = Parts(database, adapter, runner, timer_loop, _housekeeping(settings, storage, env))
    # This process alone has the database (its lock file), so no earlier owner can still be at work.
    voided = await claims.void_leases()
    logger.info("leases voided", count=voided)
    if database.history.put_back:
        logger.warning(
            "the database was put back to an older copy: what was open in it is ended as session_diverged; "
            "run `handrail diverged list`, then end or reopen what it names",
            why=database.history.put_back,
            history_id=database.history.history_id,
        )
    database.on_trouble(
        lambda trouble: running.server.set_ready(not trouble, reason=trouble or "the storage works again")
    )
    lost = await EndLostInteractions(storage, env).run()
    if lost:
        logger.warning("interactions of a lost history are being ended", count=lost)
    acceptor = Acceptor(storage, env, runner)
    deletion = DeleteConversation(acceptor, storage, adapter, feed, env)
    running.parts.eraser = Eraser(deletion, clock, settings.poll_seconds)
    use_cases.open(
        ReadyUseCases(
            env=env,
            artifacts=adapter,
            queries=Queries(storage, env),
            list_domains=ListDomains(adapter, env),
            create_conversation=CreateConversation(storage, env),
            send_message=SendMessage(acceptor, env),
            resolve_approval=ResolveApproval(acceptor, env),
            cancel_interaction=CancelInteraction(acceptor, storage, feed, env),
            stream_events=StreamEvents(storage, feed, env),
            audit_trail=AuditTrail(storage),
            delete_conversation=deletion,
            report_channel_failure=ReportChannelFailure(storage, env),
            settle_execution=SettleExecution(acceptor, storage, adapter, env),
            signal_interaction=SignalInteraction(acceptor, storage, env),
            list_diverged=ListDiverged(storage, adapter, env),
            recover_conversation=RecoverConversation(acceptor, storage, feed, adapter, env),
        )
    )
    runner.begin()
    timer_loop.begin()
    running.parts.eraser.begin()
    if running.parts.housekeeping is not None:
        running.parts.housekeeping.begin()
    running.server.set_ready(True)
    running.ready.set()


def _workflow_model(settings: LoopSettings) -> WorkflowModel | None:
    """None where no model is configured; its SDK is imported only where one is (a start pays for its imports)."""
    if settings.workflow_model is None or settings.workflow_model_key is None:
        return None
    from loop_service.clients.workflow_model import WorkflowModel

    return WorkflowModel(
        settings.workflow_model,
        key=settings.workflow_model_key.get_secret_value(),
        base_url=settings.workflow_model_base_url,
        output_tokens=settings.workflow_model_tokens,
    )


def _opened(running: RunningLoop, opening: asyncio.Task[None]) -> None:
    """A process that can never serve ends, instead of listening NOT_SERVING for ever; `serve` raises the cause."""
    if opening.cancelled():
        return
    error = opening.exception()
    if error is not None:
        if not isinstance(error, StartRefused):
            logger.error("the database could not be taken up", exc_info=error)
        running.server.request_stop()


async def _open_database(
    running: RunningLoop,
    url: str,
    use_cases: UseCases,
    tell: Callable[[SchemaState], None],
    new_history_id: Callable[[], str],
) -> Database | None:
    """The open database once its schema is right; None where the process was asked to stop before.

    A database that cannot be read now is tried again; one that another process holds ends the start (StartRefused).
    """
    stop = running.server.stop_requested
    while not stop.is_set():
        try:
            if not await wait_for_schema(url, MIGRATIONS, MIGRATE_COMMAND, tell, stop, poll_seconds=0.2):
                return None
            return await asyncio.to_thread(Database, url, new_history_id=new_history_id)
        except Unavailable as away:
            use_cases.reason = away.message
            logger.warning("the database cannot be read", reason=away.reason)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 1.0)
    return None


def _housekeeping(settings: LoopSettings, storage: UnitOfWork, env: Environment) -> Housekeeping | None:
    """None where events are kept for ever."""
    if not settings.event_retention_days:
        return None
    trim = TrimEvents(storage, env, timedelta(days=settings.event_retention_days))
    return Housekeeping(trim, settings.housekeeping_seconds)


async def _end_work(running: RunningLoop) -> None:
    """At the drain: streams end with their cursors, workers stop; what they did not finish is taken up later."""
    running.feed.drain()
    if running.parts is not None:
        if running.parts.housekeeping is not None:
            await running.parts.housekeeping.stop()
        if running.parts.eraser is not None:
            await running.parts.eraser.stop()
        await running.parts.timers.stop()
        await running.parts.runner.stop()


async def _close(running: RunningLoop) -> None:
    if running.opening is not None:
        running.opening.cancel()
        # Whatever it ended with (`_opened` has told), what it had opened is closed below.
        await asyncio.wait({running.opening})
    if running.parts is not None:
        await running.parts.adapter.close()
        await running.parts.database.close()
    if running.models.client is not None:
        await running.models.client.close()


async def serve(settings: LoopSettings) -> None:
    """Run until SIGTERM or SIGINT. Raises StartRefused where the start is refused, also by the database's lock."""
    telemetry.configure("handrail-loop")
    running = await start(settings)
    await running.server.serve()
    opening = running.opening
    if opening is not None and opening.done() and not opening.cancelled():
        error = opening.exception()
        if error is not None:
            raise error
