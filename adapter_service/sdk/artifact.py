"""Artifacts: kinds of content that tools make, revise and validate. Versions are immutable; the Adapter keeps them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from adapter_service.sdk.text import Text


@dataclass(frozen=True, slots=True)
class ArtifactOutput:
    """Declares that a tool's result makes an artifact version.

    Args:
        kind: name of the artifact kind.
        media_type: "application/json" and "+json" types are stored and hashed as RFC 8785 JSON, others by their bytes.
        title: from the result, shown to people.
        content: from the result: a JSON value, or bytes for other media types.
        sources: from the result: where the content comes from and what it covers.
    """

    kind: str
    media_type: str
    title: Callable[[Any], str]
    content: Callable[[Any], Any]
    sources: Callable[[Any], tuple[str, ...]] = lambda _result: ()


@dataclass(frozen=True, slots=True)
class ArtifactKind:
    """A kind of content.

    With a `validate_tool`, policy lets a CHANGE or EXTERNAL tool have the artifact only after its current version
    passed validation; after a failed one only the `revise_tool` is offered (requirement B5).
    """

    name: str
    title: Text
    validate_tool: str = ""
    revise_tool: str = ""


class Severity(StrEnum):
    """Weight of a finding: any error fails the validation."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a validation.

    Args:
        severity: error or warning.
        path: where in the content, as a JSON pointer.
        slot: the parameter of the revise tool that mends it; empty where none does.
        code: machine code of the check.
        message: for people.
    """

    severity: Severity
    path: str
    slot: str
    code: str
    message: Text
