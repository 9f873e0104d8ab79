"""Validation: schema, references, identity, uniqueness; each finding names the place and what is accepted."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapter_service.domains.workbench.edits import draft_change, draft_new_document
from adapter_service.domains.workbench.validate import has_errors, removal_findings, validate_change, validate_workspace
from adapter_service.domains.workbench.view import View

from .conftest import SCHEMA
from .workspaces import write


def check(view: View, *operations: dict[str, Any], key: str = "service/checkout") -> list[tuple[str, str, str]]:
    found = validate_change(view, draft_change(view, key, operations))
    return [(each["severity"], each["path"], each["code"]) for each in found]


def put(path: str, value: Any) -> dict[str, Any]:
    return {"op": "set", "path": path, "value": value}


def test_a_good_change_has_no_findings_and_a_good_workspace_neither(view: View) -> None:
    assert check(view, put("spec.replicas", 3)) == []
    assert validate_workspace(view) == []


def test_the_schema_is_followed_through_references_to_other_files(view: View) -> None:
    assert check(view, put("spec.replicas", 9)) == [
        ("error", "services/checkout.yaml#/spec/replicas", "schema_violation")
    ]
    (found,) = validate_change(view, draft_change(view, "service/checkout", [put("spec.replicas", 9)]))
    assert "at most 5" in found["message_en"]
    assert "не больше 5" in found["message_ru"]
    assert has_errors([found])


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (put("spec.replicas", "two"), "type integer"),
        (put("since", "yesterday"), "format date"),
        ({"op": "remove", "path": "spec"}, "“spec” is missing"),
    ],
)
def test_a_violation_is_told_in_words(view: View, operation: dict[str, Any], said: str) -> None:
    (found,) = validate_change(view, draft_change(view, "service/checkout", [operation]))
    assert said in found["message_en"]


def test_a_reference_to_nothing_is_found_and_names_the_nearest(view: View) -> None:
    change = draft_change(view, "service/checkout", [{"op": "add", "path": "dependsOn", "value": "biling"}])
    (found,) = validate_change(view, change)
    assert (found["path"], found["code"]) == ("services/checkout.yaml#/dependsOn/1", "reference_missing")
    assert "billing" in found["message_en"]


def test_a_removed_document_that_is_referred_to_is_found(view: View) -> None:
    assert [each["path"] for each in removal_findings(view, "service/billing")] == [
        "services/cart.yaml#/dependsOn/1",
        "services/checkout.yaml#/dependsOn/0",
    ]
    assert removal_findings(view, "service/cart") == []


def test_a_dangling_reference_of_the_workspace_is_found(see: Callable[[Path], View], shop: Path) -> None:
    (shop / "services/billing.yaml").unlink()
    assert [each["path"] for each in validate_workspace(see(shop))] == [
        "services/cart.yaml#/dependsOn/1",
        "services/checkout.yaml#/dependsOn/0",
    ]


def test_the_identity_stays_and_is_unique(view: View) -> None:
    assert check(view, put("metadata.name", "till")) == [
        ("error", "services/checkout.yaml#/metadata/name", "identity_changed")
    ]
    assert [each[2] for each in check(view, put("metadata.name", "billing"))] == ["identity_changed", "identity_taken"]


def test_a_change_that_changes_nothing_is_told(view: View) -> None:
    assert check(view, put("spec.replicas", 2)) == [("warning", "services/checkout.yaml", "no_change")]


def test_a_new_document_is_checked_like_any_other(view: View) -> None:
    good = draft_new_document(view, "service", "search", {"spec": {"replicas": 1}})
    bad = draft_new_document(view, "service", "search", {"spec": {"replicas": 0}, "dependsOn": ["nobody"]})
    assert validate_change(view, good) == []
    assert {each["code"] for each in validate_change(view, bad)} == {"schema_violation", "reference_missing"}


def test_no_schema_is_ever_fetched(see: Callable[[Path], View], shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = json.loads(SCHEMA)
    schema["properties"]["spec"] = {"$ref": "https://example.com/elsewhere.json"}
    write(shop, "schemas/service.json", json.dumps(schema))

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "create_connection", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
    (found,) = validate_change(see(shop), draft_change(see(shop), "service/checkout", [put("spec.replicas", 3)]))
    assert found["code"] == "schema_unresolved"
    assert "example.com" in found["message_en"]


@pytest.mark.parametrize(
    ("schema", "code"),
    [('{"type": 5}', "schema_invalid"), ("{", "schema_missing"), ("", "schema_missing")],
)
def test_a_bad_schema_is_told_once(see: Callable[[Path], View], shop: Path, schema: str, code: str) -> None:
    write(shop, "schemas/service.json", schema)
    found = [each for each in validate_workspace(see(shop)) if each["code"].startswith("schema_")]
    assert {each["code"] for each in found} == {code}
    assert {each["path"] for each in found} == {"schemas/service.json" + ("#/type" if code == "schema_invalid" else "")}


@pytest.mark.parametrize(
    ("files", "path"),
    [
        (
            {
                "x/a.yaml": "$schema: ../s/one.json\nn: text\n",
                "s/one.json": '{"properties": {"n": {"type": "integer"}}}',
            },
            "s/one.json",
        ),
        (
            {
                "x/a.yaml": "# yaml-language-server: $schema=one.json\nn: text\n",
                "x/one.json": '{"properties": {"n": {"type": "integer"}}}',
            },
            "x/one.json",
        ),
        ({"x/a.yaml": "n: text\n", "x/a.schema.json": '{"properties": {"n": {"type": "integer"}}}'}, "x/a.schema.json"),
        (
            {"things/a.yaml": "n: text\n", "schemas/thing.json": '{"properties": {"n": {"type": "integer"}}}'},
            "schemas/thing.json",
        ),
        (
            {
                "x/a.json": '{"$schema": "https://example.com/one.json", "n": "text"}',
                "s/o.json": '{"$schema": "https://json-schema.org/draft/2020-12/schema",'
                ' "$id": "https://example.com/one.json", "properties": {"n": {"type": "integer"}}}',
            },
            "s/o.json",
        ),
    ],
)
def test_a_document_s_schema_is_found_without_a_mapping(
    see: Callable[[Path], View], tmp_path: Path, files: dict[str, str], path: str
) -> None:
    for name, text in files.items():
        write(tmp_path / "w", name, text)
    view = see(tmp_path / "w")
    (document,) = [
        each for each in view.documents() if each.path.rpartition("/")[2].startswith("a.") and "schema" not in each.path
    ]
    assert view.schema_path(document.key) == path
    assert [each["path"] for each in validate_workspace(view) if each["code"] == "schema_violation"] == [
        f"{document.path}#/n"
    ]


def test_an_older_draft_is_followed_by_its_own_rules(see: Callable[[Path], View], shop: Path) -> None:
    # In draft 4 exclusiveMinimum is a flag beside minimum; in 2020-12 it is a number.
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"spec": {"properties": {"replicas": {"minimum": 2, "exclusiveMinimum": True}}}},
    }
    write(shop, "schemas/service.json", json.dumps(schema))
    view = see(shop)
    assert check(view, put("spec.replicas", 2))[-1][2] == "schema_violation"
    assert check(view, put("spec.replicas", 3)) == []
