"""What a planner is asked in the tests of the sdk, with defaults."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from adapter_service.sdk import Domain, Memory, PlanningRequest, Proposal

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


def propose(domain: Domain, text: str, **more: Any) -> Proposal:
    """What the domain's planner understands of a text, by default of one that begins an interaction."""
    fields: dict[str, Any] = {
        "text": text,
        "locale": "en",
        "now": NOW,
        "begins_interaction": True,
        "memory": Memory(),
    }
    return domain.planner.plan(PlanningRequest(**{**fields, **more}))
