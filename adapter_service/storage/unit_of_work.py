"""`SqlUnitOfWork`: application.ports.UnitOfWork over handrail_storage.Database. Made by bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from sqlalchemy import Connection

from adapter_service.application.ports import Transaction
from adapter_service.storage.artifact_store import SqlArtifacts
from adapter_service.storage.call_store import SqlCalls
from adapter_service.storage.interaction_store import SqlInteractions
from adapter_service.storage.session_store import SqlSessions
from handrail_storage import Database

T = TypeVar("T")


class SqlTransaction:
    """The stores on one connection, within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @cached_property
    def sessions(self) -> SqlSessions:
        """Sessions, referents, facts."""
        return SqlSessions(self._connection)

    @cached_property
    def interactions(self) -> SqlInteractions:
        """Interactions, plans, decisions."""
        return SqlInteractions(self._connection)

    @cached_property
    def calls(self) -> SqlCalls:
        """Calls, approvals, ledger."""
        return SqlCalls(self._connection)

    @cached_property
    def artifacts(self) -> SqlArtifacts:
        """Artifacts and validations."""
        return SqlArtifacts(self._connection)


class SqlUnitOfWork:
    """Runs functions of a Transaction on the database: all or nothing, durable when it returns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """One writing transaction (BEGIN IMMEDIATE)."""
        return await self._database.write(lambda connection: unit(SqlTransaction(connection)))

    async def read(self, query: Callable[[Transaction], T]) -> T:
        """One consistent snapshot."""
        return await self._database.read(lambda connection: query(SqlTransaction(connection)))
