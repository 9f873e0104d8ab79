"""What a domain does about a text in a test, with everything that can be said next. Made by DomainSession."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from handrail.adapter.v1 import observation_pb2 as obs
from handrail.common.v1 import approval_pb2, decision_pb2
from handrail_rpc.digest import snapshot_digest, snapshot_fields_from_proto

if TYPE_CHECKING:
    from adapter_service.testing.session import DomainSession


@dataclass(frozen=True)
class Artifact:
    """A version that a request made. `content` is the parsed JSON, or bytes for other media types."""

    artifact_id: str
    version: int
    title: str
    content: Any


@dataclass(frozen=True)
class Approval:
    """What a person is asked to approve."""

    tool: str
    title: str
    preview: str
    role: str
    change_ref: str


@dataclass(frozen=True)
class Reply:
    """What the domain did about a text or a verdict: exactly one of an answer, a question, an approval, a failure …

    `kind` is answer, question, approval, failure, blocked, waiting, canceled or unclear. Each property asserts the kind
    that it belongs to, and says what there was instead.
    """

    kind: str
    tools: tuple[str, ...]
    blocks: tuple[str, ...]
    made: tuple[Artifact, ...]
    _decision: decision_pb2.Decision = field(repr=False)
    _session: DomainSession = field(repr=False, compare=False)

    @property
    def answer(self) -> str:
        """Text of the answer."""
        self._expect("answer")
        return self._decision.complete.answer.text

    @property
    def limitations(self) -> tuple[str, ...]:
        """Limitations that the answer states."""
        self._expect("answer")
        return tuple(self._decision.complete.answer.limitations)

    @property
    def citations(self) -> tuple[str, ...]:
        """Identities that the answer cites."""
        self._expect("answer")
        return tuple(citation.identity for citation in self._decision.complete.answer.entity_citations)

    @property
    def question(self) -> str:
        """Text of the question."""
        self._expect("question")
        return self._decision.ask.prompt.question

    @property
    def options(self) -> tuple[str, ...]:
        """Display names of the closed list that the question offers; empty where it offers none."""
        self._expect("question")
        return tuple(option.display_name for option in self._decision.ask.prompt.options)

    @property
    def approval(self) -> Approval:
        """What is to be approved."""
        self._expect("approval")
        asked = self._decision.request_approval
        return Approval(
            asked.snapshot.tool, asked.title, asked.input_preview, asked.snapshot.required_role, asked.change_ref
        )

    @property
    def failure_code(self) -> str:
        """Code of the failure, or of the block that ended the request."""
        self._expect("failure", "blocked")
        return self._decision.fail.failure.code or self._decision.blocked.block.code

    @property
    def explanation(self) -> str:
        """Why the request failed or was blocked."""
        self._expect("failure", "blocked")
        return self._decision.fail.failure.explanation or self._decision.blocked.block.explanation

    async def say(self, text: str) -> Reply:
        """Answer, correct, or ask for something else."""
        self._expect_newest()
        return await self._session.say(text)

    async def choose(self, option: str) -> Reply:
        """Pick an option of the question by its display name."""
        self._expect("question")
        self._expect_newest()
        for candidate in self._decision.ask.prompt.options:
            if candidate.display_name == option:
                return await self._session._answer(selected_candidate_id=candidate.candidate_id)
        raise AssertionError(f"{option!r} is not offered; the options are: {', '.join(self.options) or 'none'}")

    async def skip(self) -> Reply:
        """Leave an optional question unanswered."""
        self._expect("question")
        self._expect_newest()
        return await self._session._answer(skip=True)

    async def approve(self, *, by: str = "approver") -> Reply:
        """Approve what was shown, as another person."""
        return await self._resolve(approval_pb2.VERDICT_APPROVE, by, "")

    async def reject(self, *, by: str = "approver") -> Reply:
        """Reject what was shown."""
        return await self._resolve(approval_pb2.VERDICT_REJECT, by, "")

    async def request_changes(self, comment: str, *, by: str = "approver") -> Reply:
        """Ask for changes instead of approving; the comment says which."""
        return await self._resolve(approval_pb2.VERDICT_REQUEST_CHANGES, by, comment)

    async def wake(self, payload: Mapping[str, Any] | None = None, *, limit_passed: bool = False) -> Reply:
        """End a wait: its time has come, its signal came with `payload`, or its limit has passed."""
        self._expect("waiting")
        self._expect_newest()
        wake_up = obs.WakeUp(signal=self._decision.wait.signal, limit_passed=limit_passed)
        wake_up.payload.update(payload or {})
        return await self._session._observe(obs.Observation(wake_up=wake_up))

    async def _resolve(self, verdict: approval_pb2.Verdict.ValueType, by: str, comment: str) -> Reply:
        self._expect("approval")
        self._expect_newest()
        resolved = obs.ApprovalResolved(
            approval_id=self._session._approval_id,
            snapshot_digest=snapshot_digest(snapshot_fields_from_proto(self._decision.request_approval.snapshot)),
            verdict=verdict,
            comment=comment,
            resolved_by=by,
        )
        return await self._session._observe(obs.Observation(approval_resolved=resolved))

    def _expect(self, *kinds: str) -> None:
        assert self.kind in kinds, f"expected {' or '.join(kinds)}, but got {self}"

    def _expect_newest(self) -> None:
        assert self._session.last is self, f"something was said after this reply; the newest is {self._session.last}"

    def __str__(self) -> str:
        """One line for assertion messages."""
        decision = self._decision
        failure, block = decision.fail.failure, decision.blocked.block
        options = [option.display_name for option in decision.ask.prompt.options]
        told = {
            "answer": decision.complete.answer.text,
            "question": f"{decision.ask.prompt.question} {options}",
            "approval": f"{decision.request_approval.title}: {decision.request_approval.input_preview}",
            "failure": f"{failure.code} {failure.source_code}: {failure.explanation}",
            "blocked": f"{block.code}: {block.explanation}",
            "waiting": decision.summary,
        }.get(self.kind, "")
        return f"{self.kind} “{told}” after the tools {list(self.tools)}"
