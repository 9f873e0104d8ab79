"""Expiry by timer where the Adapter is away: the approval stays and a timer asks again (adapter_clock)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import approval_pb2, decision_pb2, failure_pb2
from handrail.loop.v1 import event_pb2, interaction_state_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.status import from_rpc_error
from tests.fakes.adapter import FakeAdapter, complete, reply, request_approval
from tests.grpc.loop.driver import ENDINGS, LoopDriver, check_runs, last, names
from tests.grpc.loop.errors import refused
from tests.grpc.whole.running import MovedClock

APPROVE = approval_pb2.VERDICT_APPROVE
REJECT = approval_pb2.VERDICT_REJECT
QUICK: dict[str, Any] = {
    "stop_patience_seconds": 0.2,
    "expiry_recheck_seconds": 0.2,
    "settle_first_seconds": 0.2,
    # Far less than the Adapter is away: what is used up by waiting would end the interaction.
    "active_time_seconds": 2.0,
}


class Office:
    """Asks for an approval that expires in an hour; `expired` is what the Adapter's clock says when asked."""

    def __init__(self) -> None:
        self.expired = True
        self.expire_seconds = int(time.time()) + 3600

    def __call__(self, request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
        observation = request.observation
        match observation.WhichOneof("kind"):
            case "approval_resolved" if observation.approval_resolved.expired:
                if not self.expired:
                    return request_approval(expire_seconds=self.expire_seconds)
                block = failure_pb2.PolicyBlock(code="approval_expired", rule="approval_matches")
                return decision_pb2.Decision(blocked=decision_pb2.Blocked(block=block))
            case "approval_resolved":
                return complete("Filed.")
            case "user_message" if observation.user_message.approval_id:
                return reply(decision_pb2.REPLY_VERDICT_NEW_REQUEST)
            case "user_message" if observation.user_message.text == "else":
                return complete("Else.")
            case _:
                return request_approval(expire_seconds=self.expire_seconds)


@asynccontextmanager
async def running_office(folder: Path, office: Office, **settings: Any) -> AsyncIterator[LoopDriver]:
    """A Loop whose clock the test moves: neither expiry nor the next question is waited for."""
    adapter = await FakeAdapter(office).start()
    driver = LoopDriver(folder, adapter, **settings)
    driver.clock = MovedClock()
    await driver.start()
    try:
        yield driver
    finally:
        await driver.stop()
        await adapter.stop()


async def put_off(driver: LoopDriver, least: int = 2) -> tuple[str, event_pb2.ApprovalRequired]:
    """An open approval whose time is up, while the Adapter does not answer: it was asked about `least` times."""
    conversation_id = await driver.create()
    approval = last(await driver.send(conversation_id, "file"), "approval_required")
    await driver.adapter.stop()
    assert isinstance(driver.clock, MovedClock)
    driver.clock.leap(3601)

    async def asked_again() -> bool:
        return names(await driver.events(conversation_id)).count("approval_required") > least

    await until(driver, conversation_id, asked_again)
    return conversation_id, approval


async def until(driver: LoopDriver, conversation_id: str, check: Callable[[], Awaitable[Any]]) -> Any:
    """Poll until `check` is true; meanwhile, every half second, so much time passes that the next question is due.

    None passes during a run: a leap beyond its lease would take it away before it could end.
    """
    assert isinstance(driver.clock, MovedClock)
    now = asyncio.get_running_loop().time
    give_up, due = now() + 60, now()
    while not (found := await check()):
        assert now() < give_up, "did not come true within 60 s"
        if now() >= due and await at_rest(driver, conversation_id):
            driver.clock.leap(301)
            due = now() + 0.5
        await asyncio.sleep(0.02)
    return found


async def at_rest(driver: LoopDriver, conversation_id: str) -> bool:
    shown = names(await driver.events(conversation_id))
    return shown.count("run_started") == sum(name in ENDINGS for name in shown)


async def interaction_of(driver: LoopDriver, conversation_id: str) -> pb.Interaction:
    events = await driver.events(conversation_id)
    request = pb.GetInteractionRequest(interaction_id=events[0].interaction_id)
    return (await driver.stub.GetInteraction(request)).interaction


async def until_ended(driver: LoopDriver, conversation_id: str, ending: str) -> list[event_pb2.Event]:
    async def ended() -> list[event_pb2.Event] | None:
        events = await driver.events(conversation_id)
        return events if names(events)[-1] == ending else None

    found: list[event_pb2.Event] = await until(driver, conversation_id, ended)
    check_runs(found)
    return found


async def test_an_adapter_that_is_away_keeps_the_approval_and_uses_up_no_time(tmp_path: Path) -> None:
    async with running_office(tmp_path, Office(), **QUICK) as driver:
        conversation_id, approval = await put_off(driver, least=4)
        shown = await interaction_of(driver, conversation_id)
        assert shown.state == interaction_state_pb2.INTERACTION_STATE_AWAITING_APPROVAL
        assert shown.approval == approval
        assert shown.active_time.ToMilliseconds() < 1000
        pending = await driver.stub.ListPending(pb.ListPendingRequest())
        assert [item.approval.approval_id for item in pending.items] == [approval.approval_id]
        events = await driver.events(conversation_id)
        assert "approval_resolved" not in names(events)
        await driver.adapter.start()
        events = await until_ended(driver, conversation_id, "blocked")
        assert last(events, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_EXPIRED
        assert last(events, "blocked").failure.code == "approval_expired"


async def test_what_is_asked_again_is_the_same_question_under_the_same_number(tmp_path: Path) -> None:
    async with running_office(tmp_path, Office(), **QUICK) as driver:
        conversation_id, _ = await put_off(driver)
        await driver.restart()
        await driver.adapter.start()
        await until_ended(driver, conversation_id, "blocked")
        asked = [r for r in driver.adapter.decide_requests if r.decision_number == 2]
        assert len({(r.observation.SerializeToString(), r.base_plan_version) for r in asked}) == 1
        assert max(r.decision_number for r in driver.adapter.decide_requests) == 2


async def test_an_approval_that_had_not_expired_after_all_can_be_approved(tmp_path: Path) -> None:
    office = Office()
    async with running_office(tmp_path, office, **QUICK) as driver:
        conversation_id, approval = await put_off(driver)
        office.expired = False
        await driver.adapter.start()

        async def answered() -> bool:
            return any(r.decision_number == 2 for r in driver.adapter.decide_requests)

        await until(driver, conversation_id, answered)

        async def approved() -> Any:
            waiting = (await interaction_of(driver, conversation_id)).state
            if waiting != interaction_state_pb2.INTERACTION_STATE_AWAITING_APPROVAL:
                return None
            return await driver.resolve(approval, APPROVE)

        done = await until(driver, conversation_id, approved)
        assert last(done, "completed").answer.text == "Filed."


async def test_a_verdict_is_not_taken_while_nobody_can_say_whether_it_comes_in_time(tmp_path: Path) -> None:
    async with running_office(tmp_path, Office(), **QUICK) as driver:
        conversation_id, approval = await put_off(driver)
        for verdict, comment in ((APPROVE, ""), (approval_pb2.VERDICT_REQUEST_CHANGES, "higher")):
            error = await refused(driver.resolve(approval, verdict, comment=comment), "UNAVAILABLE")
            assert error.reason == "APPROVAL_BEING_CHECKED"
        shown = await driver.stub.GetApproval(pb.GetApprovalRequest(approval_id=approval.approval_id))
        assert shown.approval.state == pb.APPROVAL_STATE_PENDING
        await driver.adapter.start()
        await until_ended(driver, conversation_id, "blocked")
        late = await refused(driver.resolve(approval, APPROVE), "FAILED_PRECONDITION")
        assert (late.reason, late.metadata["state"]) == ("APPROVAL_RESOLVED", "expired")
        shown = await driver.stub.GetApproval(pb.GetApprovalRequest(approval_id=approval.approval_id))
        assert shown.approval.state == pb.APPROVAL_STATE_EXPIRED


async def test_a_rejection_needs_no_answer_about_the_expiry(tmp_path: Path) -> None:
    async with running_office(tmp_path, Office(), **QUICK) as driver:
        conversation_id, approval = await put_off(driver)

        async def rejected() -> Any:
            found = await asyncio.gather(driver.resolve(approval, REJECT), return_exceptions=True)
            # Refused only where a check is under way this very moment.
            reasons = [from_rpc_error(each).reason for each in found if isinstance(each, grpc.aio.AioRpcError)]
            assert reasons in ([], ["APPROVAL_BEING_CHECKED"])
            return None if reasons else found[0]

        events = await driver.until(rejected)
        assert last(events, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_REJECTED
        # canceled is told once the Adapter has answered that nothing had begun (confirm_stop).
        assert names(events)[-1] == "waiting"
        await driver.adapter.start()
        events = await until_ended(driver, conversation_id, "canceled")
        assert last(events, "canceled").code == "approval_rejected"


async def test_a_message_waits_behind_the_question_and_is_answered_after_it(tmp_path: Path) -> None:
    office = Office()
    async with running_office(tmp_path, office, **{**QUICK, "active_time_seconds": 80_000.0}) as driver:
        conversation_id, _ = await put_off(driver)
        call = driver.open_send(conversation_id, "else")

        async def accepted() -> bool:
            events = await driver.events(conversation_id)
            return "message_accepted" in names(events)

        await driver.until(accepted)
        office.expired = False
        await driver.adapter.start()
        events = await until_ended(driver, conversation_id, "completed")
        assert last(events, "completed").answer.text == "Else."
        assert last(events, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_WITHDRAWN
        assert "failed" not in names(events)
        call.cancel()


async def test_a_message_behind_the_question_fails_like_any_other_when_the_adapter_stays_away(tmp_path: Path) -> None:
    async with running_office(tmp_path, Office(), **QUICK) as driver:
        conversation_id, approval = await put_off(driver)
        call = driver.open_send(conversation_id, "else")
        events = await until_ended(driver, conversation_id, "failed")
        assert last(events, "failed").failure.code == "adapter_unavailable"
        assert last(events, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_WITHDRAWN
        messages = await driver.stub.ListMessages(pb.ListMessagesRequest(conversation_id=conversation_id))
        assert [m.text for m in messages.messages if m.role == pb.ROLE_USER] == ["file", "else"]
        await refused(driver.resolve(approval, APPROVE), "FAILED_PRECONDITION")
        call.cancel()
