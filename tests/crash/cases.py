"""Which scenario reaches which crash point: the tables that the crash suite runs, row by row.

`ALONE` lets one process die, `TOGETHER` a Loop and an Adapter within one scenario, at points of the same step. A test
holds both against handrail_rpc.crash_points: a point that no row reaches is a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice

from handrail_rpc.crash_points import POINTS


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario and where processes die in it: points in a step are armed together, a step after the step before."""

    scenario: str
    steps: tuple[str, ...]

    @property
    def points(self) -> tuple[str, ...]:
        """Every point with its count, in order."""
        return tuple(point for step in self.steps for point in step.split(","))

    @property
    def name(self) -> str:
        return f"{self.scenario}-{'+'.join(self.steps)}"


# Around what; in which scenario; at which times it is reached there. With the points that must be reached before.
_ALONE: tuple[tuple[str, str, tuple[int, ...], str], ...] = (
    ("loop.create_conversation.create", "question_and_text", (1,), ""),
    ("loop.send_message.accept", "question_and_click", (1, 2), ""),
    ("loop.send_message.accept", "supersede", (2,), ""),
    ("loop.send_message.accept", "joined_message", (2,), ""),
    ("loop.send_message.accept", "correction", (2,), ""),
    ("loop.resolve_approval.accept", "approval_and_post", (1,), ""),
    ("loop.resolve_approval.accept", "approval_and_ring", (1,), ""),
    ("loop.resolve_approval.accept", "rejection", (1,), ""),
    ("loop.resolve_approval.accept", "requested_changes", (1, 2), ""),
    ("loop.cancel_interaction.accept", "cancel_in_mid_tool", (1,), ""),
    ("loop.cancel_interaction.accept", "cancel_a_question", (1,), ""),
    ("loop.advance.open_session", "question_and_text", (1,), ""),
    ("loop.advance.diverged", "contradiction", (1,), ""),
    ("loop.advance.failed", "domain_not_served", (1,), ""),
    ("loop.advance.give_up", "lasting_fault", (1,), ""),
    ("loop.advance.out_of_time", "adapter_stays_away", (1,), ""),
    ("loop.claim_runs.put_back", "passing_fault", (1,), ""),
    ("loop.claim_runs.renew", "slow_post", (1,), ""),
    ("loop.claim_runs.void_leases", "approval_and_post", (1,), "loop.call.execute_tool.after:3"),
    ("loop.claim_runs.claim", "approval_and_post", (1,), "loop.take_decision.store.after_commit:4"),
    ("loop.adapter_calls.adopt_fence", "raised_fence", (1,), ""),
    ("loop.take_decision.store", "approval_and_post", (1, 2, 3, 4, 5), ""),
    ("loop.take_decision.store", "approval_and_ring", (1, 2, 3), ""),
    ("loop.take_decision.store", "question_and_click", (2,), ""),
    ("loop.take_decision.store", "supersede", (2, 3), ""),
    ("loop.take_decision.store", "joined_message", (2, 3), ""),
    ("loop.take_decision.store", "correction", (4, 5), ""),
    ("loop.execute_calls.outcome", "approval_and_post", (1, 3), ""),
    ("loop.execute_calls.outcome", "approval_and_ring", (1,), ""),
    ("loop.execute_calls.outcome", "parallel_reads", (1, 2), ""),
    ("loop.execute_calls.progress", "slow_post", (1,), ""),
    ("loop.execute_calls.dispatch_again", "approval_and_post", (1,), "adapter.tool.before:3"),
    ("loop.fire_timers.fire", "expiry", (1,), ""),
    ("loop.fire_timers.fire", "cancel_while_the_adapter_is_away", (1,), ""),
    ("loop.fire_timers.fire", "cancel_of_a_long_tool", (1,), ""),
    ("loop.stop_interaction.dispatch", "cancel_of_a_long_tool", (1,), ""),
    ("loop.stop_interaction.not_settled", "cancel_of_a_long_tool", (1,), ""),
    ("loop.stop_interaction.not_settled", "cancel_while_the_adapter_is_away", (1,), ""),
    ("loop.stop_interaction.settled", "cancel_in_mid_tool", (1,), ""),
    ("loop.stop_interaction.settled", "rejection", (1,), ""),
    ("loop.stop_interaction.without_session", "cancel_before_the_session", (1,), ""),
    ("loop.fire_timers.fire", "wait_for_a_time", (1,), ""),
    ("loop.signal_interaction.accept", "signal_ends_a_wait", (1,), ""),
    ("loop.signal_interaction.accept", "signal_before_the_wait", (1,), ""),
    ("loop.settle_execution.record", "settlement", (1,), ""),
    ("loop.settle_execution.record", "try_again", (1,), ""),
    ("loop.delete_conversation.accept", "deletion", (1,), ""),
    ("loop.delete_conversation.mark", "deletion", (1, 2), ""),
    ("loop.delete_conversation.erase", "deletion", (1,), ""),
    ("loop.delete_conversation.finish", "deletion", (1,), ""),
    ("loop.delete_conversation.cut_log", "deletion", (1,), ""),
    ("loop.delete_conversation.put_off", "deletion_while_the_adapter_is_away", (1,), ""),
    ("loop.report_channel_failure.store", "channel_failure", (1,), ""),
    ("loop.lost_histories.mark", "restored_loop", (1,), ""),
    ("loop.recover_conversation.accept", "restored_loop", (1,), ""),
    ("loop.trim_events.trim", "retention", (1,), ""),
    ("loop.take_decision.put_off", "expiry_while_the_adapter_is_away", (1,), ""),
    ("loop.ask_model.store", "judged_reply", (1,), ""),
    ("loop.call.open_session", "question_and_text", (1,), ""),
    ("loop.call.decide", "approval_and_post", (1, 4, 5), ""),
    ("loop.call.decide", "supersede", (2, 3), ""),
    ("loop.call.execute_tool", "approval_and_post", (1, 3), ""),
    ("loop.call.execute_tool", "approval_and_ring", (1,), ""),
    ("loop.call.execute_tool", "parallel_reads", (1, 2), ""),
    ("loop.call.cancel_interaction", "cancel_in_mid_tool", (1,), ""),
    ("loop.call.cancel_interaction", "rejection", (1,), ""),
    ("loop.call.settle_execution", "settlement", (1,), ""),
    ("loop.call.settle_execution", "try_again", (1,), ""),
    ("loop.call.delete_session", "deletion", (1,), ""),
    ("loop.reply.create_conversation", "question_and_text", (1,), ""),
    ("loop.reply.signal_interaction", "signal_ends_a_wait", (1,), ""),
    ("loop.reply.settle_execution", "settlement", (1,), ""),
    ("loop.reply.delete_conversation", "deletion", (1,), ""),
    ("loop.reply.report_channel_failure", "channel_failure", (1,), ""),
    ("loop.reply.recover_conversation", "restored_loop", (1,), ""),
    ("loop.reply.send_message", "question_and_click", (1, 5, 6), ""),
    ("loop.reply.send_message", "joined_message", (3,), ""),
    ("loop.reply.resolve_approval", "approval_and_post", (1, 4, 9), ""),
    ("loop.reply.cancel_interaction", "cancel_in_mid_tool", (1,), ""),
    ("loop.reply.watch_conversation", "question_and_click", (1, 5), ""),
    ("loop.reply.query", "question_and_click", (1,), ""),
    ("adapter.open_session.open", "question_and_text", (1,), ""),
    ("adapter.decide.store", "approval_and_post", (1, 4, 5), ""),
    ("adapter.decide.store", "approval_and_ring", (2, 3), ""),
    ("adapter.decide.store", "supersede", (2, 3), ""),
    ("adapter.decide.store", "correction", (4,), ""),
    ("adapter.decide.replay", "approval_and_post", (1,), "loop.call.decide.after:4"),
    ("adapter.execute_tool.claim", "approval_and_post", (1, 3), ""),
    ("adapter.execute_tool.claim", "approval_and_ring", (1,), ""),
    ("adapter.execute_tool.claim", "parallel_reads", (1, 2), ""),
    ("adapter.execute_tool.record", "approval_and_post", (1, 3), ""),
    ("adapter.execute_tool.record", "approval_and_ring", (1,), ""),
    ("adapter.execute_tool.recheck", "approval_and_post", (1,), "adapter.tool.after:3"),
    ("adapter.execute_tool.recheck", "approval_and_ring", (1,), "adapter.tool.after"),
    ("adapter.execute_tool.adopt_fence", "loop_dies_in_mid_tool", (1,), ""),
    ("adapter.cancel_interaction.close", "cancel_in_mid_tool", (1,), ""),
    ("adapter.cancel_interaction.close", "rejection", (1,), ""),
    ("adapter.start.take_possession", "approval_and_post", (1,), "adapter.tool.after:3"),
    ("adapter.tool", "approval_and_post", (1, 3), ""),
    ("adapter.tool", "approval_and_ring", (1,), ""),
    ("adapter.tool", "cancel_in_mid_tool", (3,), ""),
    ("adapter.probe", "approval_and_post", (1,), "adapter.tool.after:3"),
    ("adapter.reply.open_session", "question_and_text", (1,), ""),
    ("adapter.reply.decide", "approval_and_post", (1, 4, 5), ""),
    ("adapter.reply.execute_tool", "approval_and_post", (1, 3), ""),
    ("adapter.reply.execute_tool", "approval_and_ring", (1,), ""),
    ("adapter.reply.cancel_interaction", "cancel_in_mid_tool", (1,), ""),
    ("adapter.reply.cancel_interaction", "rejection", (1,), ""),
    ("adapter.reply.query", "question_and_click", (1,), ""),
    ("adapter.settle_execution.settle", "settlement", (1,), ""),
    ("adapter.settle_execution.settle", "try_again", (1,), ""),
    ("adapter.delete_session.erase", "deletion", (1,), ""),
    ("adapter.artifact_retention.remove", "artifact_retention", (1,), ""),
    ("adapter.drop_expired_uploads.drop", "approval_and_post", (1,), "adapter.tool.after:3"),
    ("adapter.upload_workspace.add_file", "upload_and_publish", (1, 2), ""),
    ("adapter.upload_workspace.take_manifest", "upload_and_publish", (1, 2), ""),
    ("adapter.publish_upload.store", "upload_and_publish", (1,), ""),
    ("adapter.reply.settle_execution", "settlement", (1,), ""),
    ("adapter.reply.delete_session", "deletion", (1,), ""),
)

# Points of one step on both sides, in a scenario; each of the longer list is paired, the shorter one goes round.
_NEIGHBOURS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "question_and_text",
        (
            "loop.create_conversation.create",
            "loop.reply.create_conversation",
            "loop.send_message.accept",
            "loop.reply.send_message",
            "loop.reply.watch_conversation",
            "loop.call.open_session",
            "loop.advance.open_session",
            "loop.reply.query",
        ),
        ("adapter.open_session.open", "adapter.reply.open_session", "adapter.reply.query"),
    ),
    (
        "question_and_text",
        ("loop.call.decide", "loop.take_decision.store"),
        ("adapter.decide.store", "adapter.reply.decide"),
    ),
    (
        "approval_and_post",
        (
            "loop.resolve_approval.accept",
            "loop.reply.resolve_approval",
            "loop.take_decision.store:4",
            "loop.call.execute_tool:3",
            "loop.execute_calls.outcome:3",
        ),
        (
            "adapter.execute_tool.claim:3",
            "adapter.tool:3",
            "adapter.execute_tool.record:3",
            "adapter.reply.execute_tool:3",
        ),
    ),
    (
        "approval_and_ring",
        (
            "loop.resolve_approval.accept",
            "loop.execute_calls.outcome",
        ),
        ("adapter.decide.store:2", "adapter.execute_tool.claim", "adapter.tool", "adapter.execute_tool.record"),
    ),
    (
        "cancel_in_mid_tool",
        (
            "loop.cancel_interaction.accept",
            "loop.reply.cancel_interaction",
            "loop.call.cancel_interaction",
            "loop.stop_interaction.settled",
        ),
        ("adapter.cancel_interaction.close", "adapter.reply.cancel_interaction", "adapter.execute_tool.record:3"),
    ),
    (
        "settlement",
        ("loop.call.settle_execution", "loop.settle_execution.record", "loop.reply.settle_execution"),
        ("adapter.settle_execution.settle", "adapter.reply.settle_execution"),
    ),
    (
        "deletion",
        (
            "loop.delete_conversation.accept",
            "loop.delete_conversation.mark:2",
            "loop.call.delete_session",
            "loop.delete_conversation.erase",
            "loop.delete_conversation.finish",
            "loop.delete_conversation.cut_log",
            "loop.reply.delete_conversation",
        ),
        ("adapter.cancel_interaction.close", "adapter.delete_session.erase", "adapter.reply.delete_session"),
    ),
    (
        "signal_ends_a_wait",
        ("loop.signal_interaction.accept", "loop.reply.signal_interaction"),
        ("adapter.decide.store:3", "adapter.reply.decide:3"),
    ),
    (
        "channel_failure",
        ("loop.report_channel_failure.store", "loop.reply.report_channel_failure"),
        ("adapter.decide.store:2",),
    ),
    ("judged_reply", ("loop.ask_model.store",), ("adapter.decide.store:2",)),
    (
        "upload_and_publish",
        ("loop.call.open_session", "loop.send_message.accept", "loop.resolve_approval.accept"),
        (
            "adapter.upload_workspace.add_file",
            "adapter.upload_workspace.take_manifest:2",
            "adapter.publish_upload.store",
        ),
    ),
    (
        "restored_loop",
        ("loop.lost_histories.mark", "loop.recover_conversation.accept", "loop.reply.recover_conversation"),
        ("adapter.cancel_interaction.close",),
    ),
    ("slow_post", ("loop.claim_runs.renew", "loop.execute_calls.progress"), ("adapter.execute_tool.record:3",)),
    ("expiry", ("loop.fire_timers.fire",), ("adapter.reply.decide:2",)),
)

# Pairs of which one leads to the other, or in which the processes start.
_CHAINS: tuple[tuple[str, str, str, str], ...] = (
    ("approval_and_post", "adapter.tool.after:3", "loop.execute_calls.dispatch_again", "adapter.execute_tool.recheck"),
    ("approval_and_post", "adapter.tool.after:3", "loop.execute_calls.dispatch_again", "adapter.probe"),
    (
        "approval_and_post",
        "adapter.tool.after:3",
        "loop.execute_calls.dispatch_again",
        "adapter.drop_expired_uploads.drop",
    ),
    ("approval_and_post", "loop.call.decide.after:4", "loop.claim_runs.void_leases", "adapter.decide.replay"),
    ("approval_and_post", "loop.call.decide.after:4", "loop.claim_runs.claim", "adapter.decide.replay"),
    ("passing_fault", "", "loop.claim_runs.put_back", "adapter.decide.store"),
    ("lasting_fault", "", "loop.advance.give_up", "adapter.start.take_possession"),
    (
        "cancel_before_the_session",
        "",
        "loop.stop_interaction.without_session",
        "adapter.start.take_possession",
    ),
    ("cancel_while_the_adapter_is_away", "", "loop.stop_interaction.not_settled", "adapter.cancel_interaction.close"),
    ("adapter_stays_away", "", "loop.advance.out_of_time", "adapter.start.take_possession"),
    (
        "deletion_while_the_adapter_is_away",
        "",
        "loop.delete_conversation.put_off",
        "adapter.delete_session.erase",
    ),
    (
        "expiry_while_the_adapter_is_away",
        "",
        "loop.take_decision.put_off",
        "adapter.start.take_possession",
    ),
    ("retention", "", "loop.trim_events.trim", "adapter.decide.store:3"),
    ("artifact_retention", "", "loop.take_decision.store:4", "adapter.artifact_retention.remove"),
    ("contradiction", "", "loop.advance.diverged", "adapter.decide.store"),
    ("raised_fence", "", "loop.adapter_calls.adopt_fence", "adapter.decide.store:2"),
    ("domain_not_served", "", "loop.advance.failed", "adapter.start.take_possession"),
    ("loop_dies_in_mid_tool", "", "loop.claim_runs.claim", "adapter.execute_tool.adopt_fence"),
    ("cancel_of_a_long_tool", "", "loop.stop_interaction.dispatch", "adapter.execute_tool.adopt_fence"),
)


def _both(base: str) -> tuple[str, str]:
    """Before and after `base`, with its count."""
    if not base:
        return "", ""
    name, colon, times = base.partition(":")
    moments = ("before_commit", "after_commit") if f"{name}.before_commit" in POINTS else ("before", "after")
    before, after = (f"{name}.{moment}{colon}{times}" for moment in moments)
    return before, after


def _step(*points: str) -> str:
    return ",".join(point for point in points if point)


def _alone() -> Iterator[Case]:
    for base, scenario, counts, first in _ALONE:
        for count in counts:
            for point in _both(f"{base}:{count}" if count > 1 else base):
                yield Case(scenario, (first, point) if first else (point,))


def _together() -> Iterator[Case]:
    for scenario, loop, adapter in _NEIGHBOURS:
        ours = [point for base in loop for point in _both(base)]
        theirs = [point for base in adapter for point in _both(base)]
        for pair in _paired(ours, theirs):
            yield Case(scenario, (_step(*pair),))
    for scenario, first, ours_base, theirs_base in _CHAINS:
        for pair in zip(_both(ours_base), _both(theirs_base), strict=True):
            yield Case(scenario, (first, _step(*pair)) if first else (_step(*pair),))


def _paired(ours: list[str], theirs: list[str]) -> Iterable[tuple[str, str]]:
    count = max(len(ours), len(theirs))
    return zip(islice(cycle(ours), count), islice(cycle(theirs), count), strict=True)


ALONE = tuple(_alone())
TOGETHER = tuple(_together())
