"""`handrail chat`: a conversation on the terminal, with questions and approvals answered in place.

Reading a line is synchronous and each turn runs to its end on one event loop in between, so Ctrl-C means what a person
expects: at the prompt it leaves, during a turn it stops watching while the run itself goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console
from rich.text import Text

from gateway.cli import workspace
from gateway.cli.chat_lines import ChatLines
from gateway.cli.chat_words import words
from gateway.cli.client import ENDINGS, HandrailClient, connect
from gateway.cli.conversing import Turn, digest_is_of_what_is_shown, position_fact, show
from gateway.cli.events import approval_lines, event_lines, one_line, state_word
from gateway.cli.refusals import EXIT_FAILED, EXIT_OK, exit_code_of, refusal_line
from handrail.common.v1.approval_pb2 import Verdict
from handrail.common.v1.fact_pb2 import Fact
from handrail.common.v1.prompt_pb2 import Prompt, PromptType
from handrail.loop.v1.event_pb2 import ApprovalRequired, ClarificationRequired, Event
from handrail.loop.v1.interaction_state_pb2 import InteractionState
from handrail.loop.v1.workflow_loop_service_pb2 import Conversation, Interaction, Reply, Role
from handrail_rpc.context import Caller
from handrail_rpc.errors import HandrailError, InvalidArgument, Unavailable

HELP = (
    "Type a request. /cancel ends what is open, /skip passes over a question that is not required, "
    "/help shows this, /quit leaves (so do Ctrl-D and Ctrl-C at the prompt)."
)
_SHOWN_MESSAGES = 6
_ACTIVE = frozenset(
    {
        InteractionState.INTERACTION_STATE_PREPARING,
        InteractionState.INTERACTION_STATE_EXECUTING,
        InteractionState.INTERACTION_STATE_GENERATING,
    }
)
_YES = frozenset({"y", "yes", "д", "да"})
_NO = frozenset({"n", "no", "н", "нет"})


class Chat:
    """One person in one conversation. `read_line(prompt)` raises EOFError when the input is over.

    `folder` is uploaded as the conversation's workspace before the first line. `locale`, en or ru, is that of the
    chat's own words; what `verbose` adds about the protocol is English.
    """

    def __init__(
        self,
        console: Console,
        read_line: Callable[[str], str],
        *,
        position: tuple[float, float] | None = None,
        folder: Path | None = None,
        verbose: bool = False,
        locale: str = "en",
    ) -> None:
        self._say = words(locale)
        self._lines = ChatLines(self._say)
        self._console = console
        self._folder = folder
        self._read_line = read_line
        self._verbose = verbose
        self._facts: list[Fact] = []
        if position is not None:
            now = Timestamp()
            now.GetCurrentTime()
            self._facts = [position_fact(*position, now)]
        self._conversation_id = ""
        self._interaction_id = ""
        self._question: ClarificationRequired | None = None
        self._approval: ApprovalRequired | None = None
        self._failed = False

    def hold(self, address: str, caller: Caller, domain: str, conversation_id: str) -> int:
        """Chat until the input ends; returns the exit code: EXIT_FAILED if the last run failed, as refusals.py says."""
        with asyncio.Runner() as runner:
            exits = AsyncExitStack()
            try:
                client = runner.run(exits.enter_async_context(connect(address, caller)))
                client.on_busy = self._tell_busy
                runner.run(self._enter(client, domain, conversation_id))
                self._converse(runner, client, address)
            except HandrailError as error:
                self._console.print(refusal_line(error, address))
                return exit_code_of(error)
            finally:
                runner.run(exits.aclose())
        return EXIT_FAILED if self._failed else EXIT_OK

    def _tell_busy(self, seconds: float) -> None:
        told = self._say("the service is busy; trying again in {seconds:g} s").format(seconds=seconds)
        self._console.print(f"  {told}", style="yellow")

    def _converse(self, runner: asyncio.Runner, client: HandrailClient, address: str) -> None:
        while True:
            try:
                line = self._read_line(self._prompt()).strip()
            except (EOFError, KeyboardInterrupt):
                self._console.print()
                told = self._say("left; handrail chat --conversation {id} goes on").format(id=self._conversation_id)
                self._console.print(told, style="dim")
                return
            if line == "/quit":
                return
            if not line:
                continue
            try:
                runner.run(self._act(client, line))
            except KeyboardInterrupt:
                self._tell("stopped watching; the run goes on, /cancel ends it", "yellow")
                runner.run(self._look_again(client))
            except HandrailError as error:
                # A refusal changes nothing on the server; what is open may have been changed by someone else.
                self._failed = True
                self._console.print(refusal_line(error, address))
                if not isinstance(error, Unavailable):
                    runner.run(self._look_again(client))

    def _prompt(self) -> str:
        if self._approval is not None:
            return f"{self._say('y approve, n reject, c <what to change>')} > "
        if self._question is not None:
            return (
                f"{self._say(_answer_hint(self._question.prompt)).format(most=len(self._question.prompt.options))} > "
            )
        return "> "

    async def _enter(self, client: HandrailClient, domain: str, conversation_id: str) -> None:
        if conversation_id:
            conversation = await client.conversation(conversation_id)
            for message in (await client.messages(conversation_id))[-_SHOWN_MESSAGES:]:
                who = self._say("you") if message.role == Role.ROLE_USER else "handrail"
                self._console.print(Text.assemble((f"{who}: ", "dim"), one_line(message.text)))
        else:
            if self._folder is not None:
                await _expect_workspace(client, domain)
            conversation = await client.create_conversation(domain)
        self._conversation_id = conversation.conversation_id
        where = self._say("conversation {id} in {domain}. ").format(
            id=conversation.conversation_id, domain=conversation.domain
        )
        self._console.print(where + self._say(HELP), style="dim")
        if self._folder is not None:
            await workspace.upload(self._console, client, self._conversation_id, self._folder)
        if conversation.active_interaction_id:
            # The cursor is older than the state: an ending that falls in between is still to come after it.
            interaction = await client.interaction(conversation.active_interaction_id)
            await self._show_open(client, interaction, conversation)

    async def _show_open(self, client: HandrailClient, interaction: Interaction, conversation: Conversation) -> None:
        self._remember(interaction)
        if self._question is not None:
            self._print(self._lines.prompt(self._question.prompt))
        elif self._approval is not None:
            self._print(approval_lines(self._approval) if self._verbose else self._lines.approval(self._approval))
        elif interaction.state in _ACTIVE:
            self._console.print(f"  {state_word(interaction.state)}; {self._say('its events follow')}", style="dim")
            events = client.watch(
                self._conversation_id, conversation.last_sequence, follow=True, history_id=conversation.history_id
            )
            await self._follow(_until_ending(events))

    async def _look_again(self, client: HandrailClient) -> None:
        """Read what is open now, without printing it twice; a server that is away leaves things as they were."""
        try:
            conversation = await client.conversation(self._conversation_id)
            if conversation.active_interaction_id:
                self._remember(await client.interaction(conversation.active_interaction_id))
            else:
                self._remember(Interaction())
        except HandrailError as error:
            self._console.print(refusal_line(error))

    def _remember(self, interaction: Interaction) -> None:
        self._interaction_id = interaction.interaction_id
        opened = interaction.WhichOneof("open")
        self._question = interaction.clarification if opened == "clarification" else None
        self._approval = interaction.approval if opened == "approval" else None

    async def _act(self, client: HandrailClient, line: str) -> None:
        if line == "/help":
            self._console.print(self._say(HELP), style="dim")
        elif line == "/cancel":
            await self._cancel(client)
        elif self._approval is not None and (verdict := _verdict_of(line)) is not None:
            await self._resolve(client, self._approval, *verdict)
        else:
            # An approval is given by its own answers only: any other text is an ordinary message, never a yes.
            text, reply = self._reply_to(line)
            if text or reply is not None:
                await self._follow(client.send_message(self._conversation_id, text, reply=reply, facts=self._facts))

    async def _cancel(self, client: HandrailClient) -> None:
        if not self._interaction_id:
            self._tell("nothing is open")
            return
        interaction = await client.cancel(self._interaction_id, "canceled in the chat")
        self._console.print(f"  ■ {self._say(state_word(interaction.state))}", style="yellow")
        self._remember(Interaction())

    async def _resolve(
        self, client: HandrailClient, approval: ApprovalRequired, verdict: Verdict.ValueType, comment: str
    ) -> None:
        if verdict == Verdict.VERDICT_REQUEST_CHANGES and not comment:
            self._tell("say what should change: c <what to change>", "yellow")
            return
        if not digest_is_of_what_is_shown(approval):
            self._tell("the digest is not that of the snapshot shown; nothing was sent", "bold red")
            return
        await self._follow(
            client.resolve_approval(approval.approval_id, verdict, approval.snapshot_digest, comment=comment)
        )

    def _reply_to(self, line: str) -> tuple[str, Reply | None]:
        """Text and structural reply for a line; ("", None) where it was only a wrong command."""
        if self._question is None:
            if line == "/skip":
                self._tell("nothing is asked")
                return "", None
            return line, None
        reply = Reply(interaction_id=self._interaction_id, clarification_id=self._question.clarification_id)
        prompt = self._question.prompt
        if line == "/skip":
            if prompt.required:
                self._tell("this question is required; answer it, or /cancel", "yellow")
                return "", None
            reply.skip = True
            return "", reply
        if prompt.options and line.isdecimal() and 1 <= int(line) <= len(prompt.options):
            reply.selected_candidate_id = prompt.options[int(line) - 1].candidate_id
            return "", reply
        if prompt.type == PromptType.PROMPT_TYPE_CONFIRM and line.lower() in _YES | _NO:
            reply.confirmed = line.lower() in _YES
            return line, reply
        if prompt.type == PromptType.PROMPT_TYPE_REVIEW_DIFF and (verdict := _verdict_of(line)) is not None:
            reply.review_verdict = verdict[0]
            return verdict[1] or line, reply
        # Free text goes without the question's id: the services tell an answer from a correction, a new request or
        # "cancel" (C7), whereas a named question makes the text an answer to it.
        return line, None

    async def _follow(self, events: AsyncGenerator[Event, None]) -> None:
        turn = await show(self._console, events, self._lines_of)
        self._failed = turn.failed
        self._after(turn)

    def _after(self, turn: Turn) -> None:
        last = turn.last
        self._question = last.clarification_required if turn.ending == "clarification_required" else None
        self._approval = last.approval_required if turn.ending == "approval_required" else None
        waits = turn.ending in ("clarification_required", "approval_required", "waiting")
        self._interaction_id = last.interaction_id if waits else ""

    def _lines_of(self, event: Event) -> list[Text]:
        return event_lines(event, verbose=True) if self._verbose else self._lines.of(event)

    def _tell(self, english: str, style: str = "dim") -> None:
        self._console.print(f"  {self._say(english)}", style=style)

    def _print(self, lines: list[Text]) -> None:
        for line in lines:
            self._console.print(line)


def _answer_hint(prompt: Prompt) -> str:
    if prompt.options:
        return "1-{most} or text"
    if prompt.type == PromptType.PROMPT_TYPE_CONFIRM:
        return "y/n"
    if prompt.type == PromptType.PROMPT_TYPE_REVIEW_DIFF:
        return "y accept, n reject, c <what to change>"
    return "answer"


def _verdict_of(line: str) -> tuple[Verdict.ValueType, str] | None:
    """'y' → approve, 'n' → reject, 'c text' → request changes with the text; None for any other line."""
    word, _, rest = line.partition(" ")
    if line.lower() in _YES:
        return Verdict.VERDICT_APPROVE, ""
    if line.lower() in _NO:
        return Verdict.VERDICT_REJECT, ""
    if word.lower() == "c":
        return Verdict.VERDICT_REQUEST_CHANGES, rest.strip()
    return None


async def _expect_workspace(client: HandrailClient, domain: str) -> None:
    """Raises InvalidArgument for a domain that works on no folder: nothing is made for it then.

    One that is not there, or whose adapter is away, is refused by what is asked of it next.
    """
    found = await client.domain(domain)
    if found is not None and found.available and not found.uses_workspace:
        raise InvalidArgument.field("--folder", f"the domain {domain} works on no folder; leave --folder out")


async def _until_ending(events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """A followed stream, left after the event that ends a run."""
    async with aclosing(events):
        async for event in events:
            yield event
            if event.WhichOneof("payload") in ENDINGS:
                return
