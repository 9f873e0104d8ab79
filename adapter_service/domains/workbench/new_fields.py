"""Where the fields of a new document belong: where the other documents of its type have them. Called by
tools_changes.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adapter_service.domains.workbench.field_names import same_name
from adapter_service.domains.workbench.view import View

_MOST_LOOKED_AT: Final = 3


def placed_like_others(view: View, document_type: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with each field that was named alone ("port") where a document of that type has it (/spec/port)."""
    others = [each.key for each in view.documents() if each.type == document_type and not each.text_only]
    bodies = [view.read_document(key)["content"] for key in others[:_MOST_LOOKED_AT]]
    placed: dict[str, Any] = {}
    for name, value in content.items():
        steps = next((found for body in bodies if (found := _steps(body, name))), (name,))
        inner = placed
        for step in steps[:-1]:
            inner = inner.setdefault(step, {})
        inner[steps[-1]] = value
    return placed


def _steps(body: Any, name: str) -> tuple[str, ...]:
    """The keys that lead to the outermost field of that name; empty where there is none."""
    level: list[tuple[tuple[str, ...], Any]] = [((), body)]
    while level:
        inside = [
            ((*path, str(key)), value) for path, each in level if isinstance(each, dict) for key, value in each.items()
        ]
        for path, _ in inside:
            if same_name(name, path[-1]):
                return path
        level = inside
    return ()
