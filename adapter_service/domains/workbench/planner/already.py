"""Whether an edit that is to be published changes nothing: then there is nothing to approve. Called by the planner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adapter_service.domains.workbench.errors import WorkbenchError
from adapter_service.domains.workbench.field_resolvers import resolve_field, resolve_value, value_at
from adapter_service.domains.workbench.operations import equal
from adapter_service.domains.workbench.resolvers import resolve_document
from adapter_service.domains.workbench.workspace_view import OpenWorkspace
from adapter_service.sdk import PlanningRequest, ResolveContext, Resolved, TaskDraft, TextFill

_SLOTS = (("document", resolve_document), ("field", resolve_field), ("value", resolve_value))


def without_idle_publication(tasks: Sequence[TaskDraft], request: PlanningRequest) -> tuple[TaskDraft, ...]:
    """The tasks; of one edit that says what the file says already only the draft, whose answer tells that."""
    first, *rest = tasks
    publishes = [task.tool for task in rest] in (["publish_change"], ["validate_change", "publish_change"])
    if first.tool == "draft_change" and publishes and _is_so_already(first, request):
        return (first,)
    return tuple(tasks)


def _is_so_already(task: TaskDraft, request: PlanningRequest) -> bool:
    if not isinstance(request.workspace, OpenWorkspace) or set(task.fills) != {slot for slot, _ in _SLOTS}:
        return False
    values: dict[str, Any] = {}
    for slot, resolve in _SLOTS:
        fill = task.fills[slot]
        if not isinstance(fill, TextFill):
            return False
        context = ResolveContext(request.locale, request.now, request.memory, request.workspace, values)
        found = resolve(fill.text, context)
        if not isinstance(found, Resolved):
            return False  # it is asked for, and known only then
        values = {**values, slot: found.value}
    try:
        content = request.workspace.view.read_document(values["document"])["content"]
    except WorkbenchError:
        return False
    return equal(value_at(content, values["field"]), values["value"])
