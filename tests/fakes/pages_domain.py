"""A tiny domain over a workspace: pages are its files, and a draft is published by writing the file.

Plain functions over the workspace itself, so that tests see what the engine does about a changed one (C10). Commands:
"read checkout then read billing", "note hello" (asks which page), "set checkout to red then publish",
"make new.md as text then publish", "stamp checkout", "list".
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from adapter_service.sdk import (
    NOT_EXECUTED,
    ApprovalRule,
    ArtifactFill,
    ArtifactKind,
    ArtifactOutput,
    BaseChanged,
    Candidate,
    Candidates,
    Domain,
    Effect,
    Fill,
    Finding,
    PlanningRequest,
    Proposal,
    ReplyVerdict,
    Resolution,
    ResolveContext,
    Resolved,
    ResultFill,
    Slot,
    TaskDraft,
    Text,
    TextFill,
    Tool,
    ToolContext,
    Unresolved,
    ValueFill,
    Workspace,
    WorkspaceUse,
)

FOLDER_SETTING = "HANDRAIL_PAGES_FOLDER"


@dataclass
class PagesWorld:
    """What tests see and do: `on_prepare` runs where the view is made, `before_planning` in the planner, `before_read`
    and `before_write` in the tools.

    `prepared` counts the views, `forgotten` are workspaces whose upload was erased, `reads` the pages that were read.
    """

    on_prepare: Callable[[Workspace], None] = lambda _workspace: None
    before_planning: Callable[[], None] = lambda: None
    before_read: Callable[[], None] = lambda: None
    before_write: Callable[[], None] = lambda: None
    prepared: int = 0
    forgotten: list[str] = field(default_factory=list)
    cannot_forget: bool = False
    reads: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def make_pages_domain(world: PagesWorld) -> Domain:
    """The domain around a world."""

    def prepare(workspace: Workspace) -> Workspace:
        with world.lock:
            world.prepared += 1
        world.on_prepare(workspace)
        return workspace

    def read_page(page: str, context: ToolContext) -> dict[str, Any]:
        with world.lock:
            world.reads.append(page)
        world.before_read()
        return {"page": page, "text": context.workspace.read(page).decode()}

    def count_words(text: str) -> dict[str, Any]:
        return {"words": len(text.split())}

    def note(text: str, page: str) -> dict[str, Any]:
        return {"page": page, "text": text}

    def list_pages(context: ToolContext) -> dict[str, Any]:
        return {"pages": list(context.workspace.files)}

    def draft(page: str, text: str, context: ToolContext) -> dict[str, Any]:
        known = context.workspace.files.get(page)
        return {"page": page, "text": text, "base": known.sha256 if known is not None else ""}

    def check(change: dict[str, Any], context: ToolContext) -> list[Finding]:
        return []

    def publish(change: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        if context.base_sha256 != change["base"]:
            raise BaseChanged
        world.before_write()
        sha256 = context.workspace.replace(change["page"], change["text"].encode(), context.base_sha256)
        return {"page": change["page"], "sha256": sha256}

    def find_published(given: Mapping[str, Any], context: ToolContext) -> Any:
        change = given["change"]
        known = context.workspace.files.get(change["page"])
        now = known.sha256 if known is not None else ""
        wanted = hashlib.sha256(change["text"].encode()).hexdigest()
        if now == wanted:
            return {"page": change["page"], "sha256": now}
        return NOT_EXECUTED if now == change["base"] else None

    def stamp(page: str, context: ToolContext) -> dict[str, Any]:
        text = context.workspace.read(page) + b"!"
        context.workspace.replace(page, text, context.base_sha256)
        return {"page": page}

    def forget(workspace_id: str) -> None:
        if world.cannot_forget:
            raise OSError("secret text of an exception")
        world.forgotten.append(workspace_id)

    def tool(function: Any, effect: Effect, say: str, **more: Any) -> Tool:
        title = Text(function.__name__.replace("_", " ").capitalize(), f"Действие {function.__name__}")
        return Tool(
            function.__name__, function, effect, title, title, lambda result, _locale: say.format(r=result), **more
        )

    page = Slot(Text("Which page?", "Какая страница?"), resolver="page")
    change = ArtifactOutput("change", "application/json", lambda r: r["page"], lambda r: r)
    tools = (
        tool(read_page, Effect.READ, "{r[page]} says {r[text]}.", slots={"page": page}, uses_workspace=True),
        tool(count_words, Effect.READ, "{r[words]} words."),
        tool(note, Effect.READ, "Noted {r[text]} for {r[page]}.", slots={"page": page}),
        tool(list_pages, Effect.READ, "Pages: {r[pages]}.", uses_workspace=True),
        tool(draft, Effect.DRAFT, "Drafted {r[page]}.", makes=change, slots={"page": page}, uses_workspace=True),
        Tool(
            "check",
            check,
            Effect.READ,
            Text("Check", "Проверить"),
            Text("Check", "Проверить"),
            lambda _findings, _locale: "The change is fine.",
            artifacts={"change": "change"},
            validates="change",
            reads=("workspace",),
        ),
        tool(
            publish,
            Effect.CHANGE,
            "Published {r[page]}.",
            artifacts={"change": "change"},
            approval=ApprovalRule("editor", timedelta(hours=1)),
            target=lambda given: f"page/{given['change']['page']}",
            base=lambda given, workspace: _sha256_of(workspace, given["change"]["page"]),
            probe=find_published,
            timeout=timedelta(seconds=30),
        ),
        tool(
            stamp,
            Effect.CHANGE,
            "Stamped {r[page]}.",
            slots={"page": page},
            target=lambda given: f"page/{given['page']}",
            base=lambda given, workspace: _sha256_of(workspace, given["page"]),
        ),
    )
    return Domain(
        name="pages",
        title=Text("Pages", "Страницы"),
        version="1",
        policy_version=1,
        tools=tools,
        planner=PagesPlanner(world),
        resolvers={"page": resolve_page},
        artifact_kinds=(ArtifactKind("change", Text("change", "изменение"), validate_tool="check"),),
        workspace=WorkspaceUse(
            FOLDER_SETTING,
            prepare,
            documentation_version=lambda workspace: _sha256_of(workspace, "docs/guide.md")[:8],
            resolvers=("page",),
            holds=lambda _resolver, value, workspace: value in workspace.files,
            forget=forget,
        ),
    )


def _sha256_of(workspace: Workspace, path: str) -> str:
    found = workspace.files.get(path)
    return found.sha256 if found is not None else ""


def resolve_page(text: str, context: ResolveContext) -> Resolution:
    """Pages whose path has the text; an exact path is that page."""
    files = context.workspace.files
    wanted = text.strip().casefold()
    if text.strip() in files:
        return Resolved(text.strip(), text.strip())
    found = [path for path in files if wanted in path.casefold()]
    if not found:
        return Unresolved(Text(f"There is no page “{text}”.", f"Страницы «{text}» нет."))
    if len(found) == 1:
        return Resolved(found[0], found[0])
    return Candidates(tuple(Candidate(path, path, "", path) for path in found))


class PagesPlanner:
    """Commands joined by " then "; while a question is open any text answers it."""

    def __init__(self, world: PagesWorld) -> None:
        self._world = world

    def plan(self, request: PlanningRequest) -> Proposal:
        """See the class."""
        self._world.before_planning()
        if request.open_question is not None:
            return Proposal(ReplyVerdict.ANSWER, answer_text=request.text)
        if not request.begins_interaction:
            return Proposal(ReplyVerdict.UNCLEAR)
        drafts: list[TaskDraft] = []
        for part in request.text.split(" then "):
            drafts.append(self._task(part.strip(), drafts))
        return Proposal(ReplyVerdict.NEW_REQUEST, tasks=tuple(drafts))

    def _task(self, part: str, before: list[TaskDraft]) -> TaskDraft:
        verb, _, rest = part.partition(" ")
        name = f"t{len(before)}"
        made = next((each.name for each in reversed(before) if each.tool == "draft"), "")
        fills: dict[str, Fill]
        if verb == "read":
            return TaskDraft(name, "read_page", {"page": TextFill(rest)} if rest else {})
        if verb == "count":
            return TaskDraft(name, "count_words", {"text": ResultFill(before[-1].name, "text")})
        if verb == "note":
            return TaskDraft(name, "note", {"text": TextFill(rest)} if rest else {})
        if verb == "stamp":
            return TaskDraft(name, "stamp", {"page": TextFill(rest)})
        if verb == "list":
            return TaskDraft(name, "list_pages")
        if verb == "set":
            page, _, text = rest.partition(" to ")
            fills = {"page": TextFill(page), "text": ValueFill(text)}
            return TaskDraft(name, "draft", fills)
        if verb == "make":
            page, _, text = rest.partition(" as ")
            return TaskDraft(name, "draft", {"page": ValueFill(page), "text": ValueFill(text)})
        return TaskDraft(name, "publish", {"change": ArtifactFill(task=made)})
