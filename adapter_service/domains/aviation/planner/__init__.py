"""The planner of the aviation domain: grammar and dictionary, no model. `AviationPlanner` is what the domain uses."""

from adapter_service.domains.aviation.planner.planner import AviationPlanner

__all__ = ["AviationPlanner"]
