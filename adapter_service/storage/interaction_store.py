"""Interactions, plans, decisions and candidate lists in SQL. Implements application.ports.Interactions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, insert, select, update

from adapter_service.domain.decision import Candidate
from adapter_service.domain.plan import Plan
from adapter_service.domain.session import Interaction, StoredDecision
from adapter_service.storage.plan_codec import decode_plan, encode_plan
from adapter_service.storage.tables import candidates, decisions, interactions
from adapter_service.storage.times import to_microseconds
from handrail_storage import Row, Statement

# Without the plan, which not everybody needs. Named apart from the session's columns, for the read of both.
INTERACTION_COLUMNS = (
    interactions.c.interaction_id,
    interactions.c.domain_session_id.label("of_session"),
    interactions.c.epoch,
    interactions.c.closed,
    interactions.c.decision_number,
    interactions.c.plan_version,
    interactions.c.workspace_sha256,
)
_BY_ID = Statement(select(*INTERACTION_COLUMNS).where(interactions.c.interaction_id == bindparam("wanted")))
_NEWEST = Statement(
    select(*INTERACTION_COLUMNS)
    .where(interactions.c.domain_session_id == bindparam("wanted"))
    .order_by(interactions.c.create_time.desc())
    .limit(1)
)
_ADD = Statement(insert(interactions))
_RAISE = Statement(
    update(interactions)
    .where(interactions.c.interaction_id == bindparam("wanted"), interactions.c.epoch < bindparam("raised"))
    .values(epoch=bindparam("raised"))
)
_CLOSE = Statement(update(interactions).where(interactions.c.interaction_id == bindparam("wanted")).values(closed=True))
_ADVANCE = Statement(
    update(interactions)
    .where(interactions.c.interaction_id == bindparam("wanted"))
    .values(decision_number=bindparam("number"), plan_version=bindparam("version"), plan=bindparam("body"))
)
_SEE_WORKSPACE = Statement(
    update(interactions)
    .where(interactions.c.interaction_id == bindparam("wanted"))
    .values(workspace_sha256=bindparam("sha256"))
)
_PLAN = Statement(
    select(interactions.c.plan).where(
        interactions.c.interaction_id == bindparam("wanted"), interactions.c.plan_version == bindparam("version")
    )
)
_DECISION = Statement(
    select(decisions).where(
        decisions.c.interaction_id == bindparam("wanted"), decisions.c.decision_number == bindparam("number")
    )
)
_ADD_DECISION = Statement(insert(decisions))
_CANDIDATES = Statement(
    select(candidates)
    .where(candidates.c.interaction_id == bindparam("wanted"), candidates.c.decision_number == bindparam("number"))
    .order_by(candidates.c.position)
)
_ADD_CANDIDATE = Statement(insert(candidates))


def read_interaction(row: Row) -> Interaction:
    """The interaction of a row with INTERACTION_COLUMNS."""
    return Interaction(
        row["interaction_id"],
        row["of_session"],
        row["epoch"],
        bool(row["closed"]),
        row["decision_number"],
        row["plan_version"],
        row["workspace_sha256"],
    )


class SqlInteractions:
    """One transaction's view of interactions. A plan that its first read brought along is not read again."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._plans: dict[tuple[str, int], str] = {}

    def noted(self, row: Row) -> Interaction | None:
        """The interaction of a joined row, whose plan is kept; None where the join found none."""
        if row["interaction_id"] is None:
            return None
        self._plans[row["interaction_id"], row["plan_version"]] = row["plan"]
        return read_interaction(row)

    def find(self, interaction_id: str) -> Interaction | None:
        """The interaction, or None if it was never seen."""
        return self._one(_BY_ID, interaction_id)

    def newest_of(self, domain_session_id: str) -> Interaction | None:
        """The session's most recent interaction, or None."""
        return self._one(_NEWEST, domain_session_id)

    def _one(self, query: Statement, wanted: str) -> Interaction | None:
        row = query.first(self._connection, {"wanted": wanted})
        return None if row is None else read_interaction(row)

    def add(self, interaction: Interaction, now: datetime) -> None:
        """Store a new interaction with an empty plan, version 0."""
        _ADD.execute(
            self._connection,
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
        _RAISE.execute(self._connection, {"wanted": interaction_id, "raised": epoch})

    def close(self, interaction_id: str) -> None:
        """Write the tombstone; it is never taken back."""
        _CLOSE.execute(self._connection, {"wanted": interaction_id})

    def advance(self, interaction_id: str, decision_number: int, plan: Plan) -> None:
        """Store a decision's number and its plan in the place of the one before."""
        _ADVANCE.execute(
            self._connection,
            {"wanted": interaction_id, "number": decision_number, "version": plan.version, "body": encode_plan(plan)},
        )

    def see_workspace(self, interaction_id: str, sha256: str) -> None:
        """Keep the hash of the workspace that the interaction goes on from."""
        _SEE_WORKSPACE.execute(self._connection, {"wanted": interaction_id, "sha256": sha256})

    def plan(self, interaction_id: str, version: int) -> Plan:
        """The plan at the interaction's version; version 0 is the empty plan."""
        if version == 0:
            return Plan()
        body = self._plans.get((interaction_id, version))
        if body is None:
            body = _PLAN.scalar(self._connection, {"wanted": interaction_id, "version": version})
        return decode_plan(body, version)

    def find_decision(self, interaction_id: str, decision_number: int) -> StoredDecision | None:
        """The stored decision with this number, or None."""
        row = _DECISION.first(self._connection, {"wanted": interaction_id, "number": decision_number})
        if row is None:
            return None
        return StoredDecision(row["decision_number"], row["base_plan_version"], row["observation"], row["decision"])

    def add_decision(self, interaction_id: str, decision_id: str, decision: StoredDecision, now: datetime) -> None:
        """Store a decision; its number must be free."""
        _ADD_DECISION.execute(
            self._connection,
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
        rows = _CANDIDATES.all(self._connection, {"wanted": interaction_id, "number": decision_number})
        return tuple(
            Candidate(
                row["candidate_id"], row["identity"], row["display_name"], row["description"], json.loads(row["value"])
            )
            for row in rows
        )

    def add_candidates(self, interaction_id: str, decision_number: int, options: Sequence[Candidate]) -> None:
        """Store the closed list of a decision."""
        _ADD_CANDIDATE.execute_many(
            self._connection,
            (
                {
                    "interaction_id": interaction_id,
                    "decision_number": decision_number,
                    "position": position,
                    "candidate_id": option.candidate_id,
                    "identity": option.identity,
                    "display_name": option.display_name,
                    "description": option.description,
                    "value": json.dumps(option.value, ensure_ascii=False),
                }
                for position, option in enumerate(options)
            ),
        )
