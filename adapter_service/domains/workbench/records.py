"""What is known of a workspace's files: the rows that the store keeps and the view is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from .findings import Finding


@dataclass(frozen=True, slots=True)
class Document:
    """One typed document. `key` is "type/identity", unique in a view; `sha256` is of the whole file.

    `document_index` counts from 0 in a file of several documents. `text_only`: it could not be read as data.
    """

    key: str
    type: str
    identity: str
    title: str
    path: str
    sha256: str
    media_type: str
    document_index: int
    text_only: bool


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A text in a document that may name another one.

    `type` is the declared one; without it `name_type` is what the key's name suggests ("configMapRef" a configmap), and
    `same_type` says that such a key names documents of the own type ("dependsOn").
    """

    pointer: str
    value: str
    type: str = ""
    name_type: str = ""
    same_type: bool = False


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document with what the view needs and a reader does not see; `fragment` is its row in the full-text index."""

    document: Document
    fragment: int
    identity_path: str
    schema_hint: str
    names: tuple[NamedValue, ...]


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A section of documentation, or a part of a long one (same anchor); `start` and `end` are offsets in the text."""

    fragment: int
    anchor: str
    title: str
    heading_path: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file of one state. A file that is neither documents nor documentation has neither."""

    path: str
    sha256: str
    format: str
    content_id: int
    documents: tuple[DocumentRow, ...] = ()
    sections: tuple[SectionRow, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Fragment:
    """A row to be indexed: a document (`body` its JSON, "" for text only) or a section (`body` its heading as JSON)."""

    ordinal: int
    is_section: bool
    start: int
    end: int
    body: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file's bytes say in a format, whatever its path: kept once per hash. Findings have no path yet.

    `values` are the documents' values, one for each fragment; they are used once and not kept.
    """

    sha256: str
    format: str
    text: str
    fragments: tuple[Fragment, ...]
    findings: tuple[Finding, ...]
    values: tuple[Any, ...] = ()


class Match(TypedDict):
    """A document that a person's words may mean; `score` is 0 to 100."""

    key: str
    score: float
    document: Document


class Reference(TypedDict):
    """`target_key` is "" where no document answers to it; `declared`: the mapping says that it is a reference."""

    source_key: str
    pointer: str
    type: str
    value: str
    target_key: str
    declared: bool


Json = dict[str, Any]
