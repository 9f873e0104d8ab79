"""Publishing writes a draft in place of exactly the file that was approved, and can be asked afterwards (E2, E4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter_service.domains.workbench.change_answers import say_published
from adapter_service.domains.workbench.index import WorkbenchIndex
from adapter_service.domains.workbench.tools_changes import draft_change, find_published, publish_change
from adapter_service.domains.workbench.workspace_view import OpenWorkspace
from adapter_service.sdk import NOT_EXECUTED, BaseChanged, ToolContext
from tests.fakes.plain_workspace import scan
from tests.unit.workbench_planner.folder import CHECKOUT, make_folder
from tests.unit.workbench_planner.reading import NOW

PATH = "services/checkout.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    make_folder(made)
    return made


def context(folder: Path, base: str | None = None) -> ToolContext:
    """A call's context over the folder as it is now; the approved base is the file's hash unless said otherwise."""
    files = scan(folder)
    workspace = OpenWorkspace(files, WorkbenchIndex(folder.parent / "index").update(files))
    approved = files.files[PATH].sha256 if base is None else base
    return ToolContext(NOW, "key_1", "en", lambda _percent, _message: None, approved, workspace)


def test_a_draft_is_written_over_its_base_and_found_afterwards(folder: Path) -> None:
    change = draft_change(context(folder), "service/checkout", field="/spec/replicas", value=3)
    assert find_published({"change": change}, context(folder)) is NOT_EXECUTED
    published = publish_change(change, context(folder))
    assert (folder / PATH).read_text() == CHECKOUT.replace("replicas: 2 ", "replicas: 3 ")
    assert find_published({"change": change}, context(folder)) == published
    assert say_published(published, "en").startswith(f"Published: `service/checkout` is written to {PATH} ")


def test_another_approved_base_than_the_drafts_is_not_overwritten(folder: Path) -> None:
    change = draft_change(context(folder), "service/checkout", field="/spec/replicas", value=3)
    with pytest.raises(BaseChanged):
        publish_change(change, context(folder, base="0" * 64))
    assert (folder / PATH).read_text() == CHECKOUT


def test_an_edited_file_is_not_overwritten_and_nobody_can_tell_what_happened(folder: Path) -> None:
    change = draft_change(context(folder), "service/checkout", field="/spec/replicas", value=3)
    before = context(folder)
    (folder / PATH).write_text(CHECKOUT + "# edited\n")
    with pytest.raises(BaseChanged):
        publish_change(change, before)
    assert (folder / PATH).read_text() == CHECKOUT + "# edited\n"
    assert find_published({"change": change}, context(folder)) is None
