"""Opens a conversation, once for each request_id."""

from __future__ import annotations

from dataclasses import dataclass

from handrail_rpc.errors import InvalidArgument, NotFound
from loop_service.application.accept import CallInfo, find_replay
from loop_service.application.environment import Environment
from loop_service.application.store_ports import Transaction, UnitOfWork
from loop_service.domain.conversation import AcceptedRequest, Conversation

METHOD = "CreateConversation"


@dataclass(frozen=True, slots=True)
class NewConversation:
    request_id: str
    body_sha256: str
    domain: str
    title: str
    labels: dict[str, str]


class CreateConversation:
    def __init__(self, storage: UnitOfWork, env: Environment) -> None:
        self._storage = storage
        self._env = env

    async def execute(self, request: NewConversation, call: CallInfo) -> Conversation:
        """Raises InvalidArgument for a domain that is not configured, RequestIdReused for another body, and NotFound
        where what the request made was deleted since.
        """
        if request.domain not in self._env.domains:
            raise InvalidArgument.field("domain", f"must be one of {', '.join(self._env.domains)}")
        now = self._env.clock.now()

        def create(tx: Transaction) -> Conversation:
            scope = call.scope(METHOD, request.request_id)
            known = find_replay(tx, scope, request.body_sha256)
            if known is not None:
                found = tx.conversations.find(known.conversation_id)
                if found is None:
                    raise RuntimeError("an accepted request names a conversation without a row")
                if found.deletion.hides:
                    raise NotFound.of("conversation", found.conversation_id)
                return found
            conversation = Conversation(
                conversation_id=self._env.ids.new("conv"),
                tenant=call.caller.tenant,
                principal=call.caller.principal,
                domain=request.domain,
                title=request.title,
                labels=request.labels,
                create_time=now,
                loop_history_id=self._env.history_id,
            )
            tx.conversations.insert(conversation)
            tx.requests.insert(AcceptedRequest(scope, request.body_sha256, conversation.conversation_id), now)
            return conversation

        return await self._storage.write(create, name="create_conversation.create")
