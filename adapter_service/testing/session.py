"""One conversation with a domain in a test: plays the Loop's part (numbers, the remaining action, who answers what).

Made by `running_domain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from adapter_service.application.artifact_content import parse_content
from adapter_service.bootstrap import RunningAdapter, random_id
from adapter_service.testing.replies import Artifact, Reply
from handrail.adapter.v1 import artifact_service_pb2 as artifact_pb2
from handrail.adapter.v1 import domain_adapter_service_pb2 as pb2
from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import artifact_pb2 as reference_pb2
from handrail.common.v1 import caller_pb2, decision_pb2, fact_pb2, tool_pb2

MOST_DECISIONS = 100
CONVERSATION = "conv_test"
_NO_CALL: Any = None  # the servicers' methods are called in this process, where there is no gRPC context


class DomainSession:
    """One conversation with the domain; made by `running_domain`. `facts` go with every following text."""

    def __init__(
        self, running: RunningAdapter, domain: str, *, locale: str, principal: str, roles: Iterable[str]
    ) -> None:
        self.locale = locale
        self.principal = principal
        self.roles = tuple(roles)
        self.facts: list[fact_pb2.Fact] = []
        self.last: Reply | None = None
        self._adapter = running.servicer
        self._artifacts = running.artifact_servicer
        self._domain = domain
        self._opened = pb2.OpenSessionResponse()
        self._interaction_id = ""
        self._number = 0
        self._plan_version = 0
        self._open = False
        self._approval_id = ""
        self._supersedes = ""

    async def say(self, text: str) -> Reply:
        """What a user writes: a request, or whatever it means to an open question or approval."""
        if self.last is not None and self._open:
            if self.last.kind == "question":
                reply = await self._answer(text=text)
            else:
                message = obs.UserMessage(message_id=random_id("msg"), text=text, approval_id=self._approval_id)
                reply = await self._observe(obs.Observation(user_message=message))
            if reply.kind != "superseded":
                return reply
            self._supersedes = self._interaction_id
        self._interaction_id = random_id("int")
        self._number, self._plan_version = 0, 0
        message = obs.UserMessage(message_id=random_id("msg"), text=text, begins_interaction=True)
        return await self._observe(obs.Observation(user_message=message))

    def fact(self, name: str, value: Mapping[str, Any], source: str = "device") -> None:
        """What the client knows, for example a position; `source` is device, user, demo or system."""
        fact = fact_pb2.Fact(name=name, source=fact_pb2.Source.Value(f"SOURCE_{source.upper()}"), scope="session")
        fact.value.update(value)
        self.facts.append(fact)

    async def _answer(self, **response: Any) -> Reply:
        assert self.last is not None  # the callers have it
        target = self.last._decision.ask.prompt.task
        answer = obs.ClarificationReply(
            clarification_id=random_id("clr"), task_id=target.task_id, slot=target.slot, **response
        )
        return await self._observe(obs.Observation(clarification_reply=answer))

    async def _observe(self, observation: obs.Observation) -> Reply:
        """Decide and do what is decided until a person is needed or the request has ended."""
        called: list[str] = []
        blocks: list[str] = []
        made: list[Artifact] = []
        for _ in range(MOST_DECISIONS):
            decision = await self._decide(observation)
            blocks += (block.code for block in decision.blocks)
            outcome = decision.WhichOneof("outcome")
            if outcome == "choose":
                choice = obs.ActionChoice(
                    action_id=decision.choose.default_action_id or decision.choose.actions[0].action_id
                )
                observation = obs.Observation(action_choice=choice)
                continue
            if outcome != "call_tool":
                return self._reply(outcome, decision, called, blocks, made)
            finished = []
            for call in decision.call_tool.calls:
                called.append(call.tool)
                execution = await self._execute(call.tool_call_id)
                finished.append(obs.FinishedCall(tool_call_id=call.tool_call_id, outcome=execution.outcome))
                made += [await self._read(artifact) for artifact in execution.artifacts]
            observation = obs.Observation(tool_finished=obs.ToolFinished(calls=finished))
        raise AssertionError(f"the request did not end within {MOST_DECISIONS} decisions; it called {called}")

    def _reply(
        self,
        outcome: str | None,
        decision: decision_pb2.Decision,
        called: list[str],
        blocks: list[str],
        made: list[Artifact],
    ) -> Reply:
        kinds = {
            "complete": "answer",
            "ask": "question",
            "request_approval": "approval",
            "fail": "failure",
            "blocked": "blocked",
            "wait": "waiting",
        }
        verdicts = {
            decision_pb2.REPLY_VERDICT_NEW_REQUEST: "superseded",
            decision_pb2.REPLY_VERDICT_CANCEL: "canceled",
        }
        kind = kinds[outcome] if outcome else verdicts.get(decision.reply_verdict, "unclear")
        if kind == "unclear":  # what was open stays open, and so does the reply that told it
            assert self.last is not None
            return Reply(kind, (), tuple(blocks), (), decision, self)
        self._open = kind in ("question", "approval", "waiting")
        self._approval_id = random_id("apr") if kind == "approval" else ""
        reply = Reply(kind, tuple(called), tuple(blocks), tuple(made), decision, self)
        if kind != "superseded":
            self.last = reply
        return reply

    async def _decide(self, observation: obs.Observation) -> decision_pb2.Decision:
        if not self._opened.domain_session_id:
            self._opened = await self._adapter.OpenSession(
                pb2.OpenSessionRequest(request_id=random_id("req"), domain=self._domain, conversation_id=CONVERSATION),
                _NO_CALL,
            )
        request = pb2.DecideRequest(
            request_id=random_id("req"),
            domain=self._domain,
            domain_session_id=self._opened.domain_session_id,
            interaction_id=self._interaction_id,
            run_id="run_test",
            lease_epoch=1,
            decision_number=self._number + 1,
            base_plan_version=self._plan_version,
            caller=self._caller(),
            locale=self.locale,
            history_id=self._opened.history_id,
            observation=observation,
            facts=self.facts,
            supersedes_interaction_id=self._supersedes if self._number == 0 else "",
        )
        parts = [part async for part in self._adapter.Decide(request, _NO_CALL)]
        decision = parts[-1].decision
        self._number, self._plan_version = decision.decision_number, decision.plan_version
        self._supersedes = ""
        return decision

    async def _execute(self, tool_call_id: str) -> tool_pb2.ToolOutcome:
        request = pb2.ExecuteToolRequest(
            request_id=random_id("req"),
            domain=self._domain,
            domain_session_id=self._opened.domain_session_id,
            interaction_id=self._interaction_id,
            run_id="run_test",
            lease_epoch=1,
            tool_call_id=tool_call_id,
            dispatch_number=1,
            caller=self._caller(),
            locale=self.locale,
            history_id=self._opened.history_id,
        )
        parts = [part async for part in self._adapter.ExecuteTool(request, _NO_CALL)]
        return parts[-1].outcome

    async def _read(self, made: reference_pb2.ArtifactRef) -> Artifact:
        data = b""
        request = artifact_pb2.ReadArtifactRequest(
            conversation_id=CONVERSATION, artifact_id=made.artifact_id, version=made.version
        )
        async for part in self._artifacts.ReadArtifact(request, _NO_CALL):
            data += part.data
        return Artifact(made.artifact_id, made.version, made.title, parse_content(made.media_type, data))

    def _caller(self) -> caller_pb2.Principal:
        return caller_pb2.Principal(principal=self.principal, tenant="test", roles=self.roles)
