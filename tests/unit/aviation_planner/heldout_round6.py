"""Sixty more requests of strangers, with the tasks they mean. Read by test_rounds.py; see heldout_round5.py.

The labels were written after round 5 had been learned from, and before the planner had been run on any of these.
"""

from __future__ import annotations

from .situations import REFUSED, Case

ENGLISH: list[Case] = [
    (
        "",
        "where's the nearest place to land a plane around Fairbanks",
        ["search_airports center_icao='Fairbanks' include_center=true limit=1 sort=distance"],
    ),
    (
        "",
        "closest airfield to 35.2, 139.4 please",
        ["search_airports center_lat_deg=35.2 center_lon_deg=139.4 kind=any limit=1 sort=distance"],
    ),
    (
        "",
        "I need the five airports nearest to Ulaanbaatar",
        ["search_airports center_icao='Ulaanbaatar' include_center=true limit=5 sort=distance"],
    ),
    ("", "airports in Queensland by name", ["search_airports sort=name subdivision='Queensland'"]),
    ("", "what airports are there in British Columbia?", ["search_airports subdivision='British Columbia'"]),
    ("", "list Kenyan airports", ["search_airports country=KE"]),
    (
        "",
        "nearest Swiss airport to Como",
        ["search_airports center_icao='Como' country=CH include_center=true limit=1 sort=distance"],
    ),
    ("", "could you check the wether in Windhoek", ["get_weather icao='Windhoek'"]),
    ("", "is it raining in glasgow right now?", ["get_weather icao='glasgow'"]),
    ("", "visibility and wind at YSSY", ["get_weather icao='YSSY'"]),
    ("", "tell me how cold it is in Yellowknife", ["get_weather icao='Yellowknife'"]),
    ("", "find arport with IATA code GRU", ["search_airports code='GRU'"]),
    ("", "details of Schiphol please", ["get_airport icao='Schiphol'"]),
    (
        "",
        "how long does it take to fly from Doha to Colombo",
        ["build_route departure_icao='Doha' destination_icao='Colombo'"],
    ),
    (
        "",
        "plese plot the route between Santiago and Easter Island",
        ["build_route departure_icao='Santiago' destination_icao='Easter Island'"],
    ),
    ("", "great circle from SIN to EWR", ["build_route departure_icao='SIN' destination_icao='EWR'"]),
    (
        "",
        "find the airport closest to Queenstown, then route from there to Hobart, and the weather in Hobart",
        [
            "search_airports center_icao='Queenstown' include_center=true limit=1 sort=distance",
            "build_route departure_icao=<search.airports.0.icao> destination_icao='Hobart'",
            "get_weather icao='Hobart'",
        ],
    ),
    ("after_weather", "how about Madeira", ["get_weather icao='Madeira'"]),
    ("after_weather", "and at JFK", ["get_weather icao='JFK'"]),
    ("after_airport", "and Gatwick?", ["get_airport icao='Gatwick'"]),
    ("after_route", "what about from Dublin?", ["build_route departure_icao='Dublin' destination_icao=LFPG"]),
    (
        "after_list",
        "route from the second one to Oslo",
        ["build_route departure_icao='second one' destination_icao='Oslo'"],
    ),
    ("", "and in Nice?", REFUSED),
    (
        "",
        "draft me a VFR plan for G-ABCD from Oban to Islay at 2500 ft, two people on board",
        [
            "draft_flight_plan aircraft_id='G-ABCD' departure_icao='Oban' destination_icao='Islay' flight_rules='VFR' "
            "level='2500 ft' persons_on_board='two'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "plan",
        "the destination should be Cologne",
        [
            "revise_flight_plan destination_icao='Cologne' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "plan",
        "bump the speed up to 470 kt then file",
        [
            "revise_flight_plan cruising_speed='470 kt' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
            "file_flight_plan flight_plan=[revise]",
        ],
    ),
    ("ask_draft_destination", "make the level FL240", ["correction", "t1.level='FL240'"]),
    ("ask_level", "change destination to Bremen", ["correction", "t1.destination_icao='Bremen'"]),
    (
        "approval",
        "change the number of persons to 90",
        ["correction", "revise_flight_plan flight_plan=[art_1] persons_on_board='90'"],
    ),
    ("", "when does the next flight to Tokyo leave", REFUSED),
]

RUSSIAN: list[Case] = [
    (
        "",
        "куда можно сесть рядом с Норильском",
        (
            ["search_airports center_icao='Норильском' include_center=true sort=distance"],
            ["search_airports center_icao='Норильском' include_center=true limit=1 sort=distance"],
        ),
    ),
    (
        "",
        "пять аэропортов поближе к Улан-Удэ",
        ["search_airports center_icao='Улан-Удэ' include_center=true limit=5 sort=distance"],
    ),
    (
        "",
        "самый близкий аэродром к точке 55.1, 61.4",
        ["search_airports center_lat_deg=55.1 center_lon_deg=61.4 kind=any limit=1 sort=distance"],
    ),
    ("", "аэропорты Иркутской области", ["search_airports subdivision='Иркутской области'"]),
    ("", "какие аэропорты есть в Баварии", ["search_airports subdivision='Баварии'"]),
    ("", "список аэропортов штата Аризона по названию", ["search_airports sort=name subdivision='Аризона'"]),
    ("", "покажи бразильские аэропорты", ["search_airports country=BR"]),
    (
        "",
        "ближайший к Комо швейцарский аэропорт",
        ["search_airports center_icao='Комо' country=CH include_center=true limit=1 sort=distance"],
    ),
    ("", "какая пагода в Мурманске", ["get_weather icao='Мурманске'"]),
    ("", "идёт ли снег в Торонто", ["get_weather icao='Торонто'"]),
    ("", "видимость и давление в аэропорту Пулково", ["get_weather icao='Пулково'"]),
    ("", "холодно ли сейчас в Рейкьявике", ["get_weather icao='Рейкьявике'"]),
    ("", "найди аэрапорт с кодом HND", ["search_airports code='HND'"]),
    ("", "дай координаты Внуково", ["get_airport icao='Внуково'"]),
    (
        "",
        "за сколько можно долететь от Баку до Астаны",
        ["build_route departure_icao='Баку' destination_icao='Астаны'"],
    ),
    ("", "сколько километров между Лимой и Сиднеем", ["build_route departure_icao='Лимой' destination_icao='Сиднеем'"]),
    ("", "построй машрут из Каира в Найроби", ["build_route departure_icao='Каира' destination_icao='Найроби'"]),
    (
        "",
        "нарисуй путь Токио - Гонолулу и скажи погоду в Гонолулу",
        [
            "build_route departure_icao='Токио' destination_icao='Гонолулу'",
            "get_weather icao='Гонолулу'",
        ],
    ),
    ("after_weather", "а на Мадейре?", ["get_weather icao='Мадейре'"]),
    ("after_airport", "а Гатвик?", ["get_airport icao='Гатвик'"]),
    ("after_route", "а из Дублина?", ["build_route departure_icao='Дублина' destination_icao=LFPG"]),
    ("after_weather", "теперь то же для Порту", ["get_weather icao='Порту'"]),
    ("", "а в Ницце?", REFUSED),
    (
        "",
        "набросай план полёта AFL1400 из Шереметьево в Мурманск на послезавтра в 8:15, A320",
        [
            "draft_flight_plan aircraft_id='AFL1400' aircraft_type='A320' departure_icao='Шереметьево' "
            "departure_time='послезавтра в 8:15' destination_icao='Мурманск'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "plan",
        "аэропорт назначения теперь Кёльн",
        [
            "revise_flight_plan destination_icao='Кёльн' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "plan",
        "увеличь скорость до 470 узлов и подавай",
        [
            "revise_flight_plan cruising_speed='470 узлов' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
            "file_flight_plan flight_plan=[revise]",
        ],
    ),
    ("ask_draft_destination", "поставь эшелон 240", ["correction", "t1.level='240'"]),
    ("ask_level", "смени аэропорт назначения на Бремен", ["correction", "t1.destination_icao='Бремен'"]),
    (
        "approval",
        "измени число людей на 90",
        ["correction", "revise_flight_plan flight_plan=[art_1] persons_on_board='90'"],
    ),
    ("", "почему задержали рейс в Токио", REFUSED),
]
