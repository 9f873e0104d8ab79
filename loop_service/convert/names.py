"""Names of domain values to numbers of proto enums and back, built once from the enums themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from handrail.common.v1 import approval_pb2, decision_pb2, failure_pb2, prompt_pb2, tool_pb2
from handrail.loop.v1 import event_pb2, interaction_state_pb2, workflow_loop_service_pb2


class EnumNames:
    """`number('read')` is EFFECT_READ's number and `name(1)` is 'read'; whatever is unknown is the zero value."""

    def __init__(self, items: Callable[[], Iterable[tuple[str, int]]], prefix: str) -> None:
        names = {name.removeprefix(prefix).lower(): number for name, number in items()}
        self._numbers = names
        self._names = {number: name for name, number in names.items()}

    def number(self, name: str) -> Any:
        """Typed Any: each generated enum type is a NewType of int."""
        return self._numbers.get(name, 0)

    def name(self, number: int) -> str:
        return self._names.get(number, "unspecified")


STATE = EnumNames(interaction_state_pb2.InteractionState.items, "INTERACTION_STATE_")
DECISION_KIND = EnumNames(event_pb2.DecisionKind.items, "DECISION_KIND_")
CHOSEN_BY = EnumNames(event_pb2.ChosenBy.items, "CHOSEN_BY_")
APPROVAL_OUTCOME = EnumNames(event_pb2.ApprovalOutcome.items, "APPROVAL_OUTCOME_")
OUTCOME = EnumNames(tool_pb2.Outcome.items, "OUTCOME_")
EFFECT = EnumNames(tool_pb2.Effect.items, "EFFECT_")
STAGE = EnumNames(failure_pb2.Stage.items, "STAGE_")
PROGRESS = EnumNames(failure_pb2.Progress.items, "PROGRESS_")
VERDICT = EnumNames(approval_pb2.Verdict.items, "VERDICT_")
REPLY_VERDICT = EnumNames(decision_pb2.ReplyVerdict.items, "REPLY_VERDICT_")
PROMPT_TYPE = EnumNames(prompt_pb2.PromptType.items, "PROMPT_TYPE_")
ROLE = EnumNames(workflow_loop_service_pb2.Role.items, "ROLE_")
RUN_STATE = EnumNames(workflow_loop_service_pb2.RunState.items, "RUN_STATE_")
AUDIT_FAULT = EnumNames(workflow_loop_service_pb2.AuditFault.items, "AUDIT_FAULT_")
AUDIT_KIND = EnumNames(workflow_loop_service_pb2.AuditKind.items, "AUDIT_KIND_")
APPROVAL_STATE = EnumNames(workflow_loop_service_pb2.ApprovalState.items, "APPROVAL_STATE_")
SETTLEMENT = EnumNames(workflow_loop_service_pb2.Settlement.items, "SETTLEMENT_")
PENDING_KIND = EnumNames(workflow_loop_service_pb2.PendingKind.items, "PENDING_KIND_")
