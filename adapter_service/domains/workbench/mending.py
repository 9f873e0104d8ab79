"""Which field would mend what validation found. Called by tools_changes.py (requirement B5).

A wrong value is mended at its own place, a missing field at the place where it is missing, a field too many by its
removal.
"""

from __future__ import annotations

from collections.abc import Collection

from .findings import Finding


def pointer_of(finding: Finding) -> str:
    """Where in the document the finding is; "" for the whole."""
    return finding["path"].partition("#")[2]


def valued_path(finding: Finding) -> str:
    """The JSON pointer to give a value to; "" where no value mends the finding."""
    return "" if "extra" in finding else finding.get("missing", pointer_of(finding))


def removed_path(finding: Finding, changed: Collection[str]) -> str:
    """The JSON pointer to remove; "" where removing nothing mends the finding, or where it is not clear which field.

    `changed` are the pointers that the draft changes: of several fields too many, the draft's own is meant.
    """
    if "missing" in finding:
        return ""
    pointers = finding.get("extra", [pointer_of(finding)])
    own = [pointer for pointer in pointers if pointer in changed] or pointers
    return own[0] if len(own) == 1 else ""


def asked_slot(finding: Finding) -> str:
    """The parameter of revise_change that is asked for: a value, or which field is meant; "" where neither helps."""
    if valued_path(finding):
        return "value"
    return "field" if "extra" in finding else ""
