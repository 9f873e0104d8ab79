"""From commands to tasks: which draft an edit goes on with, what "it" stands for, what comes after what. Called by the
planner.

Documents keep the user's words; the resolver gives them a meaning when it is their turn, so that "it" is what the step
before has found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adapter_service.domains.workbench.planner import commands as c
from adapter_service.domains.workbench.planner import replies
from adapter_service.domains.workbench.planner.lookup import Lookup
from adapter_service.domains.workbench.pointing_words import is_plural, points_back
from adapter_service.domains.workbench.topics import last_topic
from adapter_service.sdk import ArtifactFill, ArtifactSummary, Fill, Memory, TaskDraft, Text, TextFill, ValueFill

_CHANGE: Final = "change"
_DRAFTING: Final = ("draft_change", "draft_document")


class Composer:
    """Collects the tasks of one message."""

    def __init__(self, memory: Memory, lookup: Lookup, locale: str) -> None:
        self._it = "это" if locale.startswith("ru") else "it"
        self._memory = memory
        self._lookup = lookup
        self.tasks: list[TaskDraft] = []
        # The document that this message drafts a change of, in its words, and the task that made the draft.
        self._drafts: dict[str, str] = {}
        self._spoken = ""

    def add(self, command: c.Command) -> Text | None:
        """Add a command's tasks; a text where it cannot be done."""
        match command:
            case c.Describe():
                self._task("describe_workspace")
            case c.CheckWorkspace(document):
                self._task("check_workspace", {"document": self._document(document)} if document else {})
            case c.ListDocuments(kind):
                self._task("list_documents", {"document_type": TextFill(kind)} if kind else {})
            case c.FindDocuments():
                self._find(command)
            case c.ReadDocument(document, field):
                self._task("read_document", self._about(document) | _texts(field=field))
            case c.ReadPage(page):
                self._task("read_documentation", {"page": TextFill(page)})
            case c.AskDocumentation(query):
                self._task("search_documentation", {"query": TextFill(query)})
            case c.Compare():
                return self._compare(command)
            case c.References(document, direction):
                self._task("find_references", self._about(document) | {"direction": ValueFill(direction)})
            case c.Edit():
                return self._edit(command)
            case c.Create(kind, name, content):
                fills: dict[str, Fill] = _texts(document_type=kind, identity=name)
                if content:
                    fills["content"] = ValueFill(dict(content))
                self._drafts = {name: self._task("draft_document", fills)}
            case c.Validate():
                return self._on_drafts("validate_change")
            case c.Publish():
                return self._on_drafts("publish_change", settled=replies.SETTLED)
            case c.Undo(everything):
                return self._on_drafts("undo_change", {"everything": ValueFill(everything)}, settled=replies.SETTLED)
            case c.ShowChange():
                return self._show_change()
            case c.More():
                return self._more()
            case c.Talk(reply):
                return reply
        return None

    def _task(self, tool: str, fills: Mapping[str, Fill] | None = None, *, after: tuple[str, ...] = ()) -> str:
        name = f"t{len(self.tasks) + 1}"
        pointing = any(isinstance(fill, TextFill) and points_back(fill.text) for fill in (fills or {}).values())
        if pointing and self.tasks and not after:
            after = (self.tasks[-1].name,)  # what "it" stands for is what the task before has found
        self.tasks.append(TaskDraft(name, tool, dict(fills or {}), after))
        return name

    def _document(self, said: str) -> TextFill:
        return TextFill(said)

    def _about(self, document: str) -> dict[str, Fill]:
        return {"document": self._document(document)} if document else {}

    def _find(self, command: c.FindDocuments) -> None:
        fills: dict[str, Fill] = _texts(text=command.text, document_type=command.kind)
        if command.where:
            fills["where"] = ValueFill(dict(command.where))
        self._task("find_documents", fills)

    def _compare(self, command: c.Compare) -> Text | None:
        first, second = command.first, command.second
        if not second and (not first or is_plural(first)):
            if self.tasks or len(last_topic(self._memory).keys) >= 2:
                first, second = "the first", "the second"
            else:
                return replies.TWO_NEEDED
        self._task("compare_documents", _texts(first=first, second=second))
        return None

    def _more(self) -> Text | None:
        topic = last_topic(self._memory)
        if not topic.tool:
            return replies.NOTHING_MORE
        self._task(topic.tool, {name: ValueFill(value) for name, value in topic.arguments.items()})
        return None

    # --- drafts -----------------------------------------------------------------------------------------------------

    def _edit(self, edit: c.Edit) -> Text | None:
        fills: dict[str, Fill] = _texts(field=edit.field)
        if edit.operation != "set":
            fills["operation"] = ValueFill(edit.operation)
        if edit.value is not None:
            fills["value"] = TextFill(edit.value)
        elif edit.operation == "remove":
            fills["value"] = ValueFill(None)
        same = edit.document or self._spoken
        known = self._drafts.get(same) or (self._newest() if _means_draft(edit.document) else "")
        if known:
            self._drafts[same] = self._task("revise_change", {_CHANGE: ArtifactFill(task=known), **fills})
            return None
        current = self.current()
        if not self.tasks and current is not None and self._goes_on(edit, current):
            self._drafts[edit.document] = self._task(
                "revise_change", {_CHANGE: ArtifactFill(artifact_id=current.artifact_id), **fills}
            )
            return None
        document = edit.document or (self._it if self.tasks or last_topic(self._memory).keys else "")
        self._drafts[edit.document] = self._task("draft_change", self._about(document) | fills)
        self._spoken = edit.document
        return None

    def _newest(self) -> str:
        """The newest draft of this message, if nothing else was spoken of since."""
        newest = list(self._drafts.values())[-1] if self._drafts else ""
        return newest if self.tasks and self.tasks[-1].name == newest else ""

    def current(self) -> ArtifactSummary | None:
        """The conversation's newest draft that has not been published."""
        newest = next((each for each in self._memory.artifacts if each.kind == _CHANGE), None)
        return newest if newest is not None and not newest.settled else None

    def _goes_on(self, edit: c.Edit, current: ArtifactSummary) -> bool:
        """Whether an edit is of the document that the newest draft changes."""
        keys = last_topic(self._memory).keys
        if _means_draft(edit.document):
            return not keys or keys[0] == current.title
        if self._lookup.view is None:
            return False
        phrase = self._lookup.phrase(edit.document)
        if not phrase.name:
            return False
        found = self._lookup.view.match_documents(phrase.name, limit=2, type=phrase.kind)
        unique = len(found) == 1 or (len(found) == 2 and found[0]["score"] > found[1]["score"])
        return unique and found[0]["key"] == current.title

    def _show_change(self) -> Text | None:
        newest = next((each for each in self._memory.artifacts if each.kind == _CHANGE), None)
        published = not self._drafts and newest is not None and newest.settled
        return self._on_drafts("show_change", {"published": ValueFill(True)} if published else None)

    def _on_drafts(
        self, tool: str, more: Mapping[str, Fill] | None = None, *, settled: Text | None = None
    ) -> Text | None:
        """The tool on the draft or drafts of this message, otherwise on the newest of the conversation."""
        if self._drafts:
            for document, task in dict.fromkeys(self._drafts.items()):
                made = self._task(tool, {_CHANGE: ArtifactFill(task=task), **(more or {})})
                if tool == "undo_change":
                    self._drafts[document] = made
            return None
        newest = next((each for each in self._memory.artifacts if each.kind == _CHANGE), None)
        if newest is None:
            return replies.NO_CHANGE
        if newest.settled and settled is not None:
            return settled
        made = self._task(tool, {_CHANGE: ArtifactFill(artifact_id=newest.artifact_id), **(more or {})})
        if tool == "undo_change":
            self._drafts[newest.title] = made
        return None


def _means_draft(document: str) -> bool:
    return not document or points_back(document)


def _texts(**said: Any) -> dict[str, Fill]:
    """The words that were said, by slot; empty ones are left out."""
    return {name: TextFill(text) for name, text in said.items() if text}
