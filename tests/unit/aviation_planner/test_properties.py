"""Properties of the planner: no text makes it raise, and clauses compose for any place of the catalogue."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter_service.domains.aviation.catalogue import airports
from adapter_service.domains.aviation.planner.clauses import split_clauses
from adapter_service.domains.aviation.planner.plan_fields import LABELS, read_plan_fields
from adapter_service.sdk import (
    ArtifactSummary,
    Memory,
    OpenQuestion,
    Proposal,
    Referent,
    ReplyVerdict,
    ResultFill,
    TaskSummary,
    TextFill,
)

from .notation import propose

VOCABULARY = """
    weather route nearest airport airports from to at in near the it there then and not no file flight plan change level
    FL350 350 450 knots A320 DABC1 tomorrow 14:00 km 100 within of Berlin Munich JFK 52.52, 13.40 ( ) , . ? — me my
    погода маршрут ближайший аэропорт аэропорты из в на до от там туда оттуда план полёта подай измени эшелон нет не а
    Берлина Мюнхен узлов человек завтра борт второй cancel отмена yes да
"""
WORDS = VOCABULARY.split()
MEMORY = Memory(
    referents=(Referent("airport", "EGLL", "London Heathrow Airport (EGLL)"),),
    artifacts=(ArtifactSummary("flight_plan", "art_1", 1, "Flight plan", valid=True, settled=False),),
)
TASKS = (TaskSummary("t1", "revise_flight_plan", "open", {}), TaskSummary("t2", "build_route", "open", {}))
QUESTION = OpenQuestion("t1", "revise_flight_plan", "level", ("One (EGLL), London, GB", "Two (EGKK), London, GB"))
# City names that could not be read as anything else: one word, letters only, known by an IATA code.
CITIES = sorted(
    {a.city for a in airports().values() if a.iata and a.city.isalpha() and a.city.isascii() and len(a.city) > 5}
)
CODES = sorted(icao for icao, airport in airports().items() if airport.iata and icao.isalpha())

any_text = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))


class Failures(logging.Handler):
    """Collects what the planner caught at its boundary: a text must not get that far."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(scope="module", autouse=True)
def failures() -> Iterator[Failures]:
    handler = Failures()
    logger = logging.getLogger("adapter_service.domains.aviation.planner.planner")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def check_shape(proposal: Proposal) -> None:
    names = [task.name for task in proposal.tasks]
    assert len(set(names)) == len(names)
    for index, task in enumerate(proposal.tasks):
        for fill in task.fills.values():
            if isinstance(fill, ResultFill):
                assert fill.task in names[:index]
    if proposal.verdict is ReplyVerdict.NEW_REQUEST:
        assert proposal.tasks or proposal.reply is not None
        assert not proposal.patches
    if proposal.verdict is ReplyVerdict.CORRECTION:
        assert proposal.tasks or proposal.patches
    if proposal.verdict is ReplyVerdict.CANCEL:
        assert not proposal.tasks


@settings(max_examples=60)
@given(text=any_text)
def test_any_text_gets_a_proposal(failures: Failures, text: str) -> None:
    begun = propose(text, MEMORY)
    assert begun.verdict is ReplyVerdict.NEW_REQUEST
    check_shape(begun)
    check_shape(propose(text, MEMORY, begins=False, question=QUESTION, tasks=TASKS))
    check_shape(propose(text, MEMORY, begins=False, approval_open=True, tasks=TASKS))
    assert not failures.records


@settings(max_examples=100)
@given(any_text)
def test_clauses_and_fields_come_from_the_text(text: str) -> None:
    for clause in split_clauses(text):
        assert clause.text in text
    fields = read_plan_fields(text)
    assert len(fields.rest) == len(text)
    assert set(fields.values) <= set(LABELS)


WEATHER = ("weather at {0}", "what's the weather like in {0}?", "show me the weather for {0}, please", "wind at {0}")
ROUTES = (
    "route from {0} to {1}",
    "how far is it from {0} to {1}",
    "build a route between {0} and {1}",
    "fly from {0} to {1}",
)
JOINS = (", then ", " and then ", ". ", "; ", ", and ")


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.sampled_from(WEATHER + ROUTES), st.sampled_from(CITIES), st.sampled_from(CODES)),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(JOINS),
)
def test_clauses_compose(parts: list[tuple[str, str, str]], join: str) -> None:
    """Any request, joined with any other in any order, gives the tasks of each."""
    expected = []
    for template, city, code in parts:
        if "{1}" in template:
            expected.append(("build_route", {"departure_icao": TextFill(city), "destination_icao": TextFill(code)}))
        else:
            expected.append(("get_weather", {"icao": TextFill(city)}))
    text = join.join(template.format(city, code) for template, city, code in parts)
    assert [(task.tool, dict(task.fills)) for task in propose(text).tasks] == expected


FIELDS = {
    "level": ("at FL350", "FL350"),
    "cruising_speed": ("450 knots", "450 knots"),
    "aircraft_type": ("type A320", "A320"),
    "aircraft_id": ("callsign DABC1", "DABC1"),
    "endurance_minutes": ("endurance 5:30", "5:30"),
    "persons_on_board": ("120 on board", "120"),
    "departure_time": ("tomorrow at 14:00", "tomorrow at 14:00"),
    "departure_icao": ("from {0}", "{0}"),
    "destination_icao": ("to {1}", "{1}"),
}


@settings(max_examples=50)
@given(st.permutations(sorted(FIELDS)), st.integers(1, len(FIELDS)), st.sampled_from(CITIES), st.sampled_from(CODES))
def test_flight_plan_fields_in_any_order(order: list[str], count: int, city: str, code: str) -> None:
    """Any subset of the fields, in any order, fills exactly these slots."""
    chosen = order[:count]
    text = "draft a flight plan " + ", ".join(FIELDS[field][0].format(city, code) for field in chosen)
    draft = propose(text).tasks[0]
    assert draft.tool == "draft_flight_plan"
    assert dict(draft.fills) == {field: TextFill(FIELDS[field][1].format(city, code)) for field in chosen}
