"""Who may approve and settle what: the tables of domain.permission, in Python and as a condition in SQL (E5)."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, event, insert, select

from handrail_rpc.context import Caller
from handrail_rpc.errors import PermissionDenied
from handrail_storage import Database, migrate
from loop_service.application.store_ports import PendingFilter, Transaction
from loop_service.bootstrap import MIGRATIONS
from loop_service.domain.approval import Approval
from loop_service.domain.clarification import Clarification
from loop_service.domain.permission import (
    MAY_APPROVE,
    MAY_SEE_APPROVAL,
    MAY_SEE_EXECUTION,
    MAY_SETTLE,
    Gate,
    Right,
    check_may_approve,
    check_may_settle,
    permits,
)
from loop_service.domain.settlement import Settlement, Verdict
from loop_service.storage import tables
from loop_service.storage.pending_store import permitted
from loop_service.storage.unit_of_work import SqlUnitOfWork

NOW = datetime(2030, 1, 2, tzinfo=UTC)
GATES = [
    Gate(tenant, requester, role, may)
    for tenant, requester, role, may in itertools.product(
        ("acme", "other"), ("ann", "bob"), ("", "ringer"), (True, False)
    )
]
CALLERS = [
    Caller(principal, "acme", frozenset(roles))
    for principal in ("ann", "eve")
    for roles in ((), ("ringer",), ("operator",), ("ringer", "operator"), ("*",), ("pilot",))
]
RIGHTS = {"approve": MAY_APPROVE, "settle": MAY_SETTLE, "see": MAY_SEE_APPROVAL, "see_execution": MAY_SEE_EXECUTION}


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    url = f"sqlite:///{tmp_path / 'loop.db'}"
    migrate(url, MIGRATIONS)
    async with Database(url) as opened:
        yield opened


@pytest.mark.parametrize("name", RIGHTS)
async def test_the_condition_in_sql_is_the_rule_in_python(database: Database, name: str) -> None:
    right: Right = RIGHTS[name]

    def fill(connection: Connection) -> None:
        for number, gate in enumerate(GATES):
            row = {
                "settlement_id": f"stl_{number:02}",
                "interaction_id": f"int_{number}",
                "tenant": gate.tenant,
                "requester": gate.requester,
                "required_role": gate.required_role,
                "requester_may_approve": gate.requester_may_approve,
                "create_time": number,
            }
            connection.execute(insert(tables.settlements), row)

    await database.write(fill)
    table = tables.settlements
    for caller in CALLERS:
        query = (
            select(table.c.settlement_id)
            .where(table.c.tenant == caller.tenant, permitted(table, right, caller))
            .order_by(table.c.settlement_id)
        )
        found = await database.read(lambda connection, query=query: list(connection.execute(query).scalars()))
        expected = [f"stl_{n:02}" for n, gate in enumerate(GATES) if permits(right, gate, caller)]
        assert found == expected, caller


def test_the_rule_case_by_case() -> None:
    ann, bob = Caller("ann", "acme", frozenset({"ringer"})), Caller("bob", "acme", frozenset({"ringer"}))
    plain, operator = Caller("eve", "acme", frozenset()), Caller("olga", "acme", frozenset({"operator"}))
    own = Gate("acme", "ann", "ringer", True)
    separated = Gate("acme", "ann", "ringer", False)
    free = Gate("acme", "ann", "", True)
    by_others = Gate("acme", "ann", "", False)
    assert [permits(MAY_APPROVE, own, c) for c in (ann, bob, plain, operator)] == [True, True, False, False]
    assert [permits(MAY_APPROVE, separated, c) for c in (ann, bob, plain, operator)] == [False, True, False, False]
    assert [permits(MAY_APPROVE, free, c) for c in (ann, bob, plain, operator)] == [True, False, False, False]
    assert [permits(MAY_APPROVE, by_others, c) for c in (ann, bob, plain, operator)] == [False, True, True, True]
    assert [permits(MAY_SETTLE, own, c) for c in (ann, bob, plain, operator)] == [True, True, False, True]
    assert [permits(MAY_SETTLE, separated, c) for c in (ann, bob, plain, operator)] == [False, True, False, True]
    assert [permits(MAY_SETTLE, free, c) for c in (ann, bob, plain, operator)] == [True, False, False, True]
    # Whoever made the request is not let through by another role either, not even by every role.
    everything = Caller("ann", "acme", frozenset({"*"}))
    assert not permits(MAY_APPROVE, separated, everything)
    assert not permits(MAY_SETTLE, separated, everything)
    assert permits(MAY_SEE_APPROVAL, separated, everything)


def test_a_refusal_says_what_is_missing() -> None:
    gate = Gate("acme", "ann", "ringer", False)
    with pytest.raises(PermissionDenied) as caught:
        check_may_approve(gate, Caller("ann", "acme", frozenset({"pilot"})), "apr_1")
    assert (caught.value.reason, caught.value.metadata["required_role"]) == ("ROLE_REQUIRED", "ringer")
    with pytest.raises(PermissionDenied) as caught:
        check_may_approve(gate, Caller("ann", "acme", frozenset({"ringer"})), "apr_1")
    assert caught.value.reason == "REQUESTER_MAY_NOT_APPROVE"
    with pytest.raises(PermissionDenied) as caught:
        check_may_settle(gate, Caller("ann", "acme", frozenset({"ringer"})), "call_1")
    assert caught.value.reason == "REQUESTER_MAY_NOT_SETTLE"


def _approval(number: int) -> Approval:
    return Approval(
        f"apr_{number}", f"int_{number}", f"conv_{number}", "acme", "ann", b"", f"{number:064}", "", "", "", "ringer",
        True, "ring", 1, NOW, None, domain="probe",
    )  # fmt: skip


def _question(number: int) -> Clarification:
    return Clarification(
        f"clr_{number}", f"int_{number}", f"conv_{number}", "t", "s", "input", b"", (), True, 1, 1, "", NOW,
        tenant="acme", principal="ann", domain="probe",
    )  # fmt: skip


def _settlement(number: int) -> Settlement:
    gate = Gate("acme", "ann", "ringer", True)
    return Settlement(f"stl_{number}", f"int_{number}", "call", f"conv_{number}", "probe", gate, "ring", "", "", NOW)


@pytest.mark.parametrize(
    ("wanted", "indexes"),
    [
        ({}, {"clarifications_waiting", "approvals_waiting", "settlements_waiting"}),
        ({"requested_by_me": True}, {"clarifications_waiting", "approvals_waiting", "settlements_waiting"}),
        (
            {"conversation_id": "conv_1"},
            {"clarifications_waiting_in", "approvals_waiting_in", "settlements_waiting_in"},
        ),
    ],
)
async def test_a_page_is_read_from_the_index_of_what_waits_in_the_tenant(
    database: Database, wanted: dict[str, str], indexes: set[str]
) -> None:
    """No table is scanned: neither what is closed nor what waits for other tenants is looked at."""
    unit_of_work = SqlUnitOfWork(database, lambda *_: None, lambda: None)

    def fill(tx: Transaction) -> None:
        for number in range(3):
            tx.approvals.put(_approval(number))
            tx.clarifications.put(_question(number))
            tx.settlements.put(_settlement(number))

    await unit_of_work.write(fill)
    asked: list[tuple[str, object]] = []

    def page(connection: Connection) -> tuple[int, list[str]]:
        from loop_service.storage.unit_of_work import SqlTransaction

        def note(_c: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
            asked.append((statement, parameters))

        event.listen(connection, "before_cursor_execute", note)
        kinds = frozenset({"clarification", "approval", "execution"})
        caller = Caller("ann", "acme", frozenset({"ringer"}))
        after = (NOW - timedelta(days=1), "apr")
        rows = SqlTransaction(connection).pending.page(PendingFilter(kinds, **wanted), caller, after, 50)
        event.remove(connection, "before_cursor_execute", note)
        plans = []
        for statement, parameters in asked:
            explained = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans += [str(row[-1]) for row in explained]
        return len(rows), plans

    count, plans = await database.read(page)
    assert count == (3 if "conversation_id" in wanted else 9)
    used = {name for name in indexes for plan in plans if f"INDEX {name} " in plan}
    assert used == indexes, plans
    assert not any(plan.startswith("SCAN") for plan in plans), plans


def test_a_settlement_is_recorded_once() -> None:
    settlement = _settlement(1)
    settlement.settle(Verdict.HAPPENED, "bob", "seen", NOW)
    with pytest.raises(Exception, match="was already settled as happened by bob at 2030-01-02T00:00:00"):
        settlement.settle(Verdict.HAPPENED, "eve", "", NOW)
    assert (settlement.verdict, settlement.settled_by, settlement.comment) == (Verdict.HAPPENED, "bob", "seen")
