"""Every rule of soundness.md: what it says, where it lives, the tests that fail without it, and how to take it away.

A removal is the smallest change of the sources after which a rule does not hold any more, with the tests that must
fail then. `python -m tests.soundness.removals` applies each of them to a copy of the tree and demands just that.
"""

from __future__ import annotations

from tests.soundness.rows_action import ROWS as ACTION_ROWS
from tests.soundness.rows_bytes import ROWS as BYTES_ROWS
from tests.soundness.rows_further import ROWS as FURTHER_ROWS
from tests.soundness.rows_inputs import ROWS as INPUT_ROWS
from tests.soundness.rows_restored import ROWS as RESTORED_ROWS
from tests.soundness.rule import ACTION, DECISIONS, DIGESTS, MISTAKES, RESTORED, Rule

RULES: tuple[Rule, ...] = (*ACTION_ROWS, *RESTORED_ROWS, *INPUT_ROWS, *BYTES_ROWS, *FURTHER_ROWS)

NAMED = (
    "adapter_clock", "addressed_verdict", "adopt_fence", "blocked_final", "close_names_all", "close_question",
    "compare_at_write", "confirm_stop", "diverged_ends", "drain_first", "durable_claim", "fence_interaction",
    "first_writer", "history", "history_first", "inbox", "live_attempt", "loop_restore", "mailbox",
    "observation_first", "probe", "read_set", "recheck_recovery", "request_in_tx", "serializable_claim", "settle_dead",
    "supersede_in_decide", "target_lock", "timeout_unknown", "tombstone", "verdict_cas",
)  # fmt: skip
"""The names in brackets of soundness.md."""

SENTENCES = (
    "explicit_object", "normalised_on_entry", "never_normalised_within", "no_canonical_form", "safe_range",
    "renewed_history", "dispatch_number", "second_dispatch", "no_channel_retries", "no_ending_without_outcome",
    "progress_unknown", "decision_identity", "verdict_next_number", "verdict_without_action", "canonicalised_once",
    "snapshot_bytes", "target_and_base", "monotone_versions", "outer_commit", "epoch_carried", "try_again",
    "wait_from_receipt", "authoritative_wake_up", "signal_limit", "cursor_history", "ledger_outlives",
    "approval_keeps_artifacts", "parallel_reads",
)  # fmt: skip
"""Our names for the sentences of 'Digests' and 'Further rules' that have none."""

LIKELY_MISTAKES = {
    "two connections with a barrier after the comparison": f"{ACTION}test_serializable_claim",
    "SIGKILL between savepoint and commit": f"{MISTAKES}test_outer_commit",
    "the stream dropped in mid-tool": f"{ACTION}test_live_attempt",
    "a tool that sleeps past its timeout and then writes": f"{ACTION}test_timeout_unknown",
    "block, revert the policy, repeat the same bytes": f"{ACTION}test_blocked_final",
    "SIGSTOP the worker before the call, cancel, SIGCONT": f"{MISTAKES}test_tombstone_for_a_worker_that_stood_still",
    "kill after the Adapter's commit, new text, restart":
        f"{MISTAKES}test_observation_first_killed_after_the_adapters_commit",
    "put an older database file back": f"{RESTORED}test_history",
    "round-trip a snapshot with nanoseconds": f"{DIGESTS}test_a_snapshot_is_stored_and_forwarded_as_its_bytes",
    "retry with other budgets": f"{DECISIONS}test_identity_of_a_decision_request",
}  # fmt: skip
"""The list that closes soundness.md, and the test of each."""
