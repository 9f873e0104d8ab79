"""The command `handrail`: the typer application. `handrail_rpc.command.main`, the console script, calls `app`.

Each command parses, calls one module (up, demo, chat, approvals) and turns what happened into an exit code.
"""

from __future__ import annotations

import asyncio
import io
import signal
import sys
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from gateway.cli import approvals, serve
from gateway.cli.chat import Chat
from gateway.cli.client import HandrailClient, connect
from gateway.cli.conversing import parse_position
from gateway.cli.demo import play_demo
from gateway.cli.refusals import EXIT_CODES_HELP, EXIT_INTERRUPTED, exit_code_of, refusal_line
from handrail.common.v1.approval_pb2 import Verdict
from handrail_rpc.context import (
    LANGUAGE_HEADER,
    PRINCIPAL_HEADER,
    ROLES_HEADER,
    TENANT_HEADER,
    Caller,
    parse_call,
)
from handrail_rpc.errors import HandrailError, InvalidArgument
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


def _target(address: str) -> str:
    try:
        return parse_target(address)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


Address = Annotated[
    str, typer.Option("--address", envvar="HANDRAIL_ADDRESS", callback=_target, help="host:port of the gateway.")
]
Principal = Annotated[str, typer.Option("--principal", help="Who calls (header x-handrail-principal).")]
Tenant = Annotated[str, typer.Option("--tenant", help="Whose data (header x-handrail-tenant).")]
Roles = Annotated[str, typer.Option("--roles", help="Comma list (header x-handrail-roles); * is every role.")]
Language = Annotated[str, typer.Option("--locale", help="Language of questions and answers: en or ru.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show every event.")]

DEFAULT_ADDRESS = "127.0.0.1:50050"


@app.command()
def up() -> None:
    """Migrate, then run the Loop, the Adapter and the gateway in the foreground; Ctrl-C stops all three.

    Settings are environment variables (HANDRAIL_DATA_DIR, HANDRAIL_LOOP_LISTEN, …).
    """
    raise typer.Exit(serve.run_in_foreground(_console()))


@app.command()
def migrate() -> None:
    """Apply the migrations of both services to the databases that the settings name."""
    raise typer.Exit(serve.apply_migrations(_console()))


@app.command()
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the temporary data directory.")] = False,
    verbose: Verbose = False,
) -> None:
    """Play eight scenes against real processes on a fresh data directory; 0 only if every expectation was met."""
    raise typer.Exit(_uninterrupted(lambda: play_demo(_console(), keep=keep, verbose=verbose)))


@app.command()
def chat(
    domain: Annotated[str, typer.Option("--domain", help="Domain of a new conversation.")] = "aviation",
    conversation: Annotated[str, typer.Option("--conversation", help="Go on with this conversation.")] = "",
    position: Annotated[str, typer.Option("--position", help="Where you are: lat,lon in degrees.")] = "",
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
    verbose: Verbose = False,
) -> None:
    """Talk to a domain: events as they come, questions and approvals answered in place."""
    caller = _caller(principal, tenant, roles, locale)
    where: tuple[float, float] | None = None
    if position:
        try:
            where = parse_position(position)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--position") from None
    held = Chat(_console(), _read_line, position=where, verbose=verbose)
    raise typer.Exit(_uninterrupted(lambda: held.hold(address, caller, domain, conversation)))


@app.command()
def inbox(
    address: Address = DEFAULT_ADDRESS,
    principal: Principal = "local",
    tenant: Tenant = "local",
    roles: Roles = "*",
    locale: Language = "en",
) -> None:
    """List the open questions and approvals that you may answer."""
    console = _console()
    _with_client(
        address, _caller(principal, tenant, roles, locale), lambda client: approvals.show_inbox(console, client)
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
    console = _console()
    _with_client(
        address,
        _caller(principal, tenant, roles, locale),
        lambda client: approvals.resolve(
            console,
            client,
            approval_id,
            digest=digest,
            verdict=verdict,
            comment=request_changes,
            confirm=_confirm,
            verbose=verbose,
        ),
    )


def _console() -> Console:
    """The console of a command. Square brackets and colons in what a server sends are text, not markup or emoji.

    What the terminal's encoding lacks is shown as a question mark; typed bytes that are no text become U+FFFD.
    """
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Wide when not a terminal: a digest or an id broken over two lines cannot be copied or searched for.
    width = None if sys.stdout.isatty() else 200
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


def _caller(principal: str, tenant: str, roles: str, locale: str) -> Caller:
    if locale not in ("en", "ru"):
        raise typer.BadParameter("must be en or ru", param_hint="--locale")
    headers = {PRINCIPAL_HEADER: principal, TENANT_HEADER: tenant, ROLES_HEADER: roles, LANGUAGE_HEADER: locale}
    try:
        _, caller, _ = parse_call(headers)
    except InvalidArgument as error:
        # Refused here: a name outside ASCII could not even be sent.
        names = ", ".join(f"--{each.field.rpartition('-')[2]}" for each in error.field_violations)
        raise typer.BadParameter(error.message, param_hint=names) from None
    return caller


def _read_line(prompt: str) -> str:
    """One typed line; raises EOFError at the end of the input.

    Ctrl-C interrupts it at once, also within a running event loop, whose own handler would wait for the line.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        return input(prompt)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return input(prompt)
    finally:
        signal.signal(signal.SIGINT, handler)


def _confirm(question: str) -> bool:
    """Ask on the terminal; no answer (end of input) is no."""
    try:
        return _read_line(f"{question} [y/N] ").strip().lower() in ("y", "yes", "д", "да")
    except EOFError:
        return False


def _with_client(address: str, caller: Caller, act: Callable[[HandrailClient], Coroutine[Any, Any, int]]) -> NoReturn:
    """Run `act` on a client and exit with its code, or with the code of what refused it, said in one line."""

    async def connected() -> int:
        async with connect(address, caller) as client:
            return await act(client)

    def run() -> int:
        try:
            return asyncio.run(connected())
        except HandrailError as error:
            Console(stderr=True, highlight=False, soft_wrap=True).print(refusal_line(error, address))
            return exit_code_of(error)

    raise typer.Exit(_uninterrupted(run))


def _uninterrupted(run: Callable[[], int]) -> int:
    """Run to the exit code. SIGTERM and SIGHUP unwind it (exit code 128 and the signal), so that no started process is
    left behind; unlike Ctrl-C, which in a chat only stops watching, they always end the command."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        return run()
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted", style="yellow")
        return EXIT_INTERRUPTED


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
