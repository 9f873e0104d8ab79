"""Which artifact has to pass validation before a change may run (requirement B5).

Called by request_change when a decision is made, and by get_session, which explains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from adapter_service.domain.artifact import ArtifactVersion, Validation
from adapter_service.domain.plan import Plan, TaskState
from adapter_service.sdk import Domain


def to_be_proven(
    domain: Domain,
    plan: Plan,
    artifacts: Iterable[ArtifactVersion],
    validations: Mapping[str, Validation],
    own: ArtifactVersion | None,
) -> ArtifactVersion | None:
    """The artifact of the call where it was not proven, else the first that this request had judged and whose current
    version did not pass (it failed, or was revised and not judged again); else the artifact of the call.

    A failed validation so blocks every change of the request, also of another artifact or of none.
    """
    current = {version.artifact_id: version for version in artifacts}
    wanted = [own] if own is not None else []
    for task in plan.tasks:
        tool = domain.tool(task.tool) if domain.has_tool(task.tool) else None
        if tool is None or not tool.validates or task.state is not TaskState.DONE or tool.validates not in task.slots:
            continue
        judged = current.get(str(task.slots[tool.validates].value))
        wanted += [judged] if judged is not None else []
    for version in wanted:
        validation = validations.get(version.artifact_id)
        if domain.kind(version.kind).validate_tool and (validation is None or not validation.passed):
            return version
    return own
