"""The commands `handrail artifact list`, `show` and `diff`. Added to the application by main."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli import artifacts
from gateway.cli.audit import FileUnreadable
from gateway.cli.client import HandrailClient
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
)
from handrail.adapter.v1 import artifact_service_pb2 as pb

app = typer.Typer(help="What the tools of a conversation have made.", no_args_is_help=True)
Conversation = Annotated[str, typer.Argument(metavar="CONVERSATION_ID", help="The conversation.")]
ArtifactId = Annotated[str, typer.Argument(metavar="ARTIFACT_ID", help="As `handrail artifact list` shows it.")]


@app.command("list")
def list_artifacts(
    conversation: Conversation,
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """List the artifacts of a conversation, the newest first."""
    console, caller = open_console(), caller_of(principal, tenant, roles, locale)
    with_client(address, caller, lambda client: artifacts.show_list(console, client, conversation))


@app.command("show")
def show_artifact(
    conversation: Conversation,
    artifact: ArtifactId,
    version: Annotated[int, typer.Option("--version", min=0, help="0: the newest.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Save the bytes to this file.", dir_okay=False)] = None,
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """Show where a version comes from, and its text."""
    console, caller = open_console(), caller_of(principal, tenant, roles, locale)

    async def act(client: HandrailClient) -> int:
        try:
            return await artifacts.show(console, client, conversation, artifact, version, out)
        except OSError as error:
            raise FileUnreadable(f"{out}: {error.strerror}") from error

    with_client(address, caller, act)


@app.command("diff")
def diff_artifact(
    conversation: Conversation,
    artifact: ArtifactId,
    from_version: Annotated[int, typer.Option("--from", min=0, help="0: what it was drafted from.")] = 0,
    to_version: Annotated[int, typer.Option("--to", min=0, help="0: the newest.")] = 0,
    context: Annotated[int, typer.Option("--context", min=0, max=100, help="Unchanged lines around each change.")] = 3,
    patch: Annotated[bool, typer.Option("--patch", help="As a JSON Patch instead of unified text.")] = False,
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """Show what differs between two versions of an artifact."""
    console, caller = open_console(), caller_of(principal, tenant, roles, locale)
    request = pb.DiffArtifactRequest(
        conversation_id=conversation,
        artifact_id=artifact,
        from_version=from_version,
        to_version=to_version,
        context_lines=context,
    )
    with_client(address, caller, lambda client: artifacts.show_diff(console, client, request, patch=patch))
