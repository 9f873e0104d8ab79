"""English requests that were written after the grammar, in other words and about other places.

The labels were written before the planner was run on them. Read by test_utterances.py; see notation.py.
"""

from __future__ import annotations

HELD_OUT_ENGLISH: list[tuple[str, list[str]]] = [
    ("I'm wondering what the weather is doing over in Marrakesh", ["get_weather icao='Marrakesh'"]),
    ("Need the METAR of KBOS", ["get_weather icao='KBOS'"]),
    ("how strong is the wind at Wellington airport at the moment", ["get_weather icao='Wellington'"]),
    (
        "Which three airports are nearest to Zagreb?",
        [
            "search_airports center_icao='Zagreb' include_center=true limit=3 sort=distance",
        ],
    ),
    (
        "Show every airport within 75 km of Cologne, farthest first",
        [
            "search_airports center_icao='Cologne' include_center=true radius_km=75.0 sort=distance_desc",
        ],
    ),
    (
        "any airports around Chiang Mai?",
        [
            "search_airports center_icao='Chiang Mai' include_center=true sort=distance",
        ],
    ),
    ("airports of Portugal, limit 15, by name", ["search_airports country=PT limit=15 sort=name"]),
    ("Where can I find Ushuaia airport?", ["get_airport icao='Ushuaia'"]),
    ("What's the elevation of La Paz airport?", ["get_airport icao='La Paz'"]),
    ("Give me details on KSFO", ["get_airport icao='KSFO'"]),
    (
        "Please work out a route from Edinburgh to Reykjavik",
        [
            "build_route departure_icao='Edinburgh' destination_icao='Reykjavik'",
        ],
    ),
    (
        "What is the shortest way to get from Santiago de Compostela to Rio de Janeiro?",
        [
            "build_route departure_icao='Santiago de Compostela' destination_icao='Rio de Janeiro'",
        ],
    ),
    (
        "to Nairobi from Addis Ababa, draw me the route",
        [
            "build_route departure_icao='Addis Ababa' destination_icao='Nairobi'",
        ],
    ),
    (
        "How long is the flight path between Doha and Perth?",
        [
            "build_route departure_icao='Doha' destination_icao='Perth'",
        ],
    ),
    (
        "Locate the closest airport to me, tell me what the weather's like there and after that draw a route to Faro",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
            "build_route destination_icao='Faro'",
        ],
    ),
    (
        "Weather in Vilnius, Riga and Tallinn",
        [
            "get_weather icao='Vilnius'",
            "weather_2: get_weather icao='Riga'",
            "weather_3: get_weather icao='Tallinn'",
        ],
    ),
    (
        "I'd like you to prepare a flight plan: Ljubljana to Split, aircraft S5DAB, C182, 140 kt, 6500 "
        "feet, 3 people on board",
        [
            "draft_flight_plan aircraft_id='S5DAB' aircraft_type='C182' cruising_speed='140 kt' "
            "departure_icao='Ljubljana' destination_icao='Split' level='6500 feet' persons_on_board='3'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "Could you submit a flight plan for BAW34K, B77W, Heathrow to Boston, departing tomorrow 09:15 "
        "UTC, FL360, Mach 0.84, 231 souls on board, fuel for 9 hours",
        [
            "draft_flight_plan aircraft_id='BAW34K' aircraft_type='B77W' cruising_speed='Mach 0.84' "
            "departure_icao='Heathrow' departure_time='tomorrow 09:15 UTC' destination_icao='Boston' "
            "endurance_minutes='9 hours' level='FL360' persons_on_board='231'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    ("Would you mind checking the weather at Bole airport?", ["get_weather icao='Bole'"]),
    ("Reykjavik weather?", ["get_weather icao='Reykjavik'"]),
    ("I need current conditions for EGCC and EGPH", ["get_weather icao='EGCC'", "weather_2: get_weather icao='EGPH'"]),
    (
        "What does the weather look like at the closest airport to Queenstown?",
        [
            "search_airports center_icao='Queenstown' include_center=true limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    (
        "Which airport lies nearest to 35.68 N, 139.77 E?",
        [
            "search_airports center_lat_deg=35.68 center_lon_deg=139.77 limit=1 sort=distance",
        ],
    ),
    (
        "Are there any airports less than 40 km from Ghent?",
        [
            "search_airports center_icao='Ghent' include_center=true radius_km=40.0 sort=distance",
        ],
    ),
    ("Tell me the two nearest airports", ["get_position", "search_airports center={me} limit=2 sort=distance"]),
    ("I want a list of airports in Ecuador", ["search_airports country=EC"]),
    ("find an airport called Schiphol", ["search_airports name='Schiphol'"]),
    ("What do you know about Changi airport?", ["get_airport icao='Changi'"]),
    ("Can you give me the coordinates of Tegel?", ["get_airport icao='Tegel'"]),
    (
        "Sketch a great-circle track from Honolulu to Papeete",
        [
            "build_route departure_icao='Honolulu' destination_icao='Papeete'",
        ],
    ),
    (
        "I'm flying from Tbilisi to Baku, show me the route",
        [
            "build_route departure_icao='Tbilisi' destination_icao='Baku'",
        ],
    ),
    ("How far apart are Lagos and Accra?", ["build_route departure_icao='Lagos' destination_icao='Accra'"]),
    ("Distance Manila - Cebu", ["build_route departure_icao='Manila' destination_icao='Cebu'"]),
    (
        "Find the airport nearest to me and plot a route from it to Zadar",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "build_route departure_icao=<search.airports.0.icao> destination_icao='Zadar'",
        ],
    ),
    (
        "Check the wind at Funchal, then build a route there from Lisbon",
        [
            "get_weather icao='Funchal'",
            "build_route departure_icao='Lisbon' destination_icao=<weather.icao>",
        ],
    ),
    (
        "please file a plan from LOWW to LKPR, callsign OKXYZ, tomorrow 1030Z, FL200, 320 knots, AT76, 70 "
        "pax, endurance 3:45",
        [
            "draft_flight_plan aircraft_id='OKXYZ' aircraft_type='AT76' cruising_speed='320 knots' "
            "departure_icao='LOWW' departure_time='tomorrow 1030Z' destination_icao='LKPR' "
            "endurance_minutes='3:45' level='FL200' persons_on_board='70'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "Make a flight plan for me: from Tallinn, to Helsinki, C172, 2 persons",
        [
            "draft_flight_plan aircraft_type='C172' departure_icao='Tallinn' destination_icao='Helsinki' "
            "persons_on_board='2'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    ("Got any weather info for Manchester?", ["get_weather icao='Manchester'"]),
    ("What's it like outside at Narita?", ["get_weather icao='Narita'"]),
    ("Check weather conditions in Port of Spain", ["get_weather icao='Port of Spain'"]),
    (
        "Tell me how hot it is in Phoenix and Tucson",
        [
            "get_weather icao='Phoenix'",
            "weather_2: get_weather icao='Tucson'",
        ],
    ),
    ("Where's the closest airport from here?", ["get_position", "search_airports center={me} limit=1 sort=distance"]),
    (
        "I'm at 47.45, 8.56, which airports are within 30 km?",
        [
            "get_position position='47.45, 8.56'",
            "search_airports center={me} radius_km=30.0 sort=distance",
        ],
    ),
    (
        "Airports in the vicinity of Salzburg",
        [
            "search_airports center_icao='Salzburg' include_center=true sort=distance",
        ],
    ),
    ("which airport in Canada has the code YYZ", ["search_airports code='YYZ' country=CA"]),
    (
        "List the ten airports farthest from Wellington",
        [
            "search_airports center_icao='Wellington' include_center=true limit=10 sort=distance_desc",
        ],
    ),
    ("Show details of Kansai International", ["get_airport icao='Kansai International'"]),
    ("What's the IATA code for Malpensa?", ["get_airport icao='Malpensa'"]),
    ("Route please: LEBL → LFPG", ["build_route departure_icao='LEBL' destination_icao='LFPG'"]),
    ("I have to get to Krakow from Gdansk", ["build_route departure_icao='Gdansk' destination_icao='Krakow'"]),
    (
        "Could you calculate how many nautical miles there are between Miami and Nassau?",
        [
            "build_route departure_icao='Miami' destination_icao='Nassau'",
        ],
    ),
    (
        "What's the bearing from Sydney to Auckland?",
        [
            "build_route departure_icao='Sydney' destination_icao='Auckland'",
        ],
    ),
    ("Plot London to Rome", ["build_route departure_icao='London' destination_icao='Rome'"]),
    (
        "Submit a VFR plan Bern to Lugano, HB-ABC, C152, 95 kt, 5500 ft",
        [
            "draft_flight_plan aircraft_id='HB-ABC' aircraft_type='C152' cruising_speed='95 kt' "
            "departure_icao='Bern' destination_icao='Lugano' flight_rules='VFR' level='5500 ft'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    ("start a new flight plan", ["draft_flight_plan", "validate_flight_plan flight_plan=[draft]"]),
    ("Mind telling me the visibility at Gander?", ["get_weather icao='Gander'"]),
    ("current weather, Cork", ["get_weather icao='Cork'"]),
    ("Weather report for ZBAA would be great", ["get_weather icao='ZBAA'"]),
    (
        "Show 6 airports close to Nuuk",
        [
            "search_airports center_icao='Nuuk' include_center=true limit=6 sort=distance",
        ],
    ),
    ("Does Malta have any airports?", ["search_airports country=MT"]),
    ("Name of the airport with code ADD?", ["search_airports code='ADD'"]),
    ("Where is Haneda located?", ["get_airport icao='Haneda'"]),
    ("Create the route Oslo to Longyearbyen", ["build_route departure_icao='Oslo' destination_icao='Longyearbyen'"]),
    ("From Madrid, how far is Tenerife?", ["build_route departure_icao='Madrid' destination_icao='Tenerife'"]),
    (
        "Get me the closest airport to Banff plus its weather",
        [
            "search_airports center_icao='Banff' include_center=true limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    (
        "Flight plan for N123AB, a C208, from Nadi to Suva at 9500 ft with 8 passengers",
        [
            "draft_flight_plan aircraft_id='N123AB' aircraft_type='C208' departure_icao='Nadi' "
            "destination_icao='Suva' level='9500 ft' persons_on_board='8'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
]
