"""Each comparison of E2 is taken away in turn, and the suite that every domain passes notices (requirement E2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter_service.domain import approval
from handrail.common.v1 import approval_pb2, tool_pb2
from tests.domains.approval_checks import DIFFERENCES, ApprovedCall, altered, check_every_difference_blocks
from tests.fakes.adapter_harness import Probe, running_probe


async def approved_post(probe: Probe) -> ApprovedCall:
    """The posting of a note that a person approved."""
    driver = await probe.open()
    await driver.say("write memo at 3 then post")
    await driver.run()
    await driver.resolve(approval_pb2.VERDICT_APPROVE)
    return ApprovedCall(driver, driver.last.call_tool.calls[0], probe.settings.data_dir / "adapter.db")


def test_there_is_a_difference_for_each_comparison() -> None:
    assert [each.comparison for each in DIFFERENCES] == [each.name for each in approval.COMPARISONS]


async def test_without_any_one_comparison_the_suite_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = approval.COMPARISONS
    async with running_probe(tmp_path) as probe:
        post = await approved_post(probe)
        assert await check_every_difference_blocks(post) == {each.name for each in whole}
        for removed in whole:
            monkeypatch.setattr(approval, "COMPARISONS", tuple(each for each in whole if each is not removed))
            with altered(post), pytest.raises(AssertionError, match=f"^{removed.name}: "):
                await check_every_difference_blocks(post)
        monkeypatch.setattr(approval, "COMPARISONS", whole)
        assert await check_every_difference_blocks(post)
        outcome = await post.driver.execute(post.call)
        assert outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED
