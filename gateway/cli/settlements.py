"""`handrail settle`: a person's verdict on a call whose outcome is unknown, and the run that tries it again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from rich.console import Console
from rich.text import Text

from gateway.cli.client import ENDINGS, HandrailClient
from gateway.cli.conversing import show
from gateway.cli.events import confirmed_step_lines, one_line
from gateway.cli.refusals import EXIT_FAILED, EXIT_OK
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail.loop.v1.event_pb2 import Event
from handrail_rpc.errors import NotFound

_WORDS = {
    loop.SETTLEMENT_HAPPENED: "it happened",
    loop.SETTLEMENT_DID_NOT_HAPPEN: "it did not happen",
    loop.SETTLEMENT_TRY_AGAIN: "it did not happen and is tried again",
}


async def settle(
    console: Console,
    client: HandrailClient,
    interaction_id: str,
    tool_call_id: str,
    *,
    settlement: loop.Settlement.ValueType,
    comment: str,
    verbose: bool,
) -> int:
    """Say what is settled, settle it, and follow the run of a new attempt to where it waits or ends.

    Returns EXIT_FAILED only where that run failed. Raises HandrailError; nothing was settled then.
    """
    waiting = [
        item
        for item in await client.pending(loop.PENDING_KIND_EXECUTION, interaction_id=interaction_id)
        if item.execution.tool_call_id == tool_call_id
    ]
    for item in waiting:
        for line in execution_lines(item):
            console.print(line)
    conversation = await _own_conversation(client, interaction_id)
    answer = await client.settle(interaction_id, tool_call_id, settlement, comment=comment)
    console.print(Text.assemble(("  ⚖ settled: ", "bold green"), _WORDS[settlement]))
    for line in confirmed_step_lines(answer.interaction.failure.confirmed_steps):
        console.print(line)
    # Where it is tried again, asking for it once more is no help.
    if answer.interaction.failure.helpful_action and not answer.successor_interaction_id:
        console.print(
            Text.assemble(("    what helps: ", "yellow"), one_line(answer.interaction.failure.helpful_action))
        )
    if not answer.successor_interaction_id:
        return EXIT_OK
    console.print(f"  tried again as interaction {answer.successor_interaction_id}", style="dim")
    if conversation is None:
        return EXIT_OK
    events = client.watch(
        conversation.conversation_id, conversation.last_sequence, follow=True, history_id=conversation.history_id
    )
    turn = await show(console, _of_run(events, answer.run_id), verbose=verbose)
    return EXIT_FAILED if turn.failed else EXIT_OK


async def _own_conversation(client: HandrailClient, interaction_id: str) -> loop.Conversation | None:
    """The conversation as it is before the verdict; None where it is somebody else's."""
    try:
        return await client.conversation((await client.interaction(interaction_id)).conversation_id)
    except NotFound:
        return None


async def _of_run(events: AsyncGenerator[Event, None], run_id: str) -> AsyncGenerator[Event, None]:
    """The events of one run, to its ending."""
    async with aclosing(events):
        async for event in events:
            if event.run_id != run_id:
                continue
            yield event
            if event.WhichOneof("payload") in ENDINGS:
                return


def execution_lines(item: loop.PendingItem) -> list[Text]:
    """A call that nobody has settled: what it was, for whom, and the command that settles it."""
    call = item.execution
    return [
        Text.assemble(("  ? outcome unknown: ", "bold yellow"), one_line(call.summary or call.tool)),
        Text(f"      tool {one_line(call.tool)}, requested by {one_line(item.requester)}", "dim"),
        Text(f"      approval {one_line(call.approval_id) or 'none'}, call {one_line(call.tool_call_id)}", "dim"),
    ]
