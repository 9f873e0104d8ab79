"""Statements that are built once: an insert that changes the row where it exists."""

from __future__ import annotations

from sqlalchemy import Table
from sqlalchemy.dialects.sqlite import Insert, insert


def upsert(table: Table) -> Insert:
    """Insert, or set every other column where the primary key exists."""
    keys = [column.name for column in table.primary_key]
    statement = insert(table)
    changed = {c.name: statement.excluded[c.name] for c in table.columns if c.name not in keys}
    return statement.on_conflict_do_update(index_elements=keys, set_=changed)
