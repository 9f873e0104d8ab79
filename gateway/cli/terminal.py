"""What every command of `handrail` shares: its options, the terminal, and running against the gateway to an exit code.

Called by main, which declares the commands.
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

from gateway.cli.audit import FileUnreadable
from gateway.cli.client import HandrailClient, connect
from gateway.cli.refusals import EXIT_INTERRUPTED, EXIT_REFUSED, exit_code_of, refusal_line
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


def with_file(act: Callable[[], int]) -> int:
    """Run `act` and return its code; a file that cannot be read is said in one line."""
    try:
        return act()
    except FileUnreadable as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"refused {error}", style="red")
        return EXIT_REFUSED


def open_console() -> Console:
    """The console of a command. Square brackets and colons in what a server sends are text, not markup or emoji.

    What the terminal's encoding lacks is shown as a question mark; typed bytes that are no text become U+FFFD.
    """
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Wide when not a terminal: a digest or an id broken over two lines cannot be copied or searched for.
    width = None if sys.stdout.isatty() else 200
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


def caller_of(principal: str, tenant: str, roles: str, locale: str) -> Caller:
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


def read_line(prompt: str) -> str:
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


def confirm(question: str) -> bool:
    """Ask on the terminal; no answer (end of input) is no."""
    try:
        return read_line(f"{question} [y/N] ").strip().lower() in ("y", "yes", "д", "да")
    except EOFError:
        return False


def with_client(address: str, caller: Caller, act: Callable[[HandrailClient], Coroutine[Any, Any, int]]) -> NoReturn:
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

    raise typer.Exit(with_file(lambda: uninterrupted(run)))


def uninterrupted(run: Callable[[], int]) -> int:
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
