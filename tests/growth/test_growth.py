"""1,000 turns in one conversation: a turn at the end takes no more commits, calls and bytes than one at the beginning.

Counts only; what time does is the benchmark's to say (R3).
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from tests.growth.stack import running_stack

_TURNS = 1000
_QUARTER = 250
_MOST_GROWTH = 1.05


async def test_a_turn_takes_the_same_after_a_thousand_turns(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as running:
        conversation = await running.create()
        # The first quarter fills what is bounded (the memory of the session, the first page of every table).
        await running.turns(conversation, _QUARTER)
        early = asdict(await running.spent(conversation, _QUARTER))
        await running.turns(conversation, _TURNS - 3 * _QUARTER)
        late = asdict(await running.spent(conversation, _QUARTER))
        growth = {kind: late[kind] / early[kind] for kind in early}
        assert max(growth.values()) < _MOST_GROWTH, (growth, early, late)
