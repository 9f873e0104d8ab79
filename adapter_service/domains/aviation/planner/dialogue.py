"""Replies to an open question, and texts that arrive while something waits or works (C7). Called by the planner.

A text is an answer unless it clearly is a correction ("no, from Munich"), a whole new request, or a cancellation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from adapter_service.domains.aviation.countries import country_code, country_name
from adapter_service.domains.aviation.errors import AviationError
from adapter_service.domains.aviation.flight_plan_fields import PARSERS, parse_field
from adapter_service.domains.aviation.folding import fold
from adapter_service.domains.aviation.planner.compose import Composer
from adapter_service.domains.aviation.planner.grammar import BARE, Frame, read_clause
from adapter_service.domains.aviation.planner.intents import kinds_of, names_plan
from adapter_service.domains.aviation.planner.lexicon import categories, is_a, ordinal_of, word_set
from adapter_service.domains.aviation.planner.negation import negated_command
from adapter_service.domains.aviation.planner.places import PlaceText
from adapter_service.domains.aviation.planner.plan_fields import read_plan_fields, value_alone
from adapter_service.domains.aviation.planner.plan_tasks import plan_fills, unused_place
from adapter_service.domains.aviation.planner.references import current_plan, plan_fill
from adapter_service.domains.aviation.planner.side_questions import beside_plan
from adapter_service.domains.aviation.planner.tokens import stem, tokenise
from adapter_service.domains.aviation.planner.word_kinds import Cat
from adapter_service.sdk import (
    ArtifactFill,
    OpenQuestion,
    PlanningRequest,
    Proposal,
    ReplyVerdict,
    SlotPatch,
    TaskDraft,
    TaskSummary,
    TextFill,
)

Understand = Callable[[str, PlanningRequest], Proposal]

_PLAN_TOOLS: Final = ("draft_flight_plan", "revise_flight_plan")
_OPEN: Final = "open"
# Which slot a preposition means, by tool.
_SLOT_BY_ROLE: Final[dict[str, dict[str, str]]] = {
    "build_route": {Cat.FROM: "departure_icao", Cat.TO: "destination_icao"},
    "draft_flight_plan": {Cat.FROM: "departure_icao", Cat.TO: "destination_icao"},
    "revise_flight_plan": {Cat.FROM: "departure_icao", Cat.TO: "destination_icao"},
    "get_weather": {Cat.AT: "icao", Cat.OF: "icao"},
    "get_airport": {Cat.AT: "icao", Cat.OF: "icao"},
    "search_airports": {Cat.NEAR: "center_icao"},
}
_CANCELLING: Final = word_set(
    """
    it that this all everything request the please never mind my operation task anymore action все это запрос
    заявку операцию действие пожалуйста задачу об этом не надо нужно ничего
    """
)
_LEAD_INS: Final = re.compile(
    r"^(?:(?:it'?s|it is|that'?s|that is|that would be|this is|i mean|i meant|i'?m|i am|we'?re|we are|my position is|"
    r"my location is|"
    r"the answer is|the one|the airport|make it|let it be|let'?s say|let'?s take|take|use|say|probably|well|ok|okay|"
    r"yes|sure|"
    r"make that|i'?d say|i think|please|there are|there will be|"
    r"это|я|мы|моя позиция|мое местоположение|моё местоположение|тот,? что|тот,? который|который|та,? что|пусть будет|"
    r"давай|давайте|"
    r"возьми|возьмем|возьмём|наверное|ну|да|хорошо|ладно|пожалуйста|думаю|скорее всего|нахожусь|находимся|сейчас|"
    r"будет|у нас)"
    r"(?![\w'’-])[\s,:—–-]*)+",
    re.IGNORECASE,
)
_TRAILERS: Final = re.compile(r"[\s,]*(?:please|thanks|thank you|пожалуйста|спасибо)?[\s.!?]*$", re.IGNORECASE)
_PLACE_PREPOSITION: Final = re.compile(
    r"^(?:from|to|at|in|near|of|into|towards?|around|из|в|во|на|до|от|с|со|около|под|возле|у)\s+(?=\S)", re.IGNORECASE
)
_CORRECTING: Final = re.compile(
    r"^(?:(?:no|nope|not that|wait|sorry|oops|actually|i meant|i mean|rather|wrong|correction|hold on|my mistake|"
    r"нет|не то|неверно|постой|погоди|подожди|стой|извини|извините|ой|ошибся|ошиблась|я имел в виду|я имела в виду|"
    r"точнее|вернее|"
    r"на самом деле|исправь)(?![\w'’-])[\s,.!:;—–-]*)+(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_NOT_BUT: Final = re.compile(
    r"^(?:no[,\s]+)?not\s+(?P<old>.+?),?\s+but\s+(?P<new>.+)$|"
    r"^(?:нет[,\s]+)?не\s+(?P<old_ru>.+?),?\s+а\s+(?P<new_ru>.+)$|"
    r"^(?P<new_first>.+?),\s*(?:not|а не|не)\s+(?P<old_last>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_INSTEAD: Final = re.compile(r"(?<!\w)(?:instead|rather|лучше|вместо этого)(?!\w)", re.IGNORECASE)
_FREE_TEXT_SLOTS: Final = frozenset({"other_information", "route", "name", "city", "code", "country"})
_DURATIONS: Final = frozenset({"endurance_minutes", "total_eet_minutes"})
_PLACE_SLOTS: Final = frozenset({"icao", "departure_icao", "destination_icao", "center_icao", "city", "position"})


def cancels(text: str) -> bool:
    """Is the whole text a cancellation: "cancel it", "never mind", «отмени», «забудь об этом»?"""
    lowers = [token.lower for token in tokenise(text) if token.kind == "word"]
    if " ".join(lowers) in ("never mind", "не надо", "не нужно", "ничего не надо"):
        return True
    cancelling = [token for token in tokenise(text) if is_a(token, Cat.CANCEL)]
    others = [word for word in lowers if word not in _CANCELLING and word not in {token.lower for token in cancelling}]
    return bool(cancelling) and not others


def answer_or_else(text: str, request: PlanningRequest, understand: Understand) -> Proposal:
    """A text while a question is open."""
    question = request.open_question
    assert question is not None, "called with an open question"
    if cancels(text):
        return Proposal(ReplyVerdict.CANCEL)
    correction = _correction(text, request)
    if correction is not None:
        return correction
    if _is_new_request(text, question):
        proposal = understand(text, request)
        if proposal.tasks:
            return beside_plan(proposal, question, request)
    corrected = _CORRECTING.match(text)
    if corrected is not None and corrected["rest"].strip():
        text = corrected["rest"]  # "no, Oslo" answers with Oslo
    if len(question.options) == 1 and assents(text):
        return Proposal(ReplyVerdict.ANSWER, answer_text=question.options[0])  # "did you mean …?" "yes"
    answer = answer_text(text, question)
    if not _fits(answer, question, request):
        patches = _other_fields(text, request)
        if patches:
            return Proposal(ReplyVerdict.CORRECTION, patches=patches)
    return Proposal(ReplyVerdict.ANSWER, answer_text=answer)


def _fits(answer: str, question: OpenQuestion, request: PlanningRequest) -> bool:
    """Does the asked field's own parser accept the answer as it stands?"""
    if question.slot not in PARSERS or question.slot in _PLACE_SLOTS:
        return False
    try:
        parse_field(question.slot, answer, request.now)
    except AviationError:
        return False
    return True


def while_busy(text: str, request: PlanningRequest, understand: Understand) -> Proposal:
    """A text while an approval is open or tasks are under way, and nothing was asked."""
    if cancels(text):
        return Proposal(ReplyVerdict.CANCEL)
    correction = _correction(text, request) or _revision(text, request) or _instead(text, request)
    if correction is not None:
        return correction
    if assents(text):
        # A text never approves (contract.md): whoever may approve does so with the digest.
        return Proposal(ReplyVerdict.UNCLEAR)
    proposal = understand(text, request)
    if not proposal.tasks:
        return Proposal(ReplyVerdict.UNCLEAR, reply=proposal.reply)
    if request.approval_open and all(_is_about_current_plan(task) for task in proposal.tasks):
        checks = tuple(task for task in proposal.tasks if task.tool == "validate_flight_plan")
        # "File it" is what waits for approval already; "check it" is done before it is asked for again.
        return Proposal(ReplyVerdict.CORRECTION, tasks=checks) if checks else Proposal(ReplyVerdict.UNCLEAR)
    return proposal


def _is_about_current_plan(task: TaskDraft) -> bool:
    plan = task.fills.get("flight_plan")
    known = isinstance(plan, ArtifactFill) and bool(plan.artifact_id)
    return known and task.tool in ("file_flight_plan", "validate_flight_plan")


def _instead(text: str, request: PlanningRequest) -> Proposal | None:
    """ "to Oslo instead", «лучше в Осло»: a correction without "no"."""
    rest = _INSTEAD.sub("", text).strip(" ,.")
    patches = _patches(rest, request) if rest != text.strip(" ,.") else ()
    return Proposal(ReplyVerdict.CORRECTION, patches=patches) if patches else None


def answer_text(text: str, question: OpenQuestion) -> str:
    """The part of a text that answers: without lead-ins; an option's own name where the text tells exactly one."""
    stripped = _TRAILERS.sub("", text)
    stripped = _LEAD_INS.sub("", stripped).strip(" ,:") or stripped
    chosen = _chosen_option(stripped, question.options)
    if chosen:
        return chosen
    if question.slot in _PLACE_SLOTS:
        stripped = _PLACE_PREPOSITION.sub("", stripped)
        return re.sub(r"\s+(?:one|airport|аэропорт)$", "", stripped, flags=re.IGNORECASE) or stripped
    if question.slot in _FREE_TEXT_SLOTS:
        return stripped
    return value_alone(stripped, question.slot)


def _chosen_option(text: str, options: tuple[str, ...]) -> str:
    """The one option that the text tells by its place in the list, its words or its country; "" where it tells none.

    A country that several options share narrows the list: the answer is then their city with that country.
    """
    if not options:
        return ""
    by_order = _by_order(text, options)
    if by_order:
        return by_order
    words = [word for word in fold(_PLACE_PREPOSITION.sub("", text)).split() if word not in _OPTION_NOISE]
    matching = [option for option in options if words and set(words) <= set(fold(option).split())]
    if len(matching) == 1:
        return matching[0]
    country = country_code(" ".join(words)) or country_code(_PLACE_PREPOSITION.sub("", text).strip())
    there = [option for option in options if country and option.endswith(f", {country}")]
    if len(there) == 1:
        return there[0]
    cities = {option.rsplit(", ", 2)[-2] for option in there}
    return f"{cities.pop()}, {country_name(country)}" if country and len(cities) == 1 else ""


def _by_order(text: str, options: tuple[str, ...]) -> str:
    """ "The second one", «последнюю», "2": the Loop settles these, and so does this where they come through."""
    tokens = [token for token in tokenise(text) if token.kind != "mark" and token.lower not in _OPTION_NOISE]
    if len(tokens) != 1:
        return ""
    if is_a(tokens[0], Cat.LAST):
        return options[-1]
    digits = tokens[0].text
    number = ordinal_of(tokens[0]) or (int(digits) if digits.isdecimal() and len(digits) <= 2 else 0)
    return options[number - 1] if 1 <= number <= len(options) else ""


_OPTION_NOISE: Final = word_set(
    """
    the one airport in at of from аэропорт тот который в на из этот that this a please
    """
)


def _correction(text: str, request: PlanningRequest) -> Proposal | None:
    """ "no, from Munich", "not Berlin but Munich", "actually, make it FL370"."""
    if negated_command(tokenise(text)):
        return None  # "no need to change the level to FL370" gives no level
    changed = _NOT_BUT.match(text)
    if changed is not None:
        groups = changed.groupdict()
        old = groups["old"] or groups["old_ru"] or groups["old_last"] or ""
        new = groups["new"] or groups["new_ru"] or groups["new_first"] or ""
        return _replace(old, new, request)
    match = _CORRECTING.match(text)
    if match is None or not match["rest"].strip():
        return None
    rest = match["rest"]
    patches = _patches(rest, request)
    if patches:
        return Proposal(ReplyVerdict.CORRECTION, patches=patches)
    return _revision(rest, request)


def _replace(old: str, new: str, request: PlanningRequest) -> Proposal | None:
    patches = _patches(new, request)
    if patches:
        return Proposal(ReplyVerdict.CORRECTION, patches=patches)
    wanted = {stem(word) for word in fold(_PLACE_PREPOSITION.sub("", old)).split()}
    for task in _candidates(request):
        for slot, shown in task.fills.items():
            if wanted and wanted <= {stem(word) for word in fold(shown).split()}:
                words = _PLACE_PREPOSITION.sub("", new).strip(" .!?")
                return Proposal(ReplyVerdict.CORRECTION, patches=(SlotPatch(task.task_id, slot, TextFill(words)),))
    return _revision(new, request)


def _candidates(request: PlanningRequest) -> list[TaskSummary]:
    """Tasks that a correction may mean, likeliest first: the one asked about, then open ones, then done ones, newest
    first."""
    asked = request.open_question.task_id if request.open_question else ""
    tasks = [task for task in request.tasks if task.state != "skipped"]
    newest = list(reversed(tasks))
    return sorted(newest, key=lambda task: (task.task_id != asked, task.state != _OPEN))


def _patches(text: str, request: PlanningRequest) -> tuple[SlotPatch, ...]:
    """The slots of existing tasks that the text gives a new value."""
    candidates = _candidates(request)
    patches = []
    for task in candidates:
        roles = _SLOT_BY_ROLE.get(task.tool)
        if roles is None or (task.tool in _PLAN_TOOLS and task.state != _OPEN):
            continue
        given = _given(text, task)
        if given:
            patches = [SlotPatch(task.task_id, slot, TextFill(value)) for slot, value in given.items()]
            break
    return tuple(patches)


def _given(text: str, task: TaskSummary) -> dict[str, str]:
    """Slot -> words that a text gives for a task; empty where anything of it stays unexplained."""
    labelled = read_plan_fields(text).values
    as_plan = task.tool in _PLAN_TOOLS or (bool(labelled) and set(labelled) <= set(_SLOT_BY_ROLE[task.tool].values()))
    frame = read_clause(text, as_plan=as_plan, as_journey="destination_icao" in _SLOT_BY_ROLE[task.tool].values())
    given: dict[str, str] = dict(frame.fields.values) if frame.fields else {}
    for role, slot in _SLOT_BY_ROLE[task.tool].items():
        place = next(iter(frame.at(role)), None)
        if isinstance(place, PlaceText):
            given.setdefault(slot, place.text)
    unexplained = frame.leftovers or frame.has(Cat.WEATHER, Cat.AIRPORTS, Cat.NEAREST) or _unplaced(frame)
    return {} if unexplained else given


def _unplaced(frame: Frame) -> bool:
    return bool(frame.at(BARE)) and not frame.at(Cat.FROM, Cat.TO, Cat.AT, Cat.OF, Cat.NEAR)


def _revision(text: str, request: PlanningRequest) -> Proposal | None:
    """A change of the current flight plan's fields: patches of an open plan task, else a revise task."""
    _, kinds = kinds_of(text)
    if kinds & {Cat.WEATHER, Cat.AIRPORTS, Cat.NEAREST, Cat.FARTHEST}:
        return None
    open_tasks = [task for task in request.tasks if task.tool in _PLAN_TOOLS and task.state == _OPEN]
    frame = read_clause(text, as_plan=True, as_journey=True)
    composer = Composer(request.memory, request.locale, request.now)
    fills = plan_fills(composer, frame)
    tokens = tokenise(text)
    about_new = names_plan(tokens) and kinds & {Cat.FILE, Cat.DRAFT} and not kinds & {Cat.THIS}
    if (
        not fills
        or frame.leftovers
        or unused_place(frame)
        or composer.tasks
        or about_new
        or (kinds & {Cat.ROUTE} and not fills.keys() & {"route", "total_eet_minutes"})
    ):
        return None
    if open_tasks:
        task = open_tasks[-1]
        return Proposal(
            ReplyVerdict.CORRECTION,
            patches=tuple(SlotPatch(task.task_id, slot, fill) for slot, fill in fills.items()),
        )
    plan = current_plan(request.memory)
    if plan is None:
        return None
    task_draft = TaskDraft("revise", "revise_flight_plan", {"flight_plan": plan_fill(plan), **fills})
    return Proposal(ReplyVerdict.CORRECTION, tasks=(task_draft,))


def _is_new_request(text: str, question: OpenQuestion) -> bool:
    """A whole request of its own: a verb with an object, or the noun of another request with a place."""
    tokens, kinds = kinds_of(text)
    if names_plan(tokens) and kinds & {Cat.FILE, Cat.DRAFT, Cat.CHECK, Cat.BUILD}:
        return True
    if question.tool in _PLAN_TOOLS and question.slot in read_plan_fields(text).values:
        return False
    verbs = {Cat.FIND, Cat.SHOW, Cat.BUILD}
    nouns = {Cat.WEATHER, Cat.ROUTE, Cat.DISTANCE, Cat.AIRPORTS, Cat.NEAREST, Cat.FARTHEST, Cat.POSITION}
    if kinds & {Cat.WEATHER, Cat.DISTANCE} and len(tokens) > 1:
        return True
    if kinds & {Cat.ROUTE} and kinds & {Cat.FROM, Cat.TO} and question.slot != "route":
        return True
    return bool(kinds & verbs) and bool(kinds & nouns) and question.slot not in ("other_information", "route")


def _other_fields(text: str, request: PlanningRequest) -> tuple[SlotPatch, ...]:
    """While one field of a plan is asked for, the text gives another one, or several."""
    question = request.open_question
    assert question is not None, "called with an open question"
    if question.tool not in _SLOT_BY_ROLE or question.slot == "other_information":
        return ()
    task = next((task for task in request.tasks if task.task_id == question.task_id), None)
    if task is None:
        task = TaskSummary(question.task_id, question.tool, _OPEN, {})
    given = _given(text, task)
    if question.slot in _DURATIONS and "departure_time" in given and question.slot not in given:
        given[question.slot] = given.pop("departure_time")  # "5 hours" answers how long, not when
    if not given or set(given) == {question.slot}:
        return ()
    first = _first_place(text, question)
    if first and question.slot not in given:
        given[question.slot] = first
    if question.slot not in given and question.tool not in _PLAN_TOOLS and len(given) == 1:
        # "to which airport?" "from Munich" corrects; "in Munich" answers.
        slot = next(iter(given))
        if kinds_of(text)[1] & {Cat.CHANGE} and slot in read_plan_fields(text).values:
            return (SlotPatch(task.task_id, slot, TextFill(given[slot])),)  # "change the departure to Hamburg"
        if slot == "icao" or not any(is_a(token, Cat.FROM, Cat.TO) for token in tokenise(text)[:1]):
            return ()
    return tuple(SlotPatch(task.task_id, slot, TextFill(value)) for slot, value in given.items())


def _first_place(text: str, question: OpenQuestion) -> str:
    """ "Berlin to Munich", where the departure is asked for: the place before the preposition."""
    if question.slot not in _PLACE_SLOTS:
        return ""
    frame = read_clause(_LEAD_INS.sub("", text), as_plan=False, as_journey=True)
    bare = [place.text for place in frame.at(BARE) if isinstance(place, PlaceText)]
    return bare[0] if len(bare) == 1 and (frame.at(Cat.FROM) or frame.at(Cat.TO)) else ""


def assents(text: str) -> bool:
    """Is the text nothing but "yes", «да, подтверждаю» and the like?"""
    tokens = [token for token in tokenise(text) if token.kind == "word"]
    return bool(tokens) and all(
        categories(token) & {Cat.YES, Cat.FILLER, Cat.IT, Cat.THIS, Cat.AND} for token in tokens
    )
