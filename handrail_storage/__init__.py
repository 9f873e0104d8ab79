"""The engine below each service's own tables: one durable writer, snapshot readers, migrations.

A service keeps its own tables, stores and migrations and builds its unit of work on `Database`. Used by the
storage layers and composition roots of loop_service and adapter_service only.
"""

from handrail_storage.database import Database, WriteStats
from handrail_storage.driver_errors import UniqueViolation, translated
from handrail_storage.history import History, marker_path, renew_history
from handrail_storage.migrations import (
    SchemaState,
    check_schema,
    current_revision,
    head_revision,
    migrate,
    wait_for_schema,
)
from handrail_storage.statements import KeyedRows, KeyedTable, Row, Statement, driver_connection

__all__ = [
    "Database",
    "History",
    "KeyedRows",
    "KeyedTable",
    "Row",
    "SchemaState",
    "Statement",
    "UniqueViolation",
    "WriteStats",
    "check_schema",
    "current_revision",
    "driver_connection",
    "head_revision",
    "marker_path",
    "migrate",
    "renew_history",
    "translated",
    "wait_for_schema",
]
