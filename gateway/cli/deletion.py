"""`handrail delete`: erases the content of a conversation in both services, once it is confirmed. Called by main."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC

from rich.console import Console

from gateway.cli.client import HandrailClient
from gateway.cli.events import one_line
from gateway.cli.refusals import EXIT_FAILED, EXIT_OK
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail_rpc.context import new_request_id

_SECONDS = 60.0


async def delete(
    console: Console, client: HandrailClient, conversation_id: str, confirm: Callable[[str], bool] | None
) -> int:
    """Delete one conversation; `confirm` None asks nothing. Raises HandrailError."""
    if confirm is not None:
        found = await client.conversation(conversation_id)
        title = f" “{one_line(found.title)}”" if found.title else ""
        console.print(
            f"Everything said and made in {found.conversation_id}{title} ({found.domain}) will be erased for good. "
            "What is active is canceled first; the audit trail stays, it holds no content."
        )
        if not confirm("Erase it?"):
            console.print("nothing was erased", style="yellow")
            return EXIT_FAILED
    request = loop.DeleteConversationRequest(request_id=new_request_id(), conversation_id=conversation_id)
    done = await client.call(lambda: client.stub.DeleteConversation(request, timeout=_SECONDS))
    time = done.delete_time.ToDatetime(UTC).isoformat(timespec="seconds")
    console.print(f"erased {one_line(conversation_id)} (deleted at {time})", style="green")
    return EXIT_OK
