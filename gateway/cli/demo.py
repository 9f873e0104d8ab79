"""`handrail demo`: play the scenes against real processes on a fresh temporary data directory."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from gateway.cli.demo_scenes import SCENES, Scene
from gateway.cli.demo_stage import ExpectationFailed, Stage, stage_on
from gateway.cli.processes import ProcessFailed, Stack
from gateway.cli.refusals import EXIT_FAILED, EXIT_OK, refusal_line
from handrail_rpc.errors import HandrailError


def play_demo(console: Console, *, keep: bool = False, verbose: bool = False) -> int:
    """Migrate, start, play, stop; EXIT_OK only if every expectation was met.

    The data directory is removed, unless something failed (its logs are then of use) or `keep` is set.
    """
    began = time.monotonic()
    data_dir = Path(tempfile.mkdtemp(prefix="handrail-demo-"))
    met = False
    try:
        with Stack.isolated(data_dir) as stack:
            met = asyncio.run(_play(console, stack, verbose))
    except ProcessFailed as error:
        console.print(Text(str(error)), style="red")
    finally:
        if met and not keep:
            shutil.rmtree(data_dir, ignore_errors=True)
        else:
            console.print(f"databases, outbox and logs are kept in {data_dir}", style="dim")
    if met:
        console.print(f"Every expectation was met, in {time.monotonic() - began:.0f} s.", style="bold green")
    return EXIT_OK if met else EXIT_FAILED


async def _play(console: Console, stack: Stack, verbose: bool) -> bool:
    console.print("Starting the Loop, the Adapter and the gateway on a fresh data directory …", style="dim")
    await asyncio.to_thread(stack.migrate)
    stack.start()
    async with stage_on(stack, console, verbose=verbose) as stage:
        try:
            await stage.wait_ready()
        except ExpectationFailed as error:
            console.print(Text(f"The demo stopped: {error}"), style="bold red")
            return False
        return await play_scenes(stage, SCENES)


async def play_scenes(stage: Stage, scenes: Sequence[tuple[str, Scene]]) -> bool:
    """Play scenes in order up to the first that fails, which is told readably; True if none did."""
    for number, (title, scene) in enumerate(scenes, 1):
        stage.console.print()
        stage.console.print(Text(f"── {number}. {title}", "bold blue"))
        try:
            await scene(stage)
        except ExpectationFailed as error:
            stage.console.print(Text(f"Scene {number} failed: {error}"), style="bold red")
            return False
        except HandrailError as error:
            stage.console.print(f"Scene {number} failed: a request was refused unexpectedly", style="bold red")
            stage.console.print(refusal_line(error, stage.stack.gateway.target))
            return False
    stage.console.print()
    return True
