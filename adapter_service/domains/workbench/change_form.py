"""What a drafted change is: plain JSON data, stored as an artifact's version. Made by edits.py and new_documents.py."""

from __future__ import annotations

from typing import Any

from .errors import WorkbenchError
from .limits import MAX_DOCUMENT_BYTES

# {path, key, type, identity, media_type, document_index, base_sha256 ("" for a new file), base_text, text, operations,
# changed_paths, unified_diff, base_content, content, generated}; a documentation section also has `section`, a new
# document `new_text`, the text before later operations.
Change = dict[str, Any]


def too_large(path: str, size: int) -> WorkbenchError:
    return WorkbenchError(
        "too_large",
        "value",
        f"value: {path} would have {size} bytes, at most {MAX_DOCUMENT_BYTES} are accepted.",
        f"Значение: файл {path} занял бы {size} байт, предел — {MAX_DOCUMENT_BYTES}.",
    )
