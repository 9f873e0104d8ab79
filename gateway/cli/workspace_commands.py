"""The commands `handrail workspace upload` and `show`. Added to the application by main."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli import workspace
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

app = typer.Typer(help="The files that a conversation works on.", no_args_is_help=True)
UploadFirst = Annotated[
    Path | None,
    typer.Option("--folder", help="Upload this folder as the workspace first.", exists=True, file_okay=False),
]
WorkspaceOwner = Annotated[str, typer.Argument(metavar="CONVERSATION_ID", help="The conversation.")]


@app.command("upload")
def upload_workspace(
    conversation: WorkspaceOwner,
    folder: Annotated[Path, typer.Argument(help="The folder to upload.", exists=True, file_okay=False, readable=True)],
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """Make a copy of the folder the conversation's workspace; only files that are new there are sent.

    Hidden files and symbolic links are no part of it. At most 20,000 files of at most 2 MiB each, 200 MiB together.
    """
    console, caller = open_console(), caller_of(principal, tenant, roles, locale)
    with_client(address, caller, lambda client: workspace.upload(console, client, conversation, folder))


@app.command("show")
def show_workspace(
    conversation: WorkspaceOwner,
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """Show the workspace that the conversation works on now, and its files."""
    console, caller = open_console(), caller_of(principal, tenant, roles, locale)
    with_client(address, caller, lambda client: workspace.show(console, client, conversation))
