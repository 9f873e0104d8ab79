"""What the demo's scenes stand on: the processes, the conversation that is printed, and checks that can fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.text import Text

from gateway.cli.client import HandrailClient, connect, payload_names
from gateway.cli.conversing import Turn, show
from gateway.cli.events import one_line, shorten
from gateway.cli.processes import Stack
from handrail.common.v1.approval_pb2 import Verdict
from handrail.common.v1.tool_pb2 import Outcome
from handrail.loop.v1.event_pb2 import ApprovalRequired, Event, ToolFinished
from handrail_rpc.context import Caller
from handrail_rpc.errors import Unavailable

READY_SECONDS = 20.0
DOMAINS = ("aviation", "workbench")

Found = TypeVar("Found")


class ExpectationFailed(Exception):
    """Something the demo shows did not happen; the text says what was expected and what came instead."""


@dataclass(slots=True)
class Stage:
    """The processes and what one scene leaves for the next."""

    stack: Stack
    console: Console
    client: HandrailClient
    verbose: bool = False
    # The flight plan of scenes 3 to 6: its conversation, the approval as it was shown, the receipt of its filing.
    plan: Dialogue | None = None
    shown: ApprovalRequired | None = None
    receipt_id: str = ""
    checks: int = 0
    # Told with a failed expectation, so that the reader sees what really came.
    last_turn: Turn = field(default_factory=lambda: Turn(()))

    @property
    def data_dir(self) -> Path:
        """The demo's own folder, which it removes at its end."""
        return Path(self.stack.environment["HANDRAIL_DATA_DIR"])

    def connected(self, caller: Caller) -> AbstractAsyncContextManager[HandrailClient]:
        """A client of the same gateway for somebody else."""
        return connect(self.stack.gateway.target, caller)

    async def open(self, title: str, domain: str = "aviation", client: HandrailClient | None = None) -> Dialogue:
        """A new conversation, of the stage's own caller unless `client` is another's."""
        client = client or self.client
        conversation = await client.create_conversation(domain, title)
        return Dialogue(self, client, conversation.conversation_id)

    def say(self, text: str) -> None:
        """Tell what happens beside the conversation."""
        self.console.print(Text(f"  {text}", "bold"))

    def expect(self, met: object, expectation: str, instead: object = "") -> None:
        """Note a met expectation; raises ExpectationFailed for one that was not."""
        if not met:
            came = f"; instead: {instead}" if instead != "" else ""
            raise ExpectationFailed(f"expected {expectation}{came}\n{_evidence(self.last_turn)}")
        self.checks += 1
        self.console.print(Text.assemble(("    ✔ ", "green"), (expectation, "dim")))

    def kept(self, value: Found | None, what: str) -> Found:
        """A value that an earlier scene left; raises ExpectationFailed if that scene was not played."""
        if value is None:
            raise ExpectationFailed(f"expected {what} of an earlier scene, but there is none")
        return value

    def filed(self) -> list[Path]:
        """The files in the outbox, oldest first; a file that is still being written has a hidden name."""
        outbox = Path(self.stack.environment["HANDRAIL_AVIATION_OUTBOX"])
        if not outbox.is_dir():
            return []
        files = [path for path in outbox.rglob("*") if path.is_file() and not path.name.startswith(".")]
        return sorted(files, key=lambda path: path.stat().st_mtime_ns)

    async def wait_ready(self) -> None:
        """Wait until all processes serve and the gateway reaches the domains of the scenes through the Loop.

        Raises ProcessFailed or ExpectationFailed after READY_SECONDS.
        """
        await self.stack.wait_serving()
        clock = asyncio.get_running_loop().time
        deadline = clock() + READY_SECONDS
        seen = "no answer"
        while clock() < deadline:
            try:
                domains = {each.domain: each.available for each in await self.client.domains()}
            except Unavailable as error:
                seen = str(error)
            else:
                if all(domains.get(each) for each in DOMAINS):
                    return
                seen = f"domains {domains}"
            await asyncio.sleep(0.05)
        raise ExpectationFailed(
            f"expected the domains {' and '.join(DOMAINS)} within {READY_SECONDS:g} s; instead: {seen}"
        )


@dataclass(slots=True)
class Dialogue:
    """One conversation of the demo; each turn is printed as it happens."""

    stage: Stage
    client: HandrailClient
    conversation_id: str

    async def say(self, text: str, expected_ending: str = "", *, brief: bool = False) -> Turn:
        """Send a message and return its run; raises ExpectationFailed if it ends otherwise than expected.

        `brief` prints the text and how the run ended, on one line.
        """
        events = self.client.send_message(self.conversation_id, text)
        if not brief:
            self.stage.console.print(Text.assemble(("» ", "bold"), (text, "bold")))
            return await self._play(events, expected_ending)
        turn = await self._play(events, expected_ending, Console(quiet=True))
        self.stage.console.print(Text.assemble((f"» {text}", "bold"), f" → {_gist(turn)}"))
        return turn

    async def approve(
        self, approval_id: str, digest: str, expected_ending: str = "", *, by: HandrailClient | None = None
    ) -> Turn:
        """Approve by a digest, as the conversation's owner or as somebody else, and return the run."""
        self.stage.console.print(Text.assemble(("» approve ", "bold"), (f"{approval_id} {digest[:16]}…", "bold")))
        events = (by or self.client).resolve_approval(approval_id, Verdict.VERDICT_APPROVE, digest)
        return await self._play(events, expected_ending)

    async def context_size_bytes(self, turn: Turn) -> int:
        """How large the context of the turn's interaction was when it was planned."""
        interaction = await self.client.interaction(turn.last.interaction_id)
        return interaction.context.context_size_bytes

    async def _play(
        self, events: AsyncGenerator[Event, None], expected_ending: str, console: Console | None = None
    ) -> Turn:
        turn = await show(console or self.stage.console, events, verbose=self.stage.verbose)
        self.stage.last_turn = turn
        if expected_ending and turn.ending != expected_ending:
            came = turn.ending or "no ending"
            raise ExpectationFailed(
                f"expected the run to end with {expected_ending}; instead: {came}\n{_evidence(turn)}"
            )
        return turn


def tools_that(turn: Turn, outcome: Outcome.ValueType = Outcome.OUTCOME_SUCCEEDED) -> list[str]:
    """The tools of a run that ended with `outcome`, in order."""
    finished: list[ToolFinished] = turn.of("tool_finished")
    return [each.tool for each in finished if each.outcome == outcome]


def receipts(turn: Turn, tool: str) -> list[Any]:
    """The receipts of a tool's successful calls in a run."""
    finished: list[ToolFinished] = turn.of("tool_finished")
    return [each.receipt for each in finished if each.tool == tool and each.outcome == Outcome.OUTCOME_SUCCEEDED]


@asynccontextmanager
async def stage_on(stack: Stack, console: Console, *, verbose: bool = False) -> AsyncIterator[Stage]:
    """A stage whose client is connected to the stack's gateway."""
    async with connect(stack.gateway.target, Caller()) as client:
        yield Stage(stack, console, client, verbose)


def _gist(turn: Turn) -> str:
    """How a run ended, in few words."""
    text = turn.last.completed.answer.text if turn.ending == "completed" else turn.ending
    return shorten(one_line(text), 110)


def _evidence(turn: Turn) -> str:
    last = str(turn.last).strip()
    if len(last) > 1_500:
        last = last[:1_500] + " …"
    return f"events of the last run: {', '.join(payload_names(turn.events)) or 'none'}\nits last event:\n{last}"
