"""Files that are made to stop the service: anchors that multiply, nesting, patterns that backtrack, schemas that loop.

Each is told as a finding, and the rest of the workspace works.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapter_service.domains.workbench import schema_keywords
from adapter_service.domains.workbench.edits import draft_change
from adapter_service.domains.workbench.findings import Finding
from adapter_service.domains.workbench.globs import matches
from adapter_service.domains.workbench.linear_patterns import searcher
from adapter_service.domains.workbench.validate import validate_workspace
from adapter_service.domains.workbench.view import View

from .workspaces import write

See = Callable[[Path], View]

_NESTED_ANCHORS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 24))
_MANY_KEYS = "".join(f"  k{number}: 1\n" for number in range(2_000))


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [
        ("anchors.yaml", _NESTED_ANCHORS, "yaml_unreadable"),
        ("anchor-in-key.yaml", f"{_NESTED_ANCHORS}? *a23\n: 1\n", "yaml_unreadable"),
        ("text.yaml", f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 1_000)}]\n", "yaml_unreadable"),
        ("keys.yaml", f"a: &a {'x' * 100_000}\nb:\n" + "- {? *a : 1}\n" * 1_000, "yaml_unreadable"),
        ("merges.yaml", f"a: &a\n{_MANY_KEYS}l:\n" + "- {<<: *a}\n" * 1_000, "yaml_unreadable"),
        ("marks.yaml", "{{ " * 600_000, "yaml_unreadable"),
        ("deep.yaml", "[" * 5_000 + "]" * 5_000, "yaml_unreadable"),
        ("deep.json", '{"a":' * 500 + "1" + "}" * 500, "too_deep"),
        ("deep.toml", "a = " + "[" * 300 + "]" * 300, "too_deep"),
        ("key.toml", ".".join(["a"] * 5_000) + " = 1", "too_deep"),
        ("number.toml", "a = " + "9" * 5_000, "toml_unreadable"),
    ],
)
def test_a_file_made_to_overwhelm_is_a_remark_and_shown_as_text(
    see: See, tmp_path: Path, path: str, text: str, code: str
) -> None:
    write(tmp_path / "w", path, text)
    write(tmp_path / "w", "good.yaml", "name: good\nport: 1\n")
    view = see(tmp_path / "w")

    assert [(each["path"], each["code"]) for each in view.findings()] == [(path, code)]
    assert [each.path for each in view.documents() if each.text_only] == [path]
    assert view.find_documents(where={"port": 1})["total"] == 1


def test_documents_are_told_apart_by_separators_with_any_line_ending(see: See, tmp_path: Path) -> None:
    text = "name: one\nport: 1\n---\r\n name: two\r\n port: 2\r\n---\t# third\r\nname: three\r\nport: 3\r\n"
    write(tmp_path / "w", "all.yaml", text)
    view = see(tmp_path / "w")

    shown = [view.read_document(each.key)["text"] for each in view.documents()]
    assert sorted(shown) == sorted(
        ["name: one\nport: 1\n", "---\r\n name: two\r\n port: 2\r\n", "---\t# third\r\nname: three\r\nport: 3\r\n"]
    )


def test_a_key_with_a_nul_character_is_a_key_like_any_other(see: See, tmp_path: Path) -> None:
    write(tmp_path / "w", "a.yaml", '"\\0merged": [{x: 1}]\nname: a\nport: 1\n')
    view = see(tmp_path / "w")
    (document,) = view.documents()

    change = draft_change(view, document.key, [{"op": "set", "path": "/port", "value": 2}])
    assert change["text"] == '"\\0merged": [{x: 1}]\nname: a\nport: 2\n'
    assert change["content"] == {"\0merged": [{"x": 1}], "name": "a", "port": 2}


def _found(see: See, root: Path, schema: dict[str, Any], content: Any) -> list[Finding]:
    write(root / "w", "things/a.json", json.dumps(content))
    write(root / "w", "things/a.schema.json", json.dumps(schema))
    return validate_workspace(see(root / "w"))


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"pattern": "^(x+)+$"}}},
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"pattern": "^(x+)+$"}}},
        {
            "properties": {
                "a": {"$schema": "https://json-schema.org/draft/2020-12/schema", "pattern": "^(x+)+$"},
            }
        },
    ],
    ids=["plain", "referred to", "with a schema of its own"],
)
def test_a_pattern_that_would_backtrack_is_checked_in_linear_time(
    see: See, tmp_path: Path, schema: dict[str, Any]
) -> None:
    (found,) = _found(see, tmp_path, schema, {"a": "x" * 40 + "!"})
    assert (found["code"], found["path"]) == ("schema_violation", "things/a.json#/a")


@pytest.mark.parametrize("keyword", ["additionalProperties", "unevaluatedProperties"])
def test_patterns_of_names_do_not_backtrack_either(see: See, tmp_path: Path, keyword: str) -> None:
    schema = {"patternProperties": {"^(x+)+$": {"type": "integer"}}, keyword: False}
    found = _found(see, tmp_path, schema, {"x" * 40 + "!": 1})
    expected = "schema_violation" if keyword == "additionalProperties" else "schema_unchecked"
    assert [each["code"] for each in found] == [expected]


def test_a_pattern_that_only_a_backtracking_engine_has_is_told_once_and_blocks_nothing(
    see: See, tmp_path: Path
) -> None:
    found = _found(see, tmp_path, {"additionalProperties": {"pattern": "^(?!x)"}}, {"a": "x", "b": "y"})
    assert [(each["severity"], each["path"], each["code"]) for each in found] == [
        ("warning", "things/a.schema.json", "schema_unchecked")
    ]
    assert "(?!x)" in found[0]["message_en"]


def test_a_schema_that_branches_without_end_is_given_up(
    see: See, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_keywords, "MOST_KEYWORDS", 5_000)
    parts = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)} | {"d60": {"type": "object"}}
    found = _found(see, tmp_path, {"$ref": "#/$defs/d0", "$defs": parts}, {"a": 1})
    assert [(each["path"], each["code"]) for each in found] == [("things/a.schema.json", "schema_too_costly")]


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([{"a": 1}, {"a": 2}], True),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], False),
        ([1, True], True),
        ([1, 1.0], False),
        ([[1], ["1"]], True),
    ],
)
def test_items_are_unique_as_json_schema_means_it(see: See, tmp_path: Path, items: list[Any], unique: bool) -> None:
    found = _found(see, tmp_path, {"properties": {"a": {"uniqueItems": True}}}, {"a": items})
    assert (found == []) is unique


def test_fields_too_many_are_those_that_no_pattern_of_names_takes(see: See, tmp_path: Path) -> None:
    schema = {"properties": {"a": {}}, "patternProperties": {"^x-": {}}, "additionalProperties": False}
    (found,) = _found(see, tmp_path, schema, {"a": 1, "x-y": 2, "b/c": 3})
    assert found["extra"] == ["/b~1c"]
    assert "The field b/c is not accepted; accepted are: a, ^x-" in found["message_en"]


def test_a_missing_field_is_named_as_data_whatever_its_name(see: See, tmp_path: Path) -> None:
    (found,) = _found(see, tmp_path, {"required": ["a", "it's/“b”"]}, {"a": 1})
    assert found["missing"] == "/it's~1“b”"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^[^[]+$", "ab", True),
        ("^[^[]+$", "a[", False),
        ("^[[a]b]$", "[b]", True),
        ("^[a&&b]+$", "a&b", True),
        ("^[~~a]+$", "~a", True),
        ("^[]a]+$", "]a", True),
        (r"^[\]a]+$", "]a", True),
        (r"^a\Z", "a", True),
        ("^a$", "a\n", False),
        (r"^\p{Lu}", "Я", True),
        ("b", "abc", True),
    ],
)
def test_patterns_mean_what_they_mean_in_a_schema(pattern: str, text: str, found: bool) -> None:
    search = searcher(pattern)
    assert search is not None
    assert search(text) is found


def test_a_file_pattern_that_would_backtrack_is_matched_in_linear_time() -> None:
    assert not matches("**/" * 30 + "x.yaml", "a/" * 100 + "b.yaml")
    assert not matches("*a" * 20 + "*b", "a" * 250)
    assert matches("**/*.yaml", "a.yaml")
    assert matches("[a[&&~].yaml", "[.yaml")
