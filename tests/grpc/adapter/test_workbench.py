"""The workbench on a real Adapter over a real folder: from a question to one written file, and what stops it on the
way.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.adapter.v1 import artifact_service_pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import approval_pb2, decision_pb2, tool_pb2
from tests.fakes.adapter_harness import Driver
from tests.fakes.workbench import Workbench, running_workbench
from tests.unit.workbench_planner import folder

APPROVE, CHANGES = approval_pb2.VERDICT_APPROVE, approval_pb2.VERDICT_REQUEST_CHANGES
CHECKOUT = "services/checkout.yaml"


@pytest.fixture
async def workbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Workbench]:
    async with running_workbench(tmp_path, monkeypatch, folder.make_folder) as running:
        yield running


async def approval_of(workbench: Workbench, text: str, conversation_id: str = "conv_1") -> Driver:
    """An interaction that waits for the approval of a publication."""
    driver = await workbench.open(conversation_id)
    await driver.say(text)
    assert (await driver.run()).WhichOneof("outcome") == "request_approval", driver.last
    return driver


async def run_with_blocks(driver: Driver) -> list[str]:
    """Run until something else than a call is decided; the codes of all blocks on the way."""
    codes = [block.code for block in driver.last.blocks]
    while outcome(driver) in ("call_tool", "choose"):
        if outcome(driver) == "choose":
            choice = obs.ActionChoice(action_id=driver.last.choose.actions[0].action_id)
            await driver.decide(obs.Observation(action_choice=choice))
        else:
            await driver.finish(*[await driver.execute(call) for call in driver.last.call_tool.calls])
        codes += [block.code for block in driver.last.blocks]
    return codes


def outcome(driver: Driver) -> str:
    return str(driver.last.WhichOneof("outcome"))


async def test_a_question_is_answered_by_quotes_with_their_sources(workbench: Workbench) -> None:
    answer = await workbench.answer("what do the docs say about retries?")
    assert "> A failed call is retried three times" in answer.text
    assert "docs/operations.md#retries" in answer.text
    assert [(each.path, each.anchor, each.title) for each in answer.documentation_citations] == [
        ("docs/operations.md", "retries", "Retries")
    ]
    assert len(answer.documentation_citations[0].sha256) == 64
    answer = await workbench.answer("что написано про ретраи?", locale="ru")
    assert "> Неудачный вызов повторяется три раза." in answer.text
    assert [each.path for each in answer.documentation_citations] == ["docs/эксплуатация.md"]


async def test_what_the_documentation_does_not_say_is_said_so(workbench: Workbench) -> None:
    answer = await workbench.answer("how do I feed unicorns?")
    assert "says nothing that I could find about “how do I feed unicorns”" in answer.text
    assert not answer.documentation_citations


async def test_documents_are_found_read_and_compared(workbench: Workbench) -> None:
    found = await workbench.answer("find services that use port 8080")
    assert [(each.document_type, each.identity) for each in found.entity_citations] == [
        ("service", "billing"),
        ("service", "checkout"),
    ]
    assert "replicas: 2   # two are enough at night" in (await workbench.answer("show the second")).text
    assert "spec.port: 9200" in (await workbench.answer("what is the port of search?")).text
    compared = await workbench.answer("сравни checkout и billing", locale="ru")
    assert "spec.replicas: 2 ↔ 1" in compared.text
    assert "`service/checkout`, spec.dependsOn[0]" in (await workbench.answer("who uses billing?")).text


async def test_it_of_several_is_asked_for_with_a_closed_list(workbench: Workbench) -> None:
    await workbench.answer("find services that use port 8080")
    driver = await workbench.open()
    await driver.say("show it")
    assert [option.identity for option in driver.last.ask.prompt.options] == ["service/billing", "service/checkout"]
    await driver.reply(selected_candidate_id=driver.last.ask.prompt.options[1].candidate_id)
    assert "Checkout of the shop" in (await driver.run()).complete.answer.text


async def test_it_in_one_message_is_what_the_step_before_found(workbench: Workbench) -> None:
    answer = await workbench.answer("find services with port 9200 and set its replicas to 5, then show the diff")
    assert "+  replicas: 5" in answer.text
    assert "services/search.yaml" in answer.text


async def test_it_is_what_this_message_found_and_not_what_an_older_one_did(workbench: Workbench) -> None:
    await workbench.answer("show checkout")
    answer = await workbench.answer("find services with port 9200 and show it")
    assert "Search of the catalogue" in answer.text
    assert "two are enough at night" not in answer.text


async def test_a_change_is_drafted_refused_revised_shown_approved_and_written_once(workbench: Workbench) -> None:
    before = workbench.read(CHECKOUT)
    driver = await workbench.open()
    await driver.say("set replicas to many in checkout and publish it")
    asked = await driver.run()
    assert asked.ask.prompt.task.slot == "value"
    assert "Accepted is the type integer" in asked.ask.prompt.question
    await driver.reply("4")
    request = (await driver.run()).request_approval
    assert "-  replicas: 2   # two are enough at night" in request.input_preview
    assert "+  replicas: 4   # two are enough at night" in request.input_preview
    assert workbench.read(CHECKOUT) == before
    await driver.resolve(APPROVE)
    (call,) = driver.last.call_tool.calls
    assert (call.tool, call.target) == ("publish_change", CHECKOUT)
    first = await driver.execute(call)
    assert first.outcome == tool_pb2.OUTCOME_SUCCEEDED
    assert workbench.read(CHECKOUT) == before.replace("replicas: 2 ", "replicas: 4 ")
    workbench.write(CHECKOUT, before)
    assert (await driver.execute(call, dispatch_number=2)) == first
    assert workbench.read(CHECKOUT) == before, "a repeated call must not write again"
    workbench.write(CHECKOUT, before.replace("replicas: 2 ", "replicas: 4 "))
    answer = (await driver.finish(first)).complete.answer
    assert "Published: `service/checkout` is written to services/checkout.yaml" in answer.text


async def test_the_diff_of_a_draft_can_be_read_as_text_and_as_json(workbench: Workbench) -> None:
    answer = await workbench.answer("set replicas to 3 in checkout")
    reference = answer.artifacts[0]
    request = artifact_service_pb2.DiffArtifactRequest(conversation_id="conv_1", artifact_id=reference.artifact_id)
    diff = await workbench.probe.artifacts.DiffArtifact(request)
    assert "+  replicas: 3   # two are enough at night" in diff.unified_diff
    assert '"/spec/replicas"' in diff.json_patch


async def test_words_and_requested_changes_lead_to_a_fresh_approval(workbench: Workbench) -> None:
    driver = await approval_of(workbench, "set replicas to 3 in checkout and publish it")
    old = driver.digest()
    await driver.say("no, 4")
    request = (await driver.run()).request_approval
    assert "+  replicas: 4" in request.input_preview
    assert driver.digest() != old
    old = driver.digest()
    await driver.resolve(CHANGES, comment="also set tracing to true")
    request = (await driver.run()).request_approval
    assert "+  tracing: true" in request.input_preview
    assert "+  replicas: 4" in request.input_preview
    assert driver.digest() != old


@pytest.mark.parametrize("text", ["yes, I approve it", "да, одобряю", "ok, approve"])
async def test_agreeing_in_words_neither_approves_nor_changes_the_draft(workbench: Workbench, text: str) -> None:
    driver = await approval_of(workbench, "set replicas to 3 in checkout and publish it")
    digest, before = driver.digest(), workbench.read(CHECKOUT)
    await driver.say(text)
    assert driver.last.reply_verdict == decision_pb2.REPLY_VERDICT_UNCLEAR
    assert workbench.read(CHECKOUT) == before
    await driver.say("no, 4")  # what waits is still the first draft: this is the only edit
    assert "+  replicas: 4" in (await driver.run()).request_approval.input_preview
    assert driver.digest() != digest


async def test_a_file_that_was_edited_meanwhile_is_not_overwritten(workbench: Workbench) -> None:
    driver = await approval_of(workbench, "set replicas to 3 in checkout and publish it")
    old = driver.digest()
    edited = workbench.read(CHECKOUT).replace("1.4.0", "1.4.1")
    workbench.write(CHECKOUT, edited)
    await driver.resolve(APPROVE)
    blocks = await run_with_blocks(driver)
    assert workbench.read(CHECKOUT) == edited
    assert (outcome(driver), driver.last.ask.prompt.task.slot) == ("ask", "rebase")
    assert "has been changed since this draft was made" in driver.last.ask.prompt.question
    await driver.reply("yes")
    blocks += await run_with_blocks(driver)
    assert "approval_stale" in blocks
    request = driver.last.request_approval
    assert "1.4.0" not in request.input_preview
    assert driver.digest() != old
    await driver.resolve(APPROVE)
    assert outcome(driver) == "call_tool"
    assert (await driver.run()).complete.answer.text
    assert workbench.read(CHECKOUT) == edited.replace("replicas: 2 ", "replicas: 3 ")


async def test_a_file_that_was_edited_between_decision_and_call_is_not_overwritten(workbench: Workbench) -> None:
    driver = await approval_of(workbench, "set replicas to 3 in checkout and publish it")
    await driver.resolve(APPROVE)
    (call,) = driver.last.call_tool.calls
    edited = workbench.read(CHECKOUT).replace("1.4.0", "1.4.1")
    workbench.write(CHECKOUT, edited)
    blocked = await driver.execute(call)
    assert (blocked.outcome, blocked.block.code) == (tool_pb2.OUTCOME_BLOCKED, "approval_stale")
    assert workbench.read(CHECKOUT) == edited
    await driver.finish(blocked)
    await driver.run()
    assert driver.last.ask.prompt.task.slot == "rebase"
    await driver.reply("no")
    failure = (await driver.run()).fail.failure
    assert failure.source_code == "base_changed"
    assert workbench.read(CHECKOUT) == edited


async def test_a_field_too_many_can_be_removed_instead_of_given_a_value(workbench: Workbench) -> None:
    closed = {"additionalProperties": False, "properties": {"metadata": {}, **folder.PROPERTIES}}
    workbench.write("schemas/service.json", json.dumps({**folder.SCHEMA, **closed}))
    driver = await workbench.open()
    await driver.say('add "note" = "hello" to checkout')
    option = next(each for each in (await driver.run()).ask.prompt.options if each.identity == "/note")
    await driver.reply(selected_candidate_id=option.candidate_id)
    await driver.run()
    driver = await workbench.open()
    await driver.say("publish it")
    await driver.run()
    assert "note is not accepted" in driver.last.ask.prompt.question
    await driver.reply("remove it")
    failure = (await driver.run()).fail.failure
    assert failure.code == "validation_failed"
    assert "leaves the file as it is" in failure.explanation


@pytest.mark.parametrize(
    ("said", "after"),
    [
        ("turn on tls in web.toml", "[tls]\nenabled = true  # later\nports = [443]\n"),
        ("remove the ports of tls in web.toml", "[tls]\nenabled = false  # later\n"),
    ],
)
async def test_an_object_is_switched_by_its_switch_and_loses_only_what_was_named(
    workbench: Workbench, said: str, after: str
) -> None:
    before = "[tls]\nenabled = false  # later\nports = [443]\n"
    workbench.write("web.toml", before)
    driver = await workbench.open()
    await driver.say(f"{said} and publish it")
    request = (await driver.run()).request_approval
    lines = request.input_preview.splitlines()
    assert [line[1:] for line in lines if line.startswith("-") and not line.startswith("---")] == [
        line for line in before.splitlines() if line not in after.splitlines()
    ]
    await driver.resolve(APPROVE)
    await driver.run()
    assert workbench.read("web.toml") == after


async def test_two_conversations_that_publish_the_same_file_at_once_write_it_once(workbench: Workbench) -> None:
    drivers = [
        await approval_of(workbench, f"set replicas to {count} in checkout and publish it", f"conv_{count}")
        for count in (5, 6)
    ]
    before = workbench.read(CHECKOUT)
    for driver in drivers:
        await driver.resolve(APPROVE)
    calls = [driver.last.call_tool.calls[0] for driver in drivers]
    done = await asyncio.gather(*(driver.execute(call) for driver, call in zip(drivers, calls, strict=True)))

    assert sorted(each.outcome == tool_pb2.OUTCOME_SUCCEEDED for each in done) == [False, True]
    (failed,) = [each for each in done if each.outcome != tool_pb2.OUTCOME_SUCCEEDED]
    assert failed.outcome == tool_pb2.OUTCOME_BLOCKED
    assert failed.block.code in ("target_busy", "approval_stale")  # while the other writes, and once it has written
    written = (5, 6)[done[0] is failed]
    assert workbench.read(CHECKOUT) == before.replace("replicas: 2 ", f"replicas: {written} ")


async def test_a_chosen_document_that_vanished_leads_to_a_question(workbench: Workbench) -> None:
    driver = await workbench.open()
    await driver.say("set replicas in checkout")
    assert driver.last.ask.prompt.task.slot == "value"
    (workbench.folder / CHECKOUT).unlink()
    await driver.reply("3")
    assert driver.last.ask.prompt.task.slot == "document"
    assert "checkout" in driver.last.ask.prompt.question
    await driver.reply("billing")
    assert "services/billing.yaml" in (await driver.run()).complete.answer.text


async def test_a_document_whose_file_was_renamed_is_still_the_same_one(workbench: Workbench) -> None:
    driver = await workbench.open()
    await driver.say("set replicas in checkout")
    (workbench.folder / CHECKOUT).rename(workbench.folder / "services/till.yaml")
    await driver.reply("3")
    assert "services/till.yaml" in (await driver.run()).complete.answer.text


async def test_a_draft_whose_file_vanished_is_not_published(workbench: Workbench) -> None:
    driver = await approval_of(workbench, "set replicas to 3 in checkout and publish it")
    (workbench.folder / CHECKOUT).unlink()
    await driver.resolve(APPROVE)
    await run_with_blocks(driver)
    assert driver.last.fail.failure.code == "validation_failed"
    assert "is not there any more" in driver.last.fail.failure.explanation
    assert not (workbench.folder / CHECKOUT).exists()


async def test_an_empty_workspace_answers_honestly(workbench: Workbench) -> None:
    for path in sorted(workbench.folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert "no documents and no documentation" in (await workbench.answer("what is here?")).text
    assert "nothing that I could find" in (await workbench.answer("what do the docs say about retries?")).text
    asked = await workbench.ask("show checkout")
    assert asked.ask.prompt.task.slot == "document"


async def test_very_long_lines_and_files_stay_bounded(workbench: Workbench) -> None:
    long = "x" * 300_000
    workbench.write("services/wide.yaml", f"metadata:\n  name: wide\nspec:\n  image: {long}\n  port: 1\n")
    answer = await workbench.answer("set image to y in wide")
    assert len(answer.text) < 3_000
    driver = await approval_of(workbench, "publish it")
    assert len(driver.last.request_approval.input_preview) < 61_000
    assert "more characters; DiffArtifact reads all" in driver.last.request_approval.input_preview
    workbench.write("services/huge.yaml", "metadata:\n  name: huge\nspec:\n  port: 1\n" + "#\n" * 600_000)
    failed = await workbench.ask("set port to 2 in huge")
    assert "at most 1048576 bytes" in failed.fail.failure.explanation


async def test_a_new_document_is_written_where_its_type_lives(workbench: Workbench) -> None:
    driver = await approval_of(
        workbench, "create a service called mail with image shop/mail:1 and port 25, then publish it"
    )
    assert driver.last.request_approval.change_ref == "services/mail.yaml from nothing"
    await driver.resolve(APPROVE)
    await driver.run()
    assert "port: 25" in workbench.read("services/mail.yaml")
    assert "spec.port: 25" in (await workbench.answer("what is the port of mail?")).text


async def test_undo_takes_back_the_draft_and_touches_no_file(workbench: Workbench) -> None:
    before = workbench.read(CHECKOUT)
    await workbench.answer("set replicas to 3 in checkout")
    await workbench.answer("set tracing to true")
    assert "tracing: true" not in (await workbench.answer("undo")).text
    assert "the draft is empty" not in (await workbench.answer("show the diff")).text
    assert "empty again" in (await workbench.answer("discard the draft")).text
    assert workbench.read(CHECKOUT) == before


async def test_a_list_goes_on_page_by_page(workbench: Workbench) -> None:
    for number in range(23):
        workbench.write(f"teams/t{number:02}.yaml", f"name: t{number:02}\n")
    first = await workbench.answer("list teams")
    assert "25 documents of type team. Shown: 1 to 10." in first.text
    second = await workbench.answer("show more")
    assert "Shown: 11 to 20." in second.text
    assert "Показаны: 21–25." in (await workbench.answer("покажи ещё", locale="ru")).text


async def test_a_long_document_is_shown_bounded(workbench: Workbench) -> None:
    workbench.write(
        "services/long.yaml", "metadata:\n  name: long\nspec:\n" + "".join(f"  k{n}: {n}\n" for n in range(3000))
    )
    answer = await workbench.answer("show long")
    assert answer.limitations[0] == "Only the first 60 of 3003 lines are shown."
    assert len(answer.text) < 2_000


async def test_the_context_stays_flat_over_forty_turns(workbench: Workbench) -> None:
    sizes = []
    for turn in range(40):
        driver = await workbench.open()
        await driver.say(
            ("show checkout", "find services that use port 8080", "what do the docs say about ports?")[turn % 3]
        )
        sizes.append((await driver.run()).context.context_size_bytes)
    assert sizes[30:] == sizes[27:37]
