"""The workbench's limits, by name, as messages give them. Used by every module of this folder."""

from typing import Final

MAX_DOCUMENT_BYTES: Final = 2 * 1024 * 1024
# More nodes than this come from anchors that repeat each other, not from a person's file.
MAX_DOCUMENT_NODES: Final = 1_000_000
MAX_DEPTH: Final = 200
# Remarks about keys that a document has twice: some, not one for each of a file's lines.
MOST_DUPLICATES: Final = 20
MAX_OPERATIONS: Final = 50
MAX_LIMIT: Final = 100
SECTION_TEXT_CHARS: Final = 4_000
QUOTE_CHARS: Final = 400
SNIPPET_CHARS: Final = 160
