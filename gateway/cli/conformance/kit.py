"""What a check works with: fresh conversations, sessions and keys of its own, and the calls of the service.

One `Kit` a rule, so that no rule disturbs another. Made by `run`.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import Message

from gateway.cli.conformance.interaction import Interaction, Session
from gateway.cli.conformance.rule import Breach, NotApplicable, expect
from gateway.cli.conformance.wire import Refused, Trace, parts_of, unary
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1.artifact_service_pb2_grpc import ArtifactServiceStub
from handrail.adapter.v1.domain_adapter_service_pb2_grpc import DomainAdapterServiceStub
from handrail_rpc.channel import open_channel


class Kit:
    """See the module's text. `described` is the domain as DescribeDomain gave it."""

    def __init__(
        self, target: str, domain: str, channel: grpc.aio.Channel, described: pb2.DescribeDomainResponse
    ) -> None:
        self.target = target
        self.domain = domain
        self.channel = channel
        self.described = described
        self.trace = Trace()
        self.stub = DomainAdapterServiceStub(channel)
        self.artifacts = ArtifactServiceStub(channel)
        self._run = secrets.token_hex(6)
        self._made = 0

    def new_id(self, prefix: str) -> str:
        """An id that no other rule and no other run uses."""
        self._made += 1
        return f"{prefix}_{self._run}_{self._made}"

    def new_key(self) -> str:
        """A key that was never executed."""
        return self.new_id("key").replace("_", "")

    def tool(self, name: str) -> pb2.Tool:
        """A tool as the adapter describes it. Raises NotApplicable where it has none of that name."""
        for tool in self.described.tools:
            if tool.name == name:
                return tool
        raise NotApplicable(f"the adapter has no tool {name}")

    async def send(self, method: str, request: Message) -> Any:
        """A unary call of the service. Raises Refused."""
        return await unary(self.trace, method, getattr(self.stub, method), request)

    async def parts(self, method: str, request: Message) -> list[Any]:
        """All parts of a server stream. Raises Refused."""
        return [part async for part in parts_of(self.trace, method, getattr(self.stub, method), request)]

    async def open_session(self, conversation_id: str = "") -> Session:
        """The session of a new conversation, or of the named one."""
        request = pb2.OpenSessionRequest(
            request_id=self.new_id("req"),
            domain=self.domain,
            conversation_id=conversation_id or self.new_id("conv"),
        )
        opened = await self.send("OpenSession", request)
        return Session(
            opened.domain_session_id, opened.history_id, request.conversation_id, opened.session_revision, self.domain
        )

    async def begin(self, session: Session | None = None, **more: Any) -> Interaction:
        """A new interaction, in a session of its own unless one is given."""
        return Interaction(self, session or await self.open_session(), self.new_id("int"), **more)

    async def say(self, text: str, session: Session | None = None, **more: Any) -> Interaction:
        """A new interaction that a message has begun; `last` is its first decision."""
        begun = await self.begin(session, **more)
        await begun.say(text)
        return begun

    async def answer(self, text: str, session: Session | None = None, **more: Any) -> str:
        """The text of the answer to a message that needs no approval."""
        done = await (await self.say(text, session, **more)).run()
        expect(done.WhichOneof("outcome") == "complete", f"the message {text!r} was not answered: {kind_of(done)}")
        return done.complete.answer.text

    async def count(self, key: str) -> int:
        """How often a key was executed, as probe_count says."""
        text = await self.answer(f"probe_count key={key}")
        for word in text.replace(".", " ").replace(",", " ").split():
            name, _, value = word.partition("=")
            if name == "count" and value.isdigit():
                return int(value)
        raise Breach(f"the answer of probe_count says no count=N: {text!r}")

    async def expect_count(self, key: str, wanted: int) -> None:
        """Raise Breach where the key was executed another number of times."""
        found = await self.count(key)
        expect(found == wanted, f"the key was executed {found} times instead of {wanted}")

    async def refused(self, call: Awaitable[Any], code: str, reason: str = "", *fields: str) -> Refused:
        """The refusal of a call that has to be refused with that code, reason and fields. Raises Breach otherwise."""
        try:
            answer = await call
        except Refused as refused:
            expect(refused.code.name == code, f"it was refused with {refused}; wanted {code} {reason}".strip())
            expect(not reason or refused.reason == reason, f"the reason is {refused.reason!r}, wanted {reason}")
            missing = [field for field in fields if field not in refused.fields]
            expect(not missing, f"no field violation names {', '.join(missing)}: {refused}")
            return refused
        wanted = f"{code} {reason}".strip()
        raise Breach(f"it was accepted and must be refused with {wanted}; came {_brief(answer)}")

    def reconnected(self) -> Kit:
        """The same on a connection of its own; close its channel."""
        other = Kit(self.target, self.domain, open_channel(self.target), self.described)
        other.trace = self.trace
        return other


def kind_of(decision: Any) -> str:
    """The outcome of a decision in words."""
    return str(decision.WhichOneof("outcome") or "a decision without an outcome")


def _brief(answer: Any) -> str:
    if isinstance(answer, Message) and answer.DESCRIPTOR.name == "Decision":
        return f"the decision {kind_of(answer)}"
    return type(answer).__name__
