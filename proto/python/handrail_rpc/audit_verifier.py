"""Verifies the hash chain of an audit trail and names the rows that do not fit (E6). Used by VerifyAudit and the CLI.

Rows are fed newest first, from the head down to the first, so that forged rows cannot pass for the trail: what the head
commits to is the trail, and each row of it commits to the one before. Memory does not grow with the trail.

What is told apart, by which row a hash leads to: a row whose content does not fit its hash is *edited*; a number whose
row is nowhere is *removed* (also where the rows behind moved up); a row that nothing of the trail leads to is
*inserted*; a row whose hash fits its content under another number is *reordered*. What cannot be told apart:

- A row rewritten together with its own hash: the row behind it does not follow any more, and either of the two may
  have been changed. It is reported at the row behind, naming both; of the last row, as not fitting the head.
- The row behind one that is missing, or whose hash was changed, cannot be checked by itself, as the hash it was
  computed with is gone; only the missing or changed row is named then.
- Removed rows at the end together with a head that was put back consistently, and a whole trail rewritten with its
  head: nothing inside the database tells. Only a head kept outside (`handrail audit verify --head`) does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from handrail_rpc import audit_chain as chain
from handrail_rpc.audit_chain import ChainRow, Fault, Finding, Head, Verdict, finding

MOST_FINDINGS = 100
MOST_SUSPECTS = 150
LOOK_AHEAD = 64
_MOST_SHIFT = 2000
_NEAR_SHIFT = 32


@dataclass(slots=True)
class _Link:
    """A row of the trail, by the number it was written under; or the head (`row` None), or the start (number 0)."""

    number: int
    written: int
    hash: str
    row: ChainRow | None = None

    @property
    def shift(self) -> int:
        return self.written - self.number

    def follows(self, previous_hash: str) -> bool:
        """Whether this was computed behind a row with that hash."""
        if self.row is None:
            return previous_hash == self.hash
        return self.row.hash_as(self.written, previous_hash) == self.hash


@dataclass(slots=True)
class _Break:
    """A place where the chain does not hold: between two links, the rows found there and the numbers that belong there.

    `follows` is False where the upper link does not follow from anything that was found.
    """

    upper: _Link
    lower: _Link
    rows: list[ChainRow]
    follows: bool

    @property
    def numbers(self) -> range:
        return range(self.lower.written + 1, self.upper.written)

    def in_place(self, row: ChainRow) -> tuple[int, int]:
        """The numbers that a row here would have been written under if it had not been moved."""
        return row.number + self.upper.shift, row.number + self.lower.shift


@dataclass(slots=True)
class _Search:
    """What the second pass looks for: under which number each suspect was written. `shifts` is ordered downwards."""

    shifts: list[tuple[int, int]] = field(default_factory=list)
    found: dict[int, int] = field(default_factory=dict)


class ChainVerifier:
    """`feed` every row, newest first; `end`; where `wants_search`, `search` with every row again; then `verdict`."""

    def __init__(self, head: Head | None) -> None:
        """`head` None: the newest row that is fed is taken for it, so a missing end cannot be found."""
        self._head = head
        self._rows: deque[ChainRow] = deque()
        self._top: _Link | None = None
        self._lost: list[ChainRow] | None = None
        self._breaks: list[_Break] = []
        self._direct: list[Finding] = []
        self._search = _Search()
        self._checked = 0
        self._suspects = 0
        self._overflow = False
        self._newest = Head(0, "")
        self._lowest = 0

    def feed(self, rows: Iterable[ChainRow]) -> None:
        """Take rows with ever smaller numbers."""
        for row in rows:
            self._checked += 1
            if row.number < 1 or (self._lowest and row.number >= self._lowest):
                self._report(finding(row.number, Fault.INSERTED, chain.INSERTED))
                continue
            self._lowest = row.number
            if self._top is None:
                self._begin(row)
            self._rows.append(row)
            while len(self._rows) > LOOK_AHEAD:
                self._step(self._rows[1].hash)

    def end(self) -> None:
        """Every row was fed."""
        if self._top is None:
            self._begin(None)
        while self._rows:
            self._step(self._rows[1].hash if len(self._rows) > 1 else "")
        start = _Link(0, 0, "")
        top = self._link
        if self._lost is not None:
            self._close(start, follows=False)
        elif not top.follows("") or top.written != 1:
            self._break(_Break(top, start, [], follows=False))
        elif top.shift:
            self._report(finding(top.number, Fault.REORDERED, chain.REORDERED, top.written))

    @property
    def newest(self) -> Head:
        """Of the newest row that was fed."""
        return self._newest

    @property
    def wants_search(self) -> bool:
        """Whether there are rows whose own number is to be looked for."""
        return any(each.rows or (not each.follows and each.upper.row is not None) for each in self._breaks)

    def search(self, rows: Iterable[ChainRow]) -> None:
        """Every row again, in any order: which of them is the one before a suspect?"""
        suspects = [row for row in self._suspected() if row.number not in self._search.found]
        for row in rows:
            behind = row.number + self._shift_at(row.number) + 1
            for suspect in suspects:
                if suspect.fits(behind, row.hash):
                    self._search.found[suspect.number] = behind

    def verdict(self) -> Verdict:
        """What was found."""
        self._search_among_suspects()
        wanted = {number for each in self._breaks for number in each.numbers[:MOST_SUSPECTS]}
        placed = {w for number, w in self._search.found.items() if w in wanted}
        findings = list(self._direct)
        for each in self._breaks:
            findings += self._judge(each, wanted, placed)
        if self._breaks and not findings:
            upper = self._breaks[0].upper
            findings.append(finding(upper.number, Fault.EDITED, chain.EDITED))
        findings.sort(key=lambda each: (each.number, each.fault))
        valid = not findings and not self._overflow
        return Verdict(valid, self._checked, self._newest, tuple(findings[:MOST_FINDINGS]))

    # --- the walk down the chain

    @property
    def _link(self) -> _Link:
        assert self._top is not None  # `_begin` has set it before anything else
        return self._top

    def _begin(self, newest: ChainRow | None) -> None:
        if newest is not None:
            self._newest = Head(newest.number, newest.hash)
        head = self._head or self._newest
        number = self._newest.number + 1
        self._top = _Link(number, head.number + 1, head.hash)
        self._search.shifts.append((number, self._top.shift))

    def _step(self, below: str) -> None:
        """Judge the uppermost row in hand; `below` is the hash of the row under it."""
        top, row = self._link, self._rows[0]
        if self._lost is not None:
            written = self._written(row, top, below)
            if written is None:
                self._lost.append(self._rows.popleft())
                if len(self._lost) > MOST_SUSPECTS:
                    self._overflow = True
                    self._lost.pop()
            else:
                self._close(_Link(row.number, written, row.hash, row), follows=False)
                self._rows.popleft()
        elif top.follows(row.hash):
            self._go_on(top, row, below)
        elif not self._skip(top) and not self._mend_hash(top, row, below):
            self._lost = []

    def _go_on(self, top: _Link, row: ChainRow, below: str) -> None:
        """The row is the one before `top`."""
        written = top.written - 1
        if top.row is None and written != row.number and row.fits(row.number, below):
            self._report(finding(row.number, Fault.EDITED, chain.HEAD_NUMBER, written))
            written = row.number
        link = _Link(row.number, written, row.hash, row)
        if link.shift != top.shift and top.row is not None:
            self._report(finding(top.number, Fault.REORDERED, chain.REORDERED, top.written))
        self._descend(link)
        self._rows.popleft()

    def _skip(self, top: _Link) -> bool:
        """Rows too many stand between `top` and the row before it: they were inserted, or come from elsewhere."""
        for index in range(1, min(len(self._rows), LOOK_AHEAD)):
            row = self._rows[index]
            link = _Link(row.number, top.written - 1, row.hash, row)
            if abs(link.shift) < abs(top.shift) and top.follows(row.hash):
                self._break(_Break(top, link, [self._rows.popleft() for _ in range(index)], follows=True))
                self._rows.popleft()
                self._descend(link)
                return True
        if top.written == 1 and top.shift < 0 and top.follows("") and len(self._rows) <= LOOK_AHEAD:
            # Nothing of the trail is left: what stands here, down to the first number, was put in.
            self._break(_Break(top, _Link(0, 0, ""), list(self._rows), follows=True))
            self._rows.clear()
            self._top = _Link(1, 1, "")
            return True
        return False

    def _mend_hash(self, top: _Link, row: ChainRow, below: str) -> bool:
        """Only the hash of the row was changed: the one its content has leads on."""
        computed = row.hash_as(top.written - 1, below)
        if not computed or not top.follows(computed):
            return False
        self._report(finding(row.number, Fault.EDITED, chain.EDITED))
        self._descend(_Link(row.number, top.written - 1, computed, row))
        self._rows.popleft()
        return True

    def _written(self, row: ChainRow, top: _Link, below: str) -> int | None:
        """The number under which a row fits its hash behind the row under it; None if it does under none."""
        low, high = sorted((0, top.shift))
        low, high = max(low - _NEAR_SHIFT, -_MOST_SHIFT), min(high + _NEAR_SHIFT, _MOST_SHIFT)
        shifts: list[int] = [top.shift, 0, *range(low, high + 1)]
        for shift in shifts:
            written = row.number + shift
            if 0 < written < top.written and row.fits(written, below):
                return written
        return None

    def _close(self, lower: _Link, *, follows: bool) -> None:
        """The chain holds again from `lower` on."""
        rows, self._lost = self._lost or [], None
        self._break(_Break(self._link, lower, rows, follows))
        self._descend(lower)

    def _break(self, found: _Break) -> None:
        self._suspects += len(found.rows) + 1
        if self._suspects > MOST_SUSPECTS and self._breaks:
            self._overflow = True
            return
        self._breaks.append(found)

    def _descend(self, link: _Link) -> None:
        if link.shift != self._search.shifts[-1][1]:
            self._search.shifts.append((link.number, link.shift))
        self._top = link

    def _report(self, found: Finding) -> None:
        if len(self._direct) < MOST_FINDINGS:
            self._direct.append(found)
        else:
            self._overflow = True

    # --- where suspects belong

    def _suspected(self) -> Iterator[ChainRow]:
        for each in self._breaks:
            yield from each.rows
            if not each.follows and each.upper.row is not None:
                yield each.upper.row

    def _shift_at(self, number: int) -> int:
        shift = 0
        for highest, shift_below in self._search.shifts:
            if number > highest:
                break
            shift = shift_below
        return shift

    def _search_among_suspects(self) -> None:
        """The row before a suspect may be a suspect itself, whose own number is not known yet."""
        suspects = list({row.number: row for row in self._suspected()}.values())
        numbers = {number for each in self._breaks for number in each.numbers[:MOST_SUSPECTS]}
        numbers |= {each.upper.written for each in self._breaks}
        for row in suspects:
            if row.number in self._search.found:
                continue
            if row.fits(1, ""):
                self._search.found[row.number] = 1
                continue
            for other in suspects:
                for number in numbers:
                    if row.fits(number, other.hash):
                        self._search.found[row.number] = number

    def _judge(self, each: _Break, wanted: set[int], placed: set[int]) -> list[Finding]:
        findings: list[Finding] = []
        unplaced: list[ChainRow] = []
        for row in each.rows:
            written = self._search.found.get(row.number)
            if written is None:
                unplaced.append(row)
            elif written not in wanted:
                findings.append(finding(row.number, Fault.INSERTED, chain.INSERTED))
            elif written not in each.numbers or written not in each.in_place(row):
                findings.append(finding(row.number, Fault.REORDERED, chain.REORDERED, written))
        missing = [number for number in each.numbers[:MOST_SUSPECTS] if number not in placed]
        self._overflow = self._overflow or len(each.numbers) > MOST_SUSPECTS
        gone = bool(missing or unplaced)
        stray: list[ChainRow] = []
        for row in unplaced:
            number = next((n for n in each.in_place(row) if n in missing), None)
            if number is None:
                stray.append(row)
            else:
                missing.remove(number)
                findings.append(finding(row.number, Fault.EDITED, chain.EDITED))
        for row in stray:
            if missing:
                missing.pop(0)
                findings.append(finding(row.number, Fault.EDITED, chain.EDITED))
            else:
                findings.append(finding(row.number, Fault.INSERTED, chain.INSERTED))
        findings += [finding(number, Fault.REMOVED, chain.REMOVED) for number in missing]
        if not each.follows and not gone:
            findings += self._judge_upper(each)
        return findings

    def _judge_upper(self, each: _Break) -> list[Finding]:
        """The upper link does not follow from the row before it, although that one is there."""
        upper, lower = each.upper, each.lower
        if upper.row is None:
            # Where numbers lie between, the row that the head was computed from stands elsewhere.
            explained = each.rows or each.numbers
            return [] if explained else [finding(lower.number, Fault.EDITED, chain.NOT_THE_HEAD)]
        if self._search.found.get(upper.number) == upper.written:
            return []
        if lower.number == 0:
            return [finding(upper.number, Fault.EDITED, chain.EDITED)]
        return [finding(upper.number, Fault.EDITED, chain.DOES_NOT_FOLLOW, lower.number)]
