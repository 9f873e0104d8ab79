"""Words become documents, types, fields and values of the workspace, or a closed list, or a reason (requirement C5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter_service.domains.workbench.resolvers import holds, resolvers
from adapter_service.domains.workbench.topics import topic_referents
from adapter_service.domains.workbench.workspace_view import OpenWorkspace
from adapter_service.sdk import Candidates, Memory, Resolution, ResolveContext, Resolved, Unresolved
from tests.unit.workbench_planner.reading import NOW

RESOLVERS = resolvers()
SPOKEN_OF = Memory(referents=topic_referents(["service/billing", "service/search"]))


def resolve(
    name: str, text: str, workspace: Any, values: Mapping[str, Any] | None = None, memory: Memory | None = None
) -> Resolution:
    return RESOLVERS[name](text, ResolveContext("en", NOW, memory or Memory(), workspace, values or {}))


def value_of(resolution: Resolution) -> Any:
    assert isinstance(resolution, Resolved), resolution
    return resolution.value


def offered(resolution: Resolution) -> list[str]:
    assert isinstance(resolution, Candidates), resolution
    return [option.identity for option in resolution.options]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("checkout", "service/checkout"),
        ("the checkout service", "service/checkout"),
        ("сервис checkout", "service/checkout"),
        ("CHECKOUT", "service/checkout"),
        ("checkot", "service/checkout"),
        ("чекаут", "service/checkout"),
        ("`service/billing`", "service/billing"),
        ("services/search.yaml", "service/search"),
        ("team payments", "team/payments"),
        ("Search of the catalogue", "service/search"),
    ],
)
def test_a_document_is_named_in_many_ways(workspace: OpenWorkspace, text: str, key: str) -> None:
    assert value_of(resolve("document", text, workspace)) == key


def test_what_was_spoken_of_is_meant_by_pronouns_and_ordinals(workspace: OpenWorkspace) -> None:
    assert offered(resolve("document", "it", workspace, memory=SPOKEN_OF)) == ["service/billing", "service/search"]
    assert value_of(resolve("document", "the second one", workspace, memory=SPOKEN_OF)) == "service/search"
    assert value_of(resolve("document", "последний", workspace, memory=SPOKEN_OF)) == "service/search"
    assert isinstance(resolve("document", "the third", workspace, memory=SPOKEN_OF), Unresolved)
    assert isinstance(resolve("document", "it", workspace), Unresolved)


def test_an_unknown_document_is_not_replaced_by_a_similar_one(workspace: OpenWorkspace) -> None:
    unknown = resolve("document", "chess", workspace)
    assert isinstance(unknown, Unresolved)
    assert "“chess”" in unknown.explanation.en
    assert offered(resolve("document", "the service", workspace)) == [
        "service/billing",
        "service/checkout",
        "service/search",
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("services", "service"), ("all the services", "service"), ("команды", "team"), ("сервисов", "service")],
)
def test_types_are_named_in_singular_and_plural(workspace: OpenWorkspace, text: str, kind: str) -> None:
    assert value_of(resolve("document_type", text, workspace)) == kind


def test_an_unknown_type_names_those_that_there_are(workspace: OpenWorkspace) -> None:
    unknown = resolve("document_type", "spaceships", workspace)
    assert isinstance(unknown, Unresolved)
    assert "service, team" in unknown.explanation.en


CHECKOUT = {"document": "service/checkout"}


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("replicas", "/spec/replicas"),
        ("spec.replicas", "/spec/replicas"),
        ("/spec/replicas", "/spec/replicas"),
        ("the number of replicas", "/spec/replicas"),
        ("реплики", "/spec/replicas"),
        ("порт", "/spec/port"),
        ("образ", "/spec/image"),
        ("depends on", "/spec/dependsOn"),
        ("tags[0]", "/spec/tags/0"),
        ("spec.timeout", "/spec/timeout"),
    ],
)
def test_a_field_is_named_by_its_name_or_path(workspace: OpenWorkspace, text: str, pointer: str) -> None:
    assert value_of(resolve("field", text, workspace, CHECKOUT)) == pointer


def test_a_field_that_is_not_there_names_those_that_are(workspace: OpenWorkspace) -> None:
    for resolver in ("field", "present_field"):
        unknown = resolve(resolver, "colour", workspace, CHECKOUT)
        assert isinstance(unknown, Unresolved)
        assert "replicas" in unknown.explanation.en
    places = resolve("field", "colour", workspace, {**CHECKOUT, "operation": "add"})
    assert offered(places) == ["/colour", "/metadata/colour", "/spec/colour"]


def test_a_field_of_several_is_offered_as_a_closed_list(workspace: OpenWorkspace) -> None:
    content = {"ports": [{"name": "web", "port": 80}, {"name": "admin", "port": 81}]}
    change = {"change": {"content": content, "base_content": content, "operations": []}}
    assert offered(resolve("field", "port", workspace, change)) == ["/ports/0/port", "/ports/1/port"]
    assert value_of(resolve("field", "admin port", workspace, change)) == "/ports/1/port"
    added = {**change, "operation": "add"}
    assert value_of(resolve("field", "port", workspace, added)) == "/ports"
    assert value_of(resolve("value", "82", workspace, {**added, "field": "/ports"})) == {"port": 82}


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("3", "/spec/replicas", 3),
        ("three", "/spec/replicas", "three"),
        ("1.5", "/spec/image", "1.5"),
        ("on", "/spec/tracing", True),
        ("нет", "/spec/tracing", False),
        ("“3”", "/spec/replicas", "3"),
        ("a, b", "/spec/tags", ["a", "b"]),
        ("[a, b]", "/spec/tags", ["a", "b"]),
    ],
)
def test_a_value_has_the_kind_of_the_field(workspace: OpenWorkspace, text: str, field: str, value: object) -> None:
    assert value_of(resolve("value", text, workspace, {**CHECKOUT, "field": field})) == value


@pytest.mark.parametrize("text", ["9007199254740993", "1e999", ".inf", "[1, 9007199254740993]"])
def test_a_number_that_json_cannot_hold_is_refused_naming_the_form(workspace: OpenWorkspace, text: str) -> None:
    refused = resolve("value", text, workspace, {**CHECKOUT, "field": "/spec/replicas"})
    assert isinstance(refused, Unresolved) or isinstance(value_of(refused), str)


def test_the_wrong_value_of_a_draft_does_not_decide_the_kind_of_the_next(workspace: OpenWorkspace) -> None:
    change = {
        "base_content": {"replicas": 2},
        "content": {"replicas": "many"},
        "operations": [{"op": "set", "path": "/replicas", "value": "many"}],
    }
    assert value_of(resolve("value", "4", workspace, {"change": change})) == 4


def test_an_amount_is_reckoned_from_what_is_there_now(workspace: OpenWorkspace) -> None:
    replicas = {**CHECKOUT, "field": "/spec/replicas"}
    assert value_of(resolve("value", "+= 1", workspace, replicas)) == 3
    assert value_of(resolve("value", "-= 1", workspace, replicas)) == 1
    change = {"base_content": {"replicas": 2}, "content": {"replicas": 3}, "operations": []}
    assert value_of(resolve("value", "+= 1", workspace, {"change": change, "field": "/replicas"})) == 4
    assert isinstance(resolve("value", "+= 1", workspace, {**CHECKOUT, "field": "/spec/image"}), Unresolved)


def test_an_item_of_a_list_is_named_by_its_value(workspace: OpenWorkspace) -> None:
    assert value_of(resolve("field", "tag web", workspace, {**CHECKOUT, "operation": "remove"})) == "/spec/tags/0"
    assert value_of(resolve("field", "тег web", workspace, {**CHECKOUT, "operation": "remove"})) == "/spec/tags/0"


def test_whether_a_chosen_thing_still_holds(workspace: OpenWorkspace) -> None:
    assert holds("document", "service/checkout", workspace)
    assert not holds("document", "service/gone", workspace)
    assert not holds("document_type", "spaceship", workspace)
    assert holds("page", "docs/operations.md", workspace)
    assert not holds("page", "docs/gone.md", workspace)
    assert not holds("document", "service/checkout", None)


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=60), name=st.sampled_from(sorted(RESOLVERS)))
def test_no_text_breaks_a_resolver(workspace: OpenWorkspace, text: str, name: str) -> None:
    for values in ({}, CHECKOUT, {**CHECKOUT, "operation": "add", "field": "/spec/tags"}):
        found = resolve(name, text, workspace, values, SPOKEN_OF)
        if isinstance(found, Candidates):
            assert len(found.options) > 1


_NESTED = {
    "content": {"server": {"tls": {"enabled": False, "port": 443}, "hosts": ["a", "b"]}, "web": {"ports": [80]}},
    "base_content": {"server": {"tls": {"enabled": False, "port": 443}, "hosts": ["a", "b"]}, "web": {"ports": [80]}},
    "key": "config/shop",
    "operations": [],
}


@pytest.mark.parametrize(
    ("field", "said", "english", "russian"),
    [
        ("/server/tls", "443", "set server.tls.enabled to …", "server.tls.enabled"),
        ("/server", "true", "a single value would replace them all", "одно значение заменило бы их все"),
        ("/server/hosts", "c", "is a list of 2", "элементов: 2"),
    ],
)
def test_a_single_value_does_not_replace_a_whole_object_or_list(
    workspace: OpenWorkspace, field: str, said: str, english: str, russian: str
) -> None:
    found = resolve("value", said, workspace, {"change": _NESTED, "field": field})
    assert isinstance(found, Unresolved)
    assert english in found.explanation.en
    assert russian in found.explanation.ru


@pytest.mark.parametrize(
    ("field", "said", "value"),
    [
        ("/server/tls", "on", True),
        ("/server/tls", "выкл", False),
        ("/server/tls", '{"port": 1}', {"port": 1}),
        ("/server/hosts", "c, d", ["c", "d"]),
        ("/server/hosts", '["c"]', ["c"]),
    ],
)
def test_a_switch_is_turned_and_a_whole_value_in_json_is_taken(
    workspace: OpenWorkspace, field: str, said: str, value: Any
) -> None:
    assert value_of(resolve("value", said, workspace, {"change": _NESTED, "field": field})) == value


@pytest.mark.parametrize("said", ["ports of web", "ports of the web", "ports у web"])
def test_a_field_of_a_part_is_named_the_way_people_do(workspace: OpenWorkspace, said: str) -> None:
    assert value_of(resolve("field", said, workspace, {"change": _NESTED})) == "/web/ports"


def test_a_field_that_is_not_there_is_told_with_the_document_that_was_looked_into(workspace: OpenWorkspace) -> None:
    found = resolve("field", "colour", workspace, {"change": _NESTED})
    assert isinstance(found, Unresolved)
    assert "There is no field “colour” in config/shop" in found.explanation.en
    other = resolve("present_field", "colour", workspace, {"document": "service/checkout"})
    assert isinstance(other, Unresolved)
    assert "in service/checkout" in other.explanation.en
