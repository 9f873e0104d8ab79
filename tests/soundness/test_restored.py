"""soundness.md 'Restored databases', each rule by its name, with both services in this process.

What an operator meets, with real processes and both databases put back in turn, is in tests/restore.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, decision_pb2, failure_pb2, tool_pb2
from handrail_storage import marker_path
from tests.fakes.adapter import Refusal, call, complete
from tests.fakes.adapter_harness import FakeClock, refusal, running_probe
from tests.fakes.probe_domain import World
from tests.grpc.loop.driver import LoopDriver, last, names, running_loop
from tests.grpc.whole.running import running_whole
from tests.soundness.acting import RING, approved

APPROVE = approval_pb2.VERDICT_APPROVE
SUCCEEDED, UNKNOWN = tool_pb2.OUTCOME_SUCCEEDED, tool_pb2.OUTCOME_UNKNOWN


def take_copy(database: Path) -> Path:
    """A consistent copy while the service runs."""
    copy = database.with_suffix(".copy")
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


def put_back(database: Path, copy: Path) -> None:
    """The file as an operator replaces it who forgets the command that renews the history; the service is stopped."""
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    shutil.copy(copy, database)


async def test_history(tmp_path: Path) -> None:
    """The Adapter's file is put back to before the effect: its history id is renewed, the old one's calls refused."""
    world, clock = World(), FakeClock()
    database = tmp_path / "adapter.db"
    async with running_probe(tmp_path, world, clock) as before:
        driver, ring = await approved(before, RING)
        copy = take_copy(database)
        assert (await driver.execute(ring)).outcome == SUCCEEDED
    put_back(database, copy)
    async with running_probe(tmp_path, world, clock) as after:
        driver.stub = after.stub
        for refused in (driver.execute(ring), driver.cancel(), driver.say("more")):
            assert (await refusal(refused)).reason == "HISTORY_DIVERGED"
        assert world.effects == {ring.idempotency_key: 1}
        fresh = await after.open("conv_2")
        assert fresh.history_id != driver.history_id
        assert (await fresh.say("look Paris")).HasField("call_tool")


async def test_history_of_a_file_swapped_unseen_is_known_by_the_peers_mark(tmp_path: Path) -> None:
    """Its marker was put back with it: the revision that the Loop has seen tells, and nothing is executed again."""
    world, clock = World(), FakeClock()
    database = tmp_path / "adapter.db"
    async with running_probe(tmp_path, world, clock) as before:
        driver, ring = await approved(before, RING)
        ((old,),) = before.sql("SELECT revision FROM sessions")
    copy, marker = take_copy(database), marker_path(database).read_bytes()
    async with running_probe(tmp_path, world, clock) as later:
        driver.stub = later.stub
        assert (await driver.execute(ring, known_session_revision=old)).outcome == SUCCEEDED
        ((seen,),) = later.sql("SELECT revision FROM sessions")
    put_back(database, copy)
    marker_path(database).write_bytes(marker)
    async with running_probe(tmp_path, world, clock) as after:
        driver.stub = after.stub
        assert (await after.open("conv_2")).history_id == driver.history_id
        assert (await refusal(driver.execute(ring, known_session_revision=seen))).reason == "HISTORY_DIVERGED"
        assert world.effects == {ring.idempotency_key: 1}


async def test_renewed_history(tmp_path: Path) -> None:
    """The id is renewed at the start where the marker outside the database knows more than the file, and only then."""
    database = tmp_path / "adapter.db"

    async def served(text: str) -> str:
        async with running_probe(tmp_path) as probe:
            driver = await probe.open()
            await driver.say(text)
            return driver.history_id

    first = await served("look Berlin")
    copy = take_copy(database)
    assert await served("look Paris") == first
    put_back(database, copy)
    second = await served("look Paris")
    assert second != first
    assert await served("look Berlin") == second
    marker_path(database).unlink()
    assert await served("look Berlin") not in (first, second)


async def test_history_first(tmp_path: Path) -> None:
    """Before the first Decide is sent, the interaction's row holds the history id that the session told."""
    stored: list[tuple[str, str]] = []
    async with running_loop(tmp_path, lambda request: complete()) as driver:

        def look() -> None:
            with closing(sqlite3.connect(tmp_path / "loop.db")) as connection:
                stored.extend(connection.execute("SELECT history_id, domain_session_id FROM interactions"))

        driver.adapter.on_arrival["Decide"] = look
        conversation_id = await driver.create()
        await driver.send(conversation_id, "one")
        assert stored == [("hist_1", f"ses_{conversation_id}")]
        assert [r.history_id for r in driver.adapter.decide_requests] == ["hist_1"]
        driver.adapter.history_id = "hist_2"
        failure = last(await driver.send(conversation_id, "two"), "failed").failure
        assert (failure.code, failure.source_code) == ("session_diverged", "HISTORY_DIVERGED")


async def test_loop_restore(tmp_path: Path) -> None:
    """The Loop's file is put back to before the approval: what was open is closed at the Adapter, its calls told."""
    async with running_whole(tmp_path) as whole:
        driver, database = whole.driver, tmp_path / "loop" / "loop.db"
        conversation_id = await whole.create()
        asked = await driver.send(conversation_id, "write memo at 3 then post")
        approval = last(asked, "approval_required")
        copy = take_copy(database)
        assert names(await driver.resolve(approval, APPROVE))[-1] == "completed"
        await driver.stop()
        put_back(database, copy)
        await driver.start()

        async def ended() -> bool:
            return names(await driver.events(conversation_id))[-1] == "failed"

        await driver.until(ended)
        events = await driver.events(conversation_id)
        assert last(events, "failed").failure.code == "session_diverged"
        told = [(e.tool_finished.tool, e.tool_finished.outcome) for e in events if e.HasField("tool_finished")]
        assert told[-1] == ("post_note", SUCCEEDED)
        assert whole.probe.sql("SELECT closed FROM interactions") == [(1,)]
        assert sum(whole.probe.world.effects.values()) == 1


REFUSALS = {
    "HISTORY_DIVERGED": grpc.StatusCode.FAILED_PRECONDITION,
    "DECISION_GAP": grpc.StatusCode.ABORTED,
    "DECISION_CONTRADICTION": grpc.StatusCode.ABORTED,
    "SESSION_NOT_FOUND": grpc.StatusCode.NOT_FOUND,
}


def one_change(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    return call(f"call_{request.interaction_id}", effect=tool_pb2.EFFECT_EXTERNAL)


async def ending(driver: LoopDriver) -> failure_pb2.Failure:
    failure: failure_pb2.Failure = last(await driver.send(await driver.create(), "go"), "failed").failure
    assert failure.code == "session_diverged"
    return failure


@pytest.mark.parametrize("reason", REFUSALS)
async def test_diverged_ends(tmp_path: Path, reason: str) -> None:
    """A contradiction, a gap in numbers, another history: never guessed about, never tried again."""
    async with running_loop(tmp_path, one_change, active_time_seconds=5.0) as driver:
        driver.adapter.refuse("Decide", Refusal(REFUSALS[reason], reason))
        failure = await ending(driver)
        assert (failure.source_code, failure.progress) == (reason, failure_pb2.PROGRESS_NOT_EXECUTED)
        assert driver.adapter.executions == 0


async def test_diverged_ends_with_every_dispatched_call_unknown(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_change, active_time_seconds=5.0) as driver:
        driver.adapter.refuse("ExecuteTool", Refusal(grpc.StatusCode.FAILED_PRECONDITION, "HISTORY_DIVERGED"))
        conversation_id = await driver.create()
        events = await driver.send(conversation_id, "go")
        assert last(events, "tool_finished").outcome == UNKNOWN
        failure = last(events, "failed").failure
        assert (failure.code, failure.progress) == ("session_diverged", failure_pb2.PROGRESS_UNKNOWN)
