"""Removes artifact versions that nothing can name any more, in small steps. Called by the Adapter's housekeeping.

Kept are: what is younger than the retention; the newest version of each artifact; a version that was published
(settled) or that an answer or a failure names; every version of an artifact that a request still works on, an open
approval included; and what a call read or made whose outcome is not known. Ledger rows stay. A reader of a removed
version is told so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from functools import partial

from adapter_service.application.ports import Clock, Transaction, UnitOfWork, VersionCursor
from adapter_service.domain.artifact import ArtifactVersion
from adapter_service.domain.ledger import ExecutionState
from adapter_service.domain.plan import Plan, TaskState
from adapter_service.domain.session import Interaction

MOST_AT_ONCE = 50
_UNSURE = (ExecutionState.CLAIMED, ExecutionState.UNKNOWN)


class RemoveOldVersions:
    """The use case; one instance a process. `keep` is the least age of what is removed."""

    def __init__(self, unit_of_work: UnitOfWork, *, clock: Clock, keep: timedelta) -> None:
        self._unit_of_work = unit_of_work
        self._clock = clock
        self._keep = keep

    async def run(self) -> int:
        """Look at every old version once; how many were removed. Each step is a short transaction."""
        before, removed = self._clock() - self._keep, 0
        cursor: VersionCursor | None = None
        while True:
            found = await self._unit_of_work.read(
                partial(lambda after, tx: tx.retention.older(before, after, MOST_AT_ONCE), cursor)
            )
            if not found:
                return removed
            cursor = found[-1].cursor
            unwanted = await self._unit_of_work.read(partial(_unwanted, [each.version for each in found]))
            if unwanted:
                removed += await self._unit_of_work.write(
                    partial(self._remove, unwanted), name="artifact_retention.remove"
                )

    def _remove(self, versions: list[ArtifactVersion], tx: Transaction) -> int:
        """Those of them that are still unwanted in this transaction."""
        unwanted = _unwanted(versions, tx)
        for version in unwanted:
            tx.retention.remove(version, self._clock())
        return len(unwanted)


def _unwanted(versions: Iterable[ArtifactVersion], tx: Transaction) -> list[ArtifactVersion]:
    by_artifact: defaultdict[tuple[str, str], list[ArtifactVersion]] = defaultdict(list)
    for version in versions:
        if version.version < version.latest_version and not version.settled_by:
            by_artifact[version.domain_session_id, version.artifact_id].append(version)
    found: list[ArtifactVersion] = []
    for (session_id, artifact_id), each in by_artifact.items():
        named = _named(tx, session_id, artifact_id)
        found += [] if named is None else [version for version in each if version.version not in named]
    return found


def _named(tx: Transaction, domain_session_id: str, artifact_id: str) -> frozenset[int] | None:
    """Versions that answers and failures name; None where a request may still come to any of them."""
    named: set[int] = set()
    for interaction, plan in tx.retention.interactions_with(domain_session_id, artifact_id):
        if _may_go_on(tx, interaction, plan):
            return None
        named |= _answered(plan, artifact_id)
    return frozenset(named)


def _may_go_on(tx: Transaction, interaction: Interaction, plan: Plan) -> bool:
    """Whether it has not ended, or a call of it is unsettled: a person's verdict on that may take the plan up again."""
    if not (interaction.closed or plan.ended):
        return True
    return any(each.state in _UNSURE for each in tx.calls.executions_of(interaction.interaction_id))


def _answered(plan: Plan, artifact_id: str) -> set[int]:
    """The versions that the ending names: an answer the last one, a failure each confirmed step's, a cancel none."""
    if not plan.ended:
        return set()
    made = [
        task.artifact.version
        for task in plan.tasks
        if task.artifact is not None and task.artifact.artifact_id == artifact_id and task.state is TaskState.DONE
    ]
    answered = all(task.state is TaskState.DONE for task in plan.tasks)
    return set(made[-1:] if answered else made)
