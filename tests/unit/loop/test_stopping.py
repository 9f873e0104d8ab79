"""Stops and what they close, timers, queued messages and decisions that cannot be carried out, on the real stores.

Each test is the shortest way into a state where the Loop once went round in a circle, lost something or said too much.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.common.v1 import decision_pb2, tool_pb2
from handrail.loop.v1 import event_pb2
from handrail_rpc.context import Caller
from handrail_rpc.errors import FailedPrecondition, PermissionDenied, ResourceExhausted, Unavailable
from loop_service.application.accept import CallInfo
from loop_service.application.cancel_interaction import Cancellation
from loop_service.application.create_conversation import NewConversation
from loop_service.application.ports import BegunCall, Closed, DecideInput, RunContext
from loop_service.application.resolve_approval import ApprovalVerdict
from loop_service.application.send_message import NewMessage, Reply
from loop_service.application.store_ports import Timer
from loop_service.domain.approval import Verdict
from loop_service.domain.conversation import MOST_QUEUED_MESSAGES
from loop_service.domain.events import StoredEvent
from loop_service.domain.interaction import Interaction, InteractionState
from loop_service.domain.observation import ReplyResponse
from tests.fakes import adapter as script
from tests.unit.loop.stage import CALL, Stage, make_template


class Scene:
    """One conversation on a stage; `decisions` are what the Adapter answers, in this order."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.decisions: list[decision_pb2.Decision] = []
        self.asked: list[DecideInput] = []
        stage.adapter.decide_next = self._decide
        stage.adapter.execute_next = lambda call: tool_pb2.ToolOutcome(outcome=tool_pb2.OUTCOME_SUCCEEDED)
        request = NewConversation("create", "body", "test", "", {})
        self.conversation_id = stage.run(stage.create.execute(request, CALL)).conversation_id
        self._count = 0

    def _decide(self, asked: DecideInput) -> decision_pb2.Decision:
        self.asked.append(asked)
        return self.decisions.pop(0)

    def send(self, text: str, reply: Reply | None = None, call: CallInfo = CALL) -> None:
        self._count += 1
        request = NewMessage(f"req-{self._count}", "body", self.conversation_id, text, reply, "", ())
        self.stage.run(self.stage.send.execute(request, call))

    def cancel(self) -> None:
        self._count += 1
        request = Cancellation(f"req-{self._count}", "body", self.interaction().interaction_id, "")
        with pytest.raises(Unavailable):
            # Nobody waits for the ending here: the feed of the stage drains.
            self.stage.run(self.stage.cancel.execute(request, CALL))

    def resolve(self, verdict: Verdict) -> None:
        self._count += 1
        approval_id = self.last("approval_required").approval_id
        digest = self.last("approval_required").snapshot_digest
        request = ApprovalVerdict(f"req-{self._count}", "body", approval_id, verdict, digest, "")
        self.stage.run(self.stage.resolve.execute(request, CALL))

    def work(self) -> None:
        """Steps until no run has anything to do."""
        for _ in range(50):
            if not self.stage.workers.steps:
                return
            self.stage.take_step(sorted(self.stage.workers.steps)[0])
        raise AssertionError("the run goes on for ever")

    def step(self) -> None:
        self.stage.take_step(next(iter(self.stage.workers.steps)))

    def fire(self, seconds: float) -> None:
        self.stage.clock.pass_time(seconds)
        self.stage.run(self.stage.timers.fire())
        self.stage.claim()

    def events(self) -> list[StoredEvent]:
        return self.stage.run(self.stage.storage.read(lambda tx: tx.journal.events(self.conversation_id, 0, 10_000)))

    def names(self) -> list[str]:
        return [event.name for event in self.events()]

    def last(self, name: str) -> Any:
        data = next(event.data for event in reversed(self.events()) if event.name == name)
        return getattr(event_pb2.Event.FromString(data), name)

    def interaction(self) -> Interaction:
        """The newest one."""
        interaction_id = event_pb2.Event.FromString(self.events()[-1].data).interaction_id
        found = self.stage.run(self.stage.storage.read(lambda tx: tx.interactions.find(interaction_id)))
        assert found is not None
        return found


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    stage = Stage(tmp_path, make_template(tmp_path))
    yield Scene(stage)
    stage.close()


def waiting(seconds: int) -> decision_pb2.Decision:
    decision = decision_pb2.Decision()
    decision.wait.until.seconds = seconds
    return decision


def test_a_stop_closes_the_open_question_so_that_a_click_on_it_is_refused(scene: Scene) -> None:
    scene.decisions = [script.ask(options=[("c1", "One"), ("c2", "Two")])]
    scene.send("go")
    scene.work()
    question = scene.last("clarification_required").clarification_id
    scene.stage.adapter.away = True
    scene.cancel()
    click = Reply("", question, ReplyResponse(selected_candidate_id="c1"))
    with pytest.raises(FailedPrecondition) as refusal:
        scene.send("", click)
    assert refusal.value.metadata["state"] == "withdrawn"
    scene.work()
    with pytest.raises(FailedPrecondition):
        scene.send("", click)
    scene.stage.adapter.away = False
    scene.fire(400)
    scene.work()
    assert scene.interaction().state is InteractionState.CANCELED


def test_a_stop_withdraws_the_open_approval_before_the_adapter_has_answered(scene: Scene) -> None:
    scene.decisions = [script.request_approval()]
    scene.send("file")
    scene.work()
    scene.stage.adapter.away = True
    scene.cancel()
    scene.work()
    assert scene.names()[-1] == "waiting"
    with pytest.raises(FailedPrecondition) as refusal:
        scene.resolve(Verdict.APPROVE)
    assert refusal.value.metadata["state"] == "withdrawn"
    assert scene.last("approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_WITHDRAWN


def test_timers_of_a_stopped_interaction_store_no_second_observation(scene: Scene) -> None:
    """A wait, then a message whose decision never came, then a stop that the Adapter does not answer."""
    scene.decisions = [waiting(60)]
    scene.send("go")
    scene.work()
    scene.stage.adapter.away = True
    scene.send("and?")
    scene.cancel()
    scene.work()
    assert scene.interaction().state is InteractionState.WAITING
    scene.fire(400)
    scene.work()
    scene.stage.adapter.away = False
    scene.fire(800)
    scene.work()
    assert scene.interaction().state is InteractionState.CANCELED


def test_one_timer_that_cannot_be_handled_holds_up_no_other(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.decisions = [waiting(60), script.complete()]
    scene.send("go")
    scene.work()
    handled: list[str] = []
    timers = scene.stage.timers
    fire = timers._fire

    def failing(tx: Any, timer: Any, now: Any) -> None:
        handled.append(timer.kind)
        if timer.kind == "wait_limit":
            raise RuntimeError("broken row")
        fire(tx, timer, now)

    monkeypatch.setattr(timers, "_fire", failing)
    interaction = scene.interaction()

    def put(tx: Any) -> None:
        tx.timers.put(Timer(interaction.interaction_id, "wait_limit", interaction.create_time))

    scene.stage.run(scene.stage.storage.write(put))
    scene.stage.clock.pass_time(100)
    with pytest.raises(RuntimeError):
        scene.stage.run(timers.fire())
    assert handled == ["wait_limit", "wait"]
    scene.stage.claim()
    scene.work()
    assert scene.interaction().state is InteractionState.COMPLETED


def test_a_refused_stop_with_a_change_under_way_waits_instead_of_asking_in_a_circle(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.decisions = [script.call("call_1", effect=tool_pb2.EFFECT_EXTERNAL)]
    scene.send("go")
    scene.step()
    scene.step()
    refusals = 0

    async def refuse(context: RunContext, epoch: int) -> Closed:
        nonlocal refusals
        refusals += 1
        raise PermissionDenied("no")

    monkeypatch.setattr(scene.stage.adapter, "cancel", refuse)
    scene.cancel()
    scene.work()
    assert refusals == 1
    assert scene.names()[-1] == "waiting"
    assert scene.interaction().state is InteractionState.WAITING


def test_a_begun_call_that_neither_runs_nor_ended_is_asked_for_not_called_blocked(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its attempt died with the Adapter's process: the ledger names it, so it is never told as not begun."""
    scene.decisions = [script.call("call_1", effect=tool_pb2.EFFECT_EXTERNAL)]
    scene.send("go")
    scene.step()
    scene.step()

    async def orphan(context: RunContext, epoch: int) -> Closed:
        return Closed((BegunCall("call_1", "look", False, b""),))

    monkeypatch.setattr(scene.stage.adapter, "cancel", orphan)
    scene.cancel()
    scene.work()
    assert scene.last("tool_finished").outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert scene.stage.adapter.executions == {"call_1": 1}


def test_a_canceled_interaction_names_who_ended_it_in_the_audit(scene: Scene) -> None:
    scene.decisions = [script.ask()]
    scene.send("go")
    scene.work()
    scene.send("stop", call=CallInfo(Caller(), "req", ""))
    scene.work()
    rows = scene.stage.run(
        scene.stage.storage.read(lambda tx: tx.journal.audit_page(scene.conversation_id, "", 0, 100))
    )
    ended = [row.entry for row in rows if row.entry.kind == "interaction_ended"]
    assert [entry.actor for entry in ended] == ["local"]


def test_a_new_request_verdict_on_the_root_message_is_no_decision(scene: Scene) -> None:
    """Otherwise each successor would be superseded by its own first decision, for ever."""
    scene.decisions = [script.reply(decision_pb2.REPLY_VERDICT_NEW_REQUEST)] * 60
    scene.send("go")
    scene.work()
    assert scene.last("failed").failure.code == "plan_invalid"
    assert len(scene.asked) == 1


@pytest.mark.parametrize("repeated", [["call_1", "call_1"], ["call_1"]])
def test_a_call_id_used_before_ends_as_plan_invalid(scene: Scene, repeated: list[str]) -> None:
    scene.decisions = [script.call("call_1"), script.call(*repeated)]
    if len(repeated) == 2:
        scene.decisions.pop(0)
    scene.send("go")
    scene.work()
    assert scene.last("failed").failure.code == "plan_invalid"
    assert scene.names().count("tool_finished") == len(scene.asked) - 1


def test_the_same_call_id_in_another_interaction_is_another_call(scene: Scene) -> None:
    """Two Adapters know nothing of each other's ids."""
    for number in (1, 2):
        scene.decisions = [script.call("call_1"), script.complete()]
        scene.send(f"go {number}")
        scene.work()
        first = scene.asked[0].observation.interaction_id
    calls = scene.stage.run(scene.stage.storage.read(lambda tx: tx.steps.calls_of(first)))
    assert [call.tool_call_id for call in calls] == ["call_1"]


@pytest.mark.parametrize("seconds", [0, -1, 315_576_000_000])
def test_a_wait_that_cannot_end_or_never_does_is_plan_invalid(scene: Scene, seconds: int) -> None:
    scene.decisions = [waiting(seconds)]
    scene.send("go")
    scene.work()
    assert scene.last("failed").failure.code == "plan_invalid"


def test_a_queued_message_of_a_caller_without_roles_gets_none(scene: Scene) -> None:
    """Roles come from the credential of the newest message, never from an older one."""
    scene.decisions = [script.call("call_1"), script.complete(), script.complete()]
    scene.send("go", call=CallInfo(Caller(roles=frozenset({"dispatcher"})), "req", ""))
    scene.send("more", call=CallInfo(Caller(roles=frozenset(), locale="ru"), "req", ""))
    scene.work()
    successor = scene.interaction()
    assert (successor.requester.roles, successor.requester.locale) == ((), "ru")


def test_a_drained_message_is_decided_on_with_its_own_roles_and_language(scene: Scene) -> None:
    scene.decisions = [script.call("call_1"), script.ask(), script.complete()]
    scene.send("go", call=CallInfo(Caller(roles=frozenset({"dispatcher"})), "req", ""))
    scene.send("more", call=CallInfo(Caller(roles=frozenset(), locale="ru"), "req", ""))
    scene.work()
    only = scene.interaction()
    assert (only.requester.roles, only.requester.locale) == ((), "ru")


def test_the_queue_of_a_busy_interaction_is_bounded(scene: Scene) -> None:
    scene.decisions = [script.complete()]
    scene.send("go")
    for number in range(MOST_QUEUED_MESSAGES):
        scene.send(f"more {number}")
    with pytest.raises(ResourceExhausted) as refusal:
        scene.send("one too many")
    assert refusal.value.reason == "QUEUE_FULL"
    assert refusal.value.retry_after is not None
    assert str(MOST_QUEUED_MESSAGES) in refusal.value.message


def test_what_an_undecided_successor_was_to_close_is_closed_by_the_next_one(scene: Scene) -> None:
    """supersede_in_decide: the request to close is not lost with an interaction that was never decided on."""
    scene.decisions = [
        script.ask(),
        script.reply(decision_pb2.REPLY_VERDICT_NEW_REQUEST),
        script.complete(),
    ]
    scene.send("go")
    scene.work()
    old = scene.interaction().interaction_id
    scene.send("something else")
    scene.step()
    assert scene.interaction().supersedes == old
    scene.cancel()
    scene.work()
    scene.send("third")
    scene.work()
    assert scene.asked[-1].supersedes_interaction_id == old


def test_a_missing_observation_diverges_one_run_and_blocks_no_other(scene: Scene) -> None:
    scene.stage.workers.free = False
    scene.send("go")

    def forget(tx: Any) -> None:
        tx.steps._connection.exec_driver_sql("DELETE FROM observations")

    scene.stage.run(scene.stage.storage.write(forget))

    def known_session(tx: Any) -> None:
        tx.steps._connection.exec_driver_sql("UPDATE interactions SET domain_session_id = 'ses'")

    scene.stage.run(scene.stage.storage.write(known_session))
    scene.stage.claim()
    scene.work()
    assert scene.last("failed").failure.code == "session_diverged"


def test_settling_goes_on_however_long_the_adapter_is_away(scene: Scene) -> None:
    """The pause doubles; the power itself must not grow beyond what a time can hold."""
    scene.decisions = [script.call("call_1", effect=tool_pb2.EFFECT_EXTERNAL)]
    scene.send("go")
    scene.step()
    scene.step()
    scene.stage.adapter.away = True
    scene.cancel()

    def many_times(tx: Any) -> None:
        tx.steps._connection.exec_driver_sql("UPDATE interactions SET settle_attempts = 5000")

    scene.stage.run(scene.stage.storage.write(many_times))
    scene.work()
    assert scene.names()[-1] == "waiting"
    scene.stage.adapter.away = False
    scene.fire(300)
    scene.work()
    assert scene.interaction().state is InteractionState.CANCELED
