"""A part of `make chaos` that fits into every test run; HANDRAIL_CHAOS_SEED repeats a seed that it printed."""

from __future__ import annotations

import os
from pathlib import Path

from tests.crash.chaos import chaos, new_seed

INTERACTIONS = 200


async def test_conversations_under_random_kills_keep_every_promise(tmp_path: Path) -> None:
    seed = int(os.environ.get("HANDRAIL_CHAOS_SEED") or new_seed())
    ran = await chaos(tmp_path, seed, INTERACTIONS, conversations=5)
    assert sum(ran.done.values()) == INTERACTIONS
    assert ran.deaths, "nothing died, so nothing was shown"
