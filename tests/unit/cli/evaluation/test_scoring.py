"""What makes a turn right, rule by rule; and the figures of several cases."""

from __future__ import annotations

import pytest

from gateway.cli.evaluation.cases import Case, Ending, Turn
from gateway.cli.evaluation.playing import Seen
from gateway.cli.evaluation.scoring import figures, judge, percentile, score, shows, tools_match

DONE = Seen(Ending.COMPLETED)


def _case(*turns: Turn, case_id: str = "a", held_out: bool = False) -> Case:
    return Case(case_id, "aviation", "en", held_out, "weather", turns)


@pytest.mark.parametrize(
    ("turn", "seen", "wrong"),
    [
        (Turn(say="q"), DONE, []),
        (
            Turn(say="q"),
            Seen(Ending.FAILED, codes=("tool_failed",)),
            ["ended with failed (tool_failed), expected completed"],
        ),
        (Turn(say="q", ending=(Ending.FAILED,)), Seen(Ending.FAILED), []),
        (Turn(say="q", ending=(Ending.FAILED,), code="tool_failed"), Seen(Ending.FAILED, codes=("tool_failed",)), []),
        (
            Turn(say="q", ending=(Ending.FAILED,), code="tool_failed"),
            Seen(Ending.FAILED),
            ["code none, expected tool_failed"],
        ),
        (Turn(say="q", tools=("a",)), Seen(Ending.COMPLETED, ("a",)), []),
        (Turn(say="q", tools=("a",)), DONE, ["tools none, expected a"]),
        (Turn(say="q"), Seen(Ending.COMPLETED, ("a",)), ["tools a, expected none"]),
        (Turn(say="q", tools="any"), Seen(Ending.COMPLETED, ("a", "b")), []),
        (
            Turn(say="q", tools="any", forbidden_tools=("b",)),
            Seen(Ending.COMPLETED, ("a", "b")),
            ["forbidden tool b was started"],
        ),
        (Turn(say="q", clarification="icao"), Seen(Ending.CLARIFICATION, asked="icao"), []),
        (
            Turn(say="q", clarification="icao"),
            Seen(Ending.CLARIFICATION, asked="level"),
            ["asked for level, expected icao"],
        ),
        (Turn(say="q", clarification="icao|level"), Seen(Ending.CLARIFICATION, asked="level"), []),
        (Turn(say="q", clarification="icao"), DONE, ["ended with completed, expected clarification"]),
        (
            Turn(say="q"),
            Seen(Ending.CLARIFICATION, asked="icao"),
            ["ended with clarification of icao, expected completed"],
        ),
        (Turn(say="q", slots={"icao": ("EDDM",)}), Seen(Ending.COMPLETED, shown=("Munich (EDDM)",)), []),
        (
            Turn(say="q", slots={"icao": ("EDDM",)}),
            Seen(Ending.COMPLETED, shown=("Berlin",)),
            ["icao EDDM is not shown"],
        ),
        (Turn(say="q", slots={"x": ("80", "129")}), Seen(Ending.COMPLETED, shown=("within 129 km",)), []),
        (
            Turn(say="q", forbidden_claims=("is filed",)),
            Seen(Ending.COMPLETED, said=("It Is  filed.",)),
            ["claims 'is filed'"],
        ),
        # What a tool reports is no claim of the answer.
        (Turn(say="q", forbidden_claims=("is filed",)), Seen(Ending.COMPLETED, shown=("is filed",)), []),
        # A question that may come first leaves tools and values for later.
        (
            Turn(say="q", tools=("a",), slots={"x": ("1",)}, clarification="optional"),
            Seen(Ending.CLARIFICATION, asked="y"),
            [],
        ),
        (Turn(say="q", tools=("a",), clarification="optional"), DONE, ["tools none, expected a"]),
        (
            Turn(say="q", tools=("a",), clarification="optional"),
            Seen(Ending.CLARIFICATION, ("b",), asked="y"),
            ["tools b, expected a"],
        ),
        (
            Turn(say="q", tools=("a",)),
            Seen(Ending.COMPLETED, ("a",), unapproved=("a",)),
            ["a changed something without an approval"],
        ),
        (Turn(do="approve"), Seen(trouble="no approval is open"), ["no approval is open"]),
    ],
)
def test_what_is_wrong_with_a_turn(turn: Turn, seen: Seen, wrong: list[str]) -> None:
    assert judge(turn, seen) == wrong


@pytest.mark.parametrize(
    ("expected", "started", "right"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", "b"], ["b", "a"], False),
        (["a", "b"], ["a"], False),
        (["a"], ["a", "a"], False),
        (["a|b"], ["b"], True),
        (["search_airports"], ["get_position", "search_airports"], True),
        (["get_position"], ["get_position"], True),
        (["draft_flight_plan"], ["draft_flight_plan", "validate_flight_plan"], True),
        ([], ["get_position"], True),
        ([], ["publish_change"], False),
    ],
)
def test_tools_in_order(expected: list[str], started: list[str], right: bool) -> None:
    assert tools_match(expected, started) is right


@pytest.mark.parametrize(
    ("text", "wanted", "found"),
    [
        ("port: 8080", "8080", True),
        ("port: 18080", "8080", False),
        ("1.5 km", "5", False),
        ("5 km", "5", True),
        ("2.", "2", True),
        ("2.5", "2", False),
        ("Аэропорты Исландии", "исланди", True),
        ("unfiled", "filed", False),
        ("replicas:   4", "replicas: 4", True),
        ("replicas: 40", "replicas: 4", False),
        ("(EDDM)", "eddm", True),
    ],
)
def test_a_value_is_shown_as_a_word_or_a_whole_number(text: str, wanted: str, found: bool) -> None:
    assert shows([text], wanted) is found


def test_a_case_is_useful_when_every_turn_is_and_names_the_turn_that_is_not() -> None:
    case = _case(Turn(say="q"), Turn(say="r", tools=("a",)))
    assert score(case, [DONE, Seen(Ending.COMPLETED, ("a",))]).useful
    assert score(case, [DONE, DONE]).wrong == ("turn 2: tools none, expected a",)
    assert score(case, [DONE], "no end within 20 s").wrong == ("turn 2: not played: no end within 20 s",)


def test_precision_and_recall_count_questions_not_cases() -> None:
    asks, answers, may = Turn(say="q", clarification="icao"), Turn(say="q"), Turn(say="q", clarification="optional")
    results = [
        score(_case(asks), [Seen(Ending.CLARIFICATION, asked="icao")]),
        score(_case(asks), [Seen(Ending.CLARIFICATION, asked="level")]),
        score(_case(asks), [DONE]),
        score(_case(answers), [Seen(Ending.CLARIFICATION, asked="icao")]),
        score(_case(answers), [DONE]),
        score(_case(may), [Seen(Ending.CLARIFICATION, asked="icao")]),
        # Not played: the question that had to come did not.
        score(_case(asks), []),
    ]
    found = figures(results)
    assert (found.asked, found.asked_rightly, found.expected) == (3, 1, 4)
    assert found.clarification_precision == pytest.approx(1 / 3)
    assert found.clarification_recall == pytest.approx(1 / 4)
    assert (found.cases, found.useful) == (7, 3)
    assert figures([]).clarification_precision is None


def test_figures_add_up_generations_tokens_codes_and_durations() -> None:
    seen = [
        Seen(Ending.COMPLETED, codes=("b", "a"), generations=1, prompt_tokens=100, seconds=0.1),
        Seen(Ending.COMPLETED, codes=("a",), generations=2, prompt_tokens=50, seconds=0.3),
    ]
    found = figures([score(_case(Turn(say="q"), Turn(say="r")), seen)])
    assert (found.turns, found.generations, found.prompt_tokens) == (2, 3, 150)
    assert dict(found.codes) == {"a": 2, "b": 1}
    assert (found.p50_seconds, found.p95_seconds) == (0.1, 0.3)


@pytest.mark.parametrize(("percent", "value"), [(50, 10), (95, 19), (100, 20), (1, 1)])
def test_percentiles_are_of_the_nearest_rank(percent: int, value: int) -> None:
    assert percentile(range(1, 21), percent) == value
