"""The Loop dies by kill -9 at each of its crash points: nothing is lost, doubled or left hanging (B3, E4)."""

from __future__ import annotations

import pytest

from tests.crash.carrying import carry_through
from tests.crash.cases import ALONE, Case
from tests.crash.site import Site

CASES = [case for case in ALONE if case.points[-1].startswith("loop.")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_loop_that_dies_here_keeps_every_promise(site: Site, case: Case) -> None:
    await carry_through(site, case)
