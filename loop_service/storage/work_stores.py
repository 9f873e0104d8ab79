"""Stores of interactions with their leases, runs, steps (observations, decisions, calls, inbox) and timers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, literal_column, null, or_, select, update
from sqlalchemy.dialects.sqlite import insert as insert_or

from handrail_storage import KeyedTable, Statement
from loop_service.application.store_ports import Timer
from loop_service.domain.decision import CallRecord, Decision
from loop_service.domain.interaction import Interaction
from loop_service.domain.observation import StoredObservation
from loop_service.domain.run import Run, RunState
from loop_service.domain.times import from_micros, to_micros
from loop_service.storage import rows, tables

_I = tables.interactions
_R = tables.runs
_O = tables.observations
_D = tables.decisions
_T = tables.tool_calls
_X = tables.inbox
_W = tables.timers

_INTERACTIONS = KeyedTable(_I)
_RUNS = KeyedTable(_R)
_TOOL_CALLS = KeyedTable(_T)
_TIMERS = KeyedTable(_W)
_INSERT_OBSERVATION = Statement(insert(_O))
_INSERT_DECISION = Statement(insert(_D))
_PUSH_INBOX = Statement(insert_or(_X).on_conflict_do_nothing())
_FIND_OBSERVATION = Statement(
    select(_O).where(_O.c.interaction_id == bindparam("id"), _O.c.number == bindparam("number"))
)
_FIND_DECISION = Statement(
    select(_D.c.data).where(_D.c.interaction_id == bindparam("id"), _D.c.number == bindparam("number"))
)
_CALLS = Statement(
    select(_T).where(_T.c.interaction_id == bindparam("id")).order_by(_T.c.decision_number, _T.c.position)
)
_INBOX = Statement(select(_X.c.message_id).where(_X.c.interaction_id == bindparam("id")).order_by(_X.c.position))
_LEAVE_INBOX = Statement(
    delete(_X).where(_X.c.interaction_id == bindparam("id"), _X.c.message_id == bindparam("message"))
)
_QUEUED = Statement(
    select(func.count()).select_from(
        select(_R.c.state).where(_R.c.state == literal_column("'queued'")).limit(bindparam("most")).subquery()
    )
)
# A literal: SQLite takes the partial index of what is to be done only where the statement itself shows that it may.
_TO_DO = _R.c.state != literal_column("'ended'")
_CLAIMABLE = Statement(
    select(_R)
    .join(_I, _I.c.interaction_id == _R.c.interaction_id)
    .where(
        _TO_DO,
        or_(
            and_(
                _R.c.state == RunState.QUEUED.value,
                or_(_R.c.not_before.is_(None), _R.c.not_before <= bindparam("now")),
            ),
            and_(
                _R.c.state == RunState.RUNNING.value,
                or_(_I.c.lease_until.is_(None), _I.c.lease_until < bindparam("now")),
            ),
        ),
    )
    .order_by(_R.c.create_time)
    .limit(bindparam("most"))
)
# Only an interaction with a run to do can be leased: what waits, however much of it, is not looked at.
_VOID_LEASES = Statement(
    update(_I)
    .where(_I.c.owner != "", _I.c.interaction_id.in_(select(_R.c.interaction_id).where(_TO_DO)))
    .values(owner=literal_column("''"), lease_until=null())
)
_QUEUE_AGAIN = Statement(
    update(_R).where(_TO_DO, _R.c.state == RunState.RUNNING.value).values(state=literal_column("'queued'"))
)
_NEXT_DUE = Statement(select(func.min(_W.c.due_time)))
_DUE = Statement(select(_W).where(_W.c.due_time <= bindparam("now")).order_by(_W.c.due_time).limit(bindparam("most")))
_REMOVE_TIMER = Statement(delete(_W).where(_W.c.interaction_id == bindparam("id"), _W.c.kind == bindparam("kind")))
_CLEAR_TIMERS = Statement(delete(_W).where(_W.c.interaction_id == bindparam("id")))


class InteractionRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows = _INTERACTIONS.rows(connection)

    def find(self, interaction_id: str) -> Interaction | None:
        row = self._rows.find(interaction_id)
        return None if row is None else rows.interaction_of(row)

    def put(self, interaction: Interaction) -> None:
        self._rows.put(rows.interaction_row(interaction))

    def renew(self, owner: str, interaction_ids: Sequence[str], until: datetime) -> list[str]:
        self._rows.forget()
        renewed = self._connection.execute(
            update(_I)
            .where(_I.c.owner == owner, _I.c.interaction_id.in_(interaction_ids))
            .values(lease_until=to_micros(until))
            .returning(_I.c.interaction_id)
        )
        return [row[0] for row in renewed]

    def adopt_fence(self, interaction_id: str, owner: str, epoch: int, higher: int) -> bool:
        self._rows.forget()
        adopted = self._connection.execute(
            update(_I)
            .where(
                _I.c.interaction_id == interaction_id,
                _I.c.owner == owner,
                _I.c.epoch == epoch,
                _I.c.epoch < higher,
            )
            .values(epoch=higher)
            .returning(_I.c.interaction_id)
        ).first()
        return adopted is not None

    def void_leases(self) -> int:
        self._rows.forget()
        voided = _VOID_LEASES.execute(self._connection)
        _QUEUE_AGAIN.execute(self._connection)
        return voided


class RunRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows = _RUNS.rows(connection)

    def find(self, run_id: str) -> Run | None:
        row = self._rows.find(run_id)
        return None if row is None else rows.run_of(row)

    def put(self, run: Run) -> None:
        self._rows.put(rows.run_row(run))

    def queued(self, most: int) -> int:
        return int(_QUEUED.scalar(self._connection, {"most": most}) or 0)

    def claimable(self, now: datetime, limit: int) -> list[Run]:
        found = _CLAIMABLE.all(self._connection, {"now": to_micros(now), "most": limit})
        return [rows.run_of(row) for row in found]


class StepRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._calls = _TOOL_CALLS.rows(connection)
        self._observed: StoredObservation | None = None

    def put_observation(self, observation: StoredObservation, run_id: str) -> None:
        self._observed = observation
        _INSERT_OBSERVATION.execute(
            self._connection,
            {
                "interaction_id": observation.interaction_id,
                "number": observation.number,
                "base_plan_version": observation.base_plan_version,
                "kind": observation.kind,
                "message_id": observation.message_id,
                "run_id": run_id,
                "data": observation.data,
            },
        )

    def find_observation(self, interaction_id: str, number: int) -> StoredObservation | None:
        observed = self._observed
        if observed is not None and (observed.interaction_id, observed.number) == (interaction_id, number):
            return observed  # stored a moment ago in this very transaction
        key = {"id": interaction_id, "number": number}
        row = _FIND_OBSERVATION.first(self._connection, key)
        if row is None:
            return None
        return StoredObservation(
            row["interaction_id"],
            row["number"],
            row["base_plan_version"],
            row["kind"],
            row["message_id"],
            row["data"],
        )

    def put_decision(self, interaction_id: str, decision: Decision, run_id: str, now: datetime) -> None:
        _INSERT_DECISION.execute(
            self._connection,
            {
                "interaction_id": interaction_id,
                "number": decision.number,
                "decision_id": decision.decision_id,
                "kind": decision.kind,
                "run_id": run_id,
                "data": decision.raw,
                "create_time": to_micros(now),
            },
        )

    def find_decision(self, interaction_id: str, number: int) -> bytes | None:
        data: bytes | None = _FIND_DECISION.scalar(self._connection, {"id": interaction_id, "number": number})
        return data

    def put_call(self, call: CallRecord) -> None:
        self._calls.put(rows.call_row(call))

    def calls_of(self, interaction_id: str) -> list[CallRecord]:
        found = _CALLS.all(self._connection, {"id": interaction_id})
        self._calls.note(found)
        return [rows.call_of(row) for row in found]

    def push_inbox(self, interaction_id: str, message_id: str, position: int) -> None:
        _PUSH_INBOX.execute(
            self._connection,
            {"interaction_id": interaction_id, "message_id": message_id, "position": position},
        )

    def inbox(self, interaction_id: str) -> list[str]:
        return _INBOX.scalars(self._connection, {"id": interaction_id})

    def remove_from_inbox(self, interaction_id: str, message_id: str) -> None:
        _LEAVE_INBOX.execute(self._connection, {"id": interaction_id, "message": message_id})


class TimerRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.changed = False

    def put(self, timer: Timer) -> None:
        self.changed = True
        _TIMERS.upsert.execute(
            self._connection,
            {
                "interaction_id": timer.interaction_id,
                "kind": timer.kind,
                "due_time": to_micros(timer.due_time),
                "subject": timer.subject,
            },
        )

    def due(self, now: datetime, limit: int) -> list[Timer]:
        return [
            Timer(r["interaction_id"], r["kind"], from_micros(r["due_time"]), r["subject"])
            for r in _DUE.all(self._connection, {"now": to_micros(now), "most": limit})
        ]

    def next_due(self) -> datetime | None:
        return rows.time_of(_NEXT_DUE.scalar(self._connection))

    def remove(self, interaction_id: str, kind: str) -> None:
        _REMOVE_TIMER.execute(self._connection, {"id": interaction_id, "kind": kind})

    def clear(self, interaction_id: str) -> None:
        _CLEAR_TIMERS.execute(self._connection, {"id": interaction_id})
