"""Artifacts: kinds of content that tools make, revise and validate. Versions are immutable; the Adapter keeps them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from adapter_service.sdk.naming import as_text, same, words
from adapter_service.sdk.text import NOTHING, Text


@dataclass(frozen=True, slots=True)
class DiffForm:
    """What DiffArtifact compares: `text` line by line, `document` as a JSON value; None where there is no such form.

    `name` stands in the head of the unified diff, for example a path.
    """

    text: str | None
    document: Any = None
    name: str = ""


def is_json(media_type: str) -> bool:
    """Whether content of this type is stored and hashed as RFC 8785 JSON."""
    return media_type == "application/json" or media_type.endswith("+json")


def bytes_of(text: str) -> bytes:
    """The bytes that a function returned: in the JSON form of a result they are URL-safe base64 text."""
    return base64.urlsafe_b64decode(text)


def _whole(result: Any) -> Any:
    return result


def _named(result: Any) -> str:
    """What a result calls itself; empty where it has no member `title` or `name`."""
    members = result if isinstance(result, Mapping) else {}
    return str(members.get("title") or members.get("name") or "")


@dataclass(frozen=True)
class ArtifactOutput:
    """Declares that a tool's result makes an artifact version.

    Args:
        kind: name of the artifact kind.
        media_type: "application/json" and "+json" types are stored and hashed as RFC 8785 JSON, others by their bytes.
        title: from the result, shown to people; by default its member `title` or `name`, else the kind's words.
        content: from the result: a JSON value, or text or bytes for other media types; by default the whole result.
            Bytes in a result are base64 text in its JSON form, those of a pydantic model where its config says so
            (ser_json_bytes); `bytes_of` makes bytes of them again.
        sources: from the result: where the content comes from.
        data_scope: from the result: what the content covers, for example the catalogue it was made from.
    """

    kind: str
    media_type: str = "application/json"
    title: Callable[[Any], str] = _named
    content: Callable[[Any], Any] = _whole
    sources: Callable[[Any], tuple[str, ...]] = lambda _result: ()
    data_scope: Callable[[Any], str] = lambda _result: ""

    @property
    def takes_whole_result(self) -> bool:
        """Whether `content` is the default."""
        return self.content is _whole

    def __post_init__(self) -> None:
        """Fill in the default of `title`, which is never empty."""
        if self.title is _named:
            object.__setattr__(self, "title", lambda result: _named(result) or words(self.kind))


@dataclass(frozen=True, slots=True)
class ArtifactKind:
    """A kind of content. Kinds that a tool makes exist without being declared.

    With a `validate_tool`, policy lets a CHANGE or EXTERNAL tool have the artifact only after its current version
    passed validation; after a failed one only the `revise_tool` is offered (requirement B5). Where it names none, the
    domain's only tool that validates the kind is its `validate_tool`, and likewise for `revise_tool`.

    Args:
        diff_form: from the content to what DiffArtifact compares; by default JSON indented, or UTF-8 text.
        base_form: from the content to the form of what it was drafted from; None where it was drafted from nothing.
    """

    name: str
    title: Text = NOTHING
    validate_tool: str = ""
    revise_tool: str = ""
    diff_form: Callable[[Any], DiffForm] | None = None
    base_form: Callable[[Any], DiffForm | None] | None = None

    def __post_init__(self) -> None:
        """Fill in the default of `title`."""
        if self.title == NOTHING:
            object.__setattr__(self, "title", same(words(str(self.name))))


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

    @classmethod
    def error(cls, path: str, message: Text | str, *, slot: str | None = None, code: str = "invalid") -> Finding:
        """A finding that fails the validation. `slot` is by default the last part of `path`: "/level" is "level"."""
        return cls(Severity.ERROR, path, path.rpartition("/")[2] if slot is None else slot, code, as_text(message))

    @classmethod
    def warning(cls, path: str, message: Text | str, *, slot: str | None = None, code: str = "doubtful") -> Finding:
        """A finding that does not fail the validation."""
        return cls(Severity.WARNING, path, path.rpartition("/")[2] if slot is None else slot, code, as_text(message))
