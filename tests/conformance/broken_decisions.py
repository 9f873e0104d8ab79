"""Adapters that break a rule about description, decisions, questions or the form of refusals; one class each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc

from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import answer_pb2, decision_pb2, tool_pb2
from handrail_rpc.errors import Aborted, HandrailError, InvalidArgument, NotFound
from tests.conformance.relay import Context, Relay, breaking


@breaking("health_serving")
class SaysThatItDoesNotServe(Relay):
    ready = False


@breaking("domain_described")
class CallsAChangeARead(Relay):
    async def DescribeDomain(self, request: pb2.DescribeDomainRequest, context: Context) -> pb2.DescribeDomainResponse:
        found = await super().DescribeDomain(request, context)
        next(tool for tool in found.tools if tool.name == "probe_publish").effect = tool_pb2.EFFECT_READ
        return found


@breaking("unknown_domain")
class ServesEveryDomain(Relay):
    async def DescribeDomain(self, request: pb2.DescribeDomainRequest, context: Context) -> pb2.DescribeDomainResponse:
        return await super().DescribeDomain(pb2.DescribeDomainRequest(domain="conformance", locale="en"), context)


@breaking("session_by_conversation", "session_revision_rises", "versions_are_immutable")
class OpensANewSessionEachTime(Relay):
    async def OpenSession(self, request: pb2.OpenSessionRequest, context: Context) -> pb2.OpenSessionResponse:
        if request.conversation_id:
            self.keys[request.conversation_id] = again = self.keys.get(request.conversation_id, "") + "x"
            request.conversation_id += again[1:]
        return await super().OpenSession(request, context)


@breaking("session_revision_rises")
class NeverRaisesTheRevision(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        found = await super().decided(request)
        found.session_revision = 1
        return found


@breaking("known_revision_compared")
class IgnoresTheKnownRevision(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        if request.known_session_revision > 900:
            request.known_session_revision = 0
        return await super().decided(request)


@breaking("history_compared")
class IgnoresTheHistory(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        if request.history_id.startswith("his_o"):
            described = await self.adapter.DescribeDomain(pb2.DescribeDomainRequest(domain="conformance"))
            request.history_id = described.history_id
        return await super().decided(request)


@breaking("unknown_session")
class OpensAnUnknownSession(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        if request.domain_session_id == "ses_never_opened":
            opened = pb2.OpenSessionRequest(request_id="req", domain="conformance", conversation_id="conv_new")
            session = await self.adapter.OpenSession(opened)
            request.domain_session_id, request.known_session_revision = session.domain_session_id, 0
        return await super().decided(request)


@breaking("session_explained")
class ExplainsAnotherPlan(Relay):
    async def GetSession(self, request: pb2.GetSessionRequest, context: Context) -> pb2.GetSessionResponse:
        found = await super().GetSession(request, context)
        found.session.plan.plan_version += 1
        return found


@breaking("session_erased")
class KeepsWhatIsErased(Relay):
    async def DeleteSession(self, request: pb2.DeleteSessionRequest, context: Context) -> pb2.DeleteSessionResponse:
        return pb2.DeleteSessionResponse(erased=True)


@breaking("first_decision")
class SendsNoInputHash(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        found = await super().decided(request)
        for call in found.decision.call_tool.calls:
            if call.effect == tool_pb2.EFFECT_READ:
                call.input_sha256 = ""
        return found


@breaking("next_decision")
class RenumbersAnswers(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        found = await super().decided(request)
        if found.decision.HasField("complete"):
            found.decision.decision_number = 1
        return found


@breaking("decision_gap")
class FillsGaps(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        try:
            return await super().decided(request)
        except Aborted as refused:
            if refused.reason != "DECISION_GAP":
                raise
            request.decision_number = int(refused.metadata["stored_decisions"]) + 1
            return await super().decided(request)


@breaking("decision_replayed")
class RenumbersReplaysOfOtherRuns(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        found = await super().decided(request)
        if request.run_id == "run_other":
            found.decision.decision_id += "_again"
        return found


@breaking("older_decision_replayed")
class ForgetsOlderDecisions(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        newest = self.decisions.get(request.interaction_id)
        found = await super().decided(request)
        if newest is not None and newest.decision_number > request.decision_number:
            found.decision.CopyFrom(newest)
        return found


@breaking("decision_contradicted")
class ForgetsContradictions(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        known = self.decisions.get(request.interaction_id)
        try:
            return await super().decided(request)
        except Aborted:
            if known is None or known.decision_number != request.decision_number:
                raise
            return pb2.DecideResponse(decision=known)


@breaking("one_observation_a_number")
class DecidesBothOfTwo(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        begins = request.interaction_id not in self.decisions
        try:
            return await super().decided(request)
        except Aborted as refused:
            if not begins or refused.reason != "DECISION_CONTRADICTION":
                raise
            return pb2.DecideResponse(decision=decision_pb2.Decision(decision_number=1))


@breaking("stale_plan_version")
class IgnoresTheBasePlanVersion(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        try:
            return await super().decided(request)
        except Aborted as refused:
            if refused.reason != "STALE_PLAN_VERSION":
                raise
            request.base_plan_version = int(refused.metadata["current_plan_version"])
            return await super().decided(request)


@breaking("first_writer_wins")
class AnswersTheLoserWithItsOwn(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        same = f"{request.interaction_id} {request.observation.SerializeToString(deterministic=True)!r}"
        loses = same in self.running
        self.running.add(same)
        found = await super().decided(request)
        self.running.discard(same)
        if loses:
            found.decision.decision_id += "_own"
        return found


@breaking("lease_fenced")
class IgnoresTheLease(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        if request.lease_epoch == 4:
            request.lease_epoch = 5
        return await super().decided(request)


@breaking("decide_ends_once")
class DecidesTwice(Relay):
    async def Decide(self, request: pb2.DecideRequest, context: Context) -> AsyncIterator[pb2.DecideResponse]:
        found = await self.decided(request)
        yield found
        yield found


@breaking("decide_ends_once")
class GoesOnAfterTheDecision(Relay):
    async def Decide(self, request: pb2.DecideRequest, context: Context) -> AsyncIterator[pb2.DecideResponse]:
        yield await self.decided(request)
        yield pb2.DecideResponse(progress=pb2.WorkProgress(percent=100))


@breaking("calls_before_anything_else")
class DecidesOverRunningCalls(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        known = self.decisions.get(request.interaction_id)
        over = known is not None and known.HasField("call_tool") and request.observation.HasField("user_message")
        try:
            return await super().decided(request)
        except Aborted as refused:
            if not over or request.observation.user_message.begins_interaction or "calls" not in refused.message:
                raise
            return pb2.DecideResponse(decision=decision_pb2.Decision(complete=decision_pb2.Complete()))


@breaking("ledger_contradicted")
class BelievesTheLoop(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        try:
            return await super().decided(request)
        except HandrailError:
            if not request.observation.HasField("tool_finished") or request.decision_number != 2:
                raise
            return pb2.DecideResponse(decision=decision_pb2.Decision(complete=decision_pb2.Complete()))


@breaking("wait_ends")
class WaitsForEver(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        found = await super().decided(request)
        if found.decision.HasField("wait"):
            found.decision.wait.ClearField("limit")
        return found


@breaking("missing_is_asked")
class AsksOptionally(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        found = await super().decided(request)
        if found.decision.ask.prompt.task.slot == "subject":
            found.decision.ask.prompt.required = False
        return found


@breaking("answer_is_taken", "required_is_not_skipped")
class AsksForEver(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        asked = self.decisions.get(request.interaction_id, decision_pb2.Decision())
        found = await super().decided(request)
        if request.observation.clarification_reply.text == "wind" and request.decision_number == 2:
            found.decision.ask.CopyFrom(asked.ask)
        return found


@breaking("required_is_not_skipped")
class SkipsTheRequired(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        asked = self.decisions.get(request.interaction_id)
        reply = request.observation.clarification_reply
        if asked is not None and asked.ask.prompt.required and reply.skip:
            reply.text = "nothing"
            reply.ClearField("skip")
        return await super().decided(request)


@breaking("candidate_is_taken")
class TakesTheOtherCandidate(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        options = self.decisions.get(request.interaction_id, decision_pb2.Decision()).ask.prompt.options
        reply = request.observation.clarification_reply
        other = [o.candidate_id for o in options if o.candidate_id != reply.selected_candidate_id]
        if len(other) == 1 and reply.selected_candidate_id:
            reply.selected_candidate_id = other[0]
        return await super().decided(request)


@breaking("candidate_outside_refused")
class TakesAnyCandidate(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        options = self.decisions.get(request.interaction_id, decision_pb2.Decision()).ask.prompt.options
        reply = request.observation.clarification_reply
        if reply.selected_candidate_id and reply.selected_candidate_id not in [o.candidate_id for o in options]:
            reply.selected_candidate_id = options[0].candidate_id
        return await super().decided(request)


@breaking("optional_is_skipped")
class SkipsNothing(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        if request.observation.clarification_reply.skip:
            raise InvalidArgument.field("observation.clarification_reply.skip", "nothing can be skipped")
        return await super().decided(request)


@breaking("new_request_changes_nothing")
class ActsOnNewRequests(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        found = await super().decided(request)
        if found.decision.reply_verdict == decision_pb2.REPLY_VERDICT_NEW_REQUEST:
            found.decision.complete.answer.CopyFrom(answer_pb2.Answer(text="done"))
        return found


@breaking("refusals_have_a_reason")
class RefusesWithoutAReason(Relay):
    async def Decide(self, request: pb2.DecideRequest, context: Context) -> AsyncIterator[pb2.DecideResponse]:
        try:
            found = await self.decided(request)
        except NotFound:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such session")
        yield found


@breaking("refusals_have_a_reason")
class ShowsItsInside(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        try:
            return await super().decided(request)
        except NotFound as refused:
            raise NotFound(f'File "store.py", line 7: KeyError {refused.message}', reason=refused.reason) from None


@breaking("bad_decide_refused")
class TakesAnyLocale(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        if request.locale not in ("en", "ru"):
            request.locale = "en"
        return await super().decided(request)


@breaking("bad_unary_refused")
class NamesNoField(Relay):
    async def CancelInteraction(self, request: pb2.CancelInteractionRequest, context: Context) -> Any:
        try:
            return await super().CancelInteraction(request, context)
        except InvalidArgument:
            raise InvalidArgument("something is wrong") from None
