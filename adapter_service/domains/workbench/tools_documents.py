"""Tools that read a workspace: what is here, list, find, read, references, compare, documentation, check (I2).

Called by domain.py. The functions of this folder do the work; here results are bounded (H1) and errors translated.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from adapter_service.domains.workbench import answers, field_names, questions, relation_answers
from adapter_service.domains.workbench.naming import source_name
from adapter_service.domains.workbench.tool_errors import with_tool_errors
from adapter_service.domains.workbench.validate import validate_workspace
from adapter_service.domains.workbench.workspace_view import view_of
from adapter_service.sdk import Effect, Text, Tool, ToolContext

MOST_TYPES: Final = 20
MOST_SHOWN_LINES: Final = 60
MOST_SHOWN_CHARACTERS: Final = 4_000
MOST_FINDINGS: Final = 20
PAGE: Final = 10


def describe_workspace(context: ToolContext) -> dict[str, Any]:
    """Types with their counts, documentation, and what is wrong with files; each list bounded, with its full count."""
    view = view_of(context.workspace)
    types, pages, found = view.types(), view.documentation(), view.findings()
    return {
        "documents": view.document_count,
        "types": [{"type": each["type"], "count": each["count"]} for each in types[:MOST_TYPES]],
        "type_count": len(types),
        "documentation_files": len(pages),
        "sections": view.section_count,
        "pages": [{"path": page["path"], "title": page["title"]} for page in pages[:PAGE]],
        "findings": [*found[:5]],
        "finding_count": len(found),
        "skipped": [dict(each) for each in view.skipped[:5]],
        "skipped_count": len(view.skipped),
    }


@with_tool_errors
def check_workspace(context: ToolContext, document: str | None = None) -> dict[str, Any]:
    """What validation finds in the whole workspace, or in one document's file."""
    view = view_of(context.workspace)
    found = validate_workspace(view, limit=1_000)
    if document is not None:
        path = view.document(document).path
        found = [each for each in found if each["path"].partition("#")[0] == path]
    errors = [each for each in found if each["severity"] == "error"]
    others = [each for each in found if each["severity"] != "error"]
    return {
        "document": document,
        "documents": view.document_count,
        "findings": [*errors, *others][:MOST_FINDINGS],
        "errors": len(errors),
        "others": len(others),
    }


@with_tool_errors
def list_documents(
    context: ToolContext, document_type: str | None = None, limit: int = PAGE, offset: int = 0
) -> dict[str, Any]:
    """One page of all documents, or of those of a type, by key."""
    found = view_of(context.workspace).find_documents(type=document_type or "", limit=limit, offset=offset)
    return {**found, "document_type": document_type}


@with_tool_errors
def find_documents(
    context: ToolContext,
    text: str | None = None,
    document_type: str | None = None,
    where: dict[str, Any] | None = None,
    limit: int = PAGE,
    offset: int = 0,
) -> dict[str, Any]:
    """One page of the documents with all the words of `text` and the fields of `where` (null: the field exists).

    Where no document has such fields, those that have the words; `by_words` then says so.
    """
    view = view_of(context.workspace)
    kind = document_type or ""
    found: dict[str, Any] = {"total": 0, "documents": []}
    for wanted in _readings(where or {}):
        found = dict(view.find_documents(text=text or "", type=kind, where=wanted, limit=limit, offset=offset))
        if found["total"]:
            break
    by_words = bool(where) and not found["total"]
    if by_words:
        words = " ".join([text or "", *(f"{name} {_plain(value)}" for name, value in (where or {}).items())])
        found = dict(view.find_documents(text=words.strip(), type=kind, limit=limit, offset=offset))
    return {
        **found,
        "by_words": by_words,
        "text": text,
        "document_type": document_type,
        "where": where,
        "limit": limit,
        "offset": offset,
    }


def _readings(where: dict[str, Any]) -> list[dict[str, Any] | None]:
    """The conditions as they were said, then with the other forms of each field's name: «порт», "ports"."""
    if not where:
        return [None]
    readings: list[dict[str, Any] | None] = []
    for rank in range(field_names.MOST_FORMS):
        forms = {name: field_names.forms_of(name) for name in where}
        if any(rank < len(each) for each in forms.values()):
            readings.append({forms[name][min(rank, len(forms[name]) - 1)]: value for name, value in where.items()})
    return readings


def _plain(value: Any) -> str:
    return "" if value is None else str(value)


@with_tool_errors
def read_document(context: ToolContext, document: str, field: str | None = None) -> dict[str, Any]:
    """A document's text from its beginning, bounded; or the value of one field of it."""
    view = view_of(context.workspace)
    read = view.read_document(document)
    known = {name: read[name] for name in ("key", "type", "identity", "title", "path", "sha256", "media_type")}
    text = read["text"] if field is None else answers.rendered(view.get_value(document, field))
    lines = text.splitlines()
    bounded = "\n".join(lines[:MOST_SHOWN_LINES])[:MOST_SHOWN_CHARACTERS]
    shown = len(bounded.splitlines())
    return {**known, "field": field, "text": bounded, "lines": len(lines), "shown_lines": shown}


@with_tool_errors
def read_documentation(context: ToolContext, page: str, anchor: str = "") -> dict[str, Any]:
    """A section of a documentation file, by default the first, and which sections the file has."""
    view = view_of(context.workspace)
    section = view.section(page, anchor)
    known = {name: section[name] for name in ("path", "anchor", "title", "heading_path", "sha256")}
    headings = {row.anchor: row.heading_path for row in view.files[page].sections}
    return {
        "fragments": [{**known, "quote": section["text"]}],
        "page": page,
        "headings": [{"anchor": each, "title": " › ".join(path)} for each, path in headings.items()][:MOST_FINDINGS],
        "heading_count": len(headings),
    }


@with_tool_errors
def search_documentation(context: ToolContext, query: str, limit: int = 3, offset: int = 0) -> dict[str, Any]:
    """The sections that answer best, each with the lines to quote and the hash of its file."""
    found = view_of(context.workspace).search_documentation(query, limit=limit, offset=offset)
    fragments = [
        {
            **{name: each[name] for name in ("path", "anchor", "title", "heading_path", "quote", "sha256")},
            "source": source_name(each["path"], each["anchor"]),
        }
        for each in found["fragments"]
    ]
    return {
        "fragments": fragments,
        "total": found["total"],
        "matched": found["matched"],
        "query": query,
        "limit": limit,
        "offset": offset,
    }


@with_tool_errors
def compare_documents(context: ToolContext, first: str, second: str) -> dict[str, Any]:
    """Field by field what differs between two documents, bounded, with the full count."""
    view = view_of(context.workspace)
    compared = view.compare(first, second)
    changes = compared["changes"]
    return {
        "first": first,
        "second": second,
        "same": compared["same"],
        "changes": [_told_change(each) for each in changes[:MOST_FINDINGS]],
        "change_count": len(changes),
        "diff": answers.bounded_diff(compared["unified_diff"]) if not changes else "",
    }


def _told_change(change: dict[str, Any]) -> dict[str, Any]:
    return {"path": change["path"], "op": change["op"], "a": _short(change.get("a")), "b": _short(change.get("b"))}


def _short(value: Any) -> str | None:
    return None if value is None else answers.rendered(value)[:200]


@with_tool_errors
def find_references(context: ToolContext, document: str, direction: Literal["to", "from"] = "to") -> dict[str, Any]:
    """The documents that name this one, or those that it names; a missing one is told as missing."""
    view = view_of(context.workspace)
    if direction == "to":
        found = [(each["source_key"], each["pointer"], "") for each in view.references_to(document)]
    else:
        found = [
            (each["target_key"], each["pointer"], f"{each['type']} {each['value']}")
            for each in view.references_from(document)
        ]
    return {
        "document": document,
        "direction": direction,
        "references": [{"key": key, "path": path, "said": said} for key, path, said in found[:MOST_FINDINGS]],
        "total": len(found),
    }


_PAGE_SLOTS: Final = {"document_type": questions.DOCUMENT_TYPE}
DOCUMENT_TOOLS: Final = (
    Tool(
        name="describe_workspace",
        function=describe_workspace,
        effect=Effect.READ,
        title=Text("Describe workspace", "Обзор рабочей области"),
        description=Text(
            "What the workspace holds: document types with counts, documentation, unreadable files.",
            "Что есть в рабочей области: виды документов и их число, документация, нечитаемые файлы.",
        ),
        uses_workspace=True,
        say=answers.say_workspace,
        view=answers.seen,
    ),
    Tool(
        name="list_documents",
        function=list_documents,
        effect=Effect.READ,
        title=Text("List documents", "Список документов"),
        description=Text("Documents page by page, all or of one type.", "Документы постранично, все или одного вида."),
        slots=_PAGE_SLOTS,
        uses_workspace=True,
        say=answers.say_list,
        cites=answers.cite_list,
        referents=answers.refer_list,
        view=answers.seen,
    ),
    Tool(
        name="find_documents",
        function=find_documents,
        effect=Effect.READ,
        title=Text("Find documents", "Поиск документов"),
        description=Text(
            "Documents by type, words and values of fields, page by page.",
            "Документы по виду, словам и значениям полей, постранично.",
        ),
        slots={**_PAGE_SLOTS, "text": questions.SEARCH_TEXT},
        uses_workspace=True,
        say=answers.say_found,
        cites=answers.cite_list,
        referents=answers.refer_found,
        view=answers.seen,
    ),
    Tool(
        name="read_document",
        function=read_document,
        effect=Effect.READ,
        title=Text("Read document", "Чтение документа"),
        description=Text("A document's text, or one field of it.", "Текст документа или одно его поле."),
        slots={"document": questions.DOCUMENT, "field": questions.FIELD_TO_READ},
        uses_workspace=True,
        say=answers.say_document,
        cites=answers.cite_document,
        referents=answers.refer_document,
        limitations=answers.limit_document,
        view=answers.seen,
    ),
    Tool(
        name="search_documentation",
        function=search_documentation,
        effect=Effect.READ,
        title=Text("Search documentation", "Поиск по документации"),
        description=Text(
            "Quotes the sections of the Markdown documentation that answer a question.",
            "Цитирует разделы документации Markdown, отвечающие на вопрос.",
        ),
        slots={"query": questions.QUERY},
        uses_workspace=True,
        say=answers.say_fragments,
        cites_documentation=answers.cite_fragments,
        referents=answers.refer_fragments,
        limitations=answers.limit_fragments,
        view=answers.seen,
    ),
    Tool(
        name="read_documentation",
        function=read_documentation,
        effect=Effect.READ,
        title=Text("Read documentation", "Чтение документации"),
        description=Text("A documentation file's section.", "Раздел файла документации."),
        slots={"page": questions.PAGE},
        uses_workspace=True,
        say=answers.say_page,
        cites_documentation=answers.cite_fragments,
        view=answers.seen,
    ),
    Tool(
        name="compare_documents",
        function=compare_documents,
        effect=Effect.READ,
        title=Text("Compare documents", "Сравнение документов"),
        description=Text("What differs between two documents.", "Чем отличаются два документа."),
        slots={"first": questions.DOCUMENT, "second": questions.SECOND_DOCUMENT},
        uses_workspace=True,
        say=relation_answers.say_comparison,
        cites=relation_answers.cite_comparison,
        referents=relation_answers.refer_comparison,
        view=answers.seen,
    ),
    Tool(
        name="find_references",
        function=find_references,
        effect=Effect.READ,
        title=Text("Find references", "Поиск ссылок"),
        description=Text(
            "Which documents name a document, or which it names.",
            "Какие документы ссылаются на документ или на какие ссылается он.",
        ),
        slots={"document": questions.DOCUMENT},
        uses_workspace=True,
        say=relation_answers.say_references,
        cites=relation_answers.cite_references,
        referents=relation_answers.refer_references,
        view=answers.seen,
    ),
    Tool(
        name="check_workspace",
        function=check_workspace,
        effect=Effect.READ,
        title=Text("Check workspace", "Проверка рабочей области"),
        description=Text(
            "Validates all documents, or one: form, schemas, references.",
            "Проверяет все документы или один: запись, схемы, ссылки.",
        ),
        slots={"document": questions.DOCUMENT},
        uses_workspace=True,
        say=answers.say_check,
        view=answers.seen,
    ),
)
