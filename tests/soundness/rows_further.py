"""Rows of 'Further rules'. Read by rules.py."""

from __future__ import annotations

from tests.soundness.rule import (
    CLAIM,
    COMPARE,
    DECIDE,
    DECISIONS,
    ERASURE,
    INPUTS,
    LOOP,
    MISTAKES,
    OBSERVE,
    SETTLING,
    STOP,
    Removal,
    Rule,
)

CLIENT = "loop_service/clients/adapter_client.py"
ERASING = "adapter_service/storage/erasure_store.py"

ROWS = (
    Rule(
        "dispatch_number",
        "The Loop commits a dispatch number before each ExecuteTool.",
        f"{LOOP}execute_calls.py::_dispatch_again",
        (
            Removal(
                f"{LOOP}execute_calls.py",
                "        tx.steps.put_call(raised)\n",
                "",
                (f"{STOP}test_a_dispatch_number_is_committed_before_each_sending",),
            ),
            Removal(
                f"{LOOP}steps.py",
                "        tx.steps.put_call(call)\n",
                "",
                (f"{STOP}test_a_dispatch_number_is_committed_before_each_sending",),
            ),
        ),
    ),
    Rule(
        "second_dispatch",
        "For a tool that is not idempotent, a dispatch of 2 or more without a ledger row is OUTCOME_UNKNOWN.",
        f"{CLAIM}::claim",
        (
            Removal(
                CLAIM,
                "    if changing and command.dispatch_number > 1 and not call.idempotent:\n",
                "    if False:\n",
                (f"{DECISIONS}test_a_second_dispatch_without_a_ledger_row_is_unknown",),
            ),
        ),
    ),
    Rule(
        "no_channel_retries",
        "ExecuteTool has channel retries switched off.",
        f"{CLIENT}::AdapterClient",
        (
            Removal(
                CLIENT,
                "open_channel(target) for",
                'open_channel(target, retry_methods=["handrail.adapter.v1.DomainAdapterService/ExecuteTool"]) for',
                (f"{STOP}test_execute_tool_has_no_channel_retries",),
            ),
        ),
    ),
    Rule(
        "no_ending_without_outcome",
        "No ending of any kind while a dispatched CHANGE or EXTERNAL call lacks an outcome: the run ends `waiting`.",
        "loop_service/domain/decision.py::holds_back_an_ending",
        (
            Removal(
                "loop_service/domain/decision.py",
                "        return self.outcome is None and self.dispatch_number > 0 and self.effect in CHANGING\n",
                "        return False\n",
                tuple(
                    f"{STOP}test_no_ending_while_a_change_lacks_its_outcome[{w}]" for w in ("deadline", "adapter away")
                ),
            ),
            Removal(
                f"{LOOP}stop_interaction.py",
                "            wait_to_settle(work)\n",
                "            self._end(work, step.stop, calls)\n",
                (f"{STOP}test_no_ending_while_a_change_lacks_its_outcome[cancel]",),
            ),
        ),
    ),
    Rule(
        "progress_unknown",
        "Failure.progress also has PROGRESS_UNKNOWN.",
        f"{LOOP}execute_calls.py::finish_calls",
        (
            Removal(
                f"{LOOP}execute_calls.py",
                'fail(work, "tool_outcome_unknown", unknown=True,',
                'fail(work, "tool_outcome_unknown", unknown=False,',
                (f"{STOP}test_an_unknown_outcome_has_its_own_progress",),
            ),
        ),
    ),
    Rule(
        "decision_identity",
        "A decision request is (interaction, number, base plan version, observation bytes); the rest may differ.",
        f"{DECIDE}::_check_number",
        (
            Removal(
                "adapter_service/convert/requests.py",
                "request.observation.SerializeToString(deterministic=True)",
                "request.SerializeToString(deterministic=True)",
                (f"{DECISIONS}test_identity_of_a_decision_request",),
            ),
            Removal(
                DECIDE,
                '            raise DecisionContradiction(number, "another',
                '            DecisionContradiction(number, "another',
                (f"{DECISIONS}test_identity_of_a_decision_request",),
            ),
        ),
    ),
    Rule(
        "verdict_next_number",
        "A verdict on a reply is the observation of number n+1, never a second n.",
        f"{LOOP}reply_verdicts.py::_apply_unclear",
        (
            Removal(
                f"{LOOP}work.py",
                "        interaction.observation_number = interaction.decision_number + 1\n",
                "        interaction.observation_number = interaction.decision_number or 1\n",
                (f"{INPUTS}test_a_verdict_is_the_observation_of_the_next_number",),
            ),
        ),
    ),
    Rule(
        "verdict_without_action",
        "A decision whose reply_verdict is neither answer nor correction changes no plan and carries no action.",
        f"{LOOP}reply_verdicts.py::apply_verdict",
        (
            Removal(
                f"{LOOP}take_decision.py",
                "        classifies = decision.reply_verdict in (\n",
                "        classifies = decision.outcome is None and decision.reply_verdict in (\n",
                tuple(
                    f"{INPUTS}test_a_verdict_without_an_answer_carries_no_action[{v}]"
                    for v in ("a new request", "cancel", "unclear")
                ),
            ),
            Removal(
                DECIDE,
                "        if outcome is None:\n            turn.plan = turn.situation.plan\n",
                "        if outcome is None:\n"
                "            turn.plan = replace(turn.plan, version=command.base_plan_version + 1)\n",
                (f"{INPUTS}test_a_verdict_without_an_answer_changes_no_plan",),
            ),
        ),
    ),
    Rule(
        "monotone_versions",
        "Policy and tool versions are monotone rows read in the claim; a process of another version does not claim.",
        f"{COMPARE}::compare",
        (
            Removal(
                COMPARE,
                '    _same("stored_policy_version", lambda shown: shown.policy_version, '
                "lambda world: world.stored_policy_version),\n",
                "",
                (f"{DECISIONS}test_monotone_versions[policy]",),
            ),
            Removal(
                COMPARE,
                '    _same("stored_tool_version", lambda shown: shown.tool_version, '
                "lambda world: world.stored_tool_version),\n",
                "",
                (f"{DECISIONS}test_monotone_versions[tool]",),
            ),
            Removal(
                "adapter_service/storage/call_store.py",
                "where=versions.c.version < ",
                "where=versions.c.version != ",
                (f"{DECISIONS}test_monotone_versions_are_never_lowered_by_an_older_process",),
            ),
        ),
    ),
    Rule(
        "outer_commit",
        "Durable means the outer commit of a group, never its savepoint.",
        "handrail_storage/writer.py::_run_group",
        (
            Removal(
                "handrail_storage/writer.py",
                '                    _reach(group, "before_commit")\n',
                "                    _resolve(group)\n                    threading.Event().wait(0.5)\n"
                '                    _reach(group, "before_commit")\n',
                (f"{MISTAKES}test_outer_commit",),
            ),
        ),
    ),
    Rule(
        "epoch_carried",
        "ExecuteTool and CancelInteraction carry the epoch; it lives on the interaction row.",
        f"{CLIENT}::AdapterClient",
        (
            Removal(
                CLIENT,
                "            lease_epoch=epoch,\n            tool_call_id=",
                "            lease_epoch=0,\n            tool_call_id=",
                (f"{STOP}test_fence_interaction_the_epoch_only_rises_and_every_call_carries_it",),
            ),
            Removal(
                CLIENT,
                "                    lease_epoch=epoch,\n",
                "                    lease_epoch=0,\n",
                (f"{STOP}test_fence_interaction_the_epoch_only_rises_and_every_call_carries_it",),
            ),
        ),
    ),
    Rule(
        "try_again",
        '"Try again" after an unknown outcome is a new call, key and approval.',
        f"{OBSERVE}::_take_up",
        (
            Removal(
                "adapter_service/domain/plan.py",
                "            replace(task.reopened(slots=False), blocked=0)\n            if task.tool_call_id == tool",
                "            replace(task, blocked=0)\n            if task.tool_call_id == tool",
                (f"{SETTLING}test_try_again_takes_up_the_plan_with_a_new_call_key_and_approval",),
            ),
        ),
    ),
    Rule(
        "wait_from_receipt",
        "`wait.until` is a duration from receipt; clocks of the two services are never compared.",
        f"{LOOP}act_on.py::_wait",
        (
            Removal(
                f"{LOOP}act_on.py",
                "    interaction.wait_until = work.now + length\n",
                "    interaction.wait_until = interaction.create_time + length\n",
                (f"{DECISIONS}test_wait_until_is_a_duration_from_receipt",),
            ),
        ),
    ),
    Rule(
        "authoritative_wake_up",
        "A wake-up is authoritative.",
        f"{OBSERVE}::_wake",
        (
            Removal(
                OBSERVE,
                "            _wake(turn, observation)\n            return None\n",
                '            raise UnexpectedObservation(turn.command.interaction_id, "it is not time yet")\n',
                (f"{DECISIONS}test_a_wake_up_is_authoritative",),
            ),
        ),
    ),
    Rule(
        "signal_limit",
        "Every wait for a signal has a limit.",
        f"{LOOP}act_on.py::_wait",
        (
            Removal(
                f"{LOOP}act_on.py",
                "    if length is None or not timedelta(0) < length <= MOST_WAIT",
                "    length = length or MOST_WAIT\n    if not timedelta(0) < length <= MOST_WAIT",
                (f"{DECISIONS}test_every_wait_for_a_signal_has_a_limit",),
            ),
        ),
    ),
    Rule(
        "cursor_history",
        "Cursors carry the Loop's history id; another id is OUT_OF_RANGE.",
        "loop_service/domain/errors.py::check_cursor",
        (
            Removal(
                "loop_service/domain/errors.py",
                "    if history_id and history_id != kept.history_id:\n",
                "    if False:\n",
                ("tests/grpc/loop/test_cursors.py::test_a_cursor_of_another_history_is_out_of_range",),
            ),
        ),
    ),
    Rule(
        "ledger_outlives",
        "Ledger rows and tombstones outlive every row that can name them.",
        f"{ERASING}::SqlErasure",
        (
            Removal(
                ERASING,
                ".values(closed=True, plan=",
                ".values(plan=",
                (f"{ERASURE}test_ledger_rows_and_tombstones_outlive_what_names_them",),
            ),
            Removal(
                ERASING,
                "    Statement(delete(facts).where(facts.c.domain_session_id == _SESSION)),\n",
                "    Statement(delete(executions).where(executions.c.interaction_id.in_(_INTERACTIONS))),\n",
                (f"{ERASURE}test_ledger_rows_and_tombstones_outlive_what_names_them",),
            ),
        ),
    ),
    Rule(
        "approval_keeps_artifacts",
        "An open approval keeps its artifacts.",
        f"{ERASING}::SqlErasure",
        (
            Removal(
                ERASING,
                '        ~exists().where(artifact_versions.c.sha256 == bindparam("sha256")),\n',
                "",
                (f"{ERASURE}test_an_open_approval_keeps_its_artifacts",),
            ),
            Removal(
                "adapter_service/application/artifact_retention.py",
                "        if _may_go_on(tx, interaction, plan):\n",
                "        if False:\n",
                (
                    "tests/grpc/adapter/test_adapter_retention.py::test_an_open_approval_keeps_its_artifact_until_it_ends",
                ),
            ),
        ),
    ),
    Rule(
        "parallel_reads",
        "`call_tool` carries calls[]: READ calls of one step run together, their outcomes being one observation.",
        f"{LOOP}execute_calls.py::ExecuteCalls",
        (
            Removal(
                "adapter_service/application/decide/next_step.py",
                "        calls += _other_reads(turn)\n",
                "        pass\n",
                (f"{DECISIONS}test_reads_of_one_step_run_together_and_are_one_observation",),
            ),
            Removal(
                f"{LOOP}execute_calls.py",
                "        tasks = [asyncio.ensure_future(self._execute_one(step, call)) for call in step.calls]\n",
                "        done = [await self._execute_one(step, call) for call in step.calls]\n"
                "        tasks = [asyncio.ensure_future(asyncio.sleep(0, each)) for each in done]\n",
                (f"{DECISIONS}test_reads_of_one_step_run_together_and_are_one_observation",),
            ),
        ),
    ),
)
