"""`Work`: what one unit of work changes of a conversation, gathered and stored together.

State, events, audit rows and the follow-up commit in one transaction or not at all. Use cases make one inside a
transaction, call its methods and `save` at the end.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from loop_service.application.environment import Environment
from loop_service.application.store_ports import Transaction
from loop_service.domain.audit import SYSTEM, AuditEntry, AuditKind
from loop_service.domain.conversation import Conversation, Message, Role
from loop_service.domain.decision import CHANGING, CallRecord, Outcome, PolicyBlock
from loop_service.domain.events import NewEvent, Payload, PolicyBlocked
from loop_service.domain.failures import TEXTS, make_failure
from loop_service.domain.interaction import Interaction
from loop_service.domain.observation import Observation, StoredObservation
from loop_service.domain.run import Run
from loop_service.domain.transitions import Transition, move


class Work:
    """The current interaction and run of a conversation within one transaction."""

    def __init__(
        self,
        tx: Transaction,
        env: Environment,
        conversation: Conversation,
        interaction: Interaction,
        run: Run | None,
        now: datetime,
    ) -> None:
        self.tx = tx
        self.env = env
        self.now = now
        self.conversation = conversation
        self.interaction = interaction
        self._run = run
        self._events: list[NewEvent] = []
        self._audit: list[AuditEntry] = []
        self._interactions: dict[str, Interaction] = {interaction.interaction_id: interaction}
        self._runs: dict[str, Run] = {run.run_id: run} if run else {}
        self.decision_number = interaction.decision_number
        self.decision_id = ""

    @property
    def run(self) -> Run:
        """The run of this work. Raises RuntimeError where none was begun: a fault of the caller."""
        if self._run is None:
            raise RuntimeError("no run has begun in this unit of work")
        return self._run

    @property
    def has_run(self) -> bool:
        return self._run is not None

    def use_run(self, run: Run) -> None:
        self._run = run
        self._runs[run.run_id] = run

    def use_interaction(self, interaction: Interaction) -> None:
        """Go on with another interaction of the conversation; the former one is stored with the rest."""
        self.interaction = interaction
        self._interactions[interaction.interaction_id] = interaction
        self.decision_number = interaction.decision_number
        self.decision_id = ""

    def note_revision(self, session_revision: int) -> None:
        """Remember how far the Adapter's session has come: one that is ever below was put back to an older copy."""
        self.conversation.session_revision = max(self.conversation.session_revision, session_revision)

    @property
    def locale(self) -> str:
        return self.interaction.requester.locale

    def emit(self, payload: Payload, *, outside_run: bool = False, request_id: str = "") -> None:
        run_id = "" if outside_run or self._run is None else self._run.run_id
        request_id = request_id or (self._run.request_id if self._run is not None else "")
        self._events.append(NewEvent(self.interaction.interaction_id, run_id, request_id, payload))

    def move(self, transition: Transition) -> None:
        """Change the state by the table. Raises IllegalTransition; the unit of work is then rolled back."""
        self.emit(move(self.interaction, transition, self.now))

    def audit(
        self,
        kind: AuditKind,
        *,
        actor: str = SYSTEM,
        digest: str = "",
        code: str = "",
        **details: str,
    ) -> None:
        self._audit.append(
            AuditEntry(
                self.interaction.interaction_id,
                self._run.run_id if self._run is not None else "",
                kind,
                actor,
                self.decision_number,
                self.decision_id,
                digest,
                code,
                details,
            )
        )

    def block(self, block: PolicyBlock) -> None:
        """Tell a policy block: information on the way, its own audit row and code, never an execution error (E3)."""
        self.emit(
            PolicyBlocked(block.code, block.rule, block.approval_id, block.lifted_by, block.tool, block.explanation)
        )
        self.audit(
            AuditKind.POLICY_BLOCKED,
            code=block.code,
            rule=block.rule,
            approval_id=block.approval_id,
            tool_call_id=block.tool_call_id,
        )
        self.run.note_code(block.code)

    def observe(self, observation: Observation, *, kind: str, message_id: str = "") -> None:
        """Store the input of the next decision under its number (observation_first)."""
        self.observe_bytes(self.env.codec.encode_observation(observation), kind=kind, message_id=message_id)

    def observe_bytes(self, data: bytes, *, kind: str, message_id: str = "") -> None:
        interaction = self.interaction
        interaction.observation_number = interaction.decision_number + 1
        self.tx.steps.put_observation(
            StoredObservation(
                interaction.interaction_id,
                interaction.observation_number,
                interaction.plan_version,
                kind,
                message_id,
                data,
            ),
            self.run.run_id,
        )

    def say(self, text: str) -> str:
        """Store a message of the assistant; returns its id."""
        message_id = self.env.ids.new("msg")
        self.conversation.message_count += 1
        self.tx.messages.insert(
            Message(
                message_id=message_id,
                conversation_id=self.conversation.conversation_id,
                position=self.conversation.message_count,
                role=Role.ASSISTANT,
                text=text,
                interaction_id=self.interaction.interaction_id,
                create_time=self.now,
                run_id=self.run.run_id,
                locale=self.locale,
            )
        )
        return message_id

    def confirmed_steps(self) -> tuple[bytes, ...]:
        """Steps whose result is stored (G3), oldest first."""
        calls = self.tx.steps.calls_of(self.interaction.interaction_id)
        return tuple(call.step for call in calls if call.step)

    def failure(self, code: str, *, unknown: bool = False, source_code: str = "", **values: str) -> bytes:
        """Bytes of a failure of the catalogue in the requester's language; it says how to settle what is unknown."""
        made = make_failure(
            code,
            self.locale,
            self.run.request_id,
            self.confirmed_steps(),
            unknown=unknown,
            source_code=source_code,
            **values,
        )
        if unknown:
            made = replace(made, helpful_action=self.with_settling(made.helpful_action))
        return self.env.codec.encode_failure(made)

    def unknown_changes(self) -> list[CallRecord]:
        """Calls of the interaction that a person has to settle, oldest first."""
        calls = self.tx.steps.calls_of(self.interaction.interaction_id)
        return [call for call in calls if call.outcome is Outcome.UNKNOWN and call.effect in CHANGING]

    def with_settling(self, helpful_action: str) -> str:
        """`helpful_action`, and how to settle the first change whose outcome is unknown, if there is one."""
        unknown = self.unknown_changes()
        if not unknown:
            return helpful_action
        first = unknown[0]
        settle = TEXTS["settle_it"].of(
            self.locale, interaction_id=first.interaction_id, tool_call_id=first.tool_call_id
        )
        return f"{helpful_action} {settle}".strip()

    def save(self) -> None:
        """Number and store the events and audit rows, then every row that was changed."""
        sequence = self.conversation.last_sequence
        for offset, event in enumerate(self._events, start=1):
            run = self._runs.get(event.run_id)
            if run is not None and not run.first_sequence:
                run.first_sequence = sequence + offset
        self.tx.journal.append(self.conversation, self._events, self._audit, self.now)
        for interaction in self._interactions.values():
            interaction.update_time = self.now
            self.tx.interactions.put(interaction)
        for run in self._runs.values():
            self.tx.runs.put(run)
        self.tx.conversations.save(self.conversation)
        self._events.clear()
        self._audit.clear()
