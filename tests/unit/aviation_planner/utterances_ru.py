"""Russian requests about airports, weather and routes, with the tasks they mean.

Read by test_utterances.py; the notation is explained in notation.py.
"""

from __future__ import annotations

RUSSIAN: list[tuple[str, list[str]]] = [
    ("найди аэропорт с кодом LED", ["search_airports code='LED'"]),
    ("найди аэропорт Хитроу", ["search_airports name='Хитроу'"]),
    ("покажи аэропорты в Лондоне", ["search_airports city='Лондоне'"]),
    (
        "аэропорты в радиусе 200 км от Праги",
        [
            "search_airports center_icao='Праги' include_center=true radius_km=200.0 sort=distance",
        ],
    ),
    (
        "какие аэропорты есть в 100 км от Казани?",
        [
            "search_airports center_icao='Казани' include_center=true radius_km=100.0 sort=distance",
        ],
    ),
    (
        "три ближайших аэропорта к Москве",
        [
            "search_airports center_icao='Москве' include_center=true limit=3 sort=distance",
        ],
    ),
    ("пять ближайших ко мне аэропортов", ["get_position", "search_airports center={me} limit=5 sort=distance"]),
    ("второй ближайший аэропорт", ["get_position", "search_airports center={me} limit=1 offset=1 sort=distance"]),
    ("самый дальний от меня аэропорт", ["get_position", "search_airports center={me} limit=1 sort=distance_desc"]),
    (
        "погода в ближайшем к Праге аэропорту",
        [
            "search_airports center_icao='Праге' include_center=true limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    (
        "погода в аэропорту рядом со мной",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    (
        "погода рядом со мной",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    ("метар EFHK", ["get_weather icao='EFHK'"]),
    ("Погода в Нью-Йорке, пожалуйста", ["get_weather icao='Нью-Йорке'"]),
    ("какой ветер в Пулково", ["get_weather icao='Пулково'"]),
    ("какая видимость в Домодедово сейчас?", ["get_weather icao='Домодедово'"]),
    ("расстояние между Осло и Токио", ["build_route departure_icao='Осло' destination_icao='Токио'"]),
    (
        "сколько километров от Москвы до Владивостока",
        [
            "build_route departure_icao='Москвы' destination_icao='Владивостока'",
        ],
    ),
    ("как далеко от Парижа до Рима", ["build_route departure_icao='Парижа' destination_icao='Рима'"]),
    (
        "построй маршрут от Екатеринбурга до Новосибирска",
        [
            "build_route departure_icao='Екатеринбурга' destination_icao='Новосибирска'",
        ],
    ),
    (
        "проложи маршрут из Сочи в Стамбул через Анкару",
        [
            "build_route departure_icao='Сочи' destination_icao='Анкару'",
            "route_2: build_route departure_icao='Анкару' destination_icao='Стамбул'",
        ],
    ),
    ("Москва — Сочи", ["build_route departure_icao='Москва' destination_icao='Сочи'"]),
    ("хочу полететь из Рима в Афины", ["build_route departure_icao='Рима' destination_icao='Афины'"]),
    ("маршрут до Сочи", ["build_route destination_icao='Сочи'"]),
    (
        "Найди ближайший аэропорт. Какая там погода? Построй маршрут оттуда в Минск.",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
            "build_route departure_icao=<search.airports.0.icao> destination_icao='Минск'",
        ],
    ),
    ("погода в Москве и Казани", ["get_weather icao='Москве'", "weather_2: get_weather icao='Казани'"]),
    ("погода в Москве и в Казани", ["get_weather icao='Москве'", "weather_2: get_weather icao='Казани'"]),
    (
        "я в Праге, найди три ближайших аэропорта",
        [
            "get_position position='Праге'",
            "search_airports center={me} limit=3 sort=distance",
        ],
    ),
    (
        "ближайший аэропорт к 55.75, 37.62",
        [
            "search_airports center_lat_deg=55.75 center_lon_deg=37.62 limit=1 sort=distance",
        ],
    ),
    ("расскажи про аэропорт Внуково", ["get_airport icao='Внуково'"]),
    ("информация об аэропорте UUEE", ["get_airport icao='UUEE'"]),
    ("какие аэропорты поблизости", ["get_position", "search_airports center={me} sort=distance"]),
    ("напиши стихотворение", ["not understood: стихотворение"]),
    ("сколько стоит билет до Москвы", ["not understood: стоит билет"]),
    ("погода в Хабаровске", ["get_weather icao='Хабаровске'"]),
    ("покажи погоду в Астане и Алматы", ["get_weather icao='Астане'", "weather_2: get_weather icao='Алматы'"]),
    ("метеосводка по аэропорту Кольцово", ["get_weather icao='Кольцово'"]),
    ("какая температура в Якутске", ["get_weather icao='Якутске'"]),
    ("холодно ли в Норильске?", ["get_weather icao='Норильске'"]),
    ("подскажи, пожалуйста, погоду в Ростове-на-Дону", ["get_weather icao='Ростове-на-Дону'"]),
    ("какой ветер сейчас в UUDD", ["get_weather icao='UUDD'"]),
    ("погода в Нижнем Новгороде", ["get_weather icao='Нижнем Новгороде'"]),
    ("погода в Санкт-Петербурге", ["get_weather icao='Санкт-Петербурге'"]),
    ("что с погодой в Сочи?", ["get_weather icao='Сочи'"]),
    ("как там погода в Тбилиси", ["get_weather icao='Тбилиси'"]),
    ("погода завтра в Омске", ["reply: There is no forecast, because no folder of weather reports is configured"]),
    (
        "погода здесь",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    ("найди аэропорты рядом с Веной", ["search_airports center_icao='Веной' include_center=true sort=distance"]),
    (
        "пять аэропортов возле Мюнхена",
        [
            "search_airports center_icao='Мюнхена' include_center=true limit=5 sort=distance",
        ],
    ),
    (
        "какой аэропорт ближе всего к Суздалю?",
        [
            "search_airports center_icao='Суздалю' include_center=true limit=1 sort=distance",
        ],
    ),
    ("ближайший аэропорт", ["get_position", "search_airports center={me} limit=1 sort=distance"]),
    ("самый близкий ко мне аэропорт", ["get_position", "search_airports center={me} limit=1 sort=distance"]),
    ("покажи 7 ближайших аэропортов", ["get_position", "search_airports center={me} limit=7 sort=distance"]),
    (
        "аэропорты не дальше 150 км от Варшавы",
        [
            "search_airports center_icao='Варшавы' include_center=true radius_km=150.0 sort=distance",
        ],
    ),
    ("аэропорты Италии по алфавиту", ["search_airports country=IT sort=name"]),
    ("список аэропортов Исландии", ["search_airports country=IS"]),
    ("какие аэропорты есть в Токио", ["search_airports city='Токио'"]),
    ("аэропорты Парижа", ["search_airports city='Парижа'"]),
    ("где находится Пулково", ["get_airport icao='Пулково'"]),
    ("где расположен аэропорт Гардермуэн?", ["get_airport icao='Гардермуэн'"]),
    ("что такое LEMD", ["get_airport icao='LEMD'"]),
    ("расскажи об аэропорте Толмачёво", ["get_airport icao='Толмачёво'"]),
    ("код аэропорта Домодедово", ["get_airport icao='Домодедово'"]),
    ("сколько километров между Минском и Киевом", ["build_route departure_icao='Минском' destination_icao='Киевом'"]),
    ("какое расстояние от Лондона до Дублина?", ["build_route departure_icao='Лондона' destination_icao='Дублина'"]),
    ("далеко ли от Самары до Уфы", ["build_route departure_icao='Самары' destination_icao='Уфы'"]),
    ("маршрут Казань - Пермь", ["build_route departure_icao='Казань' destination_icao='Пермь'"]),
    ("построй маршрут между Прагой и Веной", ["build_route departure_icao='Прагой' destination_icao='Веной'"]),
    ("нарисуй путь из Осло в Стокгольм", ["build_route departure_icao='Осло' destination_icao='Стокгольм'"]),
    ("рассчитай маршрут из SVO в LED", ["build_route departure_icao='SVO' destination_icao='LED'"]),
    (
        "маршрут от меня до Риги",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "build_route departure_icao=<search.airports.0.icao> destination_icao='Риги'",
        ],
    ),
    ("как долететь из Перми в Анталью", ["build_route departure_icao='Перми' destination_icao='Анталью'"]),
    ("хочу улететь в Ереван", ["build_route destination_icao='Ереван'"]),
    (
        "маршрут из Москвы в Нью-Йорк через Рейкьявик",
        [
            "build_route departure_icao='Москвы' destination_icao='Рейкьявик'",
            "route_2: build_route departure_icao='Рейкьявик' destination_icao='Нью-Йорк'",
        ],
    ),
    (
        "найди ближайший к Туле аэропорт и погоду в нём",
        [
            "search_airports center_icao='Туле' include_center=true limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    (
        "сначала найди аэропорт в Салехарде, потом покажи там погоду, затем построй маршрут оттуда в Тюмень",
        [
            "search_airports city='Салехарде'",
            "get_weather icao='Салехарде'",
            "build_route departure_icao=<weather.icao> destination_icao='Тюмень'",
        ],
    ),
    ("привет", ["reply: Hello"]),
    ("здравствуйте, какая погода в Баку?", ["get_weather icao='Баку'"]),
    (
        "что ты умеешь?",
        [
            "reply: I can find airports (by name, city, code, country, around a place or near you), tell "
            "the current weather at an airport, build a great-circle route between two airports, and "
            "draft, check, change and file a flight plan",
        ],
    ),
    ("спасибо большое", ["reply: You are welcome"]),
    ("расскажи анекдот", ["not understood: анекдот"]),
    ("забронируй билет в Казань", ["not understood: забронируй билет"]),
]
