"""What an operator does about a lost history: list, end, reopen, by RPC and by command (A3)."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from pathlib import Path

import pytest

from gateway.cli.client import connect
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.context import Caller, new_request_id
from handrail_rpc.errors import AlreadyExists, FailedPrecondition, InvalidArgument, NotFound, PermissionDenied
from tests.crash.actor import Actor
from tests.crash.scenarios import expect
from tests.crash.site import Site
from tests.restore.backups import put_back, read_history, read_marker, take_copy
from tests.restore.conftest import start, talking
from tests.restore.test_older_adapter import is_diverged


async def lose_the_adapters_history(site: Site) -> None:
    copy = take_copy(site, "adapter", "before")
    await put_back(site, "adapter", copy)
    # What was lost is nothing, and the file was put back all the same: the operator's command says so.
    await command(site, sys.executable, "-m", "adapter_service", "restored")
    await start(site, "adapter")


async def command(site: Site, *arguments: str, code: int = 0) -> str:
    environment = os.environ | site.environment | {"HANDRAIL_DATA_DIR": str(site.folder)}
    process = await asyncio.create_subprocess_exec(
        *arguments, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=environment
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == code, output.decode()
    return output.decode()


async def handrail(site: Site, actor: Actor, *arguments: str, code: int = 0, roles: str = "operator") -> str:
    return await command(
        site,
        str(Path(sys.executable).parent / "handrail"),
        *arguments,
        "--address",
        site.target,
        "--tenant",
        actor.caller.tenant,
        "--roles",
        roles,
        code=code,
    )


async def test_only_an_operator_of_the_tenant_lists_and_recovers(site: Site) -> None:
    async with talking(site) as (actor, operator):
        expect(await actor.say("look Berlin"), "completed")
        await lose_the_adapters_history(site)
        for client in (actor.requester, actor.approver):
            with pytest.raises(PermissionDenied):
                await client.diverged()
            with pytest.raises(PermissionDenied):
                await client.recover(actor.conversation_id, pb.RECOVERY_END)
        stranger = Caller("operator", "another-tenant", frozenset({"operator"}))
        async with connect(site.target, stranger) as outside:
            assert await outside.diverged() == []
            with pytest.raises(NotFound):
                await outside.recover(actor.conversation_id, pb.RECOVERY_END)
        assert [each.conversation_id for each in await operator.diverged()] == [actor.conversation_id]


async def test_a_recovery_is_idempotent_by_request_id_and_audited(site: Site) -> None:
    async with talking(site) as (actor, operator):
        asked = expect(await actor.say("ring 1"), "approval_required")
        with pytest.raises(FailedPrecondition) as refused:
            await operator.recover(actor.conversation_id, pb.RECOVERY_REOPEN)
        assert refused.value.reason == "NOT_DIVERGED"
        with pytest.raises(InvalidArgument) as unset:
            await operator.recover(actor.conversation_id, pb.RECOVERY_UNSPECIFIED)
        assert [each.field for each in unset.value.field_violations] == ["recovery"]
        await lose_the_adapters_history(site)
        [listed] = await operator.diverged()
        assert listed.open_interaction_id == asked.last.interaction_id

        request_id = new_request_id()
        first = await operator.recover(actor.conversation_id, pb.RECOVERY_REOPEN, request_id)
        assert first.ended_interaction_id == asked.last.interaction_id
        ended = await actor.requester.interaction(asked.last.interaction_id)
        assert ended.failure.code == "session_diverged"
        asked = expect(await actor.say("ring 2"), "approval_required")
        again = await operator.recover(actor.conversation_id, pb.RECOVERY_REOPEN, request_id)
        assert again.ended_interaction_id == first.ended_interaction_id
        with pytest.raises(AlreadyExists):
            await operator.recover(actor.conversation_id, pb.RECOVERY_END, request_id)
        # The repetition ended nothing of what came after.
        expect(await actor.approve(asked.last.approval_required), "completed")
        rows = [
            row
            for row in await actor.requester.audit_events(actor.conversation_id)
            if row.kind == pb.AUDIT_KIND_CONVERSATION_RECOVERED
        ]
        assert [(row.actor, row.code) for row in rows] == [("operator", "reopen")]


async def test_an_ended_conversation_answers_every_further_message_as_diverged(site: Site) -> None:
    async with talking(site) as (actor, operator):
        expect(await actor.say("look Berlin"), "completed")
        await lose_the_adapters_history(site)
        await operator.recover(actor.conversation_id, pb.RECOVERY_END)
        assert await operator.diverged() == []
        for _ in range(2):
            is_diverged(await actor.say("look Paris"))
        assert await operator.diverged() == []
        # Ending is not for ever, if an operator thinks better of it.
        await operator.recover(actor.conversation_id, pb.RECOVERY_REOPEN)
        expect(await actor.say("look Paris"), "completed")


async def test_the_commands_list_end_and_reopen(site: Site) -> None:
    async with talking(site) as (actor, operator):
        asked = expect(await actor.say("ring 1"), "approval_required")
        assert "no conversation has lost its history" in await handrail(site, actor, "diverged", "list")
        await lose_the_adapters_history(site)
        listed = await handrail(site, actor, "diverged", "list")
        assert actor.conversation_id in listed
        assert f"open: {asked.last.interaction_id} (awaiting_approval)" in listed
        assert "ROLE_REQUIRED" in await handrail(site, actor, "diverged", "list", code=2, roles="author")
        await handrail(site, actor, "diverged", "end", code=2)
        told = await handrail(site, actor, "diverged", "reopen", "--all")
        assert f"{actor.conversation_id} reopened" in told
        assert asked.last.interaction_id in told
        expect(await actor.say("look Paris"), "completed")
        await lose_the_adapters_history(site)
        told = await handrail(site, actor, "diverged", "end", actor.conversation_id)
        assert f"{actor.conversation_id} ended" in told
        is_diverged(await actor.say("look Paris"))


@pytest.mark.parametrize("name", ["loop", "adapter"])
async def test_the_restored_command_renews_the_history_of_a_stopped_service(site: Site, name: str) -> None:
    async with talking(site) as (actor, operator):
        expect(await actor.say("look Berlin"), "completed")
        refused = await command(site, sys.executable, "-m", f"{name}_service", "restored", code=2)
        assert "is in use by process" in refused
        site.process(name).terminate()
        before = read_history(site.database(name))
        handrail_command = str(Path(sys.executable).parent / "handrail")
        asked = await command(site, handrail_command, "restored", name, code=1)
        assert "nothing was renewed" in asked
        assert read_history(site.database(name)) == before
        told = await command(site, handrail_command, "restored", name, "--yes")
        after = read_history(site.database(name))
        assert before[0] != after[0]
        assert after[0] in told
        assert read_marker(site.database(name)) == after
        actor.heard.events.clear()
        await start(site, name)
        assert read_history(site.database(name))[0] == after[0], "the start renewed it once more"
        assert [each.conversation_id for each in await operator.diverged()] == [actor.conversation_id]


async def test_the_list_is_paged_and_says_which_adapter_is_away(site: Site) -> None:
    async with talking(site) as (actor, operator):
        made = [actor.conversation_id]
        for _ in range(2):
            conversation = await actor.requester.create_conversation("probe")
            actor.heard.conversation_id = conversation.conversation_id
            actor.heard.events.clear()
            expect(await actor.say("look Berlin"), "completed")
            made.append(conversation.conversation_id)
        await lose_the_adapters_history(site)
        request = pb.ListDivergedConversationsRequest(page_size=1)
        seen: list[str] = []
        while True:
            page = await operator.call(lambda: operator.stub.ListDivergedConversations(request))
            seen += [each.conversation_id for each in page.conversations]
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        # The first one never had a session: nothing of it is lost.
        assert seen == made[1:]
        site.process("adapter").kill()
        with pytest.raises(Exception, match="adapter of the domain"):
            await operator.diverged()
