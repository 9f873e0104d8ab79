"""`Turn`: the workspace of one decision while it is computed, in a thread, outside any transaction.

It holds what was loaded and collects what the storing transaction will write. Made by `decide`, changed by
`apply_observation`, `resolve_slots`, `next_step` and `request_change`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from adapter_service.application.artifact_content import parse_stored
from adapter_service.application.findings import read_result
from adapter_service.application.ports import Ids
from adapter_service.domain.approval import Approval, ApprovalState
from adapter_service.domain.artifact import ArtifactVersion, Validation
from adapter_service.domain.decision import Candidate, Fail
from adapter_service.domain.failure import ConfirmedStep, Failure, PolicyBlock, Progress, Stage
from adapter_service.domain.ledger import Execution, ToolCall
from adapter_service.domain.observation import Observation
from adapter_service.domain.plan import Plan, Task, TaskState
from adapter_service.domain.session import (
    MOST_ARTIFACTS,
    MOST_FACTS,
    MOST_PARALLEL_READS,
    Interaction,
    Principal,
    Session,
)
from adapter_service.domain.workspace import WorkspaceState
from adapter_service.sdk import (
    ArtifactSummary,
    Domain,
    FactView,
    Memory,
    Referent,
    ReplyVerdict,
    Text,
    Tool,
)
from handrail_rpc.digest import canonical_json


@dataclass(frozen=True, slots=True)
class DecideCommand:
    """A checked DecideRequest. `observation_bytes` is its deterministic serialization (identity of the request)."""

    domain: str
    domain_session_id: str
    interaction_id: str
    epoch: int
    decision_number: int
    base_plan_version: int
    principal: Principal
    locale: str
    facts: tuple[FactView, ...]
    observation: Observation
    observation_bytes: bytes
    history_id: str
    supersedes: str
    request_id: str
    known_revision: int = 0
    workspace_snapshot_id: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """What one snapshot of the database says. Contents are immutable and read when needed.

    `validations` are those of current versions by artifact id; `executions`, `made`, `inputs` and `results` (the small
    ones) those of the plan's tasks by call id. `workspace` is what the session's was at before this decision, and
    `planned_in` the hash of the one that the plan was made in; `knows_snapshot` is false where the message names a
    snapshot that the session does not have.
    """

    session: Session
    interaction: Interaction | None
    plan: Plan
    referents: tuple[Referent, ...]
    facts: tuple[FactView, ...]
    artifacts: tuple[ArtifactVersion, ...]
    validations: Mapping[str, Validation]
    executions: Mapping[str, Execution]
    made: Mapping[str, ArtifactVersion]
    inputs: Mapping[str, bytes]
    results: Mapping[str, bytes]
    candidates: tuple[Candidate, ...]
    approval: Approval | None
    policy_version: str
    tool_versions: Mapping[str, str]
    workspace: WorkspaceState | None = None
    planned_in: str = ""
    knows_snapshot: bool = True


@dataclass(frozen=True, slots=True)
class ApprovalEnd:
    """How an approval is closed in the storing transaction."""

    digest: str
    state: ApprovalState
    approval_id: str
    resolved_by: str


@dataclass
class Turn:
    """See the module's text. `plan` is replaced as the computation goes on.

    `workspace` is the domain's view of the workspace, `workspace_state` what the session is at with it, and
    `workspace_checked` whether the plan has been checked against it.
    """

    command: DecideCommand
    domain: Domain
    situation: Situation
    now: datetime
    ids: Ids
    read_content: Callable[[str], bytes]
    workspace: Any = None
    workspace_state: WorkspaceState | None = None
    workspace_checked: bool = False
    plan: Plan = field(init=False)
    memory: Memory = field(init=False)
    approval: Approval | None = field(init=False)
    parallel_reads: int = MOST_PARALLEL_READS
    verdict: ReplyVerdict | None = None
    blocks: list[PolicyBlock] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    candidates: tuple[Candidate, ...] = ()
    new_approval: Approval | None = None
    ended_approvals: list[ApprovalEnd] = field(default_factory=list)
    _results: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.plan = self.situation.plan
        self.approval = self.situation.approval
        new = {fact.name for fact in self.command.facts}
        facts = (*self.command.facts, *(fact for fact in self.situation.facts if fact.name not in new))
        summaries = tuple(self._summary(version) for version in self.situation.artifacts[:MOST_ARTIFACTS])
        self.memory = Memory(self.situation.referents, summaries, facts[:MOST_FACTS])

    @property
    def locale(self) -> str:
        """Locale of every text of this decision."""
        return self.command.locale

    def _summary(self, version: ArtifactVersion) -> ArtifactSummary:
        validation = self.situation.validations.get(version.artifact_id)
        return ArtifactSummary(
            kind=version.kind,
            artifact_id=version.artifact_id,
            version=version.version,
            title=version.title,
            valid=None if validation is None else validation.passed,
            settled=bool(version.settled_by),
        )

    def tool_of(self, task: Task) -> Tool:
        """The tool of a task; the plan was checked against the domain when it was made."""
        return self.domain.tool(task.tool)

    def find_artifact(self, artifact_id: str) -> ArtifactVersion | None:
        """The current version of an artifact of this session, or None."""
        return next((a for a in self.situation.artifacts if a.artifact_id == artifact_id), None)

    def find_validation(self, artifact_id: str) -> Validation | None:
        """The validation of the current version, or None."""
        return self.situation.validations.get(artifact_id)

    def result(self, task: Task) -> Any:
        """The stored result of a done task, as the domain's callbacks get it."""
        if task.tool_call_id not in self._results:
            execution = self.situation.executions[task.tool_call_id]
            stored = self.situation.results.get(task.tool_call_id)
            if stored is None:
                stored = self.read_content(execution.result_sha256)
            self._results[task.tool_call_id] = read_result(self.tool_of(task), parse_stored(stored))
        result = self._results[task.tool_call_id]
        if task.wake_up is None or not isinstance(result, Mapping):
            return result
        return {**result, "wake_up": dict(task.wake_up)}

    def say(self, task: Task) -> str:
        """What a done task says in an answer."""
        return self.tool_of(task).say(self.result(task), self.locale).strip()

    def done_tasks(self) -> tuple[Task, ...]:
        """Tasks with a stored result, in plan order."""
        return tuple(task for task in self.plan.tasks if task.state is TaskState.DONE or task.wait is not None)

    def confirmed_steps(self) -> tuple[ConfirmedStep, ...]:
        """The steps that hold although the request ends (requirement G3)."""
        return tuple(
            ConfirmedStep(
                task.tool_call_id, task.tool, self.say(task), () if task.artifact is None else (task.artifact,)
            )
            for task in self.done_tasks()
        )

    def end_approval(self, state: ApprovalState, *, approval_id: str = "", resolved_by: str = "") -> None:
        """Close the open approval, if there is one."""
        if self.plan.approval_digest:
            if self.approval is not None:
                approval_id = approval_id or self.approval.approval_id
                resolved_by = resolved_by or self.approval.resolved_by
            self.ended_approvals.append(ApprovalEnd(self.plan.approval_digest, state, approval_id, resolved_by))
            self.approval = None
            self.plan = replace(self.plan, approval_digest="", approval_task="")

    def fail(
        self,
        stage: Stage,
        code: str,
        explanation: Text,
        *,
        helpful_action: Text | None = None,
        source_code: str = "",
        retryable: bool = False,
        unknown: bool = False,
    ) -> Fail:
        """End the request with a failure that lists the confirmed steps (requirements F5, G1, G3)."""
        steps = self.confirmed_steps()
        progress = Progress.UNKNOWN if unknown else Progress.PARTIAL if steps else Progress.NOT_EXECUTED
        return Fail(
            Failure(
                stage=stage,
                code=code,
                explanation=explanation.localized(self.locale),
                source_code=source_code,
                helpful_action="" if helpful_action is None else helpful_action.localized(self.locale),
                retryable=retryable,
                progress=progress,
                confirmed_steps=steps,
                request_id=self.command.request_id,
            )
        )

    def context_size(self) -> int:
        """Bytes of the JSON form of what planning reads: memory, facts and open tasks; bounded (requirement H2)."""
        memory = self.memory
        context: dict[str, Any] = {
            "referents": [[r.kind, r.identity, r.display_name] for r in memory.referents],
            "artifacts": [[a.kind, a.artifact_id, a.version, a.title, a.valid, a.settled] for a in memory.artifacts],
            "facts": [[f.name, dict(f.value), f.source, f.scope] for f in memory.facts],
            "tasks": [
                [task.tool, {slot.name: slot.display for slot in task.slots.values()}]
                for task in self.plan.tasks
                if task.state in (TaskState.OPEN, TaskState.CALLED)
            ],
        }
        return len(canonical_json(context))
