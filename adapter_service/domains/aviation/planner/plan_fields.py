"""Flight plan fields inside a sentence, in any order: labelled ("level 350"), or told by their shape ("FL350", "450
knots").

Called by the grammar for clauses about a flight plan. It only finds the words of a value; flight_plan_fields gives them
their meaning when the slot is resolved. The patterns are data: label words, link words, shapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from adapter_service.domains.aviation.planner.lexicon import NUMBER_WORDS, is_a
from adapter_service.domains.aviation.planner.plan_changes import find_changes
from adapter_service.domains.aviation.planner.tokens import tokenise
from adapter_service.domains.aviation.planner.word_kinds import Cat

# What takes the place of a found field, so that no name is read across it.
GAP: Final = "|"

_NUMBER_WORD: Final = "|".join(sorted((word for word in NUMBER_WORDS if len(word) > 2), key=len, reverse=True))
_LINK: Final = (
    # The label is over: "alternates" is not "alternate" with the value "s".
    r"(?![^\W\d_])\s*(?:(?:(?:should\s+(?:now\s+)?be|must\s+be|now|теперь|станет|to|until|till|at|of|is|for|be|as|equals?|by|with|on|up|down|the|a|на|до|в|равн\w+|"
    r"будет|это)(?!\w)|[:=—–-])[\s:]*)*"
)
_MONTH: Final = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?|"
    r"(?:январ|феврал|март|апрел|ма[яй]|июн|июл|август|сентябр|октябр|ноябр|декабр)\w*"
)
_WEEKDAY: Final = (
    r"(?:next\s+|this\s+)?(?:mon|tues?|wednes|thurs?|fri|satur|sun)day|"
    r"понедельник|вторник|среду|четверг|пятницу|субботу|воскресенье"
)
DATE: Final = (
    rf"(?:(?:the\s+)?day\s+(?:after\s+tomorrow|before\s+yesterday)|yesterday|"
    rf"tomorrow(?:\s+(?:morning|evening|night|afternoon))?|today|tonight|"
    rf"{_WEEKDAY}|"
    rf"\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\d{{1,2}}\.\d{{2}}(?=\s+(?:в|at)\s)|"
    rf"\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTH})(?:\s+\d{{4}})?|(?:{_MONTH})\s+\d{{1,2}}(?:st|nd|rd|"
    rf"th)?(?:,?\s+\d{{4}})?|"
    r"послезавтра|завтра|позавчера|вчера|сегодня(?:\s+(?:утром|вечером|днем))?)"
)
_ZONE: Final = r"(?:\s*(?:z|utc|gmt|zulu|по\s+utc|по\s+гринвичу)\b)"
CLOCK: Final = (
    rf"(?:\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:\s*[ap]\.?m\b\.?)?{_ZONE}?|\d{{4}}{_ZONE}|\d{{1,2}}{_ZONE}|"
    rf"\d{{1,2}}\s*[ap]\.?m\b\.?{_ZONE}?|\d{{1,2}}\s*o'?clock|"
    rf"\d{{1,2}}(?::\d{{2}})?\s+(?:утра|вечера|дня|ночи)\b{_ZONE}?|"
    rf"\d{{1,2}}\s*час\w*(?:\s*\d{{1,2}}\s*мин\w*)?(?:\s+(?:утра|вечера|дня|ночи))?{_ZONE}?|"
    rf"noon|midnight|полдень|полночь)"
)
_ISO: Final = r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s*(?:[Zz]|UTC|[+-]\d\d:?\d\d)?"
RELATIVE: Final = (
    rf"(?:in|через)\s+(?:\d+|an?|half\s+an|{_NUMBER_WORD}|полтора)?\s*(?:hours?|minutes?|mins?|час\w*|минут\w*|полчаса)"
)
_TIME_LEAD: Final = (
    r"(?:(?:departing|departure(?:\s+time)?|departs?|leaving|leaves|take-?\s?off(?:\s+time)?|off-?blocks?|eobt|etd|"
    r"std|time|"
    r"врем\w+(?:\s+(?:вылета|отправления))?|вылет\w*|старт\w*)[\s:=]*)?(?:(?:is|at|to|on|for|by|until|till|на|в|к|до|со?)\s+)*"
)
_TIME: Final = (
    rf"{_TIME_LEAD}(?P<v>{_ISO}|{DATE}(?:[\s,]*(?:at|в|к|@)?\s*(?:{CLOCK}|\d{{4}}\b|\d{{1,2}}\b(?!\s*[./]))"
    rf"(?!\s*(?:hours|persons|people|passengers|pax|knots|kt|узл|человек)))?|"
    rf"{CLOCK}(?:[\s,]*(?:on|of|в)?\s*{DATE})?|{RELATIVE})"
)
# A bare number behind the hours is no minutes: "endurance 3 hours 2 persons".
_DURATION: Final = (
    rf"(?:\d{{1,2}}:\d{{2}}(?!\d)|(?:\d+(?:[.,]\d+)?|{_NUMBER_WORD})\s*-?(?:hours?|hrs?\b|h\b|ч\b|час\w*)"
    rf"(?:\s*(?:and\s+|и\s+)?(?:a\s+half|\d+\s*(?:minutes?|mins?\b|m\b|мин\w*|м\b)))?|\d+h\d+m?|"
    rf"(?:\d+|{_NUMBER_WORD})\s*(?:minutes?|mins?\b|мин\w*)|полтора\s+часа|\d{{4}})"
)
_LEVEL: Final = (
    r"(?:FL\s?\d{2,3}|flight\s+level\s+\d{2,3}|[FA]\d{3}\b|S\d{4}\b|M\d{4}\b|VFR\b|"
    r"\d{1,3}[ ,.]?\d{3}\s*(?:ft\b|feet|foot|фут\w*|m\b|met(?:er|re)s?|метр\w*|м\b)|"
    r"\d{2,6}(?:\s*(?:ft\b|feet|foot|фут\w*|m\b|met(?:er|re)s?|метр\w*|м\b))?)"
)
_SPEED_UNIT: Final = r"(?:knots?\b|kts?\b|kn\b|узл\w*|уз\b\.?|km/?h\b|kph\b|kmh\b|км/ч|км\s+в\s+час|mph\b)"
_MACH: Final = r"(?:mach|мах\w*|M|М)\s*(?:0?[.,]\d{1,3}|1[.,]\d+)"
_SPEED: Final = rf"(?:N\d{{4}}\b|K\d{{4}}\b|M\d{{3}}\b|{_MACH}|\d{{2,4}}(?:\s*{_SPEED_UNIT})?)"
_PEOPLE: Final = rf"(?:\d{{1,4}}|{_NUMBER_WORD})"
_PEOPLE_NOUN: Final = (
    r"(?:persons?|people|passengers?|pax|pob|souls?|travell?ers|человек\w*|чел\b\.?|пассажир\w*|люд\w+)"
)
_ON_BOARD: Final = r"(?:on\s*-?board|aboard|на\s+борту)"
_REGISTRATION: Final = r"(?:[A-Z]{1,2}-[A-Z0-9]{3,5}|(?=[A-Z0-9]*\d)[A-Z][A-Z0-9]{2,6}|(?-i:[A-Z]{5,7}))"
_TYPE: Final = r"(?=[A-Z0-9]*\d)[A-Z][A-Z0-9]{1,3}"
_MAKERS: Final = (
    r"airbus|boeing|cessna|embraer|bombardier|antonov|tupolev|ilyushin|sukhoi|piper|pilatus|gulfstream|beechcraft|"
    r"learjet|dassault|"
    r"falcon|fokker|боинг\w*|аэробус\w*|эйрбас\w*|эрбас\w*|сессн\w*|эмбраер\w*|суперджет\w*|туполев\w*|ильюшин\w*|"
    r"антонов\w*"
)
_PLACE_VALUE: Final = (
    r"(?P<v>[^\s,;|][^,;|]*?)(?=\s*(?:[,;|]|$)|\s+(?:and|и|а\s+также|instead|please|пожалуйста|"
    r"вместо)\b|\s+(?:to|в|from|из|на)\s)"
)

# Label words by field; also how the grammar tells which field was named without a value.
LABELS: Final[dict[str, str]] = {
    "other_information": (
        r"(?:remarks?|rmk|other\s+information|item\s+18|примечани\w*|проч\w+\s+(?:информаци\w+|"
        r"сведени\w+))"
    ),
    "equipment": r"(?:equipment|оборудовани\w*)",
    "wake_category": (
        r"(?:wake(?:\s+turbulence)?(?:\s+category)?|категори\w*(?:\s+(?:спутного\s+следа|"
        r"турбулентности(?:\s+следа)?))?)"
    ),
    "flight_type": r"(?:flight\s+type|type\s+of\s+flight|(?:тип\w*|вид\w*)\s+полета)",
    "flight_rules": r"(?:(?:flight\s+)?rules?|правил\w*(?:\s+полет\w*)?)",
    "total_eet_minutes": (
        r"(?:(?:total\s+)?eet|(?:estimated\s+)?(?:elapsed|en-?\s?route|flight|flying)\s+time|врем\w+\s+(?:в\s+пути|"
        r"полета|в\s+полете)|"
        r"полетное\s+время)"
    ),
    "endurance_minutes": (
        r"(?:(?:fuel\s+)?endurance|fuel(?:\s+for)?|(?:запас(?!н)\w*|продолжительност\w*)(?:\s+(?:топлива|хода|по\s+топливу|"
        r"полета))*|"
        r"топлив\w*|автономност\w*)"
    ),
    "persons_on_board": (
        rf"(?:(?:number\s+of\s+)?(?:persons|people|passengers|pax|pob|souls)(?:\s+{_ON_BOARD})?|{_ON_BOARD}|"
        rf"(?:числ\w+|количеств\w+)\s+(?:людей|человек|пассажиров)(?:\s+{_ON_BOARD})?|людей|пассажиров)"
    ),
    "level": r"(?:(?:cruis\w+\s+|flight\s+)?(?:level|altitude)|(?:крейсерск\w+\s+)?(?:эшелон\w*|высот\w*))",
    "cruising_speed": r"(?:(?:cruis\w+\s+)?(?:air)?speed|tas|(?:крейсерск\w+\s+)?скорост\w*)",
    "departure_time": (
        r"(?:(?:departure|take-?off|off-?block)\s+time|eobt|etd|time\s+of\s+departure|врем\w+(?:\s+(?:вылета|"
        r"отправления))?|time)"
    ),
    "aircraft_type": (
        r"(?:(?:aircraft|plane|airplane)\s+type|type(?:\s+of\s+aircraft)?|тип\w*(?:\s+(?:самолета|вс|"
        r"воздушного\s+судна|борта))?)"
    ),
    "aircraft_id": (
        r"(?:call-?\s?sign|registration|tail(?:\s+number)?|aircraft\s+id(?:entification)?|flight\s+number|позывн\w+|"
        r"бортов\w+\s+номер\w*|регистраци\w+(?:\s+номер\w*)?|номер\w*\s+(?:рейса|борта)|рейс\w*|борт\w*)"
    ),
    "alternate_icaos": r"(?:alternates?(?:\s+(?:airports?|aerodromes?))?|запасн\w+(?:\s+(?:аэродром\w*|аэропорт\w*))?)",
    "departure_icao": (
        r"(?:(?:departure|origin)(?:\s+(?:airport|aerodrome|point))?|(?:аэропорт|аэродром|пункт|мест)\w*\s+(?:вылета|"
        r"отправления)|"
        r"вылет\w*|отправлени\w*)"
    ),
    "destination_icao": (
        r"(?:(?:destination|arrival)(?:\s+(?:airport|aerodrome|point))?|(?:аэропорт|аэродром|пункт|"
        r"мест)\w*\s+(?:назначения|прилета|"
        r"прибытия|посадки)|назначени\w*|прибыти\w*|прилет\w*)"
    ),
    "route": r"(?:(?:atc\s+)?route|маршрут\w*)",
}
_RU_STOP: Final = r"(?:to|на|до)"


def _labelled(field: str, value: str) -> tuple[str, str]:
    """A label, link words, perhaps the old value, and the value."""
    return field, rf"(?<!\w){LABELS[field]}(?:\s+(?:from|с|со)\s+{value}\s+{_RU_STOP}\s+|{_LINK})(?P<v>{value})"


# In this order: a pattern sees only what those above it left.
_PATTERNS: Final = tuple(
    (field, re.compile(pattern, re.IGNORECASE))
    for field, pattern in (
        (
            "other_information",
            rf"(?<!\w)(?:change|set|update|replace|correct|измени|поменяй|замени|исправь|обнови)\w*\s+(?:the\s+)?"
            rf"{LABELS['other_information']}\s+(?:to|with|на)\s+(?P<v>\S.*)$",
        ),
        ("other_information", rf"(?<!\w){LABELS['other_information']}\s*[:=]?\s*(?P<v>\S.*)$"),
        ("equipment", rf"(?<!\w){LABELS['equipment']}{_LINK}(?P<v>[A-Z0-9]+/[A-Z0-9]+|[A-Z0-9]+)"),
        _labelled("wake_category", r"(?:light|medium|heavy|super|легк\w+|средн\w+|тяжел\w+|[LMHJ]\b)"),
        _labelled(
            "flight_type",
            r"(?:non-?scheduled|scheduled|general(?:\s+aviation)?|military|other|нерегулярн\w+|регулярн\w+|военн\w+|"
            r"общ\w+(?:\s+авиаци\w+)?|[SNGMX]\b)",
        ),
        (
            "flight_type",
            r"(?P<v>non-?scheduled|scheduled|general\s+aviation|military)(?=\s+flight\b)|"
            r"(?P<w>(?:не)?регулярный)\s+рейс",
        ),
        _labelled("level", r"(?:VFR|ПВП)\b"),
        ("flight_rules", r"(?<!\w)(?P<v>IFR|VFR|ППП|ПВП)(?!\w)"),
        _labelled("flight_rules", r"[IVYZ]\b"),
        _labelled("total_eet_minutes", _DURATION),
        _labelled("endurance_minutes", _DURATION),
        ("endurance_minutes", rf"(?P<v>{_DURATION})\s+(?:of\s+)?{LABELS['endurance_minutes']}"),
        ("persons_on_board", rf"(?<![\w.])(?P<v>{_PEOPLE})\s*(?:{_PEOPLE_NOUN}(?:\s+{_ON_BOARD})?|{_ON_BOARD})(?!\w)"),
        ("persons_on_board", rf"(?<!\w){LABELS['persons_on_board']}{_LINK}(?P<v>{_PEOPLE}\b)(?!\s*(?:час|hour|:))"),
        _labelled("level", _LEVEL),
        (
            "level",
            r"(?<!\w)(?P<v>FL\s?\d{2,3}|flight\s+level\s+\d{2,3}|F\d{3}|\d{1,3}[ ,.]?\d{3}\s*(?:ft\b|feet|"
            r"фут\w*))(?!\w)",
        ),
        _labelled("cruising_speed", _SPEED),
        ("cruising_speed", rf"(?<!\w)(?P<v>\d{{2,4}}\s*{_SPEED_UNIT}|N\d{{4}}|K\d{{4}}|M\d{{3}}|{_MACH})(?!\w)"),
        ("departure_time", rf"(?<![\w.])(?:(?:change|move|from|с)\s+)?{_TIME}(?!\w)"),
        ("departure_time", rf"(?<!\w){LABELS['departure_time']}{_LINK}(?P<v>\d{{1,4}}(?::\d\d)?)(?!\w)"),
        # Points and airways: before what looks like a registration, as "KOLIN" does.
        (
            "route",
            rf"(?<!\w){LABELS['route']}{_LINK}"
            r"(?P<v>(?-i:(?:[A-Z0-9/]{2,}\s+)*DCT(?:\s+[A-Z0-9/]{2,})*|[A-Z]{5}(?:\s+[A-Z0-9/]{2,})+)(?!\w))",
        ),
        ("aircraft_type", rf"(?<!\w)(?P<v>(?:{_MAKERS})[\s-]*[A-ZА-Я]?-?\d[\w-]*)"),
        ("aircraft_type", rf"(?<!\w){LABELS['aircraft_type']}{_LINK}(?P<v>{_TYPE})(?!\w)"),
        ("aircraft_id", rf"(?<!\w){LABELS['aircraft_id']}{_LINK}(?P<v>{_REGISTRATION}|[A-Z]{{3,7}})(?!\w)"),
        (
            "ident",
            rf"(?<!\w)(?:(?:aircraft|plane|самолет\w*|судн\w+|for|для|на|flight)\s+)?(?P<v>{_REGISTRATION}|"
            rf"{_TYPE})(?!\w)",
        ),
        (
            "alternate_icaos",
            rf"(?<!\w){LABELS['alternate_icaos']}{_LINK}(?P<v>(?!(?:airport|aerodrome|аэродром|аэропорт)\w*\s*(?:[,;|]|$))"
            r"[^\s,;|][^,;|]*?)(?=\s*(?:[,;|]|$))",
        ),
        (
            "route",
            rf"(?<!\w){LABELS['route']}{_LINK}(?P<v>(?-i:DCT\b[A-Z0-9 /]*|[A-Z0-9]{{2,}}(?:\s+[A-Z0-9]{{2,}})+))",
        ),
        ("departure_icao", rf"(?<!\w){LABELS['departure_icao']}{_LINK}(?:(?:from|из|с)\s+)?{_PLACE_VALUE}"),
        ("destination_icao", rf"(?<!\w){LABELS['destination_icao']}{_LINK}{_PLACE_VALUE}"),
    )
)
_NAMED: Final = tuple((field, re.compile(rf"(?<!\w){label}(?!\w)", re.IGNORECASE)) for field, label in LABELS.items())


# The value that a new one replaces: "instead of FL350", ", not 14:00", «вместо 5 часов», «не 350, а».
_REPLACED: Final = re.compile(
    r"(?<!\w)(?:instead\s+of|rather\s+than|вместо|(?:(?:and|а)\s+)?(?:not|не))\s+(?:at\s+|в\s+)?"
    r"(?:FL\s)?(?=[^\s,;|]*\d)[^\s,;|]+"
    r"(?:\s+(?:hours?|minutes?|knots?|kts?|ft|feet|m|met(?:er|re)s?|people|persons?|passengers?|pax|utc|"
    r"час\w*|минут\w*|узл\w*|фут\w*|м|метр\w*|человек\w*|пассажир\w*)(?!\w))?(?:[\s,]+(?:but|а)(?!\w))?",
    re.IGNORECASE,
)
_REMARKS: Final = re.compile(rf"(?<!\w){LABELS['other_information']}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PlanFields:
    """The fields that a text gives (words of the values), those it only names, and what is left of the text."""

    values: dict[str, str]
    named: tuple[str, ...]
    rest: str


def read_plan_fields(text: str) -> PlanFields:
    """Find every field; the later value wins where a field is given twice ("from FL350 to FL370").

    A value that is told to be the old one ("instead of FL350") is no field's.
    """
    if not _REMARKS.search(text):
        text = _REPLACED.sub(lambda old: " " * len(old.group()), text)
    rest = text.replace("ё", "е").replace("Ё", "Е")
    values: dict[str, str] = {}
    left_open: list[str] = []
    for field, words, match in find_changes(rest):
        if words:
            values[field] = words
        else:
            left_open.append(field)
        rest = rest[: match.start()] + GAP + " " * (match.end() - match.start() - 1) + rest[match.end() :]
    for field, pattern in _PATTERNS:
        for match in list(pattern.finditer(rest)):
            value = (match["v"] or match.groupdict().get("w") or "").strip(" .,;")
            if not value or GAP in value:
                continue
            name = _ident_field(value) if field == "ident" or _is_type(field, match) else field
            if field == "ident" and name in values:
                continue
            if field not in ("departure_icao", "destination_icao") or name not in values:
                values[name] = text[match.start("v") : match.end("v")].strip(" .,;") if match["v"] else value
            rest = rest[: match.start()] + GAP + " " * (match.end() - match.start() - 1) + rest[match.end() :]
    if "aircraft_type" in values and values.get("aircraft_id") == values["aircraft_type"]:
        del values["aircraft_id"]
    named = left_open
    for field, pattern in _NAMED:
        if pattern.search(rest):
            named.append(field)
            rest = pattern.sub(lambda match: GAP + " " * (len(match.group()) - 1), rest) if field != "route" else rest
    return PlanFields(values, tuple(field for field in named if field not in values), rest)


def value_alone(text: str, field: str) -> str:
    """The words of one field's value; the whole text where it gives none, or says more that may change the value
    ("10:00 local time", "FL350 or FL370"), so that the field's parser judges all of it."""
    fields = read_plan_fields(text)
    beside = [token for token in tokenise(fields.rest) if token.kind != "mark"]
    says_more = any(token.kind == "number" or not is_a(token, *_SAYING_NOTHING) for token in beside)
    return text if says_more else fields.values.get(field, text)


_SAYING_NOTHING: Final = (
    *(Cat.FILLER, Cat.PLAN_NOISE, Cat.GENERIC, Cat.AT, Cat.IT, Cat.THIS, Cat.ME),
    *(Cat.YES, Cat.THANKS),
)


def _is_type(field: str, match: re.Match[str]) -> bool:
    """«борт» introduces a registration as well as a type: «борт A20N»."""
    label = match.group().casefold()
    return (
        field == "aircraft_id"
        and label.startswith("борт")
        and "номер" not in label
        and any(map(str.isdigit, match["v"]))
    )


def _ident_field(value: str) -> str:
    """A type designator has at most four characters (ICAO Doc 8643), a callsign or registration usually more."""
    return "aircraft_type" if len(value) <= 4 else "aircraft_id"
