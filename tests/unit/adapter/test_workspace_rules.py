"""Path rules and hashes of workspaces, over whatever text comes."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from adapter_service.domain.workspace import clashes, path_trouble, state_sha256
from adapter_service.sdk import WorkspaceFile

NAMES = st.text(max_size=12) | st.sampled_from([".", "..", "", "a", "A", "b", "c.md", ".git", "é", "e\u0301", "a\\b"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join) | st.text(max_size=300)


@given(PATHS)
def test_a_path_that_is_taken_stays_below_its_root_and_has_one_form(path: str) -> None:
    if path_trouble(path):
        return
    pure = PurePosixPath(path)
    assert not pure.is_absolute()
    assert str(pure) == path
    assert not any(part in (".", "..") or part.startswith(".") for part in pure.parts)
    assert unicodedata.normalize("NFC", path) == path
    assert len(path) <= 240
    assert path.encode("utf-8").decode("utf-8") == path
    assert not any(unicodedata.category(character) == "Cc" for character in path)
    assert "\\" not in path


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5).map("/".join))
def test_a_usual_path_is_taken(path: str) -> None:
    assert path_trouble(path) == ""


@given(st.lists(PATHS, max_size=8))
def test_what_does_not_clash_can_stand_side_by_side_where_case_is_ignored(paths: list[str]) -> None:
    clashing = {position for position, _, _ in clashes(paths)}
    left = [path.casefold() for position, path in enumerate(paths) if position not in clashing]
    left = [unicodedata.normalize("NFC", path) for path in left]
    assert len(set(left)) == len(left)
    for path in left:
        assert not any(other.startswith(f"{path}/") for other in left)


@given(st.dictionaries(st.text("abc/", max_size=5), st.sampled_from(["0" * 64, "1" * 64]), max_size=5))
def test_a_states_hash_depends_on_paths_and_hashes_alone(files: dict[str, str]) -> None:
    made = {path: WorkspaceFile(path, sha256, 1) for path, sha256 in files.items()}
    turned = {path: WorkspaceFile(path, sha256, 2) for path, sha256 in reversed(files.items())}
    assert state_sha256(made) == state_sha256(turned)
    other = {**made, "new": WorkspaceFile("new", "0" * 64, 1)}
    assert "new" in made or state_sha256(other) != state_sha256(made)
