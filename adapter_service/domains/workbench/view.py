"""One state of a workspace, as the tools, resolvers and the planner see it. Made by the index; immutable.

Keys are "type/identity". Texts and values are read from the cache when they are asked for.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from rapidfuzz import fuzz

from . import document_search, documentation_search
from .compare import changes, json_patch, unified_diff
from .errors import WorkbenchError, quoted, some_of
from .findings import Finding, finding
from .mapping import MappingRules
from .pointers import get, locate, to_dotted, to_pointer, walk
from .records import Document, DocumentRow, FileRecord, Match, Reference, SectionRow
from .references import references_of
from .schema_places import SchemaPlaces
from .store import Store
from .terms import stem, words

_UNREAD_CODES = ("file_binary", "file_encoding", "file_too_large")


class View:
    """See the module. `sha256` is the state's; `skipped` are the files that could not be read, with the reason.

    `complete` is False where a file changed while it was read: the next update reads it again.
    """

    def __init__(
        self,
        store: Store,
        sha256: str,
        rules: MappingRules,
        files: Mapping[str, FileRecord],
        unreadable: tuple[Finding, ...],
        previous: View | None = None,
    ) -> None:
        self.store = store
        self.sha256 = sha256
        self.rules = rules
        self.files = files
        self.complete = not unreadable
        self.skipped: tuple[Finding, ...] = (
            *unreadable,
            *(each for record in files.values() for each in record.findings if each["code"] in _UNREAD_CODES),
        )
        self.rows, self._collisions = _unique_rows(files)
        self.by_key: dict[str, DocumentRow] = {row.document.key: row for row in self.rows}
        documentation = [(path, record.sha256) for path, record in files.items() if record.format == "markdown"]
        self.documentation_version = (
            hashlib.sha256("\n".join(f"{path}\0{sha}" for path, sha in sorted(documentation)).encode()).hexdigest()
            if documentation
            else ""
        )
        if previous is not None and previous.store is store and previous.rows == self.rows:
            # The names are the dearest part to make, and most changes leave them as they are.
            self._take_names(previous)

    def _take_names(self, previous: View) -> None:
        for name in ("names", "names_with_word", "postings"):
            if name in previous.__dict__:
                self.__dict__[name] = previous.__dict__[name]

    # What is here.

    @property
    def document_count(self) -> int:
        return len(self.rows)

    @cached_property
    def section_count(self) -> int:
        return sum(len({row.anchor for row in record.sections}) for record in self.files.values())

    @cached_property
    def type_counts(self) -> dict[str, int]:
        """Type to number of documents, the most first."""
        counts = Counter(row.document.type for row in self.rows)
        return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))

    def types(self) -> list[dict[str, Any]]:
        """[{type, count, schema_path, identity_path}]; a path is "" where there is none."""
        schemas: dict[str, str] = {}
        identities: dict[str, Counter[str]] = {}
        for row in self.rows:
            kind = row.document.type
            identities.setdefault(kind, Counter())[row.identity_path] += 1
            if not schemas.get(kind):
                schemas[kind] = self.schemas.path_of(row)
        return [
            {
                "type": kind,
                "count": count,
                "schema_path": schemas[kind],
                "identity_path": identities[kind].most_common(1)[0][0],
            }
            for kind, count in self.type_counts.items()
        ]

    def documents(self) -> tuple[Document, ...]:
        """All documents in the order of their keys."""
        return tuple(row.document for row in self.rows)

    def documentation(self) -> list[dict[str, Any]]:
        """[{path, title, sha256, sections}] of the documentation files, by path."""
        return [
            {
                "path": path,
                "title": next((row.heading_path[0] for row in record.sections if row.heading_path), path),
                "sha256": record.sha256,
                "sections": len({row.anchor for row in record.sections}),
            }
            for path, record in self.files.items()
            if record.format == "markdown"
        ]

    def findings(self) -> list[Finding]:
        """What is odd about the mapping, the files and the keys; validate_workspace adds schemas and references."""
        found = [*self.rules.findings, *self._collisions]
        for record in self.files.values():
            found += record.findings
        known = {(each["path"], each["code"]) for each in found}
        found += [each for each in self.skipped if (each["path"], each["code"]) not in known]
        return found

    # One document.

    def find(self, key: str) -> Document | None:
        row = self.by_key.get(key)
        return row.document if row else None

    def row(self, key: str) -> DocumentRow:
        """Raises WorkbenchError document_unknown, which names the nearest keys."""
        row = self.by_key.get(key)
        if row is None:
            near = some_of([match["key"] for match in self.match_documents(key, limit=5)]) or some_of(list(self.by_key))
            raise WorkbenchError(
                "document_unknown",
                "key",
                f"key: there is no document {quoted(key)}; the nearest are: {near or 'none'}.",
                f"Документа {quoted(key)} нет; ближайшие: {near or 'нет'}.",
            )
        return row

    def document(self, key: str) -> Document:
        """Raises WorkbenchError document_unknown, which names the nearest keys."""
        return self.row(key).document

    def holds(self, key: str, path: str = "", sha256: str = "") -> bool:
        """Whether the key still names a document, at that path and with those bytes where they are given (C10)."""
        document = self.find(key)
        return (
            document is not None and (not path or document.path == path) and (not sha256 or document.sha256 == sha256)
        )

    def read_document(self, key: str) -> dict[str, Any]:
        """{key, type, identity, title, path, sha256, media_type, text, content, document_index}.

        `text` is the document's part of the file; `content` is None where it could not be read as data.
        """
        row = self.row(key)
        document = row.document
        return {
            "key": document.key,
            "type": document.type,
            "identity": document.identity,
            "title": document.title,
            "path": document.path,
            "sha256": document.sha256,
            "media_type": document.media_type,
            "text": self.store.slices([row.fragment]).get(row.fragment, ""),
            "content": self.content(row),
            "document_index": document.document_index,
        }

    def content(self, row: DocumentRow) -> Any:
        return None if row.document.text_only else self.store.bodies([row.fragment]).get(row.fragment)

    def file_text(self, path: str) -> str:
        """The whole text of a file, as its bytes are. Raises WorkbenchError path_unknown."""
        record = self.files.get(path)
        if record is None:
            raise WorkbenchError(
                "path_unknown",
                "path",
                f"path: there is no file {quoted(path)} that the workbench reads.",
                f"Файла {quoted(path)} среди читаемых нет.",
            )
        return self.store.text(record.content_id)

    def field_paths(self, key: str, text: str = "", limit: int = 20) -> list[dict[str, Any]]:
        """[{pointer, dotted, value}] of the places in a document, those whose names are nearest to `text` first."""
        places = list(walk(self.content(self.row(key))))
        if text:
            wanted = " ".join(words(text))

            def distance(place: tuple[tuple[str | int, ...], Any]) -> tuple[float, int]:
                last = " ".join(words(str(next((step for step in reversed(place[0]) if isinstance(step, str)), ""))))
                whole = " ".join(words(to_dotted(place[0])))
                best = max(
                    fuzz.ratio(wanted, whole), fuzz.ratio(wanted, last) - 0.5, fuzz.token_set_ratio(wanted, whole) - 20
                )
                return -best, len(place[0])

            ranked = [(distance(place), number) for number, place in enumerate(places)]
            places = [places[number] for score, number in sorted(ranked) if -score[0] >= 60]
        return [
            {"pointer": to_pointer(steps), "dotted": to_dotted(steps), "value": value}
            for steps, value in places[:limit]
        ]

    def get_value(self, key: str, path: str) -> Any:
        """The value at a path. Raises WorkbenchError path_unknown, which says what is there instead."""
        content = self.content(self.row(key))
        return get(content, locate(content, path))

    # Searching.

    def find_documents(
        self,
        text: str = "",
        type: str = "",
        identity: str = "",
        path: str = "",
        where: Mapping[str, Any] | None = None,
        sort: str = "",
        limit: int = 20,
        offset: int = 0,
    ) -> dict[str, Any]:
        """{documents: [{key, type, identity, path, title, snippet}], total, limit, offset, matched}.

        Args:
            text: words that the document's text, title, path or identity has. `matched` is "any" where no document has
                all of them, and those with some are given.
            path: a path, a folder or a pattern.
            where: pointer to value: "/spec/port", "spec.port", "/spec/ports/*/port", or a bare name for a field at any
                depth. A list has a value where an item has it. None: the field only has to exist.
            sort: "key", "path", "type" or "relevance" (with `text`, the default).

        Raises WorkbenchError limit_invalid, where_invalid, path_invalid or operation_invalid.
        """
        return document_search.find_documents(self, text, type, identity, path, where, sort, limit, offset)

    def match_documents(self, text: str, limit: int = 10, type: str = "") -> list[Match]:
        """The documents that `text` may mean, best first, 100 for exactly that name, none below 60.

        Tolerant of case, accents, typing errors and Cyrillic spelling.
        """
        return document_search.match_documents(self, text, limit, type)

    def match_types(self, text: str, limit: int = 5) -> list[tuple[str, float]]:
        """The types that `text` may mean, singular or plural, with a score up to 100, none below 75."""
        return document_search.match_types(self, text, limit)

    def search_documentation(self, query: str, limit: int = 5, offset: int = 0) -> dict[str, Any]:
        """{fragments: [{path, anchor, title, heading_path, text, quote, sha256, score}], total, matched}.

        `quote` is verbatim from the file; `matched` is "any" where no section has all the words of the question.
        """
        return documentation_search.search_documentation(self, query, limit, offset)

    def section(self, path: str, anchor: str = "") -> dict[str, Any]:
        """{path, anchor, title, heading_path, text, sha256}. Raises WorkbenchError section_unknown."""
        return documentation_search.section(self, path, anchor)

    def compare(self, a: str, b: str) -> dict[str, Any]:
        """{a, b, same, unified_diff, json_patch, changes}: two documents by key. `json_patch` is None for text only.

        `same` is about the values; comments and formatting may still differ in `unified_diff`.
        """
        one, other = self.read_document(a), self.read_document(b)
        diff = unified_diff(one["text"], other["text"], one["path"], other["path"])
        readable = one["content"] is not None and other["content"] is not None
        found = changes(one["content"], other["content"]) if readable else []
        return {
            "a": a,
            "b": b,
            "same": not found if readable else not diff,
            "unified_diff": diff,
            "json_patch": json_patch(one["content"], other["content"]) if readable else None,
            "changes": found,
        }

    # References.

    def references_from(self, key: str) -> list[Reference]:
        return list(references_of(self, self.row(key)))

    def references_to(self, key: str) -> list[Reference]:
        self.row(key)
        return [each for each in self.references if each["target_key"] == key]

    @cached_property
    def references(self) -> list[Reference]:
        """All references of all documents."""
        return [each for row in self.rows for each in references_of(self, row)]

    # What the searches keep about this state.

    @cached_property
    def schemas(self) -> SchemaPlaces:
        return SchemaPlaces(self)

    def schema_path(self, key: str) -> str:
        """The workspace's schema file of a document, "" where there is none."""
        return self.schemas.path_of(self.row(key))

    @cached_property
    def names(self) -> dict[str, list[tuple[DocumentRow, float]]]:
        """What documents may be called, folded, to those that may be meant."""
        found: dict[str, list[tuple[DocumentRow, float]]] = {}
        for row in self.rows:
            for name, worth in document_search.name_keys(row).items():
                found.setdefault(name, []).append((row, worth))
        return found

    @cached_property
    def names_with_word(self) -> dict[str, frozenset[str]]:
        """A word to the names that have it."""
        found: dict[str, set[str]] = {}
        for name in self.names:
            for word in name.split():
                found.setdefault(word, set()).add(name)
        return {word: frozenset(each) for word, each in found.items()}

    @cached_property
    def postings(self) -> dict[str, dict[str, float]]:
        return document_search.name_postings(self.rows)

    def named_with(self, term: str) -> Mapping[str, float]:
        """The keys of documents that have a word of this stem in their names, with how much that says."""
        return self.postings.get(stem(term), {})

    @cached_property
    def section_places(self) -> dict[int, list[tuple[FileRecord, SectionRow]]]:
        """Fragment to where it is: equal files share their fragments."""
        found: dict[int, list[tuple[FileRecord, SectionRow]]] = {}
        for record in self.files.values():
            for row in record.sections:
                found.setdefault(row.fragment, []).append((record, row))
        return found


def _unique_rows(files: Mapping[str, FileRecord]) -> tuple[tuple[DocumentRow, ...], list[Finding]]:
    """All documents by key; where several have the same, each gets its path appended, and a finding says so."""
    groups: dict[str, list[DocumentRow]] = {}
    for record in files.values():
        for row in record.documents:
            groups.setdefault(row.document.key, []).append(row)
    rows: list[DocumentRow] = []
    collisions: list[Finding] = []
    for key, group in groups.items():
        if len(group) == 1:
            rows += group
            continue
        places = ", ".join(row.document.path for row in group[:2]) + (" …" if len(group) > 2 else "")
        for row in group:
            document = row.document
            number = f":{document.document_index + 1}" if document.document_index else ""
            unique = f"{key}@{document.path}{number}"
            rows.append(replace(row, document=replace(document, key=unique)))
            collisions.append(
                finding(
                    "warning",
                    document.path,
                    "key_not_unique",
                    f"{quoted(key)} names {len(group)} documents ({places}); this one is {unique}.",
                    f"{quoted(key)} — имя {len(group)} документов ({places}); этот называется {unique}.",
                )
            )
    rows.sort(key=lambda row: row.document.key)
    return tuple(rows), collisions
