"""Tools about flight plans: draft, validate, revise, file. Called by domain.py.

Filing writes to the outbox once per idempotency key; it is EXTERNAL, approved by a dispatcher, and asked after a
crash (E4).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from adapter_service.domains.aviation import flight_plan as plans
from adapter_service.domains.aviation import flight_plan_check, flight_plan_filing, plan_answers
from adapter_service.domains.aviation.catalogue import data_scope
from adapter_service.domains.aviation.errors import AviationError
from adapter_service.domains.aviation.planner.references import FLIGHT_PLAN
from adapter_service.domains.aviation.questions import change_resolver_of, plan_slots
from adapter_service.domains.aviation.tool_errors import with_tool_errors
from adapter_service.sdk import (
    ApprovalRule,
    ArtifactKind,
    ArtifactOutput,
    Effect,
    Finding,
    Severity,
    Text,
    Tool,
    ToolContext,
)

# The parameters stand in the order in which a dispatcher asks for them; the engine asks in the order of the signature.
PLAN_KIND: Final = ArtifactKind(
    name=FLIGHT_PLAN,
    title=Text("flight plan", "план полёта"),
    validate_tool="validate_flight_plan",
    revise_tool="revise_flight_plan",
)


@with_tool_errors
def draft_flight_plan(
    context: ToolContext,
    departure_icao: str | None = None,
    destination_icao: str | None = None,
    aircraft_id: str | None = None,
    aircraft_type: str | None = None,
    departure_time: str | None = None,
    cruising_speed: str | None = None,
    level: str | None = None,
    endurance_minutes: int | None = None,
    persons_on_board: int | None = None,
    route: str | None = None,
    total_eet_minutes: int | None = None,
    alternate_icaos: list[str] | None = None,
    flight_rules: str | None = None,
    flight_type: str | None = None,
    wake_category: str | None = None,
    equipment: str | None = None,
    other_information: str | None = None,
) -> dict[str, Any]:
    """flight_plan.draft_flight_plan at the Adapter's time; the resolvers have made the values canonical."""
    given = {name: value for name, value in locals().items() if name != "context"}
    return plans.draft_flight_plan(**given, now=context.now)


@with_tool_errors
def revise_flight_plan(
    flight_plan: dict[str, Any],
    context: ToolContext,
    departure_icao: str | None = None,
    destination_icao: str | None = None,
    aircraft_id: str | None = None,
    aircraft_type: str | None = None,
    departure_time: str | None = None,
    cruising_speed: str | None = None,
    level: str | None = None,
    endurance_minutes: int | str | None = None,
    persons_on_board: int | str | None = None,
    route: str | None = None,
    total_eet_minutes: int | str | None = None,
    alternate_icaos: list[str] | None = None,
    flight_rules: str | None = None,
    flight_type: str | None = None,
    wake_category: str | None = None,
    equipment: str | None = None,
    other_information: str | None = None,
) -> dict[str, Any]:
    """flight_plan.revise_flight_plan at the Adapter's time; a quantity may also be a change such as "+2"."""
    given = {name: value for name, value in locals().items() if name not in ("context", "flight_plan")}
    return plans.revise_flight_plan(flight_plan, **given, now=context.now)


@with_tool_errors
def validate_flight_plan(flight_plan: dict[str, Any], context: ToolContext) -> list[Finding]:
    """flight_plan_check.validate_flight_plan at the Adapter's time, as findings of the SDK."""
    return [
        Finding(
            severity=Severity(found["severity"]),
            path=found["path"],
            slot=found["field"] if found["field"] in plans.REVISABLE_FIELDS else "",
            code=found["code"],
            message=Text(found["message_en"], found["message_ru"]),
        )
        for found in flight_plan_check.validate_flight_plan(flight_plan, now=context.now)
    ]


def filing_target(arguments: Mapping[str, Any]) -> str:
    """What a filing changes: the flight, by aircraft, departure and time, whatever artifact describes it."""
    plan = arguments["flight_plan"]
    parts = [str(plan.get(field) or "?") for field in ("aircraft_id", "departure_icao", "departure_time")]
    return "flight/" + "/".join(parts)


def filing_preview(arguments: Mapping[str, Any], locale: str) -> str:
    """The message that would be written, the fields in words, and what the validation warned of."""
    plan = arguments["flight_plan"]
    summary = plan_answers.summarise_plan(plan, locale)
    try:
        message = flight_plan_filing.to_fpl_message(plan)
        warnings = flight_plan_check.lasting_warnings(plan)
    except AviationError:
        # An approval is asked for validated plans only; a plan without a message is shown by its fields.
        return summary
    told = plan_answers.say_warnings([Text(found["message_en"], found["message_ru"]) for found in warnings], locale)
    return "\n\n".join(filter(None, (message, summary, told)))


def _draft_output() -> ArtifactOutput:
    return ArtifactOutput(
        kind=FLIGHT_PLAN,
        media_type="application/json",
        title=plan_answers.title_plan,
        content=lambda plan: plan,
        sources=lambda _plan: (str(data_scope()["note_en"]),),
    )


DRAFT_TOOL: Final = Tool(
    name="draft_flight_plan",
    function=draft_flight_plan,
    effect=Effect.DRAFT,
    title=Text("Draft flight plan", "Составление плана полёта"),
    description=Text(
        "A new flight plan from what is known; what is missing stays open.",
        "Новый план полёта из того, что известно; недостающее остаётся открытым.",
    ),
    slots=plan_slots(),
    makes=_draft_output(),
    say=plan_answers.say_draft,
    cites=plan_answers.cite_plan,
    referents=plan_answers.refer_plan,
    view=plans.flight_plan_view,
)
REVISE_TOOL: Final = Tool(
    name="revise_flight_plan",
    function=revise_flight_plan,
    effect=Effect.DRAFT,
    title=Text("Revise flight plan", "Изменение плана полёта"),
    description=Text(
        "A new version of a flight plan with some fields changed.", "Новая версия плана полёта с изменёнными полями."
    ),
    slots=plan_slots(change_resolver_of),
    artifacts={"flight_plan": FLIGHT_PLAN},
    makes=_draft_output(),
    revises="flight_plan",
    say=plan_answers.say_revision,
    cites=plan_answers.cite_plan,
    referents=plan_answers.refer_plan,
    view=plans.flight_plan_view,
)
VALIDATE_TOOL: Final = Tool(
    name="validate_flight_plan",
    function=validate_flight_plan,
    effect=Effect.READ,
    title=Text("Validate flight plan", "Проверка плана полёта"),
    description=Text(
        "What a dispatcher would check: aerodromes, time, groups, fuel, persons.",
        "Что проверил бы диспетчер: аэродромы, время, группы, топливо, люди на борту.",
    ),
    artifacts={"flight_plan": FLIGHT_PLAN},
    validates="flight_plan",
    say=plan_answers.say_findings,
)


def filing_tool(outbox: Path) -> Tool:
    """The filing tool for an outbox folder, which is made when the first plan is filed."""

    @with_tool_errors
    def file_flight_plan(flight_plan: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        return flight_plan_filing.file_flight_plan(flight_plan, context.idempotency_key, outbox, now=context.now)

    def find_filing(_arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any] | None:
        return flight_plan_filing.find_filing(context.idempotency_key, outbox)

    return Tool(
        name="file_flight_plan",
        function=file_flight_plan,
        effect=Effect.EXTERNAL,
        title=Text("File flight plan", "Подача плана полёта"),
        description=Text(
            "Writes the ICAO FPL message of a validated plan to the outbox, once per approval.",
            "Записывает сообщение FPL проверенного плана в папку исходящих, один раз на одобрение.",
        ),
        idempotent=True,
        approval=ApprovalRule(role="dispatcher"),
        artifacts={"flight_plan": FLIGHT_PLAN},
        say=plan_answers.say_filing,
        cites=plan_answers.cite_filing,
        limitations=plan_answers.limit_filing,
        target=filing_target,
        preview=filing_preview,
        probe=find_filing,
    )
