"""The workbench's planner: English and Russian requests to tasks with slots, without a model (requirement A7)."""

from adapter_service.domains.workbench.planner.planner import WorkbenchPlanner

__all__ = ["WorkbenchPlanner"]
