"""The ladder of the place matching: every airport that a text may name, by the first rung that finds any.

Called by the matching, which decides among what is found here. Its module text lists the rungs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from rapidfuzz import process
from rapidfuzz.distance import OSA

from . import gazetteer, place_names
from .catalogue import Airport, airports, airports_by_iata, find_airport, metropolitan_areas
from .city_readings import Reading, read_cities
from .countries import country_code
from .declension import NOUN_PRICE, nominative_texts
from .folding import core, fold, is_cyrillic
from .place_names import squash
from .transliteration import alignment_score

How = Literal[
    "icao_code", "iata_code", "metropolitan_code", "name", "city", "nearby", "partial", "transliteration", "similar"
]

# Longer texts name no place; the bound keeps the comparison cheap.
LONGEST_TEXT: Final = 120

# Scores of the rungs (0..100). A reading by transliteration and a similar spelling bring their own.
_CODE: Final = 100.0
EXACT: Final = 98.0
# Equals by their own name and in another language: the former are listed first.
EXACT_MARGIN: Final = 0.5
# A namesake of a far smaller place: exact as well, but behind.
_BEHIND: Final = 97.0
# An airport near a city that has none of its own: the nearest of all, and one at the greatest distance.
_NEARBY: Final = 93.0
_NEARBY_FARTHEST: Final = 91.0
# A field without an IATA code in such a city.
_FIELD: Final = 90.0
_PARTIAL: Final = 90.0
# A Russian spelling that scores this reads as the name itself; below it only resembles it.
READS_AS: Final = 94.0
# Below this a resemblance is chance (nonsense reaches the seventies against so many names).
_RESEMBLES: Final = 77.5
_SIMILAR: Final = 80.0
# A field without an IATA code is proposed for a resemblance only from here on.
_RESEMBLES_FIELD: Final = 86.0
# The shortest texts read like some name or other ("там" like Tame), so they must read exactly.
_SHORT_TEXT: Final = 3
_SHORT_READS_AS: Final = 98.5
# The same for a word of a text of several, where the other words confirm it.
_WORD_RESEMBLES: Final = 82.0
# What reads this well is listed behind a better reading when a question is asked anyway.
_NEARLY: Final = 88.0
# A resemblance wins over another one only by this much; resemblances are coarse.
RESEMBLANCE_MARGIN: Final = 8.0
# Being a word of the name is less than being the name.
_WORD_DISCOUNT: Final = 2.0
_BRACKETED_CODE: Final = re.compile(r"\(([A-Za-z0-9]{3,4})\)|^\s*([A-Z0-9]{3,4})\s+[—–-]\s")
_LINKING_WORDS: Final = frozenset(["in", "of", "the", "в", "во", "на", "из"])


@dataclass(frozen=True, slots=True)
class Match:
    """One airport that a text may mean: `score` 0..100, `how` the rung of the ladder.

    `weight`: about the number of inhabitants of the city it serves; the larger city first among equal scores.
    """

    airport: Airport
    score: float
    how: How
    weight: int = 0


_Found = dict[str, Match]


@lru_cache(maxsize=4096)
def ladder(text: str, country: str | None) -> tuple[Match, ...]:
    if not text or len(text) > LONGEST_TEXT:
        return ()
    folded = core(text)
    if not folded:
        return ()
    rungs: tuple[Callable[[], _Found], ...] = (
        lambda: _by_bracketed_code(text),
        lambda: _exactly(text, folded, country),
        lambda: _by_all_words(folded, country),
        lambda: _with_qualifier(text, country),
        lambda: _resembling(folded, country),
    )
    for rung in rungs:
        found = rung()
        kept = [match for match in found.values() if country is None or match.airport.country == country]
        if kept:
            return tuple(sorted(kept, key=_order))
    return ()


def _order(match: Match) -> tuple[float, int, bool, int, str]:
    airport = match.airport
    return (
        -match.score,
        -match.weight,
        not gazetteer.is_main(airport, match.weight),
        -place_names.prominence(airport),
        airport.icao,
    )


def _add(found: _Found, icaos: Iterable[str], score: float, how: How) -> None:
    """Keep the best way in which each airport was found."""
    for icao in icaos:
        known = found.get(icao)
        if known is None or score > known.score:
            found[icao] = Match(airports()[icao], score, how, gazetteer.weight_of(airports()[icao]))


def _add_city_readings(found: _Found, readings: Iterable[Reading], score: float) -> None:
    for reading in readings:
        if reading.how == "nearby":
            earned = _NEARBY - (_NEARBY - _NEARBY_FARTHEST) * reading.km / gazetteer.SERVES_KM
        else:
            earned = score if reading.own else score - EXACT_MARGIN
        match = Match(airports()[reading.icao], earned, reading.how, reading.weight)
        found.setdefault(reading.icao, match)


def _by_bracketed_code(text: str) -> _Found:
    """ "Berlin Brandenburg (EDDB)" and "EDDB — Berlin Brandenburg": a code set apart decides."""
    found: _Found = {}
    hit = _BRACKETED_CODE.search(text)
    if hit:
        _add_codes(found, (hit.group(1) or hit.group(2)).upper(), _CODE)
    return found


def _add_codes(found: _Found, code: str, score: float) -> None:
    airport = find_airport(code)
    if airport is not None:
        _add(found, (airport.icao,), score, "icao_code")
    airport = airports_by_iata().get(code)
    if airport is not None:
        _add(found, (airport.icao,), score, "iata_code")
    elif code in metropolitan_areas():
        _add(found, metropolitan_areas()[code].icaos, score, "metropolitan_code")


def forms_of(folded: str) -> Mapping[str, float]:
    """The folded text and, of a Russian one, the nominatives that it may be a case form of, with their prices."""
    return nominative_texts(folded) if is_cyrillic(folded) else {folded: 0.0}


def _exactly(text: str, folded: str, country: str | None) -> _Found:
    forms = forms_of(folded)
    read = read_cities(forms, folded, NOUN_PRICE, country)
    found: _Found = {}
    _add_city_readings(found, read.equals, EXACT)
    _add_city_readings(found, read.behind, _FIELD if all(r.how == "nearby" for r in read.equals) else _BEHIND)
    # A code in capitals is a code; in other letters it may be a short name as well, and then both are candidates.
    written_as_code = any(part.upper() == part and fold(part) == folded for part in text.split())
    codes: _Found = {}
    _add_codes(codes, squash(folded).upper(), _CODE if written_as_code or not found else EXACT)
    if codes and (written_as_code or not found):
        return codes
    for match in codes.values():
        _add(found, (match.airport.icao,), match.score, match.how)
    if any(match.how != "nearby" and match.airport.iata for match in found.values()):
        return found
    # Only cities without an airport of their own, or fields that nobody flies to by schedule, are called so. An airport
    # known by a part of its name, or whose name reads so in Russian, is no worse, unless that is a smaller place.
    others: _Found = {}
    if is_cyrillic(folded):
        _add_readings(others, forms, folded, country, READS_AS)
    else:
        for match in _by_all_words(folded, country).values():
            _add(others, (match.airport.icao,), EXACT, "partial")
    heavier = {icao: match for icao, match in others.items() if match.weight > read.known_weight and match.airport.iata}
    if heavier:
        return heavier
    return found or (others if read.known_weight == 0 and is_cyrillic(folded) else {})


def _add_readings(found: _Found, forms: Mapping[str, float], folded: str, country: str | None, cutoff: float) -> None:
    """Airports whose city, name or word reads like the Russian text or a nominative of it."""
    least = max(cutoff, _SHORT_READS_AS) if len(folded) <= _SHORT_TEXT else cutoff
    for icao, score in _readings(forms, least, country).items():
        _add(found, (icao,), score, "transliteration")


def _readings(forms: Mapping[str, float], cutoff: float, country: str | None) -> dict[str, float]:
    """Best reading score by ICAO code.

    Airports without an IATA code are looked at only where those with one give nothing; what they give then must
    beat a fair resemblance of those by its margin, or both are returned.
    """
    known = _read(forms, min(cutoff, _RESEMBLES), country, with_iata_only=True)
    if any(score >= cutoff for score in known.values()):
        return {icao: score for icao, score in known.items() if score >= min(cutoff, _NEARLY)}
    every = _read(forms, max(cutoff, _RESEMBLES_FIELD), country, with_iata_only=False)
    if not every:
        return {}
    top = max(every.values())
    near = {icao: top for icao, score in known.items() if score >= top - RESEMBLANCE_MARGIN}
    return {**every, **near}


def _read(forms: Mapping[str, float], cutoff: float, country: str | None, with_iata_only: bool) -> dict[str, float]:
    spellings = place_names.spellings(with_iata_only)
    scores: dict[str, float] = {}
    for spelling, reading in place_names.spelling_index(with_iata_only).search(forms, cutoff).items():
        for icao in spellings[spelling]:
            score = reading - (0.0 if _is_whole(icao, spelling) else _WORD_DISCOUNT)
            if score < cutoff or (country is not None and airports()[icao].country != country):
                continue
            scores[icao] = max(score, scores.get(icao, 0.0))
    return scores


def _is_whole(icao: str, spelling: str) -> bool:
    """Is the spelling the airport's whole city, area or name, not one word of it?"""
    key = squash(spelling)
    return icao in place_names.by_city().get(key, ()) or icao in place_names.by_name().get(key, ())


def _by_all_words(folded: str, country: str | None) -> _Found:
    """Airports in whose name and city every word of the text stands."""
    found: _Found = {}
    words = [word for word in folded.split() if word not in _LINKING_WORDS]
    if not words or (len(words) == 1 and is_cyrillic(folded)):
        return found  # a single Russian word was already read against every word of the catalogue
    common: dict[str, float] | None = None
    for piece in _pieces(words):
        scores = _piece_scores(piece, country)
        if common is None:
            common = scores
        else:
            common = {icao: min(common[icao], score) for icao, score in scores.items() if icao in common}
        if not common:
            return found
    for icao, score in (common or {}).items():
        _add(found, (icao,), _PARTIAL if score >= READS_AS else score - 100.0 + _PARTIAL, "partial")
    return found


def _pieces(words: list[str]) -> list[str]:
    """The words, those that together are a city's name in another language taken together ("нью йорк")."""
    pieces: list[str] = []
    start = 0
    while start < len(words):
        for size in range(min(3, len(words) - start), 1, -1):
            group = " ".join(words[start : start + size])
            if size < len(words) and _serving(group):
                break
        else:
            size, group = 1, words[start]
        pieces.append(group)
        start += size
    return pieces


def _serving(words: str) -> set[str]:
    """ICAO codes of the airports that serve a city of this name."""
    cities = gazetteer.cities_called(forms_of(words), NOUN_PRICE)
    return {icao for index in cities for icao in gazetteer.airports_named_after(index)}


def _piece_scores(word: str, country: str | None) -> dict[str, float]:
    if is_cyrillic(word):
        scores = _readings(forms_of(word), _WORD_RESEMBLES, country)
    else:
        scores = dict.fromkeys(place_names.by_word().get(word, ()), _CODE)
    scores.update(dict.fromkeys(_serving(word), _CODE))
    coded: _Found = {}
    _add_codes(coded, word.upper(), _CODE)  # "New York JFK": a code beside words of its name or city
    scores.update(dict.fromkeys(coded, _CODE))
    return scores


def _with_qualifier(text: str, country: str | None) -> _Found:
    """The text without a country or subdivision at its end, and only the airports there."""
    for head, tail in _splits(text):
        code = country_code(tail)
        if code is not None and country in (None, code):
            found = {match.airport.icao: match for match in ladder(head, code)}
            if found:
                return found
        inside = {match.airport.icao: match for match in ladder(head, country) if _is_in(match.airport, tail)}
        if inside:
            return inside
    return {}


def _is_in(airport: Airport, subdivision: str) -> bool:
    """Does the text name the airport's subdivision ("Ontario", "Онтарио", or "ON" of a US state's postal code)?"""
    known, asked = fold(airport.subdivision), fold(subdivision)
    if not known or not asked:
        return False
    if known == asked or (airport.country == "US" and gazetteer.us_states().get(subdivision.strip()) == known):
        return True
    if not is_cyrillic(asked):
        return False
    return any(alignment_score(form, known) - price >= READS_AS for form, price in forms_of(asked).items())


def _splits(text: str) -> Iterable[tuple[str, str]]:
    """(place, qualifier): at the last comma, else before each of the last three words."""
    if "," in text:
        head, tail = text.rsplit(",", 1)
        if head.strip() and tail.strip():
            yield head.strip(), tail.strip()
    parts = text.replace(",", " ").split()
    for size in range(min(3, len(parts) - 1), 0, -1):
        head_parts, tail_parts = parts[:-size], parts[-size:]
        while head_parts and fold(head_parts[-1]) in _LINKING_WORDS:
            head_parts.pop()
        if head_parts and fold(tail_parts[0]) not in _LINKING_WORDS:
            yield " ".join(head_parts), " ".join(tail_parts)


def _resembling(folded: str, country: str | None) -> _Found:
    found: _Found = {}
    if country_code(folded) is not None:
        return found  # a country is no misspelled airport
    forms = forms_of(folded)
    if gazetteer.cities_called(forms, NOUN_PRICE):
        return found  # a known city without an airport near it is no misspelling of another place
    if is_cyrillic(folded):
        _add_readings(found, forms, folded, country, _RESEMBLES)
        for index, likeness in gazetteer.cities_spelt_like(forms, NOUN_PRICE, _SIMILAR).items():
            serving = gazetteer.airports_named_after(index)
            _add(found, (icao for icao in serving if airports()[icao].iata), likeness, "similar")
        return {icao: match for icao, match in found.items() if country in (None, match.airport.country)}
    for with_iata_only in (True, False):
        spellings = place_names.spellings(with_iata_only)
        hits = process.extract(
            folded, list(spellings), scorer=OSA.normalized_similarity, limit=50, score_cutoff=_SIMILAR / 100
        )
        for spelling, similarity, _ in hits:
            for icao in spellings[spelling]:
                if country is None or airports()[icao].country == country:
                    _add(found, (icao,), 100.0 * similarity, "similar")
        if found:
            return found
    return found
