"""The scenes of `make demo`, against the same three processes; and a demo whose expectation is not met says so."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

from rich.console import Console

from gateway.cli.demo import play_scenes
from gateway.cli.demo_scenes import SCENES
from gateway.cli.demo_stage import Stage, stage_on
from gateway.cli.demo_workbench import AUTHOR
from gateway.cli.processes import Stack
from tests.fakes.processes import check_history, running_stack


def _console(output: io.StringIO) -> Console:
    return Console(file=output, highlight=False, soft_wrap=True, width=200)


async def _play_and_check(stack: Stack, console: Console) -> tuple[bool, int]:
    async with stage_on(stack, console) as stage:
        await stage.wait_ready()
        met = await play_scenes(stage, SCENES)
        if met:
            assert len(stage.filed()) == 1
            async with stage.connected(AUTHOR) as author:
                for client, made in ((stage.client, 5), (author, 2)):
                    conversations = await client.conversations()
                    assert len(conversations) == made
                    for conversation in conversations:
                        check_history(await client.history(conversation.conversation_id))
        return met, stage.checks


def test_every_scene_meets_its_expectations(tmp_path: Path) -> None:
    output = io.StringIO()
    with running_stack(tmp_path) as stack:
        met, checks = asyncio.run(_play_and_check(stack, _console(output)))
    text = output.getvalue()
    assert met, text[-6000:]
    assert checks >= 50
    for title, _ in SCENES:
        assert title in text


def test_an_unmet_expectation_stops_the_demo_readably(handrail: Stack) -> None:
    output = io.StringIO()
    played: list[str] = []

    async def wrong(stage: Stage) -> None:
        dialogue = await stage.open("Wrong expectation")
        await dialogue.say("Find the airport EDDB", "approval_required")

    async def refused(stage: Stage) -> None:
        await stage.client.conversation("conv_unknown")

    async def later(stage: Stage) -> None:
        played.append("later")

    async def play() -> tuple[bool, bool]:
        async with stage_on(handrail, _console(output)) as stage:
            return (
                await play_scenes(stage, [("Wrong", wrong), ("Later", later)]),
                await play_scenes(stage, [("Refused", refused), ("Later", later)]),
            )

    assert asyncio.run(play()) == (False, False)
    text = output.getvalue()
    assert "Scene 1 failed: expected the run to end with approval_required; instead: completed" in text
    assert "refused NOT_FOUND CONVERSATION_NOT_FOUND" in text
    assert played == []
