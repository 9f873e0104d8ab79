"""A question about one open slot with its closed candidate list, and what replies it admits (C4, C5, D1)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from handrail_rpc.errors import InvalidArgument
from loop_service.domain.decision import PromptOption
from loop_service.domain.observation import ReplyResponse


class ClarificationStatus(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    SKIPPED = "skipped"
    WITHDRAWN = "withdrawn"


@dataclass(slots=True)
class Clarification:
    """One row of `clarifications`; `prompt` are the bytes that were shown, `options` its stored snapshot."""

    clarification_id: str
    interaction_id: str
    conversation_id: str
    task_id: str
    slot: str
    type: str
    prompt: bytes
    options: tuple[PromptOption, ...]
    required: bool
    plan_version: int
    decision_number: int
    question_message_id: str
    create_time: datetime
    answer_message_id: str = ""
    status: ClarificationStatus = ClarificationStatus.OPEN
    close_time: datetime | None = None
    tenant: str = ""
    principal: str = ""
    domain: str = ""

    def close(self, status: ClarificationStatus, now: datetime, answer_message_id: str = "") -> None:
        self.status = status
        self.close_time = now
        self.answer_message_id = answer_message_id

    def option(self, candidate_id: str) -> PromptOption | None:
        return next((o for o in self.options if o.candidate_id == candidate_id), None)

    def check_response(self, response: ReplyResponse) -> None:
        """Raises InvalidArgument where the prompt does not admit the response; the stored list decides (C5)."""
        if response.selected_candidate_id is not None and self.option(response.selected_candidate_id) is None:
            raise InvalidArgument.field(
                "reply.selected_candidate_id",
                f"must be one of the {len(self.options)} options of clarification {self.clarification_id}",
                reason="CANDIDATE_UNKNOWN",
            )
        if response.skip and self.required:
            raise InvalidArgument.field(
                "reply.skip", "this question is required and cannot be skipped", reason="SKIP_NOT_ALLOWED"
            )
        if response.confirmed is not None and self.type != "confirm":
            raise InvalidArgument.field("reply.confirmed", f"the question is of type {self.type}, not confirm")
        if response.review_verdict is not None and self.type != "review_diff":
            raise InvalidArgument.field("reply.review_verdict", f"the question is of type {self.type}, not review_diff")
