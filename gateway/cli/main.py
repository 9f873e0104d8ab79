"""The command `handrail`: the typer application. `handrail_rpc.command.main`, the console script, calls `app`.

Each command parses, calls one module (up, demo, chat, approvals) and turns what happened into an exit code.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
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
from handrail_rpc.context import Caller, Locale
from handrail_rpc.errors import HandrailError

app = typer.Typer(
    name="handrail",
    help="Agent workflows that ask when a request is unclear, execute only what was approved, and say why they "
    f"stopped.\n\n{EXIT_CODES_HELP}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Address = Annotated[str, typer.Option("--address", envvar="HANDRAIL_ADDRESS", help="host:port of the gateway.")]
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
    # Wide when not a terminal: a digest or an id broken over two lines cannot be copied or searched for.
    return Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)


def _caller(principal: str, tenant: str, roles: str, locale: str) -> Caller:
    language: Locale
    if locale == "en":
        language = "en"
    elif locale == "ru":
        language = "ru"
    else:
        raise typer.BadParameter("must be en or ru", param_hint="--locale")
    names = frozenset(part.strip() for part in roles.split(",") if part.strip())
    return Caller(principal, tenant, names, language)


def _read_line(prompt: str) -> str:
    return input(prompt)


def _confirm(question: str) -> bool:
    """Ask on the terminal; no answer (end of input) is no."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes", "д", "да")
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
    """Run to the exit code. SIGTERM and SIGHUP end it as Ctrl-C does, so that no started process is left behind."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        return run()
    except KeyboardInterrupt:
        Console(stderr=True).print("interrupted", style="yellow")
        return EXIT_INTERRUPTED
