"""Fixtures of the planner's tests."""

from tests.unit.workbench_planner.reading import workspace

__all__ = ["workspace"]
