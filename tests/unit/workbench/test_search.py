"""Finding documents and documentation: by words in both languages, by fields, by half-remembered names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter_service.domains.workbench.errors import WorkbenchError
from adapter_service.domains.workbench.index import WorkbenchIndex
from adapter_service.domains.workbench.view import View

from .conftest import CHECKOUT, GUIDE
from .workspaces import Folder, write


def keys(found: dict[str, Any]) -> list[str]:
    return [each["key"] for each in found["documents"]]


def test_words_may_be_in_the_text_or_in_the_name(view: View) -> None:
    assert keys(view.find_documents("8080")) == ["service/cart", "service/checkout"]
    assert keys(view.find_documents("checkout 9090")) == ["service/checkout"]
    assert view.find_documents("checkout 9090")["matched"] == "all"


def test_where_no_document_has_all_words_those_with_some_are_given_and_it_is_said(view: View) -> None:
    found = view.find_documents("checkout zebra")
    assert found["matched"] == "any"
    assert keys(found)[0] == "service/checkout"
    assert view.find_documents("zebra") == {"documents": [], "total": 0, "limit": 20, "offset": 0, "matched": "all"}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"/spec/port": 8080}, ["service/cart"]),
        ({"spec.port": "8080"}, ["service/cart"]),
        ({"/spec/ports/*/port": 8080}, ["service/checkout"]),
        ({"port": 8080}, ["service/cart", "service/checkout"]),
        ({"dependsOn": "billing"}, ["service/cart", "service/checkout"]),
        ({"/spec/image": None}, ["service/checkout"]),
        ({"port": 8080, "/spec/replicas": 2}, ["service/checkout"]),
        ({"port": 808}, []),
        ({"/spec/port": "808*"}, []),
    ],
)
def test_fields_by_value(view: View, where: dict[str, Any], expected: list[str]) -> None:
    assert keys(view.find_documents(type="service", where=where)) == expected


def test_pages_are_of_one_order_and_total(view: View) -> None:
    pages = [view.find_documents(type="service", limit=2, offset=offset) for offset in (0, 2, 4)]
    assert [keys(page) for page in pages] == [["service/billing", "service/cart"], ["service/checkout"], []]
    assert {page["total"] for page in pages} == {3}
    assert keys(view.find_documents(path="services", sort="path"))[0] == "service/billing"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"limit": 0}, "limit_invalid"),
        ({"limit": 101}, "limit_invalid"),
        ({"offset": -1}, "limit_invalid"),
        ({"sort": "age"}, "operation_invalid"),
        ({"where": {"a": {}}}, "where_invalid"),
    ],
)
def test_a_wrong_argument_is_told_with_the_accepted_form(view: View, arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(WorkbenchError) as caught:
        view.find_documents(**arguments)
    assert caught.value.code == code
    assert "accepted" in caught.value.en


def test_a_snippet_is_the_line_with_the_words(view: View) -> None:
    (document,) = view.find_documents("admin")["documents"]
    assert document["snippet"] == "- name: admin"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("checkout", "service/checkout"),
        ("service/checkout", "service/checkout"),
        ("services/checkout.yaml", "service/checkout"),
        ("CHECKOUT", "service/checkout"),
        ("chekout", "service/checkout"),
        ("chéckout", "service/checkout"),
        ("the checkout service", "service/checkout"),
        ("чекаут", "service/checkout"),
        ("биллинг", "service/billing"),
        ("biling", "service/billing"),
    ],
)
def test_a_name_is_recognised_however_it_is_written(view: View, text: str, key: str) -> None:
    found = view.match_documents(text)
    assert found[0]["key"] == key
    assert found[0]["document"].key == key


def test_an_exact_name_is_certain_and_another_word_matches_nothing(view: View) -> None:
    assert view.match_documents("checkout")[0]["score"] == 100
    assert [match["score"] for match in view.match_documents("checkout")[1:]] == sorted(
        (match["score"] for match in view.match_documents("checkout")[1:]), reverse=True
    )
    assert view.match_documents("zebra") == []
    assert view.match_documents("") == []


@pytest.mark.parametrize("text", ["service", "services", "Service", "servise"])
def test_types_are_recognised_in_the_singular_and_plural(view: View, text: str) -> None:
    assert view.match_types(text)[0][0] == "service"


@pytest.mark.parametrize(
    ("question", "anchor", "quote"),
    [
        ("what do the docs say about retries?", "retries", "A failed call is retried three times."),
        ("retry", "retries", "A failed call is retried three times."),
        ("how is logging configured", "logging", "Logs are JSON lines on standard output."),
        ("LOG_LEVEL", "levels", "Set `LOG_LEVEL` to debug or info."),
        ("какой порт у админки", "порты", "Сервисы слушают порт 8080, админка — порт 9090."),
        ("что написано про портов", "порты", "Сервисы слушают порт 8080, админка — порт 9090."),
        ("loging", "logging", "Logs are JSON lines on standard output."),
    ],
)
def test_documentation_is_found_and_quoted_verbatim(view: View, question: str, anchor: str, quote: str) -> None:
    fragment = view.search_documentation(question)["fragments"][0]
    assert (fragment["path"], fragment["anchor"]) == ("docs/guide.md", anchor)
    assert fragment["quote"].startswith(quote)
    assert fragment["quote"] in GUIDE
    assert fragment["heading_path"][0] == "Guide"
    assert fragment["sha256"] == view.files["docs/guide.md"].sha256


def test_nothing_is_found_where_nothing_is_written(view: View) -> None:
    assert view.search_documentation("zebra") == {"fragments": [], "total": 0, "matched": "all"}
    assert view.search_documentation("???")["total"] == 0


def test_a_section_by_its_anchor(view: View) -> None:
    assert view.section("docs/guide.md", "#levels")["heading_path"] == ["Guide", "Logging", "Levels"]
    with pytest.raises(WorkbenchError, match="#retries, #logging, #levels"):
        view.section("docs/guide.md", "nothing")
    with pytest.raises(WorkbenchError, match=r"docs/guide\.md"):
        view.section("docs/other.md")


def test_a_section_about_something_comes_before_one_that_mentions_it(
    see: Callable[[Path], View], tmp_path: Path
) -> None:
    write(tmp_path / "w", "a.md", "# Thanks\n\nSee the registry.\n")
    write(
        tmp_path / "w",
        "b.md",
        "---\ntitle: Handbook\n---\n# Registry\n\n" + "It keeps packages for everybody who needs them.\n" * 20,
    )
    fragments = see(tmp_path / "w").search_documentation("registry")["fragments"]
    assert [(each["path"], each["anchor"]) for each in fragments] == [("b.md", "registry"), ("a.md", "thanks")]
    assert fragments[0]["heading_path"] == ["Handbook", "Registry"]


def test_yo_and_ye_are_one_letter(see: Callable[[Path], View], tmp_path: Path) -> None:
    write(tmp_path / "w", "a.md", "# Учёт\n\nСчёт закрывается ночью.\n")
    view = see(tmp_path / "w")
    assert view.search_documentation("счет")["total"] == 1
    assert view.search_documentation("счёта")["total"] == 1


def test_front_matter_is_never_quoted(see: Callable[[Path], View], tmp_path: Path) -> None:
    write(tmp_path / "w", "a.md", "---\ntitle: Zebra\nkind: zebra\n---\nA zebra has stripes.\n")
    (fragment,) = see(tmp_path / "w").search_documentation("zebra")["fragments"]
    assert fragment["quote"] == "A zebra has stripes."


def test_a_long_section_is_one_result_with_a_bounded_text(see: Callable[[Path], View], tmp_path: Path) -> None:
    write(tmp_path / "w", "a.md", "# Long\n\n" + "zebra stripes are here.\n\n" * 1000)
    found = see(tmp_path / "w").search_documentation("zebra")
    assert found["total"] == 1
    assert len(found["fragments"][0]["text"]) <= 4001
    assert len(found["fragments"][0]["quote"]) <= 400


_view: list[View] = []


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.text(max_size=40),
        st.sampled_from(['"', "a OR", "NEAR(", "name:x", "*", "^x", "- + ( )", "'; DROP", "a AND NOT b"]),
    )
)
def test_no_question_is_ever_query_syntax(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    if not _view:
        root = tmp_path_factory.mktemp("w")
        write(root, "services/checkout.yaml", CHECKOUT)
        write(root, "guide.md", GUIDE)
        _view.append(WorkbenchIndex(tmp_path_factory.mktemp("c")).update(Folder(root)))
    _view[0].find_documents(text)
    _view[0].search_documentation(text)
    _view[0].match_documents(text)
    _view[0].match_types(text)


def test_fields_are_found_by_their_names(view: View) -> None:
    assert view.field_paths("service/checkout", "replicas")[0] == {
        "pointer": "/spec/replicas",
        "dotted": "spec.replicas",
        "value": 2,
    }
    assert view.field_paths("service/checkout", "replica")[0]["dotted"] == "spec.replicas"
    assert {each["dotted"] for each in view.field_paths("service/checkout", "port")[:2]} <= {
        "spec.ports[0].port",
        "spec.ports[1].port",
        "spec.ports",
    }
    assert view.get_value("service/checkout", "spec.ports[1].name") == "admin"


def test_comparison_shows_values_and_lines(view: View) -> None:
    found = view.compare("service/billing", "service/cart")
    assert not found["same"]
    assert {"path": "/spec/port", "op": "changed", "a": 7070, "b": 8080} in found["changes"]
    assert {"op": "replace", "path": "/spec/port", "value": 8080} in found["json_patch"]
    assert "+  port: 8080" in found["unified_diff"].splitlines()
    assert view.compare("service/cart", "service/cart") == {
        "a": "service/cart",
        "b": "service/cart",
        "same": True,
        "unified_diff": "",
        "json_patch": [],
        "changes": [],
    }


def test_references_go_both_ways(view: View) -> None:
    assert [each["target_key"] for each in view.references_from("service/cart")] == [
        "service/checkout",
        "service/billing",
    ]
    assert [each["source_key"] for each in view.references_to("service/billing")] == [
        "service/cart",
        "service/checkout",
    ]


def test_references_are_detected_without_a_mapping(see: Callable[[Path], View], tmp_path: Path) -> None:
    write(tmp_path / "w", "k/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
    write(
        tmp_path / "w",
        "k/d.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        "spec: {envFrom: [{configMapRef: {name: settings}}], secretName: none}\n",
    )
    view = see(tmp_path / "w")
    assert [(each["pointer"], each["target_key"]) for each in view.references_from("pod/p")] == [
        ("/spec/envFrom/0/configMapRef/name", "configmap/settings")
    ]


def test_a_chosen_document_holds_while_it_is_what_it_was(see: Callable[[Path], View], shop: Path) -> None:
    before = see(shop).document("service/billing")
    assert see(shop).holds("service/billing", before.path, before.sha256)
    (shop / "services/billing.yaml").rename(shop / "services/moved.yaml")
    assert see(shop).holds("service/billing")
    assert not see(shop).holds("service/billing", before.path)
    write(shop, "services/moved.yaml", "metadata: {name: billing}\nspec: {}\n")
    assert not see(shop).holds("service/billing", sha256=before.sha256)
    (shop / "services/moved.yaml").unlink()
    assert not see(shop).holds("service/billing")
