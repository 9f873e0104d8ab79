"""References between documents: which text of one names which other. Called by the view and the validation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .records import DocumentRow, NamedValue, Reference

if TYPE_CHECKING:
    from .view import View


def references_of(view: View, row: DocumentRow) -> Iterator[Reference]:
    """What a document names. A declared reference without a target is kept; another text is then no reference."""
    for named in row.names:
        target = target_of(view, row.document.type, named)
        if target or named.type:
            yield Reference(
                source_key=row.document.key,
                pointer=named.pointer,
                type=named.type or target.rpartition("/")[0].partition("/")[0],
                value=named.value,
                target_key=target,
                declared=bool(named.type),
            )


def target_of(view: View, own_type: str, named: NamedValue) -> str:
    """The key of the document that is named, "" where there is none."""
    if named.type:
        own = f"{named.type}/{named.value}"
        if own in view.by_key:
            return own
        return named.value if named.value.startswith(f"{named.type}/") and named.value in view.by_key else ""
    if named.value in view.by_key:
        return named.value
    for kind in (named.name_type, own_type if named.same_type else ""):
        if kind and f"{kind}/{named.value}" in view.by_key:
            return f"{kind}/{named.value}"
    return ""
