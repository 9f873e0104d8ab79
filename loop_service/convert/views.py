"""Domain values to the response messages of WorkflowLoopService. Pure; called by the servicer."""

from __future__ import annotations

from datetime import timedelta

from google.protobuf.duration_pb2 import Duration

from handrail.adapter.v1 import domain_adapter_service_pb2
from handrail.common.v1 import decision_pb2, failure_pb2
from handrail.loop.v1 import workflow_loop_service_pb2 as pb
from loop_service.application.ports import DomainDescription
from loop_service.application.views import InteractionView
from loop_service.convert.events import (
    approval_required,
    clarification_required,
    set_time,
    waiting,
)
from loop_service.convert.names import AUDIT_KIND, ROLE, RUN_STATE, STAGE, STATE
from loop_service.domain.audit import AuditRow
from loop_service.domain.budget import Budget
from loop_service.domain.clarification import Clarification
from loop_service.domain.conversation import MOST_FACTS, MOST_TEXT_CHARACTERS, Conversation, Message
from loop_service.domain.events import ClarificationRequired
from loop_service.domain.interaction import InteractionState
from loop_service.domain.run import Run


def set_duration(target: Duration, value: timedelta) -> None:
    target.FromTimedelta(value)


def conversation(c: Conversation, history_id: str) -> pb.Conversation:
    """`history_id` is that of this database, which the sequences belong to."""
    message = pb.Conversation(
        conversation_id=c.conversation_id,
        domain=c.domain,
        title=c.title,
        labels=c.labels,
        active_interaction_id=c.active_interaction_id,
        last_sequence=c.last_sequence,
        history_id=history_id,
        first_sequence=c.first_sequence,
    )
    set_time(message.create_time, c.create_time)
    return message


def message(m: Message) -> pb.Message:
    shown = pb.Message(
        message_id=m.message_id,
        role=ROLE.number(m.role.value),
        text=m.text,
        interaction_id=m.interaction_id,
    )
    set_time(shown.create_time, m.create_time)
    return shown


def question(c: Clarification) -> ClarificationRequired:
    return ClarificationRequired(c.clarification_id, c.plan_version, c.prompt)


def interaction(view: InteractionView) -> pb.Interaction:
    i = view.interaction
    shown = pb.Interaction(
        interaction_id=i.interaction_id,
        conversation_id=i.conversation_id,
        root_message_id=i.root_message_id,
        state=STATE.number(i.state.value),
        plan_version=i.plan_version,
        decision_number=i.decision_number,
        superseded_by_interaction_id=i.superseded_by,
        tool_actions=i.tool_actions,
    )
    if view.clarification is not None:
        shown.clarification.CopyFrom(clarification_required(question(view.clarification)))
    elif view.approval is not None:
        shown.approval.CopyFrom(approval_required(view.approval.required_event()))
    elif i.state is InteractionState.WAITING:
        limit_time = i.wait_until if i.wait_signal else None
        shown.waiting.CopyFrom(waiting(i.wait_until, i.wait_signal, limit_time))
    if i.context:
        shown.context.CopyFrom(decision_pb2.ContextSnapshot.FromString(i.context))
    if i.failure:
        shown.failure.CopyFrom(failure_pb2.Failure.FromString(i.failure))
    set_duration(shown.active_time, i.active_time)
    set_time(shown.create_time, i.create_time)
    set_time(shown.update_time, i.update_time)
    set_time(shown.end_time, i.end_time)
    return shown


def run(r: Run) -> pb.Run:
    shown = pb.Run(
        run_id=r.run_id,
        conversation_id=r.conversation_id,
        interaction_id=r.interaction_id,
        request_id=r.request_id,
        state=RUN_STATE.number(r.state.value),
        usage=pb.Usage(
            generations=r.usage.generations,
            prompt_tokens=r.usage.prompt_tokens,
            output_tokens=r.usage.output_tokens,
            tool_actions=r.usage.tool_actions,
        ),
        codes=r.codes,
        ending=r.ending,
        resumed_run_id=r.resumed_run_id,
        trace_id=_trace_id(r.traceparent),
    )
    for stage, seconds in sorted(r.usage.stage_seconds.items()):
        spent = shown.usage.stage_durations.add(stage=STAGE.number(stage))
        set_duration(spent.duration, timedelta(seconds=seconds))
    set_time(shown.create_time, r.create_time)
    set_time(shown.start_time, r.start_time)
    set_time(shown.end_time, r.end_time)
    return shown


def _trace_id(traceparent: str) -> str:
    """The second part of a W3C traceparent; empty where there is none."""
    parts = traceparent.split("-")
    return parts[1] if len(parts) == 4 else ""


def audit_event(row: AuditRow) -> pb.AuditEvent:
    entry = row.entry
    shown = pb.AuditEvent(
        number=row.number,
        conversation_id=row.conversation_id,
        interaction_id=entry.interaction_id,
        run_id=entry.run_id,
        kind=AUDIT_KIND.number(entry.kind.value),
        actor=entry.actor,
        decision_number=entry.decision_number,
        decision_id=entry.decision_id,
        digest=entry.digest,
        code=entry.code,
        hash=row.hash,
        digest_scheme=row.digest_scheme,
    )
    shown.details.update(dict(entry.details))
    set_time(shown.event_time, row.event_time)
    return shown


def domain(description: DomainDescription, budget: Budget) -> pb.Domain:
    shown = pb.Domain(domain=description.domain, available=bool(description.data))
    limits = shown.limits
    limits.max_message_characters = MOST_TEXT_CHARACTERS
    limits.max_facts = MOST_FACTS
    limits.tool_actions_per_interaction = budget.tool_actions
    set_duration(limits.active_time_per_interaction, budget.active_time)
    if description.data:
        described = domain_adapter_service_pb2.DescribeDomainResponse.FromString(description.data)
        shown.title = described.title
        shown.version = described.version
        shown.tools.extend(described.tools)
        shown.uses_workspace = described.uses_workspace
        limits.domain.CopyFrom(described.limits)
    return shown
