"""Types and identities: from the declared mapping, and without one from what files say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapter_service.domains.workbench.globs import matches
from adapter_service.domains.workbench.view import View

from .conftest import MAPPING
from .workspaces import write


def test_the_mapping_names_types_identities_titles_and_schemas(view: View) -> None:
    (service, *_) = view.types()
    assert service == {
        "type": "service",
        "count": 3,
        "schema_path": "schemas/service.json",
        "identity_path": "/metadata/name",
    }
    document = view.document("service/checkout")
    assert (document.identity, document.title, document.path) == (
        "checkout",
        "Checkout service",
        "services/checkout.yaml",
    )
    assert view.find("config/handrail-workbench") is None


@pytest.mark.parametrize("name", ["handrail-workbench.yml", "handrail-workbench.json", "handrail-workbench.toml"])
def test_the_mapping_may_have_another_format(see: Callable[[Path], View], tmp_path: Path, name: str) -> None:
    texts = {
        "yml": "types: {app: {files: 'a/*.yaml'}}\n",
        "json": '{"types": {"app": {"files": ["a/*.yaml"]}}}',
        "toml": '[types.app]\nfiles = "a/*.yaml"\n',
    }
    write(tmp_path / "w", name, texts[name.rsplit(".", 1)[1]])
    write(tmp_path / "w", "a/one.yaml", "x: 1\n")
    assert [each.key for each in see(tmp_path / "w").documents()] == ["app/one"]


@pytest.mark.parametrize(
    ("text", "place", "accepted"),
    [
        ("types: [a]\n", "/types", "the name of a type"),
        ("types: {app: {identity: /x}}\n", "/types/app", '"files"'),
        ('types: {"": {files: a/*}}\n', "/types/", "a name for the type"),
        ("types: {app: {files: 5}}\n", "/types/app/files", "services/*.yaml"),
        ("types: {app: {files: a/*, identity: name}}\n", "/types/app/identity", "/metadata/name"),
        ("types: {app: {files: a/*, color: red}}\n", "/types/app/color", "files, identity, title, schema, references"),
        ("types: {app: {files: a/*, references: [{path: x}]}}\n", "/types/app/references/0", "/dependsOn/*"),
        ("types: {app: {files: a/*, references: [{path: /x, type: no}]}}\n", "/types/app/references/0/type", "app"),
        ("documentation: {}\n", "/documentation", "file pattern"),
        ("others: perhaps\n", "/others", "detect or ignore"),
        ("- a\n", "", "types and documentation"),
    ],
)
def test_a_wrong_entry_is_named_with_the_accepted_form_and_the_rest_works(
    see: Callable[[Path], View], tmp_path: Path, text: str, place: str, accepted: str
) -> None:
    write(tmp_path / "w", "handrail-workbench.yaml", text)
    write(tmp_path / "w", "a/one.yaml", "id: one\n")
    view = see(tmp_path / "w")
    (found,) = [each for each in view.findings() if each["code"] == "mapping_invalid"]
    assert found["path"] == "handrail-workbench.yaml" + (f"#{place}" if place else "")
    assert accepted in found["message_en"]
    assert view.document_count == 1


def test_the_mapping_itself_is_no_document_of_any_type(see: Callable[[Path], View], tmp_path: Path) -> None:
    write(tmp_path / "w", "handrail-workbench.yaml", 'types: {app: {files: "**"}}\n')
    write(tmp_path / "w", "a/one.yaml", "id: one\n")
    assert [each.path for each in see(tmp_path / "w").documents()] == ["a/one.yaml"]


def test_an_unreadable_mapping_is_a_finding_and_files_are_detected(see: Callable[[Path], View], tmp_path: Path) -> None:
    write(tmp_path / "w", "handrail-workbench.yaml", "types: [\n")
    write(tmp_path / "w", "a/one.yaml", "id: one\n")
    view = see(tmp_path / "w")
    assert "yaml_unreadable" in [each["code"] for each in view.findings()]
    assert view.find("a/one") is not None


def test_a_declared_identity_that_is_missing_is_a_finding(see: Callable[[Path], View], shop: Path) -> None:
    write(shop, "services/odd.yaml", "metadata: {title: Odd}\n")
    view = see(shop)
    assert view.find("service/odd") is not None
    assert [each["path"] for each in view.findings() if each["code"] == "identity_missing"] == [
        "services/odd.yaml#/metadata/name"
    ]


def test_other_files_may_be_ignored_and_documentation_chosen(see: Callable[[Path], View], shop: Path) -> None:
    write(shop, "handrail-workbench.yaml", MAPPING + "documentation: ['docs/**/*.md']\nothers: ignore\n")
    write(shop, "README.md", "# Read me\n\nzebra\n")
    write(shop, "docs/deep/er.md", "# Deep\n\nzebra\n")
    view = see(shop)
    assert {each.type for each in view.documents()} == {"service"}
    assert [each["path"] for each in view.search_documentation("zebra")["fragments"]] == ["docs/deep/er.md"]


@pytest.mark.parametrize(
    ("path", "text", "key"),
    [
        ("k8s/web.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n", "deployment/web"),
        ("pyproject.toml", '[project]\nname = "shop"\n', "python-project/shop"),
        ("ui/package.json", '{"name": "@shop/ui", "type": "module"}', "npm-package/@shop/ui"),
        ("core/Cargo.toml", '[package]\nname = "core"\n', "cargo-package/core"),
        ("ui/package.json", '{"private": true}', "npm-package/ui"),
        (".github/workflows/ci.yml", "name: CI\non: push\njobs: {}\n", "workflow/CI"),
        ("docker-compose.yml", "services: {web: {image: x}}\n", "compose/docker-compose"),
        ("api/shop.yaml", "openapi: 3.1.0\ninfo: {title: Shop API}\n", "openapi/shop"),
        ("s/user.json", '{"$schema": "https://json-schema.org/draft/2020-12/schema"}', "json-schema/user"),
        ("s/user.schema.json", '{"type": "object"}', "json-schema/user"),
        ("services/a.yaml", "name: checkout\n", "service/checkout"),
        ("policies/b.yaml", "slug: no-root\n", "policy/no-root"),
        ("data/items/7.json", '{"id": 7, "name": "Seven"}', "item/7"),
        ("data/items/x.json", "[1, 2]", "item/x"),
        ("settings.toml", "debug = true\n", "config/settings"),
        ("charts/templates/x.yaml", "a: {{ .Values.b }}\n{{ end }}\n", "template/x"),
    ],
)
def test_without_a_mapping_types_are_detected(
    see: Callable[[Path], View], tmp_path: Path, path: str, text: str, key: str
) -> None:
    write(tmp_path / "w", path, text)
    assert [each.key for each in see(tmp_path / "w").documents()] == [key]


def test_equal_keys_get_their_paths_and_are_told(see: Callable[[Path], View], tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write(tmp_path / "w", f"{folder}/services/x.yaml", "name: x\n")
    view = see(tmp_path / "w")
    keys = ["service/x@a/services/x.yaml", "service/x@b/services/x.yaml"]
    assert [each.key for each in view.documents()] == keys
    assert [each["code"] for each in view.findings()] == ["key_not_unique", "key_not_unique"]
    assert [each["key"] for each in view.match_documents("x")] == keys


def test_documents_of_one_file_are_told_apart(see: Callable[[Path], View], tmp_path: Path) -> None:
    write(tmp_path / "w", "all/many.yaml", "name: a\n---\n---\nx: 1\n")
    view = see(tmp_path / "w")
    assert [(each.key, each.document_index) for each in view.documents()] == [("all/a", 0), ("all/many-3", 2)]
    assert view.read_document("all/many-3")["text"] == "---\nx: 1\n"


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("services/*.yaml", "services/a.yaml", True),
        ("services/*.yaml", "services/x/a.yaml", False),
        ("docs/**/*.md", "docs/a.md", True),
        ("docs/**/*.md", "docs/x/y/a.md", True),
        ("**/*.md", "a.md", True),
        ("./a?.[jt]*", "ab.toml", True),
        ("a[!b].x", "ab.x", False),
        ("a+(b).x", "a+(b).x", True),
    ],
)
def test_file_patterns(glob: str, path: str, expected: Any) -> None:
    assert matches(glob, path) is expected
