"""Findings of validations: from a tool's result to stored records and back to what a domain's callbacks get."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adapter_service.domain.artifact import FindingRecord
from adapter_service.sdk import Finding, Severity, Text, Tool


def finding_json(finding: Finding) -> dict[str, Any]:
    """The JSON form of a finding in a stored result."""
    return {
        "severity": finding.severity.value,
        "path": finding.path,
        "slot": finding.slot,
        "code": finding.code,
        "message": {"en": finding.message.en, "ru": finding.message.ru},
    }


def read_findings(data: Any) -> list[Finding]:
    """Findings of a stored result. Raises KeyError, TypeError or ValueError for another shape."""
    return [
        Finding(
            Severity(item["severity"]),
            item["path"],
            item["slot"],
            item["code"],
            Text(item["message"]["en"], item["message"]["ru"]),
        )
        for item in data
    ]


def read_result(tool: Tool, data: Any) -> Any:
    """A stored result as callbacks get it: JSON, or a list of Finding for a validating tool."""
    return read_findings(data) if tool.validates else data


def records(findings: Iterable[Finding]) -> tuple[FindingRecord, ...]:
    """Findings as they are stored with a validation."""
    return tuple(FindingRecord(f.severity.value, f.path, f.slot, f.code, f.message.en, f.message.ru) for f in findings)
