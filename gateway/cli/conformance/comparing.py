"""Rules about the comparison right before an execution: what changed since the approval blocks it (requirement E2)."""

from __future__ import annotations

import asyncio

from gateway.cli.conformance.approving import blocked, change, publish
from gateway.cli.conformance.kit import Kit, kind_of
from gateway.cli.conformance.rule import expect, rule
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import approval_pb2, tool_pb2

_SPARE_SECONDS = 0.25
_MOST_APPROVALS = 5


@rule(
    wants="An approval that expired before the execution blocks it: approval_expired, and no effect.",
    source="docs/protocol.md#claim",
    why="A call that waited for days is not what somebody approved for an hour.",
    needs=("probe_change_expiring",),
)
async def expired_approval_blocks(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key, "probe_change_expiring")
    limit = kit.tool("probe_change_expiring").approval.expires_after.ToTimedelta().total_seconds()
    approved = await begun.decide(begun.resolution(approval_pb2.VERDICT_APPROVE))
    for _ in range(_MOST_APPROVALS):
        if approved.WhichOneof("outcome") != "request_approval":
            break
        # On a slow machine it had expired before it was approved, and a fresh one was asked for.
        approved = await begun.decide(begun.resolution(approval_pb2.VERDICT_APPROVE))
    call = begun.only_call(approved)
    await asyncio.sleep(limit + _SPARE_SECONDS)
    await blocked(begun, call, "approval_expired")
    await kit.expect_count(key, 0)


@rule(
    wants="Whether an approval has expired is the adapter's to say: a timer that is too early ends nothing.",
    source="docs/protocol.md#claim",
    why="The clocks of two services differ; an approval would end before its time, or hold after it.",
    needs=("probe_change_expiring", "probe_change"),
)
async def expiry_is_the_adapters_to_say(kit: Kit) -> None:
    early = await change(kit, kit.new_key())
    snapshot = early.last.request_approval.snapshot
    decided = await early.decide(early.resolution(approval_pb2.VERDICT_UNSPECIFIED, expired=True))
    expect(decided.WhichOneof("outcome") == "request_approval", f"an hour too early came {kind_of(decided)}")
    expect(decided.request_approval.snapshot == snapshot, "the approval that is announced again is another one")
    late = await change(kit, kit.new_key(), "probe_change_expiring")
    limit = kit.tool("probe_change_expiring").approval.expires_after.ToTimedelta().total_seconds()
    await asyncio.sleep(limit + _SPARE_SECONDS)
    decided = await late.decide(late.resolution(approval_pb2.VERDICT_UNSPECIFIED, expired=True))
    expect(decided.WhichOneof("outcome") == "blocked", f"after its time came {kind_of(decided)}")
    expect(decided.blocked.block.code == "approval_expired", f"the code is {decided.blocked.block.code!r}")


@rule(
    wants="A new version of the artifact after the approval blocks the execution: approval_stale or validation_failed.",
    source="docs/protocol.md#claim",
    why="What is published must be what was approved, not what was written since.",
    needs=("probe_draft", "probe_publish", "probe_revise"),
)
async def changed_artifact_blocks(kit: Kit) -> None:
    title = kit.new_key()
    begun = await publish(kit, title)
    call = await begun.approve()
    revised = await kit.say("probe_revise level=2", begun.session)
    await revised.run()
    await blocked(begun, call, "approval_stale", "validation_failed", "validation_missing")
    await kit.expect_count(title, 0)


@rule(
    wants="Another validation of the artifact after the approval blocks the execution.",
    source="docs/protocol.md#claim",
    why="A finding that came after the approval must not be published over.",
    needs=("probe_draft", "probe_publish", "probe_check"),
)
async def changed_validation_blocks(kit: Kit) -> None:
    title = kit.new_key()
    begun = await publish(kit, title)
    call = await begun.approve()
    checked = await kit.say("probe_check strict=true", begun.session)
    await checked.run()
    await blocked(begun, call, "validation_failed", "approval_stale")
    await kit.expect_count(title, 0)


@rule(
    wants="A base that changed after the approval blocks the execution: approval_stale.",
    source="docs/protocol.md#claim",
    why="Somebody else's change would be overwritten unseen.",
    needs=("probe_change",),
)
async def changed_base_blocks(kit: Kit) -> None:
    key = kit.new_key()
    first, second = await change(kit, key), await change(kit, key)
    one, two = await first.approve(), await second.approve()
    outcome = await first.execute(one)
    expect(outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED, "the first of two approved changes did not succeed")
    await blocked(second, two, "approval_stale")
    await kit.expect_count(key, 1)


@rule(
    wants="A block is final for its call: a repetition answers the same; a new approval brings a new key and executes.",
    source="docs/protocol.md#claim",
    why="A call that was refused must not run later, when nobody looks any more.",
    needs=("probe_change",),
)
async def block_is_final(kit: Kit) -> None:
    key = kit.new_key()
    first, second = await change(kit, key), await change(kit, key)
    one, two = await first.approve(), await second.approve()
    await first.execute(one)
    outcome = await blocked(second, two, "approval_stale")
    expect(await second.execute(two, dispatch_number=2) == outcome, "the repetition answers something else")
    old = second.last.call_tool.calls[0].idempotency_key
    asked = await second.finish(outcome)
    expect(asked.WhichOneof("outcome") == "request_approval", f"after the block came {kind_of(asked)}")
    expect(asked.request_approval.snapshot.idempotency_key != old, "the new approval has the old key")
    await second.execute(await second.approve())
    await kit.expect_count(key, 2)


@rule(
    wants="A call is not executed for a caller whose roles do not permit its tool, whoever it was decided for.",
    source="docs/protocol.md#claim",
    why="A role that was taken away must not go on working in what was already planned.",
    needs=("probe_guarded",),
)
async def role_is_compared_at_execution(kit: Kit) -> None:
    begun = await kit.say("probe_guarded")
    call = begun.only_call()
    begun.roles = ("somebody",)
    await blocked(begun, call, "tool_not_permitted")


@rule(
    wants="After a failed validation only revising is offered, and the revised version is validated and approved anew.",
    source="docs/protocol.md#decisions",
    why="A plan that is known to be wrong must not be published by choosing another action.",
    needs=("probe_draft", "probe_publish", "probe_revise", "probe_check"),
)
async def failed_validation_is_revised(kit: Kit) -> None:
    title = kit.new_key()
    drafted = await kit.say(f"probe_draft title={title}")
    await drafted.run()
    begun = await kit.say("probe_publish", drafted.session)
    offered = await begun.run()
    expect(offered.WhichOneof("outcome") == "choose", f"after the failed validation came {kind_of(offered)}")
    actions = [action.action_id for action in offered.choose.actions]
    effects = {action.effect for action in offered.choose.actions}
    expect(len(actions) == 1 and effects == {tool_pb2.EFFECT_DRAFT}, f"the actions are {actions}")
    asked = await begun.decide(obs.Observation(action_choice=obs.ActionChoice(action_id=actions[0])))
    expect(asked.WhichOneof("outcome") == "ask", f"after choosing to revise came {kind_of(asked)}")
    await begun.decide(begun.reply("3"))
    requested = await begun.run()
    expect(requested.WhichOneof("outcome") == "request_approval", f"after revising came {kind_of(requested)}")
    expect(requested.request_approval.snapshot.artifact_version == 2, "the approval is not for the revised version")
    await begun.execute(await begun.approve())
    await kit.expect_count(title, 1)
