"""What an answer may cite and what later turns may refer to. Declared per tool, used when an answer is composed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EntityCitation:
    """An identity that a result contains, for example EntityCitation("airport", "EDDB")."""

    document_type: str
    identity: str


@dataclass(frozen=True, slots=True)
class DocumentationCitation:
    """A fragment of documentation that a result quotes: file, anchor of its heading, the heading, hash of its text."""

    path: str
    anchor: str
    title: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Referent:
    """An entity that a later message can refer to ("there"). `kind` is a domain's word, for example "airport"."""

    kind: str
    identity: str
    display_name: str
