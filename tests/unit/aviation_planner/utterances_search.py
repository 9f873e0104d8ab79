"""Requests for lists of airports: orders, distances, countries, counts, ways back, and what goes on with a list.

A case is (situation, text, label), as situations.py explains; read by test_searches.py.
"""

from __future__ import annotations

from .situations import REFUSED, Case

SEARCHES: list[Case] = [
    ("", "airports in Norway, at most 3", ["search_airports country=NO limit=3"]),
    ("", "at most 3 airports in Norway", ["search_airports country=NO limit=3"]),
    ("", "аэропорты Норвегии, не больше трёх", ["search_airports country=NO limit=3"]),
    ("", "find airports in Norway. At most 3.", REFUSED),
    # --- scope: centre, radius, countries -----------------------------------------------------------------------
    (
        "",
        "the five nearest airports to Berlin within 200 km in Poland",
        ["search_airports center_icao='Berlin' country=PL include_center=true limit=5 radius_km=200.0 sort=distance"],
    ),
    (
        "",
        "пять ближайших к Берлину аэропортов в Польше в радиусе 200 км",
        ["search_airports center_icao='Берлину' country=PL include_center=true limit=5 radius_km=200.0 sort=distance"],
    ),
    (
        "",
        "farthest airport from here in Russia",
        ["get_position", "search_airports center={me} country=RU limit=1 sort=distance_desc"],
    ),
    (
        "",
        "самый дальний аэропорт от Москвы в России",
        ["search_airports center_icao='Москвы' country=RU include_center=true limit=1 sort=distance_desc"],
    ),
    (
        "",
        "airports between 100 and 300 km from Paris",
        [
            "search_airports center_icao='Paris' include_center=true min_distance_km=100.0 radius_km=300.0 "
            "sort=distance",
        ],
    ),
    (
        "",
        "аэропорты от 100 до 300 км от Парижа",
        [
            "search_airports center_icao='Парижа' include_center=true min_distance_km=100.0 radius_km=300.0 "
            "sort=distance",
        ],
    ),
    (
        "",
        "airports at least 500 km from Rome",
        ["search_airports center_icao='Rome' include_center=true min_distance_km=500.0 sort=distance"],
    ),
    (
        "",
        "аэропорты дальше 500 км от Рима",
        ["search_airports center_icao='Рима' include_center=true min_distance_km=500.0 sort=distance"],
    ),
    (
        "",
        "аэропорты не дальше 500 км от Рима",
        ["search_airports center_icao='Рима' include_center=true radius_km=500.0 sort=distance"],
    ),
    ("", "airports in Germany and Poland", ['search_airports country=["DE", "PL"]']),
    ("", "аэропорты Германии, Польши и Чехии", ['search_airports country=["DE", "PL", "CZ"]']),
    (
        "",
        "nearest airport to Berlin in Germany or Poland",
        ['search_airports center_icao=\'Berlin\' country=["DE", "PL"] include_center=true limit=1 sort=distance'],
    ),
    ("", "airports not in Germany", ["search_airports except_country=DE"]),
    (
        "",
        "nearest airport to Berlin outside Germany",
        ["search_airports center_icao='Berlin' except_country=DE include_center=true limit=1 sort=distance"],
    ),
    (
        "",
        "аэропорты рядом с Берлином кроме Германии и Польши",
        ['search_airports center_icao=\'Берлином\' except_country=["DE", "PL"] include_center=true sort=distance'],
    ),
    (
        "",
        "nearest international airport to Berlin",
        ["search_airports center_icao='Berlin' include_center=true kind=international limit=1 sort=distance"],
    ),
    ("", "международные аэропорты Норвегии", ["search_airports country=NO kind=international"]),
    # --- several lists: no place is lost ------------------------------------------------------------------------
    ("", "airports in London and Paris", ["search_airports city='London'", "search_2: search_airports city='Paris'"]),
    (
        "",
        "airports near Oslo and Bergen",
        [
            "search_airports center_icao='Oslo' include_center=true sort=distance",
            "search_2: search_airports center_icao='Bergen' include_center=true sort=distance",
        ],
    ),
    ("", "find Heathrow and Gatwick", ["search_airports name='Heathrow'", "search_2: search_airports name='Gatwick'"]),
    (
        "",
        "airports in Texas and Ohio",
        ["search_airports subdivision='Texas'", "search_2: search_airports subdivision='Ohio'"],
    ),
    ("", "airports in Portland in Oregon", ["search_airports city='Portland in Oregon'"]),
    # --- orders -------------------------------------------------------------------------------------------------
    ("", "airports in Iceland sorted by name", ["search_airports country=IS sort=name"]),
    ("", "highest airport in Nepal", ["search_airports country=NP limit=1 sort=elevation_desc"]),
    ("", "самый высокогорный аэропорт Непала", ["search_airports country=NP limit=1 sort=elevation_desc"]),
    ("", "самый северный аэропорт Норвегии", ["search_airports country=NO limit=1 sort=latitude_desc"]),
    ("", "five southernmost airports of Chile", ["search_airports country=CL limit=5 sort=latitude"]),
    ("", "most northern airport in Canada", ["search_airports country=CA limit=1 sort=latitude_desc"]),
    ("", "самый западный аэропорт России", ["search_airports country=RU limit=1 sort=longitude"]),
    ("", "airport with the lowest elevation in Israel", ["search_airports country=IL limit=1 sort=elevation"]),
    ("", "airports in France by elevation descending", ["search_airports country=FR sort=elevation_desc"]),
    ("", "аэропорты Непала по высоте", ["search_airports country=NP sort=elevation"]),
    ("", "second highest airport in Peru", ["search_airports country=PE limit=1 offset=1 sort=elevation_desc"]),
    (
        "",
        "weather at the northernmost airport of Norway",
        ["search_airports country=NO limit=1 sort=latitude_desc", "get_weather icao=<search.airports.0.icao>"],
    ),
    (
        "",
        "погода в самом северном аэропорту Норвегии",
        ["search_airports country=NO limit=1 sort=latitude_desc", "get_weather icao=<search.airports.0.icao>"],
    ),
    (
        "",
        "route from Oslo to the highest airport in Nepal",
        [
            "search_airports country=NP limit=1 sort=elevation_desc",
            "build_route departure_icao='Oslo' destination_icao=<search.airports.0.icao>",
        ],
    ),
    # --- counts -------------------------------------------------------------------------------------------------
    ("", "How many airports are in Norway?", ["search_airports count_only=true country=NO"]),
    ("", "сколько аэропортов в Норвегии?", ["search_airports count_only=true country=NO"]),
    ("", "number of airfields in Texas", ["search_airports count_only=true kind=any subdivision='Texas'"]),
    (
        "",
        "сколько аэродромов в радиусе 100 км от Праги",
        [
            "search_airports center_icao='Праги' count_only=true include_center=true kind=any radius_km=100.0 "
            "sort=distance",
        ],
    ),
    # --- combinations come from the general cycle ---------------------------------------------------------------
    (
        "",
        "find the nearest airport to Prague, then the weather there, then a route to it from Oslo",
        [
            "search_airports center_icao='Prague' include_center=true limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
            "build_route departure_icao='Oslo' destination_icao=<search.airports.0.icao>",
        ],
    ),
    # --- and back -----------------------------------------------------------------------------------------------
    *(
        (
            "",
            text,
            [
                f"build_route departure_icao='{ends[0]}' destination_icao='{ends[1]}'",
                "route_2: build_route departure_icao=<route.properties.destination.icao> "
                "destination_icao=<route.properties.departure.icao>",
            ],
        )
        for text, ends in (
            ("route from Berlin to Munich and back", ("Berlin", "Munich")),
            ("fly from Rome to Oslo, then back", ("Rome", "Oslo")),
            ("round trip from Rome to Nice", ("Rome", "Nice")),
            ("маршрут из Москвы в Казань и обратно", ("Москвы", "Казань")),
            ("построй маршрут туда и обратно из Рима в Ниццу", ("Рима", "Ниццу")),
        )
    ),
    ("after_route", "and back", ["build_route departure_icao=LFPG destination_icao=EGLL"]),
    ("after_route", "а теперь обратно", ["build_route departure_icao=LFPG destination_icao=EGLL"]),
    # --- going on with a list -----------------------------------------------------------------------------------
    *(
        ("after_page", text, [f'search_airports country=["NO"] kind=with_iata_code {page} sort=name'])
        for text, page in (
            ("show more", "limit=10 offset=10"),
            ("ещё", "limit=10 offset=10"),
            ("покажи ещё 20", "limit=20 offset=10"),
            ("next page", "limit=10 offset=10"),
            ("следующая страница", "limit=10 offset=10"),
            ("another five airports please", "limit=5 offset=10"),
            ("page 3", "limit=10 offset=20"),
            ("третья страница", "limit=10 offset=20"),
        )
    ),
    (
        "after_page",
        "sort them by elevation",
        ['search_airports country=["NO"] kind=with_iata_code limit=10 offset=0 sort=elevation'],
    ),
    (
        "after_page",
        "в обратном порядке",
        ['search_airports country=["NO"] kind=with_iata_code limit=10 offset=0 sort=name_desc'],
    ),
    ("after_page", "ещё погоду в Осло", ["get_weather icao='Осло'"]),
    ("after_page", "and in Sweden?", ["search_airports country=SE sort=name"]),
    (
        "after_nearest",
        "show more",
        ['search_airports center_icao=EDDB country=["CZ", "PL"] kind=with_iata_code limit=5 offset=5 sort=distance'],
    ),
    (
        "after_nearest",
        "farthest first",
        [
            'search_airports center_icao=EDDB country=["CZ", "PL"] kind=with_iata_code limit=5 offset=0 '
            "sort=distance_desc",
        ],
    ),
    ("after_highest", "and in France?", ["search_airports country=FR limit=1 sort=elevation_desc"]),
    ("after_count", "а в Швеции?", ["search_airports count_only=true country=SE sort=name"]),
    ("after_last_page", "show more", REFUSED),
    ("after_page", "previous page", REFUSED),
    ("after_route", "show more", REFUSED),
    ("after_airport", "tell me more about that airport", ["get_airport icao=EGLL"]),
    # --- what cannot be applied is refused, never dropped -------------------------------------------------------
    ("", "weather in Paris except Germany", REFUSED),
    ("", "highest temperature in Peru", REFUSED),
    ("", "nearest and farthest airports from Paris", REFUSED),
    ("", "large airports in Spain", REFUSED),
    ("", "airports in Norway without IATA code", REFUSED),
    ("", "аэропорты Исландии без кода ИАТА", REFUSED),
    ("", "airports in Paris except Orly", REFUSED),
    ("", "draft a flight plan from Rome to Oslo and back", REFUSED),
    ("", "weather in Oslo and back", REFUSED),
    ("", "build a route from Oslo to Rome at least 100 km", REFUSED),
    ("", "airports within 100 km but not Schiphol", REFUSED),
]
