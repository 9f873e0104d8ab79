"""What one clause of a message asks for, as data. Made by reading, turned into tasks by composing.

Texts are the user's own words; "" where nothing was said. Resolvers give them a meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adapter_service.sdk import Text


@dataclass(frozen=True, slots=True)
class Describe:
    """What is in the workspace."""


@dataclass(frozen=True, slots=True)
class CheckWorkspace:
    """Validate all documents, or one."""

    document: str = ""


@dataclass(frozen=True, slots=True)
class ListDocuments:
    """A list, of a type where one was said."""

    kind: str = ""


@dataclass(frozen=True, slots=True)
class FindDocuments:
    """A search by type, words and values of fields (None: the field exists)."""

    kind: str = ""
    text: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document, or a field of it."""

    document: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A documentation file."""

    page: str


@dataclass(frozen=True, slots=True)
class AskDocumentation:
    """A question for the documentation; `explicit` where the message itself speaks of documentation."""

    query: str
    explicit: bool = True


@dataclass(frozen=True, slots=True)
class Compare:
    """Two documents, or the two that were spoken of last where both are empty."""

    first: str = ""
    second: str = ""


@dataclass(frozen=True, slots=True)
class References:
    """Documents that refer to one ("to") or that it refers to ("from")."""

    document: str
    direction: str = "to"


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: of a named document, or of what was spoken of last. `value` None where none was said."""

    operation: str
    document: str = ""
    field: str = ""
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """A new document."""

    kind: str = ""
    name: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Validate:
    """Check the draft."""


@dataclass(frozen=True, slots=True)
class Publish:
    """Publish the draft."""


@dataclass(frozen=True, slots=True)
class Undo:
    """Take back the draft's last edit, or all of it."""

    everything: bool = False


@dataclass(frozen=True, slots=True)
class ShowChange:
    """The draft's diff."""


@dataclass(frozen=True, slots=True)
class More:
    """The next page of the last list."""


@dataclass(frozen=True, slots=True)
class Talk:
    """Words that need no tool; `refusal` where a part of the message was not understood, so that nothing is done."""

    reply: Text
    refusal: bool = False


Command = (
    Describe | CheckWorkspace | ListDocuments | FindDocuments | ReadDocument | ReadPage | AskDocumentation | Compare
    | References | Edit | Create | Validate | Publish | Undo | ShowChange | More | Talk
)  # fmt: skip
