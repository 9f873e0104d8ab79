"""Reading files: whatever a file contains, it becomes documents, text or a finding, never an exception."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter_service.domains.workbench.analysis import analyse
from adapter_service.domains.workbench.sections import bounded_parts, slug, split_sections
from adapter_service.domains.workbench.structured import parse_file
from adapter_service.domains.workbench.view import View

from .workspaces import write


def values(file_format: str, text: str) -> list[Any]:
    parsed = parse_file("f", file_format, text)
    assert not any(each.text_only for each in parsed.documents), parsed.findings
    return [each.value for each in parsed.documents]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: yes\nb: on\nc: true\n", {"a": "yes", "b": "on", "c": True}),
        ("d: 2024-01-02\nt: 12:30:00\n", {"d": "2024-01-02", "t": "12:30:00"}),
        ("n: 123456789012345678901234567890", {"n": 123456789012345678901234567890}),
        ("o: 0o17\nh: 0xff\ne: 1e3\nz: ~\n", {"o": 15, "h": 255, "e": 1000.0, "z": None}),
        ("i: .inf\nn: .nan\nx: 1e999\n", {"i": ".inf", "n": ".nan", "x": "1e999"}),
        ("q: '1'\nr: !!str 2\ns: !!int '3'\n", {"q": "1", "r": "2", "s": 3}),
        ("8080: a\nnull: b\n? [x, y]\n: c\n", {"8080": "a", "null": "b", '["x", "y"]': "c"}),
        ("r: !Ref Name\ns: !Sub [a, {b: c}]\nv: !vault |\n  61\n", {"r": "Name", "s": ["a", {"b": "c"}], "v": "61\n"}),
        ("a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\n", {"a": {"k": 1, "l": 2}, "b": {"k": 1, "l": 3}}),
        ("b: {<<: [{k: 1}, {k: 2, m: 3}]}\n", {"b": {"k": 1, "m": 3}}),
        ("\ufeff# bom\r\na: |\r\n  x\r\n", {"a": "x\n"}),
    ],
)
def test_yaml_values(text: str, value: Any) -> None:
    assert values("yaml", text) == [value]
    assert [type(each) for each in values("yaml", text)[0].values()] == [type(each) for each in value.values()]


def test_the_documents_of_a_file_have_their_own_texts() -> None:
    text = "# head\na: 1\n---\nb: |\n  --- no\n--- # three\nc: 3\n"
    parsed = parse_file("f", "yaml", text)
    assert [each.value for each in parsed.documents] == [{"a": 1}, {"b": "--- no\n"}, {"c": 3}]
    assert [text[each.start : each.end] for each in parsed.documents] == [
        "# head\na: 1\n",
        "---\nb: |\n  --- no\n",
        "--- # three\nc: 3\n",
    ]


@pytest.mark.parametrize(
    ("file_format", "text", "code", "severity"),
    [
        ("yaml", "a: [1", "yaml_unreadable", "error"),
        ("yaml", "a: *unknown", "yaml_unreadable", "error"),
        ("yaml", "&a [*a]", "yaml_unreadable", "error"),
        ("yaml", "[" * 5000, "yaml_unreadable", "error"),
        ("yaml", "a: {{ .Values.x }}\n{{- if y }}\nb: 1\n{{ end }}\n", "template", "info"),
        ("json", '{"a": 1', "json_unreadable", "error"),
        ("json", "[" * 50_000, "too_deep", "error"),
        ("toml", "a = ", "toml_unreadable", "error"),
        ("toml", "a = 1\na = 2\n", "toml_unreadable", "error"),
    ],
)
def test_a_broken_file_is_a_text_with_a_finding(file_format: str, text: str, code: str, severity: str) -> None:
    parsed = parse_file("f", file_format, text)
    assert [(each["code"], each["severity"]) for each in parsed.findings] == [(code, severity)]
    assert [(each.text_only, each.start, each.end) for each in parsed.documents] == [(True, 0, len(text))]


def test_anchors_that_multiply_are_refused_before_they_are_expanded() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    (found,) = parse_file("f", "yaml", "\n".join(lines)).findings
    assert "1000000" in found["message_en"]


def test_a_duplicate_key_is_told_with_its_line() -> None:
    (found,) = parse_file("f.yaml", "yaml", "a:\n  b: 1\n  b: 2\n").findings
    assert (found["path"], found["code"]) == ("f.yaml#/a/b", "duplicate_key")
    assert "line 3" in found["message_en"]
    (found,) = parse_file("f.json", "json", '{"x": {"k": 1, "k": 2}}').findings
    assert found["code"] == "duplicate_key"


def test_json_with_comments_is_read() -> None:
    assert values("json", '// c\n{"a": [1, /* x */ 2,], "b": "// no",}\n') == [{"a": [1, 2], "b": "// no"}]


def test_toml_dates_are_text() -> None:
    assert values("toml", "d = 2024-01-02T03:04:05Z\nn = nan\n") == [{"d": "2024-01-02T03:04:05+00:00", "n": "nan"}]


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"a: \xff\xfe", "file_encoding"), (b"a\0b", "file_binary"), (b"x" * (2 * 1024 * 1024 + 1), "file_too_large")],
)
def test_a_file_that_is_no_text_is_skipped_and_named(
    see: Callable[[Path], View], tmp_path: Path, data: bytes, code: str
) -> None:
    write(tmp_path / "w", "a/b.yaml", data)
    write(tmp_path / "w", "a/good.yaml", "id: good\n")
    view = see(tmp_path / "w")
    assert [(each["path"], each["code"]) for each in view.skipped] == [("a/b.yaml", code)]
    assert [each.key for each in view.documents()] == ["a/good"]


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["yaml", "json", "toml", "markdown"]),
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=60).map(lambda text: text.encode("utf-8", "ignore")),
        st.lists(
            st.sampled_from(
                [
                    "a: ",
                    "- ",
                    "\n",
                    "  ",
                    "&x ",
                    "*x ",
                    "{",
                    "}",
                    "[",
                    "]",
                    '"',
                    "'",
                    ": ",
                    "#",
                    "|",
                    "---\n",
                    "!t ",
                    "1",
                    "=",
                    "```",
                    "\r\n",
                    "\t",
                    "<<: ",
                ]
            ),
            max_size=25,
        ).map(lambda parts: "".join(parts).encode()),
    ),
)
def test_no_content_ever_raises(file_format: str, data: bytes) -> None:
    content = analyse("0" * 64, file_format, data)
    for fragment in content.fragments:
        assert 0 <= fragment.start <= fragment.end <= len(content.text)


MARKDOWN = """\
---
title: Handbook
---
Intro text.

# Set up *the* `app.py`!

One.

```sh
# no heading
```

## Steps
a
## Steps
b

Under
-----
<!--
# hidden
-->
### Ссылка [x](http://y.z) & co
# Steps-1 {#custom}
"""


def test_sections_have_github_s_anchors_and_heading_paths() -> None:
    sections = split_sections(MARKDOWN)
    assert [(each.anchor, each.heading_path) for each in sections] == [
        ("", ("Handbook",)),
        ("set-up-the-apppy", ("Handbook", "Set up the app.py!")),
        ("steps", ("Handbook", "Set up the app.py!", "Steps")),
        ("steps-1", ("Handbook", "Set up the app.py!", "Steps")),
        ("under", ("Handbook", "Set up the app.py!", "Under")),
        ("ссылка-x--co", ("Handbook", "Set up the app.py!", "Under", "Ссылка x & co")),
        ("custom", ("Handbook", "Steps-1")),
    ]
    assert "".join(MARKDOWN[each.start : each.end] for each in sections) == MARKDOWN
    assert MARKDOWN[sections[4].body : sections[4].end].startswith("<!--\n# hidden")


def test_offsets_hold_with_windows_lines_and_a_byte_order_mark() -> None:
    text = "\ufeff" + MARKDOWN.replace("\n", "\r\n")
    sections = split_sections(text)
    assert [each.anchor for each in sections] == [each.anchor for each in split_sections(MARKDOWN)]
    assert text[sections[3].start : sections[3].end] == "## Steps\r\nb\r\n\r\n"


@pytest.mark.parametrize(
    ("title", "anchor"),
    [
        ("What's new?", "whats-new"),
        ("A  b", "a--b"),
        ("snake_case & more", "snake_case--more"),
        ("Ёлка 2.0", "ёлка-20"),
    ],
)
def test_slugs(title: str, anchor: str) -> None:
    assert slug(title) == anchor


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab \n", max_size=300), st.integers(min_value=5, max_value=50))
def test_a_long_section_is_cut_into_all_of_its_parts(text: str, limit: int) -> None:
    parts = bounded_parts(text, limit)
    assert "".join(text[start:end] for start, end in parts) == text
    assert all(end - start <= limit for start, end in parts)
