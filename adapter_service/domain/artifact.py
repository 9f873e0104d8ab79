"""Artifact versions and validations as data. Versions are immutable; a validation judges exactly one version."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class ArtifactReference:
    """A reference to one version; `sha256` is lower-case hex over the stored bytes."""

    artifact_id: str
    version: int
    sha256: str
    media_type: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class ArtifactVersion:
    """One stored version without its content. `latest_version` is the artifact's newest one.

    Where it comes from: the call, the hash of its input, the versions and the workspace that it read, and in the
    domain's words its sources and what they cover. `settled_by` names the tool whose change it was published with.
    """

    artifact_id: str
    conversation_id: str
    domain_session_id: str
    kind: str
    version: int
    latest_version: int
    sha256: str
    media_type: str
    title: str
    size_bytes: int
    tool_call_id: str
    tool: str
    input_sha256: str
    sources: tuple[str, ...]
    create_time: datetime
    settled_by: str = ""
    data_scope: str = ""
    input_artifacts: tuple[ArtifactReference, ...] = ()
    workspace_sha256: str = ""

    @property
    def reference(self) -> ArtifactReference:
        """The reference that decisions, outcomes and inputs carry."""
        return ArtifactReference(self.artifact_id, self.version, self.sha256, self.media_type, self.title)


@dataclass(frozen=True, slots=True)
class FindingRecord:
    """A stored finding; see sdk.Finding."""

    severity: str
    path: str
    slot: str
    code: str
    message_en: str
    message_ru: str


class ReadKind(StrEnum):
    """What a validation can read besides the version that it judges."""

    ARTIFACT = "artifact"
    SOURCE = "source"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Read:
    """One version that a validation read: of another artifact, of a source of the domain, of the validating tool."""

    kind: ReadKind
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of validating one version. `sha256` covers version, validator, findings and what was read."""

    artifact_id: str
    version: int
    sha256: str
    passed: bool
    findings: tuple[FindingRecord, ...]
    tool_call_id: str
    reads: tuple[Read, ...] = ()
