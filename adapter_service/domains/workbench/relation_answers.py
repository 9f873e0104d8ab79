"""What is said about two or more documents: how they differ, which refer to which. Called by tools_documents.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapter_service.domains.workbench.answers import dotted_path, fenced, local, one_line
from adapter_service.domains.workbench.naming import named
from adapter_service.domains.workbench.topics import topic_referents
from adapter_service.sdk import EntityCitation, Referent


def say_comparison(result: Mapping[str, Any], locale: str) -> str:
    """The differing fields, first document's value on the left."""
    both = f"{named(result['first'])} ↔ {named(result['second'])}"
    if result["same"]:
        return local(locale, f"{both}: no difference.", f"{both}: различий нет.")
    if not result["changes"]:
        return f"{both}:\n{fenced(result['diff'], 'diff')}"
    lines = [f"- {_changed(each, locale)}" for each in result["changes"]]
    more = result["change_count"] - len(lines)
    if more > 0:
        lines.append(f"… (+{more})")
    head = local(locale, f"Differences: {result['change_count']}.", f"Различий: {result['change_count']}.")
    return "\n".join([f"{both}. {head}", *lines])


def _changed(change: Mapping[str, Any], locale: str) -> str:
    absent = local(locale, "absent", "нет")
    left, right = (absent if change[side] is None else one_line(change[side]) for side in ("a", "b"))
    return f"{dotted_path(change['path'])}: {left} ↔ {right}"


def entity_of(key: str) -> EntityCitation:
    kind, _, identity = key.partition("/")
    return EntityCitation(kind, identity)


def cite_comparison(result: Mapping[str, Any]) -> tuple[EntityCitation, ...]:
    """Both documents."""
    return (entity_of(result["first"]), entity_of(result["second"]))


def refer_comparison(result: Mapping[str, Any]) -> tuple[Referent, ...]:
    """Both documents."""
    return topic_referents([result["first"], result["second"]])


def say_references(result: Mapping[str, Any], locale: str) -> str:
    """The documents at the other end of the references, and where the reference stands."""
    name, incoming = named(result["document"]), result["direction"] == "to"
    if not result["total"]:
        return (
            local(locale, f"No document refers to {name}.", f"На {name} не ссылается ни один документ.")
            if incoming
            else local(locale, f"{name} refers to no other document.", f"{name} не ссылается на другие документы.")
        )
    head = (
        local(locale, f"References to {name}: {result['total']}.", f"Ссылок на {name}: {result['total']}.")
        if incoming
        else local(locale, f"References of {name}: {result['total']}.", f"Ссылок из {name}: {result['total']}.")
    )
    missing = local(locale, "missing", "не найдено")
    lines = [
        f"- {named(each['key']) if each['key'] else each['said'] + ' (' + missing + ')'}, {dotted_path(each['path'])}"
        for each in result["references"]
    ]
    return "\n".join([head, *lines])


def cite_references(result: Mapping[str, Any]) -> tuple[EntityCitation, ...]:
    """The document and those at the other ends."""
    return (entity_of(result["document"]), *(entity_of(each["key"]) for each in result["references"] if each["key"]))


def refer_references(result: Mapping[str, Any]) -> tuple[Referent, ...]:
    """The documents at the other ends, or the document itself where there are none."""
    return topic_referents([each["key"] for each in result["references"] if each["key"]] or [result["document"]])
