"""English requests about airports, weather and routes, with the tasks they mean.

Read by test_utterances.py; the notation is explained in notation.py.
"""

from __future__ import annotations

ENGLISH: list[tuple[str, list[str]]] = [
    ("EDDB-EDDM route", ["build_route departure_icao='EDDB' destination_icao='EDDM'"]),
    ("find the largest airport in Germany", ["not understood: largest airport"]),
    ("find the busiest airport in Germany", ["not understood: busiest airport"]),
    ("where is Heathrow", ["get_airport icao='Heathrow'"]),
    ("where is LHR?", ["get_airport icao='LHR'"]),
    ("what is the ICAO code of Heathrow?", ["get_airport icao='Heathrow'"]),
    ("which airport has the code LHR?", ["search_airports code='LHR'"]),
    ("list all airports in London", ["search_airports city='London'"]),
    ("show me airports in Norway sorted by name", ["search_airports country=NO sort=name"]),
    (
        "ten airports closest to Oslo by distance",
        [
            "search_airports center_icao='Oslo' include_center=true limit=10 sort=distance",
        ],
    ),
    (
        "list 5 airports near JFK within 50 nautical miles",
        [
            "search_airports center_icao='JFK' limit=5 radius_km=92.6 sort=distance",
        ],
    ),
    ("second nearest airport", ["get_position", "search_airports center={me} limit=1 offset=1 sort=distance"]),
    (
        "the farthest airport from Tokyo",
        [
            "search_airports center_icao='Tokyo' include_center=true limit=1 sort=distance_desc",
        ],
    ),
    (
        "weather at the nearest airport to Prague",
        [
            "search_airports center_icao='Prague' include_center=true limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    ("is it raining in Bergen?", ["get_weather icao='Bergen'"]),
    ("how windy is it in Reykjavik right now", ["get_weather icao='Reykjavik'"]),
    ("what's the temperature at EFHK", ["get_weather icao='EFHK'"]),
    ("Could you please tell me the current weather in Buenos Aires?", ["get_weather icao='Buenos Aires'"]),
    ("distance between Oslo and Tokyo", ["build_route departure_icao='Oslo' destination_icao='Tokyo'"]),
    (
        "route from A Coruña to Palma de Mallorca",
        [
            "build_route departure_icao='A Coruña' destination_icao='Palma de Mallorca'",
        ],
    ),
    ("plan a route from Lisbon to Porto", ["build_route departure_icao='Lisbon' destination_icao='Porto'"]),
    ("great circle from JFK to HND", ["build_route departure_icao='JFK' destination_icao='HND'"]),
    ("from Berlin to Munich", ["build_route departure_icao='Berlin' destination_icao='Munich'"]),
    ("I want to fly from Rome to Athens", ["build_route departure_icao='Rome' destination_icao='Athens'"]),
    ("how do I get from Paris to Nice?", ["build_route departure_icao='Paris' destination_icao='Nice'"]),
    ("route to Munich", ["build_route destination_icao='Munich'"]),
    ("route from Berlin", ["build_route departure_icao='Berlin'"]),
    (
        "find airports near Milan and build a route from Rome to Paris",
        [
            "search_airports center_icao='Milan' include_center=true sort=distance",
            "build_route departure_icao='Rome' destination_icao='Paris'",
        ],
    ),
    (
        "find the closest airport, get its weather and plot a route from there to Zurich",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
            "build_route departure_icao=<search.airports.0.icao> destination_icao='Zurich'",
        ],
    ),
    ("weather in Paris, then in London", ["get_weather icao='Paris'", "weather_2: get_weather icao='London'"]),
    (
        "weather at JFK, LAX and ORD",
        [
            "get_weather icao='JFK'",
            "weather_2: get_weather icao='LAX'",
            "weather_3: get_weather icao='ORD'",
        ],
    ),
    ("weather and wind at JFK", ["get_weather icao='JFK'"]),
    ("show weather in Trinidad and Tobago", ["get_weather icao='Trinidad and Tobago'"]),
    ("nearest airport in Germany", ["get_position", "search_airports center={me} country=DE limit=1 sort=distance"]),
    (
        "I'm in Berlin. find the nearest airport",
        [
            "get_position position='Berlin'",
            "search_airports center={me} limit=1 sort=distance",
        ],
    ),
    ("airports near 60.1 N 24.9 E", ["search_airports center_lat_deg=60.1 center_lon_deg=24.9 sort=distance"]),
    ("tell me about Charles de Gaulle airport", ["get_airport icao='Charles de Gaulle'"]),
    ("German airports", ["search_airports country=DE"]),
    ("airports around here", ["get_position", "search_airports center={me} sort=distance"]),
    (
        "what's the nearest airport and how is the weather there",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    ("how far is the nearest airport", ["get_position", "search_airports center={me} limit=1 sort=distance"]),
    ("book me a hotel in Berlin", ["not understood: book me hotel"]),
    ("what time is it in Tokyo", ["not understood: time"]),
    ("find a restaurant near Heathrow", ["not understood: restaurant"]),
    ("weather in Berlin and book a hotel", ["not understood: book hotel"]),
    ("Compare the weather in Oslo and Bergen", ["get_weather icao='Oslo'", "weather_2: get_weather icao='Bergen'"]),
    ("Give me the METAR for Keflavik", ["get_weather icao='Keflavik'"]),
    ("Any snow in Tromsø today?", ["get_weather icao='Tromsø'"]),
    ("How cold is it at Yakutsk airport?", ["get_weather icao='Yakutsk'"]),
    ("weather Gatwick", ["get_weather icao='Gatwick'"]),
    ("LSZH weather please", ["get_weather icao='LSZH'"]),
    ("wind at CDG and AMS", ["get_weather icao='CDG'", "weather_2: get_weather icao='AMS'"]),
    ("what are the conditions over at Dubai", ["get_weather icao='Dubai'"]),
    ("Is it foggy in San Francisco?", ["get_weather icao='San Francisco'"]),
    ("weather in Ho Chi Minh City", ["get_weather icao='Ho Chi Minh City'"]),
    ("weather in St. John's", ["get_weather icao='St. John's'"]),
    ("weather at Frankfurt am Main", ["get_weather icao='Frankfurt am Main'"]),
    (
        "tell me the weather in New York and in Los Angeles",
        [
            "get_weather icao='New York'",
            "weather_2: get_weather icao='Los Angeles'",
        ],
    ),
    (
        "what will the weather be tomorrow in Rome",
        ["reply: There is no forecast, because no folder of weather reports is configured"],
    ),
    (
        "how is the weather near me",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    (
        "what's the temperature here?",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    (
        "which airport is closest to 48.1, 11.6?",
        [
            "search_airports center_lat_deg=48.1 center_lon_deg=11.6 limit=1 sort=distance",
        ],
    ),
    (
        "give me the 3 airports closest to Cusco",
        [
            "search_airports center_icao='Cusco' include_center=true limit=3 sort=distance",
        ],
    ),
    (
        "list airports within 80 miles of Denver",
        [
            "search_airports center_icao='Denver' include_center=true radius_km=128.748 sort=distance",
        ],
    ),
    ("airports in Japan alphabetically", ["search_airports country=JP sort=name"]),
    ("first 20 airports in Brazil", ["search_airports country=BR limit=20"]),
    (
        "airports near Lake Tahoe within 60 km",
        [
            "search_airports center_icao='Lake Tahoe' radius_km=60.0 sort=distance",
        ],
    ),
    (
        "show the four farthest airports from Quito",
        [
            "search_airports center_icao='Quito' include_center=true limit=4 sort=distance_desc",
        ],
    ),
    ("find airports called Kennedy", ["search_airports name='Kennedy'"]),
    ("is there an airport in Andorra?", ["search_airports country=AD"]),
    ("does Liechtenstein have an airport?", ["search_airports country=LI"]),
    ("where is ULLI", ["get_airport icao='ULLI'"]),
    ("details for Narita", ["get_airport icao='Narita'"]),
    ("what is YSSY", ["get_airport icao='YSSY'"]),
    ("which city is GRU in?", ["get_airport icao='GRU'"]),
    ("tell me about the airport in Innsbruck", ["search_airports city='Innsbruck'"]),
    ("show me Gibraltar airport", ["search_airports country=GI"]),
    ("distance from Dakar to Recife", ["build_route departure_icao='Dakar' destination_icao='Recife'"]),
    (
        "how many kilometers is it from Lima to Bogotá?",
        [
            "build_route departure_icao='Lima' destination_icao='Bogotá'",
        ],
    ),
    ("how far is Perth from Sydney?", ["build_route departure_icao='Sydney' destination_icao='Perth'"]),
    ("what's the distance between KSEA and KPDX", ["build_route departure_icao='KSEA' destination_icao='KPDX'"]),
    (
        "draw a route between Helsinki and Tallinn",
        [
            "build_route departure_icao='Helsinki' destination_icao='Tallinn'",
        ],
    ),
    ("Route: Vienna to Bratislava", ["build_route departure_icao='Vienna' destination_icao='Bratislava'"]),
    ("fly Oslo to Bergen", ["build_route departure_icao='Oslo' destination_icao='Bergen'"]),
    (
        "I'd like a route from Cape Town to Johannesburg",
        [
            "build_route departure_icao='Cape Town' destination_icao='Johannesburg'",
        ],
    ),
    (
        "compute the great-circle route from Anchorage to Tokyo Narita",
        [
            "build_route departure_icao='Anchorage' destination_icao='Tokyo Narita'",
        ],
    ),
    ("show me the way from Delhi to Mumbai", ["build_route departure_icao='Delhi' destination_icao='Mumbai'"]),
    (
        "route from here to Geneva",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "build_route departure_icao=<search.airports.0.icao> destination_icao='Geneva'",
        ],
    ),
    (
        "route from my position to Nice",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "build_route departure_icao=<search.airports.0.icao> destination_icao='Nice'",
        ],
    ),
    (
        "route from the airport nearest to me to the airport closest to Lyon",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "search_2: search_airports center_icao='Lyon' include_center=true limit=1 sort=distance",
            "build_route departure_icao=<search.airports.0.icao> destination_icao=<search_2.airports.0.icao>",
        ],
    ),
    (
        "Route from London Heathrow to Paris Charles de Gaulle via Brussels",
        [
            "build_route departure_icao='London Heathrow' destination_icao='Brussels'",
            "route_2: build_route departure_icao='Brussels' destination_icao='Paris Charles de Gaulle'",
        ],
    ),
    (
        "find the nearest airport to Turin, show weather there and plot a route from there to Naples",
        [
            "search_airports center_icao='Turin' include_center=true limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
            "build_route departure_icao=<search.airports.0.icao> destination_icao='Naples'",
        ],
    ),
    (
        "find two airports near Osaka and the weather at the second one",
        [
            "search_airports center_icao='Osaka' include_center=true limit=2 sort=distance",
            "get_weather icao=<search.airports.1.icao>",
        ],
    ),
    ("Look up Arlanda and tell me its weather", ["search_airports name='Arlanda'", "get_weather icao='Arlanda'"]),
    (
        "show weather at Zurich, then build a route from it to Milan",
        [
            "get_weather icao='Zurich'",
            "build_route departure_icao=<weather.icao> destination_icao='Milan'",
        ],
    ),
    (
        "get the weather in Malmö and then draft a flight plan from there to Gdansk",
        [
            "get_weather icao='Malmö'",
            "draft_flight_plan departure_icao=<weather.icao> destination_icao='Gdansk'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    ("what is the capital of France", ["not understood: capital"]),
    ("can you translate this text", ["not understood: translate text"]),
    ("Hello! What's the weather in Lisbon?", ["get_weather icao='Lisbon'"]),
    ("good morning", ["reply: Hello"]),
    (
        "help me",
        [
            "reply: I can find airports (by name, city, code, country, around a place or near you), tell "
            "the current weather at an airport, build a great-circle route between two airports, and "
            "draft, check, change and file a flight plan",
        ],
    ),
    (
        "please could you kindly find me the nearest airport, thank you",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
        ],
    ),
    (
        "closest airport with an IATA code to Sion",
        [
            "search_airports center_icao='Sion' include_center=true kind=with_iata_code limit=1 sort=distance",
        ],
    ),
    ("nearest small airfield", ["get_position", "search_airports center={me} kind=any limit=1 sort=distance"]),
    (
        "weather at 40.64, -73.78",
        [
            "search_airports center_lat_deg=40.64 center_lon_deg=-73.78 limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
]
