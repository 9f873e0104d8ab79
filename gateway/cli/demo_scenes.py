"""The scenes of `make demo`, in order, with those of aviation. Each talks to real processes and checks what it shows.

The end-to-end tests play the same functions. A scene raises ExpectationFailed where something is not as it must be.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from gateway.cli.conversing import Turn, digest_is_of_what_is_shown
from gateway.cli.demo_stage import Dialogue, Stage, receipts, tools_that
from gateway.cli.demo_workbench import keeps_an_outside_edit, publishes_a_reviewed_change
from handrail.common.v1.failure_pb2 import Failure, Progress
from handrail.common.v1.failure_pb2 import Stage as FailureStage
from handrail.common.v1.prompt_pb2 import PromptType
from handrail.loop.v1.event_pb2 import ApprovalRequired, ClarificationRequired
from handrail.loop.v1.workflow_loop_service_pb2 import PENDING_KIND_APPROVAL
from handrail_rpc.digest import sha256_hex

Scene = Callable[[Stage], Awaitable[None]]

# Ten turns about a route from EDDB, said twice over: follow-ups and requests of their own, in both languages. They
# name no further place: what a session remembers of places is bounded, and a new one is remembered until it is full.
FURTHER_TURNS = (
    "What is the weather there?",
    "Find the airport EDDB",
    "What is the weather there?",
    "Какая погода в {end}?",
    "Find the airport {end}, then the weather there",
    "Какая там погода?",
    "What is the weather at Berlin Brandenburg?",
    "Найди аэропорт EDDB",
    "Find the airport {end}",
    "What is the weather at {end}?",
)
# How much the contexts may exceed those of the same ten turns before: nothing may accumulate.
CONTEXT_TOLERANCE = 1.10


async def asks_for_the_position(stage: Stage) -> None:
    """Nothing is invented for "nearest to me": the position is asked for, and its answer goes on (C11)."""
    dialogue = await stage.open("Weather near me")
    turn = await dialogue.say("What is the weather at the airport nearest to me?", "clarification_required")
    asked: ClarificationRequired = turn.last.clarification_required
    stage.expect(
        "position" in asked.prompt.task.slot and asked.prompt.type == PromptType.PROMPT_TYPE_INPUT,
        "a question for the position, as free text",
        asked.prompt,
    )
    stage.expect("get_weather" not in tools_that(turn), "no weather before the position is known", tools_that(turn))
    turn = await dialogue.say("52.52, 13.40", "completed")
    stage.expect("get_weather" in tools_that(turn), "the weather tool ran after the answer", tools_that(turn))
    answer = turn.last.completed.answer
    told = " ".join([answer.text, *answer.limitations]).lower()
    stage.expect("synthetic" in told, "the answer says that this weather is synthetic", told)


async def builds_an_ambiguous_route(stage: Stage) -> None:
    """A closed list instead of a guess, an ordinal as the reply, the artifact; then twenty turns, no larger (H3)."""
    dialogue = await stage.open("Route")
    turn = await dialogue.say("Build a route from Berlin Brandenburg to San Jose", "clarification_required")
    options = turn.last.clarification_required.prompt.options
    stage.expect(len(options) >= 2, "at least two candidates", list(options))
    stage.expect(not turn.of("artifact_published"), "no route before the choice")
    turn = await dialogue.say("the second", "completed")
    published = turn.of("artifact_published")
    stage.expect(len(published) == 1, "one artifact", published)
    data = await stage.client.read_artifact(dialogue.conversation_id, published[0].artifact_id, published[0].version)
    stage.expect(sha256_hex(data) == published[0].sha256, "the artifact's bytes have the sha256 of the event")
    route = json.loads(data)
    stage.expect(
        route["type"] == "Feature" and route["geometry"]["type"] in ("LineString", "MultiLineString"),
        f"a GeoJSON {route['geometry']['type']} of {len(data)} bytes",
    )
    chosen, end = options[1].identity, route["properties"]["destination"]["icao"]
    stage.expect(end == chosen, f"its end is the second candidate, {chosen}", end)
    sizes = [await dialogue.context_size_bytes(turn)]
    for text in FURTHER_TURNS * 2:
        turn = await dialogue.say(text.format(end=end), "completed", brief=True)
        sizes.append(await dialogue.context_size_bytes(turn))
    stage.expect(sizes[0] > 0, "the context's size is measured", sizes)
    ten, again = sizes[1 : len(FURTHER_TURNS) + 1], sizes[len(FURTHER_TURNS) + 1 :]
    stage.expect(
        max(again) <= max(ten) * CONTEXT_TOLERANCE,
        f"twenty more turns, contexts of {min(ten)} to {max(ten)} bytes, then of {min(again)} to {max(again)}",
        sizes,
    )


async def drafts_a_flight_plan(stage: Stage) -> None:
    """Draft, failed validation, one question a missing slot, revision, validation, approval (B5, C4, E1)."""
    stage.plan = await stage.open("Flight plan")
    turn = await stage.plan.say("File a flight plan from Berlin Brandenburg to Munich")
    turn, asked, tools = await answer_slots(stage, stage.plan, turn)
    stage.expect(len(asked) >= 3 and len(set(asked)) == len(asked), f"one question a slot: {', '.join(asked)}", asked)
    drafted, revised = tools.index("draft_flight_plan"), tools.index("revise_flight_plan")
    checks = [number for number, tool in enumerate(tools) if tool == "validate_flight_plan"]
    stage.expect(
        len(checks) >= 2 and drafted < checks[0] < revised < checks[-1],
        "drafted, validated, revised, validated again",
        tools,
    )
    stage.expect(turn.ending == "approval_required", "an approval is asked for before anything is filed", turn.ending)
    stage.shown = turn.last.approval_required
    stage.expect(digest_is_of_what_is_shown(stage.shown), "the digest is that of the snapshot shown")
    stage.expect(
        all(part in stage.shown.input_preview for part in ("(FPL-", "EDDB", "EDDM")),
        "the preview is the message that will be filed",
        stage.shown.input_preview,
    )
    stage.expect(not stage.filed(), "nothing is filed yet", stage.filed())


async def survives_a_kill(stage: Stage) -> None:
    """SIGKILL both services while the approval is open, and start them again on what they stored (B3)."""
    for process in (stage.stack.loop, stage.stack.adapter):
        stage.console.print(f"  kill -9 {process.pid} ({process.service.name})", style="bold red")
        process.kill()
    stage.stack.start()
    await stage.wait_ready()
    stage.console.print("  both are back", style="green")
    stage.expect(not stage.filed(), "still nothing is filed", stage.filed())


async def files_once_approved(stage: Stage) -> None:
    """The approval outlived the processes; approved by the digest shown, it files exactly one plan (E1, E2)."""
    plan, shown = stage.kept(stage.plan, "the flight plan"), stage.kept(stage.shown, "the approval")
    pending = await stage.client.pending(PENDING_KIND_APPROVAL, plan.conversation_id)
    stage.expect(
        [item.approval for item in pending] == [shown], "the approval is still open, exactly as it was shown", pending
    )
    turn = await plan.approve(shown.approval_id, shown.snapshot_digest, "completed")
    filed = receipts(turn, "file_flight_plan")
    stage.expect(len(filed) == 1, "file_flight_plan succeeded once", tools_that(turn))
    stage.receipt_id = filed[0].execution_id
    stage.expect(filed[0].key == shown.snapshot.idempotency_key, "under the key that was approved", filed[0])
    stage.expect(len(stage.filed()) == 1, "exactly one file lies in the outbox", stage.filed())
    plan_filed = json.loads(stage.filed()[0].read_text("utf-8"))
    stage.expect("(FPL-" in plan_filed["fpl"], f"it holds the ICAO message {plan_filed['fpl'].splitlines()[0]}")


async def files_nothing_twice(stage: Stage) -> None:
    """The same verdict again, under another request id: the same receipt, no second execution (E4)."""
    plan, shown = stage.kept(stage.plan, "the flight plan"), stage.kept(stage.shown, "the approval")
    turn = await plan.approve(shown.approval_id, shown.snapshot_digest, "completed")
    again = [receipt.execution_id for receipt in receipts(turn, "file_flight_plan")]
    stage.expect(again == [stage.receipt_id], f"the same receipt {stage.receipt_id}", again)
    stage.expect(len(stage.filed()) == 1, "still exactly one file", stage.filed())


async def blocks_a_stale_approval(stage: Stage) -> None:
    """A plan changed after its approval was asked for: the old digest executes nothing (E3, E5)."""
    dialogue = await stage.open("A second plan")
    turn = await dialogue.say("File a flight plan from Hamburg to Munich")
    turn, _, _ = await answer_slots(stage, dialogue, turn)
    stage.expect(turn.ending == "approval_required", "an approval is asked for", turn.ending)
    old: ApprovalRequired = turn.last.approval_required
    turn = await dialogue.say("Change the level to FL370", "approval_required")
    new: ApprovalRequired = turn.last.approval_required
    stage.expect(
        new.approval_id != old.approval_id and new.snapshot_digest != old.snapshot_digest,
        "a new approval for the changed plan",
        new,
    )
    stage.expect("F370" in new.input_preview, "its preview shows the new level", new.input_preview)
    before = stage.filed()
    turn = await dialogue.approve(old.approval_id, old.snapshot_digest, "approval_required")
    codes = [each.code for each in turn.of("policy_blocked")]
    stage.expect(codes == ["approval_stale"], "the old digest is blocked by policy: approval_stale", codes)
    shown_again = turn.last.approval_required
    stage.expect(shown_again == new, "the current approval is shown again, made once", shown_again)
    stage.expect(stage.filed() == before and not tools_that(turn), "nothing was executed or filed", stage.filed())


async def shows_a_failure_with_its_steps(stage: Stage) -> None:
    """Two steps succeed, the third cannot: stage, code, explanation, and the two that were done (G1, G3)."""
    dialogue = await stage.open("A step that fails")
    turn = await dialogue.say("Find the airport EDDB, then the weather there, then build a route from there to XQZW")
    insisted = 0
    while turn.ending == "clarification_required" and insisted < 3:
        # There is no such airport; the person insists until the services give up rather than guess.
        stage.expect("XQZW" in turn.last.clarification_required.prompt.question, "the question names what is unknown")
        insisted += 1
        turn = await dialogue.say("XQZW")
    stage.expect(turn.ending == "failed", "the run fails", turn.ending)
    failure: Failure = turn.last.failed.failure
    stage.expect(
        failure.stage != FailureStage.STAGE_UNSPECIFIED and failure.code and failure.explanation,
        f"stage {FailureStage.Name(failure.stage)}, code {failure.code}, an explanation",
        failure,
    )
    stage.expect(failure.progress == Progress.PROGRESS_PARTIAL, "progress: partial", failure.progress)
    steps = [step.tool for step in failure.confirmed_steps]
    stage.expect(len(steps) == 2, f"two confirmed steps: {', '.join(steps)}", steps)
    stage.expect(failure.request_id, "the request id to ask about", failure)


SCENES: tuple[tuple[str, Scene], ...] = (
    ("A question asks precisely for what is missing", asks_for_the_position),
    ("An ambiguous route, an ordinal, an artifact, and twenty more turns", builds_an_ambiguous_route),
    ("A flight plan: drafted, invalid, revised slot by slot, valid, approval asked", drafts_a_flight_plan),
    ("Loop and Adapter are killed with SIGKILL and restarted", survives_a_kill),
    ("Approved by the digest that was shown: filed exactly once", files_once_approved),
    ("Approved again: the same receipt, nothing filed", files_nothing_twice),
    ("Changed after the approval was requested: the old digest is blocked", blocks_a_stale_approval),
    ("A failure after two successful steps explains itself", shows_a_failure_with_its_steps),
    ("Documents: quoted, changed, refused by the schema, revised, approved by another", publishes_a_reviewed_change),
    ("A document edited before its approval is not overwritten", keeps_an_outside_edit),
)


def slot_answer(slot: str, now: datetime) -> str:
    """What the demo's dispatcher says when asked for a slot of a flight plan; raises KeyError for another slot."""
    tomorrow = (now + timedelta(days=1)).replace(hour=10, minute=0, second=0, microsecond=0)
    return {
        "aircraft_id": "DLH4AB",
        "aircraft_type": "A320",
        "departure_time": tomorrow.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cruising_speed": "N0450",
        "level": "FL360",
        "endurance_minutes": "240",
        "persons_on_board": "152",
    }[slot]


async def answer_slots(stage: Stage, dialogue: Dialogue, turn: Turn) -> tuple[Turn, list[str], list[str]]:
    """Answer one question after another; returns the last turn, the slots asked, the tools that succeeded."""
    asked: list[str] = []
    tools = tools_that(turn)
    while turn.ending == "clarification_required" and len(asked) < 12:
        slot = turn.last.clarification_required.prompt.task.slot
        try:
            text = slot_answer(slot, datetime.now(UTC))
        except KeyError:
            stage.expect(False, "a question for a missing slot of the flight plan", slot)
            raise
        asked.append(slot)
        turn = await dialogue.say(text)
        tools += tools_that(turn)
    return turn, asked, tools
