"""What an adapter has to serve for the kit: a domain of probe tools, as data. docs/conformance.md says the same.

Read by the rules: they send the messages made here and look for `name=value` in the answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from handrail.common.v1.tool_pb2 import EFFECT_CHANGE, EFFECT_DRAFT, EFFECT_READ, Effect

DOMAIN = "conformance"
APPROVER = "approver"
GUARD = "probe_admin"
SECRET = "probe-secret"
"""Part of the error that probe_fail breaks with; must never reach a caller."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A tool as DescribeDomain has to describe it.

    Args:
        core: without it nothing can be checked; the others are optional, and their rules then not applicable.
        role: which permits the tool; "" permits everybody.
        does: what it does, for the list.
    """

    name: str
    effect: Effect.ValueType
    does: str
    idempotent: bool = False
    core: bool = False
    role: str = ""

    @property
    def needs_approval(self) -> bool:
        """Every CHANGE tool is approved by the role APPROVER."""
        return self.effect == EFFECT_CHANGE


PROBES: tuple[Probe, ...] = (
    Probe("probe_read", EFFECT_READ, "key: the answer contains key=KEY", core=True),
    Probe("probe_count", EFFECT_READ, "key: the answer contains count=N, the executions of the key", core=True),
    Probe("probe_ask", EFFECT_READ, "subject, required and asked for: the answer contains key=SUBJECT", core=True),
    Probe("probe_change", EFFECT_CHANGE, "key: executes the key; target and base are part of the input", core=True),
    Probe("probe_meet", EFFECT_READ, "key: waits until two calls with the key run; the answer contains met=True"),
    Probe("probe_slow", EFFECT_READ, "key: about 300 ms, with progress; the answer contains key=KEY"),
    Probe("probe_hang", EFFECT_READ, "never ends; its timeout is 300 ms"),
    Probe("probe_fail", EFFECT_READ, f"breaks with an error whose text contains {SECRET}"),
    Probe("probe_guarded", EFFECT_READ, "the answer contains key=guarded", role=GUARD),
    Probe("probe_pick", EFFECT_READ, "colour, may be skipped; red is offered as dark red and light red"),
    Probe("probe_wait", EFFECT_READ, "signal: waits for that signal"),
    Probe("probe_draft", EFFECT_DRAFT, "title, level (optional): makes the JSON artifact {level, title}"),
    Probe("probe_check", EFFECT_READ, "validates the newest note: needs a level; strict=true passes none"),
    Probe("probe_revise", EFFECT_DRAFT, "level: a new version of the newest note with that level"),
    Probe("probe_publish", EFFECT_CHANGE, "executes the title of the newest note, if it is valid", idempotent=True),
    Probe("probe_change_once", EFFECT_CHANGE, "key: executes the key, once for its key", idempotent=True),
    Probe("probe_change_slow", EFFECT_CHANGE, "key: progress, about 300 ms, then executes the key"),
    Probe("probe_change_hang", EFFECT_CHANGE, "key: never ends; its timeout is 300 ms"),
    Probe("probe_change_by_others", EFFECT_CHANGE, "key: executes the key; its requester may not approve it"),
    Probe("probe_change_expiring", EFFECT_CHANGE, "key: executes the key; its approval expires after 1 s"),
)
BY_NAME = {probe.name: probe for probe in PROBES}
