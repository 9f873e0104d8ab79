"""Rows of 'Restored databases'. Read by rules.py."""

from __future__ import annotations

from tests.soundness.rule import ACCESS, LOOP, RESTORED, Removal, Rule

HISTORY = "handrail_storage/history.py"

ROWS = (
    Rule(
        "history",
        "Each database has a history id, renewed when it is restored; the Adapter refuses calls of another history.",
        f"{ACCESS}::check_access",
        (
            Removal(
                ACCESS,
                "    if access.history_id != history_id:\n",
                "    if False:\n",
                (f"{RESTORED}test_history",),
            ),
            Removal(
                ACCESS,
                "    if session.revision < access.known_revision:\n",
                "    if False:\n",
                (f"{RESTORED}test_history_of_a_file_swapped_unseen_is_known_by_the_peers_mark",),
            ),
        ),
    ),
    Rule(
        "history_first",
        "The Loop stores the Adapter's history id in the interaction's row before its first Decide.",
        f"{LOOP}advance.py::_open_session",
        (
            Removal(
                f"{LOOP}advance.py",
                "            for row in (work.conversation, work.interaction):\n",
                "            for row in (work.conversation,):\n",
                (f"{RESTORED}test_history_first",),
            ),
        ),
    ),
    Rule(
        "loop_restore",
        "A restored Loop first closes every open interaction at the Adapter and reports the calls that had begun.",
        f"{LOOP}lost_histories.py::EndLostInteractions",
        (
            Removal(
                f"{LOOP}lost_histories.py",
                "            if interaction is None or interaction.is_terminal:\n",
                "            if True:\n",
                (f"{RESTORED}test_loop_restore",),
            ),
        ),
    ),
    Rule(
        "diverged_ends",
        "A contradiction, a gap or another history ends the interaction, every dispatched call unknown.",
        f"{LOOP}endings.py::end_diverged",
        (
            Removal(
                f"{LOOP}adapter_calls.py",
                "            except (FailedPrecondition, NotFound) as error:\n"
                "                raise Diverged(error.reason) from error\n",
                "            except (FailedPrecondition, NotFound) as error:\n"
                "                away, source = True, error.reason\n",
                (
                    f"{RESTORED}test_diverged_ends[HISTORY_DIVERGED]",
                    f"{RESTORED}test_diverged_ends[SESSION_NOT_FOUND]",
                ),
            ),
            Removal(
                f"{LOOP}adapter_calls.py",
                '"LEASE_LOST":\n                    raise Diverged(error.reason) from error\n',
                '"LEASE_LOST":\n                    continue\n',
                (
                    f"{RESTORED}test_diverged_ends[DECISION_GAP]",
                    f"{RESTORED}test_diverged_ends[DECISION_CONTRADICTION]",
                ),
            ),
            Removal(
                f"{LOOP}endings.py",
                "Outcome.UNKNOWN if call.dispatch_number else Outcome.BLOCKED",
                "Outcome.BLOCKED",
                (f"{RESTORED}test_diverged_ends_with_every_dispatched_call_unknown",),
            ),
        ),
    ),
    Rule(
        "renewed_history",
        "A restore renews the history id, checked at start against a marker outside the database.",
        f"{HISTORY}::take_up",
        (
            Removal(
                HISTORY,
                "        why = _why_put_back(history_id, position, marker)\n",
                '        why = ""\n',
                (f"{RESTORED}test_renewed_history", f"{RESTORED}test_history"),
            ),
        ),
    ),
)
