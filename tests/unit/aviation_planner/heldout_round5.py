"""A hundred requests of strangers, with the tasks they mean. Read by test_rounds.py, which explains the situations.

The labels were written before the planner had been run on any of them. A label is a list in the notation of notation.py;
a tuple of lists names readings that are equally good; REFUSED stands for an answer that does nothing and says so.
"""

from __future__ import annotations

from .situations import REFUSED, Case

ENGLISH: list[Case] = [
    (
        "",
        "whats the closest airport to banff",
        ["search_airports center_icao='banff' include_center=true limit=1 sort=distance"],
    ),
    ("", "any airports near Ushuaia", ["search_airports center_icao='Ushuaia' include_center=true sort=distance"]),
    (
        "",
        "three airports closest to Nairobi pls",
        ["search_airports center_icao='Nairobi' include_center=true limit=3 sort=distance"],
    ),
    (
        "",
        "airports within 80 miles of Kathmandu",
        ["search_airports center_icao='Kathmandu' include_center=true radius_km=128.748 sort=distance"],
    ),
    ("", "airports in Texas", ["search_airports subdivision='Texas'"]),
    ("", "list the airports of the state of Bavaria, by name", ["search_airports sort=name subdivision='Bavaria'"]),
    ("", "German airports", ["search_airports country=DE"]),
    ("", "show me brazilian airports sorted by name", ["search_airports country=BR sort=name"]),
    ("", "is it windy in wellington today", ["get_weather icao='wellington'"]),
    ("", "hows the weather in Addis Ababa", ["get_weather icao='Addis Ababa'"]),
    ("", "METAR for RJTT", ["get_weather icao='RJTT'"]),
    ("", "what temperature is it at Changi", ["get_weather icao='Changi'"]),
    ("", "gimme the wether for Reykjavik", ["get_weather icao='Reykjavik'"]),
    ("", "shwo me the airport in Suva", ["search_airports city='Suva'"]),
    ("", "what is DXB", ["get_airport icao='DXB'"]),
    ("", "which airport has code yyz", (["search_airports code='yyz'"], ["get_airport icao='yyz'"])),
    ("", "coordinates and elevation of La Paz El Alto please", ["get_airport icao='La Paz El Alto'"]),
    ("", "how long is the flight from Lima to Cusco", ["build_route departure_icao='Lima' destination_icao='Cusco'"]),
    ("", "how far is it from Cape Town to Perth", ["build_route departure_icao='Cape Town' destination_icao='Perth'"]),
    ("", "distance between Tehran and Muscat?", ["build_route departure_icao='Tehran' destination_icao='Muscat'"]),
    ("", "plan me a route Accra - Lagos", ["build_route departure_icao='Accra' destination_icao='Lagos'"]),
    (
        "",
        "I'd like to fly from Bogota to Quito, draw the route please",
        ["build_route departure_icao='Bogota' destination_icao='Quito'"],
    ),
    ("", "to Tromso from Bergen, route", ["build_route departure_icao='Bergen' destination_icao='Tromso'"]),
    (
        "",
        "could you possibly find the nearest airport to Zermatt and tell me the weather there",
        [
            "search_airports center_icao='Zermatt' include_center=true limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    (
        "",
        "locate the airport closest to me, get its weather, and then build a route from it to Split",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
            "build_route departure_icao=<search.airports.0.icao> destination_icao='Split'",
        ],
    ),
    ("", "weather in Dakar and Bamako", ["get_weather icao='Dakar'", "weather_2: get_weather icao='Bamako'"]),
    ("", "weather", ["get_weather"]),
    ("", "San Jose weather", ["get_weather icao='San Jose'"]),
    ("after_weather", "and in Faro?", ["get_weather icao='Faro'"]),
    ("after_weather", "what about Porto", ["get_weather icao='Porto'"]),
    ("after_route", "and to Vienna?", ["build_route departure_icao=EGLL destination_icao='Vienna'"]),
    (
        "after_airport",
        "build a route from there to Malta",
        ["build_route departure_icao=EGLL destination_icao='Malta'"],
    ),
    ("after_airport", "how far is it from Rome", ["build_route departure_icao='Rome' destination_icao=EGLL"]),
    ("after_airport", "closest airport to that one", ["search_airports center_icao=EGLL limit=1 sort=distance"]),
    ("after_list", "weather at the first one", ["get_weather icao='first one'"]),
    (
        "",
        "draft a flight plan for N123AB from Boise to Reno, C172, 2 on board",
        [
            "draft_flight_plan aircraft_id='N123AB' aircraft_type='C172' departure_icao='Boise' destination_icao='Reno' "
            "persons_on_board='2'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "",
        "i want to file a flightplan from Auckland to Nadi tomorrow 0600z with 3 people",
        [
            "draft_flight_plan departure_icao='Auckland' departure_time='tomorrow 0600z' destination_icao='Nadi' "
            "persons_on_board='3'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "",
        "prepare a flight plan: JIA55, E190, Manila to Cebu, FL310, Mach .78",
        [
            "draft_flight_plan aircraft_id='JIA55' aircraft_type='E190' cruising_speed='Mach .78' "
            "departure_icao='Manila' destination_icao='Cebu' level='FL310'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "",
        "new flight plan departing Cairo at 18:30 tomorrow, arriving Amman, endurance 4 hours",
        [
            "draft_flight_plan departure_icao='Cairo' departure_time='18:30 tomorrow' destination_icao='Amman' "
            "endurance_minutes='4 hours'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "plan",
        "make the altitude FL330",
        [
            "revise_flight_plan flight_plan=[art_1] level='FL330'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "plan",
        "set number of passengers to 4",
        [
            "revise_flight_plan flight_plan=[art_1] persons_on_board='4'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "plan",
        "delay departure until 17:45",
        [
            "revise_flight_plan departure_time='17:45' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    ("plan", "could you please submit the flight plan now", ["file_flight_plan flight_plan=[art_1]"]),
    ("plan", "send it off", ["file_flight_plan flight_plan=[art_1]"]),
    ("ask_destination", "change the departure to Hamburg", ["correction", "t1.departure_icao='Hamburg'"]),
    ("ask_plan_destination", "set the level to FL370", ["correction", "t1.level='FL370'"]),
    ("ask_destination", "what's the weather in Munich?", ["new_request", "get_weather icao='Munich'"]),
    ("", "book me a hotel in Rome", REFUSED),
    ("", "what time is it in Tokyo", REFUSED),
    ("", "delete my flight plan", REFUSED),
]

RUSSIAN: list[Case] = [
    ("", "где ближайший аэропорт", ["get_position", "search_airports center={me} limit=1 sort=distance"]),
    (
        "",
        "какой аэропорт ближе всего к Суздалю",
        ["search_airports center_icao='Суздалю' include_center=true limit=1 sort=distance"],
    ),
    (
        "",
        "покажи четыре ближайших к Найроби аэропорта",
        ["search_airports center_icao='Найроби' include_center=true limit=4 sort=distance"],
    ),
    (
        "",
        "что есть из аэропортов в радиусе 120 км от Тбилиси",
        ["search_airports center_icao='Тбилиси' include_center=true radius_km=120.0 sort=distance"],
    ),
    ("", "аэропорты Техаса", ["search_airports subdivision='Техаса'"]),
    ("", "аэропорты в Калифорнии по алфавиту", ["search_airports sort=name subdivision='Калифорнии'"]),
    ("", "немецкие аэропорты", ["search_airports country=DE"]),
    ("", "выведи список японских аэропортов", ["search_airports country=JP"]),
    ("", "скока градусов в Якутске", ["get_weather icao='Якутске'"]),
    ("", "погода в буэнос-айресе", ["get_weather icao='буэнос-айресе'"]),
    ("", "подскажите пожалуйста как там с погодой в Сиднее", ["get_weather icao='Сиднее'"]),
    ("", "дует ли ветер в Кейптауне", ["get_weather icao='Кейптауне'"]),
    ("", "метар UUDD", ["get_weather icao='UUDD'"]),
    ("", "паказать погоду в Осло", ["get_weather icao='Осло'"]),
    ("", "что за аэропорт SVO", ["get_airport icao='SVO'"]),
    ("", "найди аэропорт по коду OVB", ["search_airports code='OVB'"]),
    ("", "высота аэропорта Ла-Пас над уровнем моря", ["get_airport icao='Ла-Пас'"]),
    ("", "расскажи про аэропорт Нарита", ["get_airport icao='Нарита'"]),
    ("", "сколько лететь из Москвы в Бангкок", ["build_route departure_icao='Москвы' destination_icao='Бангкок'"]),
    ("", "какое расстояние между Анадырем и Номом", ["build_route departure_icao='Анадырем' destination_icao='Номом'"]),
    ("", "далеко ли от Перми до Челябинска", ["build_route departure_icao='Перми' destination_icao='Челябинска'"]),
    ("", "маршрут Аддис-Абеба Найроби", ["build_route departure_icao='Аддис-Абеба' destination_icao='Найроби'"]),
    (
        "",
        "проложи пожалуйста путь в Хельсинки из Таллина",
        ["build_route departure_icao='Таллина' destination_icao='Хельсинки'"],
    ),
    (
        "",
        "хочу долететь из Омска до Томска покажи маршрут",
        ["build_route departure_icao='Омска' destination_icao='Томска'"],
    ),
    (
        "",
        "найди аэропорт рядом с Шамони, скажи погоду там и построй оттуда маршрут в Ниццу",
        (
            [
                "search_airports center_icao='Шамони' include_center=true sort=distance",
                "get_weather icao=<search.airports.0.icao>",
                "build_route departure_icao=<search.airports.0.icao> destination_icao='Ниццу'",
            ],
            [
                "search_airports center_icao='Шамони' include_center=true limit=1 sort=distance",
                "get_weather icao=<search.airports.0.icao>",
                "build_route departure_icao=<search.airports.0.icao> destination_icao='Ниццу'",
            ],
        ),
    ),
    (
        "",
        "ближайший ко мне аэропорт и погода в нём",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    ("", "сравни погоду в Лиме и Сантьяго", ["get_weather icao='Лиме'", "weather_2: get_weather icao='Сантьяго'"]),
    ("", "какая погода", ["get_weather"]),
    ("", "погода там где Сан-Хосе", ["get_weather icao='Сан-Хосе'"]),
    ("after_weather", "а в Лиссабоне?", ["get_weather icao='Лиссабоне'"]),
    ("after_weather", "а что насчёт Порту", ["get_weather icao='Порту'"]),
    ("after_route", "а в Вену?", ["build_route departure_icao=EGLL destination_icao='Вену'"]),
    ("after_airport", "построй маршрут туда из Казани", ["build_route departure_icao='Казани' destination_icao=EGLL"]),
    ("after_airport", "сколько оттуда лететь до Рима", ["build_route departure_icao=EGLL destination_icao='Рима'"]),
    ("after_airport", "какая там сейчас погода", ["get_weather icao=EGLL"]),
    ("after_list", "погода во втором", ["get_weather icao='втором'"]),
    (
        "",
        "составь флайт-план Екатеринбург Тюмень борт RA-12345 на 4 человека",
        [
            "draft_flight_plan aircraft_id='RA-12345' departure_icao='Екатеринбург' destination_icao='Тюмень' "
            "persons_on_board='4'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "",
        "хочу подать план полёта из Алматы в Астану на завтра 09:00, эшелон 340",
        [
            "draft_flight_plan departure_icao='Алматы' departure_time='завтра 09:00' destination_icao='Астану' level='340'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "",
        "сделай черновик плана: вылет Минск, прилёт Вильнюс, самолёт AT76, 280 узлов",
        [
            "draft_flight_plan aircraft_type='AT76' cruising_speed='280 узлов' departure_icao='Минск' "
            "destination_icao='Вильнюс'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "",
        "подготовь план полета для UTA204 Ташкент - Самарканд, топлива на 3 часа",
        [
            "draft_flight_plan aircraft_id='UTA204' departure_icao='Ташкент' destination_icao='Самарканд' "
            "endurance_minutes='3 часа'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "plan",
        "поставь высоту FL330",
        [
            "revise_flight_plan flight_plan=[art_1] level='FL330'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "plan",
        "перенеси вылет на 17:45",
        [
            "revise_flight_plan departure_time='17:45' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "plan",
        "пусть будет 7 человек на борту",
        [
            "revise_flight_plan flight_plan=[art_1] persons_on_board='7'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "plan",
        "замени аэропорт назначения на Лейпциг",
        [
            "revise_flight_plan destination_icao='Лейпциг' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    ("plan", "отправляй", ["file_flight_plan flight_plan=[art_1]"]),
    ("ask_destination", "поменяй вылет на Гамбург", ["correction", "t1.departure_icao='Гамбург'"]),
    ("ask_plan_destination", "измени эшелон на 370", ["correction", "t1.level='370'"]),
    ("ask_destination", "найди аэропорты Парижа", ["new_request", "search_airports city='Парижа'"]),
    ("", "купи билет до Сочи", REFUSED),
    ("", "кто построил аэропорт Хитроу", REFUSED),
]
