"""The verifier of audit trails: any single change of any chain is found and named (E6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail_rpc.audit_chain import AUDIT_SCHEME, ChainRow, Fault, Head, Verdict, chained_hash
from handrail_rpc.audit_verifier import LOOK_AHEAD, MOST_FINDINGS, ChainVerifier

BATCH = 7


@dataclass(frozen=True)
class Stored:
    """A row as a table holds it: what a test changes."""

    number: int
    actor: str
    hash: str
    scheme: str = AUDIT_SCHEME

    def members(self) -> dict[str, str | dict[str, str]]:
        return {"actor": self.actor, "details": {"number": "", "previous_hash": ""}, "kind": "k", "run_id": '"number"'}

    def read(self) -> ChainRow:
        return ChainRow(self.number, self.hash, self.scheme, self.members())

    def computed(self, previous: str) -> str:
        return chained_hash(self.members(), self.number, previous, self.scheme)


def trail(length: int, legacy: int = 0) -> list[Stored]:
    """Rows 1 to `length`; the first `legacy` of them are from before there were schemes."""
    rows: list[Stored] = []
    previous = ""
    for number in range(1, length + 1):
        row = Stored(number, f"actor {number}", "", "" if number <= legacy else AUDIT_SCHEME)
        rows.append(replace(row, hash=row.computed(previous)))
        previous = rows[-1].hash
    return rows


def head_of(rows: list[Stored]) -> Head:
    return Head(rows[-1].number, rows[-1].hash) if rows else Head(0, "")


def verify(rows: list[Stored], head: Head | None) -> Verdict:
    newest_first = sorted(rows, key=lambda row: -row.number)
    batches = [newest_first[start : start + BATCH] for start in range(0, len(rows), BATCH)]
    verifier = ChainVerifier(head)
    for batch in batches:
        verifier.feed(row.read() for row in batch)
    verifier.end()
    if verifier.wants_search:
        for batch in reversed(batches):
            verifier.search(row.read() for row in reversed(batch))
    return verifier.verdict()


def named(verdict: Verdict) -> list[tuple[Fault, int]]:
    assert verdict.valid == (not verdict.findings)
    for found in verdict.findings:
        assert str(found.number) in found.text.en
        assert str(found.number) in found.text.ru
    return [(found.fault, found.number) for found in verdict.findings]


def renumbered(rows: list[Stored]) -> list[Stored]:
    return [replace(row, number=number) for number, row in enumerate(rows, start=1)]


# Each change of row `k` of `n`, and what must be named. All hold for any chain.
Change = Callable[[list[Stored], int], list[Stored]]
Named = Callable[[int, int], list[tuple[Fault, int]]]


def edit(rows: list[Stored], k: int) -> list[Stored]:
    return [replace(row, actor="mallory") if row.number == k else row for row in rows]


def edit_hash(rows: list[Stored], k: int) -> list[Stored]:
    return [replace(row, hash="e" * 64) if row.number == k else row for row in rows]


def edit_both(rows: list[Stored], k: int) -> list[Stored]:
    return [replace(row, hash="e" * 64, actor="mallory") if row.number == k else row for row in rows]


def edit_scheme(rows: list[Stored], k: int) -> list[Stored]:
    return [replace(row, scheme="") if row.number == k else row for row in rows]


def rewrite(rows: list[Stored], k: int) -> list[Stored]:
    """The content and the hash that goes with it."""
    changed = edit(rows, k)
    previous = changed[k - 2].hash if k > 1 else ""
    return [replace(row, hash=row.computed(previous)) if row.number == k else row for row in changed]


def remove(rows: list[Stored], k: int) -> list[Stored]:
    return [row for row in rows if row.number != k]


def remove_and_renumber(rows: list[Stored], k: int) -> list[Stored]:
    return renumbered(remove(rows, k))


def insert(rows: list[Stored], k: int) -> list[Stored]:
    return renumbered([*rows[: k - 1], Stored(0, "mallory", "e" * 64), *rows[k - 1 :]])


def insert_well_hashed(rows: list[Stored], k: int) -> list[Stored]:
    forged = Stored(k, "mallory", "")
    forged = replace(forged, hash=forged.computed(rows[k - 2].hash if k > 1 else ""))
    return renumbered([*rows[: k - 1], forged, *rows[k - 1 :]])


def insert_copy(rows: list[Stored], k: int) -> list[Stored]:
    return renumbered([*rows[: k - 1], rows[0], *rows[k - 1 :]]) if k > 2 else insert(rows, k)


def move_away(rows: list[Stored], k: int) -> list[Stored]:
    """To a number behind the end."""
    return [replace(row, number=len(rows) + 5) if row.number == k else row for row in rows]


CHANGES: dict[str, tuple[Change, Named]] = {
    "content edited": (edit, lambda k, n: [(Fault.EDITED, k)]),
    "hash edited": (edit_hash, lambda k, n: [(Fault.EDITED, k)]),
    "content and hash edited": (edit_both, lambda k, n: [(Fault.EDITED, k)]),
    "scheme taken away": (edit_scheme, lambda k, n: [(Fault.EDITED, k)]),
    "rewritten with its hash": (rewrite, lambda k, n: [(Fault.EDITED, min(k + 1, n))]),
    "removed": (remove, lambda k, n: [(Fault.REMOVED, k)]),
    "removed and renumbered": (remove_and_renumber, lambda k, n: [(Fault.REMOVED, k)]),
    "inserted": (insert, lambda k, n: [(Fault.INSERTED, k)]),
    "inserted with a hash that follows": (insert_well_hashed, lambda k, n: [(Fault.INSERTED, k)]),
    "a copy inserted": (insert_copy, lambda k, n: [(Fault.INSERTED, k)]),
    "moved behind the end": (move_away, lambda k, n: [(Fault.REORDERED, n + 5)]),
}


@pytest.mark.parametrize("length", [1, 2, 3, 20, LOOK_AHEAD + 20])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_first_a_middle_and_the_last_row_is_named(change: str, length: int) -> None:
    rows = trail(length, legacy=0)
    apply, expected = CHANGES[change]
    for k in sorted({1, (length + 1) // 2, length}):
        assert named(verify(apply(rows, k), head_of(rows))) == expected(k, length), k


@given(st.data())
@settings(max_examples=60)
def test_any_single_change_of_any_chain_is_found_and_named(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 100))
    rows = trail(length, legacy=data.draw(st.integers(0, length)))
    assert named(verify(rows, head_of(rows))) == []
    change = data.draw(st.sampled_from(sorted(set(CHANGES) - {"scheme taken away"})))
    k = data.draw(st.integers(1, length))
    apply, expected = CHANGES[change]
    assert named(verify(apply(rows, k), head_of(rows))) == expected(k, length)


def swap(rows: list[Stored], i: int, j: int) -> list[Stored]:
    first, second = rows[i - 1], rows[j - 1]
    new = list(rows)
    new[i - 1], new[j - 1] = replace(second, number=i), replace(first, number=j)
    return new


def move(rows: list[Stored], i: int, j: int) -> list[Stored]:
    """Row i to place j; those between move by one."""
    new = [row for row in rows if row.number != i]
    new.insert(j - 1, rows[i - 1])
    return renumbered(new)


@given(st.data())
@settings(max_examples=60)
def test_any_two_rows_that_change_places_are_named(data: st.DataObject) -> None:
    length = data.draw(st.integers(2, 100))
    rows = trail(length)
    i, j = sorted(data.draw(st.lists(st.integers(1, length), min_size=2, max_size=2, unique=True)))
    assert named(verify(swap(rows, i, j), head_of(rows))) == [(Fault.REORDERED, i), (Fault.REORDERED, j)]


@given(st.data())
@settings(max_examples=60)
def test_a_row_that_was_moved_is_named(data: st.DataObject) -> None:
    length = data.draw(st.integers(2, 100))
    rows = trail(length)
    i, j = data.draw(st.lists(st.integers(1, length), min_size=2, max_size=2, unique=True))
    found = named(verify(move(rows, i, j), head_of(rows)))
    assert (Fault.REORDERED, j) in found
    assert {fault for fault, _ in found} == {Fault.REORDERED}


@given(st.data())
@settings(max_examples=50)
def test_no_combination_of_changes_passes_for_valid(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 40))
    rows = original = trail(length)
    for _ in range(data.draw(st.integers(1, 4))):
        change = data.draw(st.sampled_from(sorted(set(CHANGES) - {"scheme taken away", "a copy inserted"})))
        if rows:
            rows = CHANGES[change][0](renumbered(rows), data.draw(st.integers(1, len(rows))))
    found = verify(rows, head_of(original))
    assert found.valid == (sorted(rows, key=lambda row: row.number) == original)
    assert len(found.findings) <= MOST_FINDINGS


def test_a_cut_end_is_found_by_the_head_and_not_without_it() -> None:
    rows = trail(30)
    assert named(verify(rows[:27], head_of(rows))) == [(Fault.REMOVED, n) for n in (28, 29, 30)]
    assert named(verify([], head_of(rows))) == [(Fault.REMOVED, n) for n in range(1, 31)]
    assert named(verify(rows[:27], None)) == []
    # A head of which only one half was put back does not hide it.
    assert named(verify(rows[:27], Head(27, rows[-1].hash))) == [(Fault.EDITED, 27)]
    assert named(verify(rows[:27], Head(30, rows[26].hash))) == [(Fault.EDITED, 27)]
    assert named(verify(rows, Head(27, rows[-1].hash))) == [(Fault.EDITED, 30)]


def test_rows_of_a_rewritten_trail_do_not_lead_to_the_head() -> None:
    rows = trail(10)
    forged = [replace(row, actor="mallory") for row in rows]
    previous = ""
    for index, row in enumerate(forged):
        forged[index] = replace(row, hash=row.computed(previous))
        previous = forged[index].hash
    assert not verify(forged, head_of(rows)).valid
    found = verify(forged, head_of(forged))
    # Consistent to the head: only a head kept outside tells, and it is in the verdict.
    assert found.valid
    assert found.head != head_of(rows)


def test_findings_and_memory_are_bounded_whatever_was_done() -> None:
    rows = trail(3000)
    for changed in (
        [replace(row, hash="e" * 64, actor="m") for row in rows],
        rows[::2],
        [replace(row, number=row.number + 500) for row in rows],
        rows[1000:],
        [row for row in rows if row.number % 7],
    ):
        found = verify(changed, head_of(rows))
        assert not found.valid
        assert 1 <= len(found.findings) <= MOST_FINDINGS
        assert found.checked_rows == len(changed)


def test_rows_that_cannot_be_read_are_edited() -> None:
    rows = trail(5)
    verifier = ChainVerifier(head_of(rows))
    broken = [row.read() if row.number != 3 else ChainRow(3, row.hash, row.scheme, None) for row in reversed(rows)]
    verifier.feed(broken)
    verifier.end()
    verifier.search(broken)
    assert named(verifier.verdict()) == [(Fault.EDITED, 3)]
