"""Failures of the catalogue that no other test of the Loop provokes, each for real (G1)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2, failure_pb2
from tests.fakes.adapter import call, complete
from tests.grpc.loop.driver import check_runs, last, running_loop

BROKEN = "CREATE TRIGGER broken BEFORE INSERT ON decisions BEGIN SELECT RAISE(ABORT, 'a fault of the rows'); END"


def read_on(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    """A domain that reads for ever."""
    return call(f"call_{request.decision_number}")


async def test_decisions_are_bounded(tmp_path: Path) -> None:
    async with running_loop(tmp_path, read_on, decisions=3) as driver:
        conversation_id = await driver.create()
        failure = last(await driver.send(conversation_id, "x"), "failed").failure
        assert (failure.code, failure.stage) == ("decision_limit_reached", failure_pb2.STAGE_DEADLINE)
        assert "3" in failure.explanation
        assert len(driver.adapter.decide_requests) == 3
        check_runs(await driver.events(conversation_id))


async def test_generations_that_the_adapter_reports_are_bounded(tmp_path: Path) -> None:
    async with running_loop(tmp_path, read_on, generations=2) as driver:
        driver.adapter.generations = 2
        failure = last(await driver.send(await driver.create(), "x"), "failed").failure
        assert (failure.code, failure.stage) == ("generation_limit_reached", failure_pb2.STAGE_DEADLINE)
        assert "2" in failure.explanation
        assert [step.tool_call_id for step in failure.confirmed_steps] == ["call_1", "call_2"]


async def test_a_step_that_breaks_for_good_ends_as_internal_error(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: complete(), log_level="error") as driver:
        with closing(sqlite3.connect(tmp_path / "loop.db")) as connection, connection:
            connection.execute(BROKEN)
        conversation_id = await driver.create()
        failure = last(await driver.send(conversation_id, "x"), "failed").failure
        assert (failure.code, failure.stage) == ("internal_error", failure_pb2.STAGE_CONTEXT)
        assert "fault of the rows" not in str(failure)
        assert failure.retryable
        with closing(sqlite3.connect(tmp_path / "loop.db")) as connection, connection:
            connection.execute("DROP TRIGGER broken")
        assert last(await driver.send(conversation_id, "y"), "completed").answer.text == "Done."
        check_runs(await driver.events(conversation_id))
