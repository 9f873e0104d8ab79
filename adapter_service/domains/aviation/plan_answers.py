"""What the tools about flight plans say about their results: sentences, citations, referents, limitations (F3, F4).

Called by the tool declarations. Only the filing tool claims a filing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from adapter_service.domains.aviation.answers import DOCUMENT_TYPE, is_russian, known_airport, minute, plural_ru
from adapter_service.domains.aviation.catalogue import find_airport
from adapter_service.domains.aviation.planner.follow_ups import topic_referent
from adapter_service.domains.aviation.planner.plan_tasks import PLAN_TOPIC
from adapter_service.domains.aviation.planner.references import AIRPORT
from adapter_service.domains.aviation.questions import field_name
from adapter_service.domains.aviation.resolvers import display_value
from adapter_service.sdk import EntityCitation, Finding, Referent, Severity, Text


def summarise_plan(plan: Mapping[str, Any], locale: str) -> str:
    """A plan in one line, as a dispatcher reads it: what is known of it, then what was assumed."""
    russian = is_russian(locale)
    parts = [_shown(field, plan[field], russian) for field in _READING_ORDER if plan.get(field) not in (None, "", [])]
    ends = [known_airport(plan.get(field)) for field in ("departure_icao", "destination_icao")]
    if ends != ["?", "?"]:
        parts.insert(sum(plan.get(field) is not None for field in _READING_ORDER[:2]), " – ".join(ends))
    text = ", ".join(parts) or ("пока пуст" if russian else "nothing is known yet")
    assumed = ", ".join(field_name(item["field"]).localized(locale) for item in plan.get("assumptions", ()))
    if not assumed:
        return f"{text}."
    return f"{text}. {'Принято по умолчанию' if russian else 'Assumed'}: {assumed}."


_READING_ORDER: Final = (
    "aircraft_id",
    "aircraft_type",
    "departure_time",
    "cruising_speed",
    "level",
    "route",
    "total_eet_minutes",
    "endurance_minutes",
    "persons_on_board",
    "alternate_icaos",
    "flight_rules",
    "flight_type",
    "wake_category",
    "equipment",
    "other_information",
)
# How a value is told where it does not speak for itself ("A320", "N0450").
_TOLD: Final = {
    "departure_time": ("departing {}", "вылет {}"),
    "route": ("route {}", "маршрут {}"),
    "total_eet_minutes": ("{} en route", "в пути {}"),
    "endurance_minutes": ("endurance {}", "запас топлива {}"),
    "persons_on_board": ("{} on board", "на борту {}"),
    "alternate_icaos": ("alternate {}", "запасной {}"),
    "flight_rules": ("rules {}", "правила {}"),
    "flight_type": ("type of flight {}", "вид полёта {}"),
    "wake_category": ("wake {}", "след {}"),
    "equipment": ("equipment {}", "оборудование {}"),
}


def _shown(field: str, value: Any, russian: bool) -> str:
    if field == "alternate_icaos":
        text = ", ".join(known_airport(icao) for icao in value)
    else:
        text = minute(value) if field == "departure_time" else display_value(field, value)
    return _TOLD.get(field, ("{}", "{}"))[russian].format(text)


def title_plan(plan: Any) -> str:
    """The plan's artifact title: callsign and ends, as far as known."""
    ends = [plan.get("departure_icao") or "?", plan.get("destination_icao") or "?"]
    callsign = plan.get("aircraft_id")
    return " ".join(["Flight plan", *([callsign] if callsign else []), "–".join(ends)])


def say_draft(plan: Any, locale: str) -> str:
    """A draft is there; it is no filing."""
    head = "Черновик плана полёта составлен" if is_russian(locale) else "A flight plan is drafted"
    return f"{head}: {summarise_plan(plan, locale)}"


def say_revision(plan: Any, locale: str) -> str:
    """The plan has a new version."""
    head = "План полёта изменён" if is_russian(locale) else "The flight plan was changed"
    return f"{head}: {summarise_plan(plan, locale)}"


def cite_plan(plan: Any) -> tuple[EntityCitation, ...]:
    """The airports of a plan."""
    ends = [plan.get("destination_icao"), plan.get("departure_icao"), *plan.get("alternate_icaos", ())]
    return tuple(EntityCitation(DOCUMENT_TYPE, icao) for icao in ends if icao)


def refer_plan(plan: Any) -> tuple[Referent, ...]:
    """ "There" after a plan is its destination."""
    ends = [plan.get("destination_icao"), plan.get("departure_icao")]
    return topic_referent(PLAN_TOPIC), *(Referent(AIRPORT, icao, known_airport(icao)) for icao in ends if icao)


def say_warnings(warnings: Sequence[Text], locale: str) -> str:
    """Warnings that forbid nothing, in one line; "" for none."""
    told = " ".join(warning.localized(locale) for warning in warnings)
    return told and f"{'Замечания' if is_russian(locale) else 'Warnings'}: {told}"


def say_findings(findings: Any, locale: str) -> str:
    """What the validation found, errors first."""
    checked: Sequence[Finding] = findings
    errors = [finding for finding in checked if finding.severity is Severity.ERROR]
    warnings = [finding for finding in checked if finding.severity is not Severity.ERROR]
    notes = say_warnings([finding.message for finding in warnings], locale)
    if errors:
        told = " ".join(finding.message.localized(locale) for finding in errors)
        if is_russian(locale):
            noun = plural_ru(len(errors), "ошибка", "ошибки", "ошибок")
            return f"Проверка плана полёта: {len(errors)} {noun}. {told} {notes}".strip()
        noun = "error" if len(errors) == 1 else "errors"
        return f"Validation of the flight plan: {len(errors)} {noun}. {told} {notes}".strip()
    passed = "План полёта прошёл проверку." if is_russian(locale) else "The flight plan passed validation."
    return f"{passed} {notes}".strip()


def _filed_flight(receipt: Mapping[str, Any]) -> str:
    """The flight in a filed message: "DLH4AB EDDH–EDDM" (items 7, 13 and 16)."""
    items = _FPL_ITEMS.match(receipt["fpl"])
    return f"{items['callsign']} {items['departure']}–{items['destination']}" if items else ""


_FPL_ITEMS: Final = re.compile(
    r"\(FPL-(?P<callsign>\w+)-.*?^-(?P<departure>[A-Z0-9]{4})\d{4}$.*?^-(?P<destination>[A-Z0-9]{4})\d{4}",
    re.DOTALL | re.MULTILINE,
)


def say_filing(receipt: Any, locale: str) -> str:
    """The receipt of a filing; only this tool claims it. The plan itself was told when it was drafted and approved."""
    time, flight = minute(receipt["filed_time"]), _filed_flight(receipt)
    if is_russian(locale):
        return f"План полёта{f' {flight}' if flight else ''} подан {time}, квитанция {receipt['filing_id']}."
    return f"The flight plan{f' {flight}' if flight else ''} was filed at {time}, receipt {receipt['filing_id']}."


def cite_filing(receipt: Any) -> tuple[EntityCitation, ...]:
    """The ends of the filed flight."""
    items = _FPL_ITEMS.match(receipt["fpl"])
    ends = [items["destination"], items["departure"]] if items else []
    return tuple(EntityCitation(DOCUMENT_TYPE, icao) for icao in ends if find_airport(icao) is not None)


def limit_filing(_receipt: Any, locale: str) -> tuple[str, ...]:
    """The outbox is a folder, no air traffic services unit."""
    if is_russian(locale):
        return ("Сообщение записано в папку исходящих; органу обслуживания воздушного движения оно не передано.",)
    return ("The message was written to the outbox folder; no air traffic services unit has received it.",)
