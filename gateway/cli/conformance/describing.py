"""Rules about what an adapter says of itself: description, sessions, health, reflection, diagnosis."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from gateway.cli.conformance.kit import Kit
from gateway.cli.conformance.probes import BY_NAME, PROBES
from gateway.cli.conformance.rule import Breach, expect, rule
from gateway.cli.conformance.wire import unary
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import caller_pb2
from handrail.common.v1.tool_pb2 import Effect

SERVICE = "handrail.adapter.v1.DomainAdapterService"
_REFLECTION_SECONDS = 10.0


@rule(
    wants="DescribeDomain gives name, version, policy version and history id, and every probe tool as declared.",
    source="docs/protocol.md#service",
    why="The Loop and people decide about approvals and repetitions by effect, idempotency, roles and approval rule.",
)
async def domain_described(kit: Kit) -> None:
    described = kit.described
    for name in ("version", "policy_version", "history_id"):
        expect(getattr(described, name), f"{name} is empty")
    tools = {tool.name: tool for tool in described.tools}
    expect(len(tools) == len(described.tools), "two tools have the same name")
    missing = [probe.name for probe in PROBES if probe.core and probe.name not in tools]
    expect(not missing, f"probe tools are missing: {', '.join(missing)}")
    for name, tool in tools.items():
        expect(tool.version and tool.effect, f"{name} lacks a version or an effect")
        probe = BY_NAME.get(name)
        if probe is None:
            continue
        expect(tool.effect == probe.effect, f"{name} is {Effect.Name(tool.effect)}, not {Effect.Name(probe.effect)}")
        expect(tool.idempotent == probe.idempotent, f"{name}: idempotent is {tool.idempotent}")
        expect(
            bool(tool.approval.required_role) == probe.needs_approval,
            f"{name}: its approval rule names the role {tool.approval.required_role!r}",
        )
        expect(list(tool.roles) == ([probe.role] if probe.role else []), f"{name}: its roles are {list(tool.roles)}")


@rule(
    wants="A domain that is not served is NOT_FOUND, in DescribeDomain and in OpenSession.",
    source="docs/protocol.md#visibility",
    why="A Loop that was configured with the wrong address has to say so instead of failing later.",
)
async def unknown_domain(kit: Kit) -> None:
    await kit.refused(kit.send("DescribeDomain", pb2.DescribeDomainRequest(domain="no_such_domain")), "NOT_FOUND")
    opened = pb2.OpenSessionRequest(
        request_id=kit.new_id("req"), domain="no_such_domain", conversation_id=kit.new_id("conv")
    )
    await kit.refused(kit.send("OpenSession", opened), "NOT_FOUND")


@rule(
    wants="gRPC health says SERVING for the service.",
    source="docs/protocol.md#service",
    why="Balancers and the Loop's start-up wait for it.",
)
async def health_serving(kit: Kit) -> None:
    request = health_pb2.HealthCheckRequest(service=SERVICE)
    stub: Any = health_pb2_grpc.HealthStub(kit.channel)
    answer = await unary(kit.trace, "grpc.health.v1.Health/Check", stub.Check, request)
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    expect(status == "SERVING", f"health is {status}")


@rule(
    wants="Reflection lists the service.",
    source="docs/protocol.md#service",
    why="Operators look into a running service with grpcurl, without its protos.",
)
async def reflection_lists_service(kit: Kit) -> None:
    async def ask() -> AsyncIterator[reflection_pb2.ServerReflectionRequest]:
        yield reflection_pb2.ServerReflectionRequest(list_services="*")

    channel: Any = kit.channel
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    try:
        async for answer in stub.ServerReflectionInfo(ask(), timeout=_REFLECTION_SECONDS):
            names = [each.name for each in answer.list_services_response.service]
            expect(SERVICE in names, f"reflection lists {', '.join(names) or 'nothing'}")
            return
    except grpc.aio.AioRpcError as error:
        raise Breach(f"reflection is {error.code().name}") from None
    raise Breach("reflection answered nothing")


@rule(
    wants="OpenSession gives the same session for a conversation, and another one for another conversation.",
    source="docs/protocol.md#sessions",
    why="A Loop that was stopped in the middle opens the session again and must find what it has begun.",
)
async def session_by_conversation(kit: Kit) -> None:
    first = await kit.open_session()
    again = await kit.open_session(first.conversation_id)
    other = await kit.open_session()
    expect(first.session_id, "domain_session_id is empty")
    expect(first.history_id, "history_id is empty")
    expect(again.session_id == first.session_id, f"sessions {first.session_id} and {again.session_id}")
    expect(again.history_id == first.history_id, "the history id changed without a restore")
    expect(other.session_id != first.session_id, "two conversations have the same session")
    expect(first.history_id == kit.described.history_id, "OpenSession and DescribeDomain tell different history ids")


@rule(
    wants="session_revision never goes back and rises with every stored decision.",
    source="docs/protocol.md#restored-databases",
    why="The highest revision that a peer remembers is how a database put back to an older copy is noticed.",
    needs=("probe_read",),
)
async def session_revision_rises(kit: Kit) -> None:
    session = await kit.open_session()
    seen = [session.revision]
    for _ in range(3):
        begun = await kit.begin(session)
        request = begun.decide_request(begun.message("probe_read key=a"))
        parts = await kit.parts("Decide", request)
        revision = parts[-1].session_revision
        session.saw(revision)
        seen.append(revision)
    seen.append((await kit.open_session(session.conversation_id)).revision)
    rising = all(later > earlier for earlier, later in zip(seen[:3], seen[1:4], strict=True))
    expect(rising and seen[4] >= seen[3], f"the revisions were {seen}")


@rule(
    wants="A session revision higher than the adapter's is FAILED_PRECONDITION HISTORY_DIVERGED.",
    source="docs/protocol.md#restored-databases",
    why="An adapter put back to an older copy would execute again what it has forgotten.",
    needs=("probe_read",),
)
async def known_revision_compared(kit: Kit) -> None:
    begun = await kit.begin()
    ahead = begun.session.revision + 1000
    request = begun.decide_request(begun.message("probe_read key=a"), known_session_revision=ahead)
    await kit.refused(begun.send(request), "FAILED_PRECONDITION", "HISTORY_DIVERGED")


@rule(
    wants="Another history id is FAILED_PRECONDITION HISTORY_DIVERGED, in Decide, ExecuteTool and CancelInteraction.",
    source="docs/protocol.md#restored-databases",
    why="After a restore the two services would otherwise mix two pasts.",
    needs=("probe_read",),
)
async def history_compared(kit: Kit) -> None:
    begun = await kit.say("probe_read key=a")
    call, wrong = begun.only_call(), "his_of_another_database"
    request = begun.decide_request(begun.message("x"), history_id=wrong)
    for attempt in (
        lambda: begun.send(request),
        lambda: begun.execute(call, history_id=wrong),
        lambda: begun.cancel(history_id=wrong),
    ):
        await kit.refused(attempt(), "FAILED_PRECONDITION", "HISTORY_DIVERGED")


@rule(
    wants="A session that was never opened is NOT_FOUND.",
    source="docs/protocol.md#visibility",
    why="The Loop tells a lost session from a fault by it.",
)
async def unknown_session(kit: Kit) -> None:
    begun = await kit.begin()
    request = begun.decide_request(begun.message("probe_read key=a"), domain_session_id="ses_never_opened")
    await kit.refused(begun.send(request), "NOT_FOUND")


@rule(
    wants="GetSession shows the newest interaction's plan version and the policy version; an unknown one is NOT_FOUND.",
    source="docs/protocol.md#sessions",
    why="It is how people find out why an interaction stopped.",
    needs=("probe_ask",),
)
async def session_explained(kit: Kit) -> None:
    begun = await kit.say("probe_ask")
    caller = caller_pb2.Principal(principal="conformance", tenant="conformance", roles=["*"])
    request = pb2.GetSessionRequest(domain_session_id=begun.session.session_id, caller=caller, locale="en")
    session = (await kit.send("GetSession", request)).session
    expect(session.plan.interaction_id == begun.interaction_id, f"the plan is of {session.plan.interaction_id!r}")
    expect(session.plan.plan_version == begun.plan_version, f"the plan version is {session.plan.plan_version}")
    expect(session.policy_version == kit.described.policy_version, f"the policy is {session.policy_version!r}")
    lost = pb2.GetSessionRequest(domain_session_id="ses_never_opened", caller=caller, locale="en")
    await kit.refused(kit.send("GetSession", lost), "NOT_FOUND")


@rule(
    wants="DeleteSession erases a conversation's session, for good, and may be repeated.",
    source="docs/protocol.md#sessions",
    why="What a person wants erased must not come back with a repeated request.",
    needs=("probe_read",),
)
async def session_erased(kit: Kit) -> None:
    begun = await kit.say("probe_read key=a")
    await begun.run()
    request = pb2.DeleteSessionRequest(
        request_id=kit.new_id("req"), domain=kit.domain, conversation_id=begun.session.conversation_id
    )
    expect((await kit.send("DeleteSession", request)).erased, "erased is false for a session with content")
    await kit.send("DeleteSession", request)
    later = await kit.begin(begun.session)
    await kit.refused(later.send(later.decide_request(later.message("probe_read key=a"))), "NOT_FOUND")
