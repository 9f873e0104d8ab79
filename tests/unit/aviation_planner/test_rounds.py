"""The planner on the rounds of requests that were written before it had seen them, each in its situation."""

from __future__ import annotations

import pytest

from . import heldout_round5, heldout_round6
from .situations import Label, fits, outcome

CASES = [case for table in (heldout_round5, heldout_round6) for case in (*table.ENGLISH, *table.RUSSIAN)]


@pytest.mark.parametrize(("situation", "text", "label"), CASES, ids=[f"{case[0]}: {case[1]}" for case in CASES])
def test_round(situation: str, text: str, label: Label) -> None:
    got = outcome(situation, text)
    assert fits(label, got), f"{text!r} gave {got}"
