"""Rules about refusals: their form, and what is bad input."""

from __future__ import annotations

import re
from typing import Any

from gateway.cli.conformance.kit import Kit
from gateway.cli.conformance.rule import expect, rule
from gateway.cli.conformance.wire import Refused
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import fact_pb2, tool_pb2

_REASON = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
_TRACES = re.compile(r"Traceback|Exception|\bat [\w.$]+\([\w.]+:\d+\)|File \"|panic:|\.(py|go|java|rs|ts):\d+")
_LONG = "x" * 5000


@rule(
    wants="A refusal carries ErrorInfo with the domain handrail, a reason in UPPER_SNAKE, and its request id.",
    source="docs/protocol.md#refusals",
    why="The Loop acts on the reason; a text would have to be guessed at.",
    needs=("probe_read",),
)
async def refusals_have_a_reason(kit: Kit) -> None:
    begun = await kit.begin()
    message = begun.message("probe_read key=a")
    wrong = begun.decide_request(message, domain_session_id="ses_never_opened")
    refusals = 0
    for attempt in (
        lambda: begun.send(wrong),
        lambda: begun.send(begun.decide_request(message, decision_number=7)),
        lambda: begun.send(begun.decide_request(message, history_id="his_other")),
        lambda: begun.cancel(interaction_id=""),
    ):
        try:
            await attempt()
        except Refused as refused:
            refusals += 1
            code = refused.code.name
            expect(refused.info_domain == "handrail", f"{code}: the domain of ErrorInfo is {refused.info_domain!r}")
            expect(_REASON.fullmatch(refused.reason), f"{code}: the reason is {refused.reason!r}")
            expect(refused.metadata.get("request_id"), f"{code}: the metadata lack request_id")
            expect(not _TRACES.search(refused.text), f"{code}: the text shows the inside: {refused.text!r}")
    # Which of them have to be refused is the matter of other rules.
    expect(refusals, "nothing that is wrong was refused")


@rule(
    wants="A wrong field of DecideRequest is INVALID_ARGUMENT, and a field violation names it.",
    source="docs/protocol.md#refusals",
    why="Whoever writes a client finds the mistake from the answer alone.",
    needs=("probe_read",),
)
async def bad_decide_refused(kit: Kit) -> None:
    begun = await kit.begin()
    unknown = fact_pb2.Fact(name="position", source=fact_pb2.SOURCE_UNSPECIFIED)
    for field, changes in _with_ids("request_id", "domain_session_id", "interaction_id", "run_id", "history_id") + [
        ("lease_epoch", {"lease_epoch": -1}),
        ("decision_number", {"decision_number": 0}),
        ("base_plan_version", {"base_plan_version": -1}),
        ("locale", {"locale": "xx"}),
        ("observation", {"observation": obs.Observation()}),
        ("caller", {"caller": None}),
        ("facts[0].source", {"facts": [unknown]}),
    ]:
        request = begun.decide_request(begun.message("probe_read key=a"), **changes)
        await kit.refused(begun.send(request), "INVALID_ARGUMENT", "", field)
    empty = begun.decide_request(begun.message(" "))
    await kit.refused(begun.send(empty), "INVALID_ARGUMENT", "", "observation.user_message.text")
    await begun.say("probe_read key=a")


@rule(
    wants="A wrong field of ExecuteToolRequest is INVALID_ARGUMENT, and a field violation names it.",
    source="docs/protocol.md#refusals",
    why="Whoever writes a client finds the mistake from the answer alone.",
    needs=("probe_read",),
)
async def bad_execute_refused(kit: Kit) -> None:
    begun = await kit.say("probe_read key=a")
    call = begun.only_call()
    ids = ("request_id", "domain_session_id", "interaction_id", "run_id", "tool_call_id", "history_id")
    for field, changes in _with_ids(*ids) + [("dispatch_number", {"dispatch_number": 0}), ("locale", {"locale": ""})]:
        await kit.refused(begun.execute(call, **changes), "INVALID_ARGUMENT", "", field)


@rule(
    wants="A wrong field of OpenSession, CancelInteraction or SettleExecution is INVALID_ARGUMENT, and named.",
    source="docs/protocol.md#refusals",
    why="An outcome that nobody stated must not settle anything.",
    needs=("probe_change",),
)
async def bad_unary_refused(kit: Kit) -> None:
    for field in ("request_id", "domain", "conversation_id"):
        fields = {"request_id": kit.new_id("req"), "domain": kit.domain, "conversation_id": kit.new_id("conv")}
        request = pb2.OpenSessionRequest(**{**fields, field: ""})
        await kit.refused(kit.send("OpenSession", request), "INVALID_ARGUMENT", "", field)
    begun = await kit.say(f"probe_change key={kit.new_key()}")
    for field, changes in _with_ids("request_id", "domain_session_id", "interaction_id", "history_id"):
        await kit.refused(begun.cancel(**changes), "INVALID_ARGUMENT", "", field)
    call = await begun.approve()
    await begun.execute(call, dispatch_number=2)
    unset = begun.settle_request(call, tool_pb2.OUTCOME_UNSPECIFIED)
    await kit.refused(kit.send("SettleExecution", unset), "INVALID_ARGUMENT", "", "outcome")
    nobody = begun.settle_request(call, tool_pb2.OUTCOME_SUCCEEDED, settled_by="")
    await kit.refused(kit.send("SettleExecution", nobody), "INVALID_ARGUMENT", "", "settled_by")


def _with_ids(*names: str) -> list[tuple[str, dict[str, Any]]]:
    """Each id empty, and each too long."""
    return [(name, {name: value}) for name in names for value in ("", _LONG)]
