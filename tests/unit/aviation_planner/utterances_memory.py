"""Requests about flight plans and about what was said before, with the tasks they mean.

Read by test_utterances.py; the notation is explained in notation.py.
"""

from __future__ import annotations

WITHOUT_PLAN: list[tuple[str, list[str]]] = [
    ("file a flight plan", ["draft_flight_plan", "file_flight_plan flight_plan=[draft]"]),
    (
        "File a flight plan from Berlin to Munich for DABC1 tomorrow at 14:00 at FL350 450 knots A320, "
        "endurance 5 hours, 120 on board",
        [
            "draft_flight_plan aircraft_id='DABC1' aircraft_type='A320' cruising_speed='450 knots' "
            "departure_icao='Berlin' departure_time='tomorrow at 14:00' destination_icao='Munich' "
            "endurance_minutes='5 hours' level='FL350' persons_on_board='120'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "at FL350, 450 knots, 120 on board, A320: file a flight plan for DABC1 to Munich from Berlin, "
        "endurance 5 hours, tomorrow at 14:00",
        [
            "draft_flight_plan aircraft_id='DABC1' aircraft_type='A320' cruising_speed='450 knots' "
            "departure_icao='Berlin' departure_time='tomorrow at 14:00' destination_icao='Munich' "
            "endurance_minutes='5 hours' level='FL350' persons_on_board='120'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "Подай план полёта из Берлина в Мюнхен, борт DABC1, эшелон 350, завтра в 14:00, скорость 450 "
        "узлов, тип A320, запас топлива 5 часов, 120 человек на борту",
        [
            "draft_flight_plan aircraft_id='DABC1' aircraft_type='A320' cruising_speed='450 узлов' "
            "departure_icao='Берлина' departure_time='завтра в 14:00' destination_icao='Мюнхен' "
            "endurance_minutes='5 часов' level='350' persons_on_board='120'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "draft a flight plan from Oslo to Bergen",
        [
            "draft_flight_plan departure_icao='Oslo' destination_icao='Bergen'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "prepare flight plan Berlin Munich DABC1",
        [
            "draft_flight_plan aircraft_id='DABC1' departure_icao='Berlin' destination_icao='Munich'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "I need a flight plan from EDDB to EDDM at FL350",
        [
            "draft_flight_plan departure_icao='EDDB' destination_icao='EDDM' level='FL350'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "подготовь план полёта Москва — Сочи, борт RA-89001, SU95, завтра в 10:30",
        [
            "draft_flight_plan aircraft_id='RA-89001' aircraft_type='SU95' departure_icao='Москва' "
            "departure_time='завтра в 10:30' destination_icao='Сочи'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "create a flight plan for AFL123 from UUEE to LED departing 2030-01-05 09:30Z, cruising at 450 "
        "kts, B738, 180 passengers, endurance 4h30, alternate EFHK",
        [
            "draft_flight_plan aircraft_id='AFL123' aircraft_type='B738' alternate_icaos='EFHK' "
            "cruising_speed='450 kts' departure_icao='UUEE' departure_time='2030-01-05 09:30Z' "
            "destination_icao='LED' endurance_minutes='4h30' persons_on_board='180'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "file a VFR flight plan from Kassel to Erfurt for D-EABC tomorrow at 10, C172, 110 knots, 4500 "
        "ft, 4 hours of fuel, 2 people",
        [
            "draft_flight_plan aircraft_id='D-EABC' aircraft_type='C172' cruising_speed='110 knots' "
            "departure_icao='Kassel' departure_time='tomorrow at 10' destination_icao='Erfurt' "
            "endurance_minutes='4 hours' flight_rules='VFR' level='4500 ft' persons_on_board='2'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "составь план полета из Казани в Уфу: тип B738, эшелон FL330, скорость 830 км/ч, вылет 5 декабря "
        "в 14:00, на борту 150 человек, запас топлива 4:30, запасной Самара",
        [
            "draft_flight_plan aircraft_type='B738' alternate_icaos='Самара' cruising_speed='830 км/ч' "
            "departure_icao='Казани' departure_time='5 декабря в 14:00' destination_icao='Уфу' "
            "endurance_minutes='4:30' level='FL330' persons_on_board='150'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    ("check the flight plan", ["reply: There is no flight plan in this conversation yet"]),
    ("change the level to FL370", ["reply: There is no flight plan in this conversation yet"]),
    ("file it", ["reply: There is no flight plan in this conversation yet"]),
]

# The session has a flight plan, artifact art_1, that was not filed yet.
WITH_PLAN: list[tuple[str, list[str]]] = [
    (
        "change the level to FL370",
        [
            "revise_flight_plan flight_plan=[art_1] level='FL370'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "измени эшелон на 370",
        [
            "revise_flight_plan flight_plan=[art_1] level='370'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "make it 130 persons",
        [
            "revise_flight_plan flight_plan=[art_1] persons_on_board='130'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "сделай 130 человек",
        [
            "revise_flight_plan flight_plan=[art_1] persons_on_board='130'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    ("file it", ["file_flight_plan flight_plan=[art_1]"]),
    ("подай его", ["file_flight_plan flight_plan=[art_1]"]),
    ("submit the plan", ["file_flight_plan flight_plan=[art_1]"]),
    ("подай план", ["file_flight_plan flight_plan=[art_1]"]),
    ("validate it", ["validate_flight_plan flight_plan=[art_1]"]),
    ("проверь план", ["validate_flight_plan flight_plan=[art_1]"]),
    (
        "check the plan and file it",
        [
            "validate_flight_plan flight_plan=[art_1]",
            "file_flight_plan flight_plan=[art_1]",
        ],
    ),
    (
        "set endurance to 6 hours and the speed to 460 knots",
        [
            "revise_flight_plan cruising_speed='460 knots' endurance_minutes='6 hours' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "change the destination to Hamburg",
        [
            "revise_flight_plan destination_icao='Hamburg' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "change destination to Hamburg and file it",
        [
            "revise_flight_plan destination_icao='Hamburg' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
            "file_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "измени аэропорт назначения на Гамбург и подай план",
        [
            "revise_flight_plan destination_icao='Гамбург' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
            "file_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "change the departure time to tomorrow at 16:00",
        [
            "revise_flight_plan departure_time='tomorrow at 16:00' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "move the departure to 15:30",
        [
            "revise_flight_plan departure_time='15:30' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "поменяй время вылета на завтра 16:00",
        [
            "revise_flight_plan departure_time='завтра 16:00' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "change the aircraft to B738",
        [
            "revise_flight_plan aircraft_type='B738' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "измени тип самолёта на A321",
        [
            "revise_flight_plan aircraft_type='A321' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "change the level",
        [
            "revise_flight_plan flight_plan=[art_1] level=''",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "измени эшелон",
        [
            "revise_flight_plan flight_plan=[art_1] level=''",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "draft another flight plan from Rome to Paris",
        [
            "draft_flight_plan departure_icao='Rome' destination_icao='Paris'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "file a flight plan from Rome to Paris for AZA12",
        [
            "draft_flight_plan aircraft_id='AZA12' departure_icao='Rome' destination_icao='Paris'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "show the flight plan",
        [
            "reply: The current flight plan is “Flight plan DABC1 EDDB–EDDM”, version 1 (not validated "
            "yet), artifact art_1",
        ],
    ),
    ("what's the weather at JFK", ["get_weather icao='JFK'"]),
    (
        "add alternate EDDH",
        [
            "revise_flight_plan alternate_icaos='EDDH' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "remove the alternate",
        [
            "revise_flight_plan alternate_icaos='none' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "raise the level to FL390",
        [
            "revise_flight_plan flight_plan=[art_1] level='FL390'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "climb to FL390",
        [
            "revise_flight_plan flight_plan=[art_1] level='FL390'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "change FL350 to FL370",
        [
            "revise_flight_plan flight_plan=[art_1] level='FL370'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "change the level from FL350 to FL370",
        [
            "revise_flight_plan flight_plan=[art_1] level='FL370'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "use callsign DABC2",
        [
            "revise_flight_plan aircraft_id='DABC2' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "укажи позывной AFL77",
        [
            "revise_flight_plan aircraft_id='AFL77' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    ("route from Oslo to Rome", ["build_route departure_icao='Oslo' destination_icao='Rome'"]),
]

# The session has spoken of one airport, EGLL.
WITH_AIRPORT: list[tuple[str, list[str]]] = [
    ("what's the weather there?", ["get_weather icao=EGLL"]),
    ("какая там погода?", ["get_weather icao=EGLL"]),
    ("route from there to Paris", ["build_route departure_icao=EGLL destination_icao='Paris'"]),
    ("маршрут оттуда в Париж", ["build_route departure_icao=EGLL destination_icao='Париж'"]),
    ("route there from Paris", ["build_route departure_icao='Paris' destination_icao=EGLL"]),
    ("построй маршрут туда из Парижа", ["build_route departure_icao='Парижа' destination_icao=EGLL"]),
    ("nearest airport to it", ["search_airports center_icao=EGLL limit=1 sort=distance"]),
    ("tell me more about that airport", ["get_airport icao=EGLL"]),
    (
        "file a flight plan from there to Oslo",
        [
            "draft_flight_plan departure_icao=EGLL destination_icao='Oslo'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    ("weather at that airport", ["get_weather icao=EGLL"]),
    ("airports within 100 km of there", ["search_airports center_icao=EGLL radius_km=100.0 sort=distance"]),
]

# The session has shown a list of airports.
WITH_LIST: list[tuple[str, list[str]]] = [
    ("weather there", ["get_weather icao='there'"]),
    ("weather at the second one", ["get_weather icao='second one'"]),
    ("погода там", ["get_weather icao='там'"]),
]
