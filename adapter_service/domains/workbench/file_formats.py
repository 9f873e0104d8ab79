"""What a file is, by its name, and its text. Called by the index, the mapping and the edits."""

from __future__ import annotations

from typing import Final

from .findings import Finding, finding

_BY_SUFFIX: Final = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".jsonc": "json",
    ".toml": "toml",
    ".md": "markdown",
    ".markdown": "markdown",
}
# The registered media types: RFC 9512 (YAML), RFC 8259 (JSON), RFC 7763 (Markdown), IANA's entry for TOML.
MEDIA_TYPES: Final = {
    "yaml": "application/yaml",
    "json": "application/json",
    "toml": "application/toml",
    "markdown": "text/markdown",
}


def format_of(path: str) -> str:
    """ "yaml", "json", "toml", "markdown", or "" for a file that the workbench does not read."""
    name = path.rsplit("/", 1)[-1].lower()
    dot = name.rfind(".")
    return _BY_SUFFIX.get(name[dot:], "") if dot >= 0 else ""


def decode(path: str, data: bytes) -> str | Finding:
    """The file's text, a byte order mark and the line endings as they are; a finding where it is no UTF-8 text."""
    if b"\0" in data:
        return finding(
            "warning",
            path,
            "file_binary",
            "The file has NUL bytes, so it is no UTF-8 text and was skipped.",
            "В файле есть нулевые байты: это не текст UTF-8, файл пропущен.",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        return finding(
            "warning",
            path,
            "file_encoding",
            f"The file is not UTF-8 (byte {error.start}) and was skipped; save it as UTF-8.",
            f"Файл не в кодировке UTF-8 (байт {error.start}) и пропущен; сохраните его в UTF-8.",
        )
