"""Interactions, plans, decisions and candidate lists in SQL. Implements application.ports.Interactions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, bindparam, insert, select, update

from adapter_service.domain.decision import Candidate
from adapter_service.domain.plan import Plan
from adapter_service.domain.session import Interaction, StoredDecision
from adapter_service.storage.plan_codec import decode_plan, encode_plan
from adapter_service.storage.tables import candidates, decisions, interactions, plans
from adapter_service.storage.times import to_microseconds

# Built once, with parameters: building an expression costs more than executing it.
_BY_ID = select(interactions).where(interactions.c.interaction_id == bindparam("wanted"))
_NEWEST = (
    select(interactions)
    .where(interactions.c.domain_session_id == bindparam("wanted"))
    .order_by(interactions.c.create_time.desc())
    .limit(1)
)
_RAISE = (
    update(interactions)
    .where(interactions.c.interaction_id == bindparam("wanted"), interactions.c.epoch < bindparam("raised"))
    .values(epoch=bindparam("raised"))
)
_PLAN = select(plans.c.body).where(
    plans.c.interaction_id == bindparam("wanted"), plans.c.plan_version == bindparam("version")
)


class SqlInteractions:
    """One transaction's view of interactions."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, interaction_id: str) -> Interaction | None:
        """The interaction, or None if it was never seen."""
        return self._one(_BY_ID, interaction_id)

    def newest_of(self, domain_session_id: str) -> Interaction | None:
        """The session's most recent interaction, or None."""
        return self._one(_NEWEST, domain_session_id)

    def _one(self, query: Select[Any], wanted: str) -> Interaction | None:
        row = self._connection.execute(query, {"wanted": wanted}).one_or_none()
        if row is None:
            return None
        return Interaction(
            row.interaction_id, row.domain_session_id, row.epoch, row.closed, row.decision_number, row.plan_version
        )

    def add(self, interaction: Interaction, now: datetime) -> None:
        """Store a new interaction with an empty plan, version 0."""
        self._connection.execute(
            insert(interactions),
            {
                "interaction_id": interaction.interaction_id,
                "domain_session_id": interaction.domain_session_id,
                "epoch": interaction.epoch,
                "closed": interaction.closed,
                "decision_number": interaction.decision_number,
                "plan_version": interaction.plan_version,
                "create_time": to_microseconds(now),
            },
        )

    def raise_epoch(self, interaction_id: str, epoch: int) -> None:
        """Keep the highest epoch seen; never lowers it."""
        self._connection.execute(_RAISE, {"wanted": interaction_id, "raised": epoch})

    def close(self, interaction_id: str) -> None:
        """Write the tombstone; it is never taken back."""
        self._connection.execute(
            update(interactions).where(interactions.c.interaction_id == interaction_id).values(closed=True)
        )

    def advance(self, interaction_id: str, decision_number: int, plan: Plan) -> None:
        """Store a decision's number and, where the version is new, its plan."""
        self._connection.execute(
            update(interactions)
            .where(interactions.c.interaction_id == interaction_id)
            .values(decision_number=decision_number, plan_version=plan.version)
        )
        self._connection.execute(
            insert(plans)
            .prefix_with("OR IGNORE")
            .values(interaction_id=interaction_id, plan_version=plan.version, body=encode_plan(plan))
        )

    def plan(self, interaction_id: str, version: int) -> Plan:
        """The plan at a version; version 0 is the empty plan."""
        if version == 0:
            return Plan()
        body = self._connection.execute(_PLAN, {"wanted": interaction_id, "version": version}).scalar_one()
        return decode_plan(body, version)

    def find_decision(self, interaction_id: str, decision_number: int) -> StoredDecision | None:
        """The stored decision with this number, or None."""
        row = self._connection.execute(
            select(decisions).where(
                decisions.c.interaction_id == interaction_id, decisions.c.decision_number == decision_number
            )
        ).one_or_none()
        if row is None:
            return None
        return StoredDecision(row.decision_number, row.base_plan_version, row.observation, row.decision)

    def add_decision(self, interaction_id: str, decision_id: str, decision: StoredDecision, now: datetime) -> None:
        """Store a decision; its number must be free."""
        self._connection.execute(
            insert(decisions),
            {
                "interaction_id": interaction_id,
                "decision_number": decision.decision_number,
                "decision_id": decision_id,
                "base_plan_version": decision.base_plan_version,
                "observation": decision.observation_bytes,
                "decision": decision.decision_bytes,
                "create_time": to_microseconds(now),
            },
        )

    def candidates(self, interaction_id: str, decision_number: int) -> tuple[Candidate, ...]:
        """The closed list that a decision offered, in its order."""
        rows = self._connection.execute(
            select(candidates)
            .where(candidates.c.interaction_id == interaction_id, candidates.c.decision_number == decision_number)
            .order_by(candidates.c.position)
        )
        return tuple(
            Candidate(row.candidate_id, row.identity, row.display_name, row.description, json.loads(row.value))
            for row in rows
        )

    def add_candidates(self, interaction_id: str, decision_number: int, options: Sequence[Candidate]) -> None:
        """Store the closed list of a decision."""
        for position, option in enumerate(options):
            self._connection.execute(
                insert(candidates),
                {
                    "interaction_id": interaction_id,
                    "decision_number": decision_number,
                    "position": position,
                    "candidate_id": option.candidate_id,
                    "identity": option.identity,
                    "display_name": option.display_name,
                    "description": option.description,
                    "value": json.dumps(option.value, ensure_ascii=False),
                },
            )
