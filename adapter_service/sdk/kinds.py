"""The artifact kinds of a domain, completed from what its tools make, revise and validate. Called by Domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adapter_service.sdk.artifact import ArtifactKind
from adapter_service.sdk.tool import Tool


def completed_kinds(tools: Sequence[Tool], declared: Sequence[ArtifactKind]) -> tuple[ArtifactKind, ...]:
    """The declared kinds, then those that tools make; each with its only validating and revising tool.

    Of several such tools none is taken: the kind has to name one.
    """
    names = {kind.name for kind in declared}
    made = dict.fromkeys(tool.makes_kind for tool in tools if tool.makes_kind and tool.makes_kind not in names)
    return tuple(_completed(kind, tools) for kind in (*declared, *map(ArtifactKind, made)))


def _completed(kind: ArtifactKind, tools: Sequence[Tool]) -> ArtifactKind:
    validating = [tool.name for tool in tools if tool.validates and tool.artifacts.get(tool.validates) == kind.name]
    revising = [tool.name for tool in tools if tool.revises and tool.artifacts.get(tool.revises) == kind.name]
    return replace(
        kind,
        validate_tool=kind.validate_tool or (validating[0] if len(validating) == 1 else ""),
        revise_tool=kind.revise_tool or (revising[0] if len(revising) == 1 else ""),
    )
