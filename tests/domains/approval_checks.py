"""What E2 demands of a change of any domain: whatever differs from what was approved, the tool is not called.

`check_every_difference_blocks` takes a call that was approved and not yet executed, alters the Adapter's records in one
way at a time, executes, expects the block, and puts the records back. Used by the suite that every domain passes and by
test_e2_comparisons, which removes each comparison in turn and sees it fail.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc.aio

from adapter_service.domain.approval import Snapshot
from adapter_service.storage.call_rows import read_snapshot, snapshot_text
from handrail.common.v1 import tool_pb2
from tests.fakes.adapter_harness import Driver

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
TABLES = ("versions", "approvals", "tool_calls", "executions", "artifacts", "artifact_versions", "validations")
OTHER_EXECUTION = """INSERT INTO executions (tool_call_id, execution_id, interaction_id, domain, idempotency_key, tool,
effect, target, state, attempt, owner, lease_until, outcome, result_sha256, trouble, claim_time, finish_time)
SELECT 'other', 'exe_other', interaction_id, ?, idempotency_key, tool, effect, 'elsewhere', 'succeeded', 1, 'o', 0, x'',
'', '', 0, 0 FROM tool_calls WHERE tool_call_id = ?"""


@dataclass(frozen=True, slots=True)
class ApprovedCall:
    """A call that a person has approved, not yet executed, with the database of the Adapter that decided it."""

    driver: Driver
    call: tool_pb2.ToolCall
    database: Path


@dataclass(frozen=True, slots=True)
class Records:
    """The Adapter's rows about one call, altered behind its back."""

    connection: sqlite3.Connection
    domain: str
    tool_call_id: str

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """One statement."""
        return self.connection.execute(statement, values).fetchall()

    @property
    def digest(self) -> str:
        """Of the approval that the call names."""
        found = self.sql("SELECT approval_digest FROM tool_calls WHERE tool_call_id = ?", self.tool_call_id)
        return str(found[0][0])

    def snapshot(self) -> Snapshot:
        """What was approved."""
        return read_snapshot(self.sql("SELECT snapshot FROM approvals WHERE digest = ?", self.digest)[0][0])

    def forge(self, **members: Any) -> None:
        """An approval of something else, whole in itself: its snapshot has these members and the digest of them."""
        forged, before = replace(self.snapshot(), **members), self.digest
        self.sql(
            "UPDATE approvals SET snapshot = ?, digest = ? WHERE digest = ?",
            snapshot_text(forged),
            forged.digest,
            before,
        )
        self.sql("UPDATE tool_calls SET approval_digest = ? WHERE tool_call_id = ?", forged.digest, self.tool_call_id)

    def state(self, state: str) -> None:
        """The approval is in another state."""
        self.sql("UPDATE approvals SET state = ? WHERE digest = ?", state, self.digest)

    def raise_version(self, kind: str, name: str) -> None:
        """A newer process has brought another version of the policy or of a tool."""
        self.sql(
            "UPDATE versions SET version = version + 1 WHERE domain = ? AND kind = ? AND name = ?",
            self.domain,
            kind,
            name,
        )

    def own_version(self, kind: str, name: str, member: str) -> None:
        """This process alone is behind: a newer one has brought another version, and that one was approved."""
        self.raise_version(kind, name)
        self.forge(**{member: str(int(getattr(self.snapshot(), member)) + 1)})

    def validation(self, **columns: object) -> None:
        """The validation of the version that was approved is another one."""
        shown = self.snapshot()
        for column, value in columns.items():
            self.sql(
                f"UPDATE validations SET {column} = ? WHERE artifact_id = ? AND version = ?",
                value,
                shown.artifact_id,
                shown.artifact_version,
            )


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which the records differ from what was approved; `comparison` is the condition that notices it."""

    comparison: str
    code: str
    make: Callable[[Records], None]
    needs_validation: bool = False


def _key_used(records: Records) -> None:
    records.sql(OTHER_EXECUTION, records.domain, records.tool_call_id)


def _altered_snapshot(records: Records) -> None:
    altered = replace(records.snapshot(), required_role="nobody")
    records.sql("UPDATE approvals SET snapshot = ? WHERE digest = ?", snapshot_text(altered), records.digest)


DIFFERENCES = (
    Difference("approval", "approval_missing", lambda records: records.state("open")),
    Difference("approval_expired", "approval_expired", lambda records: records.state("expired")),
    Difference("approval_ended", "approval_stale", lambda records: records.state("stale")),
    Difference("digest_scheme", "approval_stale", lambda records: records.forge(digest_scheme="md5")),
    Difference("snapshot_digest", "approval_stale", _altered_snapshot),
    Difference("idempotency_key", "approval_stale", _key_used),
    Difference("tool", "approval_stale", lambda records: records.forge(tool="another_tool")),
    Difference(
        "tool_version",
        "approval_stale",
        lambda records: records.own_version("tool", records.snapshot().tool, "tool_version"),
    ),
    Difference(
        "stored_tool_version", "approval_stale", lambda records: records.raise_version("tool", records.snapshot().tool)
    ),
    Difference("policy_version", "approval_stale", lambda records: records.own_version("policy", "", "policy_version")),
    Difference("stored_policy_version", "approval_stale", lambda records: records.raise_version("policy", "")),
    Difference("artifact_id", "approval_stale", lambda records: records.forge(artifact_id="art_another")),
    Difference(
        "artifact_version",
        "approval_stale",
        lambda records: records.forge(artifact_version=records.snapshot().artifact_version + 1),
    ),
    Difference("artifact_sha256", "approval_stale", lambda records: records.forge(artifact_sha256="f" * 64)),
    Difference("input_sha256", "approval_stale", lambda records: records.forge(input_sha256="f" * 64)),
    Difference(
        "read_set",
        "approval_stale",
        lambda records: records.validation(reads='[["artifact", "art_gone", "1"]]'),
        needs_validation=True,
    ),
    Difference(
        "validation_passed", "validation_failed", lambda records: records.validation(passed=0), needs_validation=True
    ),
    Difference("validation_sha256", "approval_stale", lambda records: records.forge(validation_sha256="f" * 64)),
    Difference("expire_time", "approval_expired", lambda records: records.forge(expire_time=LONG_AGO)),
)


async def check_every_difference_blocks(approved: ApprovedCall) -> frozenset[str]:
    """Raises AssertionError for the first difference that does not block; names of the comparisons that were asked."""
    asked = set()
    for difference in DIFFERENCES:
        with altered(approved) as records:
            if difference.needs_validation and not records.snapshot().validation_sha256:
                continue
            difference.make(records)
            records.connection.commit()
            try:
                outcome = await approved.driver.execute(approved.call)
                told = (tool_pb2.Outcome.Name(outcome.outcome), outcome.block.code)
            except grpc.aio.AioRpcError as error:  # it ran into the ledger's own unique key
                told = (error.code().name, "")
            assert told == ("OUTCOME_BLOCKED", difference.code), f"{difference.comparison}: {told}"
            asked.add(difference.comparison)
    return frozenset(asked)


@contextmanager
def altered(approved: ApprovedCall) -> Iterator[Records]:
    """Records to alter, which are as they were afterwards, the outcome of the call included."""
    with closing(sqlite3.connect(approved.database, timeout=10)) as connection:
        kept = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}
        connection.commit()
        try:
            yield Records(connection, approved.driver.domain, approved.call.tool_call_id)
        finally:
            connection.rollback()
            for table, rows in kept.items():
                connection.execute(f"DELETE FROM {table}")
                if rows:
                    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
            connection.commit()
