"""The workbench over public configuration and documentation that it has never seen, with no mapping given (I2).

The folder is what installed packages of other people bring along: typing stubs' TOML, JSON Schemas, YAML, Markdown.
"""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapter_service.domains.workbench.index import WorkbenchIndex
from handrail.common.v1 import approval_pb2
from tests.fakes.plain_workspace import scan
from tests.fakes.workbench import Workbench, running_workbench

PACKAGES = Path(sysconfig.get_path("purelib"))
SOURCES = (
    "*-stubs/METADATA.toml",
    "jsonschema_specifications/**/*.json",
    "markdown_it/*.yaml",
    "mypy/typeshed/**/*.md",
    "typer/**/*.md",
)
STUBS = "grpc-stubs/METADATA.toml"


def fill(folder: Path) -> None:
    """Copy the packages' files with their folders; a folder that would be hidden loses its dot."""
    found = [path for pattern in SOURCES for path in sorted(PACKAGES.glob(pattern))]
    assert len(found) >= 10, "the packages that this test reads are installed with the server"
    for path in found:
        parts = [part.lstrip(".") for part in path.relative_to(PACKAGES).parts]
        target = folder.joinpath(*parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


@pytest.fixture
async def workbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Workbench]:
    async with running_workbench(tmp_path, monkeypatch, fill) as running:
        yield running


async def test_the_overview_tells_types_and_documentation(workbench: Workbench) -> None:
    text = (await workbench.answer("what is in this folder?")).text
    assert "json-schema (" in text
    assert "typer/agents/skills/typer/SKILL.md" in text
    assert "рабочей области" in (await workbench.answer("что в этой папке?", locale="ru")).text


async def test_every_document_is_shown_by_its_key(workbench: Workbench, tmp_path: Path) -> None:
    view = WorkbenchIndex(tmp_path / "second").update(scan(workbench.folder))
    assert view.document_count >= 10
    for document in view.documents():
        answer = await workbench.answer(f'show "{document.key}"')
        assert [(each.document_type, each.identity) for each in answer.entity_citations] == [
            (document.type, document.identity)
        ]
        first = workbench.read(document.path).strip().splitlines()[0]
        assert document.document_index > 0 or first in answer.text


async def test_questions_are_answered_by_verbatim_quotes(workbench: Workbench) -> None:
    for question in (
        "how do I install typer?",
        "what do the docs say about the explicit Typer app?",
        "why are stubs partial?",
    ):
        answer = await workbench.answer(question)
        for citation in answer.documentation_citations:
            assert f"{citation.path}#{citation.anchor}".rstrip("#") in answer.text
        whole = "\n".join(workbench.read(citation.path) for citation in answer.documentation_citations)
        quoted = [line[2:] for line in answer.text.splitlines() if line.startswith("> ")]
        assert all(line in whole for line in quoted), question
    assert "pip install typer" in (await workbench.answer("how do I install typer?")).text


async def test_a_field_is_found_and_changed_without_a_mapping(workbench: Workbench) -> None:
    before = workbench.read(STUBS)
    found = await workbench.answer("find documents with upstream-repository = https://github.com/grpc/grpc")
    assert STUBS in found.text
    driver = await workbench.open()
    await driver.say(f'set partial-stub to false in "{STUBS}" and publish it')
    request = (await driver.run()).request_approval
    assert "+partial-stub = false" in request.input_preview, driver.last
    await driver.resolve(approval_pb2.VERDICT_APPROVE)
    assert (await driver.run()).WhichOneof("outcome") == "complete"
    assert workbench.read(STUBS) == before.replace("partial-stub = true", "partial-stub = false")


async def test_two_schemas_are_compared(workbench: Workbench) -> None:
    driver = await workbench.open()
    base = "jsonschema_specifications/schemas"
    await driver.say(f"compare {base}/draft6/metaschema.json and {base}/draft7/metaschema.json")
    answer = (await driver.run()).complete.answer
    assert "Differences:" in answer.text
    assert "draft-07" in answer.text
