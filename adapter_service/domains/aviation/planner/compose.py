"""Turns frames into tasks with slots, and links them: one position, one nearest airport, one plan for a whole message.

Called by the planner. Place texts keep the user's words; the resolvers decide what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from adapter_service.domains.aviation.catalogue import airports, find_airport
from adapter_service.domains.aviation.countries import country_code, country_name
from adapter_service.domains.aviation.gazetteer import weight_of
from adapter_service.domains.aviation.matching import city_icaos, resolve_airport
from adapter_service.domains.aviation.planner.follow_ups import Topic, last_topic
from adapter_service.domains.aviation.planner.grammar import BARE, Frame, split_pair
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

# More legs than this are no route but a list.
_MOST_LEGS: Final = 8
_KIND_BEFORE: Final = re.compile(
    r"^(?:(?:state|province|region)\s+of|(?:штат|провинци|регион)\w*)\s+(?=\S)", re.IGNORECASE
)
# A city of so many inhabitants is meant rather than a region of the same name elsewhere.
_GREAT_CITY: Final = 500_000
# How a text was matched that names an airport itself, not a city.
_AIRPORT_NAMES: Final = frozenset({"icao_code", "iata_code", "name", "partial"})


class Composer:
    """Collects the tasks of one message, clause by clause."""

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
        if not query.superlative and not query.near and query.radius_km is None:
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
        fills: dict[str, Fill | None] = {}
        for area in query.areas:
            fills.update(self._area(area))
        for name in query.names:
            fills["name"] = TextFill(name)
        if query.code:
            fills["code"] = TextFill(query.code)
        centred = query.superlative is not None or query.radius_km is not None or query.centre is not None or query.near
        if centred:
            fills.update(self.centre(query.centre))
            fills["sort"] = _value("distance_desc" if query.superlative is Cat.FARTHEST else "distance")
        if query.sort:
            fills["sort"] = _value(query.sort)
        if query.radius_km is not None:
            fills["radius_km"] = ValueFill(query.radius_km, f"{query.radius_km:g} km")
        limit = _limit(query)
        if limit is not None:
            fills["limit"] = _value(limit)
        if query.ordinal is not None and query.superlative is not None and query.ordinal > 1:
            fills["offset"] = _value(query.ordinal - 1)
        if query.kind:
            fills["kind"] = _value(query.kind)
        task = self.add("search_airports", fills)
        first = centred or limit == 1
        words = (query.names or query.areas or [query.code])[-1]
        # "There" after a list by name or city is what these words mean: the resolver offers the closed list, if
        # several.
        named = TextFill(words) if words and not fills.get("country") else None
        self.spoken = Spoken(ResultFill(task, "airports.0.icao") if first else named, task)
        return task

    def _area(self, area: str) -> dict[str, Fill | None]:
        country = country_code(area)
        if country is not None:
            return {"country": ValueFill(country, country_name(country, self.locale))}
        return (
            {"subdivision": TextFill(_KIND_BEFORE.sub("", area))}
            if _means_subdivision(area)
            else {"city": TextFill(area)}
        )

    def search_frame(self, frame: Frame) -> str:
        """A clause that asks for airports; returns the words that could not be understood, "" where all could."""
        query = frame.query
        if frame.at(Cat.BETWEEN):
            return frame.text  # no search finds what lies between two places
        centred = query.superlative is not None or query.radius_km is not None or query.sort.startswith("distance")
        near = frame.at(Cat.NEAR)
        if near and query.centre is None:
            query.centre, query.near = near[0], True
        around = frame.at(Cat.FROM, Cat.TO, Cat.OF, "there")
        for place in frame.at(Cat.AT):
            if isinstance(place, PlaceText):
                query.areas.append(place.text)
            elif query.centre is None:
                query.centre = place
        for place in around:
            if (centred or not isinstance(place, PlaceText)) and query.centre is None:
                query.centre = place
            elif isinstance(place, PlaceText):
                query.areas.append(place.text)
        unknown = [self._bare(query, place, listed=frame.has(Cat.AIRPORTS)) for place in frame.at(BARE)]
        if not any(unknown):
            self.search(query)
        return " ".join(filter(None, unknown))

    def _bare(self, query: AirportQuery, place: Place, *, listed: bool) -> str:
        """«аэропорты Германии», "London airports", "find Heathrow", "find EDDB"; returns what is none of these."""
        if not isinstance(place, PlaceText):
            query.centre = query.centre or place
            return ""
        if country_code(place.text) is not None or (
            listed and (city_icaos(place.text) or _means_subdivision(place.text))
        ):
            query.areas.append(place.text)
        elif place.text.isupper() and place.text.isalnum() and len(place.text) in (3, 4) and not query.code:
            query.code = place.text
        elif listed and not query.names:
            return place.text  # "German airports": no country, no city
        else:
            query.names.append(place.text)
        return ""

    # --- single airports, weather, routes ---------------------------------------------------------------------------

    def at_airport(self, tool: str, frame: Frame) -> None:
        """Weather at, or details of, one or several airports."""
        places = frame.at(Cat.AT, Cat.NEAR, Cat.OF, Cat.FROM, Cat.TO, BARE) or frame.at("there")
        described = (
            frame.query.superlative or frame.query.radius_km is not None or frame.query.names or frame.query.code
        )
        if described:
            query = frame.query
            countries = [p.text for p in places if isinstance(p, PlaceText) and country_code(p.text)]
            query.areas += countries
            places = [p for p in places if not (isinstance(p, PlaceText) and p.text in countries)]
            if query.centre is None and places:
                query.centre = places.pop(0)
            places = [query, *places]
        if frame.at(Cat.NEAR):
            near = frame.at(Cat.NEAR)[0]
            places = [
                AirportQuery(centre=near, near=True) if place is near and isinstance(near, Me) else place
                for place in places
            ]
        wanted: list[Place | None] = [*places] or [None]
        for fill in [fill for place in wanted for fill in self._airports(place)]:
            task = self.add(tool, {"icao": fill})
            self.spoken = Spoken(ResultFill(task, "icao") if fill is None or isinstance(fill, TextFill) else fill)

    def _airports(self, place: Place | None) -> list[Fill | None]:
        """What fills the slots for one place: one airport, or as many as "the two nearest" asks for."""
        if isinstance(place, AirportQuery) and place.superlative and 1 < (place.count or 1) <= _MOST_LEGS:
            task = self.search(place)
            return [ResultFill(task, f"airports.{index}.icao") for index in range(place.count or 1)]
        return [self.icao(place)]

    def journey(self, frame: Frame) -> None:
        """One route, or a leg each where intermediate airports are named."""
        stops = self.stops(frame)
        fills = [self.icao(place) for place in stops[: _MOST_LEGS + 1]]
        for departure, destination in zip(fills, fills[1:], strict=False):
            task = self.add("build_route", {"departure_icao": departure, "destination_icao": destination})
            reusable = destination is not None and not isinstance(destination, TextFill)
            self.spoken = Spoken(
                destination if reusable and destination else ResultFill(task, "properties.destination.icao")
            )

    def route_ends(self) -> dict[str, Fill]:
        """The ends of the route that was asked for last, in this message or in what memory has as the last request."""
        built = next((task for task in reversed(self.tasks) if task.tool == "build_route"), None)
        if built is not None:
            ends = {"departure_icao": "departure", "destination_icao": "destination"}
            return {slot: ResultFill(built.name, f"properties.{end}.icao") for slot, end in ends.items()}
        topic = last_topic(self.memory)
        if topic is None or topic.tool != "build_route":
            return {}
        known = {f"{end}_icao": _known(topic.kept.get(end)) for end in ("departure", "destination")}
        return {slot: fill for slot, fill in known.items() if fill is not None}

    def repeat(self, topic: Topic, frame: Frame) -> bool:
        """The last request once more with the places of a clause that asks nothing itself; False where it cannot be."""
        bare = frame.at(BARE, Cat.AT, Cat.NEAR, Cat.OF, "there")
        match topic.tool:
            case "get_weather" | "get_airport":
                self.at_airport(topic.tool, frame)
            case "build_route":
                departures, destinations = frame.at(Cat.FROM), [*frame.at(Cat.TO), *bare]
                departure = self.icao(departures[0]) if departures else _known(topic.kept.get("departure"))
                destination = self.icao(destinations[0]) if destinations else _known(topic.kept.get("destination"))
                self.add("build_route", {"departure_icao": departure, "destination_icao": destination})
            case "search_airports":
                self.search(_repeated_query(topic.kept, [*bare, *frame.at(Cat.FROM, Cat.TO)]))
            case _:
                return False
        return True

    def stops(self, frame: Frame) -> list[Place | None]:
        """The airports of a journey in order; None for an end that was not said."""
        between = frame.at(Cat.BETWEEN)
        if len(between) >= 2:
            return [*between]
        bare: list[Place] = frame.at(BARE)
        departures, destinations = frame.at(Cat.FROM), frame.at(Cat.TO, "there")
        if not departures and not destinations and len(bare) == 1 and isinstance(bare[0], PlaceText):
            pair = split_pair(bare[0].text)
            if pair:
                return [PlaceText(pair[0]), PlaceText(pair[1])]
        if len(departures) == 2 and not destinations:
            departures, destinations = departures[:1], departures[1:]
        described = frame.query if frame.query.superlative else None
        if described is not None:
            (destinations if departures and not destinations else departures).append(described)
        if not departures and bare:
            departures = [bare.pop(0)]
        if not destinations:
            destinations = [*bare[:1], *frame.at(Cat.AT, Cat.OF)][:1]
        if not destinations and departures and frame.has(Cat.DISTANCE) and frame.has(Cat.IT):
            destinations = [Reference("it")]  # "how far is it from Zagreb"
        ends: list[Place | None] = [*destinations] or [None]
        return [departures[0] if departures else None, *frame.at(Cat.VIA), *ends]


def _known(icao: str | None) -> Fill | None:
    airport = find_airport(icao or "")
    return None if airport is None else ValueFill(airport.icao, f"{airport.name} ({airport.icao})")


def _repeated_query(kept: Mapping[str, str], places: list[Place]) -> AirportQuery:
    """The airports that were asked for last, around or in another place."""
    query = AirportQuery(kind=kept.get("kind", ""))
    query.count = int(kept["limit"]) if kept.get("limit", "").isdigit() else None
    query.radius_km = float(kept["radius_km"]) if "radius_km" in kept else None
    country = next((p for p in places if isinstance(p, PlaceText) and country_code(p.text)), None)
    if kept.get("sort") in ("distance", "distance_desc") and country is None:
        query.superlative = Cat.FARTHEST if kept["sort"] == "distance_desc" else Cat.NEAREST
        query.plural = query.count != 1
        query.centre = places[0]
    else:
        query.sort = kept.get("sort", "") if kept.get("sort", "").startswith("name") else ""
        query.areas = [place.text for place in places if isinstance(place, PlaceText)]
    return query


def _means_subdivision(text: str) -> bool:
    """A state or region, said so or not; a city of that name is meant instead where it is in it ("New York", "Quebec")
    or a great one."""
    areas = subdivisions(text)
    if not areas or says_kind(text):
        return bool(areas)
    cities = [airports()[icao] for icao in city_icaos(text)]
    inside = any((city.country, city.subdivision) in areas for city in cities)
    return not inside and not any(weight_of(city) >= _GREAT_CITY for city in cities)


def _value(value: Any) -> ValueFill:
    return ValueFill(value, str(value))


def _limit(query: AirportQuery) -> int | None:
    if query.count is not None:
        return min(max(query.count, 1), 100)
    single = query.superlative is not None and not query.plural
    return 1 if single or query.ordinal is not None else None
