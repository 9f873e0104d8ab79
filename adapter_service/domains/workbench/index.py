"""The index over a workspace: reads what is new, keeps it in a cache, and gives an immutable view of each state.

Called by the domain before each tool, resolver and plan. The cost of an unchanged workspace is a comparison of two
hashes; that of a changed file is that file.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Protocol

from .allocation import paused_collection
from .analysis import analyse, name_documents
from .errors import WorkbenchError
from .file_formats import MEDIA_TYPES, format_of
from .findings import Finding, finding
from .mapping import MAPPING_FILES, MappingRules, read_mapping
from .records import Content, Document, DocumentRow, FileRecord, NamedValue
from .store import Store
from .structured import parse_file
from .view import View

# A transaction of this many bytes of text: few enough commits, and a stop loses little of the work.
_BATCH_BYTES: Final = 4 * 1024 * 1024
# Caches of workspaces that were not opened for longest are deleted beyond this many.
_MOST_CACHES: Final = 64


class FileEntry(Protocol):
    """One file of a state: the lower-case hex SHA-256 of its bytes."""

    @property
    def sha256(self) -> str: ...


class WorkspaceLike(Protocol):
    """One state of a workspace. `read` may raise anything for a file that changed meanwhile."""

    @property
    def workspace_id(self) -> str: ...

    @property
    def sha256(self) -> str: ...

    @property
    def files(self) -> Mapping[str, Any]: ...

    def read(self, path: str) -> bytes: ...


class _Entry:
    def __init__(self, store: Store) -> None:
        self.lock = threading.Lock()
        self.store = store
        self.view: View | None = None
        # What the cache holds, once it was looked at.
        self.stored: set[int] | None = None
        self.views: weakref.WeakSet[View] = weakref.WeakSet()


class WorkbenchIndex:
    """The caches of all workspaces, a file each in `folder`; at most `capacity` are open. Safe from several threads."""

    def __init__(self, folder: Path, capacity: int = 16) -> None:
        self._folder = folder
        self._capacity = capacity
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def update(self, workspace: WorkspaceLike) -> View:
        """The view of this state: the same object while the state's hash is the same."""
        entry = self._entry(workspace.workspace_id)
        with entry.lock:
            view = entry.view
            if view is not None and view.sha256 == workspace.sha256 and view.complete:
                return view
            try:
                view = _Update(entry, workspace).run()
            except (sqlite3.DatabaseError, WorkbenchError):
                # Damaged, or of another release: everything in it can be read again.
                entry.store.discard()
                entry.view = None
                entry.stored = None
                view = _Update(entry, workspace).run()
            entry.view = view
            entry.views.add(view)
            return view

    def forget(self, workspace_id: str) -> None:
        """Deletes the cache of a workspace that is no more; there may be none."""
        with self._lock:
            entry = self._entries.pop(workspace_id, None)
            store = entry.store if entry is not None else Store(self._folder / _file_name(workspace_id))
            store.discard()

    def close(self) -> None:
        """Closes all files; views that are still used open theirs again."""
        with self._lock:
            for entry in self._entries.values():
                entry.store.close()
            self._entries.clear()

    def _entry(self, workspace_id: str) -> _Entry:
        with self._lock:
            entry = self._entries.get(workspace_id)
            if entry is None:
                path = self._folder / _file_name(workspace_id)
                self._make_room(path)
                entry = self._entries[workspace_id] = _Entry(Store(path))
            self._entries.move_to_end(workspace_id)
            idle = [name for name, each in self._entries.items() if not each.lock.locked()]
            for name in idle[: max(0, len(self._entries) - self._capacity)]:
                if name != workspace_id:
                    self._entries.pop(name).store.close()
            return entry

    def _make_room(self, path: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            return
        open_paths = {entry.store.path for entry in self._entries.values()}
        caches = [each for each in self._folder.glob("*.sqlite") if each not in open_paths]
        caches.sort(key=lambda each: each.stat().st_mtime)
        for old in caches[: max(0, len(caches) + len(open_paths) - _MOST_CACHES + 1)]:
            Store(old).discard()


def _file_name(workspace_id: str) -> str:
    """Readable where the id is, and never a path: other characters and long ids end in a hash."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", workspace_id)[:40]
    return f"{plain}-{hashlib.sha256(workspace_id.encode()).hexdigest()[:16]}.sqlite"


class _Update:
    """One update of one workspace, under its entry's lock."""

    def __init__(self, entry: _Entry, workspace: WorkspaceLike) -> None:
        self.entry = entry
        self.store = entry.store
        self.workspace = workspace
        self.previous = entry.view
        self.unreadable: list[Finding] = []
        self.contents: dict[tuple[str, str], tuple[int, list[Any]]] = {}

    def run(self) -> View:
        rules = self._rules()
        old = self.previous.files if self.previous is not None and self.previous.rules.key == rules.key else None
        files: dict[str, FileRecord] = {}
        wanted: dict[str, tuple[str, str]] = {}
        for path, entry in self.workspace.files.items():
            record = old.get(path) if old is not None else None
            if record is not None and record.sha256 == entry.sha256:
                files[path] = record
                continue
            file_format = self._format(rules, path)
            if file_format:
                wanted[path] = (entry.sha256, file_format)
        gone = [path for path in old if path not in files and path not in wanted] if old is not None else []
        if wanted or gone or old is None:
            self._load(rules, wanted, gone, files, whole=old is None)
        ordered = {path: files[path] for path in self.workspace.files if path in files}
        view = View(self.store, self.workspace.sha256, rules, ordered, tuple(self.unreadable), self.previous)
        if wanted or gone:
            self._prune(files)
        return view

    def _prune(self, files: dict[str, FileRecord]) -> None:
        """Forgets the contents that neither this state nor one that is still looked at has."""
        kept = {record.content_id for record in files.values()}
        for each in self.entry.views:
            kept.update(record.content_id for record in each.files.values())
        if self.entry.stored is None:
            self.entry.stored = self.store.content_ids()
        gone = self.entry.stored - kept
        if gone:
            self.store.prune(gone)
        self.entry.stored = kept

    def _format(self, rules: MappingRules, path: str) -> str:
        file_format = format_of(path)
        if rules.documentation:
            if rules.is_documentation(path, file_format == "markdown"):
                return "markdown"
            return "" if file_format == "markdown" else file_format
        return file_format

    def _rules(self) -> MappingRules:
        path = next((name for name in MAPPING_FILES if name in self.workspace.files), "")
        if not path:
            return MappingRules()
        if self.previous is not None and self.previous.rules.path == path:
            record = self.previous.files.get(path)
            if record is not None and record.sha256 == self.workspace.files[path].sha256:
                return self.previous.rules
        data = self._read(path)
        text = "" if data is None else data.decode("utf-8", errors="replace")
        documents = parse_file(path, format_of(path), text).documents
        return read_mapping(path, documents[0].value if documents else None)

    def _read(self, path: str) -> bytes | None:
        try:
            return self.workspace.read(path)
        except Exception:  # noqa: BLE001 - whatever a workspace raises, the file is not part of this view
            self._left_out(path)
            return None

    def _left_out(self, path: str) -> None:
        self.unreadable.append(
            finding(
                "warning",
                path,
                "file_changed",
                "The file changed or vanished while the workspace was read, and was left out.",
                "Файл изменился или исчез во время чтения рабочей области и не учтён.",
            )
        )

    def _load(
        self,
        rules: MappingRules,
        wanted: dict[str, tuple[str, str]],
        gone: list[str],
        files: dict[str, FileRecord],
        whole: bool,
    ) -> None:
        self.contents = self.store.known_contents(wanted.values())
        known = self.store.file_rows(rules.key) if whole else {}
        named = self._add_new(rules, wanted)
        if whole:
            gone = [path for path in known if path not in wanted]
        gone = [*gone, *(path for path, content in wanted.items() if content not in self.contents)]
        ids = {path: self.contents[content][0] for path, content in wanted.items() if content in self.contents}
        markdown = [ids[path] for path, (_, form) in wanted.items() if form == "markdown" and path in ids]
        sections = self.store.sections(markdown)
        unnamed = [
            path
            for path, (sha256, form) in wanted.items()
            if form != "markdown" and path in ids and path not in named and known.get(path, ("", ""))[0] != sha256
        ]
        named.update(self._name(rules, unnamed, wanted, ids))
        self.store.put_files(rules.key, {path: (wanted[path][0], data) for path, data in named.items()}, gone)
        for path, (sha256, form) in wanted.items():
            if path not in ids:
                continue
            documents: tuple[DocumentRow, ...] = ()
            findings = [_placed(path, each) for each in self.contents[sha256, form][1]]
            if form != "markdown":
                data = named.get(path) or known[path][1]
                documents, more = _loaded(path, (sha256, form), data)
                findings += more
            files[path] = FileRecord(
                path, sha256, form, ids[path], documents, sections.get(ids[path], ()), tuple(findings)
            )

    def _add_new(self, rules: MappingRules, wanted: dict[str, tuple[str, str]]) -> dict[str, str]:
        """Reads the contents that are not known yet; path and data of the files that had them."""
        with paused_collection():
            return self._read_new(rules, wanted)

    def _read_new(self, rules: MappingRules, wanted: dict[str, tuple[str, str]]) -> dict[str, str]:
        named: dict[str, str] = {}
        batch: dict[str, Content] = {}
        size = 0
        seen: set[tuple[str, str]] = set()
        for path, content in wanted.items():
            if content in self.contents or content in seen:
                continue
            data = self._read(path)
            if data is None:
                continue
            if hashlib.sha256(data).hexdigest() != content[0]:
                # Another state's bytes must not be kept under this state's hash.
                self._left_out(path)
                continue
            seen.add(content)
            batch[path] = analyse(*content, data)
            size += len(data)
            if size >= _BATCH_BYTES:
                named.update(self._store(rules, batch))
                batch, size = {}, 0
        if batch:
            named.update(self._store(rules, batch))
        return named

    def _store(self, rules: MappingRules, batch: dict[str, Content]) -> Iterator[tuple[str, str]]:
        added = self.store.add_contents(list(batch.values()))
        if self.entry.stored is not None:
            self.entry.stored.update(content_id for content_id, _ in added)
        for (path, content), (content_id, first) in zip(batch.items(), added, strict=True):
            self.contents[content.sha256, content.format] = (content_id, list(content.findings))
            if content.format == "markdown":
                continue
            rows = [
                (first + number, each.ordinal, not each.body, value)
                for number, (each, value) in enumerate(zip(content.fragments, content.values, strict=True))
            ]
            yield path, _kept(*name_documents(rules, path, (content.sha256, content.format), rows, content.text))

    def _name(
        self, rules: MappingRules, paths: list[str], wanted: dict[str, tuple[str, str]], ids: dict[str, int]
    ) -> Iterator[tuple[str, str]]:
        """Path and data of each file that these rules have not named yet, some hundred at a time."""
        for start in range(0, len(paths), 200):
            chunk = paths[start : start + 200]
            fragments = self.store.document_fragments({ids[path] for path in chunk})
            bodies = self.store.bodies(each[0] for rows in fragments.values() for each in rows)
            texts = dict(
                self.store.rows_in("SELECT id, text FROM contents WHERE id IN (?)", {ids[path] for path in chunk})
            )
            for path in chunk:
                rows = [(*each, bodies.get(each[0])) for each in fragments.get(ids[path], [])]
                documents, findings = name_documents(rules, path, wanted[path], rows, texts.get(ids[path], ""))
                yield path, _kept(documents, findings)


def _kept(documents: list[DocumentRow], findings: list[Finding]) -> str:
    rows = [
        [
            row.fragment,
            row.document.document_index,
            row.document.type,
            row.document.identity,
            row.document.title,
            row.document.text_only,
            row.identity_path,
            row.schema_hint,
            [list(asdict(name).values()) for name in row.names],
        ]
        for row in documents
    ]
    return json.dumps([rows, findings], separators=(",", ":"))


def _loaded(path: str, content: tuple[str, str], data: str) -> tuple[tuple[DocumentRow, ...], list[Finding]]:
    rows, findings = json.loads(data)
    media_type = MEDIA_TYPES[content[1]]
    documents = tuple(
        DocumentRow(
            Document(f"{kind}/{identity}", kind, identity, title, path, content[0], media_type, index, text_only),
            fragment,
            identity_path,
            hint,
            tuple(NamedValue(*name) for name in names),
        )
        for fragment, index, kind, identity, title, text_only, identity_path, hint, names in rows
    )
    return documents, findings


def _placed(path: str, each: Finding) -> Finding:
    """A content's finding at the file that has the content."""
    return {**each, "path": path + each["path"]}
