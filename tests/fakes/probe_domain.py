"""A tiny domain that exercises every path of the Adapter's engine: notes, places, a bell and a notice board.

Plain functions around a `World`, so that tests can hold a tool, break it and count its effects. The planner reads a
small command language: "look Berlin then measure it". Used by tests of the Adapter and by tests.fakes.probe_adapter.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
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
    Claim,
    DocumentationCitation,
    Domain,
    Effect,
    EntityCitation,
    Fill,
    Finding,
    NotExecuted,
    PlanningRequest,
    Proposal,
    Referent,
    ReplyVerdict,
    Resolution,
    ResolveContext,
    Resolved,
    ResultFill,
    Severity,
    Slot,
    SlotPatch,
    TaskDraft,
    Text,
    TextFill,
    Tool,
    ToolContext,
    ToolError,
    Unresolved,
    ValueFill,
    Wait,
)

BOARD = "board"
PLACES = {"BER": "Berlin", "PAR": "Paris", "LGB": "London", "LCA": "London"}
HELD_SECONDS = 60


@dataclass
class World:
    """What the tools act on. `effects` counts effects by idempotency key; `folder` keeps them across processes.

    `board` is what stands on the notice board, which anybody may write to; `rulebook` the version that notes are
    checked by. `posted` are the arguments with which a note was put up.
    """

    folder: Path | None = None
    held: dict[str, threading.Event] = field(default_factory=dict)
    begun: dict[str, threading.Event] = field(default_factory=dict)
    effects: Counter[str] = field(default_factory=Counter)
    running: int = 0
    most_running: int = 0
    barrier: threading.Barrier | None = None
    broken: bool = False
    answer_suffix: str = ""
    with_probe: bool = False
    policy_version: int = 1
    board: str = ""
    rulebook: str = "1"
    posted: list[dict[str, Any]] = field(default_factory=list)
    acted: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self, name: str) -> threading.Event:
        """Make the tool `name` wait until the returned event is set."""
        self.begun[name] = threading.Event()
        self.held[name] = threading.Event()
        return self.held[name]

    def pass_gate(self, name: str) -> None:
        """Called by the tools: wait where the test holds them."""
        with self.lock:
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        if name in self.begun:
            self.begun[name].set()
            self.held[name].wait(HELD_SECONDS)
        with self.lock:
            self.running -= 1

    def act(self, key: str) -> None:
        """One effect in the world; in a process of its own it is written durably, then the fifo holds the tool."""
        self.effects[key] += 1
        self.acted.set()
        if self.folder is None:
            return
        with (self.folder / "effects.txt").open("a") as file:
            file.write(key + "\n")
            file.flush()
            os.fsync(file.fileno())
        fifo = self.folder / "hold.fifo"
        if fifo.exists():
            with fifo.open("rb") as held:
                held.read()


def make_domain(world: World) -> Domain:
    """The domain around a world."""

    def look(place: str) -> dict[str, Any]:
        world.pass_gate("look")
        if world.barrier is not None:
            world.barrier.wait(HELD_SECONDS)
        return {"identity": place, "name": PLACES[place]}

    def measure(place: str, unit: str = "m") -> dict[str, Any]:
        world.pass_gate("measure")
        return {"identity": place, "value": len(place), "unit": unit}

    def find(prefix: str) -> dict[str, Any]:
        return {"places": [{"identity": i} for i, name in PLACES.items() if name.startswith(prefix)]}

    def where(position: dict[str, Any]) -> dict[str, Any]:
        return {"lat": position["lat"], "source": position.get("source", "words")}

    def fetch(number: int) -> dict[str, Any]:
        if number < 0:
            raise ToolError(
                "tool_input_invalid",
                Text("The number must not be negative.", "Число не должно быть отрицательным."),
                correctable=True,
                slot="number",
                source_code="negative",
            )
        return {"number": number}

    def fail() -> dict[str, Any]:
        if world.broken:
            raise RuntimeError("secret text of an exception")
        raise ToolError("tool_failed", Text("The source is down.", "Источник недоступен."), source_code="source_down")

    async def slow() -> dict[str, Any]:
        import asyncio

        await asyncio.Event().wait()
        return {}

    def guarded() -> dict[str, Any]:
        return {"secret": True}

    def write_note(title: str, level: int | None = None) -> dict[str, Any]:
        world.pass_gate("write_note")
        return {"title": title, "level": level}

    def change_note(note: dict[str, Any], title: str | None = None, level: int | None = None) -> dict[str, Any]:
        world.pass_gate("change_note")
        new = {"title": title, "level": level}
        return {**note, **{name: value for name, value in new.items() if value is not None}}

    def check_note(note: dict[str, Any], beside: dict[str, Any] | None = None) -> list[Finding]:
        world.pass_gate("check_note")
        if beside is not None and beside["title"] == note["title"]:
            return [Finding(Severity.ERROR, "/title", "title", "title_taken", Text("It is taken.", "Он занят."))]
        if note["level"] is not None:
            return []
        missing = Text("The level is missing.", "Не указан уровень.")
        return [Finding(Severity.ERROR, "/level", "level", "level_missing", missing)]

    def post_note(note: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        context.report(10, "posting")
        world.pass_gate("post_note")
        if not world.effects[context.idempotency_key]:
            world.act(context.idempotency_key)
        return {"title": note["title"], "key": context.idempotency_key}

    def find_post(_input: Any, context: ToolContext) -> dict[str, Any] | None:
        if not world.with_probe or not world.effects[context.idempotency_key]:
            return None
        return {"title": "found", "key": context.idempotency_key}

    def put_up(note: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        world.pass_gate("put_up")
        if _sha256(world.board) != context.base_sha256:
            raise BaseChanged
        world.pass_gate("put_up_checked")
        world.posted.append(note)
        world.board = note["title"]
        world.act(context.idempotency_key)
        world.pass_gate("put_up_written")
        return {"title": note["title"]}

    def find_put_up(given: Any, context: ToolContext) -> dict[str, Any] | NotExecuted | None:
        if world.board == given["note"]["title"]:
            return {"title": world.board}
        return NOT_EXECUTED if _sha256(world.board) == context.base_sha256 else None

    def ring(count: int, context: ToolContext) -> dict[str, Any]:
        world.pass_gate("ring")
        world.act(context.idempotency_key)
        return {"rung": count}

    def consult(topic: str) -> dict[str, Any]:
        return {"fragment": f"manual.md#{topic}", "topic": topic}

    def nap(seconds: float) -> dict[str, Any]:
        return {"seconds": seconds}

    def await_word(word: str, limit: float) -> dict[str, Any]:
        world.pass_gate("await_word")
        return {"word": word, "limit": limit}

    def spell(letters: str) -> dict[str, Any]:
        return {"letters": letters}

    def say_word(result: dict[str, Any], _locale: str) -> str:
        woken = result.get("wake_up")
        if woken is None:
            return f"Waits for {result['word']}."
        return f"No {result['word']} came." if woken["limit_passed"] else f"Heard {result['word']}: {woken['payload']}."

    def cites(result: dict[str, Any]) -> tuple[EntityCitation, ...]:
        return (EntityCitation("place", result["identity"]),)

    def refers(result: dict[str, Any]) -> tuple[Referent, ...]:
        return (Referent("place", result["identity"], PLACES[result["identity"]]),)

    def said(template: str) -> Any:
        return lambda result, _locale: template.format(r=result) + world.answer_suffix

    place_slot = Slot(Text("Which place?", "Какое место?"), resolver="place")
    note = ArtifactOutput("note", "application/json", lambda r: r["title"], lambda r: r, lambda _r: ("probe",))
    level_slot = Slot(Text("Which level?", "Какой уровень?"))
    number_slot = Slot(Text("Which number?", "Какое число?"))

    def tool(function: Any, effect: Effect, say: str, **more: Any) -> Tool:
        name = more.pop("name", function.__name__)
        title = Text(name.replace("_", " ").capitalize(), f"Действие {name}")
        return Tool(name, function, effect, title, title, said(say), **more)

    tools = (
        tool(
            look, Effect.READ, "{r[identity]} is {r[name]}.", slots={"place": place_slot}, cites=cites, referents=refers
        ),
        tool(measure, Effect.READ, "{r[identity]} measures {r[value]} {r[unit]}.", slots={"place": place_slot}),
        tool(find, Effect.READ, "Found {r[places]}."),
        tool(
            where,
            Effect.READ,
            "Latitude {r[lat]}.",
            slots={"position": Slot(Text("Where are you?", "Где вы?"), resolver="position", fact="position")},
        ),
        tool(fetch, Effect.READ, "Number {r[number]}.", slots={"number": number_slot}),
        tool(fail, Effect.READ, "never"),
        tool(slow, Effect.READ, "never", timeout=timedelta(milliseconds=50)),
        tool(guarded, Effect.READ, "Secret.", roles=("boss",)),
        tool(
            consult,
            Effect.READ,
            "See {r[fragment]}.",
            cites_documentation=lambda r: (DocumentationCitation("manual.md", r["topic"], "Topic", "0" * 64),),
        ),
        tool(nap, Effect.READ, "Napped.", waits=lambda r: Wait(until=timedelta(seconds=r["seconds"]))),
        Tool(
            "await_word",
            await_word,
            Effect.READ,
            Text("Await word", "Дождаться слова"),
            Text("Await word", "Дождаться слова"),
            say_word,
            waits=lambda r: Wait(signal=r["word"], limit=timedelta(seconds=r["limit"])),
        ),
        tool(spell, Effect.READ, "Spelled {r[letters]}."),
        tool(
            write_note,
            Effect.DRAFT,
            "Wrote the note {r[title]}.",
            makes=note,
            slots={"title": Slot(Text("Which title?", "Какой заголовок?"))},
        ),
        tool(
            change_note,
            Effect.DRAFT,
            "Changed the note {r[title]}.",
            makes=note,
            revises="note",
            artifacts={"note": "note"},
            slots={"level": level_slot},
        ),
        Tool(
            "check_note",
            check_note,
            Effect.READ,
            Text("Check note", "Проверить заметку"),
            Text("Check note", "Проверить заметку"),
            lambda findings, locale: " ".join(f.message.localized(locale) for f in findings) or "The note is fine.",
            artifacts={"note": "note", "beside": "note"},
            validates="note",
            reads=("rulebook",),
        ),
        tool(
            post_note,
            Effect.EXTERNAL,
            "Posted the note {r[title]}.",
            idempotent=True,
            artifacts={"note": "note"},
            roles=("author",),
            approval=ApprovalRule("editor", timedelta(hours=1)),
            preview=lambda given, _locale: f"post {given['note']['title']} at {given['note']['level']}",
            probe=find_post,
            timeout=timedelta(seconds=30),
        ),
        tool(
            put_up,
            Effect.EXTERNAL,
            "Put up {r[title]}.",
            artifacts={"note": "note"},
            target=lambda _given: BOARD,
            base=lambda _given, _workspace: _sha256(world.board),
            probe=find_put_up,
            timeout=timedelta(seconds=30),
        ),
        tool(
            ring,
            Effect.CHANGE,
            "Rang the bell {r[rung]} times.",
            target=lambda _given: "bell",
            approval=ApprovalRule("ringer", requester_may_approve=False),
            timeout=timedelta(seconds=30),
        ),
        tool(
            ring,
            Effect.CHANGE,
            "Tolled {r[rung]}.",
            name="toll",
            target=lambda _given: "bell",
            timeout=timedelta(milliseconds=50),
        ),
    )
    return Domain(
        name="probe",
        title=Text("Probe", "Проба"),
        version="1",
        policy_version=world.policy_version,
        tools=tools,
        planner=ProbePlanner(),
        resolvers={"place": resolve_place, "position": resolve_position},
        artifact_kinds=(ArtifactKind("note", Text("note", "заметка"), "check_note", "change_note"),),
        identities=lambda text: frozenset(re.findall(r"\b[A-Z]{3}\b", text)),
        fragments=lambda text: frozenset(re.findall(r"\w+\.md#\w+", text)),
        claims=(
            Claim("post_note", re.compile("Posted the note")),
            Claim("write_note", re.compile("Wrote the note"), artifact=True),
        ),
        sources={"rulebook": lambda: world.rulebook},
    )


def _sha256(text: str) -> str:
    """Of what stands on the board; "" where nothing does."""
    return hashlib.sha256(text.encode()).hexdigest() if text else ""


def resolve_place(text: str, _context: ResolveContext) -> Resolution:
    """Names and codes of PLACES."""
    found = [i for i, name in PLACES.items() if text.strip().casefold() in (i.casefold(), name.casefold())]
    if not found:
        return Unresolved(Text("There is no such place.", "Такого места нет."))
    if len(found) == 1:
        return Resolved(found[0], PLACES[found[0]])
    return Candidates(tuple(Candidate(i, f"{PLACES[i]} {i}", f"the place {i}", i) for i in found))


def resolve_position(text: str, _context: ResolveContext) -> Resolution:
    """A latitude."""
    if not re.fullmatch(r"-?\d+(\.\d+)?", text.strip()):
        return Unresolved(Text("A position is a latitude.", "Положение — это широта."), "tool_input_invalid")
    return Resolved({"lat": float(text)}, text.strip())


class ProbePlanner:
    """Commands joined by " then "; "actually …" corrects, "cancel" and "hm" are what they say."""

    def plan(self, request: PlanningRequest) -> Proposal:
        """See the class."""
        text = request.text.strip()
        if text == "explode":
            raise RuntimeError("a planner that breaks")
        if not request.begins_interaction:
            return self._reply(request, text)
        text = text.removeprefix("new ")
        if text.startswith("say "):
            return Proposal(ReplyVerdict.NEW_REQUEST, reply=Text(text[4:], text[4:]))
        drafts: list[TaskDraft] = []
        for part in text.split(" then "):
            # What follows a wait comes after it.
            after = (drafts[-1].name,) if drafts and drafts[-1].tool in ("nap", "await_word") else ()
            made = self._command(part.strip(), drafts, request)
            drafts += [replace(draft, after=(*draft.after, *after)) for draft in made]
        return Proposal(ReplyVerdict.NEW_REQUEST, tasks=tuple(drafts))

    def _reply(self, request: PlanningRequest, text: str) -> Proposal:
        if text == "cancel":
            return Proposal(ReplyVerdict.CANCEL)
        if text == "hm":
            return Proposal(ReplyVerdict.UNCLEAR)
        if text.startswith("new "):
            return Proposal(ReplyVerdict.NEW_REQUEST, tasks=tuple(self._command(text[4:], [], request)))
        level = re.fullmatch(r"actually level (\d+)", text)
        if level:
            note = ArtifactFill(artifact_id=request.memory.artifacts[0].artifact_id)
            fills: dict[str, Fill] = {"note": note, "level": ValueFill(int(level[1]))}
            return Proposal(ReplyVerdict.CORRECTION, tasks=(TaskDraft("fix", "change_note", fills),))
        place = re.fullmatch(r"actually (\w+)", text)
        if place:
            task = next(task for task in request.tasks if task.tool == "look")
            return Proposal(ReplyVerdict.CORRECTION, patches=(SlotPatch(task.task_id, "place", TextFill(place[1])),))
        if request.open_question is not None:
            return Proposal(ReplyVerdict.ANSWER, answer_text=text.removeprefix("it is "))
        return Proposal(ReplyVerdict.UNCLEAR)

    def _command(self, part: str, before: list[TaskDraft], request: PlanningRequest) -> list[TaskDraft]:
        verb, _, rest = part.partition(" ")
        name = f"t{len(before)}"
        note = next((d.name for d in reversed(before) if d.tool == "write_note"), "")
        known = next((a.artifact_id for a in request.memory.artifacts if a.kind == "note"), "")
        fill = ArtifactFill(task=note) if note else ArtifactFill(artifact_id=known)
        if verb == "measure" and rest == "it":
            source = before[-1]
            path = "places.0.identity" if source.tool == "find" else "identity"
            return [TaskDraft(name, "measure", {"place": ResultFill(source.name, path)})]
        if verb == "measure" and rest == "there":
            return [TaskDraft(name, "measure", {"place": ValueFill(request.memory.referents[0].identity)})]
        if verb in ("look", "measure"):
            return [TaskDraft(name, verb, {"place": TextFill(rest)} if rest else {})]
        if verb == "find":
            return [TaskDraft(name, "find", {"prefix": ValueFill(rest)})]
        if verb == "write":
            title, _, level = rest.partition(" at ")
            fills: dict[str, Fill] = {"title": ValueFill(title)} if title else {}
            if level:
                fills["level"] = ValueFill(int(level)) if level.isdecimal() else TextFill(level)
            return [TaskDraft(name, "write_note", fills)]
        if verb in ("check", "post"):
            return [TaskDraft(name, f"{verb}_note", {"note": fill})]
        if verb == "consult":
            return [TaskDraft(name, "consult", {"topic": ValueFill(rest)})]
        if verb == "nap":
            return [TaskDraft(name, "nap", {"seconds": ValueFill(float(rest))})]
        if verb == "await":
            word, _, limit = rest.partition(" within ")
            return [TaskDraft(name, "await_word", {"word": ValueFill(word), "limit": ValueFill(float(limit or 3600))})]
        if verb == "spell":
            return [TaskDraft(name, "spell", {"letters": ResultFill(before[-1].name, "wake_up.payload.letters")})]
        if verb == "put":
            return [TaskDraft(name, "put_up", {"note": fill})]
        if verb == "compare":
            first = next(draft.name for draft in before if draft.tool == "write_note")
            return [TaskDraft(name, "check_note", {"note": fill, "beside": ArtifactFill(task=first)})]
        if verb in ("ring", "toll"):
            return [TaskDraft(name, verb, {"count": ValueFill(int(rest))})]
        if verb == "fetch":
            return [TaskDraft(name, "fetch", {"number": TextFill(rest)} if rest else {})]
        if verb == "loop":
            return [TaskDraft("a", "fail", after=("b",)), TaskDraft("b", "fail", after=("a",))]
        return [TaskDraft(name, verb)]
