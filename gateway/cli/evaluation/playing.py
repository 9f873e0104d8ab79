"""Plays one case in a conversation of its own, through the gateway, and notes what a user saw and what was recorded.

Called by gateway.cli.evaluation.run.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console

from gateway.cli import workspace
from gateway.cli.client import ENDINGS, HandrailClient
from gateway.cli.conversing import position_fact
from gateway.cli.evaluation.cases import Case, Ending, Turn
from gateway.cli.refusals import EXIT_OK
from handrail.common.v1.approval_pb2 import Verdict
from handrail.common.v1.fact_pb2 import Fact
from handrail.common.v1.failure_pb2 import Stage
from handrail.common.v1.prompt_pb2 import Prompt, PromptOption
from handrail.loop.v1 import workflow_loop_service_pb2 as loop
from handrail.loop.v1.event_pb2 import ApprovalRequired, ClarificationRequired, Event

_ENDING_OF = {"clarification_required": Ending.CLARIFICATION, "approval_required": Ending.APPROVAL}
_VERDICTS = {"approve": Verdict.VERDICT_APPROVE, "reject": Verdict.VERDICT_REJECT}


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one turn.

    Args:
        ending: None where the run had no ending, or the turn could not be played; `trouble` says why.
        unapproved: those of the tools that change something although the turn was no approval.
        asked: the slot of the question that the run ended with; "" for a question about an artifact, None without one.
        shown: every text that the user got, for the expected values.
        said: the texts in which something could be claimed: the answer, the question, a failure's explanation.
        prompt_tokens, output_tokens, generations: as GetRun has them.
        seconds: from sending until the stream ended; `stage_seconds` as GetRun has them, by stage.
        context_bytes: the size of the context when the interaction was planned, as GetInteraction has it.
    """

    ending: Ending | None = None
    tools: tuple[str, ...] = ()
    unapproved: tuple[str, ...] = ()
    asked: str | None = None
    shown: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    generations: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    stage_seconds: dict[str, float] = field(default_factory=dict)
    context_bytes: int = 0
    trouble: str = ""


@dataclass(slots=True)
class Play:
    """A case as far as it has been played; a deadline leaves what was seen until then.

    `changing` names the tools of the domain that change something (effect CHANGE or EXTERNAL).
    """

    case: Case
    changing: frozenset[str] = frozenset()
    seen: list[Seen] = field(default_factory=list)
    _question: ClarificationRequired | None = None
    _interaction_id: str = ""
    _approval: ApprovalRequired | None = None

    async def run(self, client: HandrailClient, upload: Path | None) -> None:
        """Play every turn; stops at one that cannot be played. Raises HandrailError as the gateway does, NotPlayed."""
        conversation = await client.create_conversation(self.case.domain, self.case.id)
        if upload is not None:
            sent = await workspace.upload(Console(quiet=True), client, conversation.conversation_id, upload)
            if sent != EXIT_OK:
                raise NotPlayed("the workspace could not be uploaded")
        for number, turn in enumerate(self.case.turns):
            facts = [_position(self.case.position)] if self.case.position and not number else []
            try:
                events = self._act(client, conversation.conversation_id, turn, facts)
                self.seen.append(await self._watch(client, events, approved=turn.do == "approve"))
            except _NothingToClick as error:
                self.seen.append(Seen(trouble=str(error)))
                return

    def _act(
        self, client: HandrailClient, conversation_id: str, turn: Turn, facts: list[Fact]
    ) -> AsyncGenerator[Event, None]:
        if turn.say is not None:
            return client.send_message(conversation_id, turn.say, facts=facts)
        if turn.do in _VERDICTS:
            if self._approval is None:
                raise _NothingToClick("no approval is open")
            approval = self._approval
            return client.resolve_approval(approval.approval_id, _VERDICTS[turn.do], approval.snapshot_digest)
        if self._question is None:
            raise _NothingToClick("no question is open")
        reply = loop.Reply(interaction_id=self._interaction_id, clarification_id=self._question.clarification_id)
        if turn.choose is None:
            reply.skip = True
        else:
            reply.selected_candidate_id = _option(self._question.prompt, turn.choose).candidate_id
        return client.send_message(conversation_id, reply=reply, facts=facts)

    async def _watch(self, client: HandrailClient, events: AsyncGenerator[Event, None], *, approved: bool) -> Seen:
        began = time.monotonic()
        noted = _Notes()
        async with aclosing(events):
            async for event in events:
                noted.note(event)
        seconds = time.monotonic() - began
        if not noted.last.run_id:
            raise NotPlayed("the stream told of no run")
        self._question, self._approval = noted.question, noted.approval
        self._interaction_id = noted.last.interaction_id
        run = await client.run(noted.last.run_id)
        interaction = await client.interaction(noted.last.interaction_id)
        usage = run.usage
        return Seen(
            noted.ending,
            tuple(noted.tools),
            () if approved else tuple(tool for tool in noted.tools if tool in self.changing),
            noted.question.prompt.task.slot if noted.question else None,
            tuple(noted.shown),
            tuple(noted.said),
            tuple(run.codes),
            usage.generations,
            usage.prompt_tokens,
            usage.output_tokens,
            seconds,
            {
                Stage.Name(each.stage).removeprefix("STAGE_").lower(): each.duration.ToMicroseconds() / 1e6
                for each in usage.stage_durations
            },
            interaction.context.context_size_bytes,
            "" if noted.ending else "the stream had no ending",
        )


class NotPlayed(Exception):
    """The case cannot be played any further; the text says why."""


class _NothingToClick(Exception):
    """The turn is a click on something that is not there; the text says what."""


@dataclass(slots=True)
class _Notes:
    """What the events of one run told."""

    tools: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    question: ClarificationRequired | None = None
    approval: ApprovalRequired | None = None
    ending: Ending | None = None
    last: Event = field(default_factory=Event)

    def note(self, event: Event) -> None:
        self.last = event
        kind = event.WhichOneof("payload") or ""
        match kind:
            case "tool_started":
                self.tools.append(event.tool_started.tool)
            case "tool_finished":
                self.shown.append(event.tool_finished.receipt.summary)
            case "completed":
                answer = event.completed.answer
                self._say(answer.text, *answer.limitations)
                self.shown += [each.path for each in answer.documentation_citations]
                self.shown += [each.identity for each in answer.entity_citations]
            case "clarification_required":
                self.question = event.clarification_required
                self._say(self.question.prompt.question)
                for option in self.question.prompt.options:
                    self.shown += [option.identity, option.display_name, option.description]
            case "approval_required":
                self.approval = event.approval_required
                self.shown += [self.approval.title, self.approval.input_preview]
            case "failed":
                self._say(event.failed.failure.explanation)
            case "blocked":
                self._say(event.blocked.failure.explanation)
        if kind in ENDINGS:
            self.ending = _ENDING_OF.get(kind) or Ending(kind)

    def _say(self, *texts: str) -> None:
        self.said += texts
        self.shown += texts


def _option(prompt: Prompt, wanted: str) -> PromptOption:
    for option in prompt.options:
        if wanted.casefold() in (option.identity.casefold(), option.display_name.casefold()):
            return option
    raise _NothingToClick(f"the question does not offer {wanted!r}")


def _position(place: tuple[float, float]) -> Fact:
    now = Timestamp()
    now.GetCurrentTime()
    return position_fact(*place, now)
