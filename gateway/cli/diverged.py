"""`handrail diverged` and `handrail restored`: what an operator does after a database was put back from a backup.

The first looks after conversations through the gateway, the second renews the history of a stopped service's database.
Called by main.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from gateway.cli.client import HandrailClient
from gateway.cli.events import one_line
from gateway.cli.processes import ADAPTER, LOOP
from gateway.cli.refusals import EXIT_FAILED, EXIT_OK, refusal_line
from gateway.cli.serve import stack_of_environment
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail.loop.v1.interaction_state_pb2 import InteractionState
from handrail_rpc.errors import HandrailError

RESTORABLE = (LOOP.name, ADAPTER.name)
_MODULES = {LOOP.name: LOOP.module, ADAPTER.name: ADAPTER.module}
_DONE = {loop.RECOVERY_END: "ended", loop.RECOVERY_REOPEN: "reopened"}


async def show_diverged(console: Console, client: HandrailClient) -> int:
    """Print every diverged conversation with what is open in it; returns EXIT_OK. Raises HandrailError."""
    found = await client.diverged()
    if not found:
        console.print("no conversation has lost its history", style="dim")
        return EXIT_OK
    for each in found:
        for line in _lines(each):
            console.print(line)
    console.print("handrail diverged end <conversation>, or reopen: the next message opens a new session", style="dim")
    return EXIT_OK


def _lines(each: loop.DivergedConversation) -> list[Text]:
    since = each.create_time.ToJsonString()
    lines = [
        Text.assemble(
            (each.conversation_id, "bold"),
            f"  {one_line(each.domain)}  of {one_line(each.principal)}, since {since}",
            (f"  history {each.history_id or 'none'}", "dim"),
        )
    ]
    if each.open_interaction_id:
        state = InteractionState.Name(each.open_state).removeprefix("INTERACTION_STATE_").lower()
        lines.append(Text(f"  open: {each.open_interaction_id} ({state})", style="yellow"))
    for call in each.executions:
        lines.append(
            Text(f"  outcome unknown: {call.tool_call_id} {one_line(call.tool)}: {one_line(call.summary)}", "red")
        )
    return lines


async def recover(
    console: Console,
    client: HandrailClient,
    conversation_ids: Sequence[str],
    recovery: loop.Recovery.ValueType,
) -> int:
    """End or reopen the conversations, all that are diverged where none is named.

    One that is refused does not stop the others; the code is EXIT_FAILED then. Raises HandrailError where the list
    cannot be had.
    """
    every = not conversation_ids
    chosen = [each.conversation_id for each in await client.diverged()] if every else list(conversation_ids)
    if not chosen:
        console.print("no conversation has lost its history", style="dim")
    code = EXIT_OK
    for conversation_id in chosen:
        try:
            answer = await client.recover(conversation_id, recovery)
        except HandrailError as error:
            if not every:
                raise
            console.print(Text.assemble(f"{conversation_id} ", refusal_line(error)))
            code = EXIT_FAILED
            continue
        ended = f", {answer.ended_interaction_id} ended as session_diverged" if answer.ended_interaction_id else ""
        console.print(f"{conversation_id} {_DONE[recovery]}{ended}")
    return code


def renew_history(console: Console, service: str, confirm: Callable[[str], bool] | None) -> int:
    """Run the stopped service's own command on the database that the settings name; returns its exit code.

    `confirm` None asks nothing; where it says no, nothing is renewed and the code is EXIT_FAILED.
    """
    if confirm is not None:
        console.print(
            f"The {service}'s database gets a new history, for good: what is open in conversations that know the "
            "present one ends as session_diverged. Do this only after a backup was put back."
        )
        if not confirm("Renew it?"):
            console.print("nothing was renewed", style="yellow")
            return EXIT_FAILED
    done = subprocess.run(
        [sys.executable, "-m", _MODULES[service], "restored"],
        env=stack_of_environment().environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    console.print(Text((done.stdout + done.stderr).strip()))
    return done.returncode
