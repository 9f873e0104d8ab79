"""What to ask a person for each field of a flight plan, in English and Russian, with the accepted form.

Called by the planner when the validation names a field that is missing or wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# field: (question in English, question in Russian)
FIELD_QUESTIONS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "departure_icao": (
            "Which aerodrome does the flight depart from? A name or an ICAO code, for example EDDB.",
            "Откуда вылет? Название или код ИКАО, например EDDB.",
        ),
        "destination_icao": (
            "Which aerodrome is the destination? A name or an ICAO code, for example EDDM.",
            "Куда летим? Название или код ИКАО, например EDDM.",
        ),
        "aircraft_id": (
            "What is the callsign or registration? 2 to 7 Latin letters and digits, for example AFL123.",
            "Какой позывной или регистрационный знак? От 2 до 7 латинских букв и цифр, например AFL123.",
        ),
        "aircraft_type": (
            "What is the aircraft type? An ICAO designator, for example A320, B738 or C172.",
            "Какой тип воздушного судна? Обозначение ИКАО, например A320, B738 или C172.",
        ),
        "departure_time": (
            "When is the departure, in UTC? For example: tomorrow at 14:00, or 2030-01-02 09:00.",
            "Когда вылет, по UTC? Например: завтра в 14:00 или 02.01.2030 09:00.",
        ),
        "cruising_speed": (
            "What is the cruising speed? For example 450 kt, 830 km/h or M0.82.",
            "Какая крейсерская скорость? Например 450 узлов, 830 км/ч или M0.82.",
        ),
        "level": (
            "What is the cruising level? For example FL350, 4500 ft or VFR.",
            "Какой эшелон? Например FL350, 4500 футов или VFR.",
        ),
        "endurance_minutes": (
            "What is the fuel endurance? Hours and minutes, for example 5:30.",
            "На сколько времени хватит топлива? Часы и минуты, например 5:30.",
        ),
        "persons_on_board": (
            "How many persons are on board? A number from 1 to 999.",
            "Сколько людей на борту? Число от 1 до 999.",
        ),
        "flight_rules": (
            "Which flight rules apply: I (IFR), V (VFR), Y (IFR then VFR) or Z (VFR then IFR)?",
            "По каким правилам полёт: I (ППП), V (ПВП), Y (сначала ППП) или Z (сначала ПВП)?",
        ),
        "flight_type": (
            "What kind of flight is it: S (scheduled), N (non-scheduled), G (general), M (military) or X (other)?",
            "Какой это полёт: S (регулярный), N (нерегулярный), G (общего назначения), M (военный) или X (другой)?",
        ),
        "wake_category": (
            "What is the wake turbulence category: L, M, H or J?",
            "Какая категория турбулентности следа: L, M, H или J?",
        ),
        "equipment": (
            "What is the equipment, as in item 10? For example SDFGRWY/S.",
            "Какое оборудование, как в поле 10? Например SDFGRWY/S.",
        ),
        "route": (
            "What is the route? DCT or route points, for example DCT KOLIN DCT.",
            "Какой маршрут? DCT или точки маршрута, например DCT KOLIN DCT.",
        ),
        "total_eet_minutes": (
            "What is the total estimated elapsed time? Hours and minutes, for example 0:55.",
            "Какое расчётное время в пути? Часы и минуты, например 0:55.",
        ),
        "alternate_icaos": (
            "Which alternate aerodromes? At most two, for example EDDF EDDH, or none.",
            "Какие запасные аэродромы? Не больше двух, например EDDF EDDH, или нет.",
        ),
        "other_information": (
            "What other information should stand in item 18? For example REG/DABCD.",
            "Какие сведения указать в поле 18? Например REG/DABCD.",
        ),
    }
)
