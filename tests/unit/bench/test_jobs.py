"""Jobs and outcomes survive their way between processes, and splitting loses nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench.jobs import Approval, Job, Outcome, split, together

JOB = Job("127.0.0.1:1", "resume", 5, 11, 3.5, ("conv_1",), (Approval("apr_1", "d1"), Approval("apr_2", "d2")))


def test_values_survive_their_lines() -> None:
    outcome = Outcome(1.0, 2.0, 0.5, [0.1, 0.2], 3, 4, 1, "UNAVAILABLE", [Approval("apr_1", "d1")])
    assert Job.from_json(JOB.to_json()) == JOB
    assert Outcome.from_json(outcome.to_json()) == outcome
    assert "\n" not in JOB.to_json() + outcome.to_json()


@given(st.integers(1, 300), st.integers(1, 5000), st.integers(1, 8))
def test_a_split_job_is_the_whole_job(clients: int, rounds: int, processes: int) -> None:
    approvals = tuple(Approval(f"apr_{n}", "d") for n in range(rounds))
    conversations = tuple(f"conv_{n}" for n in range(clients))
    parts = split(Job("t", "resume", clients, rounds, 1.0, conversations, approvals), processes)
    assert len(parts) == min(clients, rounds, processes)
    assert sum(part.clients for part in parts) == clients
    assert sum(part.rounds for part in parts) == rounds
    # Each process finds an approval for each of its rounds and a conversation for each of its clients.
    assert all(len(part.approvals) == part.rounds and len(part.conversations) == part.clients for part in parts)
    assert sorted(a.approval_id for part in parts for a in part.approvals) == sorted(a.approval_id for a in approvals)


def test_outcomes_of_processes_side_by_side() -> None:
    first = Outcome(10.0, 12.0, 1.0, [0.1], 2, 20, 0, "", [Approval("apr_1", "d1")])
    second = Outcome(10.5, 13.0, 0.5, [0.2, 0.3], 3, 30, 1, "UNAVAILABLE away", [])
    both = together([first, second])
    assert (both.started, both.ended, both.cpu, both.latencies) == (10.0, 13.0, 1.5, [0.1, 0.2, 0.3])
    assert (both.calls, both.messages, both.failures, both.first_failure) == (5, 50, 1, "UNAVAILABLE away")
    assert both.approvals == [Approval("apr_1", "d1")]
