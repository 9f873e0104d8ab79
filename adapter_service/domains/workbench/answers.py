"""What reading tools say: short, with quotes marked as quotes and their source beside them (requirements F3, H1).

Called by tools_documents.py; say-functions get a stored result and a locale, and state nothing that is not in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from adapter_service.domains.workbench.naming import named, source_name
from adapter_service.domains.workbench.plurals import counted
from adapter_service.domains.workbench.topics import topic_referents
from adapter_service.sdk import DocumentationCitation, EntityCitation, Referent, Text

MOST_DIFF_LINES: Final = 40
_FENCES: Final = {"application/json": "json", "application/toml": "toml", "text/markdown": "markdown"}
_ONE_LINE: Final = 120
_MOST_FINDING: Final = 240
_MOST_LINE: Final = 400


def rendered(value: Any) -> str:
    """A value of a document as text: a string itself, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)


def one_line(text: str, limit: int = _ONE_LINE) -> str:
    """A text on one line, shortened."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def bounded_diff(diff: str) -> str:
    """The first lines of a unified diff, and how many more there are."""
    lines = [line if len(line) <= _MOST_LINE else line[: _MOST_LINE - 1] + "…" for line in diff.splitlines()]
    more = len(lines) - MOST_DIFF_LINES
    return "\n".join(lines[:MOST_DIFF_LINES] + ([f"… (+{more})"] if more > 0 else []))


def local(locale: str, en: str, ru: str) -> str:
    """One of two texts."""
    return Text(en, ru).localized(locale)


def told_finding(finding: Mapping[str, Any], locale: str) -> str:
    """Where and what, on one line."""
    message = local(locale, finding["message_en"], finding["message_ru"])
    return f"- {finding['path']}: {one_line(message, _MOST_FINDING)}"


def fenced(text: str, media_type: str) -> str:
    """A text as a code block, its language by the media type."""
    fence = "````" if "```" in text else "```"
    return f"{fence}{_FENCES.get(media_type, 'yaml')}\n{text}\n{fence}"


def seen(result: Mapping[str, Any]) -> dict[str, Any]:
    """What later context may see of a result: all of it, for it is bounded, with the documents as answers name them."""
    keys = [result.get(name) for name in ("key", "document", "first", "second")]
    keys += [each["key"] for name in ("documents", "references") for each in _listed(result.get(name))]
    sources = [source_name(result["page"], each["anchor"]) for each in _listed(result.get("headings"))]
    return {**result, "names": [named(key) for key in dict.fromkeys(keys) if key], "sources": sources}


def _listed(value: Any) -> list[Mapping[str, Any]]:
    return value if isinstance(value, list) else []


# --- the workspace as a whole ---------------------------------------------------------------------------------------


def say_workspace(result: Mapping[str, Any], locale: str) -> str:
    """Counts of types and documentation, and what could not be read."""
    if not result["documents"] and not result["documentation_files"]:
        return local(
            locale,
            "The workspace holds no documents and no documentation.",
            "В рабочей области нет ни документов, ни документации.",
        )
    kinds = ", ".join(f"{each['type']} ({each['count']})" for each in result["types"])
    more = result["type_count"] - len(result["types"])
    if more > 0:
        kinds += local(locale, f" and {more} more types", f" и ещё видов: {more}")
    files, sections = result["documentation_files"], result["sections"]
    pages = ", ".join(page["path"] for page in result["pages"])
    lines = [
        local(
            locale,
            f"The workspace holds {counted(result['documents'], 'document', locale)}: {kinds}.",
            f"В рабочей области {counted(result['documents'], 'document', locale)}: {kinds}.",
        )
        if result["documents"]
        else local(locale, "The workspace holds no typed documents.", "Типизированных документов в ней нет."),
        local(
            locale,
            f"Documentation: {counted(files, 'file', locale)}, {counted(sections, 'section', locale)}"
            f" ({pages}{', …' if files > len(result['pages']) else ''}).",
            f"Документация: {counted(files, 'file', locale)}, {counted(sections, 'section', locale)}"
            f" ({pages}{', …' if files > len(result['pages']) else ''}).",
        )
        if files
        else local(locale, "There is no Markdown documentation.", "Документации Markdown нет."),
    ]
    if result["finding_count"]:
        told = "\n".join(told_finding(each, locale) for each in result["findings"])
        lines.append(
            local(
                locale,
                f"Remarks about files: {result['finding_count']}, the first of them:\n{told}",
                f"Замечания к файлам: {result['finding_count']}, первые из них:\n{told}",
            )
        )
    return "\n".join(lines)


def say_check(result: Mapping[str, Any], locale: str) -> str:
    """Numbers of errors and remarks, the first of them."""
    what = (
        named(result["document"])
        if result["document"]
        else local(
            locale,
            f"the workspace ({counted(result['documents'], 'document', locale)})",
            f"рабочая область ({counted(result['documents'], 'document', locale)})",
        )
    )
    total = result["errors"] + result["others"]
    if not total:
        return local(locale, f"Checked: {what}. Nothing is wrong.", f"Проверено: {what}. Ошибок нет.")
    head = local(
        locale,
        f"Checked: {what}. Errors: {result['errors']}, other remarks: {result['others']}.",
        f"Проверено: {what}. Ошибок: {result['errors']}, других замечаний: {result['others']}.",
    )
    lines = [told_finding(each, locale) for each in result["findings"]]
    if total > len(lines):
        lines.append(f"… (+{total - len(lines)})")
    return "\n".join([head, *lines])


# --- lists ----------------------------------------------------------------------------------------------------------


def _page_of(result: Mapping[str, Any], locale: str) -> str:
    first, last = result["offset"] + 1, result["offset"] + len(result["documents"])
    if first == 1 and last == result["total"]:
        return ""
    more = (
        local(locale, " Say “show more” for the next ones.", " Скажите «покажи ещё», чтобы увидеть следующие.")
        if last < result["total"]
        else ""
    )
    return local(locale, f" Shown: {first} to {last}.{more}", f" Показаны: {first}–{last}.{more}")


def _item(document: Mapping[str, Any], *, found: bool) -> str:
    """A line of a list: the place where the words were found, or the title."""
    note = (document.get("snippet") if found else "") or document.get("title") or ""
    if note == document.get("identity"):
        note = ""
    return f"- {named(document['key'])} ({document['path']})" + (f": {one_line(str(note))}" if note else "")


def _documents(count: int, kind: str | None, locale: str) -> str:
    told = counted(count, "document", locale)
    return told if not kind else local(locale, f"{told} of type {kind}", f"{told} вида {kind}")


def say_list(result: Mapping[str, Any], locale: str) -> str:
    """The count, the page and its documents."""
    if not result["total"]:
        kind = result["document_type"]
        return local(
            locale,
            f"There are no documents{f' of type {kind}' if kind else ''}.",
            f"Документов{f' вида {kind}' if kind else ''} нет.",
        )
    if not result["documents"]:
        return local(locale, "There are no more documents.", "Больше документов нет.")
    told = _documents(result["total"], result["document_type"], locale)
    return "\n".join(
        [f"{told}.{_page_of(result, locale)}", *(_item(each, found=False) for each in result["documents"])]
    )


def _searched(result: Mapping[str, Any], locale: str) -> str:
    conditions = [
        name if value is None else f"{name} = {rendered(value)}" for name, value in (result["where"] or {}).items()
    ]
    words = [f"“{result['text']}”" if locale == "en" else f"«{result['text']}»"] if result["text"] else []
    return ", ".join([*conditions, *words])


def say_found(result: Mapping[str, Any], locale: str) -> str:
    """What was looked for, how many documents it is in, and the page of them."""
    searched = one_line(_searched(result, locale))
    kind = result["document_type"]
    if not result["total"]:
        return local(
            locale,
            f"No document{f' of type {kind}' if kind else ''} matches: {searched}.",
            f"Подходящих документов{f' вида {kind}' if kind else ''} нет: {searched}.",
        )
    if not result["documents"]:
        return local(locale, "There are no more documents.", "Больше документов нет.")
    told = _documents(result["total"], kind, locale)
    if result["by_words"]:
        head = local(
            locale,
            f"No document has this field with this value ({searched}); the words occur in {told}.",
            f"Документов с таким значением поля нет ({searched}); эти слова встречаются, {told}.",
        )
    elif result.get("matched") == "any":
        head = local(
            locale,
            f"No document has all of the words {searched}; some of them occur in {told}.",
            f"Документов со всеми словами {searched} нет; часть слов встречается, {told}.",
        )
    else:
        head = local(locale, f"{told}: {searched}.", f"{told}: {searched}.")
    return "\n".join([head + _page_of(result, locale), *(_item(each, found=True) for each in result["documents"])])


def cite_list(result: Mapping[str, Any]) -> tuple[EntityCitation, ...]:
    """The documents of the page."""
    return tuple(EntityCitation(each["type"], each["identity"]) for each in result["documents"])


def _refer_page(result: Mapping[str, Any], tool: str, names: Sequence[str]) -> tuple[Referent, ...]:
    following = result["offset"] + len(result["documents"])
    keys = [each["key"] for each in result["documents"]]
    arguments = {name: result[name] for name in names if result[name] is not None}
    return topic_referents(keys, tool, {**arguments, "offset": following, "limit": result["limit"]})


def refer_list(result: Mapping[str, Any]) -> tuple[Referent, ...]:
    """The documents of the page, and where the next page begins."""
    return _refer_page(result, "list_documents", ("document_type",))


def refer_found(result: Mapping[str, Any]) -> tuple[Referent, ...]:
    """The documents of the page, and where the next page begins."""
    return _refer_page(result, "find_documents", ("text", "document_type", "where"))


# --- one document ---------------------------------------------------------------------------------------------------


def say_document(result: Mapping[str, Any], locale: str) -> str:
    """The document quoted from its beginning, or one field of it."""
    name = named(result["key"])
    if result["field"] is not None:
        dotted = dotted_path(result["field"])
        text = result["text"]
        short = "\n" not in text and len(text) <= _ONE_LINE
        return f"{name}, {dotted}: {text}" if short else f"{name}, {dotted}:\n{fenced(text, 'application/json')}"
    lines = counted(result["lines"], "line", locale)
    return f"{name} ({result['path']}, {lines}):\n" + fenced(result["text"], result["media_type"])


def dotted_path(pointer: str) -> str:
    """A JSON pointer as people write it: "/spec/ports/0/port" as spec.ports[0].port."""
    path = ""
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if part.isdigit():
            path += f"[{part}]"
        else:
            path += f".{part}" if path else part
    return path or pointer


def limit_document(result: Mapping[str, Any], locale: str) -> tuple[str, ...]:
    """That only the beginning is shown, where so."""
    if result["shown_lines"] >= result["lines"]:
        return ()
    return (
        local(
            locale,
            f"Only the first {result['shown_lines']} of {result['lines']} lines are shown.",
            f"Показаны только первые строки: {result['shown_lines']} из {result['lines']}.",
        ),
    )


def cite_document(result: Mapping[str, Any]) -> tuple[EntityCitation, ...]:
    """The document."""
    return (EntityCitation(result["type"], result["identity"]),)


def refer_document(result: Mapping[str, Any]) -> tuple[Referent, ...]:
    """The document."""
    return topic_referents([result["key"]])


# --- documentation --------------------------------------------------------------------------------------------------


def say_fragments(result: Mapping[str, Any], locale: str) -> str:
    """Quotes with their sources; where nothing was found, just that."""
    query = result["query"]
    shown = f"“{query}”" if locale == "en" else f"«{query}»"
    if not result["fragments"]:
        if result["offset"]:
            return local(locale, "There are no more passages.", "Больше отрывков нет.")
        return local(
            locale,
            f"The documentation of this workspace says nothing that I could find about {shown}.",
            f"В документации этой рабочей области я ничего не нашёл о том, что спрошено: {shown}.",
        )
    head = []
    if result.get("matched") == "any":
        head.append(
            local(
                locale,
                f"No passage has all of the words {shown}; the nearest ones say:",
                f"Отрывка со всеми словами {shown} нет; ближайшие из найденных:",
            )
        )
    else:
        head.append(local(locale, "The documentation says:", "В документации сказано:"))
    return "\n\n".join([*head, *(_quoted_fragment(each) for each in result["fragments"])])


def say_page(result: Mapping[str, Any], locale: str) -> str:
    """The section quoted, and the headings of its file."""
    lines = [f"- {source_name(result['page'], each['anchor'])} ({each['title']})" for each in result["headings"]]
    more = result["heading_count"] - len(lines)
    if more > 0:
        lines.append(f"… (+{more})")
    quoted = [_quoted_fragment(each) for each in result["fragments"]]
    head = local(locale, f"Sections of {result['page']}:", f"Разделы {result['page']}:")
    return "\n\n".join([*quoted, "\n".join([head, *lines])])


def _quoted_fragment(fragment: Mapping[str, Any]) -> str:
    quote = "\n".join(f"> {line}" if line.strip() else ">" for line in fragment["quote"].strip().splitlines())
    heading = " › ".join(fragment["heading_path"]) or fragment["title"]
    return f"{quote}\n— {source_name(fragment['path'], fragment['anchor'])}" + (f" ({heading})" if heading else "")


def cite_fragments(result: Mapping[str, Any]) -> tuple[DocumentationCitation, ...]:
    """The quoted fragments."""
    return tuple(
        DocumentationCitation(each["path"], each["anchor"], each["title"], each["sha256"])
        for each in result["fragments"]
    )


def refer_fragments(result: Mapping[str, Any]) -> tuple[Referent, ...]:
    """Where the next passages begin."""
    following = result["offset"] + len(result["fragments"])
    arguments = {"query": result["query"], "limit": result["limit"], "offset": following}
    return topic_referents([], "search_documentation", arguments)


def limit_fragments(result: Mapping[str, Any], locale: str) -> tuple[str, ...]:
    """How many further sections there are."""
    more = result["total"] - result["offset"] - len(result["fragments"])
    if more <= 0 or not result["fragments"]:
        return ()
    return (
        local(
            locale,
            f"Quoted are the best passages; further sections with these words: {more}.",
            f"Приведены лучшие отрывки; других разделов с этими словами: {more}.",
        ),
    )
