"""Checks of a composed answer that need no model (requirement F4). Called for every text before it is completed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from adapter_service.sdk import DocumentationCitation, Domain


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


def fragment_name(citation: DocumentationCitation) -> str:
    """How a text names a fragment: path#anchor, the path alone for what stands before the first heading."""
    return f"{citation.path}#{citation.anchor}" if citation.anchor else citation.path


def unverified_fragments(domain: Domain, text: str, known: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """The fragments that a text cites and that are not `known`, by name; and whether it cites known ones, too.

    If so, only a citation is unconfirmed, and the answer is shown with a limitation (requirement F5).
    """
    cited = domain.fragments(text)
    unknown = cited - frozenset(known)
    return tuple(sorted(unknown)), cited != unknown
