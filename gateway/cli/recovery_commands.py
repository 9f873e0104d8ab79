"""The commands `handrail diverged list`, `end`, `reopen` and `handrail restored`. Added to the application by main."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from gateway.cli import diverged
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
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail_rpc.context import Caller

app = typer.Typer(
    help="Look after conversations whose history was lost with a restored database (role operator).",
    no_args_is_help=True,
)
ConversationArgument = Annotated[str, typer.Argument(help="The conversation's id, as `diverged list` shows it.")]
EveryOne = Annotated[bool, typer.Option("--all", help="Every diverged conversation of the tenant.")]


@app.command("list")
def list_diverged(
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """List the conversations whose history was lost, with what is open in them and calls of unknown outcome."""
    console = open_console()
    with_client(
        address, caller_of(principal, tenant, roles, locale), lambda client: diverged.show_diverged(console, client)
    )


@app.command("end")
def end_diverged(
    conversation_id: ConversationArgument = "",
    every: EveryOne = False,
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """End what is open as session_diverged, for good: further messages there end so too."""
    _recover(loop.RECOVERY_END, conversation_id, every, address, caller_of(principal, tenant, roles, locale))


@app.command("reopen")
def reopen_diverged(
    conversation_id: ConversationArgument = "",
    every: EveryOne = False,
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """End what is open as session_diverged; the next message opens a new session."""
    _recover(loop.RECOVERY_REOPEN, conversation_id, every, address, caller_of(principal, tenant, roles, locale))


def _recover(
    recovery: loop.Recovery.ValueType, conversation_id: str, every: bool, address: str, caller: Caller
) -> NoReturn:
    if bool(conversation_id) == every:
        raise typer.BadParameter("name one conversation, or give --all", param_hint="CONVERSATION_ID")
    console, chosen = open_console(), [conversation_id] if conversation_id else []
    with_client(address, caller, lambda client: diverged.recover(console, client, chosen, recovery))


def restored(
    service: Annotated[str, typer.Argument(help="loop or adapter; it must be stopped.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """After a backup was put back: renew the history of the database, so that both services know of it."""
    if service not in diverged.RESTORABLE:
        raise typer.BadParameter(f"must be {' or '.join(diverged.RESTORABLE)}", param_hint="SERVICE")
    raise typer.Exit(diverged.renew_history(open_console(), service, None if yes else confirm))
