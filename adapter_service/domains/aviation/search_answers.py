"""What the airport search says: heads, items, the scope that was searched, and how a list goes on (F3, H1, H4).

Called by the tool's declaration. "Nearest", "farthest" and "highest" are told with the scope over which they hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adapter_service.domains.aviation.answers import DOCUMENT_TYPE, is_russian, kilometres, located, named, plural_ru
from adapter_service.domains.aviation.countries import country_name
from adapter_service.domains.aviation.planner.follow_ups import topic_referent
from adapter_service.domains.aviation.planner.list_memory import list_referent
from adapter_service.domains.aviation.planner.references import AIRPORT, AIRPORT_OPTION
from adapter_service.sdk import EntityCitation, Referent

# More airports than this are counted, not listed, in an answer.
_MOST_LISTED: Final = 20
# More than this is no list that "there" could choose from.
_MOST_OPTIONS: Final = 10
_METRES_IN_FOOT: Final = 0.3048

# sort: (one, in English; several; one, in Russian; several in the genitive)
_RANKED: Final[Mapping[str, tuple[str, str, str]]] = {
    "distance": ("nearest", "Ближайший", "ближайших"),
    "distance_desc": ("farthest", "Самый дальний", "самых дальних"),
    "elevation_desc": ("highest", "Самый высокогорный", "самых высокогорных"),
    "elevation": ("lowest", "Самый низко расположенный", "самых низко расположенных"),
    "latitude_desc": ("northernmost", "Самый северный", "самых северных"),
    "latitude": ("southernmost", "Самый южный", "самых южных"),
    "longitude_desc": ("easternmost", "Самый восточный", "самых восточных"),
    "longitude": ("westernmost", "Самый западный", "самых западных"),
}
_NUMBERS_EN: Final = ("", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS_RU: Final = ("", "", "Два", "Три", "Четыре", "Пять", "Шесть", "Семь", "Восемь", "Девять", "Десять")
_KINDS: Final = {
    "with_iata_code": ("airports with an IATA code", "аэропорты с кодом ИАТА"),
    "international": ("airports with an IATA code", "аэропорты с кодом ИАТА"),
    "any": ("airfields of every kind", "аэродромы любого рода"),
}


def say_search(result: Any, locale: str) -> str:
    """What was found, over which scope, in which data (H4)."""
    airports, total = result["airports"], result["total"]
    ru = is_russian(locale)
    data = (
        f"Источник: каталог {result['scope']['source']}."
        if ru
        else f"Source: the {result['scope']['source']} catalogue."
    )
    if result["query"].get("count_only"):
        return f"{_count(result, locale)} {data}"
    searched = _searched(result, locale)
    tail = f"{searched} {data}" if searched else data
    if not airports:
        if total:
            nothing = f"Список закончился: всего {total}." if ru else f"The list is over: there are {total} in all."
        else:
            nothing = _nothing(result["query"], locale)
        return f"{nothing} {tail}"
    if result["similar"]:
        tail += " Точно так не называется ни один аэропорт." if ru else " No airport is called exactly so."
    if len(airports) == 1 and (total == 1 or result["limit"] == 1):
        return f"{_single_head(result, locale)}: {_item(airports[0], result['sort'], locale)}. {tail}"
    shown = airports[:_MOST_LISTED]
    lines = [f"{result['offset'] + n}. {_item(a, result['sort'], locale)}" for n, a in enumerate(shown, 1)]
    if result["offset"] + len(shown) < total:
        tail += " Скажите «ещё», чтобы продолжить список." if ru else " Say “show more” to go on with the list."
    return "\n".join([_list_head(result, len(lines), locale), *lines, tail])


def _nothing(query: Mapping[str, Any], locale: str) -> str:
    said = [str(query[key]) for key in ("name", "city", "code", "subdivision") if key in query]
    if is_russian(locale):
        return f"Аэропортов по запросу «{', '.join(said)}» не найдено." if said else "Таких аэропортов не найдено."
    return f"No airport was found for “{', '.join(said)}”." if said else "No such airport was found."


def _item(airport: Mapping[str, Any], sort: str, locale: str) -> str:
    """The airport with what the list is about: its distance, elevation or position."""
    facts = []
    if airport.get("distance_km") is not None:
        facts.append(kilometres(airport["distance_km"], locale))
    ru = is_russian(locale)
    if sort.startswith("elevation"):
        feet = airport["elevation_ft"]
        facts.append(f"{feet * _METRES_IN_FOOT:.0f} {'м' if ru else 'm'} ({feet:.0f} {'футов' if ru else 'ft'})")
    elif sort.startswith("latitude"):
        facts.append(f"{'широта' if ru else 'latitude'} {airport['latitude_deg']:.4f}°")
    elif sort.startswith("longitude"):
        facts.append(f"{'долгота' if ru else 'longitude'} {airport['longitude_deg']:.4f}°")
    return " — ".join([located(airport, locale), ", ".join(facts)] if facts else [located(airport, locale)])


def _single_head(result: Mapping[str, Any], locale: str) -> str:
    ru = is_russian(locale)
    if result["total"] == 1 and result["limit"] > 1:
        return "Найден один аэропорт" if ru else "One airport was found"
    ranked = _RANKED.get(result["sort"])
    if ranked is None or result["offset"]:
        return "Найден" if ru else "Found"
    return f"{ranked[1]} аэропорт" if ru else f"The {ranked[0]} airport"


def _list_head(result: Mapping[str, Any], shown: int, locale: str) -> str:
    total, ru = result["total"], is_russian(locale)
    ranked = _RANKED.get(result["sort"])
    ringed = {"radius_km", "min_distance_km"} & set(result["query"])
    if ranked and not ringed and shown < total and not result["offset"]:
        # Every airport has some distance: how many there are in all says nothing.
        noun = plural_ru(shown, "аэропорт", "аэропорта", "аэропортов")
        in_words = shown < len(_NUMBERS_EN)
        if ru:
            return f"{_NUMBERS_RU[shown] if in_words else shown} {ranked[2]} {noun}:"
        return f"The {_NUMBERS_EN[shown] if in_words else shown} {ranked[0]} airports:"
    first, last = result["offset"] + 1, result["offset"] + shown
    if ru:
        found = f"Найдено {total} {plural_ru(total, 'аэропорт', 'аэропорта', 'аэропортов')}"
        if result["offset"]:
            return f"{found}, с {first}-го по {last}-й:"
        return f"{found}:" if shown == total else f"{found}, вот {shown} из них:"
    if result["offset"]:
        return f"{total} airports were found, {first} to {last}:"
    return f"{total} airports were found:" if shown == total else f"{total} airports were found, {shown} are shown:"


# --- the scope ----------------------------------------------------------------------------------------------------


def _searched(result: Mapping[str, Any], locale: str) -> str:
    """Over what the order holds: "Searched: airports with an IATA code in Poland, within 200 km of … (12)."."""
    if result["sort"] == "relevance":
        return ""
    lead = "Область поиска" if is_russian(locale) else "Searched"
    return f"{lead}: {_scope(result, locale)} ({result['total']})."


def _scope(result: Mapping[str, Any], locale: str) -> str:
    query, ru = result["query"], is_russian(locale)
    only = [country_name(code, locale) for code in query.get("country", [])]
    without = [country_name(code, locale) for code in query.get("except_country", [])]
    texts = [str(query[key]) for key in ("name", "city", "code", "subdivision") if key in query]
    kind = _KINDS[result["scope"]["kind"]][ru]
    if ru:
        countries = f"{'страна' if len(only) == 1 else 'страны'}: {', '.join(only)}" if only else ""
        parts = [kind, countries, f"кроме: {', '.join(without)}" if without else ""]
        parts += [f"«{text}»" for text in texts]
        return "; ".join(filter(None, [*parts, _around(result, locale)]))
    place = f" in {' or '.join(only)}" if only else ""
    place += f" outside {' and '.join(without)}" if without else ""
    return ", ".join(filter(None, [kind + place, *(f"“{text}”" for text in texts), _around(result, locale)]))


def _around(result: Mapping[str, Any], locale: str) -> str:
    """The distances that were asked for, and from where; without any, from where the distances are told."""
    center, query, ru = result["center"], result["query"], is_russian(locale)
    if center is None:
        return ""
    where = named(center) if "icao" in center else f"{center['latitude_deg']:.4f}, {center['longitude_deg']:.4f}"
    most, least = query.get("radius_km"), query.get("min_distance_km")
    if most is None and least is None:
        return f"расстояния от {where}" if ru else f"distances from {where}"
    if most is None:
        return f"не ближе {least:g} км от {where}" if ru else f"at least {least:g} km from {where}"
    if least is None:
        return f"не дальше {most:g} км от {where}" if ru else f"within {most:g} km of {where}"
    return f"от {least:g} до {most:g} км от {where}" if ru else f"from {least:g} to {most:g} km from {where}"


def _count(result: Mapping[str, Any], locale: str) -> str:
    total, left_out = result["total"], result["scope"]["left_out_by_kind"]
    scope = _scope(result, locale)
    every = total + left_out
    if is_russian(locale):
        found = f"{plural_ru(total, 'Найден', 'Найдено', 'Найдено')} {total} "
        found += f"{plural_ru(total, 'аэропорт', 'аэропорта', 'аэропортов')} ({scope})"
        return f"{found}; вместе с аэродромами без кода ИАТА — {every}." if left_out else f"{found}."
    found = f"Airports found: {total} ({scope})"
    return f"{found}; with the airfields that have no IATA code, {every}." if left_out else f"{found}."


# --- what later turns and readers get -----------------------------------------------------------------------------


def cite_search(result: Any) -> tuple[EntityCitation, ...]:
    """The airports that the answer lists, and the one that distances are measured from."""
    listed = [airport["icao"] for airport in result["airports"][:_MOST_LISTED]]
    center = (result["center"] or {}).get("icao")
    return tuple(
        EntityCitation(DOCUMENT_TYPE, icao) for icao in dict.fromkeys([*listed, *([center] if center else [])])
    )


def refer_search(result: Any) -> tuple[Referent, ...]:
    """ "There" after one airport, or after the nearest, is that one; after another list it is a choice.

    "Show more" goes on with this list.
    """
    airports, query = result["airports"], result["query"]
    topic = topic_referent(
        "search_airports",
        sort=result["sort"],
        limit=result["limit"] if result["sort"] in _RANKED else None,
        kind=None if query["kind"] == "with_iata_code" else query["kind"],
        **{key: query.get(key) for key in ("radius_km", "min_distance_km", "count_only")},
    )
    lists = list_referent(query, min(result["limit"], _MOST_LISTED), result["offset"], result["total"])
    if len(airports) == 1:
        return topic, *lists, Referent(AIRPORT, airports[0]["icao"], named(airports[0]))
    options = (Referent(AIRPORT_OPTION, airport["icao"], named(airport)) for airport in airports[:_MOST_OPTIONS])
    return topic, *lists, *options


def limit_search(result: Any, locale: str) -> tuple[str, ...]:
    """What the catalogue covers, what the search left out, and what its figures cannot tell."""
    scope, ru = result["scope"], is_russian(locale)
    limits = [scope["note_ru"] if ru else scope["note_en"]]
    if result["sort"].startswith("elevation"):
        limits.append(
            "Высоты взяты из каталога как есть: 0 футов там значит и «неизвестно»."
            if ru
            else "Elevations are those of the catalogue, in which 0 ft also stands for unknown."
        )
    if result["sort"].startswith("longitude"):
        limits.append(
            "Запад и восток отсчитаны от самого широкого промежутка долгот без таких аэропортов."
            if ru
            else "West and east are counted from the widest gap of longitudes without such airports."
        )
    return tuple(limits)


def view_search(result: Any) -> Any:
    """The count and the airports' identities, without their details (H1)."""
    return {
        "total": result["total"],
        "airports": [
            {key: airport[key] for key in ("icao", "name", "city", "distance_km") if key in airport}
            for airport in result["airports"][:_MOST_LISTED]
        ],
    }
