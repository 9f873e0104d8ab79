"""The probe tools that `handrail conformance` drives, served by our own Adapter as the domain `conformance`.

Served with HANDRAIL_ADAPTER_DOMAINS=adapter_service.domains.conformance:create_domain; docs/conformance.md lists the
same tools for adapters in other languages. They count their effects in memory, so that the kit sees what happened.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from adapter_service.sdk import (
    ApprovalRule,
    ArtifactKind,
    ArtifactOutput,
    BaseChanged,
    Candidate,
    Candidates,
    Domain,
    DomainEnvironment,
    Effect,
    Finding,
    Resolution,
    ResolveContext,
    Resolved,
    Severity,
    Slot,
    Text,
    Tool,
    ToolContext,
    Unresolved,
    Wait,
    wrap,
)

APPROVER = "approver"
GUARD = "probe_admin"
SECRET = "probe-secret"
COLOURS = ("dark red", "light red", "blue")
MEETING_SECONDS = 10.0
SLOW_SECONDS = 0.3
HANG_TIMEOUT = timedelta(milliseconds=300)
SHORT_APPROVAL = timedelta(seconds=1)


class Effects:
    """What the CHANGE tools did, by key; and the meetings of probe_meet, which wait for at most `meeting_seconds`."""

    def __init__(self, meeting_seconds: float = MEETING_SECONDS) -> None:
        self._meeting_seconds = meeting_seconds
        self._gate = threading.Lock()
        self._done: Counter[str] = Counter()
        self._keys: set[str] = set()
        self._meetings: dict[str, asyncio.Event] = {}

    def count(self, key: str) -> int:
        """How often the key was executed."""
        with self._gate:
            return self._done[key]

    def act(self, key: str) -> dict[str, Any]:
        """One effect; the result of a tool."""
        with self._gate:
            self._done[key] += 1
            return {"key": key, "count": self._done[key]}

    def act_once(self, key: str, idempotency_key: str) -> dict[str, Any]:
        """One effect for an idempotency key, however often it is asked for."""
        with self._gate:
            self._done[key] += idempotency_key not in self._keys
            self._keys.add(idempotency_key)
            return {"key": key, "count": self._done[key]}

    def base(self, key: str) -> str:
        """SHA-256 of what a change of the key replaces; "" where nothing was changed yet."""
        count = self.count(key)
        return hashlib.sha256(f"{key}={count}".encode()).hexdigest() if count else ""

    async def meet(self, key: str) -> bool:
        """True once two calls with the key are here at the same time; False where no second one came."""
        if key in self._meetings:
            self._meetings.pop(key).set()
            return True
        met = self._meetings[key] = asyncio.Event()
        try:
            await asyncio.wait_for(met.wait(), self._meeting_seconds)
        except TimeoutError:
            self._meetings.pop(key, None)
            return False
        return True


def create_domain(_environment: DomainEnvironment, effects: Effects | None = None) -> Domain:
    """The domain of probe tools; its effects begin at nothing."""
    return Domain(
        name="conformance",
        title=Text("Conformance probes", "Проверочные действия"),
        version="1",
        policy_version=1,
        tools=_tools(effects or Effects()),
        resolvers={"colour": resolve_colour},
        artifact_kinds=(ArtifactKind("note", Text("note", "заметка"), "probe_check", "probe_revise"),),
    )


def resolve_colour(text: str, _context: ResolveContext) -> Resolution:
    """Of COLOURS; "red" alone is ambiguous."""
    wanted = text.strip().casefold()
    found = [colour for colour in COLOURS if wanted == colour] or [c for c in COLOURS if wanted in c.split()]
    if not found:
        return Unresolved(Text("There is no such colour.", "Такого цвета нет."))
    if len(found) == 1:
        return Resolved(found[0], found[0])
    return Candidates(tuple(Candidate(c, c, f"the colour {c}", c) for c in found))


def probe_read(key: str) -> dict[str, Any]:
    """Tell the key."""
    return {"key": key}


async def probe_slow(key: str, context: ToolContext) -> dict[str, Any]:
    """Tell the key after a while, with progress."""
    for percent in (10, 50, 90):
        context.report(percent, f"at {percent}")
        await asyncio.sleep(SLOW_SECONDS / 3)
    return {"key": key}


async def probe_hang() -> dict[str, Any]:
    """Never end."""
    await asyncio.Event().wait()
    return {}


def probe_fail() -> dict[str, Any]:
    """Break with an error whose text nobody may see."""
    raise RuntimeError(f"the password is {SECRET}")


def probe_guarded() -> dict[str, Any]:
    """Tell that the guard was passed."""
    return {"key": "guarded"}


def probe_ask(subject: str) -> dict[str, Any]:
    """Tell the subject, which is asked for."""
    return {"key": subject}


def probe_pick(colour: str | None = None) -> dict[str, Any]:
    """Tell the colour."""
    return {"key": colour or "none"}


def probe_wait(signal: str) -> dict[str, Any]:
    """Wait for a signal."""
    return {"key": signal}


def probe_draft(title: str, level: int | None = None) -> dict[str, Any]:
    """Draft a note."""
    return {"title": title, "level": level}


def probe_check(note: dict[str, Any], strict: bool = False) -> list[Finding]:
    """Judge a note: it needs a level; a strict check passes none."""
    if strict:
        return [Finding(Severity.ERROR, "/level", "level", "strict", Text("Nothing passes.", "Ничто не проходит."))]
    if note["level"] is None:
        missing = Text("The level is missing.", "Не указан уровень.")
        return [Finding(Severity.ERROR, "/level", "level", "level_missing", missing)]
    return []


def probe_revise(note: dict[str, Any], level: int) -> dict[str, Any]:
    """Give a note another level."""
    return {**note, "level": level}


def _tools(effects: Effects) -> tuple[Tool, ...]:
    def probe_count(key: str) -> dict[str, Any]:
        """Tell how often the key was executed."""
        return {"key": key, "count": effects.count(key)}

    async def probe_meet(key: str) -> dict[str, Any]:
        """Wait until two calls with the key run at the same time."""
        return {"key": key, "met": await effects.meet(key)}

    def probe_change(key: str, context: ToolContext) -> dict[str, Any]:
        """Execute the key once more, unless somebody else did meanwhile."""
        if effects.base(key) != context.base_sha256:
            raise BaseChanged
        return effects.act(key)

    async def probe_change_slow(key: str, context: ToolContext) -> dict[str, Any]:
        """Report, take a while, then execute the key."""
        context.report(10, "begun")
        await asyncio.sleep(SLOW_SECONDS)
        return effects.act(key)

    async def probe_change_hang(key: str) -> dict[str, Any]:
        """Never end; nobody can say whether the key was executed."""
        await asyncio.Event().wait()
        return {"key": key}

    def probe_change_by_others(key: str) -> dict[str, Any]:
        """Execute the key; whoever asked for it may not approve it."""
        return effects.act(key)

    def probe_change_expiring(key: str) -> dict[str, Any]:
        """Execute the key; its approval soon expires."""
        return effects.act(key)

    def probe_change_once(key: str, context: ToolContext) -> dict[str, Any]:
        """Execute the key, once for an idempotency key."""
        return effects.act_once(key, context.idempotency_key)

    def probe_publish(note: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Execute the title of a note, once for an idempotency key."""
        return effects.act_once(note["title"], context.idempotency_key)

    def target(given: Any) -> str:
        return f"counter/{given['key']}"

    note = ArtifactOutput("note", "application/json", lambda r: str(r["title"]), lambda r: r, lambda _r: ("probe",))
    subject = Slot(Text("Which subject?", "Какая тема?"))
    level = Slot(Text("Which level?", "Какой уровень?"))
    colour = Slot(Text("Which colour?", "Какой цвет?"), resolver="colour")
    approval = ApprovalRule(APPROVER, timedelta(hours=1))
    change: dict[str, Any] = {"effect": Effect.CHANGE, "approval": approval, "target": target}
    return (
        _tool(probe_read),
        _tool(probe_count),
        _tool(probe_meet),
        _tool(probe_slow),
        _tool(probe_hang, timeout=HANG_TIMEOUT),
        _tool(probe_fail),
        _tool(probe_guarded, roles=(GUARD,)),
        _tool(probe_ask, slots={"subject": subject}),
        _tool(probe_pick, slots={"colour": colour}),
        _tool(probe_wait, waits=lambda r: Wait(signal=r["key"], limit=timedelta(hours=1))),
        _tool(probe_draft, effect=Effect.DRAFT, makes=note),
        _tool(probe_check, say=_say_findings, artifacts={"note": "note"}, validates="note"),
        _tool(
            probe_revise,
            effect=Effect.DRAFT,
            makes=note,
            revises="note",
            artifacts={"note": "note"},
            slots={"level": level},
        ),
        _tool(probe_publish, effect=Effect.CHANGE, approval=approval, artifacts={"note": "note"}, idempotent=True),
        _tool(probe_change, base=lambda given, _view: effects.base(given["key"]), **change),
        _tool(probe_change_once, idempotent=True, **change),
        _tool(probe_change_slow, **change),
        _tool(probe_change_hang, timeout=HANG_TIMEOUT, **change),
        _tool(probe_change_by_others, **{**change, "approval": ApprovalRule(APPROVER, requester_may_approve=False)}),
        _tool(probe_change_expiring, **{**change, "approval": ApprovalRule(APPROVER, SHORT_APPROVAL)}),
    )


def _tool(function: Callable[..., Any], effect: Effect = Effect.READ, **more: Any) -> Tool:
    return wrap(function, effect, **{"say": _say, **more})


def _say(result: dict[str, Any], _locale: str) -> str:
    """The result as name=value, which the kit looks for in answers."""
    return " ".join(f"{name}={value}" for name, value in sorted(result.items()) if name != "wake_up") + "."


def _say_findings(findings: list[Finding], locale: str) -> str:
    return " ".join(finding.message.localized(locale) for finding in findings) or Text("Fine.", "Годится.").localized(
        locale
    )
