"""SignalInteraction: who may signal what, its bounds, its replay, its audit row; each refusal stores nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct

from handrail.adapter.v1 import domain_adapter_service_pb2 as adapter_pb
from handrail.common.v1 import decision_pb2
from handrail.loop.v1 import interaction_state_pb2 as states
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.digest import canonical_json, sha256_hex
from handrail_rpc.errors import InvalidArgument
from loop_service.domain.signal import MOST_KEPT_SIGNALS, MOST_PAYLOAD_BYTES, MOST_SIGNAL_CHARACTERS
from tests.fakes.adapter import ask, complete
from tests.grpc.loop.driver import LoopDriver, last, names, running_loop
from tests.grpc.loop.errors import refused


def waiting_for_go(request: adapter_pb.DecideRequest) -> decision_pb2.Decision:
    if request.observation.WhichOneof("kind") == "wake_up":
        woken = request.observation.wake_up
        return complete(f"{woken.signal}:{dict(woken.payload)}:{woken.limit_passed}")
    decision = decision_pb2.Decision(wait=decision_pb2.Wait(signal="go"))
    decision.wait.limit.seconds = 600
    return decision


def as_caller(principal: str, *, tenant: str = "local", roles: str = "") -> Any:
    return (("x-handrail-principal", principal), ("x-handrail-tenant", tenant), ("x-handrail-roles", roles))


def request_of(interaction_id: str, request_id: str = "signal", signal: str = "go", **payload: Any) -> Any:
    body = Struct()
    body.update(payload)
    return pb.SignalInteractionRequest(
        request_id=request_id, interaction_id=interaction_id, signal=signal, payload=body
    )


async def wait_for_go(driver: LoopDriver) -> tuple[str, str]:
    """Ids of a conversation and of its interaction, which waits."""
    conversation_id = await driver.create()
    events = await driver.send(conversation_id, "go")
    assert names(events)[-1] == "waiting"
    return conversation_id, events[-1].interaction_id


async def test_a_signal_is_audited_by_the_digest_of_its_payload_and_replayed(tmp_path: Path) -> None:
    async with running_loop(tmp_path, waiting_for_go) as driver:
        conversation_id, interaction_id = await wait_for_go(driver)
        request = request_of(interaction_id, cost="Zu\u0308rich")
        first = await driver.stub.SignalInteraction(request)
        assert first.delivered

        async def completed() -> bool:
            return names(await driver.events(conversation_id))[-1] == "completed"

        await driver.until(completed)
        again = await driver.stub.SignalInteraction(request)
        assert (again.delivered, again.interaction.state) == (True, states.INTERACTION_STATE_COMPLETED)
        stored = await driver.events(conversation_id)
        assert names(stored).count("signal_received") == 1
        assert "Z\u00fcrich" in last(stored, "completed").answer.text
        other = request_of(interaction_id, cost="less")
        assert (await refused(driver.stub.SignalInteraction(other), "ALREADY_EXISTS")).reason == "REQUEST_ID_REUSED"
        listed = await driver.stub.ListAuditEvents(pb.ListAuditEventsRequest(conversation_id=conversation_id))
        (row,) = [r for r in listed.audit_events if r.kind == pb.AUDIT_KIND_SIGNAL_RECEIVED]
        assert row.digest == sha256_hex(canonical_json({"cost": "Z\u00fcrich"}))
        assert (row.actor, row.code, dict(row.details)) == ("local", "delivered", {"signal_sha256": sha256_hex(b"go")})
        assert "rich" not in str(row)


async def test_no_word_of_a_kept_signal_outlives_the_deletion(tmp_path: Path) -> None:
    """The name of a signal is whatever another system sent; the audit trail stays and holds no content."""
    words = (b"name-of-a-person", b"words-in-a-payload")
    async with running_loop(tmp_path, waiting_for_go) as driver:
        conversation_id, interaction_id = await wait_for_go(driver)
        request = request_of(interaction_id, cost=words[1].decode())
        request.signal = words[0].decode()
        assert not (await driver.stub.SignalInteraction(request)).delivered
        files = [tmp_path / "loop.db", tmp_path / "loop.db-wal"]
        assert all(any(word in file.read_bytes() for file in files) for word in words)
        deletion = pb.DeleteConversationRequest(request_id=driver.next_id(), conversation_id=conversation_id)
        await driver.stub.DeleteConversation(deletion)
        assert (await driver.stub.VerifyAudit(pb.VerifyAuditRequest(conversation_id=conversation_id))).valid
        assert not any(word in file.read_bytes() for file in files for word in words)


async def test_who_may_signal_the_principal_or_another_system_of_the_tenant_with_the_role(tmp_path: Path) -> None:
    async with running_loop(tmp_path, waiting_for_go) as driver:
        for role in ("signaler", "operator"):
            _, interaction_id = await wait_for_go(driver)
            for who in (
                as_caller("ann"),
                as_caller("ann", roles="dispatcher"),
                as_caller("ann", roles=role, tenant="other"),
                as_caller("local", tenant="other", roles=role),
            ):
                call = driver.stub.SignalInteraction(request_of(interaction_id), metadata=who)
                assert (await refused(call, "NOT_FOUND")).reason == "INTERACTION_NOT_FOUND"
            system = as_caller("tracker", roles=role)
            came = await driver.stub.SignalInteraction(request_of(interaction_id, role), metadata=system)
            assert came.delivered
            # Another system learns the state, not what the interaction is about.
            assert came.interaction.ListFields()[0][1] == interaction_id
            assert {field.name for field, _ in came.interaction.ListFields()} == {"interaction_id", "state"}
        _, interaction_id = await wait_for_go(driver)
        mine = await driver.stub.SignalInteraction(request_of(interaction_id, "mine"), metadata=as_caller("local"))
        assert mine.interaction.conversation_id


async def test_an_ended_interaction_takes_no_signal_and_its_state_is_named(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: complete()) as driver:
        events = await driver.send(await driver.create(), "x")
        refusal = await refused(
            driver.stub.SignalInteraction(request_of(events[0].interaction_id)), "FAILED_PRECONDITION"
        )
        assert refusal.metadata["state"] == "completed"
        assert "completed" in refusal.message


@pytest.mark.parametrize(
    ("fields", "field", "limit"),
    [
        ({"signal": ""}, "signal", str(MOST_SIGNAL_CHARACTERS)),
        ({"signal": "s" * (MOST_SIGNAL_CHARACTERS + 1)}, "signal", str(MOST_SIGNAL_CHARACTERS)),
        ({"text": "x" * MOST_PAYLOAD_BYTES}, "payload", str(MOST_PAYLOAD_BYTES)),
        ({"number": 2.0**60}, "payload", "2^53"),
        ({"number": float("nan")}, "payload", "NaN"),
        ({"\u00e9": 1, "e\u0301": 2}, "payload", "NFC"),
        ({"request_id": ""}, "request_id", "must not be empty"),
        ({"interaction_id": ""}, "interaction_id", "must not be empty"),
    ],
)
async def test_a_signal_beyond_its_bounds_names_the_field(
    tmp_path: Path, fields: dict[str, Any], field: str, limit: str
) -> None:
    async with running_loop(tmp_path, waiting_for_go) as driver:
        conversation_id, interaction_id = await wait_for_go(driver)
        head = len(await driver.events(conversation_id))
        request = request_of(**{"interaction_id": interaction_id, **fields})
        refusal = await refused(driver.stub.SignalInteraction(request), "INVALID_ARGUMENT")
        assert isinstance(refusal, InvalidArgument)
        (violation,) = refusal.field_violations
        assert violation.field == field
        assert limit in violation.description
        assert len(await driver.events(conversation_id)) == head


async def test_kept_signals_are_bounded_and_the_limit_is_named(tmp_path: Path) -> None:
    async with running_loop(tmp_path, lambda request: ask()) as driver:
        conversation_id = await driver.create()
        interaction_id = (await driver.send(conversation_id, "x"))[-1].interaction_id
        for number in range(MOST_KEPT_SIGNALS):
            kept = await driver.stub.SignalInteraction(request_of(interaction_id, f"s{number}"))
            assert not kept.delivered
            assert kept.interaction.clarification.clarification_id
        refusal = await refused(driver.stub.SignalInteraction(request_of(interaction_id)), "RESOURCE_EXHAUSTED")
        assert (refusal.reason, refusal.metadata["limit"]) == ("SIGNALS_FULL", str(MOST_KEPT_SIGNALS))
        assert str(MOST_KEPT_SIGNALS) in refusal.message
        stored = await driver.events(conversation_id)
        assert names(stored).count("signal_received") == MOST_KEPT_SIGNALS
        # What was accepted is still answered as before.
        assert not (await driver.stub.SignalInteraction(request_of(interaction_id, "s0"))).delivered
