"""One interaction with the adapter, as the Loop holds it: number, plan version, lease epoch, known session revision.

Made by `Kit`. `…_request` builds a message that a rule may change; `decide` and the rest send the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateway.cli.conformance.rule import Breach, expect
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import approval_pb2, caller_pb2, decision_pb2, tool_pb2
from handrail_rpc.digest import NotCanonical, snapshot_digest, snapshot_fields_from_proto

if TYPE_CHECKING:
    from gateway.cli.conformance.kit import Kit

REQUESTER = "conformance"
_MOST_STEPS = 20


@dataclass
class Session:
    """A session. `revision` is the highest that was seen, which every request carries."""

    session_id: str
    history_id: str
    conversation_id: str
    revision: int
    domain: str

    def saw(self, revision: int) -> None:
        """Remember a revision that came with an answer."""
        self.revision = max(self.revision, revision)


@dataclass
class Interaction:
    """See the module's text. `last` is the decision with number `number`; `last_request` what it answered."""

    kit: Kit
    session: Session
    interaction_id: str
    number: int = 0
    plan_version: int = 0
    epoch: int = 1
    roles: tuple[str, ...] = ("*",)
    last: decision_pb2.Decision = field(default_factory=decision_pb2.Decision)
    last_request: pb2.DecideRequest = field(default_factory=pb2.DecideRequest)

    def _common(self) -> dict[str, Any]:
        return {
            "request_id": self.kit.new_id("req"),
            "domain": self.session.domain,
            "domain_session_id": self.session.session_id,
            "interaction_id": self.interaction_id,
            "lease_epoch": self.epoch,
            "history_id": self.session.history_id,
            "known_session_revision": self.session.revision,
        }

    def _caller(self) -> dict[str, Any]:
        caller = caller_pb2.Principal(principal=REQUESTER, tenant="conformance", roles=self.roles)
        return {"run_id": "run_conformance", "caller": caller, "locale": "en"}

    def decide_request(self, observation: obs.Observation, /, **changes: Any) -> pb2.DecideRequest:
        """The DecideRequest of the next number."""
        fields = {
            **self._common(),
            **self._caller(),
            "decision_number": self.number + 1,
            "base_plan_version": self.plan_version,
            "observation": observation,
        }
        return pb2.DecideRequest(**{**fields, **changes})

    def again(self, request: pb2.DecideRequest, **changes: Any) -> pb2.DecideRequest:
        """A DecideRequest sent before, as a Loop repeats it: with a new request id and what it knows by now."""
        copy = pb2.DecideRequest()
        copy.CopyFrom(request)
        new = pb2.DecideRequest(
            request_id=self.kit.new_id("req"), known_session_revision=self.session.revision, **changes
        )
        copy.MergeFrom(new)
        return copy

    async def send(self, request: pb2.DecideRequest) -> decision_pb2.Decision:
        """The decision that answers any DecideRequest. Raises Refused, Breach where none comes."""
        found: decision_pb2.Decision | None = None
        for part in await self.kit.parts("Decide", request):
            if part.WhichOneof("part") == "decision" and found is None:
                found = part.decision
                self.session.saw(part.session_revision)
        if found is None:
            raise Breach("the stream of Decide ended without a decision")
        return found

    async def decide(self, observation: obs.Observation, /, **changes: Any) -> decision_pb2.Decision:
        """Send the next number and go on from its decision."""
        self.last_request = self.decide_request(observation, **changes)
        self.last = await self.send(self.last_request)
        self.number, self.plan_version = self.last_request.decision_number, self.last.plan_version
        return self.last

    async def say(self, text: str, **changes: Any) -> decision_pb2.Decision:
        """A user message; the first one begins the interaction."""
        return await self.decide(self.message(text), **changes)

    def message(self, text: str, approval_id: str = "") -> obs.Observation:
        """The observation of a user message."""
        message = obs.UserMessage(
            message_id="msg_1", text=text, begins_interaction=self.number == 0, approval_id=approval_id
        )
        return obs.Observation(user_message=message)

    def reply(self, text: str = "", **response: Any) -> obs.Observation:
        """The observation of a reply to the question of the last decision."""
        target = self.last.ask.prompt.task
        reply = obs.ClarificationReply(
            clarification_id="clr_1", message_id="msg_2", text=text, task_id=target.task_id, slot=target.slot
        )
        reply.MergeFrom(obs.ClarificationReply(**response))
        return obs.Observation(clarification_reply=reply)

    def resolution(
        self, verdict: approval_pb2.Verdict.ValueType, *, digest: str = "", resolved_by: str = "somebody", **more: Any
    ) -> obs.Observation:
        """The observation of a person's verdict on the approval of the last decision."""
        resolved = obs.ApprovalResolved(
            approval_id="apr_1",
            snapshot_digest=digest or self.digest(),
            verdict=verdict,
            resolved_by=resolved_by,
            **more,
        )
        return obs.Observation(approval_resolved=resolved)

    def digest(self) -> str:
        """The digest of the last requested approval by the protocol's rule, computed here."""
        try:
            return snapshot_digest(snapshot_fields_from_proto(self.last.request_approval.snapshot))
        except NotCanonical as error:
            raise Breach(f"the snapshot has no digest: {error}") from None

    async def approve(self) -> tool_pb2.ToolCall:
        """Approve what the last decision asks for; the call that follows."""
        kind = self.last.WhichOneof("outcome")
        expect(kind == "request_approval", f"an approval was to be requested; came {kind}")
        decided = await self.decide(self.resolution(approval_pb2.VERDICT_APPROVE))
        return self.only_call(decided)

    def only_call(self, decision: decision_pb2.Decision | None = None) -> tool_pb2.ToolCall:
        """The one call of a decision; Breach where it is another decision."""
        decided = self.last if decision is None else decision
        kind = decided.WhichOneof("outcome")
        expect(kind == "call_tool", f"a tool was to be called; came {kind}")
        expect(len(decided.call_tool.calls) == 1, f"one call was to be made; came {len(decided.call_tool.calls)}")
        return decided.call_tool.calls[0]

    def execute_request(self, call: tool_pb2.ToolCall, **changes: Any) -> pb2.ExecuteToolRequest:
        """The ExecuteToolRequest of a call."""
        fields = {**self._common(), **self._caller(), "tool_call_id": call.tool_call_id, "dispatch_number": 1}
        return pb2.ExecuteToolRequest(**{**fields, **changes})

    async def execute(self, call: tool_pb2.ToolCall, kit: Kit | None = None, **changes: Any) -> tool_pb2.ToolOutcome:
        """The outcome of a call. Raises Refused, Breach where none comes."""
        request = self.execute_request(call, **changes)
        found: tool_pb2.ToolOutcome | None = None
        for part in await (kit or self.kit).parts("ExecuteTool", request):
            if part.WhichOneof("part") == "outcome" and found is None:
                found = part.outcome
                self.session.saw(part.session_revision)
        if found is None:
            raise Breach("the stream of ExecuteTool ended without an outcome")
        return found

    async def finish(self, *outcomes: tool_pb2.ToolOutcome) -> decision_pb2.Decision:
        """Observe that the calls of the last decision ended."""
        calls = [obs.FinishedCall(tool_call_id=each.tool_call_id, outcome=each.outcome) for each in outcomes]
        return await self.decide(obs.Observation(tool_finished=obs.ToolFinished(calls=calls)))

    async def run(self) -> decision_pb2.Decision:
        """Execute what is called, until something else is decided."""
        for _ in range(_MOST_STEPS):
            if self.last.WhichOneof("outcome") != "call_tool":
                return self.last
            await self.finish(*[await self.execute(call) for call in self.last.call_tool.calls])
        raise Breach(f"the adapter calls tools without an end: {_MOST_STEPS} decisions in a row")

    def cancel_request(self, **changes: Any) -> pb2.CancelInteractionRequest:
        """The CancelInteractionRequest of this interaction."""
        return pb2.CancelInteractionRequest(**{**self._common(), **changes})

    async def cancel(self, **changes: Any) -> pb2.CancelInteractionResponse:
        """Fence the interaction. Raises Refused."""
        answer: pb2.CancelInteractionResponse = await self.kit.send("CancelInteraction", self.cancel_request(**changes))
        self.session.saw(answer.session_revision)
        return answer

    def settle_request(
        self, call: tool_pb2.ToolCall, outcome: tool_pb2.Outcome.ValueType, **changes: Any
    ) -> pb2.SettleExecutionRequest:
        """The SettleExecutionRequest of a person's verdict on a call."""
        fields = {
            "request_id": self.kit.new_id("req"),
            "domain": self.session.domain,
            "domain_session_id": self.session.session_id,
            "interaction_id": self.interaction_id,
            "tool_call_id": call.tool_call_id,
            "history_id": self.session.history_id,
            "outcome": outcome,
            "settled_by": "somebody",
            "comment": "looked",
            "locale": "en",
        }
        return pb2.SettleExecutionRequest(**{**fields, **changes})
