"""What to say to each domain so that the suite meets every promise: data alone. Used by test_domain_suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adapter_service.domain_registry import DomainSource
from adapter_service.domains import aviation, conformance, workbench
from adapter_service.domains.workbench.domain import FOLDER_SETTING
from tests.domains.tutorial import create_tutorial_domain
from tests.fakes.probe_domain import World, make_domain
from tests.unit.workbench_planner.folder import make_folder


@dataclass(frozen=True)
class DomainScript:
    """One domain. Texts are in English unless they say otherwise.

    Args:
        create: makes the domain; gets a folder for what it needs besides its own.
        read: a request that one READ tool answers; read_tool: that tool.
        missing: a request in which `missing_slot` is missing; missing_answer: a text that fills it.
        choice: a request that leads to a closed list.
        invalid: a request for a change whose draft fails validation; mend: by slot, what mends it.
        change: a request that reaches an approval; change_tool: the CHANGE or EXTERNAL tool; change_answers: by slot.
        comment: changes that a person asks for instead of approving.
        settings: environment variables; gets the same folder.
        russian: whether titles and questions are written in Russian, too.
    """

    name: str
    create: Callable[[Path], DomainSource]
    read: str
    read_tool: str
    missing: str
    missing_slot: str
    missing_answer: str
    choice: str
    invalid: str
    mend: Mapping[str, str]
    change: str
    change_tool: str
    comment: str
    change_answers: Mapping[str, str] = field(default_factory=dict)
    settings: Callable[[Path], Mapping[str, str]] = lambda _folder: {}
    russian: bool = True


FLIGHT_PLAN = (
    "File a flight plan from EDDB to EDDM for DABC1 tomorrow at 14:00{level} 450 knots A320, "
    "endurance 3 hours, 100 persons on board"
)

PROBE = DomainScript(
    name="probe",
    create=lambda _folder: make_domain(World()),
    read="look Berlin",
    read_tool="look",
    missing="look",
    missing_slot="place",
    missing_answer="Paris",
    choice="look London",
    invalid="write memo then post",
    mend={"level": "3"},
    change="write memo at 3 then post",
    change_tool="post_note",
    comment="actually level 9",
)
AVIATION = DomainScript(
    name="aviation",
    create=lambda _folder: aviation.create_domain,
    read="weather at Heathrow",
    read_tool="get_weather",
    missing="weather",
    missing_slot="icao",
    missing_answer="Heathrow",
    choice="Build a route from Berlin Brandenburg to San Jose",
    invalid=FLIGHT_PLAN.format(level=""),
    mend={"level": "FL350"},
    change=FLIGHT_PLAN.format(level=" at FL350"),
    change_tool="file_flight_plan",
    comment="change the level to FL330",
)
TUTORIAL = DomainScript(
    name="incident_desk",
    create=create_tutorial_domain,
    read="list_incidents",
    read_tool="list_incidents",
    missing="draft_incident severity=low",
    missing_slot="service",
    missing_answer="mail",
    choice="draft_incident mail",
    invalid="draft_incident mail critical; file_incident",
    mend={"summary": "The queue is stuck"},
    change="draft_incident mail low; file_incident",
    change_tool="file_incident",
    comment="severity=high",
    russian=False,
)
CONFORMANCE = DomainScript(
    name="conformance",
    create=lambda _folder: conformance.create_domain,
    read="probe_read key=one",
    read_tool="probe_read",
    missing="probe_ask",
    missing_slot="subject",
    missing_answer="maps",
    choice="probe_pick red",
    invalid="probe_draft memo; probe_publish",
    mend={"level": "3"},
    change="probe_draft memo level=3; probe_publish",
    change_tool="probe_publish",
    comment="level=9",
    russian=False,
)


def _workspace(folder: Path) -> Mapping[str, str]:
    """A workspace in which "payments" is a service and a team."""
    workspace = folder / "workspace"
    make_folder(workspace)
    service = (workspace / "services" / "billing.yaml").read_text("utf-8").replace("name: billing", "name: payments")
    (workspace / "services" / "payments.yaml").write_text(service, "utf-8")
    return {FOLDER_SETTING: str(workspace)}


WORKBENCH = DomainScript(
    name="workbench",
    create=lambda _folder: workbench.create_domain,
    settings=_workspace,
    read="show checkout",
    read_tool="read_document",
    missing="change checkout",
    missing_slot="field",
    missing_answer="replicas",
    choice="show payments",
    invalid="set replicas to 30 in checkout and publish it",
    mend={"value": "5"},
    change="set replicas to 3 in checkout and publish it",
    change_tool="publish_change",
    comment="set replicas to 4",
)

SCRIPTS = (PROBE, AVIATION, WORKBENCH, TUTORIAL, CONFORMANCE)
