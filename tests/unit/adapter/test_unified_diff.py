"""Unified diffs: applied to the first text they give exactly the second; limits are named with what there was."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter_service.domain import unified_diff as limits
from adapter_service.domain.unified_diff import UnifiedDiff, unified_diff

LINES = st.lists(st.sampled_from(["a", "b", "}", "", "c\r", "d\u2028e"]), max_size=14).map("\n".join)


def diff(before: str, after: str, context: int = 3) -> UnifiedDiff:
    return unified_diff(before, after, from_name="note\tversion 1", to_name="note\tversion 2", context=context)


def apply(before: str, text: str) -> str:
    """What a unified diff makes of a text, with every context and removed line compared."""
    lines = before.split("\n")
    old = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    body = re.split(r"^(@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@\n)", text, flags=re.M)[1:]
    made: list[str] = []
    at = 0
    for head, hunk in zip(body[::2], body[1::2], strict=True):
        found = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", head)
        assert found is not None
        start, length = int(found[1]), int(found[2] if found[2] is not None else 1)
        begin = start - 1 if length else start
        made += old[at:begin]
        assert len(made) == int(found[3]) - (1 if (found[4] or "1") != "0" else 0)
        at = begin
        for line in re.findall(r"[ +-][^\n]*\n(?:\\ No newline at end of file\n)?", hunk):
            told = line[1:].removesuffix("\\ No newline at end of file\n")
            content = told if told == line[1:] else told.removesuffix("\n")
            if line[0] in " -":
                assert old[at] == content
                at += 1
            if line[0] in " +":
                made.append(content)
        assert at == begin + length
    return "".join([*made, *old[at:]])


@given(LINES, LINES, st.integers(0, 4))
def test_a_diff_applied_to_the_first_text_gives_the_second(before: str, after: str, context: int) -> None:
    found = diff(before, after, context)
    assert apply(before, found.text) == after
    assert bool(found.text) == (before != after)
    added = len(re.findall(r"^\+(?!\+\+ note)", found.text, re.M))
    removed = len(re.findall(r"^-(?!-- note)", found.text, re.M))
    assert (found.added_lines, found.removed_lines) == (added, removed)


@pytest.mark.skipif(shutil.which("patch") is None, reason="the command patch is not installed")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("", "new\n"),
        ("gone\n", ""),
        ("no end", "no end\n"),
        ("one\ntwo\nthree", "one\nthree"),
        ("\n".join(map(str, range(60))), "\n".join(str(n) for n in range(60) if n not in (3, 40, 41))),
    ],
)
def test_the_command_patch_reads_it(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "note"
    file.write_bytes(before.encode())
    told = diff(before, after).text
    subprocess.run(["patch", "--binary", str(file)], input=told.encode(), check=True, stdout=subprocess.PIPE)
    assert (file.read_bytes() if file.exists() else b"") == after.encode()


def test_a_change_in_a_long_text_is_found_between_its_equal_ends() -> None:
    lines = [f"line {number}" for number in range(50_000)]
    changed = [*lines[:25_000], "another", *lines[25_001:]]
    found = diff("\n".join(lines), "\n".join(changed), 0)
    assert found.text.splitlines()[2:] == ["@@ -25001 +25001 @@", "-line 25000", "+another"]


def test_limits_are_named_with_what_there_was(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "\n".join(f"x{number}" for number in range(limits.MOST_CHANGED_LINES + 5))
    found = diff("", long)
    assert (found.text, found.added_lines) == ("", 0)
    assert str(limits.MOST_CHANGED_LINES) in found.limit
    assert str(limits.MOST_CHANGED_LINES + 5) in found.limit
    monkeypatch.setattr(limits, "MOST_DIFF_BYTES", 60)
    assert "at most 60 bytes, it would have " in diff("a\n", "b" * 80).limit
