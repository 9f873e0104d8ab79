"""The commands `handrail audit verify` and `export`. Added to the application by main."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli import audit
from gateway.cli.terminal import (
    DEFAULT_ADDRESS,
    Address,
    Language,
    Principal,
    Roles,
    Tenant,
    caller_of,
    open_console,
    with_client,
    with_file,
)

_HASH = re.compile(r"[0-9a-f]{64}")

app = typer.Typer(help="The audit trail: verify its hash chain, or export it.", no_args_is_help=True)
TrailArgument = Annotated[str, typer.Argument(metavar="CONVERSATION_ID", help="The conversation whose trail it is.")]


@app.command("verify")
def verify_audit(
    conversation: TrailArgument = "",
    every: Annotated[bool, typer.Option("--all", help="Every conversation of the principal.")] = False,
    file: Annotated[Path | None, typer.Option("--file", help="An exported trail; no server is asked.")] = None,
    head: Annotated[str, typer.Option("--head", help="The hash of a row, as it was noted outside the database.")] = "",
    number: Annotated[int, typer.Option("--number", min=0, help="The number of the row with that hash.")] = 0,
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """Find edited, removed, reordered and inserted rows and name them; 1 if there are any.

    Trails of other principals need the role auditor or operator, named by --roles.
    """
    if [bool(conversation), every, file is not None].count(True) != 1:
        raise typer.BadParameter("give one of CONVERSATION_ID, --all and --file", param_hint="CONVERSATION_ID")
    if (number and not head) or (head and every):
        raise typer.BadParameter("a head belongs to one trail, a number to a head", param_hint="--head")
    if head and not _HASH.fullmatch(head):
        # A mistyped head must not look like a trail that somebody rewrote.
        raise typer.BadParameter("must be 64 lower-case hex digits, as verify prints it", param_hint="--head")
    console, caller = open_console(), caller_of(principal, tenant, roles, locale)
    kept = audit.KeptHead(head, number) if head else None
    if file is not None:
        path = file
        raise typer.Exit(with_file(lambda: audit.verify_file(console, path, kept, locale)))
    if every:
        with_client(address, caller, lambda client: audit.verify_all(console, client))
    with_client(address, caller, lambda client: audit.verify(console, client, conversation, kept))


@app.command("export")
def export_audit(
    conversation: TrailArgument,
    output: Annotated[Path | None, typer.Option("--output", help="File to write; standard output without it.")] = None,
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
) -> None:
    """Write the trail as JSON lines, enough to verify it offline (`handrail audit verify --file`)."""
    caller = caller_of(principal, tenant, roles, "en")
    with_client(address, caller, lambda client: audit.export(client, conversation, output))
