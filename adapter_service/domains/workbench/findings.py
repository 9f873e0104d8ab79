"""Findings about a workspace's files: a wrong file is told, never an exception (requirement I2).

Made by the parsers, the mapping, the view and the validation; shown by the domain.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Severity = Literal["error", "warning", "info"]


class Finding(TypedDict):
    """`path` is the file's, with "#" and a JSON pointer where the place within it is known.

    `missing` is the pointer of a field that is not there and has to be, `extra` those of fields too many: what mends
    the finding. Without them another value at its own place does.
    """

    severity: Severity
    path: str
    code: str
    message_en: str
    message_ru: str
    missing: NotRequired[str]
    extra: NotRequired[list[str]]


def finding(severity: Severity, path: str, code: str, en: str, ru: str) -> Finding:
    return {"severity": severity, "path": path, "code": code, "message_en": en, "message_ru": ru}


def at(path: str, pointer: str) -> str:
    """A place in a file: "services/a.yaml#/spec/port"; the file alone for the root."""
    return f"{path}#{pointer}" if pointer else path


def has_errors(findings: list[Finding]) -> bool:
    return any(each["severity"] == "error" for each in findings)
