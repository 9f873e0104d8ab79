"""Rules about approvals: what is approved, by whom, and that nothing else is executed (requirements E1, E5)."""

from __future__ import annotations

import re
from typing import Any

from gateway.cli.conformance.interaction import REQUESTER, Interaction
from gateway.cli.conformance.kit import Kit, kind_of
from gateway.cli.conformance.rule import NotApplicable, expect, rule
from gateway.cli.conformance.wire import Refused
from handrail.common.v1 import approval_pb2, decision_pb2, tool_pb2
from handrail_rpc.digest import DIGEST_SCHEME, SNAPSHOT_FIELDS, snapshot_digest, snapshot_fields_from_proto

_HASH = re.compile(r"[0-9a-f]{64}")
_OF_ARTIFACTS = {"artifact_id", "artifact_version", "artifact_sha256", "validation_sha256"}


async def change(kit: Kit, key: str, tool: str = "probe_change") -> Interaction:
    """An interaction whose open approval is for executing a key."""
    begun = await kit.say(f"{tool} key={key}")
    kind = begun.last.WhichOneof("outcome")
    expect(kind == "request_approval", f"{tool} was to be approved; came {kind}")
    return begun


async def publish(kit: Kit, title: str) -> Interaction:
    """An interaction whose open approval is for publishing a valid note of that title."""
    drafted = await kit.say(f"probe_draft title={title} level=1")
    await drafted.run()
    begun = await kit.say("probe_publish", drafted.session)
    asked = await begun.run()
    kind = kind_of(asked)
    expect(kind == "request_approval", f"probe_publish was to be approved; came {kind}")
    return begun


async def blocked(begun: Interaction, call: tool_pb2.ToolCall, *codes: str) -> tool_pb2.ToolOutcome:
    """Execute a call that policy has to block with one of the codes."""
    outcome = await begun.execute(call)
    name = tool_pb2.Outcome.Name(outcome.outcome)
    expect(outcome.outcome == tool_pb2.OUTCOME_BLOCKED, f"the outcome is {name}, not OUTCOME_BLOCKED")
    expect(outcome.block.code in codes, f"the block's code is {outcome.block.code!r}, not {' or '.join(codes)}")
    return outcome


async def not_called(kit: Kit, begun: Interaction, observation: Any) -> None:
    """Send an observation that must not lead to a call: refused, or decided in another way."""
    try:
        decided = await begun.send(begun.decide_request(observation))
    except Refused as refused:
        accepted = ("INVALID_ARGUMENT", "FAILED_PRECONDITION", "ABORTED", "PERMISSION_DENIED")
        expect(refused.code.name in accepted, f"it was refused with {refused}")
        return
    expect(decided.WhichOneof("outcome") != "call_tool", "the tool is called")


@rule(
    wants="A CHANGE tool is called only after a request for approval; until then nothing is executed.",
    source="docs/protocol.md#approvals",
    why="No effect without a matching, unexpired approval: the first promise.",
    needs=("probe_change",),
)
async def change_is_approved_first(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key)
    await kit.expect_count(key, 0)
    call = await begun.approve()
    await kit.expect_count(key, 0)
    outcome = await begun.execute(call)
    expect(outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED, f"the outcome is {tool_pb2.Outcome.Name(outcome.outcome)}")
    await kit.expect_count(key, 1)
    done = await begun.finish(outcome)
    expect(done.WhichOneof("outcome") == "complete", f"came {kind_of(done)}")


@rule(
    wants="The approval snapshot has every member: scheme, tool and policy version as described, hashes, key, expiry.",
    source="docs/protocol.md#snapshot",
    why="What the snapshot does not name can change between the approval and the execution.",
    needs=("probe_change",),
)
async def snapshot_is_complete(kit: Kit) -> None:
    begun = await change(kit, kit.new_key())
    tool, snapshot = kit.tool("probe_change"), begun.last.request_approval.snapshot
    members = snapshot_fields_from_proto(snapshot)
    empty = [name for name in SNAPSHOT_FIELDS if name not in _OF_ARTIFACTS and not members[name]]
    expect(not empty, f"the snapshot lacks {', '.join(empty)}")
    wanted = {
        "digest_scheme": DIGEST_SCHEME,
        "tool": tool.name,
        "tool_version": tool.version,
        "policy_version": kit.described.policy_version,
        "required_role": tool.approval.required_role,
    }
    for name, value in wanted.items():
        expect(members[name] == value, f"{name} is {members[name]!r}, not {value!r}")
    expect(_HASH.fullmatch(snapshot.input_sha256), f"input_sha256 is {snapshot.input_sha256!r}")
    expect(len(begun.digest()) == 64, "the snapshot has no digest")
    request = begun.last.request_approval
    shown = request.title and request.input_preview and request.change_ref
    expect(shown, "title, input_preview or change_ref is empty")


@rule(
    wants="The snapshot of a change to an artifact names its id, version and hash, and the hash of its validation.",
    source="docs/protocol.md#snapshot",
    why="Otherwise another content than the one shown can be published.",
    needs=("probe_draft", "probe_publish"),
)
async def snapshot_names_the_artifact(kit: Kit) -> None:
    snapshot = (await publish(kit, kit.new_key())).last.request_approval.snapshot
    expect(snapshot.artifact_id and snapshot.artifact_version > 0, "the artifact or its version is missing")
    for name in ("artifact_sha256", "validation_sha256"):
        expect(_HASH.fullmatch(getattr(snapshot, name)), f"{name} is {getattr(snapshot, name)!r}")


@rule(
    wants="Equal inputs have equal hashes; another target or another base gives another input_sha256.",
    source="docs/protocol.md#snapshot",
    why="An approval for one state of a target must not fit another state or another target.",
    needs=("probe_change",),
)
async def input_hash_covers_target_and_base(kit: Kit) -> None:
    key = kit.new_key()
    first, same, other = await change(kit, key), await change(kit, key), await change(kit, kit.new_key())

    def input_hash(begun: Interaction) -> str:
        return begun.last.request_approval.snapshot.input_sha256

    expect(input_hash(first) == input_hash(same), "the same input has two hashes")
    expect(input_hash(first) != input_hash(other), "another target has the same input hash")
    await first.execute(await first.approve())
    later = await change(kit, key)
    expect(input_hash(later) != input_hash(first), "another base has the same input hash")


@rule(
    wants="After the approval exactly the approved call follows: its approval_id, key, input hash, tool and version.",
    source="docs/protocol.md#approvals",
    why="What was approved is what runs; a call prepared anew may be another one.",
    needs=("probe_change",),
)
async def call_is_what_was_approved(kit: Kit) -> None:
    begun = await change(kit, kit.new_key())
    snapshot = begun.last.request_approval.snapshot
    call = await begun.approve()
    expect(call.approval_id == "apr_1", f"approval_id is {call.approval_id!r}")
    for name in ("idempotency_key", "input_sha256", "tool", "tool_version"):
        expect(getattr(call, name) == getattr(snapshot, name), f"{name} differs from the approved one")


@rule(
    wants="A digest that is not the open approval's leads to no call: another approval's, or one never issued.",
    source="docs/protocol.md#approvals",
    why="A person approves what was shown; a digest of something else is no approval of this.",
    needs=("probe_change",),
)
async def foreign_digest_refused(kit: Kit) -> None:
    key = kit.new_key()
    begun, other = await change(kit, key), await change(kit, kit.new_key())
    for digest in (other.digest(), "0" * 64):
        await not_called(kit, begun, begun.resolution(approval_pb2.VERDICT_APPROVE, digest=digest))
    await kit.expect_count(key, 0)


@rule(
    wants="The digest of a snapshot that differs in any one member, whichever it is, leads to no call.",
    source="docs/protocol.md#snapshot",
    why="A member that is left out of the comparison can be changed under the approval.",
    needs=("probe_change",),
)
async def altered_snapshot_refused(kit: Kit) -> None:
    key = kit.new_key()
    for name in SNAPSHOT_FIELDS:
        begun = await change(kit, key)
        begun.digest()  # says what is wrong with the snapshot where it has none
        members = snapshot_fields_from_proto(begun.last.request_approval.snapshot)
        altered = snapshot_digest({**members, name: members[name] + "0"})
        await not_called(kit, begun, begun.resolution(approval_pb2.VERDICT_APPROVE, digest=altered))
    await kit.expect_count(key, 0)


@rule(
    wants="An unset verdict is INVALID_ARGUMENT or leads to no call: it is never a yes.",
    source="docs/protocol.md#approvals",
    why="A field that a client forgot must not execute anything.",
    needs=("probe_change",),
)
async def unset_verdict_is_no_yes(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key)
    await not_called(kit, begun, begun.resolution(approval_pb2.VERDICT_UNSPECIFIED))
    await kit.expect_count(key, 0)


@rule(
    wants="A free text while an approval is open never approves.",
    source="docs/protocol.md#replies",
    why="A yes that was typed for something else must not execute anything.",
    needs=("probe_change",),
)
async def text_never_approves(kit: Kit) -> None:
    key = kit.new_key()
    for text in ("yes", "approve", "да"):
        begun = await change(kit, key)
        await not_called(kit, begun, begun.message(text, approval_id="apr_1"))
    await kit.expect_count(key, 0)


@rule(
    wants="A rejection leads to a blocked decision with the code approval_rejected, and to no call.",
    source="docs/protocol.md#approvals",
    why="A no ends the action; asking again at once would wear people down.",
    needs=("probe_change",),
)
async def rejection_ends(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key)
    decided = await begun.decide(begun.resolution(approval_pb2.VERDICT_REJECT))
    expect(decided.WhichOneof("outcome") == "blocked", f"came {kind_of(decided)}")
    expect(decided.blocked.block.code == "approval_rejected", f"the code is {decided.blocked.block.code!r}")
    await kit.expect_count(key, 0)


@rule(
    wants="Where the requester may not approve, the approval says so, and one by the requester leads to no call.",
    source="docs/protocol.md#approvals",
    why="Four eyes are two people.",
    needs=("probe_change_by_others",),
)
async def requester_may_not_approve(kit: Kit) -> None:
    key = kit.new_key()
    begun = await change(kit, key, "probe_change_by_others")
    expect(not begun.last.request_approval.requester_may_approve, "requester_may_approve is true")
    await not_called(kit, begun, begun.resolution(approval_pb2.VERDICT_APPROVE, resolved_by=REQUESTER))
    await kit.expect_count(key, 0)
    other = await change(kit, key, "probe_change_by_others")
    await other.execute(await other.approve())
    await kit.expect_count(key, 1)


@rule(
    wants="A request for changes is no approval: the comment is taken up or asked about, and the old digest is void.",
    source="docs/protocol.md#approvals",
    why="What a person wanted changed would be executed as it was.",
    needs=("probe_change",),
)
async def requested_changes_are_no_approval(kit: Kit) -> None:
    old, new = kit.new_key(), kit.new_key()
    begun = await change(kit, old)
    before = begun.digest()
    decided = await begun.decide(begun.resolution(approval_pb2.VERDICT_REQUEST_CHANGES, comment=f"key={new}"))
    kind = decided.WhichOneof("outcome")
    expect(kind in ("request_approval", "ask", "choose"), f"came {kind_of(decided)}")
    if kind == "request_approval":
        expect(begun.digest() != before, "the approval is the old one")
    await not_called(kit, begun, begun.resolution(approval_pb2.VERDICT_APPROVE, digest=before))
    await kit.expect_count(old, 0)


@rule(
    wants="A correction while an approval is open leads to a fresh approval; the old digest leads to no call.",
    source="docs/protocol.md#approvals",
    why="The person would approve what was shown before the change.",
    needs=("probe_change",),
)
async def corrected_input_needs_a_new_approval(kit: Kit) -> None:
    old, new = kit.new_key(), kit.new_key()
    begun = await change(kit, old)
    before, key = begun.digest(), begun.last.request_approval.snapshot.idempotency_key
    decided = await begun.decide(begun.message(f"key={new}", approval_id="apr_1"))
    if decided.reply_verdict != decision_pb2.REPLY_VERDICT_CORRECTION:
        raise NotApplicable("the adapter takes no name=value for a correction")
    expect(decided.WhichOneof("outcome") == "request_approval", f"came {kind_of(decided)}")
    snapshot = decided.request_approval.snapshot
    expect(begun.digest() != before and snapshot.idempotency_key != key, "the approval is the old one")
    await not_called(kit, begun, begun.resolution(approval_pb2.VERDICT_APPROVE, digest=before))
    await begun.execute(await begun.approve())
    await kit.expect_count(new, 1)
    await kit.expect_count(old, 0)


@rule(
    wants="A tool that the caller's roles do not permit is not called: blocked with tool_not_permitted.",
    source="docs/protocol.md#approvals",
    why="Otherwise everybody may use everything through a conversation.",
    needs=("probe_guarded",),
)
async def role_is_required(kit: Kit) -> None:
    begun = await kit.say("probe_guarded", roles=("somebody",))
    kind = begun.last.WhichOneof("outcome")
    expect(kind == "blocked", f"without the role came {kind}")
    expect(begun.last.blocked.block.code == "tool_not_permitted", f"the code is {begun.last.blocked.block.code!r}")
    permitted = await kit.say("probe_guarded", roles=(kit.tool("probe_guarded").roles[0],))
    expect("key=guarded" in (await permitted.run()).complete.answer.text, "with the role it was not executed")
