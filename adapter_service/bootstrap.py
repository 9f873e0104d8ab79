"""The composition root of the Adapter: builds everything and serves it. Called by __main__, `handrail up` and tests."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from adapter_service.application.artifact_retention import RemoveOldVersions
from adapter_service.application.cancel_interaction import CancelInteraction
from adapter_service.application.decide.decide import Decide
from adapter_service.application.delete_session import DeleteSession
from adapter_service.application.describe_domain import DescribeDomain
from adapter_service.application.diff_artifact import DiffArtifact
from adapter_service.application.execute.execute_tool import ExecuteTool
from adapter_service.application.get_session import GetSession
from adapter_service.application.open_session import OpenSession
from adapter_service.application.ports import Clock, Domains, Ids, Transaction
from adapter_service.application.read_artifacts import ReadArtifacts
from adapter_service.application.settle_execution import SettleExecution
from adapter_service.application.workspace.open_workspace import OpenWorkspaces
from adapter_service.application.workspace.read_workspace import ReadWorkspace
from adapter_service.application.workspace.upload_workspace import DropExpiredUploads, UploadWorkspace
from adapter_service.config import AdapterSettings
from adapter_service.convert.codec import ProtoCodec
from adapter_service.domain_registry import DomainSource, load_domains
from adapter_service.housekeeping import Housekeeping
from adapter_service.storage.unit_of_work import SqlUnitOfWork
from adapter_service.storage.workspace_folder import open_folders
from adapter_service.tool_threads import ToolThreads
from adapter_service.transport.artifact_servicer import ArtifactServicer, ArtifactUseCases
from adapter_service.transport.servicer import DomainAdapterServicer, UseCases
from handrail.adapter.v1 import artifact_service_pb2_grpc, domain_adapter_service_pb2_grpc
from handrail_rpc import telemetry
from handrail_rpc.errors import Unavailable
from handrail_rpc.logging import get_logger
from handrail_rpc.server import RpcServer
from handrail_storage import Database, SchemaState, check_schema, migrate, renew_history, wait_for_schema

MIGRATIONS = Path(__file__).parent / "storage" / "migrations"
MIGRATE_COMMAND = "python -m adapter_service migrate"

_ID_BYTES = 12
_IDS_AT_ONCE = 64

logger = get_logger(__name__)


def system_clock() -> datetime:
    """The Adapter's clock, UTC: the only one that decides about expiry."""
    return datetime.now(UTC)


class RandomIds:
    """Opaque ids that nobody can guess. The system is asked for many at once: each time costs more than the id."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._left: list[str] = []

    def __call__(self, prefix: str) -> str:
        """A new id. Safe from any thread."""
        with self._gate:
            if not self._left:
                digits = secrets.token_hex(_ID_BYTES * _IDS_AT_ONCE)
                self._left = [digits[at : at + 2 * _ID_BYTES] for at in range(0, len(digits), 2 * _ID_BYTES)]
            return f"{prefix}_{self._left.pop()}"


random_id = RandomIds()


def migrate_database(settings: AdapterSettings) -> tuple[str | None, str]:
    """Apply missing migrations; (revision before, revision after)."""
    return migrate(settings.database_url, MIGRATIONS)


def renew_database_history(settings: AdapterSettings) -> tuple[str, str]:
    """The operator's command after a restore; the history ids before and after. Raises StartRefused, Unavailable."""
    return renew_history(settings.database_url, lambda: random_id("his"))


@dataclass(frozen=True)
class _Opened:
    """What exists once the schema is ready."""

    use_cases: UseCases
    artifacts: ArtifactUseCases


class RunningAdapter:
    """A listening Adapter. Until its schema is ready it is NOT_SERVING and every call is UNAVAILABLE.

    `environment` holds the settings of domains, such as the folder of a workspace.
    """

    def __init__(
        self,
        settings: AdapterSettings,
        domains: Domains,
        clock: Clock,
        ids: Ids,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._settings = settings
        self._domains = domains
        self._clock = clock
        self._ids = ids
        self._folders = open_folders(domains.values(), environment, settings.data_dir)
        self._opened: _Opened | None = None
        self._waiting: asyncio.Task[None] | None = None
        self.refusal: BaseException | None = None
        self.server = RpcServer(settings.listen, listen_setting="HANDRAIL_ADAPTER_LISTEN", reply_points="adapter.reply")
        self.servicer = adapter = DomainAdapterServicer(lambda: self._ready().use_cases)
        self.artifact_servicer = artifacts = ArtifactServicer(lambda: self._ready().artifacts)
        self.server.add_service(
            "handrail.adapter.v1.DomainAdapterService",
            lambda server: domain_adapter_service_pb2_grpc.add_DomainAdapterServiceServicer_to_server(adapter, server),
        )
        self.server.add_service(
            "handrail.adapter.v1.ArtifactService",
            lambda server: artifact_service_pb2_grpc.add_ArtifactServiceServicer_to_server(artifacts, server),
        )

    @property
    def port(self) -> int:
        """The port that was bound."""
        return self.server.port

    @property
    def target(self) -> str:
        """host:port for clients."""
        return self.server.target

    async def start(self) -> None:
        """Listen, and open the database now or as soon as its schema is ready.

        Raises StartRefused for a taken port or a database that another process has open.
        """
        state = await asyncio.to_thread(check_schema, self._settings.database_url, MIGRATIONS, MIGRATE_COMMAND)
        await self.server.start()
        if state.ready:
            await self._open()
            return
        self._waiting = asyncio.create_task(self._open_later())
        self.server.on_drain(self._stop_waiting)

    async def open_without_listening(self) -> None:
        """Open the database, whose schema must be ready, but no port: for calls of `servicer` in this process."""
        await self._open()

    async def stop(self) -> None:
        """Drain and release everything."""
        await self.server.stop()

    def _ready(self) -> _Opened:
        if self._opened is None:
            raise Unavailable(
                f"the database is not ready: its schema is missing or older than this code; run `{MIGRATE_COMMAND}`",
                reason="SCHEMA_NOT_READY",
            )
        return self._opened

    async def _open_later(self) -> None:
        def tell(state: SchemaState) -> None:
            logger.error("schema not ready", reason=state.message)
            self.server.set_ready(False, reason=state.message)

        try:
            stop = self.server.stop_requested
            if await wait_for_schema(self._settings.database_url, MIGRATIONS, MIGRATE_COMMAND, tell, stop):
                await self._open()
        except Exception as error:
            logger.error("database could not be opened", exc_info=error)
            self.refusal = error
            self.server.request_stop()

    async def _stop_waiting(self) -> None:
        if self._waiting is not None:
            await asyncio.wait([self._waiting])

    async def _open(self) -> None:
        database = await asyncio.to_thread(
            Database, self._settings.database_url, new_history_id=lambda: self._ids("his")
        )
        self.server.on_stop(database.close)
        if database.history.put_back:
            logger.warning(
                "the database was put back to an older copy: sessions opened before are refused and end as "
                "session_diverged; run `handrail diverged list`, then end or reopen what it names",
                why=database.history.put_back,
                history_id=database.history.history_id,
            )
        unit_of_work = SqlUnitOfWork(database)
        database.on_trouble(
            lambda trouble: self.server.set_ready(not trouble, reason=trouble or "the storage works again")
        )

        def take_possession(tx: Transaction) -> int:
            for domain in self._domains.values():
                tx.calls.raise_version(domain.name, "policy", "", domain.policy_version)
                for tool in domain.tools:
                    tx.calls.raise_version(domain.name, "tool", tool.name, tool.version)
            return tx.calls.release_orphans(self._clock())

        orphans = await unit_of_work.write(take_possession, name="start.take_possession")
        threads, codec = ToolThreads(), ProtoCodec()
        self.server.on_stop(threads.close)
        workspaces = OpenWorkspaces(unit_of_work, self._folders, clock=self._clock, ids=self._ids)
        execute_tool = ExecuteTool(
            unit_of_work,
            self._domains,
            clock=self._clock,
            ids=self._ids,
            codec=codec,
            threads=threads,
            owner=random_id("own"),
            workspaces=workspaces,
        )
        self.server.on_stop(execute_tool.stop)
        decide = Decide(
            unit_of_work,
            self._domains,
            clock=self._clock,
            ids=self._ids,
            codec=codec,
            threads=threads,
            workspaces=workspaces,
            parallel_reads=self._settings.parallel_reads,
        )
        self._opened = _Opened(
            UseCases(
                describe_domain=DescribeDomain(self._domains, database.history.history_id),
                open_session=OpenSession(unit_of_work, self._domains, clock=self._clock, ids=self._ids),
                decide=decide,
                execute_tool=execute_tool,
                cancel_interaction=CancelInteraction(unit_of_work, self._domains, clock=self._clock),
                get_session=GetSession(unit_of_work, self._domains, clock=self._clock),
                settle_execution=SettleExecution(
                    unit_of_work,
                    self._domains,
                    clock=self._clock,
                    ids=self._ids,
                    codec=codec,
                    is_live=execute_tool.is_live,
                ),
                delete_session=DeleteSession(
                    unit_of_work, self._domains, threads, clock=self._clock, is_live=execute_tool.is_live
                ),
            ),
            ArtifactUseCases(
                read=ReadArtifacts(unit_of_work),
                diff=DiffArtifact(unit_of_work, self._domains, threads),
                upload=UploadWorkspace(unit_of_work, self._domains, clock=self._clock, ids=self._ids),
                workspaces=ReadWorkspace(unit_of_work, self._domains, workspaces, threads=threads),
            ),
        )
        self._keep_house(unit_of_work)
        logger.info("database opened", domains=sorted(self._domains), orphans=orphans)
        self.server.set_ready(True)

    def _keep_house(self, unit_of_work: SqlUnitOfWork) -> None:
        chores: dict[str, Callable[[], Awaitable[int]]] = {
            "uploaded contents": DropExpiredUploads(unit_of_work, clock=self._clock).run
        }
        if self._settings.artifact_days:
            keep = timedelta(days=self._settings.artifact_days)
            chores["artifact versions"] = RemoveOldVersions(unit_of_work, clock=self._clock, keep=keep).run
        housekeeping = Housekeeping(chores, self._settings.housekeeping_seconds)
        housekeeping.begin()
        self.server.on_drain(housekeeping.stop)


async def start(
    settings: AdapterSettings,
    *,
    domains: Iterable[DomainSource] | None = None,
    clock: Clock = system_clock,
    ids: Ids = random_id,
) -> RunningAdapter:
    """A started Adapter; `domains` None takes the installed ones. Raises StartRefused."""
    loaded = load_domains(domains, settings.domains, settings.data_dir, clock)
    running = RunningAdapter(settings, loaded, clock, ids)
    try:
        await running.start()
    except BaseException:
        await running.stop()
        raise
    return running


async def run_adapter(settings: AdapterSettings) -> None:
    """Serve until SIGTERM or SIGINT. Raises StartRefused if it cannot start."""
    telemetry.configure("handrail-adapter")
    running = await start(settings)
    await running.server.serve()
    if running.refusal is not None:
        raise running.refusal
