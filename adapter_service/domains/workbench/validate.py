"""Validation of changes and of a whole workspace: reading, schema, references, identity, uniqueness, size.

Called by the domain's validators and tools. Finds, never raises: a finding of severity "error" has to be revised.
"""

from __future__ import annotations

from collections.abc import Iterator

from .analysis import name_documents
from .change_form import Change
from .errors import quoted, some_of
from .file_formats import format_of
from .findings import Finding, at, finding, has_errors
from .limits import MAX_DOCUMENT_BYTES
from .records import DocumentRow, Reference
from .references import target_of
from .schemas import SchemaSet
from .structured import ParsedFile, parse_file
from .view import View

__all__ = ["has_errors", "validate_change", "validate_workspace"]


def validate_workspace(view: View, limit: int = 200) -> list[Finding]:
    """All findings of a state, the errors first, at most `limit`; each names its file and place."""
    found = view.findings()
    schemas = SchemaSet(view)
    for start in range(0, len(view.rows), 500):
        chunk = view.rows[start : start + 500]
        bodies = view.store.bodies(row.fragment for row in chunk)
        for row in chunk:
            if row.fragment in bodies:
                found += schemas.findings(row, bodies[row.fragment])
    found += [_dangling(view, each) for each in view.references if not each["target_key"]]
    order = {"error": 0, "warning": 1, "info": 2}
    return sorted(found, key=lambda each: (order[each["severity"]], each["path"]))[:limit]


def _dangling(view: View, reference: Reference) -> Finding:
    return _missing_target(
        view.document(reference["source_key"]).path, reference["pointer"], reference["type"], reference["value"], view
    )


def _missing_target(path: str, pointer: str, kind: str, value: str, view: View) -> Finding:
    near = some_of([match["document"].identity for match in view.match_documents(value, limit=3, type=kind)])
    hint_en, hint_ru = (f"; the nearest are: {near}", f"; ближайшие: {near}") if near else ("", "")
    return finding(
        "error",
        at(path, pointer),
        "reference_missing",
        f"There is no {kind} {quoted(value)}{hint_en}.",
        f"Документа {quoted(value)} типа {kind} нет{hint_ru}.",
    )


def validate_change(view: View, change: Change) -> list[Finding]:
    """What is wrong with the changed text, beside the workspace as it is now. Without errors it may be published."""
    path = change["path"]
    text = change["text"]
    found: list[Finding] = []
    size = len(text.encode("utf-8", errors="surrogatepass"))
    if size > MAX_DOCUMENT_BYTES:
        found.append(
            finding(
                "error",
                path,
                "too_large",
                f"The file would have {size} bytes, at most {MAX_DOCUMENT_BYTES} are accepted.",
                f"Файл занял бы {size} байт, предел — {MAX_DOCUMENT_BYTES}.",
            )
        )
    if text == change["base_text"]:
        found.append(
            finding(
                "warning",
                path,
                "no_change",
                "It is already so: the change leaves the file as it is.",
                "Уже так: изменение ничего не меняет.",
            )
        )
    if change["media_type"] == "text/markdown":
        return found
    parsed = parse_file(path, format_of(path), text)
    found += parsed.findings
    found += _own_findings(view, change, parsed)
    return found


def _own_findings(view: View, change: Change, parsed: ParsedFile) -> Iterator[Finding]:
    path, index = change["path"], change["document_index"]
    documents = {number: each for number, each in enumerate(parsed.documents) if not each.text_only}
    if index not in documents:
        if not has_errors(parsed.findings):
            yield finding(
                "error",
                path,
                "document_missing",
                "The document is not in the file any more.",
                "Документа в файле больше нет.",
            )
        return
    content = documents[index].value
    fragments = [(-1 - index, index, False, content)]
    rows, problems = name_documents(
        view.rules, path, (change["base_sha256"], format_of(path)), fragments, change["text"]
    )
    yield from problems
    if not rows:
        return
    row = rows[0]
    yield from _identity(view, change, row)
    yield from SchemaSet(view).findings(row, content)
    yield from _references(view, change, row)


def _identity(view: View, change: Change, row: DocumentRow) -> Iterator[Finding]:
    path, kind, identity = change["path"], change["type"], change["identity"]
    place = at(path, row.identity_path)
    document = row.document
    if (document.type, document.identity) == (kind, identity):
        if not change["base_sha256"] and any(
            (each.type, each.identity) == (kind, identity) and each.path != path for each in view.documents()
        ):
            yield _taken(place, kind, identity)
        return
    users = [each["source_key"] for each in view.references if each["target_key"] == change["key"]]
    used_en = f" It is referred to by: {some_of(users)}." if users else ""
    used_ru = f" На него ссылаются: {some_of(users)}." if users else ""
    severity = "error" if change["base_sha256"] else "warning"
    yield finding(
        "error" if severity == "error" else "warning",
        place,
        "identity_changed",
        f"The document was {kind} {quoted(identity)} and would become {document.type} {quoted(document.identity)}; "
        f"a change keeps type and identity.{used_en}",
        f"Документ был {kind} {quoted(identity)}, а стал бы {document.type} {quoted(document.identity)}; "
        f"изменение сохраняет тип и имя.{used_ru}",
    )
    if any(
        (each.type, each.identity) == (document.type, document.identity) and each.path != path
        for each in view.documents()
    ):
        yield _taken(place, document.type, document.identity)


def _taken(place: str, kind: str, identity: str) -> Finding:
    return finding(
        "error",
        place,
        "identity_taken",
        f"There is another {kind} {quoted(identity)}.",
        f"Уже есть другой документ {quoted(identity)} типа {kind}.",
    )


def _references(view: View, change: Change, row: DocumentRow) -> Iterator[Finding]:
    before: set[tuple[str, str]] = set()
    if view.find(change["key"]) is not None:
        before = {(each["pointer"], each["value"]) for each in view.references_from(change["key"])}
    own = f"{row.document.type}/{row.document.identity}"
    for named in row.names:
        target = target_of(view, row.document.type, named)
        if target:
            continue
        if named.type:
            if f"{named.type}/{named.value}" != own:
                yield _missing_target(change["path"], named.pointer, named.type, named.value, view)
            continue
        # No mapping says that this is a reference; but what named a document before the change should name one after.
        previous = next((value for pointer, value in before if pointer == named.pointer), None)
        if previous is not None:
            yield finding(
                "warning",
                at(change["path"], named.pointer),
                "reference_missing",
                f"{quoted(previous)} named a document here; there is none that is called {quoted(named.value)}.",
                f"Здесь было имя документа {quoted(previous)}; документа {quoted(named.value)} нет.",
            )


def removal_findings(view: View, key: str) -> list[Finding]:
    """What would miss a document if it were removed: an error for each declared reference, else a warning."""
    return [
        finding(
            "error" if each["declared"] else "warning",
            at(view.document(each["source_key"]).path, each["pointer"]),
            "reference_to_removed",
            f"{each['source_key']} refers to {quoted(key)}.",
            f"{each['source_key']} ссылается на {quoted(key)}.",
        )
        for each in view.references_to(key)
    ]
