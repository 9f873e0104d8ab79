"""The planner of the aviation domain: from one text to tasks with slots, without a model and without stored sentences.

Called by the engine through the domain. Split into clauses, read each into a frame, compose tasks; what is not
understood is named, and then nothing of the message is done. Replies to questions are told apart in dialogue.py (C7).
"""

from __future__ import annotations

import functools
import logging
from dataclasses import replace
from typing import Final

from adapter_service.domains.aviation.planner import dialogue, follow_ups, forecasts, list_follow_ups, replies
from adapter_service.domains.aviation.planner.clauses import Clause, split_clauses
from adapter_service.domains.aviation.planner.compose import Composer
from adapter_service.domains.aviation.planner.grammar import BARE, Frame, read_clause
from adapter_service.domains.aviation.planner.intents import (
    Intent,
    intent_of,
    is_journey,
    is_plan_clause,
    kinds_of,
    unused_part,
)
from adapter_service.domains.aviation.planner.names import SUPERLATIVES
from adapter_service.domains.aviation.planner.negation import negated_command
from adapter_service.domains.aviation.planner.phrases import in_plain_words
from adapter_service.domains.aviation.planner.plan_tasks import corrects_plan, plan_clause
from adapter_service.domains.aviation.planner.references import current_plan
from adapter_service.domains.aviation.planner.spelling import corrected
from adapter_service.domains.aviation.planner.tokens import normalise
from adapter_service.domains.aviation.planner.word_kinds import Cat
from adapter_service.domains.aviation.warming import INDEXES
from adapter_service.sdk import PlanningRequest, Proposal, ReplyVerdict, Text

# A longer text is no request of this domain; the Loop has a limit of its own, this one keeps the reading cheap.
LONGEST_TEXT: Final = 2_000
_MOST_CLAUSES: Final = 12
_LOGGER: Final = logging.getLogger(__name__)
_HEADS: Final = (Cat.WEATHER, Cat.AIRPORT, Cat.AIRPORTS, *SUPERLATIVES, Cat.FIND, Cat.INFO, Cat.WHERE)
_CARRIED: Final = (Intent.WEATHER, Intent.ROUTE, Intent.AIRPORT, Intent.SEARCH)


class AviationPlanner:
    """Understands English and Russian requests about airports, weather, routes and flight plans. Keeps no state.

    `has_forecasts`: the domain has get_forecast, so that weather may be asked for another time.
    """

    def __init__(self, *, has_forecasts: bool = False) -> None:
        self._understand = functools.partial(understand, has_forecasts=has_forecasts)

    def plan(self, request: PlanningRequest) -> Proposal:
        """Propose what to do about one text. Never raises for a text it does not understand."""
        try:
            return self._plan(request)
        except (ValueError, LookupError, RecursionError) as error:
            _LOGGER.exception("planner failed", extra={"cause": type(error).__name__, "length": len(request.text)})
            verdict = ReplyVerdict.NEW_REQUEST if request.begins_interaction else ReplyVerdict.UNCLEAR
            return Proposal(verdict, reply=replies.not_understood(request.text, request.text))

    def _plan(self, request: PlanningRequest) -> Proposal:
        INDEXES.wait()
        text = normalise(request.text)[:LONGEST_TEXT]
        if request.begins_interaction:
            if dialogue.cancels(text):
                return Proposal(ReplyVerdict.NEW_REQUEST, reply=replies.NOTHING_TO_CANCEL)
            return self._understand(text, request)
        if request.open_question is not None:
            return dialogue.answer_or_else(text, request, self._understand)
        return dialogue.while_busy(text, request, self._understand)


def understand(text: str, request: PlanningRequest, *, has_forecasts: bool = False) -> Proposal:
    """The tasks of a complete request, or a reply."""
    composer = Composer(request.memory, request.locale, request.now)
    written, text = text, in_plain_words(corrected(text))
    gone_on = list_follow_ups.go_on(text, composer)
    if gone_on:
        return _reply(gone_on) if isinstance(gone_on, Text) else _tasks(composer)
    clauses = split_clauses(text)
    talk: Text | None = None
    carried: Intent | None = None
    if len(clauses) > _MOST_CLAUSES:
        return _reply(replies.not_understood(clauses[_MOST_CLAUSES].text, text))
    asked: list[forecasts.Asked] = []
    follows = forecasts.follows_weather(request.memory)
    read = [forecasts.read_asked(clause.text, follows=follows) for clause in clauses]
    if not has_forecasts and any(each.forecast for each in read):
        return _reply(replies.NO_FORECAST)
    if has_forecasts:
        asked = read
        clauses = [Clause(each.text) for each in asked]
        if len(asked) == 1 and asked[0].forecast and forecasts.only_asks_time(asked[0].text):
            forecasts.compose_forecast(composer, Frame(asked[0].text, []), asked[0])
            return Proposal(ReplyVerdict.NEW_REQUEST, tasks=tuple(composer.tasks))
    frames = [_read(clause, composer, request, clauses[:index]) for index, clause in enumerate(clauses)]
    if len(frames) == 1:
        if asked and asked[0].forecast and frames[0].has_places and not frames[0].leftovers:
            forecasts.compose_forecast(composer, frames[0], asked[0])
            return Proposal(ReplyVerdict.NEW_REQUEST, tasks=tuple(composer.tasks))
        repeated = _repeat(composer, frames[0])
        if repeated is not None:
            return repeated
    for index, frame in enumerate(frames):
        intent = intent_of(frame)
        if frame.leftovers:
            return _reply(_refusal(frame, intent, text, written, has_forecasts=has_forecasts))
        if unused_part(frame, intent):
            return _reply(replies.not_understood(written, written))
        if intent in (Intent.PLACE_ONLY, Intent.UNKNOWN) and carried is not None and frame.has_places:
            intent = carried  # "weather in Paris, then in London"
        if intent is Intent.WEATHER and not frame.has_places and _next_tells_place(frames, index):
            if asked and asked[index + 1].forecast and not asked[index].forecast:
                asked[index + 1] = replace(asked[index + 1], report=True)  # "the weather and the forecast for JFK"
            continue  # "the weather and the wind at JFK" is one request
        if intent is Intent.UNKNOWN and not frame.has_places and frame.has(Cat.INFO) and index + 1 < len(frames):
            continue  # "coordinates and elevation of Lyon" is one request
        if intent is Intent.ROUTE is carried and not frame.has_places and not frame.query.superlative:
            continue  # "I'm flying from Tbilisi to Baku, show me the route"
        if intent is Intent.WEATHER and asked and asked[index].forecast:
            forecasts.compose_forecast(composer, frame, asked[index])
            carried = intent
            continue
        answer = _compose(composer, frame, intent, text, written)
        if answer is not None:
            if intent not in (Intent.GREETING, Intent.THANKS, Intent.HELP):
                return _reply(answer)
            talk = talk or answer
        elif intent in (Intent.PLACE_ONLY, Intent.UNKNOWN) and (
            frame.has_places or frame.query.count is not None or not _only_fillers(frame) or len(frames) == 1
        ):
            return _reply(replies.not_understood(_as_written(frame.text, written), written))
        if intent in _CARRIED:
            carried = intent
    if composer.tasks:
        return Proposal(ReplyVerdict.NEW_REQUEST, tasks=tuple(composer.tasks))
    return _reply(talk or replies.not_understood(text, text))


def _repeat(composer: Composer, frame: Frame) -> Proposal | None:
    """A bare place: the last request once more with it ("and in Faro?"); asked about where none is known.

    None where the clause says itself what it wants.
    """
    intent = intent_of(frame)
    leads_on = follow_ups.leads_on(frame.text)
    bare = intent in (Intent.PLACE_ONLY, Intent.UNKNOWN) or (intent in (Intent.AIRPORT, Intent.ROUTE) and leads_on)
    if not bare or frame.leftovers or not frame.has_places or not follow_ups.asks_nothing_itself(frame.said):
        return None
    topic = follow_ups.last_topic(composer.memory)
    if topic is not None and composer.repeat(topic, frame):
        return Proposal(ReplyVerdict.NEW_REQUEST, tasks=tuple(composer.tasks))
    place = follow_ups.named_place(frame)
    return _reply(replies.what_about(place)) if place and intent is not Intent.AIRPORT else None


def _tasks(composer: Composer) -> Proposal:
    return Proposal(ReplyVerdict.NEW_REQUEST, tasks=tuple(composer.tasks))


def _reply(text: Text) -> Proposal:
    return Proposal(ReplyVerdict.NEW_REQUEST, reply=text)


def _refusal(frame: Frame, intent: Intent, text: str, written: str, *, has_forecasts: bool) -> Text:
    if negated_command(frame.words):
        return replies.forbidden(written if frame.text == text else frame.text)
    part = " ".join(frame.leftovers)
    if _as_written(part, written) != part:
        return replies.not_understood(written, written)
    if intent is Intent.WEATHER and frame.has(Cat.OTHER_TIME):
        return replies.current_weather_only(part) if has_forecasts else replies.NO_FORECAST
    return replies.not_understood(part, text)


def _read(clause: Clause, composer: Composer, request: PlanningRequest, earlier: list[Clause]) -> Frame:
    plan_spoken = current_plan(request.memory) is not None or any(
        is_plan_clause(before.text, plan_known=False) for before in earlier
    )
    tokens, kinds = kinds_of(clause.text)
    journeys = kinds | (kinds_of(earlier[-1].text)[1] if earlier and not kinds & {Cat.WEATHER, Cat.FIND} else set())
    lowers = {token.lower for token in tokens}
    # «мне в Ташкент из Алматы» needs no verb of going.
    topic = follow_ups.last_topic(request.memory)
    goes_on = topic is not None and topic.tool == "build_route" and follow_ups.asks_nothing_itself(kinds)
    between_ends = goes_on or bool(lowers & {"из", "от"} and lowers & {"в", "на"}) and not kinds & {*_HEADS}
    return read_clause(
        clause.text,
        as_plan=(
            is_plan_clause(clause.text, plan_known=plan_spoken)
            and not forecasts.asks_other_time(clause.text, kinds, request.memory)
        )
        or corrects_plan(clause.text, kinds, request.memory),
        as_journey=between_ends or is_journey(kinds) or (is_journey(journeys) and not kinds & {Cat.SHOW, Cat.AIRPORT}),
    )


def _next_tells_place(frames: list[Frame], index: int) -> bool:
    following = frames[index + 1] if index + 1 < len(frames) else None
    return following is not None and intent_of(following) is Intent.WEATHER and following.has_places


def _only_fillers(frame: Frame) -> bool:
    return not frame.has(
        Cat.FIND, Cat.SHOW, Cat.BUILD, Cat.FILE, Cat.CHANGE, Cat.CHECK, Cat.PLAN, Cat.AIRPORT, Cat.INFO, Cat.WHERE
    )


def _as_written(part: str, written: str) -> str:
    """A part as it is quoted to the user; the whole text where a set phrase in it was put into plain words."""
    changed = in_plain_words(written) != written and not all(word in written for word in part.split())
    return written if changed else part


def _compose(composer: Composer, frame: Frame, intent: Intent, text: str, written: str) -> Text | None:
    match intent:
        case Intent.PLAN:
            return plan_clause(composer, frame)
        case Intent.WEATHER:
            composer.at_airport("get_weather", frame)
        case Intent.AIRPORT:
            composer.at_airport("get_airport", frame)
        case Intent.ROUTE if frame.has(Cat.BACK) and not frame.has_places and not frame.query.ranked:
            return None if composer.way_back() else replies.not_understood(frame.text, text)
        case Intent.ROUTE:
            composer.journey(frame)
        case Intent.SEARCH:
            unknown = composer.search_frame(frame)
            return replies.not_understood(_as_written(unknown, written), written) if unknown else None
        case Intent.POSITION:
            composer.position()
        case Intent.STATE_POSITION:
            composer.state_position(frame.at(BARE, Cat.AT, Cat.NEAR)[-1])
            composer.position()
        case Intent.HELP:
            return replies.HELP
        case Intent.GREETING:
            return replies.GREETING
        case Intent.THANKS:
            return replies.THANKS
        case Intent.PLACE_ONLY | Intent.UNKNOWN:
            return None
    return None
