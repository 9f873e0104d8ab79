"""Checks of a composed answer that need no model (requirement F4). Called for every text before it is completed."""

from __future__ import annotations

from collections.abc import Mapping

from adapter_service.sdk import Domain


def failed_check(
    domain: Domain, text: str, *, known_identities: frozenset[str], executed: Mapping[str, bool]
) -> str | None:
    """The code of the first check that fails, or None.

    `executed` maps each successfully executed tool to whether its call made an artifact. `known_identities` are those
    of results, citations and memory.
    """
    if not text.strip():
        return "answer_empty"
    if domain.identities(text) - known_identities:
        return "unverified_identity"
    for claim in domain.claims:
        if claim.pattern.search(text) and (claim.tool not in executed or (claim.artifact and not executed[claim.tool])):
            return "claimed_change_not_executed"
    return None
