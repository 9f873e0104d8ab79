"""Adapters that break a rule about executing, stopping or artifacts; one class each."""

from __future__ import annotations

from collections.abc import AsyncIterator

from handrail.adapter.v1 import artifact_service_pb2 as artifact_pb2
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.common.v1 import tool_pb2
from handrail_rpc.errors import FailedPrecondition, Unavailable
from tests.conformance.relay import Context, Relay, breaking


@breaking("receipt_is_complete")
class ProvesNothing(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            if part.outcome.HasField("receipt"):
                part.outcome.receipt.result_sha256 = ""
            yield part


@breaking("execute_ends_once")
class EndsTwice(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            yield part
        yield part


@breaking("execute_ends_once")
class GoesOnAfterTheOutcome(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            yield part
        yield pb2.ExecuteToolResponse(progress=pb2.WorkProgress(percent=100))


@breaking("execute_ends_once")
class ReportsTooMuch(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            if part.HasField("progress"):
                part.progress.percent = 140
            yield part


@breaking("failure_hides_the_error", "hanging_read_times_out")
class EndsFailuresWithoutAnOutcome(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            if part.outcome.outcome != tool_pb2.OUTCOME_FAILED:
                yield part


@breaking("repeated_call_acts_once")
class ActsOnEachDispatch(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            done = part.outcome.tool == "probe_change" and part.outcome.outcome == tool_pb2.OUTCOME_SUCCEEDED
            if done and request.dispatch_number == 2:
                self.effects.act(self.keys[request.interaction_id])
            yield part


@breaking("repeated_call_acts_once", "unknown_is_settled_once")
class ChangesTheOutcomeOnReplay(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            if request.dispatch_number == 3 and part.outcome.HasField("receipt"):
                part.outcome.receipt.execution_id += "_again"
            yield part


@breaking("concurrent_call_acts_once")
class ActsForEachClient(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        second = request.tool_call_id in self.running
        self.running.add(request.tool_call_id)
        try:
            async for part in super().execution(request):
                if second and part.outcome.tool == "probe_change_slow":
                    self.effects.act(self.keys[request.interaction_id])
                yield part
        finally:
            self.running.discard(request.tool_call_id)


@breaking("reconnected_call_acts_once")
class ActsForEachRun(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            if request.run_id == "run_later":
                self.effects.act(self.keys[request.interaction_id])
            yield part


@breaking("client_may_leave", "running_call_is_attached_to")
class StopsWithItsClient(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        ended = False
        try:
            async for part in super().execution(request):
                if self.keys.get(request.tool_call_id) and part.HasField("outcome"):
                    part.outcome.outcome = tool_pb2.OUTCOME_FAILED
                ended = ended or part.HasField("outcome")
                yield part
        finally:
            if not ended:
                self.keys[request.tool_call_id] = "left"


@breaking("lost_row_is_unknown", "unknown_is_settled_once")
class CallsWhatItMayHaveCalled(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        request.dispatch_number = min(request.dispatch_number, 1)
        async for part in super().execution(request):
            yield part


@breaking("unknown_holds_its_target")
class HoldsNoTarget(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            if part.outcome.block.code == "target_busy":
                part.outcome.ClearField("block")
                part.outcome.outcome = tool_pb2.OUTCOME_SUCCEEDED
            yield part


@breaking("retry_is_a_new_call")
class RepeatsTheCallOnRetry(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        found = await super().decided(request)
        if request.observation.HasField("retry"):
            found.decision.call_tool.calls.add(tool_call_id=request.observation.retry.tool_call_id)
        return found


@breaking("idempotent_tool_is_called_again")
class AsksPeopleAboutIdempotentTools(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            if request.dispatch_number == 2 and part.outcome.tool == "probe_change_once":
                part.outcome.outcome = tool_pb2.OUTCOME_UNKNOWN
            yield part


@breaking("hanging_change_is_unknown")
class CallsATimeoutAFailure(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            if part.outcome.tool == "probe_change_hang":
                part.outcome.outcome = tool_pb2.OUTCOME_FAILED
            yield part


@breaking("unknown_is_settled_once", "known_is_not_settled")
class SettlesAgain(Relay):
    async def SettleExecution(
        self, request: pb2.SettleExecutionRequest, context: Context
    ) -> pb2.SettleExecutionResponse:
        try:
            return await super().SettleExecution(request, context)
        except FailedPrecondition:
            return pb2.SettleExecutionResponse(outcome=tool_pb2.ToolOutcome(outcome=request.outcome))


@breaking("failure_hides_the_error")
class ShowsTheError(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        async for part in super().execution(request):
            if part.outcome.tool == "probe_fail":
                part.outcome.failure.explanation += " the password is probe-secret"
            yield part


@breaking("reads_run_together")
class RunsOneCallAtATime(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        if request.interaction_id in self.running:
            raise Unavailable("another call is running", reason="BUSY")
        self.running.add(request.interaction_id)
        try:
            async for part in super().execution(request):
                yield part
        finally:
            self.running.discard(request.interaction_id)


@breaking("foreign_call_refused")
class ExecutesCallsOfOthers(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        found = await super().decided(request)
        for call in found.decision.call_tool.calls:
            self.keys[call.tool_call_id] = f"{request.domain_session_id} {request.interaction_id}"
        return found

    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        if request.tool_call_id in self.keys and request.domain_session_id and request.interaction_id:
            session_id, interaction_id = self.keys[request.tool_call_id].split()
            if request.interaction_id.startswith("int_") and interaction_id != request.interaction_id:
                request.domain_session_id, request.interaction_id = session_id, interaction_id
                request.known_session_revision = 1
        async for part in super().execution(request):
            yield part


@breaking(
    "canceled_decides_nothing",
    "canceled_begins_nothing",
    "canceled_before_it_began",
    "cancel_names_what_had_begun",
    "running_call_is_attached_to",
    "lease_fenced",
)
class WritesNoTombstone(Relay):
    async def CancelInteraction(
        self, request: pb2.CancelInteractionRequest, context: Context
    ) -> pb2.CancelInteractionResponse:
        request.interaction_id += "_elsewhere" if request.interaction_id else ""
        return await super().CancelInteraction(request, context)


@breaking("canceled_before_it_began")
class ForgetsWhatHasNotBegun(Relay):
    async def CancelInteraction(
        self, request: pb2.CancelInteractionRequest, context: Context
    ) -> pb2.CancelInteractionResponse:
        if request.interaction_id.startswith("int_") and request.interaction_id not in self.decisions:
            return pb2.CancelInteractionResponse(session_revision=1)
        return await super().CancelInteraction(request, context)


@breaking("cancel_names_what_had_begun", "running_call_is_attached_to")
class NamesNoCalls(Relay):
    async def CancelInteraction(
        self, request: pb2.CancelInteractionRequest, context: Context
    ) -> pb2.CancelInteractionResponse:
        found = await super().CancelInteraction(request, context)
        del found.calls[:]
        return found


@breaking("closed_still_replays")
class ForgetsWhatIsClosed(Relay):
    async def CancelInteraction(
        self, request: pb2.CancelInteractionRequest, context: Context
    ) -> pb2.CancelInteractionResponse:
        self.keys[request.interaction_id + "/closed"] = "closed"
        return await super().CancelInteraction(request, context)

    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        if request.interaction_id + "/closed" in self.keys:
            raise FailedPrecondition.state(
                "INTERACTION_STATE", request.interaction_id, "closed", reason="INTERACTION_CLOSED"
            )
        return await super().decided(request)


@breaking("bad_execute_refused")
class TakesAnyDispatch(Relay):
    async def execution(self, request: pb2.ExecuteToolRequest) -> AsyncIterator[pb2.ExecuteToolResponse]:
        request.dispatch_number = max(request.dispatch_number, 1)
        async for part in super().execution(request):
            yield part


@breaking("superseded_begins_nothing")
class SupersedesNothing(Relay):
    async def decided(self, request: pb2.DecideRequest) -> pb2.DecideResponse:
        request.supersedes_interaction_id = ""
        return await super().decided(request)


@breaking("artifact_has_its_hash")
class ReadsOtherBytes(Relay):
    async def read(self, request: artifact_pb2.ReadArtifactRequest) -> AsyncIterator[artifact_pb2.ReadArtifactResponse]:
        async for part in super().read(request):
            part.data = part.data.replace(b'"level":', b'"level": ')
            yield part


@breaking("versions_are_immutable")
class OverwritesVersions(Relay):
    async def read(self, request: artifact_pb2.ReadArtifactRequest) -> AsyncIterator[artifact_pb2.ReadArtifactResponse]:
        request.version = 0
        async for part in super().read(request):
            yield part


@breaking("foreign_artifact_refused")
class ReadsForEverybody(Relay):
    async def read(self, request: artifact_pb2.ReadArtifactRequest) -> AsyncIterator[artifact_pb2.ReadArtifactResponse]:
        known = self.keys.setdefault(request.artifact_id, request.conversation_id)
        request.conversation_id = known
        async for part in super().read(request):
            yield part
