"""The index: it reads only what is new, keeps it over restarts, and each view stays what it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from adapter_service.domains.workbench.index import WorkbenchIndex
from adapter_service.domains.workbench.view import View

from .workspaces import File, Folder, write


def test_an_unchanged_state_gives_the_same_view_without_reading(index: WorkbenchIndex, shop: Path) -> None:
    first = index.update(Folder(shop))
    again = Folder(shop)
    assert index.update(again) is first
    assert again.reads == []


def test_a_changed_file_is_the_only_one_that_is_read(index: WorkbenchIndex, shop: Path) -> None:
    before = index.update(Folder(shop))
    write(shop, "services/billing.yaml", "metadata: {name: billing}\nspec: {replicas: 4}\n")
    state = Folder(shop)
    after = index.update(state)
    assert state.reads == ["services/billing.yaml"]
    assert after.get_value("service/billing", "spec.replicas") == 4
    assert before.get_value("service/billing", "spec.replicas") == 1


def test_a_restart_reads_only_the_mapping(index: WorkbenchIndex, shop: Path, tmp_path: Path) -> None:
    first = index.update(Folder(shop))
    index.close()
    state = Folder(shop)
    again = WorkbenchIndex(tmp_path / "cache").update(state)
    assert state.reads == ["handrail-workbench.yaml"]
    assert again.documents() == first.documents()
    assert again.search_documentation("retries")["fragments"] == first.search_documentation("retries")["fragments"]
    assert again.find_documents("8080") == first.find_documents("8080")


@pytest.mark.parametrize("damage", [b"no database at all" * 500, b""])
def test_a_damaged_cache_is_made_anew(index: WorkbenchIndex, shop: Path, tmp_path: Path, damage: bytes) -> None:
    index.update(Folder(shop))
    index.close()
    (cache,) = (tmp_path / "cache").glob("*.sqlite")
    cache.write_bytes(damage)
    view = WorkbenchIndex(tmp_path / "cache").update(Folder(shop))
    assert view.find_documents("8080")["total"] == 2


def test_a_cache_of_another_release_is_made_anew(
    index: WorkbenchIndex, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.update(Folder(shop))
    index.close()
    monkeypatch.setattr("adapter_service.domains.workbench.store.RELEASE", 999)
    state = Folder(shop)
    WorkbenchIndex(tmp_path / "cache").update(state)
    assert "services/checkout.yaml" in state.reads


def test_a_view_in_use_keeps_its_files_and_others_are_forgotten(index: WorkbenchIndex, shop: Path) -> None:
    old = index.update(Folder(shop))
    (shop / "services/billing.yaml").unlink()
    new = index.update(Folder(shop))
    assert new.find("service/billing") is None
    assert new.find_documents("7070")["total"] == 0
    assert old.read_document("service/billing")["content"]["spec"]["port"] == 7070
    assert old.find_documents("7070")["total"] == 1
    del old
    write(shop, "services/new.yaml", "metadata: {name: new}\n")
    last = index.update(Folder(shop))
    assert last.store.rows("SELECT count(*) FROM contents WHERE text LIKE '%7070%'") == [(0,)]
    assert last.store.rows("SELECT count(*) FROM vocabulary WHERE term = '7070'") == [(0,)]


def test_a_state_that_comes_back_is_found_again(index: WorkbenchIndex, shop: Path) -> None:
    text = (shop / "services/billing.yaml").read_text()
    index.update(Folder(shop))
    (shop / "services/billing.yaml").unlink()
    index.update(Folder(shop))
    write(shop, "services/billing.yaml", text)
    view = index.update(Folder(shop))
    assert view.find_documents("7070")["documents"][0]["key"] == "service/billing"
    assert view.read_document("service/billing")["text"] == text


def test_a_file_that_changes_meanwhile_is_left_out_and_read_next_time(index: WorkbenchIndex, shop: Path) -> None:
    state = Folder(shop)
    text = (shop / "services/cart.yaml").read_text()
    (shop / "services/billing.yaml").unlink()
    write(shop, "services/cart.yaml", "metadata: {name: other}\n")
    view = index.update(state)
    assert {each["path"] for each in view.skipped} == {"services/billing.yaml", "services/cart.yaml"}
    assert [each.key for each in view.documents() if each.type == "service"] == ["service/checkout"]
    write(shop, "services/cart.yaml", text)
    assert index.update(state).find("service/cart") is not None


def test_a_renamed_file_is_read_no_second_time(index: WorkbenchIndex, shop: Path) -> None:
    index.update(Folder(shop))
    (shop / "services/billing.yaml").rename(shop / "services/payments.yaml")
    state = Folder(shop)
    view = index.update(state)
    assert state.reads == []
    assert view.document("service/billing").path == "services/payments.yaml"


def test_a_new_mapping_names_all_documents_anew_without_reading_them(index: WorkbenchIndex, shop: Path) -> None:
    index.update(Folder(shop))
    write(shop, "handrail-workbench.yaml", "types:\n  app: {files: services/*.yaml}\n")
    state = Folder(shop)
    view = index.update(state)
    assert set(state.reads) == {"handrail-workbench.yaml"}
    assert view.find("app/checkout") is not None
    assert view.find("service/checkout") is None


def test_threads_may_ask_at_once(index: WorkbenchIndex, shop: Path) -> None:
    views: list[View] = []
    totals: list[int] = []

    def ask() -> None:
        view = index.update(Folder(shop))
        views.append(view)
        totals.append(view.find_documents("8080")["total"])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == [2] * 8
    assert len(set(map(id, views))) == 1


def test_only_so_many_caches_are_open_and_an_old_view_still_reads(tmp_path: Path, shop: Path) -> None:
    index = WorkbenchIndex(tmp_path / "cache", capacity=2)
    first = index.update(Folder(shop, "a"))
    for name in "bcd":
        index.update(Folder(shop, name))
    assert first.find_documents("8080")["total"] == 2
    index.close()


@pytest.mark.parametrize("workspace_id", ["../../outside", "a/b", "x" * 500, "", "ё"])
def test_a_workspace_id_never_is_a_path(tmp_path: Path, shop: Path, workspace_id: str) -> None:
    index = WorkbenchIndex(tmp_path / "cache")
    index.update(Folder(shop, workspace_id))
    index.close()
    assert [each.parent for each in tmp_path.rglob("*.sqlite")] == [tmp_path / "cache"]


def test_the_version_of_the_documentation_changes_with_the_documentation_only(
    see: Callable[[Path], View], shop: Path
) -> None:
    version = see(shop).documentation_version
    write(shop, "services/new.yaml", "metadata: {name: new}\n")
    assert see(shop).documentation_version == version
    write(shop, "docs/new.md", "# New\n")
    assert see(shop).documentation_version != version


def test_a_workspace_without_files_has_an_empty_view(index: WorkbenchIndex, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    view = index.update(Folder(tmp_path / "empty"))
    assert (view.document_count, view.section_count, view.documentation_version, view.types()) == (0, 0, "", [])
    assert view.find_documents("anything")["total"] == 0
    assert view.search_documentation("anything")["total"] == 0
    assert view.match_documents("anything") == []


def test_bytes_of_another_state_are_not_kept_under_this_hash(index: WorkbenchIndex, shop: Path) -> None:
    state = Folder(shop)
    path = "services/cart.yaml"
    state.files[path] = File(path, "0" * 64, 3)
    view = index.update(state)
    assert [each["path"] for each in view.skipped] == [path]
    assert view.find("service/cart") is None
