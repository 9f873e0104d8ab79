"""Rows of 'Action' and 'Publishing to something shared'. Read by rules.py."""

from __future__ import annotations

from tests.soundness import rows_workspaces as workspaces
from tests.soundness.rule import (
    ACCESS,
    ACTION,
    CLAIM,
    CLOSE,
    COMPARE,
    DECIDE,
    DECISIONS,
    EXECUTE,
    LOOP,
    MISTAKES,
    OBSERVE,
    PUBLISHING,
    RECORD,
    RUN_TOOL,
    SETTLING,
    STOP,
    Removal,
    Rule,
)

ROWS = (
    Rule(
        "serializable_claim",
        "Comparison and claim are one serializable transaction that locks every row it compares.",
        "handrail_storage/sqlite_engine.py::writer_engine",
        (
            Removal(
                "handrail_storage/sqlite_engine.py",
                'begin="BEGIN IMMEDIATE"',
                'begin="BEGIN"',
                (f"{ACTION}test_serializable_claim",),
            ),
        ),
    ),
    Rule(
        "tombstone",
        "Cancel and supersede write a tombstone; Decide and the claim check it in their own transaction.",
        f"{CLOSE}::CancelInteraction",
        (
            Removal(
                CLOSE,
                "        tx.interactions.close(command.interaction_id)\n",
                "",
                (f"{ACTION}test_tombstone", f"{MISTAKES}test_tombstone_for_a_worker_that_stood_still"),
            ),
            Removal(
                CLAIM,
                "    if interaction.closed:\n        raise InteractionClosed(command.interaction_id)\n",
                "",
                (f"{ACTION}test_tombstone", f"{ACTION}test_tombstone_and_claim_race_to_one_consistent_end"),
            ),
            Removal(
                DECIDE,
                "    if interaction is not None and interaction.closed:\n",
                "    if False:\n",
                (f"{ACTION}test_tombstone",),
            ),
        ),
    ),
    Rule(
        "confirm_stop",
        "`canceled` is told only after the Adapter has answered which calls had begun, with their outcomes.",
        f"{LOOP}stop_interaction.py::StopAnInteraction",
        (
            Removal(
                f"{LOOP}stop_interaction.py",
                "        if not context.domain_session_id and not lost:\n",
                "        if not lost:\n",
                (f"{STOP}test_confirm_stop",),
            ),
        ),
    ),
    Rule(
        "close_names_all",
        "The answer to a close names every call in the ledger, and the Loop records all of them.",
        f"{CLOSE}::CancelInteraction",
        (
            Removal(
                CLOSE,
                "tx.calls.executions_of(command.interaction_id)",
                "tuple(e for e in tx.calls.executions_of(command.interaction_id) if e.outcome_bytes)",
                (f"{ACTION}test_close_names_all",),
            ),
            Removal(
                f"{LOOP}stop_interaction.py",
                "            record = records.setdefault(call.tool_call_id, self._adopted(step, call))\n",
                "            if call.tool_call_id not in records:\n                continue\n"
                "            record = records[call.tool_call_id]\n",
                (f"{STOP}test_close_names_all_and_the_loop_records_all",),
            ),
        ),
    ),
    Rule(
        "fence_interaction",
        "The lease epoch is counted per interaction, never starts again, and reaches the Adapter.",
        f"{ACCESS}::check_access",
        (
            Removal(
                ACCESS,
                "        if access.epoch < interaction.epoch:\n",
                "        if False:\n",
                (f"{ACTION}test_fence_interaction",),
            ),
            Removal(
                "loop_service/domain/interaction.py",
                "        self.owner = owner\n        self.epoch += 1\n",
                "        self.owner = owner\n        self.epoch = 1\n",
                (f"{STOP}test_fence_interaction_the_epoch_only_rises_and_every_call_carries_it",),
            ),
        ),
    ),
    Rule(
        "durable_claim",
        "The tool is called only after the claim is durable on the medium that a restart reads.",
        f"{EXECUTE}::ExecuteTool",
        (
            Removal(
                "handrail_storage/writer.py",
                "                self._committing = True\n                root.commit()\n",
                "                self._committing = True\n                _resolve(group)\n"
                "                threading.Event().wait(0.5)\n                root.commit()\n",
                (f"{ACTION}test_durable_claim",),
            ),
        ),
    ),
    Rule(
        "addressed_verdict",
        "A resolution names its approval and digest; one for a closed approval changes nothing.",
        f"{OBSERVE}::_resolve_approval",
        (
            Removal(
                OBSERVE,
                "    if resolved.digest != approval.digest:\n",
                "    if False:\n",
                (f"{ACTION}test_addressed_verdict",),
            ),
            Removal(
                f"{LOOP}resolve_approval.py",
                "        if match is DigestMatch.NEVER_ISSUED:\n",
                "        if False:\n",
                (f"{STOP}test_addressed_verdict_of_another_digest_changes_nothing",),
            ),
        ),
    ),
    Rule(
        "blocked_final",
        "A block is recorded against its call and key and is final; a new approval brings a new key.",
        f"{RECORD}::record_refusal",
        (
            Removal(
                RECORD,
                "    if known is None:\n        tx.calls.add_execution(settled, command.domain, now)\n",
                "    if known is None:\n        pass\n",
                (f"{ACTION}test_blocked_final",),
            ),
        ),
    ),
    Rule(
        "live_attempt",
        "A claimed key with an attempt still running is attached to, never presumed dead.",
        f"{CLAIM}::_take_over",
        (
            Removal(
                EXECUTE,
                "        attempt = self._live.get(command.tool_call_id)\n        if attempt is not None:\n",
                "        attempt = None\n        if attempt is not None:\n",
                (f"{ACTION}test_live_attempt",),
            ),
            Removal(
                CLAIM,
                "    if not known.is_orphan(now):\n",
                "    if False:\n",
                (f"{ACTION}test_live_attempt_of_another_process_is_left_alone_until_its_lease_lapses",),
            ),
            Removal(
                CLAIM,
                "        if still_running and call.effect.needs_approval:\n",
                "        if False:\n",
                (f"{ACTION}test_live_attempt_whose_time_out_could_not_be_recorded",),
            ),
        ),
    ),
    Rule(
        "recheck_recovery",
        "Repeating an idempotent tool after a crash passes the whole comparison again.",
        f"{CLAIM}::recheck",
        (
            Removal(
                CLAIM,
                "    return unknown if closed or refused is not None else None\n",
                "    return None\n",
                tuple(f"{ACTION}test_recheck_recovery[{c}]" for c in ("expired", "policy", "content", "closed")),
            ),
            Removal(
                CLAIM,
                "    if call.effect.needs_approval and not call.idempotent and claimed.orphan:\n",
                "    if False:\n",
                (f"{ACTION}test_recheck_recovery_of_a_tool_that_is_not_idempotent_is_unknown",),
            ),
            Removal(
                CLAIM,
                "    if claimed.orphan and call.effect.needs_approval and state is ExecutionState.FAILED:\n",
                "    if False:\n",
                (f"{PUBLISHING}test_a_repetition_that_fails_says_nothing_about_the_first_attempt",),
            ),
        ),
    ),
    Rule(
        "timeout_unknown",
        "A time-out after the claim is unknown, not failed.",
        f"{RUN_TOOL}::_timed_out",
        (
            Removal(
                RUN_TOOL,
                'ToolEnded(ExecutionState.UNKNOWN, unknown_trouble(domain, claimed.call, "tool_timeout"))',
                'ToolEnded(ExecutionState.FAILED, unknown_trouble(domain, claimed.call, "tool_timeout"))',
                (f"{ACTION}test_timeout_unknown",),
            ),
        ),
    ),
    Rule(
        "settle_dead",
        "A person settles only what no live attempt can still change; an attempt whose lease lapsed does not call.",
        "adapter_service/application/settle_execution.py::SettleExecution",
        (
            Removal(
                EXECUTE,
                "            if self._clock() >= claimed.execution.lease_until:\n",
                "            if False:\n",
                (f"{ACTION}test_settle_dead_a_lapsed_attempt_does_not_call",),
            ),
            Removal(
                EXECUTE,
                "        return tool_call_id in self._live or self._functions.is_running(tool_call_id)\n",
                "        return tool_call_id in self._live\n",
                (f"{SETTLING}test_settle_dead_a_function_that_outlived_its_time_is_not_settled_before_it_ends",),
            ),
            Removal(
                "adapter_service/application/settle_execution.py",
                "            raise AttemptLive(call.tool_call_id)\n",
                "            pass\n",
                (
                    f"{SETTLING}test_settle_dead_a_running_attempt_is_not_settled",
                    f"{SETTLING}test_settle_dead_a_foreign_lease_is_not_settled_before_it_lapses",
                ),
            ),
        ),
    ),
    Rule(
        "adapter_clock",
        "Expiry is decided by the Adapter's clock inside the claim; the Loop's timer asks the Adapter.",
        f"{COMPARE}::compare",
        (
            Removal(
                COMPARE,
                "world.now < approval.snapshot.expire_time)",
                "True)",
                (f"{ACTION}test_adapter_clock",),
            ),
            Removal(
                OBSERVE,
                "        if turn.now < approval.snapshot.expire_time:\n",
                "        if False:\n",
                (f"{ACTION}test_adapter_clock_a_timer_that_is_early_gets_the_same_approval_again",),
            ),
            Removal(
                f"{LOOP}act_on.py",
                "        if current is not None and current.digest == outcome.digest:\n            return\n",
                "",
                (f"{STOP}test_adapter_clock_is_asked_by_the_loops_timer",),
            ),
        ),
    ),
    Rule(
        "adopt_fence",
        "The owner of a lease adopts a higher fence only by compare-and-set on its own lease.",
        f"{LOOP}adapter_calls.py::_adopt_fence",
        (
            Removal(
                f"{LOOP}adapter_calls.py",
                "                epoch = await self._adopt_fence(context, epoch, error)\n                continue\n",
                "                raise LeaseLost(context.interaction_id) from error\n",
                (
                    f"{STOP}test_adopt_fence",
                    f"{STOP}test_adopt_fence_calls_side_by_side_adopt_the_same_fence",
                ),
            ),
            Removal(
                f"{LOOP}adapter_calls.py",
                "            raise LeaseLost(context.interaction_id) from refusal\n        return fence\n",
                "            pass\n        return fence\n",
                (f"{STOP}test_adopt_fence_by_nobody_who_lost_the_lease",),
            ),
        ),
    ),
    Rule(
        "target_lock",
        "At most one claimed, unsettled change per target, held through a crash and through unknown.",
        f"{CLAIM}::mismatch",
        (
            Removal(
                CLAIM,
                "    if call.target and tx.calls.target_is_busy(",
                "    if not call.target and tx.calls.target_is_busy(",
                (
                    f"{PUBLISHING}test_target_lock",
                    f"{PUBLISHING}test_target_lock_is_held_through_a_crash_and_through_unknown",
                ),
            ),
        ),
    ),
    Rule(
        "compare_at_write",
        "The live base is compared once more right before the write; a mismatch is a block and uses up the key.",
        f"{CLAIM}::stale_at_write",
        (
            Removal(
                RUN_TOOL,
                "    except BaseChanged as error:\n        if claimed.call.effect.needs_approval:\n            raise\n",
                "    except BaseChanged as error:\n",
                (
                    f"{PUBLISHING}test_compare_at_write",
                    f"{DECISIONS}test_a_mismatch_after_the_claim_is_told_as_a_policy_block",
                ),
            ),
            Removal(
                "tests/fakes/probe_domain.py",
                "        if _sha256(world.board) != context.base_sha256:\n            raise BaseChanged\n",
                "",
                (f"{PUBLISHING}test_compare_at_write",),
            ),
            Removal(
                EXECUTE,
                'command.locale, attempt.report, base or "")',
                'command.locale, attempt.report, "")',
                (f"{PUBLISHING}test_compare_at_write",),
            ),
            *workspaces.COMPARED_AT_WRITE,
        ),
    ),
    Rule(
        "read_set",
        "The claim compares every version that the validation read, not only the artifact.",
        "adapter_service/application/read_set.py::holds",
        (
            Removal(
                COMPARE,
                '    Comparison("read_set", "approval_stale", lambda _, world: not world.validation_outdated),\n',
                "",
                (
                    f"{PUBLISHING}test_read_set",
                    f"{PUBLISHING}test_read_set_of_another_artifact_and_of_the_validator",
                ),
            ),
            Removal(
                "adapter_service/application/decide/load_situation.py",
                "        and holds(tx, domain, found, workspace_sha256)\n",
                "",
                (f"{PUBLISHING}test_read_set", f"{PUBLISHING}test_read_set_is_taken_before_the_validator_runs"),
            ),
            *workspaces.READ,
        ),
    ),
    Rule(
        "probe",
        "After a crash the tool is asked whether the change is there before anything is called again.",
        f"{EXECUTE}::_recover",
        (
            Removal(
                EXECUTE,
                "        if tool is not None and tool.probe is not None and claimed.call.effect.needs_approval:\n",
                "        if False:\n",
                (f"{PUBLISHING}test_probe[memo]", f"{PUBLISHING}test_probe[]"),
            ),
            Removal(
                EXECUTE,
                "            if result is NOT_EXECUTED:\n",
                "            if result is NOT_EXECUTED or result is None:\n",
                (f"{PUBLISHING}test_probe[of another editor]",),
            ),
        ),
    ),
)
