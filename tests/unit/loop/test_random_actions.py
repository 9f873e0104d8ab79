"""The whole state table under random actions on the real stores: messages, clicks, verdicts, signals, cancels, answers
of the Adapter, timers, an Adapter that is away, and crashes of the worker between and within steps.

Nothing may find an illegal transition, a run with two endings, a gap in event numbers, a message that is neither
consumed nor queued, a call executed twice, or a state without a next action.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from google.protobuf.struct_pb2 import Struct
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sqlalchemy import select

from handrail.adapter.v1 import observation_pb2
from handrail.common.v1 import decision_pb2, failure_pb2, tool_pb2
from handrail.loop.v1 import event_pb2, interaction_state_pb2
from handrail_rpc.errors import Aborted, AlreadyExists, FailedPrecondition, InvalidArgument, Unavailable
from loop_service.application.cancel_interaction import Cancellation
from loop_service.application.create_conversation import NewConversation
from loop_service.application.ports import DecideInput
from loop_service.application.resolve_approval import ApprovalVerdict
from loop_service.application.send_message import NewMessage, Reply
from loop_service.application.signal_interaction import NewSignal
from loop_service.application.store_ports import Transaction
from loop_service.domain.approval import Verdict
from loop_service.domain.decision import CallRecord
from loop_service.domain.events import ENDING_NAMES
from loop_service.domain.interaction import ACTIVE, TERMINAL, InteractionState
from loop_service.domain.observation import ReplyResponse
from loop_service.domain.transitions import LEGAL
from loop_service.storage import tables
from tests.fakes import adapter as script
from tests.unit.loop.stage import CALL, Crash, Stage, make_template

_HOLDER = tempfile.TemporaryDirectory(prefix="handrail-loop-")
_FOLDER = Path(_HOLDER.name)
_TEMPLATE = make_template(_FOLDER)

ANSWERS = (
    "complete",
    "fail",
    "blocked",
    "read",
    "reads",
    "external",
    "ask",
    "select",
    "approval",
    "approval_again",
    "choose",
    "wait",
    "signal",
    "new_request",
    "cancel",
    "unclear",
    "nothing",
)
WAITS = ("ask", "select", "approval", "approval_again", "wait", "signal", "external")
OUTCOMES = (
    tool_pb2.OUTCOME_SUCCEEDED,
    tool_pb2.OUTCOME_FAILED,
    tool_pb2.OUTCOME_BLOCKED,
    tool_pb2.OUTCOME_UNKNOWN,
)


class RandomActions(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=_FOLDER)
        self.stage = Stage(Path(self.folder.name), _TEMPLATE)
        self.count = 0
        self.sent: dict[str, str] = {}
        request = NewConversation("create", "body", "test", "", {})
        self.conversation_id = self.stage.run(self.stage.create.execute(request, CALL)).conversation_id
        self.stage.adapter.decide_next = self.decide
        self.stage.adapter.execute_next = self.execute
        self.answer = "complete"
        self.outcome: tool_pb2.Outcome.ValueType = tool_pb2.OUTCOME_SUCCEEDED

    def teardown(self) -> None:
        if not hasattr(self, "stage"):
            return
        try:
            self.settle()
        finally:
            self.stage.close()
            self.folder.cleanup()

    # What the Adapter answers.

    def decide(self, asked: DecideInput) -> decision_pb2.Decision:
        self.count += 1
        is_reply = asked.observation.kind in ("clarification_reply", "user_message") and (asked.observation.number > 1)
        match self.answer:
            case "fail":
                failure = failure_pb2.Failure(code="entity_not_found", explanation="none")
                return decision_pb2.Decision(fail=decision_pb2.Fail(failure=failure))
            case "blocked":
                block = failure_pb2.PolicyBlock(code="tool_not_permitted", rule="roles")
                return decision_pb2.Decision(blocked=decision_pb2.Blocked(block=block))
            case "read":
                return script.call(f"call_{self.count}")
            case "reads":
                return script.call(*(f"call_{self.count}_{i}" for i in range(3)))
            case "external":
                return script.call(f"call_{self.count}", effect=tool_pb2.EFFECT_EXTERNAL)
            case "ask":
                return script.ask(required=False)
            case "select":
                return script.ask(options=[("c1", "One"), ("c2", "Two")])
            case "approval":
                return script.request_approval(f"key_{self.count}", expire_seconds=1_893_459_600)
            case "approval_again":
                return script.request_approval("key_same", expire_seconds=1_893_459_600)
            case "choose":
                action = decision_pb2.Action(action_id="revise")
                return decision_pb2.Decision(choose=decision_pb2.Choose(actions=[action]))
            case "wait":
                wait = decision_pb2.Wait()
                wait.until.seconds = 60
                return decision_pb2.Decision(wait=wait)
            case "signal":
                signaled = decision_pb2.Wait(signal="go")
                signaled.limit.seconds = 60
                return decision_pb2.Decision(wait=signaled)
            case "new_request" if is_reply:
                return script.reply(decision_pb2.REPLY_VERDICT_NEW_REQUEST)
            case "cancel" if is_reply:
                return script.reply(decision_pb2.REPLY_VERDICT_CANCEL)
            case "unclear" if is_reply:
                return script.reply(decision_pb2.REPLY_VERDICT_UNCLEAR)
            case "nothing":
                return decision_pb2.Decision()
            case _:
                return script.complete("Done.")

    def execute(self, call: CallRecord) -> tool_pb2.ToolOutcome:
        if self.outcome == tool_pb2.OUTCOME_SUCCEEDED:
            return tool_pb2.ToolOutcome(outcome=self.outcome, receipt=tool_pb2.Receipt(summary="did"))
        ended = tool_pb2.ToolOutcome(outcome=self.outcome)
        if self.outcome == tool_pb2.OUTCOME_BLOCKED:
            ended.block.code = "approval_stale"
        return ended

    # What people and machines do.

    @rule(text=st.sampled_from(["go", "stop", "2", "skip", "what?"]), claimed=st.booleans())
    def send(self, text: str, claimed: bool) -> None:
        self.stage.workers.free = claimed
        self._send(text, None)

    @rule(candidate=st.sampled_from(["c1", "c2", "c9"]))
    def click(self, candidate: str) -> None:
        question = self._open("clarification_id")
        if question:
            self._send("", Reply("", question, ReplyResponse(selected_candidate_id=candidate)))

    @rule(name=st.sampled_from(["go", "go", "other"]), claimed=st.booleans())
    def signal(self, name: str, claimed: bool) -> None:
        interaction_id = self._conversation().active_interaction_id
        if not interaction_id:
            return
        self.stage.workers.free = claimed
        self.count += 1
        payload = Struct()
        payload.update({"number": self.count})
        request = NewSignal(f"req-{self.count}", "body", interaction_id, name, payload.SerializeToString(), "digest")
        with suppress(FailedPrecondition):
            self.stage.run(self.stage.signal.execute(request, CALL))

    @rule(verdict=st.sampled_from(list(Verdict)), newest=st.booleans(), digest=st.sampled_from(["own", "other"]))
    def resolve(self, verdict: Verdict, newest: bool, digest: str) -> None:
        def approvals(tx: Transaction) -> list[Any]:
            return list(_rows(tx, select(tables.approvals).order_by(tables.approvals.c.approval_id)))

        known = self.stage.run(self.stage.storage.read(approvals))
        if not known:
            return
        chosen = known[-1] if newest else known[0]
        other = known[0] if newest else known[-1]
        self.count += 1
        request = ApprovalVerdict(
            f"req-{self.count}",
            "body",
            chosen.approval_id,
            verdict,
            chosen.digest if digest == "own" else other.digest,
            "change it",
        )
        try:
            self.stage.run(self.stage.resolve.execute(request, CALL))
        except FailedPrecondition:
            pass
        except Unavailable as refused:
            # Its time is up, and nobody has said yet whether the verdict comes in time.
            if refused.reason != "APPROVAL_BEING_CHECKED":
                raise

    @rule()
    def cancel(self) -> None:
        interaction_id = self._conversation().active_interaction_id
        if interaction_id:
            self.count += 1
            request = Cancellation(f"req-{self.count}", "body", interaction_id, "")
            with suppress(Unavailable):
                self.stage.run(self.stage.cancel.execute(request, CALL))

    @rule(answer=st.sampled_from(ANSWERS), outcome=st.sampled_from(OUTCOMES))
    def step(self, answer: str, outcome: tool_pb2.Outcome.ValueType) -> None:
        self.answer, self.outcome = answer, outcome
        self._steps(1)

    @rule(answer=st.sampled_from(ANSWERS))
    def steps(self, answer: str) -> None:
        self.answer, self.outcome = answer, tool_pb2.OUTCOME_SUCCEEDED
        self._steps(3)

    @rule(answer=st.sampled_from(ANSWERS), point=st.sampled_from(["decide", "execute", "cancel"]))
    def crash_within_a_step(self, answer: str, point: str) -> None:
        """The Adapter has stored its part, the Loop dies before it commits its own."""
        self.answer = answer
        self.stage.adapter.crash_after = point
        self._steps(2)
        self.stage.adapter.crash_after = ""

    @rule()
    def crash(self) -> None:
        self.stage.restart()

    @rule(answer=st.sampled_from(ANSWERS))
    def fence_a_lost_worker_goes_on(self, answer: str) -> None:
        self.answer = answer
        with suppress(Aborted, Crash):
            self.stage.take_zombie_step()

    @rule()
    def claim(self) -> None:
        self.stage.claim()

    @rule(seconds=st.sampled_from([1, 61, 4000]))
    def fire_timers(self, seconds: int) -> None:
        self.stage.clock.pass_time(seconds)
        self.stage.run(self.stage.timers.fire())

    @rule(
        text=st.sampled_from(["go", "2", "what?"]),
        answers=st.lists(st.sampled_from(WAITS + ANSWERS), min_size=2, max_size=6),
        signaled=st.booleans(),
    )
    def converse(self, text: str, answers: list[str], signaled: bool) -> None:
        """A message and what it leads to, undisturbed: this is how the deeper states are reached."""
        self.stage.adapter.away = False
        self.stage.workers.free = True
        self.outcome = tool_pb2.OUTCOME_SUCCEEDED
        self._send(text, None)
        self._steps(1)
        if signaled:
            self.signal("go", True)
        for self.answer in answers:
            self._steps(2)

    @rule(verdict=st.sampled_from(list(Verdict)), answers=st.lists(st.sampled_from(ANSWERS), max_size=4))
    def resolve_and_go_on(self, verdict: Verdict, answers: list[str]) -> None:
        self.stage.workers.free = True
        self.resolve(verdict, True, "own")
        for self.answer in answers:
            self._steps(2)

    @rule(away=st.sampled_from([False, False, False, True]))
    def adapter_away(self, away: bool) -> None:
        self.stage.adapter.away = away

    # What must hold.

    @invariant()
    def promises_hold(self) -> None:
        if hasattr(self, "stage"):
            self.check(settled=False)

    def settle(self) -> None:
        """Once everything answers, each interaction ends or visibly waits."""
        self.stage.adapter.away = False
        self.stage.restart()
        self.answer, self.outcome = "complete", tool_pb2.OUTCOME_SUCCEEDED
        for _ in range(200):
            self.stage.clock.pass_time(400)
            self.stage.run(self.stage.timers.fire())
            if not self.stage.claim() and not self.stage.workers.steps:
                break
            self._steps(50)
        self.check(settled=True)

    def check(self, *, settled: bool) -> None:
        def read(tx: Transaction) -> tuple[Any, ...]:
            return (
                tx.journal.events(self.conversation_id, 0, 100_000),
                _rows(tx, select(tables.interactions)),
                _rows(tx, select(tables.runs)),
                _rows(tx, select(tables.messages)),
                _rows(tx, select(tables.inbox)),
                tx.conversations.find(self.conversation_id),
                _rows(tx, select(tables.signals)),
                _rows(tx, select(tables.observations.c.data).where(tables.observations.c.kind == "wake_up")),
            )

        events, interactions, runs, messages, inbox, conversation, kept, woken = self.stage.run(
            self.stage.storage.read(read)
        )
        self._check_events(events, runs)
        alive = [i for i in interactions if InteractionState(i.state) not in TERMINAL]
        assert len(alive) <= 1, "two active interactions"
        assert conversation.active_interaction_id == (alive[0].interaction_id if alive else "")
        queued = {row.message_id for row in inbox}
        for message in messages:
            if message.role == "user":
                assert bool(message.run_id) != (message.message_id in queued), "a message is lost"
        for interaction in alive:
            busy = [r for r in runs if r.interaction_id == interaction.interaction_id and r.state != "ended"]
            assert [r.run_id for r in busy] == ([interaction.active_run_id] if interaction.active_run_id else [])
            state = InteractionState(interaction.state)
            if not busy:
                assert state not in ACTIVE, "no state without a next action"
            if settled:
                assert not busy
                assert not queued, "a message waits behind a question"
                assert state in (
                    InteractionState.AWAITING_CLARIFICATION,
                    InteractionState.AWAITING_APPROVAL,
                )
        assert all(count == 1 for count in self.stage.adapter.executions.values())
        self._check_signals(interactions, kept, woken)

    def _check_signals(self, interactions: list[Any], kept: list[Any], woken: list[Any]) -> None:
        """mailbox: nobody sleeps while the awaited signal lies in the mailbox, and each is consumed once."""
        for interaction in interactions:
            mine = [row.name for row in kept if row.interaction_id == interaction.interaction_id]
            assert interaction.kept_signals == len(mine)
            asleep = interaction.state == "waiting" and not interaction.active_run_id and interaction.wait_signal
            assert not asleep or interaction.wait_signal not in mine, "the signal is there, and nobody wakes"
        found = [observation_pb2.Observation.FromString(row.data).wake_up for row in woken]
        numbers = [wake_up.payload["number"] for wake_up in found if wake_up.signal]
        assert len(numbers) == len(set(numbers)), "a signal was consumed twice"

    def _check_events(self, events: list[Any], runs: list[Any]) -> None:
        assert [e.sequence for e in events] == list(range(1, len(events) + 1)), "a gap in event numbers"
        states: dict[str, str] = {}
        by_run: dict[str, list[str]] = {}
        for stored in events:
            event = event_pb2.Event.FromString(stored.data)
            if event.run_id:
                by_run.setdefault(event.run_id, []).append(stored.name)
            if stored.name == "status_changed":
                before = _state(getattr(event.status_changed, "from"))
                after = _state(event.status_changed.to)
                assert (before, after) in LEGAL, "an illegal transition"
                assert states.get(event.interaction_id, InteractionState.NEW.value) == before.value
                states[event.interaction_id] = after.value
        for run in runs:
            names = by_run[run.run_id]
            endings = [name for name in names if name in ENDING_NAMES]
            assert names[0] == "run_started"
            if run.state == "ended":
                assert endings == [run.ending], "a run without exactly one ending"
                assert names[-1] == run.ending
            else:
                assert not endings

    # Helpers.

    def _send(self, text: str, reply: Reply | None) -> None:
        self.count += 1
        request = NewMessage(f"req-{self.count}", "body", self.conversation_id, text, reply, "", ())
        with suppress(FailedPrecondition, InvalidArgument, AlreadyExists):
            self.stage.run(self.stage.send.execute(request, CALL))

    def _steps(self, most: int) -> None:
        for _ in range(most):
            held = sorted(self.stage.workers.steps)
            if not held:
                return
            with suppress(Aborted, Crash):
                self.stage.take_step(held[0])

    def _conversation(self) -> Any:
        return self.stage.run(self.stage.storage.read(lambda tx: tx.conversations.find(self.conversation_id)))

    def _open(self, name: str) -> str:
        active = self._conversation().active_interaction_id
        if not active:
            return ""
        found = self.stage.run(self.stage.storage.read(lambda tx: tx.interactions.find(active)))
        return str(getattr(found, name))


def _rows(tx: Transaction, query: Any) -> list[Any]:
    """Rows beyond what the stores offer, through the connection of the same snapshot."""
    connection: Any = tx.journal._connection  # type: ignore[attr-defined]
    return list(connection.execute(query).all())


def _state(number: int) -> InteractionState:
    name = interaction_state_pb2.InteractionState.Name(number)  # type: ignore[arg-type]
    return InteractionState(name.removeprefix("INTERACTION_STATE_").lower())


TestRandomActions = RandomActions.TestCase
TestRandomActions.settings = settings(
    max_examples=25,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
