"""YAML with positions: where each part of a document is written. Called by the edits.

libyaml's events give the marks; aliases stay aliases, so that an edit knows where a value is really written.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from .errors import WorkbenchError
from .text_nodes import Entry, Node

_PROPERTIES: Final = re.compile(r"(?:(?:&[^\s,\[\]{}]+|![^\s,\[\]{}]*)(?:[ \t]+|(?=\r?\n)|$))*")
_GAP: Final = re.compile(r"(?:[ \t]*(?:#[^\n]*)?(?:\r?\n))*[ \t]*")
_COLON: Final = re.compile(r"\s*:")


class YamlText:
    """The nodes of one document of a text, and its anchors. Offsets are of the whole text."""

    def __init__(self, text: str, document_index: int) -> None:
        self.text = text
        self._shift = 1 if text.startswith("\ufeff") else 0
        self.anchors: dict[str, Node] = {}
        self.root = self._document(document_index)

    def _document(self, document_index: int) -> Node:
        events = yaml.parse(self.text[self._shift :], Loader=yaml.CSafeLoader)
        number = -1
        try:
            for event in events:
                if isinstance(event, yaml.DocumentStartEvent):
                    number += 1
                elif number == document_index:
                    return self._node(event, events, after=self._shift)
        except yaml.YAMLError:
            pass
        raise unreadable()

    def _node(self, event: Any, events: Any, after: int) -> Node:
        start = event.start_mark.index + self._shift
        end = event.end_mark.index + self._shift
        if isinstance(event, yaml.AliasEvent):
            return Node("alias", start, end, flow=False, value=event.anchor)
        named = event.anchor is not None or event.tag is not None
        content = _PROPERTIES.match(self.text, start).end() if named else start  # type: ignore[union-attr]
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event, start, end, content, after)
        else:
            node = self._collection(event, events, start, content)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _scalar(self, event: Any, start: int, end: int, content: int, after: int) -> Node:
        style = event.style or ""
        if style in ("|", ">"):
            header = self.text[content : self.text.find("\n", content) + 1 or None]
            body = self.text[content:end]
            # Blank lines after a block are between it and the next entry, unless "+" keeps them.
            kept = body.rstrip("\r\n") if "+" in header.split("#")[0] else body.rstrip()
            end = content + len(kept)
        elif start == end and not event.value:
            # An empty value is written nowhere: it belongs right after its "-" or ":".
            start = end = content = after
        return Node("scalar", start, max(end, content), flow=False, value=event.value, style=style, content=content)

    def _collection(self, event: Any, events: Any, start: int, content: int) -> Node:
        mapping = isinstance(event, yaml.MappingStartEvent)
        flow = bool(event.flow_style)
        entries: list[Entry] = []
        position = content
        end = content
        for inner in events:
            if isinstance(inner, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                closing: Any = inner
                end = closing.end_mark.index + self._shift if flow else end
                break
            if mapping:
                key = self._node(inner, events, position)
                colon = _COLON.match(self.text, key.end)
                value = self._node(next(events), events, colon.end() if colon else key.end)
                entries.append(Entry(key, value))
            elif flow:
                entries.append(Entry(None, self._node(inner, events, position)))
            else:
                dash = _GAP.match(self.text, position)
                dash_at = dash.end() if dash else position
                if self.text[dash_at : dash_at + 1] != "-":
                    raise unreadable()
                entries.append(Entry(None, self._node(inner, events, dash_at + 1), dash_at))
            end = position = max(entries[-1].value.end, entries[-1].key.end if entries[-1].key else 0)
        if not flow and entries:
            content = entries[0].start
        return Node("mapping" if mapping else "sequence", start, end, flow=flow, entries=entries, content=content)


def unreadable() -> WorkbenchError:
    return WorkbenchError(
        "not_editable",
        "key",
        "key: this document could not be read as data, so it cannot be changed by path; correct its file first.",
        "Документ не удалось прочитать как данные, поэтому менять его по пути нельзя; сначала исправьте файл.",
    )
