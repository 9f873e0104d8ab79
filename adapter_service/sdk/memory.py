"""What a session remembers for planning: bounded, and references instead of contents (requirements H1 to H4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adapter_service.sdk.answer import Referent


@dataclass(frozen=True, slots=True)
class FactView:
    """A fact that the client sent. `source` is device, user, demo or system."""

    name: str
    value: Mapping[str, Any]
    source: str
    scope: str
    observed_time: datetime | None


@dataclass(frozen=True, slots=True)
class ArtifactSummary:
    """The current version of an artifact of the session.

    `valid` is None where this version has not been validated. `settled` is true where a CHANGE or EXTERNAL tool has
    already succeeded on this version (a filed flight plan, a published document).
    """

    kind: str
    artifact_id: str
    version: int
    title: str
    valid: bool | None
    settled: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """Newest first, each list bounded by the engine."""

    referents: tuple[Referent, ...] = ()
    artifacts: tuple[ArtifactSummary, ...] = ()
    facts: tuple[FactView, ...] = ()
