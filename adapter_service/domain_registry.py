"""Finds the domains that this process serves: entry points of the group handrail.domains. Called by bootstrap."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from importlib.metadata import entry_points
from pathlib import Path

from adapter_service.application.ports import Domains
from adapter_service.sdk import DeclarationError, Domain, DomainEnvironment
from handrail_rpc.errors import StartRefused

GROUP = "handrail.domains"

DomainFactory = Callable[[DomainEnvironment], Domain]
DomainSource = Domain | DomainFactory


def load_domains(
    sources: Iterable[DomainSource] | None, names: tuple[str, ...] | None, data_dir: Path, clock: Callable[[], datetime]
) -> Domains:
    """Domains by name: the given ones, or those of the entry points (all, or the named ones).

    Raises StartRefused for a missing domain, or one that is declared wrongly; the text names the fix.
    """
    try:
        if sources is None:
            made = [_make(name, factory, data_dir, clock) for name, factory in _installed(names)]
        else:
            made = [
                source if isinstance(source, Domain) else _make("given", source, data_dir, clock) for source in sources
            ]
        domains = {domain.name: domain for domain in made}
        if len(domains) != len(made):
            raise DeclarationError("two domains have the same name")
        for domain in made:
            _check(domain)
    except DeclarationError as error:
        raise StartRefused(f"a domain is declared wrongly: {error}") from error
    return domains


def _installed(names: tuple[str, ...] | None) -> list[tuple[str, DomainFactory]]:
    found = {point.name: point for point in entry_points(group=GROUP)}
    missing = [name for name in names or () if name not in found]
    if missing:
        raise StartRefused(
            f"HANDRAIL_ADAPTER_DOMAINS: {', '.join(missing)} is not installed; installed are: "
            f"{', '.join(sorted(found)) or 'none'}"
        )
    return [(name, found[name].load()) for name in (names if names is not None else sorted(found))]


def _make(name: str, factory: DomainFactory, data_dir: Path, clock: Callable[[], datetime]) -> Domain:
    folder = data_dir / "domains" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StartRefused(f"HANDRAIL_DATA_DIR: cannot make the folder {folder}: {error.strerror}") from error
    return factory(DomainEnvironment(folder.absolute(), clock, dict(os.environ)))


def _check(domain: Domain) -> None:
    """What the engine needs beyond the checks of the sdk. Raises DeclarationError naming the fix."""
    for tool in domain.tools:
        if tool.effect.needs_approval and len(tool.artifacts) > 1:
            raise DeclarationError(
                f"tool {tool.name}: a {tool.effect.value} tool may have one artifact parameter, for an approval is "
                "bound to one artifact version"
            )
    for kind in domain.artifact_kinds:
        if kind.validate_tool and not domain.tool(kind.validate_tool).validates:
            raise DeclarationError(
                f"artifact kind {kind.name}: its validate_tool {kind.validate_tool} must name the parameter that it "
                "judges in validates="
            )
        if kind.revise_tool and not domain.tool(kind.revise_tool).revises:
            raise DeclarationError(
                f"artifact kind {kind.name}: its revise_tool {kind.revise_tool} must name the parameter that it "
                "revises in revises="
            )
