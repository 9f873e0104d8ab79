"""Replies classified (C7) and applied as scoped patches (C8), on both real services, in English and Russian."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapter_service.domains.aviation import create_domain
from adapter_service.sdk import Domain, DomainEnvironment
from handrail.common.v1 import approval_pb2
from handrail.loop.v1 import event_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from tests.grpc.loop.driver import check_runs, last, names
from tests.grpc.loop.errors import refused
from tests.grpc.whole.running import Whole, running_whole


def tools_of(events: list[event_pb2.Event]) -> list[str]:
    return [e.tool_started.tool for e in events if e.WhichOneof("payload") == "tool_started"]


async def ask_number(whole: Whole) -> tuple[str, event_pb2.ClarificationRequired]:
    """Two tasks are done, a third asks for its number."""
    conversation_id = await whole.create()
    events = await whole.driver.send(conversation_id, "look Berlin then measure it then fetch")
    return conversation_id, last(events, "clarification_required")


async def test_an_answer_fills_the_asked_slot_only(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id, _ = await ask_number(whole)
        events = await whole.driver.send(conversation_id, "it is 7")
        assert tools_of(events) == ["fetch"]
        assert names(events)[-1] == "completed"


async def test_a_correction_invalidates_dependent_tasks_only(tmp_path: Path) -> None:
    """`look` and what used its result are done again; what does not depend on it is not, and the question stands."""
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        await whole.driver.send(conversation_id, "write memo at 3 then look Berlin then measure it then fetch")
        events = await whole.driver.send(conversation_id, "actually Paris")
        assert tools_of(events) == ["look", "measure"]
        assert names(events)[-1] == "clarification_required"
        done = await whole.driver.send(conversation_id, "7")
        assert last(done, "completed").answer.text.count("PAR") == 2
        assert "BER" not in last(done, "completed").answer.text


async def test_a_new_request_supersedes(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id, _ = await ask_number(whole)
        events = await whole.driver.send(conversation_id, "new measure Paris")
        assert last(events, "completed").answer.text == "PAR measures 3 m."
        assert "superseded" in names(await whole.driver.events(conversation_id))


@pytest.mark.parametrize("text", ["cancel", "Отмена", "не надо", "Stop!"])
async def test_a_cancel_word_cancels(tmp_path: Path, text: str) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id, _ = await ask_number(whole)
        assert names(await whole.driver.send(conversation_id, text))[-1] == "canceled"


async def test_an_unclear_reply_is_taken_as_an_answer_and_asked_again(tmp_path: Path) -> None:
    """Bounded: what has no meaning again and again ends the request instead of going round."""
    async with running_whole(tmp_path) as whole:
        conversation_id, first = await ask_number(whole)
        for _ in range(2):
            events = await whole.driver.send(conversation_id, "hm")
            again = last(events, "clarification_required")
            assert again.prompt.task == first.prompt.task
            assert again.clarification_id != first.clarification_id
        ended = await whole.driver.send(conversation_id, "hm")
        assert names(ended)[-1] == "failed"
        assert [s.tool for s in last(ended, "failed").failure.confirmed_steps] == ["look", "measure"]
        check_runs(await whole.driver.events(conversation_id))


@pytest.mark.parametrize(
    "text", ["yes", "approve", "approved", "go ahead", "ok", "да", "одобряю", "подтверждаю", "hm", "it is fine"]
)
async def test_text_while_an_approval_is_open_is_never_an_approval(tmp_path: Path, text: str) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        approval = last(await whole.driver.send(conversation_id, "write memo at 3 then post"), "approval_required")
        events = await whole.driver.send(conversation_id, text)
        assert names(events)[-1] == "approval_required"
        assert last(events, "approval_required") == approval, "the same approval stands, announced again"
        assert not whole.probe.world.effects


async def test_a_correction_while_an_approval_is_open_makes_it_stale(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        first = last(await whole.driver.send(conversation_id, "write memo at 3 then post"), "approval_required")
        events = await whole.driver.send(conversation_id, "actually level 5")
        assert last(events, "approval_resolved").outcome == event_pb2.APPROVAL_OUTCOME_STALE
        second = last(events, "approval_required")
        assert second.approval_id != first.approval_id
        assert "at 5" in second.input_preview
        await whole.driver.resolve(first, approval_pb2.VERDICT_APPROVE)
        assert not whole.probe.world.effects, "the stale one executes nothing"
        done = await whole.driver.resolve(second, approval_pb2.VERDICT_APPROVE)
        assert names(done)[-1] == "completed"
        assert sum(whole.probe.world.effects.values()) == 1


@pytest.mark.parametrize("as_text", [False, True])
async def test_a_question_that_is_not_required_can_be_skipped(tmp_path: Path, as_text: bool) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id = await whole.create()
        asked = last(await whole.driver.send(conversation_id, "write memo at high"), "clarification_required")
        assert not asked.prompt.required
        if as_text:
            events = await whole.driver.send(conversation_id, "Пропустить")
        else:
            skip = pb.Reply(clarification_id=asked.clarification_id, skip=True)
            events = await whole.driver.send(conversation_id, reply=skip)
        assert last(events, "completed").answer.text == "Wrote the note memo."


async def test_a_required_question_cannot_be_skipped(tmp_path: Path) -> None:
    async with running_whole(tmp_path) as whole:
        conversation_id, asked = await ask_number(whole)
        skip = pb.Reply(clarification_id=asked.clarification_id, skip=True)
        assert (await refused(whole.driver.send(conversation_id, reply=skip), "INVALID_ARGUMENT")).reason == (
            "SKIP_NOT_ALLOWED"
        )


@pytest.mark.parametrize(
    ("locale", "request_text", "correction", "choice"),
    [
        ("en", "Build a route from EDDB to San Jose", "no, from Munich", "the last one"),
        ("ru", "Построй маршрут из EDDB в Сан-Хосе", "нет, из Мюнхена", "последний"),
    ],
)
async def test_no_from_munich(tmp_path: Path, locale: str, request_text: str, correction: str, choice: str) -> None:
    """While the destination is being asked for, the departure is corrected: the question and its list stand."""

    def aviation(_probe: Domain) -> Domain:
        folder = tmp_path / "aviation"
        folder.mkdir(exist_ok=True)
        return create_domain(DomainEnvironment(folder, clock=lambda: datetime.now(UTC), settings={}))

    async with running_whole(tmp_path, adapt=aviation, domain="aviation") as whole:
        metadata = (("accept-language", locale),)
        conversation_id = await whole.create(metadata)
        asked = await whole.driver.send(conversation_id, request_text, metadata=metadata)
        question = last(asked, "clarification_required").prompt
        again = await whole.driver.send(conversation_id, correction, metadata=metadata)
        same = last(again, "clarification_required").prompt
        assert same.task == question.task
        assert [o.identity for o in same.options] == [o.identity for o in question.options]
        done = await whole.driver.send(conversation_id, choice, metadata=metadata)
        answer = last(done, "completed").answer
        named = {citation.identity for citation in answer.entity_citations}
        assert {"EDDM", question.options[-1].identity} <= named
        assert "EDDB" not in named
        check_runs(await whole.driver.events(conversation_id))
