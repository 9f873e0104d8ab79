"""Edits: what an operation means is in the values, and nothing else of the file changes."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter_service.domains.workbench.edits import (
    change_bytes,
    content_sha256,
    draft_change,
    draft_new_document,
    draft_section_change,
    parse_value,
    rebase_change,
    revise_change,
)
from adapter_service.domains.workbench.errors import WorkbenchError
from adapter_service.domains.workbench.index import WorkbenchIndex
from adapter_service.domains.workbench.pointers import get, to_pointer, walk
from adapter_service.domains.workbench.view import View

from .conftest import CHECKOUT
from .corpus import FILES
from .workspaces import Folder, write

PORTS = ["  - name: http  # main", "    port: 8080", "  - name: admin", "    port: 9090"]
VALUES = [
    5,
    -1.5,
    True,
    None,
    "new",
    "yes",
    "1e3",
    "a: b # c",
    "",
    "2024-01-02",
    "é\tü",
    [1, "x"],
    {"k": 1, "l": ["m"]},
    [],
]


def changed(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went and the lines that came."""
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    return [each[2:] for each in lines if each[0] == "-"], [each[2:] for each in lines if each[0] == "+"]


@pytest.fixture
def edit(view: View) -> Callable[..., tuple[list[str], list[str]]]:
    def apply(op: str, path: str, *value: Any) -> tuple[list[str], list[str]]:
        operation = {"op": op, "path": path, **({"value": value[0]} if value else {})}
        change = draft_change(view, "service/checkout", [operation])
        return changed(CHECKOUT, change["text"])

    return apply


@pytest.mark.parametrize(
    ("operation", "gone", "come"),
    [
        (("set", "spec.replicas", 3), ["  replicas: 2"], ["  replicas: 3"]),
        (("set", "/spec/image", "shop:2"), ["  image: 'shop:1'"], ["  image: 'shop:2'"]),
        (("set", "metadata.name", "x"), ["  name: checkout   # the name"], ["  name: x   # the name"]),
        (("set", "spec.ports[-1].port", 1), ["    port: 9090"], ["    port: 1"]),
        (("set", "spec.replicas", "yes"), ["  replicas: 2"], ["  replicas: 'yes'"]),
        (("set", "metadata.labels.tier", "db"), ['  labels: {tier: "web"}'], ['  labels: {tier: "db"}']),
        (("set", "metadata.labels.zone", 1), ['  labels: {tier: "web"}'], ['  labels: {tier: "web", zone: 1}']),
        (("set", "spec.limits", {"cpu": 1, "of": ["a"]}), [], ["  limits:", "    cpu: 1", "    of:", "    - a"]),
        (("add", "spec.ports", {"name": "x", "port": 1}), [], ["  - name: x", "    port: 1"]),
        (("add", "/spec/ports/1", {"name": "x"}), [], ["  - name: x"]),
        (("add", "dependsOn", "cart"), ["dependsOn: [billing]"], ["dependsOn: [billing, cart]"]),
        (("add", "/dependsOn/0", "cart"), ["dependsOn: [billing]"], ["dependsOn: [cart, billing]"]),
        (("remove", "dependsOn", "billing"), ["dependsOn: [billing]"], ["dependsOn: []"]),
        (("remove", "spec.ports[0]"), ["  - name: http  # main", "    port: 8080"], []),
        (("remove", "spec.replicas"), ["  replicas: 2"], []),
        (("set", "spec.ports", 5), ["  ports:", *PORTS], ["  ports: 5"]),
        (("set", "spec.ports", {"a": 1}), PORTS, ["    a: 1"]),
        (("set", "metadata.labels", {}), ['  labels: {tier: "web"}'], ["  labels: {}"]),
        (("remove", "spec.note"), ["  note: |", "    first line", "", "    third line"], []),
        (("set", "spec.note", "short"), ["  note: |", "    first line", "", "    third line"], ["  note: short"]),
    ],
)
def test_only_the_lines_of_the_operation_change(
    edit: Callable[..., tuple[list[str], list[str]]], operation: tuple[Any, ...], gone: list[str], come: list[str]
) -> None:
    assert edit(*operation) == (gone, come)


def _expected(content: Any, op: str, steps: tuple[str | int, ...], value: Any) -> Any:
    content = copy.deepcopy(content)
    parent = get(content, steps[:-1])
    if op == "set":
        parent[steps[-1]] = value
    elif op == "insert":
        parent.insert(steps[-1], value)
    else:
        del parent[steps[-1]]
    return content


def _without_value(text: str, path: str, steps: tuple[str | int, ...], index: int) -> list[str] | None:
    """The lines outside of a YAML place, by PyYAML's own marks; None for another format or an anchor's place."""
    if not path.endswith((".yaml", ".yml")) or "<<" in text:
        return None
    node = list(yaml.compose_all(text, Loader=yaml.SafeLoader))[index]
    first = node.start_mark.line
    for step in steps:
        pairs = node.value if isinstance(step, int) else [value for _, value in node.value]
        starts = node.value if isinstance(step, int) else [key for key, _ in node.value]
        number = step if isinstance(step, int) else [key.value for key, _ in node.value].index(step)
        node, first = pairs[number], starts[number].start_mark.line
    lines = text.splitlines()
    last = node.end_mark.line + (1 if node.end_mark.column or isinstance(node, yaml.CollectionNode) else 0)
    return lines[:first] + lines[max(last, first + 1) :]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_operation_on_files_as_people_write_them(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    view = _corpus(tmp_path_factory)
    document = data.draw(st.sampled_from(view.documents()))
    before = view.file_text(document.path)
    content = view.read_document(document.key)["content"]
    steps, current = data.draw(st.sampled_from(list(walk(content))))
    value = data.draw(st.sampled_from(VALUES))
    op = data.draw(st.sampled_from(["set", "remove", "add"]))
    if op == "add" and isinstance(current, list):
        operation = {"op": "add", "path": to_pointer((*steps, "-")), "value": value}
        expected = _expected(content, "insert", (*steps, len(current)), value)
    elif op == "add" and isinstance(current, dict):
        operation = {"op": "add", "path": to_pointer((*steps, "added key")), "value": value}
        expected = _expected(content, "set", (*steps, "added key"), value)
    elif op == "remove":
        operation = {"op": "remove", "path": to_pointer(steps)}
        expected = _expected(content, "remove", steps, None)
    else:
        operation = {"op": "set", "path": to_pointer(steps), "value": value}
        expected = _expected(content, "set", steps, value)
    try:
        change = draft_change(view, document.key, [operation])
    except WorkbenchError as error:
        # TOML has no null, an anchor may be in use elsewhere, a merged key is not here to be removed.
        if (error.code, document.path) in _REFUSALS:
            return
        raise
    if document.path != "compose.yaml":
        # In a file with anchors a value may be in several places.
        assert change["content"] == expected or document.path == "project.toml"
    assert ("\r\n" in change["text"]) == ("\r\n" in before)
    assert (
        change["text"].count("\n") == 0
        or ("\r\n" not in before)
        or change["text"].count("\n") == change["text"].count("\r\n")
    )
    outside = _without_value(before, document.path, steps, document.document_index)
    if outside is not None and change["generated"] == "text":
        after = change["text"].splitlines()
        matched = difflib.SequenceMatcher(None, outside, after, autojunk=False).get_matching_blocks()
        kept = sum(block.size for block in matched)
        # The line of a flow collection that the place is in may change; every other line is as it was.
        assert kept >= len(outside) - 1


_REFUSALS = {("value_invalid", "project.toml"), ("not_editable", "project.toml"), ("not_editable", "compose.yaml")}
_view: list[View] = []


def _corpus(factory: pytest.TempPathFactory) -> View:
    if not _view:
        root = factory.mktemp("corpus")
        for path, text in FILES.items():
            write(root, path, text)
        _view.append(WorkbenchIndex(factory.mktemp("cache")).update(Folder(root)))
    return _view[0]


def test_the_corpus_is_edited_as_text_nearly_always(tmp_path_factory: pytest.TempPathFactory) -> None:
    view = _corpus(tmp_path_factory)
    ways = {"text": 0, "round_trip": 0, "refused": 0}
    for document in view.documents():
        content = view.read_document(document.key)["content"]
        for steps, current in walk(content):
            if isinstance(current, dict | list):
                continue
            try:
                change = draft_change(view, document.key, [{"op": "set", "path": to_pointer(steps), "value": "other"}])
                ways[change["generated"]] += 1
            except WorkbenchError:
                ways["refused"] += 1
    assert ways["refused"] == 0
    assert ways["round_trip"] == 0
    assert ways["text"] > 80


def test_a_change_through_an_anchor_names_all_places_that_change(tmp_path_factory: pytest.TempPathFactory) -> None:
    view = _corpus(tmp_path_factory)
    (key,) = [each.key for each in view.documents() if each.path == "compose.yaml"]
    change = draft_change(view, key, [{"op": "set", "path": "x-common.logging.driver", "value": "none"}])
    assert change["changed_paths"] == [
        "/x-common/logging/driver",
        "/services/db/logging/driver",
        "/services/web/logging/driver",
    ]
    assert changed(change["base_text"], change["text"]) == (["    driver: json-file"], ["    driver: none"])


def test_a_merged_key_that_is_set_is_overridden_where_it_was_asked_for(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    view = _corpus(tmp_path_factory)
    (key,) = [each.key for each in view.documents() if each.path == "compose.yaml"]
    change = draft_change(view, key, [{"op": "set", "path": "services.web.restart", "value": "no"}])
    assert change["changed_paths"] == ["/services/web/restart"]
    assert changed(change["base_text"], change["text"]) == ([], ["    restart: 'no'"])


def test_a_form_that_text_edits_do_not_know_is_edited_by_the_round_trip_library(
    see: Callable[[Path], View], tmp_path: Path
) -> None:
    root = tmp_path / "odd"
    write(root, "odd.yaml", "# kept\n- - a\n  - b # kept too\n- c\n")
    view = see(root)
    (document,) = view.documents()
    change = draft_change(view, document.key, [{"op": "add", "path": "/0/0", "value": "new"}])
    assert change["generated"] == "round_trip"
    assert change["content"] == [["new", "a", "b"], "c"]
    assert "# kept\n" in change["text"]
    assert "# kept too" in change["text"]


def test_a_text_is_quoted_only_where_its_place_needs_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("quotes")
    write(root, "a.yaml", "name: a\nimage: shop:1\nin: {image: shop:1}\nlist:\n- x:1\n")
    view = WorkbenchIndex(tmp_path_factory.mktemp("cache")).update(Folder(root))
    values = [
        ("image", "shop/web:2"),
        ("in.image", "a, b"),
        ("list[0]", "y:2"),
        ("new", "z: 3"),
        ("more", "http://h:1"),
    ]
    change = draft_change(view, "config/a", [{"op": "set", "path": path, "value": value} for path, value in values])
    assert change["text"] == (
        "name: a\nimage: shop/web:2\nin: {image: 'a, b'}\nlist:\n- y:2\nnew: 'z: 3'\nmore: http://h:1\n"
    )


def test_a_removed_anchor_leaves_its_values_to_those_that_use_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    view = _corpus(tmp_path_factory)
    (key,) = [each.key for each in view.documents() if each.path == "compose.yaml"]
    change = draft_change(view, key, [{"op": "remove", "path": "x-common"}])
    assert change["changed_paths"] == ["/x-common"]
    assert change["content"]["services"] == change["base_content"]["services"]
    # The lines without the anchor alone would be no YAML: the library writes the values at their first use.
    assert change["generated"] == "round_trip"
    assert "# kept" in change["text"]


def test_a_merged_key_is_not_removed_from_where_it_is_not(tmp_path_factory: pytest.TempPathFactory) -> None:
    view = _corpus(tmp_path_factory)
    (key,) = [each.key for each in view.documents() if each.path == "compose.yaml"]
    with pytest.raises(WorkbenchError, match="a merged key") as caught:
        draft_change(view, key, [{"op": "remove", "path": "services.web.restart"}])
    assert caught.value.code == "not_editable"


def test_new_lines_end_as_the_file_s_lines_do(tmp_path_factory: pytest.TempPathFactory) -> None:
    view = _corpus(tmp_path_factory)
    (key,) = [each.key for each in view.documents() if each.path == "windows.yaml"]
    change = draft_change(view, key, [{"op": "add", "path": "list", "value": {"a": 1, "b": "x\ny"}}])
    assert "\n" not in change["text"].replace("\r\n", "")


def test_byte_order_mark_and_line_endings_are_published_as_they_were(
    see: Callable[[Path], View], tmp_path: Path
) -> None:
    root = tmp_path / "bom"
    data = b"\xef\xbb\xbf" + FILES["windows.yaml"].encode()
    write(root, "a.yaml", data)
    view = see(root)
    change = draft_change(view, view.documents()[0].key, [{"op": "set", "path": "map.k", "value": "w"}])
    assert change_bytes(change) == data.replace(b"k: v", b"k: w")
    assert change["base_sha256"] == content_sha256(data)


@pytest.mark.parametrize(
    ("operation", "code", "parts"),
    [
        ({"op": "set", "path": "spec.scale.x", "value": 1}, "path_unknown", ["spec", "replicas, image, ports, note"]),
        ({"op": "set", "path": "spec.ports[7].port", "value": 1}, "path_unknown", ["list of 2", "indexes 0 to 1"]),
        ({"op": "remove", "path": "spec.missing"}, "path_unknown", ["replicas, image, ports, note"]),
        ({"op": "remove", "path": "dependsOn", "value": "x"}, "path_unknown", ["billing"]),
        ({"op": "add", "path": "spec.replicas", "value": 1}, "operation_invalid", ["already", "Use set"]),
        ({"op": "put", "path": "spec", "value": 1}, "operation_invalid", ["operations[0]", "set, remove or add"]),
        ({"op": "set", "path": "spec"}, "operation_invalid", ["with a value"]),
        ({"op": "set", "path": "a..b[", "value": 1}, "path_invalid", ["spec.ports[0].name"]),
        ({"op": "set", "path": "spec.replicas", "value": float("nan")}, "value_invalid", ["operations[0].value"]),
    ],
)
def test_a_wrong_operation_says_what_is_there_or_accepted(
    view: View, operation: dict[str, Any], code: str, parts: list[str]
) -> None:
    with pytest.raises(WorkbenchError) as caught:
        draft_change(view, "service/checkout", [operation])
    assert caught.value.code == code
    for part in parts:
        assert part in caught.value.en
    assert caught.value.ru != caught.value.en


def test_an_unknown_document_names_the_nearest(view: View) -> None:
    with pytest.raises(WorkbenchError, match="service/checkout") as caught:
        draft_change(view, "service/chekout", [{"op": "remove", "path": "spec"}])
    assert caught.value.code == "document_unknown"


def test_a_revision_adds_operations_and_replaces_those_of_the_same_path(view: View) -> None:
    first = draft_change(view, "service/checkout", [{"op": "set", "path": "spec.replicas", "value": 9}])
    second = revise_change(
        first, [{"op": "set", "path": "spec.replicas", "value": 4}, {"op": "remove", "path": "spec.note"}]
    )
    assert [each["path"] for each in second["operations"]] == ["spec.replicas", "spec.note"]
    assert second["content"]["spec"]["replicas"] == 4
    assert second["base_text"] == CHECKOUT
    assert "note" not in second["content"]["spec"]


def test_a_rebased_change_is_made_on_the_file_as_it_is_now(see: Callable[[Path], View], shop: Path) -> None:
    change = draft_change(see(shop), "service/checkout", [{"op": "set", "path": "spec.replicas", "value": 4}])
    write(shop, "services/checkout.yaml", CHECKOUT.replace("'shop:1'", "'shop:2'"))
    now = see(shop)
    rebased = rebase_change(now, change)
    assert rebased["base_sha256"] == now.document("service/checkout").sha256 != change["base_sha256"]
    assert rebased["content"]["spec"]["image"] == "shop:2"
    assert rebased["content"]["spec"]["replicas"] == 4


def test_a_new_document_lies_beside_its_type_and_has_its_identity(view: View) -> None:
    change = draft_new_document(view, "service", "search", {"spec": {"replicas": 1}})
    assert change["path"] == "services/search.yaml"
    assert change["base_sha256"] == ""
    assert yaml.safe_load(change["text"]) == {"metadata": {"name": "search"}, "spec": {"replicas": 1}}
    revised = revise_change(change, [{"op": "set", "path": "spec.replicas", "value": 2}])
    assert revised["content"]["spec"]["replicas"] == 2
    with pytest.raises(WorkbenchError) as caught:
        draft_new_document(view, "service", "billing", {})
    assert caught.value.code == "document_exists"


@pytest.mark.parametrize("path", ["/etc/x.yaml", "../x.yaml", "a/../../x.yaml", "x.txt"])
def test_a_new_document_has_a_path_within_the_workspace(view: View, path: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        draft_new_document(view, "service", "search", {}, path)
    assert caught.value.code == "path_invalid"


def test_a_section_gets_another_text_and_its_neighbours_keep_theirs(view: View) -> None:
    change = draft_section_change(view, "docs/guide.md", "retries", "Five times.")
    assert changed(change["base_text"], change["text"]) == (
        ["A failed call is retried three times. Then the order is parked."],
        ["Five times."],
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("3.5", 3.5),
        ("true", True),
        ("null", None),
        ('"3"', "3"),
        ("'x y'", "x y"),
        ("[a, 1]", ["a", 1]),
        ("{a: {b: 1}}", {"a": {"b": 1}}),
        ("shop:2", "shop:2"),
        ("yes", "yes"),
        ("[broken", "[broken"),
        ("plain words", "plain words"),
    ],
)
def test_a_value_is_read_as_people_write_it(text: str, value: Any) -> None:
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)
