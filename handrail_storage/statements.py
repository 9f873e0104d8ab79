"""Statements of SQLAlchemy Core that are compiled once and executed on the driver; stores of both services use them.

Executing a Core statement costs SQLAlchemy some twenty microseconds besides SQLite's own two, and a step makes dozens.
Tables and statements stay SQLAlchemy's (`Statement.core`): only the way to SQLite is shorter. Parameters are passed as
they are, so a statement's types must need no conversion (texts, numbers, booleans, bytes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, TypeAlias

from sqlalchemy import Connection, Insert, Table, bindparam, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement

Row: TypeAlias = Mapping[Any, Any]
"""Column name -> value as SQLite has it: booleans are 0 and 1."""

_DIALECT = sqlite.dialect(paramstyle="qmark")
_NO_PARAMETERS: Mapping[str, Any] = {}


class Statement:
    """One Core statement with named `bindparam`s, compiled at its first execution.

    An insert names every column of its table; what the parameters leave out is the column's scalar default. Raises
    ValueError for a statement whose text depends on its parameters (`in_` of a list): execute that with SQLAlchemy.
    """

    def __init__(self, core: ClauseElement) -> None:
        self.core = core
        self._sql = ""
        self._pick: Callable[[Mapping[str, Any]], tuple[Any, ...]] = _nothing
        self._columns: tuple[str, ...] = ()
        self._given: dict[str, Any] = {}
        self._always_given = False

    def execute(self, connection: Connection, parameters: Mapping[str, Any] = _NO_PARAMETERS) -> int:
        """Run it; returns the number of rows changed."""
        return int(self._run(connection, parameters).rowcount)

    def execute_many(self, connection: Connection, parameters: Iterable[Mapping[str, Any]]) -> None:
        """Run it for each of `parameters`."""
        self._compile()
        driver_connection(connection).executemany(self._sql, [self._values(each) for each in parameters])

    def first(self, connection: Connection, parameters: Mapping[str, Any] = _NO_PARAMETERS) -> Row | None:
        """The first row, None without one."""
        values = self._run(connection, parameters).fetchone()
        return None if values is None else dict(zip(self._columns, values, strict=False))

    def all(self, connection: Connection, parameters: Mapping[str, Any] = _NO_PARAMETERS) -> list[Row]:
        """Every row."""
        found = self._run(connection, parameters).fetchall()
        columns = self._columns
        return [dict(zip(columns, values, strict=False)) for values in found]

    def scalar(self, connection: Connection, parameters: Mapping[str, Any] = _NO_PARAMETERS) -> Any:
        """The first column of the first row, None without one."""
        values = self._run(connection, parameters).fetchone()
        return None if values is None else values[0]

    def scalars(self, connection: Connection, parameters: Mapping[str, Any] = _NO_PARAMETERS) -> list[Any]:
        """The first column of every row."""
        return [values[0] for values in self._run(connection, parameters).fetchall()]

    def _run(self, connection: Connection, parameters: Mapping[str, Any]) -> Any:
        if not self._sql:
            self._compile()
        return driver_connection(connection).execute(self._sql, self._values(parameters))

    def _values(self, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
        if self._always_given:
            return self._pick({**self._given, **parameters})
        try:
            return self._pick(parameters)
        except KeyError:
            return self._pick({**self._given, **parameters})

    def _compile(self) -> None:
        if self._sql:
            return
        compiled: Any = self.core.compile(dialect=_DIALECT)
        if "POSTCOMPILE" in compiled.string:
            raise ValueError("a statement whose text depends on its parameters cannot be compiled once")
        if isinstance(self.core, Insert):
            defaults: list[tuple[str, Any, bool]] = [
                (c.name, c.default, bool(c.nullable)) for c in self.core.table.columns
            ]
            self._given = {
                name: None if default is None else default.arg
                for name, default, nullable in defaults
                if nullable or default is not None
            }
        else:
            self._given = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
            self._always_given = bool(self._given)
        self._pick = _picker(tuple(compiled.positiontup))
        self._columns = tuple(entry.keyname for entry in compiled._result_columns)
        self._sql = compiled.string


def _nothing(_: Mapping[str, Any]) -> tuple[Any, ...]:
    return ()


def _picker(names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """From named parameters to the positions of the compiled text."""
    if len(names) > 1:
        return itemgetter(*names)
    return (lambda given: (given[names[0]],)) if names else _nothing


class KeyedTable:
    """A table whose rows are found by primary key and stored whole: only the columns that changed are written."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.key: tuple[str, ...] = tuple(column.name for column in table.primary_key)
        self._key_of = itemgetter(*self.key)
        self.found_by_key = Statement(select(table).where(*(table.c[name] == bindparam(name) for name in self.key)))
        self.upsert = Statement(upsert(table))
        self._updates: dict[tuple[str, ...], Statement] = {}

    def rows(self, connection: Connection) -> KeyedRows:
        """The rows within one transaction."""
        return KeyedRows(self, connection)

    def key_of(self, row: Row) -> Any:
        return self._key_of(row)

    def update_of(self, columns: tuple[str, ...]) -> Statement:
        """The update of just these columns; each set of columns that occurs is compiled once."""
        found = self._updates.get(columns)
        if found is None:
            table = self.table
            found = Statement(
                update(table)
                .where(*(table.c[name] == bindparam(f"key_{name}") for name in self.key))
                .values({name: bindparam(name) for name in columns})
            )
            self._updates[columns] = found
        return found


class KeyedRows:
    """Rows of a KeyedTable within one transaction. It remembers what it read and wrote, to write only what changes.

    Whoever changes rows of the table by another statement calls `forget`.
    """

    def __init__(self, keyed: KeyedTable, connection: Connection) -> None:
        self._keyed = keyed
        self._connection = connection
        self._stored: dict[Any, Row] = {}

    def find(self, *key: Any) -> Row | None:
        """The row as it is now."""
        keyed = self._keyed
        row = keyed.found_by_key.first(self._connection, dict(zip(keyed.key, key, strict=True)))
        if row is not None:
            self._stored[keyed.key_of(row)] = row
        return row

    def note(self, rows: Iterable[Row]) -> None:
        """Remember whole rows that another statement has just read."""
        for row in rows:
            self._stored[self._keyed.key_of(row)] = row

    def put(self, row: Row) -> None:
        """Store the whole row: insert it, or change the columns that differ from what is stored."""
        keyed = self._keyed
        key = keyed.key_of(row)
        before = self._stored.get(key)
        if before is not None:
            changed = tuple([name for name, value in row.items() if before[name] != value])
            if not changed:
                return
            parameters = {name: row[name] for name in changed}
            for name in keyed.key:
                parameters[f"key_{name}"] = row[name]
            if keyed.update_of(changed).execute(self._connection, parameters):
                self._stored[key] = row
                return
        keyed.upsert.execute(self._connection, row)
        self._stored[key] = row

    def forget(self) -> None:
        """Rows were changed by another statement: the next `put` of each writes it whole."""
        self._stored.clear()


def upsert(table: Table) -> sqlite.Insert:
    """Insert, or set every other column where the primary key exists."""
    keys = [column.name for column in table.primary_key]
    statement = sqlite.insert(table)
    changed = {c.name: statement.excluded[c.name] for c in table.columns if c.name not in keys}
    if not changed:
        return statement.on_conflict_do_nothing(index_elements=keys)
    return statement.on_conflict_do_update(index_elements=keys, set_=changed)


def driver_connection(connection: Connection) -> Any:
    """The sqlite3 connection below; its transaction is the one of `connection`."""
    return connection.connection.dbapi_connection
