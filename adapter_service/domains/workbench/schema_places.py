"""Which schema file of the workspace a document follows. Called by the view and the validation."""

from __future__ import annotations

import posixpath
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .detection import file_stem
from .records import DocumentRow

if TYPE_CHECKING:
    from .view import View

_FOLDERS = ("schemas", "schema")


class SchemaPlaces:
    """The workspace's schema files, by path and by "$id". Nothing outside of the workspace is ever read."""

    def __init__(self, view: View) -> None:
        self._view = view

    @cached_property
    def by_id(self) -> dict[str, str]:
        """ "$id" to path of the workspace's JSON Schemas."""
        found: dict[str, str] = {}
        rows = [row for row in self._view.rows if row.document.type == "json-schema" and not row.document.text_only]
        bodies = self._view.store.bodies(row.fragment for row in rows)
        for row in rows:
            identity = bodies.get(row.fragment, {}).get("$id")
            if isinstance(identity, str):
                found.setdefault(identity.rstrip("#"), row.document.path)
        return found

    def content(self, path: str) -> Any:
        """The value of a schema file; None where the workspace has no such file or it is unreadable.

        A declared schema need not be one of the documents, so the file's first document is read by its fragment.
        """
        record = self._view.files.get(path)
        if record is None or record.format == "markdown":
            return None
        rows = self._view.store.rows(
            "SELECT id FROM fragments WHERE content_id = ? AND is_section = 0 ORDER BY ordinal LIMIT 1",
            (record.content_id,),
        )
        return self._view.store.bodies([rows[0][0]]).get(rows[0][0]) if rows else None

    def path_of(self, row: DocumentRow) -> str:
        """The declared schema, else what the document's "$schema" names, else a schema file of its type or name."""
        rule = self._view.rules.type_rule(row.document.type)
        if rule is not None and rule.schema:
            return rule.schema
        if row.document.type == "json-schema":
            return ""
        if row.schema_hint:
            return self.resolve(row.document.path, row.schema_hint)
        folder, _, name = row.document.path.rpartition("/")
        stem, kind = file_stem(name), row.document.type
        beside = [posixpath.join(folder, f"{base}.schema.{end}") for base in (stem, kind) for end in ("json", "yaml")]
        in_folders = [
            f"{place}/{kind}{ending}"
            for place in _FOLDERS
            for ending in (".schema.json", ".json", ".schema.yaml", ".yaml")
        ]
        files = self._view.files
        return next((path for path in (*beside, *in_folders) if path in files and path != row.document.path), "")

    def resolve(self, path: str, reference: str) -> str:
        """The workspace file that a reference in `path` names: by "$id", relative to the file, or to the root."""
        target = reference.partition("#")[0]
        if target in self.by_id:
            return self.by_id[target]
        if "://" in target or not target:
            return ""
        relative = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        candidates = (relative, posixpath.normpath(target.lstrip("/")))
        return next((each for each in candidates if each in self._view.files), "")
