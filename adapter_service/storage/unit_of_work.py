"""`SqlUnitOfWork`: application.ports.UnitOfWork over handrail_storage.Database. Made by bootstrap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, bindparam, select

from adapter_service.application.ports import Transaction
from adapter_service.domain.session import Interaction, Session
from adapter_service.storage.artifact_store import SqlArtifacts
from adapter_service.storage.call_store import SqlCalls
from adapter_service.storage.erasure_store import SqlErasure
from adapter_service.storage.interaction_store import INTERACTION_COLUMNS, SqlInteractions
from adapter_service.storage.retention_store import SqlRetention
from adapter_service.storage.session_store import SqlSessions
from adapter_service.storage.tables import history, interactions, sessions
from adapter_service.storage.workspace_store import SqlWorkspaces
from handrail_storage import Database, Statement

T = TypeVar("T")

_ACCESS = Statement(
    select(history.c.history_id, sessions, *INTERACTION_COLUMNS, interactions.c.plan).select_from(
        history.outerjoin(sessions, sessions.c.domain_session_id == bindparam("session")).outerjoin(
            interactions, interactions.c.interaction_id == bindparam("interaction")
        )
    )
)


class SqlTransaction:
    """The stores on one connection, within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.sessions = SqlSessions(connection)
        self.interactions = SqlInteractions(connection)
        self.calls = SqlCalls(connection)
        self.artifacts = SqlArtifacts(connection)
        self.retention = SqlRetention(connection)
        self.erasure = SqlErasure(connection)
        self.workspaces = SqlWorkspaces(connection)

    def access(self, domain_session_id: str, interaction_id: str) -> tuple[str, Session | None, Interaction | None]:
        """The history id, the session and the interaction, in one read."""
        row = _ACCESS.first(self._connection, {"session": domain_session_id, "interaction": interaction_id})
        assert row is not None  # the first migration makes the history's row
        return row["history_id"], self.sessions.noted(row), self.interactions.noted(row)


class SqlUnitOfWork:
    """Runs functions of a Transaction on the database: all or nothing, durable when it returns."""

    def __init__(self, database: Database) -> None:
        """Make it within the running event loop."""
        self._database = database
        self._loop = asyncio.get_running_loop()

    async def write(self, unit: Callable[[Transaction], T], *, name: str = "") -> T:
        """One writing transaction (BEGIN IMMEDIATE)."""
        full_name = f"adapter.{name}" if name else ""
        return await self._database.write(lambda connection: unit(SqlTransaction(connection)), name=full_name)

    async def read(self, query: Callable[[Transaction], T]) -> T:
        """One consistent snapshot."""
        return await self._database.read(lambda connection: query(SqlTransaction(connection)))

    async def truncate_log(self) -> bool:
        """Cut off what the database's log still has of erased content; False where a reader held it up."""
        return await self._database.truncate_log()

    def read_now(self, query: Callable[[Transaction], T]) -> T:
        """One consistent snapshot, read in the calling thread."""
        return self._database.read_now(lambda connection: query(SqlTransaction(connection)))

    def write_now(self, unit: Callable[[Transaction], T], *, name: str) -> T:
        """`write`, waited for in the calling thread. Raises RuntimeError in the event loop's, which must not wait."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run_coroutine_threadsafe(self.write(unit, name=name), self._loop).result()
        raise RuntimeError("write_now blocks: call it in a thread, for example in a tool that is a plain function")
