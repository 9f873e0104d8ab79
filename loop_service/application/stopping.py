"""Recording that an interaction is to end; the run carries it out (stop_interaction). Called by use cases.

The lease is taken away (its epoch rises), so whatever was under way can write nothing more.
"""

from __future__ import annotations

from loop_service.application.lifecycle import close_open_parts, start_run
from loop_service.application.work import Work
from loop_service.domain.interaction import Stop, StopKind
from loop_service.domain.run import RunState


def request_stop(
    work: Work,
    kind: StopKind,
    *,
    by: str,
    reason: str,
    request_id: str,
    traceparent: str,
    message_id: str = "",
    approval_id: str = "",
    code: str = "",
) -> None:
    """Record the stop once (the first one counts) and see to it that a run is there to carry it out.

    What was open takes no answer from now on (close_question). A rejected approval is closed by the caller, with its
    verdict.
    """
    interaction = work.interaction
    if interaction.stop is None:
        interaction.stop = Stop(kind, code, reason, by)
    if work.has_run:
        interaction.revoke_lease()
        work.run.state = RunState.QUEUED
        work.run.not_before = None
    else:
        work.tx.timers.remove(interaction.interaction_id, "settle")
        start_run(
            work,
            request_id=request_id,
            traceparent=traceparent,
            message_id=message_id,
            approval_id=approval_id,
        )
    if kind is not StopKind.REJECT:
        close_open_parts(work)
