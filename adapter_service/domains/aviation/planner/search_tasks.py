"""Searches of one message: places to slots, and airport queries to search tasks; nothing that was said is dropped.

Called by compose.py, whose Composer adds the other tasks. Place texts keep the user's words; the resolvers decide what
they mean.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from adapter_service.domains.aviation.catalogue import Airport, airports
from adapter_service.domains.aviation.countries import country_code, country_name
from adapter_service.domains.aviation.gazetteer import weight_of
from adapter_service.domains.aviation.matching import city_icaos, resolve_airport
from adapter_service.domains.aviation.planner.grammar import BARE, Frame
from adapter_service.domains.aviation.planner.places import AirportQuery, Me, Place, PlaceText, Position, Reference
from adapter_service.domains.aviation.planner.references import (
    Spoken,
    remembered_airport,
    remembered_position,
    spoken_airport,
)
from adapter_service.domains.aviation.planner.word_kinds import Cat
from adapter_service.domains.aviation.subdivisions import says_kind, subdivisions
from adapter_service.sdk import ArtifactFill, Fill, Memory, ResultFill, TaskDraft, TextFill, ValueFill

_KIND_BEFORE: Final = re.compile(
    r"^(?:(?:state|province|region)\s+of|(?:штат|провинци|регион)\w*)\s+(?=\S)", re.IGNORECASE
)
# A city of so many inhabitants is meant rather than a region of the same name elsewhere.
_GREAT_CITY: Final = 500_000
_MOST_AIRPORTS: Final = 100
# More lists than these are no request any more.
_MOST_LISTS: Final = 5
# How a text was matched that names an airport itself, not a city.
_AIRPORT_NAMES: Final = frozenset({"icao_code", "iata_code", "name", "partial"})


class SearchComposer:
    """Collects the tasks of one message, clause by clause: positions and searches."""

    def __init__(self, memory: Memory, locale: str, now: datetime) -> None:
        self.memory = memory
        self.locale = locale
        self.now = now
        self.tasks: list[TaskDraft] = []
        self.spoken: Spoken | None = None
        self.plan: ArtifactFill | None = None
        self._position_task = ""
        self._position_fills: dict[str, Fill] = {}

    def add(self, tool: str, fills: dict[str, Fill | None]) -> str:
        """Append a task; a fill of None is left out, so that the slot is asked or stays empty."""
        prefix = tool.split("_")[0 if tool.endswith(("_plan", "airports")) else -1]
        taken = {task.name for task in self.tasks}
        name, number = prefix, 1
        while name in taken:
            number += 1
            name = f"{prefix}_{number}"
        self.tasks.append(TaskDraft(name, tool, {slot: fill for slot, fill in fills.items() if fill is not None}))
        return name

    # --- places -----------------------------------------------------------------------------------------------------

    def state_position(self, place: Place) -> None:
        """The user said where they are: use it wherever this message needs a position."""
        if isinstance(place, PlaceText | Position):
            self._position_fills = {"position": TextFill(place.text)}
            self._position_task = ""

    def position(self) -> str:
        """The task that gets the user's position, made once a message."""
        if not self._position_task:
            known = {"position": remembered_position(self.memory, self.now)}
            self._position_task = self.add("get_position", {**known, **self._position_fills})
        return self._position_task

    def icao(self, place: Place | None) -> Fill | None:
        """What fills an airport slot; None where nothing does, so that it is asked."""
        if place is None:
            return None
        if isinstance(place, PlaceText):
            return TextFill(place.text)
        if isinstance(place, Reference):
            if self.spoken is not None:
                return spoken_airport(self.spoken, place.index)
            return remembered_airport(self.memory, place.text, place.index)
        query = place if isinstance(place, AirportQuery) else AirportQuery(superlative=Cat.NEAREST, centre=place)
        if not query.ranked and not query.near and query.radius_km is None:
            query.superlative = Cat.NEAREST
        query.count, query.plural = 1, False
        return ResultFill(self.search(query), "airports.0.icao")

    def centre(self, place: Place | None) -> dict[str, Fill | None]:
        """The fills of a search's centre; the user's own position where nothing else was said."""
        if place is None or isinstance(place, Me):
            task = self.position()
            return {
                "center_lat_deg": ResultFill(task, "latitude_deg"),
                "center_lon_deg": ResultFill(task, "longitude_deg"),
            }
        if isinstance(place, Position):
            return {
                "center_lat_deg": ValueFill(place.latitude_deg, f"{place.latitude_deg:g}"),
                "center_lon_deg": ValueFill(place.longitude_deg, f"{place.longitude_deg:g}"),
            }
        fills: dict[str, Fill | None] = {"center_icao": self.icao(place)}
        if (
            isinstance(place, PlaceText)
            and not place.says_airport
            and resolve_airport(place.text).how not in _AIRPORT_NAMES
        ):
            # "near Prague" means the city: its own airport is an answer, not the centre to leave out.
            fills["include_center"] = ValueFill(True)
        return fills

    # --- searches ---------------------------------------------------------------------------------------------------

    def search(self, query: AirportQuery) -> str:
        """A search task; remembers what it finds for "there"."""
        fills: dict[str, Fill | None] = {
            **self._countries("country", [area for area in query.areas if country_code(area)]),
            **self._countries("except_country", query.except_countries),
        }
        for area in query.areas:
            if country_code(area) is None:
                fills.update(_area(area))
        for name in query.names:
            fills["name"] = TextFill(name)
        if query.code:
            fills["code"] = TextFill(query.code)
        if query.centred:
            fills.update(self.centre(query.centre))
            fills["sort"] = _value("distance_desc" if query.superlative is Cat.FARTHEST else "distance")
        if query.extreme or query.sort:
            fills["sort"] = _value(query.sort or query.extreme)
        for slot, km in (("radius_km", query.radius_km), ("min_distance_km", query.min_distance_km)):
            if km is not None:
                fills[slot] = ValueFill(km, f"{km:g} km")
        limit = _limit(query)
        if query.counts:
            fills["count_only"] = ValueFill(True)
        elif limit is not None:
            fills["limit"] = _value(limit)
        if query.ordinal is not None and query.ranked and query.ordinal > 1:
            fills["offset"] = _value(query.ordinal - 1)
        if query.kind:
            fills["kind"] = _value(query.kind)
        task = self.add("search_airports", fills)
        first = query.centred or limit == 1
        words = (query.names or query.areas or [query.code])[-1]
        # "There" after a list by name or city is what these words mean: the resolver offers the closed list, if
        # several.
        named = TextFill(words) if words and not fills.get("country") else None
        self.spoken = Spoken(ResultFill(task, "airports.0.icao") if first else named, task)
        return task

    def _countries(self, slot: str, names: list[str]) -> dict[str, Fill | None]:
        codes = list(dict.fromkeys(code for name in names if (code := country_code(name)) is not None))
        shown = ", ".join(country_name(code, self.locale) for code in codes)
        return {slot: ValueFill(codes[0] if len(codes) == 1 else codes, shown)} if codes else {}

    def search_frame(self, frame: Frame) -> str:
        """A clause that asks for airports; returns the words that could not be understood, "" where all could."""
        query = frame.query
        if frame.at(Cat.BETWEEN):
            return frame.text  # no search finds what lies between two places
        ringed = query.radius_km is not None or query.min_distance_km is not None
        centred = query.superlative is not None or ringed or query.sort.startswith("distance")
        centres: list[Place] = [] if query.centre is None else [query.centre]
        near = frame.at(Cat.NEAR)
        if query.counts:  # «сколько аэропортов у Германии»
            owners = [place for place in near if isinstance(place, PlaceText) and country_code(place.text)]
            query.areas += [place.text for place in owners]
            near = [place for place in near if place not in owners]
        if near:
            query.near = not centres or query.near
            centres += [place for place in near if place not in centres]
        for place in frame.at(Cat.AT):
            if isinstance(place, PlaceText):
                query.areas.append(place.text)
            elif not centres:
                centres.append(place)
        for place in frame.at(Cat.FROM, Cat.TO, Cat.OF, "there"):
            if isinstance(place, PlaceText) and (country_code(place.text) or not centred):
                query.areas.append(place.text)
            elif place not in centres:
                centres.append(place)
        unknown = []
        for place in frame.at(BARE):
            if query.superlative and centres and isinstance(place, PlaceText) and country_code(place.text) is None:
                centres.append(place)  # "the airports nearest to Oslo and Bergen"
            else:
                unknown.append(self._bare(query, centres, place, listed=frame.has(Cat.AIRPORTS)))
        lists = _lists(query, centres)
        if len(lists) > _MOST_LISTS:
            return frame.text
        if not any(unknown):
            for each in lists:
                self.search(each)
        return " ".join(filter(None, unknown))

    def _bare(self, query: AirportQuery, centres: list[Place], place: Place, *, listed: bool) -> str:
        """«аэропорты Германии», "London airports", "find Heathrow", "find EDDB"; returns what is none of these."""
        if not isinstance(place, PlaceText):
            centres[:] = centres or [place]
            return ""
        if country_code(place.text) is not None or (
            listed and (city_icaos(place.text) or means_subdivision(place.text))
        ):
            query.areas.append(place.text)
        elif place.text.isupper() and place.text.isalnum() and len(place.text) in (3, 4) and not query.code:
            query.code = place.text
        elif listed and not query.names:
            return place.text  # "German airports": no country, no city
        else:
            query.names.append(place.text)
        return ""


def _lists(query: AirportQuery, centres: list[Place]) -> list[AirportQuery]:
    """The query once for each of its places: "airports in London and Paris" are two lists, "in Portland in Oregon" is
    one."""
    queries = [replace(query, centre=centre) for centre in centres] or [query]
    cities = [area for area in query.areas if country_code(area) is None]
    countries = [area for area in query.areas if country_code(area) is not None]
    if len(cities) > 1 and not _is_one_place(cities):
        queries = [replace(each, areas=[*_of_city(city, countries), city]) for each in queries for city in cities]
        alone = [country for country in countries if not any(_of_city(city, [country]) for city in cities)]
        queries += [replace(query, areas=alone)] if alone else []
    elif len(cities) == 1 and countries and not _of_city(cities[0], countries):
        queries = [replace(each, areas=areas) for each in queries for areas in (cities, countries)]
    if len(query.names) > 1:
        queries = [replace(each, names=[name]) for each in queries for name in query.names]
    return queries


def _of_city(city: str, countries: list[str]) -> list[str]:
    """Those of the countries that have a city or a region of this name."""
    codes = {airport.country for airport in _airports_of(city)} | {area[0] for area in subdivisions(city)}
    return [country for country in countries if country_code(country) in codes]


def _is_one_place(areas: list[str]) -> bool:
    """A city and the region that it is in ("Portland in Oregon")."""
    if len(areas) != 2:
        return False
    for city, region in (areas, areas[::-1]):
        inside = subdivisions(region)
        if any((airport.country, airport.subdivision) in inside for airport in _airports_of(city)):
            return means_subdivision(region) and not means_subdivision(city)
    return False


def _airports_of(city: str) -> list[Airport]:
    return [airports()[icao] for icao in city_icaos(city)]


def _area(area: str) -> dict[str, Fill | None]:
    if means_subdivision(area):
        return {"subdivision": TextFill(_KIND_BEFORE.sub("", area))}
    return {"city": TextFill(area)}


def means_subdivision(text: str) -> bool:
    """A state or region, said so or not; a city of that name is meant instead where it is in it ("New York", "Quebec")
    or a great one."""
    areas = subdivisions(text)
    if not areas or says_kind(text):
        return bool(areas)
    cities = _airports_of(text)
    inside = any((city.country, city.subdivision) in areas for city in cities)
    return not inside and not any(weight_of(city) >= _GREAT_CITY for city in cities)


def _value(value: Any) -> ValueFill:
    return ValueFill(value, str(value))


def _limit(query: AirportQuery) -> int | None:
    if query.count is not None:
        return min(max(query.count, 1), _MOST_AIRPORTS)
    single = query.ranked and not query.plural
    return 1 if single or query.ordinal is not None else None
