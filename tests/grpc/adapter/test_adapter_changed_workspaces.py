"""A workspace that changes under a plan (C10): read again, asked again, never a silent substitute or a stale write."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.adapter.v1 import artifact_service_pb2 as pb
from handrail.common.v1 import approval_pb2, prompt_pb2, tool_pb2
from tests.fakes.adapter_harness import Driver
from tests.fakes.workspaces import Pages, running_pages, sha256

FILES = {"checkout.md": "red", "billing.md": "blue"}
APPROVE = approval_pb2.VERDICT_APPROVE


@pytest.fixture
async def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pages]:
    """With a folder."""
    async with running_pages(tmp_path, monkeypatch, FILES) as running:
        yield running


async def test_every_decision_sees_the_folder_as_it_is(pages: Pages) -> None:
    driver = await pages.open()
    first = await driver.say("read checkout")
    assert first.context.workspace_generation == 1
    pages.write("checkout.md", "green")
    done = await driver.run()
    assert "checkout.md says green" in done.complete.answer.text
    assert done.context.workspace_generation == 2
    again = await (await pages.open()).say("list")
    assert again.context == done.context.__class__(
        workspace_generation=2,
        workspace_snapshot_sha256=done.context.workspace_snapshot_sha256,
        documentation_version=done.context.documentation_version,
        context_size_bytes=again.context.context_size_bytes,
    )
    assert (await pages.texts())["checkout.md"] == "green"


async def test_a_folder_is_opened_once_a_decision_and_once_a_call(pages: Pages) -> None:
    driver = await pages.open()
    await driver.say("read checkout")
    assert pages.world.prepared == 1
    await driver.execute(driver.last.call_tool.calls[0])
    assert pages.world.prepared == 2


async def test_a_chosen_page_that_vanished_is_asked_for_again_with_a_new_list(pages: Pages) -> None:
    pages.write("checkout-old.md", "grey")
    driver = await pages.open()
    await driver.say("read checkout")
    assert [option.display_name for option in driver.last.ask.prompt.options] == ["checkout-old.md", "checkout.md"]
    chosen = driver.last.ask.prompt.options[1].candidate_id
    assert pages.folder is not None
    (pages.folder / "checkout.md").rename(pages.folder / "checkout-new.md")
    asked = await driver.reply(selected_candidate_id=chosen)
    prompt = asked.ask.prompt
    assert prompt.type == prompt_pb2.PROMPT_TYPE_SELECT
    assert prompt.required
    assert prompt.question == "“checkout.md” is no longer there. Which page?"
    assert [option.display_name for option in prompt.options] == ["checkout-new.md", "checkout-old.md"]
    await driver.reply(selected_candidate_id=prompt.options[0].candidate_id)
    assert "checkout-new.md says red" in (await driver.run()).complete.answer.text


async def test_one_thing_that_the_words_mean_now_is_offered_and_not_taken(pages: Pages) -> None:
    driver = await pages.open(locale="ru")
    await driver.say("read checkout then note")
    await driver.run()
    assert driver.last.WhichOneof("outcome") == "ask"  # the note's text
    await driver.reply("hello")
    assert driver.last.WhichOneof("outcome") == "ask"  # the note's page
    assert pages.folder is not None
    (pages.folder / "checkout.md").rename(pages.folder / "checkout-2.md")
    asked = await driver.reply("billing")
    # What was read is read again; its page is gone.
    assert asked.ask.prompt.question == "«checkout.md» больше нет. Какая страница?"
    assert [option.display_name for option in asked.ask.prompt.options] == ["checkout-2.md"]
    await driver.reply(selected_candidate_id=asked.ask.prompt.options[0].candidate_id)
    text = (await driver.run()).complete.answer.text
    assert "checkout-2.md says red" in text
    assert "hello for billing.md" in text


async def test_nothing_like_it_is_left_so_the_question_is_open(pages: Pages) -> None:
    driver = await pages.open()
    await driver.say("read checkout then note")
    await driver.run()
    await driver.reply("hello")
    assert pages.folder is not None
    (pages.folder / "checkout.md").unlink()
    asked = await driver.reply("billing")
    assert asked.ask.prompt.type == prompt_pb2.PROMPT_TYPE_INPUT
    assert asked.ask.prompt.question.startswith("“checkout.md” is no longer there.")
    await driver.reply("billing")
    assert "billing.md says blue" in (await driver.run()).complete.answer.text


async def test_what_was_read_is_read_again_and_what_follows_from_it(pages: Pages) -> None:
    driver = await pages.open()
    await driver.say("read checkout then count then note")
    await driver.run()
    assert driver.last.WhichOneof("outcome") == "ask"
    pages.write("checkout.md", "red and green")
    await driver.reply("hello")
    assert pages.world.reads == ["checkout.md"]
    await driver.run()
    assert pages.world.reads == ["checkout.md", "checkout.md"]
    await driver.reply("billing")
    text = (await driver.run()).complete.answer.text
    assert "says red and green" in text
    assert "3 words" in text


async def test_a_file_that_changes_under_a_reading_tool_is_a_failure_to_try_again(pages: Pages) -> None:
    driver = await pages.open()
    await driver.say("read checkout")
    pages.world.before_read = lambda: pages.write("checkout.md", "green")
    outcome = await driver.execute(driver.last.call_tool.calls[0])
    assert outcome.outcome == tool_pb2.OUTCOME_FAILED
    assert (outcome.failure.source_code, outcome.failure.retryable) == ("base_changed", True)


async def test_an_unchanged_folder_is_not_read_again(pages: Pages) -> None:
    driver = await pages.open()
    await driver.say("read checkout then note")
    await driver.run()
    await driver.reply("hello")
    await driver.reply("billing")
    await driver.run()
    assert pages.world.reads == ["checkout.md"]


async def test_a_reply_that_says_nothing_loses_no_change(pages: Pages) -> None:
    """A decision without an outcome leaves the plan as it was: the change is acted upon by the next one."""
    driver = await pages.open()
    asked = await publishing(pages, driver, "read billing then set checkout to green then publish")
    assert asked.request_approval.snapshot.tool == "publish"
    digest = driver.digest()
    pages.write("billing.md", "violet")
    unclear = await driver.decide_text("hm")
    assert unclear.WhichOneof("outcome") is None
    await driver.resolve(APPROVE, digest=digest)
    await driver.run()
    assert pages.world.reads.count("billing.md") == 2


async def test_candidates_that_are_gone_are_not_offered_again(pages: Pages) -> None:
    pages.write("checkout-old.md", "grey")
    driver = await pages.open()
    await driver.say("read checkout")
    assert pages.folder is not None
    (pages.folder / "checkout-old.md").unlink()
    asked = await driver.reply("nonsense")
    assert [option.display_name for option in asked.ask.prompt.options] == ["checkout.md"]


async def publishing(pages: Pages, driver: Driver, text: str = "set checkout to green then publish") -> object:
    """Up to the request for approval."""
    await driver.say(text)
    return await driver.run()


async def test_publishing_writes_the_file_and_the_plan_goes_on_from_its_own_change(pages: Pages) -> None:
    driver = await pages.open()
    await publishing(pages, driver, "read checkout then set checkout to green then publish then note hello")
    assert driver.last.request_approval.change_ref == f"page/checkout.md from sha256 {sha256('red')}"
    await driver.resolve(APPROVE)
    asked = await driver.run()
    assert (await pages.texts())["checkout.md"] == "green"
    # What was read before the own change is not read again because of it.
    assert asked.WhichOneof("outcome") == "ask"
    assert pages.world.reads == ["checkout.md"]
    await driver.reply("billing")
    done = await driver.run()
    assert "checkout.md says red." in done.complete.answer.text
    assert "Published checkout.md" in done.complete.answer.text
    shown = await pages.state()
    assert shown.workspace_snapshot_sha256 == done.context.workspace_snapshot_sha256


async def test_what_was_to_be_changed_vanished_before_the_approval(pages: Pages) -> None:
    """The verdict is for something that is not there: a block, and a question instead of a call."""
    driver = await pages.open()
    await driver.say("stamp checkout")
    assert pages.folder is not None
    (pages.folder / "checkout.md").rename(pages.folder / "checkout-2.md")
    asked = await driver.resolve(APPROVE)
    assert [block.code for block in asked.blocks] == ["approval_stale"]
    assert [option.display_name for option in asked.ask.prompt.options] == ["checkout-2.md"]
    again = await driver.reply(selected_candidate_id=asked.ask.prompt.options[0].candidate_id)
    assert again.request_approval.change_ref == f"page/checkout-2.md from sha256 {sha256('red')}"
    await driver.resolve(APPROVE)
    await driver.run()
    assert (await pages.texts())["checkout-2.md"] == "red!"


async def test_an_edit_before_the_approval_is_stale_and_needs_a_fresh_one(pages: Pages) -> None:
    driver = await pages.open()
    await publishing(pages, driver)
    pages.write("checkout.md", "somebody else's")
    decision = await driver.resolve(APPROVE)
    await driver.run()
    codes = [block.code for block in decision.blocks]
    assert "validation_missing" in codes or "approval_stale" in codes
    asked = driver.last
    assert asked.WhichOneof("outcome") == "request_approval"
    assert asked.request_approval.change_ref.endswith(sha256("somebody else's"))
    assert (await pages.texts())["checkout.md"] == "somebody else's"


async def test_a_validation_that_read_the_workspace_ends_with_it(pages: Pages) -> None:
    """Another file changed between the request and the verdict: validated again, and approved again (read_set)."""
    driver = await pages.open()
    await publishing(pages, driver)
    digest = driver.digest()
    pages.write("billing.md", "violet")
    decision = await driver.resolve(APPROVE)
    assert [call.tool for call in decision.call_tool.calls] == ["check"]
    await driver.run()
    assert driver.last.WhichOneof("outcome") == "request_approval"
    assert driver.digest() != digest
    await driver.resolve(APPROVE)
    assert "Published checkout.md" in (await driver.run()).complete.answer.text


async def approved_call(pages: Pages) -> tuple[Driver, tool_pb2.ToolCall]:
    driver = await pages.open()
    await publishing(pages, driver)
    await driver.resolve(APPROVE)
    return driver, driver.last.call_tool.calls[0]


async def test_an_edit_between_the_decision_and_the_claim_is_not_overwritten(pages: Pages) -> None:
    driver, call = await approved_call(pages)
    pages.write("checkout.md", "somebody else's")
    outcome = await driver.execute(call)
    assert outcome.block.code == "approval_stale"
    assert (await pages.texts())["checkout.md"] == "somebody else's"
    await driver.finish(outcome)
    asked = await driver.run()
    assert asked.WhichOneof("outcome") == "request_approval"


async def test_an_edit_between_the_claim_and_the_write_is_not_overwritten(pages: Pages) -> None:
    driver, call = await approved_call(pages)
    barrier = threading.Barrier(2)
    pages.world.before_write = lambda: (barrier.wait(10), barrier.wait(10))[0] and None
    executing = asyncio.create_task(driver.execute(call))
    await asyncio.to_thread(barrier.wait, 10)
    pages.write("checkout.md", "somebody else's")
    await asyncio.to_thread(barrier.wait, 10)
    outcome = await executing
    assert outcome.block.code == "approval_stale"
    assert (await pages.texts())["checkout.md"] == "somebody else's"


async def test_an_upload_between_decision_and_claim_is_seen_by_the_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_pages(tmp_path, monkeypatch) as pages:
        await pages.open()
        await pages.upload(FILES)
        driver, call = await approved_call(pages)
        await pages.upload({**FILES, "billing.md": "violet"})
        reached: list[str] = []
        pages.world.before_write = lambda: reached.append("write")
        outcome = await driver.execute(call)
        assert outcome.block.code == "approval_stale"
        assert reached == []
        assert (await pages.texts())["checkout.md"] == "red"


async def test_publishing_to_an_upload_makes_the_next_snapshot_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_pages(tmp_path, monkeypatch) as pages:
        await pages.open()
        first = await pages.upload(FILES)
        driver, call = await approved_call(pages)
        outcome = await driver.execute(call)
        assert outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED
        state = await pages.state()
        assert state.workspace_generation == 2
        assert state.workspace_snapshot_id not in ("", first.workspace_snapshot_id)
        assert await pages.texts() == {**FILES, "checkout.md": "green"}
        assert await driver.execute(call) == outcome  # the recorded bytes; no third snapshot
        await driver.finish(outcome)
        assert (await pages.state()).workspace_snapshot_id == state.workspace_snapshot_id
        assert "Published" in driver.last.complete.answer.text


async def test_a_publication_to_an_upload_that_moved_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_pages(tmp_path, monkeypatch) as pages:
        await pages.open()
        await pages.upload(FILES)
        driver, call = await approved_call(pages)
        loop = asyncio.get_running_loop()

        def others() -> None:
            asyncio.run_coroutine_threadsafe(pages.upload({**FILES, "checkout.md": "other"}), loop).result(10)

        pages.world.before_write = others
        outcome = await driver.execute(call)
        assert outcome.block.code == "approval_stale"
        assert (await pages.texts())["checkout.md"] == "other"


async def test_a_new_page_in_an_empty_workspace_is_its_first_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_pages(tmp_path, monkeypatch) as pages:
        driver = await pages.open()
        await publishing(pages, driver, "make docs/new.md as hello then publish")
        assert driver.last.request_approval.change_ref == "page/docs/new.md from nothing"
        await driver.resolve(APPROVE)
        await driver.run()
        assert await pages.texts() == {"docs/new.md": "hello"}


async def test_a_new_page_is_made_in_the_folder_only_where_there_is_none(pages: Pages) -> None:
    driver = await pages.open()
    await publishing(pages, driver, "make docs/new.md as hello then publish")
    await driver.resolve(APPROVE)
    pages.world.before_write = lambda: pages.write("docs/new.md", "mine")
    outcome = await driver.execute(driver.last.call_tool.calls[0])
    assert outcome.block.code == "approval_stale"
    assert (await pages.texts())["docs/new.md"] == "mine"


async def test_an_artifact_tells_the_workspace_that_it_was_made_in(pages: Pages) -> None:
    driver = await pages.open()
    await publishing(pages, driver)
    listed = await pages.probe.artifacts.ListArtifacts(pb.ListArtifactsRequest(conversation_id="conv_1"))
    assert listed.artifacts[0].workspace_snapshot_sha256 == driver.last.context.workspace_snapshot_sha256
