"""What a chat shows of an event without --verbose: progress in brief, questions, approvals, answers, endings.

With --verbose it is events.event_lines, which shows decisions, receipts and every hash. Called by chat.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from gateway.cli.chat_words import Say
from gateway.cli.events import clean, enum_word, event_lines, one_line, shorten
from handrail.common.v1.answer_pb2 import Answer
from handrail.common.v1.failure_pb2 import ConfirmedStep, Failure, Progress, Stage
from handrail.common.v1.prompt_pb2 import Prompt
from handrail.common.v1.tool_pb2 import Outcome
from handrail.loop.v1 import event_pb2 as events
from handrail_rpc.digest import NotCanonical, snapshot_fields_from_proto

# Of the protocol, not of the request: what is decided, and what is begun; the outcome is told.
_PROTOCOL_KINDS = frozenset({"decision_made", "tool_started"})
# A normal step on the way to an approval: the check that is missing follows.
_ON_THE_WAY = frozenset({"validation_missing"})
_MOST_SUMMARY = 120


class ChatLines:
    """The lines of one chat. It remembers the approval shown last: announced again unchanged, it takes one line."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._shown = ("", "")

    def of(self, event: events.Event) -> list[Text]:
        """The lines of an event; empty for what only matters to who follows the protocol."""
        kind = event.WhichOneof("payload")
        if kind is None or kind in _PROTOCOL_KINDS:
            return []
        if kind == "policy_blocked" and event.policy_blocked.code in _ON_THE_WAY:
            return []
        own = getattr(self, f"_{kind}", None)
        lines: list[Text] = event_lines(event) if own is None else own(getattr(event, kind))
        return lines

    def prompt(self, prompt: Prompt) -> list[Text]:
        """The question, and its options numbered from 1."""
        lines = [Text.assemble(("  ? ", "bold yellow"), (clean(prompt.question), "bold"))]
        for number, option in enumerate(prompt.options, 1):
            about = f" — {one_line(option.description)}" if option.description else ""
            lines.append(Text.assemble((f"      {number}. ", "yellow"), one_line(option.display_name), (about, "dim")))
        if not prompt.required:
            lines.append(Text(f"      {self._say('not required: /skip goes on without it')}", "dim"))
        return lines

    def approval(self, approval: events.ApprovalRequired) -> list[Text]:
        """Title, preview or diff, who may approve, until when, the digest; one line where that was shown last."""
        identity = (approval.approval_id, approval.snapshot_digest)
        title, digest = one_line(approval.title), one_line(approval.snapshot_digest)
        if identity == self._shown:
            heading = self._say("still waits for its approval, unchanged: ")
            return [Text.assemble(("  ! ", "bold magenta"), heading, title, (f" ({digest[:12]}…)", "dim"))]
        self._shown = identity
        lines = [Text.assemble((f"  ! {self._say('approval required: ')}", "bold magenta"), (title, "bold"))]
        lines += [
            Text.assemble(("      │ ", "magenta"), clean(line))
            for line in approval.input_preview.splitlines()
            if line.strip()
        ]
        about = []
        if approval.required_role:
            about.append(self._say("who may approve: role {role}").format(role=one_line(approval.required_role)))
        if approval.HasField("expire_time"):
            about.append(self._say("until {time}").format(time=approval.expire_time.ToJsonString()))
        if about:
            lines.append(Text(f"      {', '.join(about)}", "dim"))
        try:
            snapshot_fields_from_proto(approval.snapshot)
        except NotCanonical:
            lines.append(
                Text(f"      {self._say('this approval cannot be given from here: it has no digest')}", "bold red")
            )
            return lines
        lines.append(Text.assemble((f"      {self._say('digest')}  ", "dim"), (digest, "dim")))
        return lines

    def _clarification_required(self, event: events.ClarificationRequired) -> list[Text]:
        return self.prompt(event.prompt)

    def _approval_required(self, event: events.ApprovalRequired) -> list[Text]:
        return self.approval(event)

    def _approval_resolved(self, event: events.ApprovalResolved) -> list[Text]:
        word = enum_word(events.ApprovalOutcome.Name(event.outcome), "APPROVAL_OUTCOME_").replace("_", " ")
        by = self._say(" by {who}").format(who=one_line(event.resolved_by)) if event.resolved_by else ""
        return [Text.assemble(("  ! ", "magenta"), f"{self._say('approval')}: {self._say(word)}{by}")]

    def _tool_finished(self, event: events.ToolFinished) -> list[Text]:
        tool = one_line(event.tool)
        if event.outcome == Outcome.OUTCOME_SUCCEEDED:
            summary = shorten(one_line(event.receipt.summary), _MOST_SUMMARY)
            return [Text.assemble(("  ▪ ", "green"), (f"{tool}: {summary}", "dim"))]
        word = enum_word(Outcome.Name(event.outcome), "OUTCOME_")
        if event.HasField("failure"):
            return self._failure(event.failure, f"{tool} {self._say(word)}")
        return [Text.assemble(("  ✗ ", "red"), f"{tool} {self._say(word)}")]

    def _artifact_published(self, event: events.ArtifactPublished) -> list[Text]:
        version = self._say("version {version}").format(version=event.version)
        return [
            Text.assemble(("  ▪ ", "green"), (f"{self._say('artifact')}: {one_line(event.title)} ({version})", "dim"))
        ]

    def _policy_blocked(self, event: events.PolicyBlocked) -> list[Text]:
        code = self._say("[code {code}]").format(code=one_line(event.code))
        heading = f"  ⊘ {self._say('blocked by policy')} "
        lines = [Text.assemble((heading, "bold yellow"), (f"{code} ", "yellow"), one_line(event.explanation))]
        if event.lifted_by:
            lines.append(Text.assemble((f"    {self._say('what lifts it: ')}", "yellow"), one_line(event.lifted_by)))
        return lines

    def _completed(self, event: events.Completed) -> list[Text]:
        return self._answer(event.answer)

    def _answer(self, answer: Answer) -> list[Text]:
        """Text, sources that the text does not name, limitations, artifacts."""
        lines = [
            Text.assemble(("  ✓ " if number == 0 else "    ", "bold green"), clean(line))
            for number, line in enumerate(answer.text.splitlines() or [""])
        ]
        sources = [
            f"{each.path}#{each.anchor}" if each.anchor else each.path for each in answer.documentation_citations
        ]
        lines += [
            Text(f"    {self._say('source: ')}{one_line(each)}", "dim")
            for each in dict.fromkeys(sources)
            if each not in answer.text
        ]
        lines += [
            Text.assemble((f"    {self._say('limitation: ')}", "yellow"), one_line(each)) for each in answer.limitations
        ]
        for each in answer.artifacts:
            version = self._say("version {version}").format(version=each.version)
            about = f"{one_line(each.title)} ({one_line(each.artifact_id)}, {version})"
            lines.append(Text(f"    {self._say('artifact')} {about}", "dim"))
        if answer.partial:
            lines.append(Text(f"    {self._say('partial: some of the request was not done')}", "yellow"))
        return lines

    def _failed(self, event: events.Failed) -> list[Text]:
        return self._failure(event.failure, self._say("failed"))

    def _blocked(self, event: events.Blocked) -> list[Text]:
        return self._failure(event.failure, self._say("blocked"))

    def _failure(self, failure: Failure, heading: str) -> list[Text]:
        stage = enum_word(Stage.Name(failure.stage), "STAGE_")
        where = self._say("[stage {stage}, code {code}]").format(stage=stage, code=one_line(failure.code))
        lines = [
            Text.assemble((f"  ✗ {heading} ", "bold red"), (f"{where} ", "red"), one_line(failure.explanation)),
        ]
        if failure.helpful_action:
            helps = one_line(failure.helpful_action)
            lines.append(Text.assemble((f"    {self._say('what helps: ')}", "yellow"), helps))
        progress = self._say(enum_word(Progress.Name(failure.progress), "PROGRESS_").replace("_", " "))
        retry = self._say("a retry can work" if failure.retryable else "the same request will not work again")
        request = f"{self._say('request')} {one_line(failure.request_id)}"
        lines.append(Text(f"    {self._say('progress: ')}{progress}; {retry}; {request}", "dim"))
        return lines + self._confirmed(failure.confirmed_steps)

    def _confirmed(self, steps: Iterable[ConfirmedStep]) -> list[Text]:
        return [
            Text.assemble(
                (f"    {self._say('confirmed: ')}", "green"),
                one_line(step.tool),
                ("" if not step.summary else " — "),
                one_line(step.summary),
            )
            for step in steps
        ]

    def _canceled(self, event: events.Canceled) -> list[Text]:
        code = f" {self._say('[code {code}]').format(code=one_line(event.code))}" if event.code else ""
        line = Text(f"  ■ {self._say('canceled')}{code} {one_line(event.reason)}", "yellow")
        return [line, *self._confirmed(event.confirmed_steps)]

    def _superseded(self, event: events.Superseded) -> list[Text]:
        line = Text(f"  ■ {self._say('superseded')} {one_line(event.reason)}", "yellow")
        return [line, *self._confirmed(event.confirmed_steps)]

    def _waiting(self, event: events.Waiting) -> list[Text]:
        if event.WhichOneof("condition") == "signal":
            told = self._say("waiting for the signal {signal}").format(signal=one_line(event.signal))
            if event.HasField("limit_time"):
                told += ", " + self._say("until {time}").format(time=event.limit_time.ToJsonString())
        else:
            told = self._say("waiting until {time}").format(time=event.until.ToJsonString())
        return [Text(f"  ⧖ {told}", "yellow")]
