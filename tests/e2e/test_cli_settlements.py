"""`handrail inbox` with its filters and `handrail settle`, as a person uses them, through a gateway."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.grpc.gateway.upstream import gateway_to
from tests.grpc.loop.driver import last
from tests.grpc.whole.running import Whole, running_whole
from tests.grpc.whole.settling import POST, Unknown, UnsureWorld, unknown, who

COMMAND = [sys.executable, "-m", "gateway.cli"]
ANN = who("ann", "author,editor,ringer")
BOB = who("bob", "ringer")


@dataclass
class Ended:
    code: int
    out: str
    err: str


@dataclass
class Desk:
    """A gateway in front of both services, and the command."""

    whole: Whole
    world: UnsureWorld
    address: str

    async def run(
        self, *arguments: str, lines: tuple[str, ...] = (), principal: str = "local", roles: str = "*"
    ) -> Ended:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *arguments,
            "--address",
            self.address,
            "--principal",
            principal,
            "--roles",
            roles,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            out, err = await process.communicate("".join(f"{line}\n" for line in lines).encode())
        return Ended(process.returncode or 0, out.decode(), err.decode())

    async def settle(self, found: Unknown, *more: str, principal: str = "local", roles: str = "*") -> Ended:
        return await self.run(
            "settle", found.interaction_id, found.tool_call_id, *more, principal=principal, roles=roles
        )


@asynccontextmanager
async def desk(folder: Path) -> AsyncIterator[Desk]:
    world = UnsureWorld()
    async with running_whole(folder, world) as whole, gateway_to(whole.driver.loop.target) as (gateway, _):
        yield Desk(whole, world, gateway.target)


async def test_the_failure_and_the_inbox_name_the_command_that_settles(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        found = await unknown(at.whole)
        command = f"handrail settle {found.interaction_id} {found.tool_call_id}"
        listed = await at.run("inbox")
        assert listed.code == 0, listed.err
        assert f"  {command}" in listed.out
        assert "outcome unknown: Post note: memo" in listed.out
        assert found.tool_call_id in listed.out
        shown = await at.run("chat", "--conversation", found.conversation_id, lines=("/quit",))
        assert shown.code == 0, shown.err
        happened = await at.run(*command.split()[1:], "--happened", "--comment", "seen on the board")
        assert happened.code == 0, happened.err
        assert "⚖ settled: it happened" in happened.out
        assert "confirmed: post_note — Post note: confirmed by local." in happened.out
        assert "nothing waits for you" in (await at.run("inbox")).out


async def test_settling_again_repeats_the_verdict_and_refuses_another(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        found = await unknown(at.whole, "toll 2")
        first = await at.settle(found, "--did-not-happen")
        assert (first.code, "⚖ settled: it did not happen" in first.out) == (0, True), first.err
        assert (await at.settle(found, "--did-not-happen")).code == 0
        other = await at.settle(found, "--happened")
        assert other.code == 2
        assert re.search(r"^refused FAILED_PRECONDITION EXECUTION_SETTLED: .* by local at 20", other.err)
        assert len(other.err.splitlines()) == 1


async def test_trying_again_shows_the_new_approval_and_approving_it_finishes_the_request(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        found = await unknown(at.whole)
        at.world.unsure = False
        again = await at.settle(found, "--try-again")
        assert again.code == 0, again.err
        assert "tried again as interaction int_" in again.out
        assert "approval required" in again.out
        new = re.search(r"apr_\w+", again.out.partition("tried again")[2])
        assert new is not None
        assert new[0] != found.approval.approval_id
        approved = await at.run("approve", new[0], lines=("y",))
        assert approved.code == 0, approved.out + approved.err
        assert "Posted the note memo." in approved.out
        assert sum(at.world.effects.values()) == 1
        late = await at.run("approve", new[0])
        assert late.code == 2
        assert f"approval {new[0]} is not open: it is executed, resolved by local" in late.err


async def test_the_requester_is_barred_and_somebody_else_settles(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        found = await unknown(at.whole, "ring 2", owner=ANN, approver=BOB)
        own = await at.settle(found, "--happened", principal="ann", roles="ringer")
        assert own.code == 2
        assert own.err.startswith("refused PERMISSION_DENIED REQUESTER_MAY_NOT_SETTLE")
        stranger = await at.settle(found, "--happened", principal="eve", roles="pilot")
        assert stranger.err.startswith("refused NOT_FOUND INTERACTION_NOT_FOUND")
        at.world.unsure = False
        other = await at.settle(found, "--try-again", principal="bob", roles="ringer")
        assert other.code == 0, other.err
        assert "outcome unknown: Ring" in other.out
        assert "requested by ann" in other.out
        # The run is Ann's: Bob is told where it is tried again, and finds its approval in his inbox.
        assert "tried again as interaction int_" in other.out
        assert "approval required" not in other.out

        async def asked() -> bool:
            return "approval" in (await at.run("inbox", principal="bob", roles="ringer")).out

        await at.whole.driver.until(asked, 30)


async def test_the_inbox_takes_every_filter(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        found = await unknown(at.whole, "toll 2")
        conversation_id = await at.whole.create()
        approval = last(await at.whole.driver.send(conversation_id, POST), "approval_required")
        question = await at.whole.create()
        await at.whole.driver.send(question, "look London")
        for arguments, shown in (
            ((), {"call", "approval", "question"}),
            (("--kind", "call"), {"call"}),
            (("--kind", "approval"), {"approval"}),
            (("--kind", "question"), {"question"}),
            (("--conversation", conversation_id), {"approval"}),
            (("--interaction", found.interaction_id), {"call"}),
            (("--domain", "probe"), {"call", "approval", "question"}),
            (("--domain", "aviation"), set()),
            (("--tool", "post_note"), {"approval"}),
            (("--tool", "toll"), {"call"}),
            (("--mine",), {"call", "approval", "question"}),
            (("--before", "2001-01-01T00:00:00Z"), set()),
        ):
            listed = await at.run("inbox", *arguments)
            assert listed.code == 0, listed.err
            seen = {
                kind
                for kind, mark in (
                    ("call", found.tool_call_id),
                    ("approval", approval.approval_id),
                    ("question", question),
                )
                if mark in listed.out
            }
            assert seen == shown, (arguments, listed.out)
            assert ("nothing waits for you that fits" in listed.out) == (not shown)


async def test_wrong_usage_is_told_before_anything_is_sent(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        found = await unknown(at.whole, "toll 2")
        for arguments in ((), ("--happened", "--try-again")):
            ended = await at.settle(found, *arguments)
            assert ended.code == 2
            assert "give one of --happened, --did-not-happen and" in ended.err
        for option, value in (("--kind", "nothing"), ("--before", "yesterday")):
            ended = await at.run("inbox", option, value)
            assert ended.code == 2
            assert option in ended.err
        assert found.tool_call_id in (await at.run("inbox")).out
