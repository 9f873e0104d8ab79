"""The tables that the stores are written against are those that the migrations make."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from handrail_storage import migrate
from loop_service.bootstrap import MIGRATIONS
from loop_service.storage import tables


def test_the_migrations_make_the_tables_that_the_stores_use(tmp_path: Path) -> None:
    migrated, declared = tmp_path / "migrated.db", tmp_path / "declared.db"
    migrate(f"sqlite:///{migrated}", MIGRATIONS)
    tables.metadata.create_all(create_engine(f"sqlite:///{declared}", poolclass=NullPool))
    assert _schema(migrated) == _schema(declared)


def _schema(path: Path) -> dict[str, object]:
    """Of each table its columns and primary key, of each index its statement; spaces and quotes do not matter."""
    found: dict[str, object] = {}
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'alembic_version'"
        for kind, name, sql in connection.execute(query).fetchall():
            if kind == "index":
                found[name] = re.sub(r'[\s"]', "", sql)
                continue
            rows = connection.execute(f"PRAGMA table_info({name})").fetchall()
            found[name] = {
                column: (declared_type, not_null, default, key)
                for _, column, declared_type, not_null, default, key in rows
            }
    return found
