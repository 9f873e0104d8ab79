"""Turns frames into tasks with slots, and links them: one position, one nearest airport, one plan for a whole message.

Called by the planner. Place texts keep the user's words; the resolvers decide what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adapter_service.domains.aviation.catalogue import find_airport
from adapter_service.domains.aviation.countries import country_code
from adapter_service.domains.aviation.planner.follow_ups import Topic, last_topic
from adapter_service.domains.aviation.planner.grammar import BARE, Frame
from adapter_service.domains.aviation.planner.names import split_pair
from adapter_service.domains.aviation.planner.places import AirportQuery, Me, Place, PlaceText, Reference
from adapter_service.domains.aviation.planner.references import Spoken
from adapter_service.domains.aviation.planner.search_tasks import SearchComposer
from adapter_service.domains.aviation.planner.word_kinds import Cat
from adapter_service.sdk import Fill, ResultFill, TextFill, ValueFill

# More legs than this are no route but a list.
_MOST_LEGS: Final = 8
# Orders that a superlative chooses by, whatever the place ("the highest", "the northernmost").
_MEASURES: Final = ("elevation", "latitude", "longitude")


class Composer(SearchComposer):
    """Collects the tasks of one message, clause by clause: single airports, weather and routes besides the searches."""

    # --- single airports, weather, routes ---------------------------------------------------------------------------

    def at_airport(self, tool: str, frame: Frame) -> None:
        """Weather at, or details of, one or several airports."""
        places = frame.at(Cat.AT, Cat.NEAR, Cat.OF, Cat.FROM, Cat.TO, BARE) or frame.at("there")
        if frame.query.describes:
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
        if isinstance(place, AirportQuery) and place.ranked and 1 < (place.count or 1) <= _MOST_LEGS:
            task = self.search(place)
            return [ResultFill(task, f"airports.{index}.icao") for index in range(place.count or 1)]
        return [self.icao(place)]

    def journey(self, frame: Frame) -> None:
        """One route, or a leg each where intermediate airports are named."""
        stops = self.stops(frame)
        fills = [self.icao(place) for place in stops[: _MOST_LEGS + 1]]
        legs = []
        for departure, destination in zip(fills, fills[1:], strict=False):
            task = self.add("build_route", {"departure_icao": departure, "destination_icao": destination})
            legs.append(task)
            reusable = destination is not None and not isinstance(destination, TextFill)
            self.spoken = Spoken(
                destination if reusable and destination else ResultFill(task, "properties.destination.icao")
            )
        if legs and frame.has(Cat.BACK):
            ends = {"departure_icao": (legs[-1], "destination"), "destination_icao": (legs[0], "departure")}
            self.add(
                "build_route", {slot: ResultFill(leg, f"properties.{end}.icao") for slot, (leg, end) in ends.items()}
            )

    def way_back(self) -> bool:
        """The last route once more, the other way round; False where none is known."""
        ends = self.route_ends()
        if len(ends) == 2:
            back = {"departure_icao": ends["destination_icao"], "destination_icao": ends["departure_icao"]}
            self.add("build_route", {**back})
        return len(ends) == 2

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
            case "get_weather" | "get_forecast" | "get_airport":
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
        described = frame.query if frame.query.ranked else None
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
    query = AirportQuery(kind=kept.get("kind", ""), counts="count_only" in kept)
    query.count = int(kept["limit"]) if kept.get("limit", "").isdigit() else None
    query.radius_km = float(kept["radius_km"]) if "radius_km" in kept else None
    query.min_distance_km = float(kept["min_distance_km"]) if "min_distance_km" in kept else None
    sort = kept.get("sort", "")
    country = next((p for p in places if isinstance(p, PlaceText) and country_code(p.text)), None)
    if sort in ("distance", "distance_desc") and country is None:
        query.superlative = Cat.FARTHEST if sort == "distance_desc" else Cat.NEAREST
        query.plural = query.count != 1
        query.centre = places[0]
        return query
    if sort.startswith("name"):
        query.sort = sort
    elif sort.startswith(_MEASURES):
        query.extreme, query.plural = sort, query.count != 1
    query.areas = [place.text for place in places if isinstance(place, PlaceText)]
    return query
