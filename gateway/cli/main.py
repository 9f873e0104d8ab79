"""The command `handrail`: the typer application. `handrail_rpc.command.main`, the console script, calls `app`.

Each command parses, calls one module (up, demo, chat, approvals) and turns what happened into an exit code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from google.protobuf.timestamp_pb2 import Timestamp

from gateway.cli import (
    approvals,
    artifact_commands,
    audit_commands,
    deletion,
    recovery_commands,
    serve,
    settlements,
    workspace_commands,
)
from gateway.cli.chat import Chat
from gateway.cli.chat_words import terminal_locale
from gateway.cli.conformance.probes import DOMAIN
from gateway.cli.conformance.report import check_adapter, list_rules
from gateway.cli.conformance.rule import RULES
from gateway.cli.conversing import parse_position
from gateway.cli.demo import play_demo
from gateway.cli.evaluation import command as evaluation_command
from gateway.cli.refusals import EXIT_CODES_HELP
from gateway.cli.terminal import (
    DEFAULT_ADDRESS,
    Address,
    Language,
    Principal,
    Roles,
    Tenant,
    Verbose,
    caller_of,
    confirm,
    open_console,
    read_line,
    uninterrupted,
    with_client,
)
from handrail.common.v1.approval_pb2 import Verdict
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail_rpc.settings import parse_target

app = typer.Typer(
    name="handrail",
    help="Agent workflows that ask when a request is unclear, execute only what was approved, and say why they "
    f"stopped.\n\n{EXIT_CODES_HELP}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_INBOX_KINDS = {
    "question": loop.PENDING_KIND_CLARIFICATION,
    "approval": loop.PENDING_KIND_APPROVAL,
    "call": loop.PENDING_KIND_EXECUTION,
}


@app.command()
def up() -> None:
    """Migrate, then run the Loop, the Adapter and the gateway in the foreground; Ctrl-C stops all three.

    Settings are environment variables (HANDRAIL_DATA_DIR, HANDRAIL_LOOP_LISTEN, …).
    """
    raise typer.Exit(serve.run_in_foreground(open_console()))


@app.command()
def migrate() -> None:
    """Apply the migrations of both services to the databases that the settings name."""
    raise typer.Exit(serve.apply_migrations(open_console()))


@app.command()
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the temporary data directory.")] = False,
    verbose: Verbose = False,
) -> None:
    """Play scenes of both domains against real processes on a fresh data directory; 0 only if all went as it must."""
    raise typer.Exit(uninterrupted(lambda: play_demo(open_console(), keep=keep, verbose=verbose)))


@app.command()
def chat(
    domain: Annotated[str, typer.Option("--domain", help="Domain of a new conversation.")] = "aviation",
    conversation: Annotated[str, typer.Option("--conversation", help="Go on with this conversation.")] = "",
    position: Annotated[str, typer.Option("--position", help="Where you are: lat,lon in degrees.")] = "",
    folder: workspace_commands.UploadFirst = None,
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "",
    verbose: Verbose = False,
) -> None:
    """Talk to a domain: questions and approvals are answered in place; -v shows decisions, receipts and hashes, too.

    Without --locale the language is that of the terminal: ru for LANG=ru_…, else en.
    """
    locale = locale or terminal_locale()
    caller = caller_of(principal, tenant, roles, locale)
    where: tuple[float, float] | None = None
    if position:
        try:
            where = parse_position(position)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--position") from None
    held = Chat(open_console(), read_line, position=where, folder=folder, verbose=verbose, locale=locale)
    raise typer.Exit(uninterrupted(lambda: held.hold(address, caller, domain, conversation)))


@app.command()
def inbox(
    kind: Annotated[str, typer.Option("--kind", help="question, approval or call: only these.")] = "",
    conversation: Annotated[str, typer.Option("--conversation", help="Only of this conversation.")] = "",
    interaction: Annotated[str, typer.Option("--interaction", help="Only of this interaction.")] = "",
    domain: Annotated[str, typer.Option("--domain", help="Only of this domain.")] = "",
    tool: Annotated[str, typer.Option("--tool", help="Only approvals and calls of this tool.")] = "",
    mine: Annotated[bool, typer.Option("--mine", help="Only what you requested yourself.")] = False,
    before: Annotated[
        str, typer.Option("--before", help="Only older than this time, for example 2030-01-02T03:04:05Z.")
    ] = "",
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """List what waits for you: open questions and approvals, and calls whose outcome is unknown."""
    if kind and kind not in _INBOX_KINDS:
        raise typer.BadParameter(f"must be {', '.join(_INBOX_KINDS)}", param_hint="--kind")
    wanted = approvals.InboxFilter(
        kind=_INBOX_KINDS.get(kind, loop.PENDING_KIND_UNSPECIFIED),
        conversation_id=conversation,
        interaction_id=interaction,
        domain=domain,
        tool=tool,
        requested_by_me=mine,
        created_before=_time(before, "--before") if before else None,
    )
    console = open_console()
    caller = caller_of(principal, tenant, roles, locale)
    with_client(address, caller, lambda client: approvals.show_inbox(console, client, wanted))


def _time(text: str, option: str) -> Timestamp:
    found = Timestamp()
    try:
        found.FromJsonString(text)
    except ValueError:
        raise typer.BadParameter("must be a time like 2030-01-02T03:04:05Z", param_hint=option) from None
    return found


@app.command()
def settle(
    interaction_id: Annotated[str, typer.Argument(help="The interaction of the call, as inbox shows it.")],
    tool_call_id: Annotated[str, typer.Argument(help="The call whose outcome is unknown.")],
    happened: Annotated[bool, typer.Option("--happened", help="The change is there: it was executed.")] = False,
    did_not_happen: Annotated[bool, typer.Option("--did-not-happen", help="The change is not there.")] = False,
    try_again: Annotated[
        bool, typer.Option("--try-again", help="The change is not there; ask for a new approval to make it.")
    ] = False,
    comment: Annotated[str, typer.Option("--comment", help="What was found.")] = "",
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
    verbose: Verbose = False,
) -> None:
    """Settle a call whose outcome is unknown, once you have looked where its change should have arrived."""
    if [happened, did_not_happen, try_again].count(True) != 1:
        raise typer.BadParameter("give one of --happened, --did-not-happen and --try-again", param_hint="--happened")
    settlement = loop.SETTLEMENT_DID_NOT_HAPPEN
    if happened:
        settlement = loop.SETTLEMENT_HAPPENED
    elif try_again:
        settlement = loop.SETTLEMENT_TRY_AGAIN
    console = open_console()
    with_client(
        address,
        caller_of(principal, tenant, roles, locale),
        lambda client: settlements.settle(
            console, client, interaction_id, tool_call_id, settlement=settlement, comment=comment, verbose=verbose
        ),
    )


@app.command()
def approve(
    approval_id: Annotated[str, typer.Argument(help="The approval's id, as inbox shows it.")],
    digest: Annotated[
        str, typer.Option("--digest", help="The digest you were shown; without it you are asked to confirm.")
    ] = "",
    reject: Annotated[bool, typer.Option("--reject", help="Do not execute; the interaction ends.")] = False,
    request_changes: Annotated[str, typer.Option("--request-changes", help="What should change first.")] = "",
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
    verbose: Verbose = False,
) -> None:
    """Show what is approved, then approve, reject or send it back by echoing its digest."""
    if reject and request_changes:
        raise typer.BadParameter("give --reject or --request-changes, not both", param_hint="--reject")
    verdict = Verdict.VERDICT_APPROVE
    if reject:
        verdict = Verdict.VERDICT_REJECT
    elif request_changes:
        verdict = Verdict.VERDICT_REQUEST_CHANGES
    console = open_console()
    with_client(
        address,
        caller_of(principal, tenant, roles, locale),
        lambda client: approvals.resolve(
            console,
            client,
            approval_id,
            digest=digest,
            verdict=verdict,
            comment=request_changes,
            confirm=confirm,
            verbose=verbose,
        ),
    )


@app.command()
def delete(
    conversation: Annotated[str, typer.Argument(metavar="CONVERSATION_ID", help="The conversation to erase.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """Erase everything said and made in a conversation, in both services; its audit trail stays."""
    console, ask = open_console(), None if yes else confirm
    caller = caller_of(principal, tenant, roles, locale)
    with_client(address, caller, lambda client: deletion.delete(console, client, conversation, ask))


@app.command()
def conformance(
    target: Annotated[str, typer.Argument(metavar="HOST:PORT", help="Where the adapter listens.")] = "",
    domain: Annotated[str, typer.Option("--domain", help="The domain that serves the probe tools.")] = DOMAIN,
    rules: Annotated[list[str] | None, typer.Option("--rule", help="Only this rule; may be repeated.")] = None,
    file: Annotated[Path | None, typer.Option("--json", help="Write the results here, too.")] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the rules and the probe tools, and end.")] = False,
) -> None:
    """Drive a DomainAdapterService, in whatever language, through the decision protocol, rule by rule.

    It has to serve the probe tools that --list names. Exit codes: 0 every rule that applies is kept, 1 one is broken,
    2 the adapter cannot be reached or serves no such domain.
    """
    if list_only:
        list_rules(open_console())
        raise typer.Exit
    unknown = [name for name in rules or [] if name not in RULES]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: no such rule; --list names them", param_hint="--rule")
    try:
        address = parse_target(target)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="HOST:PORT") from None
    chosen = tuple(dict.fromkeys(rules or []))
    raise typer.Exit(uninterrupted(lambda: check_adapter(open_console(), address, domain, chosen, file)))


app.command("eval")(evaluation_command.evaluate)
app.add_typer(workspace_commands.app, name="workspace")
app.add_typer(artifact_commands.app, name="artifact")
app.add_typer(audit_commands.app, name="audit")
app.add_typer(recovery_commands.app, name="diverged")
app.command()(recovery_commands.restored)
