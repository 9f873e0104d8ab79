"""One finding of the validation, in the form that validate_flight_plan returns. Called by the checks."""

from __future__ import annotations

from typing import Any, Literal

Severity = Literal["error", "warning"]


def finding(severity: Severity, field: str, code: str, message_en: str, message_ru: str) -> dict[str, Any]:
    """{severity, path, field, code, message_en, message_ru}."""
    return {
        "severity": severity,
        "path": f"/{field}",
        "field": field,
        "code": code,
        "message_en": message_en,
        "message_ru": message_ru,
    }
