"""Loop and Adapter both die by kill -9 within one step, each at a crash point of its own."""

from __future__ import annotations

import pytest

from tests.crash.carrying import carry_through
from tests.crash.cases import TOGETHER, Case
from tests.crash.site import Site


@pytest.mark.parametrize("case", TOGETHER, ids=lambda case: case.name)
async def test_both_dying_in_one_step_keeps_every_promise(site: Site, case: Case) -> None:
    await carry_through(site, case)
