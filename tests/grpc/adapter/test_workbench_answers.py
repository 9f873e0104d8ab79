"""What the workbench says of what is so already, of what is not to be published, and of what has been."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.workbench import Workbench, running_workbench
from tests.grpc.adapter.test_workbench import APPROVE, CHECKOUT, approval_of
from tests.unit.workbench_planner import folder


@pytest.fixture
async def workbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Workbench]:
    async with running_workbench(tmp_path, monkeypatch, folder.make_folder) as running:
        yield running


async def test_a_document_with_a_field_is_shown_by_the_line_of_that_field(workbench: Workbench) -> None:
    text = (await workbench.answer("which documents have a field tracing?")).text
    assert "- `service/checkout` (services/checkout.yaml): tracing: false" in text
    text = (await workbench.answer("field replicas")).text
    assert "- `service/search` (services/search.yaml): replicas: 4" in text


async def test_adding_to_a_single_value_is_explained_in_words_of_a_person(workbench: Workbench) -> None:
    driver = await workbench.open()
    await driver.say("add port 9090 to checkout")
    question = (await driver.run()).ask.prompt.question
    assert "spec.port is 8080, one value" in question
    assert "set spec.port to 9090" in question
    assert "/spec" not in question


async def test_publishing_what_is_so_already_is_answered_and_asks_nobody(workbench: Workbench) -> None:
    before = workbench.read(CHECKOUT)
    for text, locale, told in (
        ("set replicas to 2 in checkout and publish it", "en", "the file says this already"),
        ("поставь replicas 2 в checkout, проверь и опубликуй", "ru", "в файле уже так"),
    ):
        assert told in (await workbench.answer(text, locale, locale=locale)).text
    assert workbench.read(CHECKOUT) == before


async def test_what_is_not_to_be_published_is_drafted_alone(workbench: Workbench) -> None:
    text = (await workbench.answer("set replicas to 7 in checkout but do not publish it")).text
    assert "+  replicas: 7   # two are enough at night\n" in text
    assert "publish" not in text


async def test_the_diff_of_a_published_draft_is_told_as_published(workbench: Workbench) -> None:
    driver = await approval_of(workbench, "set replicas to 7 in checkout and publish it")
    await driver.resolve(APPROVE)
    await driver.run()
    text = (await workbench.answer("show the diff")).text
    assert text.startswith("Published for `service/checkout`")
    assert "+  replicas: 7" in text
    assert "changes" not in text
