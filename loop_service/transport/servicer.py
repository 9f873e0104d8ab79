"""WorkflowLoopService: convert, execute, convert. Registered by bootstrap; errors are mapped by handrail_rpc."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import grpc.aio

from handrail.loop.v1 import event_pb2, workflow_loop_service_pb2_grpc
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from handrail_rpc.context import current_caller
from handrail_rpc.errors import InvalidArgument
from handrail_rpc.logging import bind_log_ids
from loop_service.convert import audit, diverged, paging, pending, requests, settlements, signals, views
from loop_service.convert.events import encode_live, set_time
from loop_service.domain.times import from_micros, to_micros
from loop_service.transport.calls import call_info, wrapped
from loop_service.transport.use_cases import UseCases

Context = grpc.aio.ServicerContext[Any, Any]


class WorkflowLoopServicer(workflow_loop_service_pb2_grpc.WorkflowLoopServiceServicer):
    """`use_cases` raises Unavailable until the process is ready."""

    def __init__(self, use_cases: UseCases) -> None:
        self._use = use_cases

    async def ListDomains(self, request: pb.ListDomainsRequest, context: Context) -> pb.ListDomainsResponse:
        size = paging.page_size(request.page_size)
        position = paging.decode_token("ListDomains", request.page_token, (str,))
        found = await self._use.list_domains.execute(current_caller().locale)
        left = [d for d in found if position is None or d.domain > str(position[0])]
        response = pb.ListDomainsResponse(domains=[views.domain(d, self._use.env.budget) for d in left[:size]])
        if len(left) > size:
            response.next_page_token = paging.encode_token("ListDomains", [left[size - 1].domain])
        return response

    async def CreateConversation(
        self, request: pb.CreateConversationRequest, context: Context
    ) -> pb.CreateConversationResponse:
        asked = requests.new_conversation(request)
        created = await self._use.create_conversation.execute(asked, call_info())
        bind_log_ids(conversation_id=created.conversation_id)
        return pb.CreateConversationResponse(conversation=views.conversation(created, self._use.env.history_id))

    async def GetConversation(self, request: pb.GetConversationRequest, context: Context) -> pb.GetConversationResponse:
        conversation_id = requests.check_identifier("conversation_id", request.conversation_id)
        found = await self._use.queries.conversation(conversation_id, current_caller())
        return pb.GetConversationResponse(conversation=views.conversation(found, self._use.env.history_id))

    async def ListConversations(
        self, request: pb.ListConversationsRequest, context: Context
    ) -> pb.ListConversationsResponse:
        size = paging.page_size(request.page_size)
        position = paging.decode_token("ListConversations", request.page_token, (int, str))
        before = None if position is None else (from_micros(int(position[0])), str(position[1]))
        found = await self._use.queries.conversations(current_caller(), before, size + 1)
        history_id = self._use.env.history_id
        response = pb.ListConversationsResponse(conversations=[views.conversation(c, history_id) for c in found[:size]])
        if len(found) > size:
            last = found[size - 1]
            response.next_page_token = paging.encode_token(
                "ListConversations", [to_micros(last.create_time), last.conversation_id]
            )
        return response

    async def ListMessages(self, request: pb.ListMessagesRequest, context: Context) -> pb.ListMessagesResponse:
        conversation_id = requests.check_identifier("conversation_id", request.conversation_id)
        size = paging.page_size(request.page_size)
        scope = f"ListMessages/{conversation_id}"
        position = paging.decode_token(scope, request.page_token, (int,))
        after = 0 if position is None else int(position[0])
        found = await self._use.queries.messages(conversation_id, current_caller(), after, size + 1)
        response = pb.ListMessagesResponse(messages=[views.message(m) for m in found[:size]])
        if len(found) > size:
            response.next_page_token = paging.encode_token(scope, [found[size - 1].position])
        return response

    async def SendMessage(
        self, request: pb.SendMessageRequest, context: Context
    ) -> AsyncGenerator[pb.SendMessageResponse, None]:
        asked = requests.new_message(request)
        bind_log_ids(conversation_id=asked.conversation_id)
        stream = self._use.stream_events
        subscription = stream.subscribe(asked.conversation_id)
        try:
            accepted = await self._use.send_message.execute(asked, call_info())
        except BaseException:
            subscription.close()
            raise
        subscription.start_live()
        events = stream.of_request(accepted, subscription)
        async with aclosing(wrapped(pb.SendMessageResponse, events, subscription)) as responses:
            async for response in responses:
                yield response

    async def ResolveApproval(
        self, request: pb.ResolveApprovalRequest, context: Context
    ) -> AsyncGenerator[pb.ResolveApprovalResponse, None]:
        asked = requests.approval_verdict(request)
        accepted = await self._use.resolve_approval.execute(asked, call_info())
        bind_log_ids(conversation_id=accepted.conversation_id)
        stream = self._use.stream_events
        subscription = stream.subscribe(accepted.conversation_id)
        subscription.start_live()
        events = stream.of_request(accepted, subscription)
        async with aclosing(wrapped(pb.ResolveApprovalResponse, events, subscription)) as responses:
            async for response in responses:
                yield response

    async def WatchConversation(
        self, request: pb.WatchConversationRequest, context: Context
    ) -> AsyncGenerator[pb.WatchConversationResponse, None]:
        conversation_id = requests.check_identifier("conversation_id", request.conversation_id)
        if request.after_sequence < 0:
            raise InvalidArgument.field("after_sequence", "must be 0 or the sequence of an event")
        bind_log_ids(conversation_id=conversation_id)
        stream = self._use.stream_events
        subscription = stream.subscribe(conversation_id)
        events = stream.watch(
            conversation_id,
            request.after_sequence,
            request.history_id,
            call_info(),
            subscription,
            encode_live,
            request.follow,
        )
        async with aclosing(wrapped(pb.WatchConversationResponse, events, subscription)) as responses:
            async for response in responses:
                yield response

    async def CancelInteraction(
        self, request: pb.CancelInteractionRequest, context: Context
    ) -> pb.CancelInteractionResponse:
        asked = requests.cancellation(request)
        interaction_id = await self._use.cancel_interaction.execute(asked, call_info())
        view = await self._use.queries.interaction(interaction_id, current_caller())
        return pb.CancelInteractionResponse(interaction=views.interaction(view))

    async def ListDivergedConversations(
        self, request: pb.ListDivergedConversationsRequest, context: Context
    ) -> pb.ListDivergedConversationsResponse:
        size = paging.page_size(request.page_size)
        position = paging.decode_token("ListDivergedConversations", request.page_token, (int, str))
        after = None if position is None else (from_micros(int(position[0])), str(position[1]))
        found = await self._use.list_diverged.execute(current_caller(), after, size + 1)
        response = pb.ListDivergedConversationsResponse(conversations=[diverged.described(row) for row in found[:size]])
        if len(found) > size:
            last = found[size - 1].conversation
            response.next_page_token = paging.encode_token(
                "ListDivergedConversations", [to_micros(last.create_time), last.conversation_id]
            )
        return response

    async def RecoverConversation(
        self, request: pb.RecoverConversationRequest, context: Context
    ) -> pb.RecoverConversationResponse:
        asked = diverged.recovery(request)
        bind_log_ids(conversation_id=asked.conversation_id)
        recovered = await self._use.recover_conversation.execute(asked, call_info())
        return pb.RecoverConversationResponse(
            conversation=views.conversation(recovered.conversation, self._use.env.history_id),
            ended_interaction_id=recovered.ended_interaction_id,
        )

    async def SignalInteraction(
        self, request: pb.SignalInteractionRequest, context: Context
    ) -> pb.SignalInteractionResponse:
        asked = signals.new_signal(request)
        result = await self._use.signal_interaction.execute(asked, call_info())
        bind_log_ids(conversation_id=result.view.interaction.conversation_id)
        return signals.signaled(result)

    async def GetInteraction(self, request: pb.GetInteractionRequest, context: Context) -> pb.GetInteractionResponse:
        interaction_id = requests.check_identifier("interaction_id", request.interaction_id)
        view = await self._use.queries.interaction(interaction_id, current_caller())
        return pb.GetInteractionResponse(interaction=views.interaction(view))

    async def GetRun(self, request: pb.GetRunRequest, context: Context) -> pb.GetRunResponse:
        run_id = requests.check_identifier("run_id", request.run_id)
        return pb.GetRunResponse(run=views.run(await self._use.queries.run(run_id, current_caller())))

    async def ListPending(self, request: pb.ListPendingRequest, context: Context) -> pb.ListPendingResponse:
        size = paging.page_size(request.page_size)
        wanted = pending.pending_filter(request)
        scope = pending.pending_scope(request)
        position = paging.decode_token(scope, request.page_token, (int, str))
        after = None if position is None else (from_micros(int(position[0])), str(position[1]))
        found = await self._use.queries.pending(wanted, current_caller(), after, size + 1)
        response = pb.ListPendingResponse(items=[pending.pending_item(row) for row in found[:size]])
        if len(found) > size:
            last = found[size - 1]
            response.next_page_token = paging.encode_token(scope, [to_micros(last.create_time), last.item_id])
        return response

    async def SettleExecution(self, request: pb.SettleExecutionRequest, context: Context) -> pb.SettleExecutionResponse:
        asked = settlements.new_settlement(request)
        result = await self._use.settle_execution.execute(asked, call_info())
        bind_log_ids(conversation_id=result.view.interaction.conversation_id)
        return settlements.settled(result)

    async def GetApproval(self, request: pb.GetApprovalRequest, context: Context) -> pb.GetApprovalResponse:
        approval_id = requests.check_identifier("approval_id", request.approval_id)
        found = await self._use.queries.approval(approval_id, current_caller())
        return pb.GetApprovalResponse(approval=pending.approval(found))

    async def ListAuditEvents(self, request: pb.ListAuditEventsRequest, context: Context) -> pb.ListAuditEventsResponse:
        if not request.conversation_id and not request.interaction_id:
            raise InvalidArgument.field("conversation_id", "must be set, or interaction_id instead")
        size = paging.page_size(request.page_size)
        scope = f"ListAuditEvents/{request.conversation_id}/{request.interaction_id}"
        position = paging.decode_token(scope, request.page_token, (int,))
        after = 0 if position is None else int(position[0])
        found = await self._use.audit_trail.events(
            request.conversation_id, request.interaction_id, current_caller(), after, size + 1
        )
        response = pb.ListAuditEventsResponse(audit_events=[views.audit_event(row) for row in found[:size]])
        if len(found) > size:
            response.next_page_token = paging.encode_token(scope, [found[size - 1].number])
        return response

    async def DeleteConversation(
        self, request: pb.DeleteConversationRequest, context: Context
    ) -> pb.DeleteConversationResponse:
        asked = requests.deletion(request)
        bind_log_ids(conversation_id=asked.conversation_id)
        response = pb.DeleteConversationResponse()
        set_time(response.delete_time, await self._use.delete_conversation.execute(asked, call_info()))
        return response

    async def ReportChannelFailure(
        self, request: pb.ReportChannelFailureRequest, context: Context
    ) -> pb.ReportChannelFailureResponse:
        asked = requests.channel_report(request)
        bind_log_ids(conversation_id=asked.conversation_id)
        stored = await self._use.report_channel_failure.execute(asked, call_info())
        return pb.ReportChannelFailureResponse(event=event_pb2.Event.FromString(stored))

    async def VerifyAudit(self, request: pb.VerifyAuditRequest, context: Context) -> pb.VerifyAuditResponse:
        conversation_id = requests.check_identifier("conversation_id", request.conversation_id)
        caller = current_caller()
        found = await self._use.audit_trail.verify(conversation_id, caller)
        return audit.verified(conversation_id, found, caller.locale)
