"""Russian requests, changes of a plan and requests for something else, written after the grammar.

The labels were written before the planner was run on them. Read by test_utterances.py; see notation.py.
"""

from __future__ import annotations

HELD_OUT_RUSSIAN: list[tuple[str, list[str]]] = [
    ("Какова сейчас погода на Бали?", ["get_weather icao='Бали'"]),
    ("Посмотри, пожалуйста, какая погода в аэропорту Храброво", ["get_weather icao='Храброво'"]),
    ("Сильный ли ветер во Владивостоке?", ["get_weather icao='Владивостоке'"]),
    ("Сообщи температуру и давление в Иркутске", ["get_weather icao='Иркутске'"]),
    (
        "назови пять самых близких аэропортов к Любляне",
        [
            "search_airports center_icao='Любляне' include_center=true limit=5 sort=distance",
        ],
    ),
    (
        "Есть ли аэропорты в пределах 60 километров от Вероны?",
        [
            "search_airports center_icao='Вероны' include_center=true radius_km=60.0 sort=distance",
        ],
    ),
    ("перечисли аэропорты Грузии", ["search_airports country=GE"]),
    ("В каком городе аэропорт KIV?", ["get_airport icao='KIV'"]),
    (
        "Сколько лететь от Мурманска до Салехарда в километрах?",
        [
            "build_route departure_icao='Мурманска' destination_icao='Салехарда'",
        ],
    ),
    ("Мне нужен маршрут Дубай — Мале", ["build_route departure_icao='Дубай' destination_icao='Мале'"]),
    (
        "из Софии в Бухарест проложи, пожалуйста, маршрут",
        [
            "build_route departure_icao='Софии' destination_icao='Бухарест'",
        ],
    ),
    (
        "Найди ближайший аэропорт к Бресту и скажи, какая там погода",
        [
            "search_airports center_icao='Бресту' include_center=true limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
        ],
    ),
    (
        "оформи план полёта для рейса SDM6043 из Пулково в Минводы, самолёт A319, завтра в 07:40, 128 пассажиров",
        [
            "draft_flight_plan aircraft_id='SDM6043' aircraft_type='A319' departure_icao='Пулково' "
            "departure_time='завтра в 07:40' destination_icao='Минводы' persons_on_board='128'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "отправь флайт-план из Вены в Прагу, эшелон FL240",
        [
            "draft_flight_plan departure_icao='Вены' destination_icao='Прагу' level='FL240'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    ("Расскажи, какая сейчас погода в Калининграде", ["get_weather icao='Калининграде'"]),
    ("Мне бы погоду в Анапе", ["get_weather icao='Анапе'"]),
    ("идёт ли дождь в Батуми?", ["get_weather icao='Батуми'"]),
    (
        "погода в аэропорту Жуляны и в аэропорту Борисполь",
        [
            "get_weather icao='Жуляны'",
            "weather_2: get_weather icao='Борисполь'",
        ],
    ),
    (
        "какие есть аэропорты недалеко от Женевы?",
        [
            "search_airports center_icao='Женевы' include_center=true sort=distance",
        ],
    ),
    (
        "Выведи десять ближайших аэропортов к Красноярску",
        [
            "search_airports center_icao='Красноярску' include_center=true limit=10 sort=distance",
        ],
    ),
    ("Найди мне аэропорт поближе", ["get_position", "search_airports center={me} limit=1 sort=distance"]),
    ("что за аэропорт UWKD?", ["get_airport icao='UWKD'"]),
    ("Аэропорты Узбекистана, отсортируй по названию", ["search_airports country=UZ sort=name"]),
    (
        "на каком расстоянии друг от друга Токио и Сеул?",
        [
            "build_route departure_icao='Токио' destination_icao='Сеул'",
        ],
    ),
    ("Построй путь от Кейптауна до Найроби", ["build_route departure_icao='Кейптауна' destination_icao='Найроби'"]),
    (
        "мне надо попасть из Еревана в Ригу, проложи маршрут",
        [
            "build_route departure_icao='Еревана' destination_icao='Ригу'",
        ],
    ),
    (
        "найди самый близкий аэропорт, узнай погоду в нём, а потом построй маршрут оттуда до Сургута",
        [
            "get_position",
            "search_airports center={me} limit=1 sort=distance",
            "get_weather icao=<search.airports.0.icao>",
            "build_route departure_icao=<search.airports.0.icao> destination_icao='Сургута'",
        ],
    ),
    (
        "составь мне план полёта Минск — Витебск на завтра, 09:00, самолёт C172, борт EW-123SL",
        [
            "draft_flight_plan aircraft_id='EW-123SL' aircraft_type='C172' departure_icao='Минск' "
            "departure_time='завтра, 09:00' destination_icao='Витебск'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    ("Погодка в Сочи какая?", ["get_weather icao='Сочи'"]),
    ("Узнай, пожалуйста, погоду в аэропорту Кневичи", ["get_weather icao='Кневичи'"]),
    ("сколько градусов в Дубае", ["get_weather icao='Дубае'"]),
    ("Нужна погода по UUWW", ["get_weather icao='UUWW'"]),
    (
        "какой аэропорт самый ближний к Выборгу",
        [
            "search_airports center_icao='Выборгу' include_center=true limit=1 sort=distance",
        ],
    ),
    (
        "Покажи все аэропорты в 80 км от Лиона",
        [
            "search_airports center_icao='Лиона' include_center=true radius_km=80.0 sort=distance",
        ],
    ),
    ("рядом со мной есть аэропорты?", ["get_position", "search_airports center={me} sort=distance"]),
    ("Данные аэропорта Шарм-эль-Шейх", ["get_airport icao='Шарм-эль-Шейх'"]),
    ("Мне в Ташкент из Алматы", ["build_route departure_icao='Алматы' destination_icao='Ташкент'"]),
    ("Какова длина маршрута Хельсинки – Осака?", ["build_route departure_icao='Хельсинки' destination_icao='Осака'"]),
    (
        "Сделай план полёта: вылет Пермь, назначение Омск, эшелон 310, 96 человек",
        [
            "draft_flight_plan departure_icao='Пермь' destination_icao='Омск' level='310' persons_on_board='96'",
            "validate_flight_plan flight_plan=[draft]",
        ],
    ),
    (
        "Надо подать флайтплан из Томска в Новосибирск на послезавтра в 6:00 UTC",
        [
            "draft_flight_plan departure_icao='Томска' departure_time='послезавтра в 6:00 UTC' "
            "destination_icao='Новосибирск'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
    ("Хочу узнать погоду в Магадане", ["get_weather icao='Магадане'"]),
    ("что там с ветром в Петропавловске-Камчатском", ["get_weather icao='Петропавловске-Камчатском'"]),
    (
        "Аэропорты вокруг Тампере в радиусе 120 км",
        [
            "search_airports center_icao='Тампере' include_center=true radius_km=120.0 sort=distance",
        ],
    ),
    ("Где аэропорт Бегишево?", ["get_airport icao='Бегишево'"]),
    (
        "Проведи линию маршрута от Дакара до Браззавиля",
        [
            "build_route departure_icao='Дакара' destination_icao='Браззавиля'",
        ],
    ),
    (
        "Какое расстояние между аэропортами Внуково и Кольцово?",
        [
            "build_route departure_icao='Внуково' destination_icao='Кольцово'",
        ],
    ),
    (
        "Подготовь и подай план полёта из Мурманска в Архангельск, DH8D, 74 человека на борту",
        [
            "draft_flight_plan aircraft_type='DH8D' departure_icao='Мурманска' "
            "destination_icao='Архангельск' persons_on_board='74'",
            "file_flight_plan flight_plan=[draft]",
        ],
    ),
]

# The session has a flight plan, artifact art_1.
HELD_OUT_WITH_PLAN: list[tuple[str, list[str]]] = [
    (
        "please bump the flight level up to 390",
        [
            "revise_flight_plan flight_plan=[art_1] level='390'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "there will be 96 people on board",
        [
            "revise_flight_plan flight_plan=[art_1] persons_on_board='96'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "перенеси вылет на завтра 18:20",
        [
            "revise_flight_plan departure_time='завтра 18:20' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "поставь скорость 430 узлов и подай план",
        [
            "revise_flight_plan cruising_speed='430 узлов' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
            "file_flight_plan flight_plan=[revise]",
        ],
    ),
    ("ok, go ahead and file it", ["file_flight_plan flight_plan=[art_1]"]),
    ("всё верно, отправляй", ["file_flight_plan flight_plan=[art_1]"]),
    (
        "increase the number of passengers to 141",
        [
            "revise_flight_plan flight_plan=[art_1] persons_on_board='141'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "let's depart at 17:45 tomorrow instead",
        [
            "revise_flight_plan departure_time='17:45 tomorrow' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "замени борт на A20N",
        [
            "revise_flight_plan aircraft_type='A20N' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "топлива на 4 часа 20 минут",
        [
            "revise_flight_plan endurance_minutes='4 часа 20 минут' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    ("is the plan valid?", ["validate_flight_plan flight_plan=[art_1]"]),
    ("looks good, please submit", ["file_flight_plan flight_plan=[art_1]"]),
    (
        "we'll be cruising at 35000 feet",
        [
            "revise_flight_plan flight_plan=[art_1] level='35000 feet'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "the destination should be Malaga",
        [
            "revise_flight_plan destination_icao='Malaga' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "людей на борту будет 88",
        [
            "revise_flight_plan flight_plan=[art_1] persons_on_board='88'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "исправь пункт назначения: Самара",
        [
            "revise_flight_plan destination_icao='Самара' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    ("подавай", ["file_flight_plan flight_plan=[art_1]"]),
    (
        "check everything and then file the plan",
        [
            "validate_flight_plan flight_plan=[art_1]",
            "file_flight_plan flight_plan=[art_1]",
        ],
    ),
    (
        "what is the weather at Split and how far is it from Zagreb",
        [
            "get_weather icao='Split'",
            "build_route departure_icao='Zagreb' destination_icao=<weather.icao>",
        ],
    ),
    (
        "could you make the speed 420 kt and the level FL310",
        [
            "revise_flight_plan cruising_speed='420 kt' flight_plan=[art_1] level='FL310'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "снизь эшелон до 290",
        [
            "revise_flight_plan flight_plan=[art_1] level='290'",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    (
        "добавь запасной аэродром Кольцово",
        [
            "revise_flight_plan alternate_icaos='Кольцово' flight_plan=[art_1]",
            "validate_flight_plan flight_plan=[revise]",
        ],
    ),
    ("validate the plan once more", ["validate_flight_plan flight_plan=[art_1]"]),
]

# Nothing that this domain can do.
FOREIGN: list[str] = [
    "Do I need an umbrella in Glasgow?",
    "order a pizza to Gate 12",
    "какой сегодня курс доллара",
    "who won the football match yesterday",
    "remind me to call mom",
    "сколько будет два плюс два",
    "play some music",
    "delete all my data",
    "закажи такси до аэропорта",
    "sing me a song",
    "спой песню",
]
