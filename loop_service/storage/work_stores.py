"""Stores of interactions with their leases, runs, steps (observations, decisions, calls, inbox) and timers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.dialects.sqlite import insert as insert_or

from loop_service.application.ports import Timer
from loop_service.domain.decision import CallRecord, Decision
from loop_service.domain.interaction import Interaction
from loop_service.domain.observation import StoredObservation
from loop_service.domain.run import Run, RunState
from loop_service.domain.times import from_micros, to_micros
from loop_service.storage import rows, tables
from loop_service.storage.statements import upsert

_I = tables.interactions
_R = tables.runs
_O = tables.observations
_D = tables.decisions
_T = tables.tool_calls
_X = tables.inbox
_W = tables.timers

_INSERT_OBSERVATION = insert(_O)
_INSERT_DECISION = insert(_D)
_PUSH_INBOX = insert_or(_X).on_conflict_do_nothing()
_FIND_INTERACTION = select(_I).where(_I.c.interaction_id == bindparam("id"))
_PUT_INTERACTION = upsert(_I)
_FIND_RUN = select(_R).where(_R.c.run_id == bindparam("id"))
_PUT_RUN = upsert(_R)
_FIND_OBSERVATION = select(_O).where(_O.c.interaction_id == bindparam("id"), _O.c.number == bindparam("number"))
_CALLS = select(_T).where(_T.c.interaction_id == bindparam("id")).order_by(_T.c.decision_number, _T.c.position)
_PUT_CALL = upsert(_T)
_INBOX = select(_X.c.message_id).where(_X.c.interaction_id == bindparam("id")).order_by(_X.c.position)
_PUT_TIMER = upsert(_W)
_CLEAR_TIMERS = delete(_W).where(_W.c.interaction_id == bindparam("id"))


class InteractionRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, interaction_id: str) -> Interaction | None:
        row = self._connection.execute(_FIND_INTERACTION, {"id": interaction_id}).mappings().first()
        return None if row is None else rows.interaction_of(row)

    def put(self, interaction: Interaction) -> None:
        self._connection.execute(_PUT_INTERACTION, rows.interaction_row(interaction))

    def renew(self, owner: str, interaction_ids: Sequence[str], until: datetime) -> list[str]:
        renewed = self._connection.execute(
            update(_I)
            .where(_I.c.owner == owner, _I.c.interaction_id.in_(interaction_ids))
            .values(lease_until=to_micros(until))
            .returning(_I.c.interaction_id)
        )
        return [row[0] for row in renewed]

    def adopt_fence(self, interaction_id: str, owner: str, epoch: int, higher: int) -> bool:
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
        voided = self._connection.execute(
            update(_I).where(_I.c.owner != "").values(owner="", lease_until=None).returning(_I.c.interaction_id)
        ).all()
        self._connection.execute(
            update(_R).where(_R.c.state == RunState.RUNNING.value).values(state=RunState.QUEUED.value)
        )
        return len(voided)


class RunRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, run_id: str) -> Run | None:
        row = self._connection.execute(_FIND_RUN, {"id": run_id}).mappings().first()
        return None if row is None else rows.run_of(row)

    def put(self, run: Run) -> None:
        self._connection.execute(_PUT_RUN, rows.run_row(run))

    def claimable(self, now: datetime, limit: int) -> list[Run]:
        moment = to_micros(now)
        queued = and_(
            _R.c.state == RunState.QUEUED.value,
            or_(_R.c.not_before.is_(None), _R.c.not_before <= moment),
        )
        lapsed = and_(
            _R.c.state == RunState.RUNNING.value,
            or_(_I.c.lease_until.is_(None), _I.c.lease_until < moment),
        )
        query = (
            select(_R)
            .join(_I, _I.c.interaction_id == _R.c.interaction_id)
            .where(_R.c.state != RunState.ENDED.value, or_(queued, lapsed))
            .order_by(_R.c.create_time)
            .limit(limit)
        )
        return [rows.run_of(r) for r in self._connection.execute(query).mappings()]


class StepRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put_observation(self, observation: StoredObservation, run_id: str) -> None:
        self._connection.execute(
            _INSERT_OBSERVATION,
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
        key = {"id": interaction_id, "number": number}
        row = self._connection.execute(_FIND_OBSERVATION, key).mappings().first()
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
        self._connection.execute(
            _INSERT_DECISION,
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
        data: bytes | None = self._connection.execute(
            select(_D.c.data).where(_D.c.interaction_id == interaction_id, _D.c.number == number)
        ).scalar()
        return data

    def put_call(self, call: CallRecord) -> None:
        self._connection.execute(_PUT_CALL, rows.call_row(call))

    def calls_of(self, interaction_id: str) -> list[CallRecord]:
        found = self._connection.execute(_CALLS, {"id": interaction_id}).mappings()
        return [rows.call_of(row) for row in found]

    def push_inbox(self, interaction_id: str, message_id: str, position: int) -> None:
        self._connection.execute(
            _PUSH_INBOX,
            {"interaction_id": interaction_id, "message_id": message_id, "position": position},
        )

    def inbox(self, interaction_id: str) -> list[str]:
        return list(self._connection.execute(_INBOX, {"id": interaction_id}).scalars())

    def remove_from_inbox(self, interaction_id: str, message_id: str) -> None:
        self._connection.execute(delete(_X).where(_X.c.interaction_id == interaction_id, _X.c.message_id == message_id))


class TimerRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.changed = False

    def put(self, timer: Timer) -> None:
        self.changed = True
        self._connection.execute(
            _PUT_TIMER,
            {
                "interaction_id": timer.interaction_id,
                "kind": timer.kind,
                "due_time": to_micros(timer.due_time),
                "subject": timer.subject,
            },
        )

    def due(self, now: datetime, limit: int) -> list[Timer]:
        query = select(_W).where(_W.c.due_time <= to_micros(now)).order_by(_W.c.due_time).limit(limit)
        return [
            Timer(r["interaction_id"], r["kind"], from_micros(r["due_time"]), r["subject"])
            for r in self._connection.execute(query).mappings()
        ]

    def next_due(self) -> datetime | None:
        return rows.time_of(self._connection.execute(select(func.min(_W.c.due_time))).scalar())

    def remove(self, interaction_id: str, kind: str) -> None:
        self._connection.execute(delete(_W).where(_W.c.interaction_id == interaction_id, _W.c.kind == kind))

    def clear(self, interaction_id: str) -> None:
        self._connection.execute(_CLEAR_TIMERS, {"id": interaction_id})
