"""What makes a played case useful, and the figures of many. Pure; called by run and by the report.

A case is useful when every turn of it is: the right tools in order and no other, none that is forbidden, the right
ending and question, the expected values shown, nothing claimed that is forbidden, nothing changed unapproved.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.cli.evaluation.cases import OPTIONAL, Case, Ending, Turn
from gateway.cli.evaluation.playing import Seen

# Reads that serve the tool beside them: where the user is, and the check before a plan or a draft is shown.
SUPPORTING: Final = frozenset({"get_position", "validate_flight_plan", "validate_change"})


@dataclass(frozen=True, slots=True)
class Scored:
    """A case with what came of it; `wrong` has a line for each thing that was not as expected."""

    case: Case
    seen: tuple[Seen, ...]
    wrong: tuple[str, ...]

    @property
    def useful(self) -> bool:
        return not self.wrong

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of all its runs, in order."""
        return tuple(code for each in self.seen for code in each.codes)


@dataclass(frozen=True, slots=True)
class Figures:
    """Several cases together. A ratio is None where nothing was there to divide.

    Args:
        useful: useful cases.
        asked: questions that were asked where one is right or wrong; `asked_rightly` those for an expected slot.
        expected: questions that had to be asked.
        p50_seconds, p95_seconds: of the turns' durations.
    """

    cases: int
    useful: int
    asked: int
    asked_rightly: int
    expected: int
    turns: int
    generations: int
    prompt_tokens: int
    p50_seconds: float
    p95_seconds: float
    codes: Mapping[str, int]

    @property
    def useful_share(self) -> float | None:
        return _share(self.useful, self.cases)

    @property
    def clarification_precision(self) -> float | None:
        """Of the questions that were asked, those that had to be."""
        return _share(self.asked_rightly, self.asked)

    @property
    def clarification_recall(self) -> float | None:
        """Of the questions that had to be asked, those that were."""
        return _share(self.asked_rightly, self.expected)


def score(case: Case, seen: Sequence[Seen], trouble: str = "") -> Scored:
    """Judge a played case; `trouble` is why it was not played to its end (its deadline)."""
    wrong: list[str] = []
    for number, turn in enumerate(case.turns):
        where = f"turn {number + 1}: " if len(case.turns) > 1 else ""
        if number >= len(seen):
            wrong.append(f"{where}not played{f': {trouble}' if trouble else ''}")
            break
        wrong += [where + each for each in judge(turn, seen[number])]
    return Scored(case, tuple(seen), tuple(wrong))


def judge(turn: Turn, seen: Seen) -> list[str]:
    """What was not as the turn expects, a line each; empty when all was."""
    if seen.trouble:
        return [seen.trouble]
    wrong = []
    if seen.ending not in turn.endings:
        codes = f" ({', '.join(seen.codes)})" if seen.codes else ""
        came = seen.ending.value if seen.ending else "nothing"
        slot = f" of {seen.asked or 'an artifact'}" if seen.asked is not None else ""
        wrong.append(f"ended with {came}{slot}{codes}, expected {' or '.join(turn.endings)}")
    elif turn.expected_slots and seen.asked not in turn.expected_slots:
        wrong.append(f"asked for {seen.asked or 'an artifact'}, expected {turn.clarification}")
    if turn.code is not None and turn.code not in seen.codes:
        wrong.append(f"code {', '.join(seen.codes) or 'none'}, expected {turn.code}")
    # A question that may be asked before anything is done leaves the rest for later turns.
    may_be_open = turn.clarification == OPTIONAL and seen.ending is Ending.CLARIFICATION
    if turn.tools is not None and not tools_match(turn.tools, seen.tools, unfinished=may_be_open):
        wrong.append(f"tools {' '.join(seen.tools) or 'none'}, expected {' '.join(turn.tools) or 'none'}")
    wrong += [f"{tool} changed something without an approval" for tool in seen.unapproved]
    ran = [tool for tool in turn.forbidden_tools if tool in seen.tools]
    wrong += [f"forbidden tool {tool} was started" for tool in ran]
    if not may_be_open:
        missing = [(slot, texts) for slot, texts in turn.slots.items() if not any(shows(seen.shown, t) for t in texts)]
        wrong += [f"{slot} {' or '.join(texts)} is not shown" for slot, texts in missing]
    wrong += [f"claims {claim!r}" for claim in turn.forbidden_claims if shows(seen.said, claim)]
    return wrong


def tools_match(expected: Sequence[str], started: Sequence[str], *, unfinished: bool = False) -> bool:
    """Whether the started tools are the expected ones in order; supporting reads may stand between them.

    An expected name may have alternatives ("a|b"). `unfinished`: the last ones may be missing.
    """
    wanted = [set(each.split("|")) for each in expected]
    place = 0
    for tool in started:
        if place < len(wanted) and tool in wanted[place]:
            place += 1
        elif tool not in SUPPORTING:
            return False
    return unfinished or place == len(wanted)


def shows(texts: Iterable[str], wanted: str) -> bool:
    """Whether a text has the wanted words, in any case and spacing; they begin a word, and a number is that number."""
    words = r"\s+".join(re.escape(word) for word in wanted.casefold().split())
    before = r"(?<![\w.,])" if wanted[0].isdigit() else r"(?<!\w)" if wanted[0].isalnum() else ""
    after = r"(?!\d|[.,]\d)" if wanted[-1].isdigit() else ""
    pattern = re.compile(before + words + after)
    return any(pattern.search(text.casefold()) for text in texts)


def figures(results: Sequence[Scored]) -> Figures:
    """The figures of these cases."""
    asked = rightly = expected = 0
    for result in results:
        for number, turn in enumerate(result.case.turns):
            expected += bool(turn.expected_slots)
            slot = result.seen[number].asked if number < len(result.seen) else None
            if slot is None or turn.clarification == OPTIONAL:
                continue
            asked += 1
            rightly += slot in turn.expected_slots
    turns = [each for result in results for each in result.seen]
    durations = sorted(each.seconds for each in turns if not each.trouble)
    return Figures(
        cases=len(results),
        useful=sum(result.useful for result in results),
        asked=asked,
        asked_rightly=rightly,
        expected=expected,
        turns=len(turns),
        generations=sum(each.generations for each in turns),
        prompt_tokens=sum(each.prompt_tokens for each in turns),
        p50_seconds=percentile(durations, 50),
        p95_seconds=percentile(durations, 95),
        codes=dict(sorted(Counter(code for result in results for code in result.codes).items())),
    )


def percentile(ascending: Sequence[float], percent: int) -> float:
    """The nearest-rank percentile of sorted values; 0 of none."""
    if not ascending:
        return 0.0
    return ascending[max(math.ceil(len(ascending) * percent / 100) - 1, 0)]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
