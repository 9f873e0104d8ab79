"""The aviation domain in one value: tools, resolvers, artifact kinds, planner, and the checks of its answers (I1, F4).

Called by the package's `create_domain`, which the Adapter finds through the entry point `handrail.domains`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from adapter_service.domains.aviation.catalogue import find_airport
from adapter_service.domains.aviation.planner import AviationPlanner
from adapter_service.domains.aviation.resolvers import resolvers
from adapter_service.domains.aviation.tools_airports import AIRPORT_TOOLS, ROUTE
from adapter_service.domains.aviation.tools_flight_plans import (
    DRAFT_TOOL,
    PLAN_KIND,
    REVISE_TOOL,
    VALIDATE_TOOL,
    filing_tool,
)
from adapter_service.domains.aviation.tools_weather import weather_tools
from adapter_service.domains.aviation.warming import INDEXES
from adapter_service.domains.aviation.weather_reports import ReportFolder
from adapter_service.sdk import ArtifactKind, Claim, DeclarationError, Domain, DomainEnvironment, Text

OUTBOX_SETTING: Final = "HANDRAIL_AVIATION_OUTBOX"
WEATHER_SETTING: Final = "HANDRAIL_AVIATION_WEATHER_DIR"
# Raised with every change of what a tool may do or who may approve it.
POLICY_VERSION: Final = 1

# A code in brackets behind a name may have digits; standing free it has four capitals, so that "A320" and "F350" are
# none.
_IDENTITY: Final = re.compile(r"(?<![\w/-])[A-Z]{4}(?![\w/])|(?<=\()[A-Z0-9]{4}(?=\))")

_CLAIMS: Final = (
    Claim(
        tool="file_flight_plan",
        pattern=re.compile(
            r"\b(?<!not )(?<!be )(?:filed|submitted)\b|(?<!не )(?<!не был )(?<!будет )\bподан(?:а|о|ы)?\b",
            re.IGNORECASE,
        ),
    ),
    Claim(
        tool="build_route",
        pattern=re.compile(
            r"\broute (?:was |is |has been )?(?:built|drawn)\b|\bbuilt (?:a|the) route\b|"
            r"\bмаршрут (?!не )(?:был )?(?:построен|проложен)\b|\b(?:построен|проложен) маршрут\b",
            re.IGNORECASE,
        ),
        artifact=True,
    ),
    Claim(
        tool="revise_flight_plan",
        pattern=re.compile(
            r"\bplan (?:was |is |has been )?(?:changed|revised|updated)\b|"
            r"\bплан(?: пол[её]та)? (?!не )(?:был )?(?:измен[её]н|обновл[её]н|исправлен)\b",
            re.IGNORECASE,
        ),
        artifact=True,
    ),
    Claim(
        tool="draft_flight_plan",
        pattern=re.compile(
            r"\bplan (?:was |is |has been )?drafted\b|\bплан(?:а)?(?: пол[её]та)? (?!не )(?:был )?составлен\b",
            re.IGNORECASE,
        ),
        artifact=True,
    ),
)


def identities(text: str) -> frozenset[str]:
    """ICAO codes of the catalogue that a text names; other capitals ("ICAO", "METAR") are no identities."""
    return frozenset(code for code in _IDENTITY.findall(text) if find_airport(code) is not None)


def create_domain(environment: DomainEnvironment) -> Domain:
    """The domain, at once: its place indexes are still being built in the background (warming.py).

    Its outbox is under the domain's folder or where HANDRAIL_AVIATION_OUTBOX says; with HANDRAIL_AVIATION_WEATHER_DIR
    the weather comes from reports in that folder, and there is a forecast. Raises DeclarationError where one of these
    places is a file.
    """
    weather = _weather_folder(environment)
    domain = Domain(
        name="aviation",
        title=Text("Aviation", "Авиация"),
        version="1.0.0",
        policy_version=POLICY_VERSION,
        tools=(
            *AIRPORT_TOOLS,
            *weather_tools(weather),
            *(DRAFT_TOOL, VALIDATE_TOOL, REVISE_TOOL, filing_tool(_outbox(environment))),
        ),
        planner=AviationPlanner(has_forecasts=weather is not None),
        resolvers=resolvers(),
        artifact_kinds=(ArtifactKind(name=ROUTE, title=Text("route", "маршрут")), PLAN_KIND),
        identities=identities,
        claims=_CLAIMS,
    )
    INDEXES.start()
    return domain


def _outbox(environment: DomainEnvironment) -> Path:
    setting = environment.settings.get(OUTBOX_SETTING, "").strip()
    outbox = Path(setting) if setting else environment.data_dir / "outbox"
    if outbox.exists() and not outbox.is_dir():
        raise DeclarationError(f"{OUTBOX_SETTING} must name a folder, and {outbox} is a file")
    return outbox


def _weather_folder(environment: DomainEnvironment) -> ReportFolder | None:
    """A folder that is not there yet is no mistake: reports may come later."""
    setting = environment.settings.get(WEATHER_SETTING, "").strip()
    if not setting:
        return None
    folder = Path(setting)
    if folder.exists() and not folder.is_dir():
        raise DeclarationError(f"{WEATHER_SETTING} must name a folder, and {folder} is a file")
    return ReportFolder(folder)
