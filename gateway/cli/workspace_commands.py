"""The commands `handrail workspace upload`, `show` and `download`. Added to the application by main."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli import workspace, workspace_download
from gateway.cli.terminal import (
    DEFAULT_ADDRESS,
    Address,
    Language,
    Principal,
    Roles,
    Tenant,
    caller_of,
    confirm,
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


@app.command("download")
def download_workspace(
    conversation: WorkspaceOwner,
    folder: Annotated[Path, typer.Argument(help="Where to write; made if it is missing.", file_okay=False)],
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that differ without asking.")] = False,
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """Write the files of the conversation's workspace that the folder lacks or has otherwise, with what was published.

    Other files of the folder stay as they are. Files are replaced one by one, each in one step.
    """
    console, caller, ask = open_console(), caller_of(principal, tenant, roles, locale), None if force else confirm
    with_client(address, caller, lambda client: workspace_download.download(console, client, conversation, folder, ask))
