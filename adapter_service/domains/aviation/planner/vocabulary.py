"""The words the planner knows, as data: kinds of English and Russian words, numbers and ordinals.

Called by lexicon.py only. To teach a word, add it to its kind. A bare word stands for every form with its stem
("airport" covers "airports"), "=word" for that form only.
"""

from __future__ import annotations

from typing import Final

from adapter_service.domains.aviation.planner.word_kinds import Cat

WORDS: Final[dict[Cat, str]] = {
    Cat.FIND: """
        find search seek locate lookup =list scan discover identify =look
        найди найдите найти отыщи отыщите поищи поищите ищи ищу искать разыщи подбери подберите подобрать отыскать
        найдется =ищем подыщи подыщите
    """,
    Cat.SHOW: """
        show display give tell print =get =got report describe =list present provide check see know view bring fetch
        read compare name enumerate pull reveal share inform
        покажи покажите показать выведи выведите вывести дай дайте дать скажи скажите сказать расскажи расскажите
        рассказать сообщи сообщите подскажи подскажите глянь посмотри посмотрите посмотреть опиши узнать узнай узнайте
        перечисли перечислите знать =отобрази =отобразите сравни сравните сравнить назови назовите назвать показывай
        выдай выдайте выдать рассказывай узнаем покажешь скажешь =смотрим
    """,
    Cat.BUILD: """
        build =built make draw plot compute calculate construct map lay create =plan prepare generate trace chart sketch
        work figure estimate determine design
        построй постройте построить построим проложи проложите проложить нарисуй нарисуйте рассчитай рассчитайте
        рассчитать посчитай посчитайте вычисли сделай сделайте сделать начерти составь составьте составить создай
        создайте создать строй прокладывай прокладывать проложим проведи проведите прочерти высчитай вычислить определи
        определите спланируй
    """,
    Cat.FILE: """
        file submit lodge send =filed
        подай подайте подать подадим подаем отправь отправьте отправить =шли пошли пошлите отправляй отправляйте подавай
        подавайте подавать отправлять зарегистрируй зарегистрируйте
    """,
    Cat.DRAFT: """
        draft prepare create make write compose =new fill =start need =prep
        составь составьте составить подготовь подготовьте подготовить создай создайте создать сделай сделайте сделать
        напиши напишите оформи оформите оформить черновик набросай заполни нужен =новый начни оформляй составляй
        подготавливай сформируй сформируйте заведи
    """,
    Cat.CHECK: """
        validate check verify =validation
        проверь проверьте проверить провалидируй валидируй валидация проверка перепроверь
    """,
    Cat.CHANGE: """
        change set update modify edit revise adjust correct amend alter replace increase raise lower reduce decrease
        climb make switch move put use fix add bump shift push postpone extend shorten delay bring drop cut
        измени измените изменить поменяй поменяйте поменять смени смените сменить исправь исправьте исправить поставь
        поставьте поставить установи установите установить обнови обновите обновить замени замените заменить увеличь
        увеличьте увеличить подними поднимите поднять снизь уменьши уменьшите уменьшить сделай сделайте поправь
        поправьте скорректируй переставь укажи укажите указать добавь добавьте перенеси перенесите перенести сдвинь
        сдвиньте передвинь меняй исправляй повысь понизь понизить повысить смести назначь
    """,
    Cat.FLY: """
        fly flight travel go =flying journey =travelling =traveling =heading
        лететь летим лечу полететь долететь полет полета перелет добраться добираться слетать улететь вылететь летит
        летать =перелета =перелете =полететь попасть доехать съездить отправиться отправляемся летишь летите перелететь
    """,
    Cat.WEATHER: """
        weather metar wind temperature visibility meteo =windy forecast =conditions =rain =raining =snow =snowing cloud
        =clouds =cloudy sunny =cold =hot =warm pressure fog =foggy =stormy =storm =thunderstorm =humid humidity =misty
        =freezing =sunshine =snowy =rainy gusty breezy gust precipitation celsius
        погода погоду погоде погодой погоды погодка метар ветер ветра ветрено ветре температура температуры видимость
        видимости прогноз метео метеосводка облачность облачно =дождь =снег =холодно =жарко =тепло =туман =тумана
        =пасмурно =солнечно =снежно =дождливо =облачно =гроза =морозно влажность давление погодные метеоусловия осадки
        порывы облака =тучи =ветер-то сводка сводку градусов
    """,
    Cat.ROUTE: """
        route routing path track course =way great-circle =greatcircle =bearing =heading =azimuth
        маршрут путь пути трасса ортодромия ортодромию =дорога =дорогу азимут пеленг
    """,
    Cat.DISTANCE: """
        distance =far =long =kilometers =kilometres =miles =km =kms =nautical =length
        расстояние расстояния =далеко дистанция дальность =километров =километра =миль =километрах =километры =милях
        =мили =км длина длину протяженность
    """,
    Cat.PLAN: """
        =plan =plans =fpl flight-plan flightplan
        =план =плана =плану =планом =плане флайтплан флайт-план флайтплана флайт-плана =фпл
    """,
    Cat.AIRPORT: """
        airport airfield aerodrome =airdrome =airstrip
        аэропорт аэродром
    """,
    # The plural: a list is asked for, not one airport.
    Cat.AIRPORTS: """
        =airports =airfields =aerodromes
        =аэропорты =аэропортов =аэропортам =аэропортах =аэропортами =аэродромы =аэродромов =аэродромах =аэродромам
    """,
    Cat.POSITION: """
        position =location =locations =coordinates whereabouts =gps
        позиция местоположение местонахождение координаты координат геопозиция =положение =положения
    """,
    Cat.INFO: """
        info information detail data =about elevation code describe =timezone icao iata =coordinates =altitude facts
        информация информацию сведения подробности данные про код высота координаты =часовой =пояс икао иата
    """,
    Cat.WHERE: """
        =where =where's =located =situated =lies
        =где находится расположен расположена =куда
    """,
    Cat.NAMED: """
        named called name =code coded
        названием именем называется называющийся =кодом =коду =имени под-названием
    """,
    Cat.NEAREST: """
        nearest closest =nearer =closer
        ближайший ближайшая ближайшее ближайшем ближний ближе =поближе =близкий =близкого =близком =близкому =близкая
        =близкие =близких
    """,
    Cat.FARTHEST: """
        farthest furthest =remotest
        дальний удаленный =дальше =далекий =далекого =далеком =далекому =далекие =далеких =подальше отдаленный
        наиболее-удаленный
    """,
    # Which end of which measure: EXTREMES. Phrases that mean the same are turned into these words (phrases.py).
    Cat.EXTREME: """
        =highest =lowest =northernmost =southernmost =easternmost =westernmost
    """,
    Cat.INTERNATIONAL: """
        =international =intl
        =международный =международного =международном =международному =международные =международных =международным
    """,
    Cat.HOW_MANY: "=how-many",
    Cat.FROM: """
        =from =leaving =departing =off
        =из =с =со =от =изо =ото
    """,
    Cat.TO: """
        =to =towards =toward =into =onto =bound =arriving
        =до =к =ко
    """,
    Cat.AT: """
        =at =in =on =over =inside
        =в =во =на =по =над
    """,
    Cat.NEAR: """
        =near =nearby =around =beside =by =close =next =surrounding =vicinity
        =около =возле =рядом =вблизи =недалеко =неподалеку =под =подо =у =вокруг =поблизости =близко =близ =окрестностях
    """,
    Cat.WITHIN: """
        =within =radius =less =fewer
        =пределах =радиусе =радиус =радиусом =ближе =менее =меньше
    """,
    Cat.OF: """
        =of =for =about
        =для =о =об =про
    """,
    Cat.VIA: """
        =via =through
        =через
    """,
    Cat.BETWEEN: """
        =between
        =между
    """,
    Cat.ME: """
        =me =my =mine =us =our =myself
        =меня =мне =мной =мною =мой =моя =мое =моего =моему =моем =мою =моей =нас =нам =нами =наше =нашего =нашем
        =нашему
    """,
    Cat.HERE: """
        =here
        =здесь =тут =сюда =отсюда
    """,
    Cat.THERE: """
        =there =thither =its =it's-there
        =там =туда =его =ее =нем =него =нему =ним =ней =нее =последнем =тамошняя =тамошнюю
    """,
    Cat.FROM_THERE: """
        =thence
        =оттуда
    """,
    Cat.IT: """
        =it =one =them =same
        =он =она =оно =его =ее =ему =них
    """,
    Cat.THIS: """
        =this =that =those =these =current =last =same =said =aforementioned
        =этот =это =этого =этому =этом =этим =эту =эта =этой =тот =того =тому =том =том-же =тем =текущий =текущего
        =текущем =текущему =тех =этих =те =эти
    """,
    Cat.THEN: """
        =then =afterwards =afterward =subsequently =finally
        =затем =потом =далее =наконец
    """,
    Cat.AND: """
        =and =plus =also =& =as-well
        =и =а =также =плюс =еще =да
    """,
    Cat.OR: """
        =or
        =или
    """,
    Cat.EXCEPT: """
        =except =excepting =excluding =outside =without
        =без =кроме =исключая =исключением =вне
    """,
    # Also "there and back" and what means the same (phrases.py).
    Cat.BACK: """
        =roundtrip
    """,
    Cat.COUNT: """
        =top =first =up =limit =maximum =max =most =only
        =топ =первые =первых =максимум =только
    """,
    Cat.SORT: """
        sort order =sorted =ordered rank
        отсортируй отсортированные сортировка упорядочи упорядоченные сортируй сортируя сортировать отсортировать
    """,
    Cat.BY_NAME: """
        =name =names =alphabetically =alphabetical =alphabet
        =имени =названию =названиям =алфавиту =алфавитном
    """,
    Cat.BY_DISTANCE: """
        =distance =proximity
        =расстоянию =удаленности =дальности =близости
    """,
    # Which measure: MEASURES.
    Cat.BY_MEASURE: """
        =elevation =altitude =height =latitude =longitude
        =высоте =широте =долготе
    """,
    Cat.REVERSE: """
        =descending =reverse =reversed =desc =backwards
        =убыванию =убывания =обратном =убывающей
    """,
    Cat.CODE_KIND: """
        =commercial =passenger =iata
        =пассажирские =коммерческие =пассажирский =пассажирских
    """,
    Cat.ANY_KIND: """
        =small =airstrip =airstrips =airfields =airfield =aerodromes =aerodrome =strip =strips
        =аэродром =аэродрома =аэродрому =аэродроме =аэродромом =аэродромы =аэродромов =аэродромах =малые =малых =малый
        =маленький
    """,
    Cat.FILLER: """
        =please =pls =plz =kindly =could =can =can't =would =will =shall =should =may =might =you =u =i =i'd =i'm =i'll
        =we =we're =like =want =wanna =need =needs =wish =let =let's =lets =just =now =right =currently =today =moment
        =some =the =a =an =is =are =be =was =it's =its =what =what's =whats =which =how =how's =hows =who =when =that's
        =there's =there-is =do =does =did =have =has =having =s =so =well =ok =okay =hey =dear =quick =quickly =actually
        =really =maybe =perhaps =also =again =too =as =if =possible =any =latest =current =good =going =up =out =for-me
        =gimme =lemme
        =ahead =go =try =take =help =by =with =using =hmm =um =uh =er =am =this =that =exact =exactly =look =looks
        =looking =lies =located =situated =one =straight =direct =shortest =line =great =circle =flying =lookup =away
        =off =kind =sort-of =all =available =there =thanks =thank =it =them =their =your =very =much =many =bit
        =interested =been =were =think =say =supposed =wondering =wonder =gonna =got =get =outside =being =to-me =world
        =planned =next =first =since =somewhere =exist =exists =along =together =both =each =every =but =new =whole
        =full =already =hand =more =than =hello =hi =greetings =morning-all =doing =able =happening =curious =strong
        =light =bad =nice =after =before =then =work =sure =correct =fine =alright =everything =seems =thing =stuff
        =certainly =guys =folks =mate =sir =ma'am =today's =day =only =still =ever =yet =about =given =put =tell
        =regarding =concerning =per =via-air =air =plane =nonstop =non-stop =directly =approximately =roughly =usually
        =normally =presently =anyway =once =other =else =ones =down =set =list =detailed =details =brief =briefly =mind
        =apart =seem =glad =happy =hoping =hope =wondered =possibly =quite =fairly =pretty =ready
        =пожалуйста =плиз =плз =можно =можешь =можете =мог =могли =могу =бы =ты =вы =я =мы =хочу =хотел =хотела
        =хотелось =хотим =нужно =нужен =нужна =надо =нам =мне =давай =давайте =просто =сейчас =теперь =прямо =сегодня
        =текущая =текущую =текущий =текущей =какой =какая =какое =какие =каких =какова =каков =каковы =что =чего =кто
        =как =когда =сколько =ли =же =ка =ну =вот =там =тут =есть =это =эта =этот =быть =будет =был =была =ладно =хорошо
        =пусть =быстро =быстренько =срочно =снова =опять =тоже =если =возможно =самый =самая =самое =самые =самого
        =самом =самых =самому =наиболее =мной =с =об =ещё =еще =уже =будь =добр =добра =добры =любезны =любезен =именно
        =точно =примерно =нас =меня =все =все-таки =интересует =интересно =требуется =необходимо =помоги =помогите
        =находится =находятся =нахожусь =находимся =расположен =расположена =расположены =такой =такое =такая =за
        =обстоят =дела =насчет =слушай =слушайте =кратчайший =прямой =имеется =имеются =существуют =мир =скоро =ехать
        =всего =сама =само =сам =привет =здравствуйте =узнать =знаешь =знаете =зовут =вообще =буду =попробуй =попробуйте
        =заодно =любой =любые =любых =всех =подряд =сначала =список =списком =перечень =большое =огромное =раз =чем
        =желательно =но =плюс =один =одну =один-из =по-моему =кстати =наш =наша =нашу =нашей =сразу =вместе =оба =чтобы
        =туда =тебя =вас =сильный =сильно =слабый =хорошая =плохая =нормальная =верно =правильно =готово =каком =каким
        =какими =какому =какого =чему =кому =после =перед =того =затем =до-того =сильная =ясно =отлично =окей =ок =друг
        =друзья =коллега =коллеги =уважаемые =господа =также =подробно =подробнее =подробную =полную =краткую =кратко
        =свежую =свежая =свежий =текущее =актуальную =актуальная =актуальный =актуальные =нынешняя =напрямую =самолетом
        =самолете =воздуху =по-прямой =прямому =придется =стоит-ли =бывает =обычно =действительно =вообще-то =собственно
        =спроси =мира =покажи-ка =скажи-ка =дай-ка =глянь-ка =посмотри-ка =поподробнее =больше =какие-нибудь
        =какой-нибудь =какую-нибудь =имеет =идет =шел =идут =линию =линия =друга =другого =дует =видно
        =думаю =буквально =случайно =случаем =скока =скоко =че =чо =то =щас =ща
    """,
    Cat.GENERIC: """
        =the =a =an =city =town =airport =airfield =aerodrome =intl =international
        =город =города =городе =городу =аэропорт =аэропорта =аэропорту =аэропорте =аэропортом =аэродром =аэродрома
        =аэродроме =аэродрому =г. =международный =международного =международном =международному
    """,
    Cat.OTHER_TIME: """
        tomorrow yesterday tonight =morning =evening =afternoon =night weekend week month year =later =monday =tuesday
        =wednesday =thursday =friday =saturday =sunday =hour =hours =minutes =noon =midnight =o'clock
        завтра вчера послезавтра =утром =вечером =днем =ночью выходные выходных неделя месяц год =понедельник =вторник
        =среду =четверг =пятницу =субботу =воскресенье =часов =часа =час =полдень =полночь =утра =вечера =минут
        =завтрашняя =завтрашнюю
    """,
    Cat.GREETING: """
        =hi =hello =hey =greetings =howdy =morning =evening
        =привет =здравствуй =здравствуйте =добрый =день =доброе =утро =вечер =приветствую =хай
    """,
    Cat.THANKS: """
        =thanks =thank =thx =cheers =appreciated =great =perfect
        =спасибо =благодарю =отлично =супер =класс
    """,
    Cat.HELP: """
        =help =capabilities =commands =abilities
        =помощь =умеешь =умеете =справка =команды =помоги =помогите =возможности =помочь
    """,
    Cat.CANCEL: """
        =cancel =canceled =cancelled =abort =stop =forget =nevermind =quit =drop =discard
        =отмена =отмени =отмените =отменить =отменяй =стоп =прекрати =прекратите =забудь =забудьте =хватит =отбой
        =передумал =передумала =неважно
    """,
    Cat.NOT: """
        =no =not =nope =nah =wrong =don't =instead =rather =sorry =oops =wait =mean =meant =correction
        =нет =не =неа =неверно =ошибся =ошиблась =извини =извините =стой =погоди =подожди =вернее =точнее =вместо =имел
        =имела =виду
    """,
    Cat.YES: """
        =yes =yeah =yep =ok =okay =sure =approve =approved =confirm =agreed =agree =fine
        =да =ага =ок =хорошо =согласен =согласна =подтверждаю =одобряю =утверждаю =ладно =конечно
    """,
    Cat.NEW: """
        =a =an =new =another =fresh
        =новый =нового =новую =еще =другой
    """,
    Cat.ORDINAL: "",
    # Words that carry nothing of their own in a sentence about a flight plan.
    Cat.PLAN_NOISE: """
        =cruising =cruise =aircraft =plane =jet =airplane =airliner =carrying =departing =departure =board =onboard
        =fuel =registered =under =id =number =instead =crew =item =field =value =rated =arriving =landing =total =taking
        =takes =knots =level =passing =operated =rules =category =its =planned =depart =leaving =leave =persons =people
        =самолет =самолета =самолете =судно =борт =борту =борта =крейсерская =крейсерской =поле =значение =вместо
        =вылетом =вылетает =вылетаем =вылетающий =взлет =рейс =рейса =номер =летим =людьми =пассажирами =экипаж =посадка
        =посадкой =прилетом =летит =запасом =топлива =топливо
    """,
    Cat.REMOVE: """
        remove delete clear
        убери уберите убрать удали удалите удалить сними снимите
    """,
    Cat.BEYOND: """
        =beyond =farther =further =more =over
        =дальше =далее =более =свыше =больше
    """,
    Cat.LAST: """
        =last
        =последний =последнего =последнем =последнему =последняя =последней =последнюю
    """,
}

# The order that puts the extreme first.
EXTREMES: Final = {
    "highest": "elevation_desc",
    "lowest": "elevation",
    "northernmost": "latitude_desc",
    "southernmost": "latitude",
    "easternmost": "longitude_desc",
    "westernmost": "longitude",
}
# The order by a measure.
MEASURES: Final = {
    **dict.fromkeys(("elevation", "altitude", "height", "высоте"), "elevation"),
    **dict.fromkeys(("latitude", "широте"), "latitude"),
    **dict.fromkeys(("longitude", "долготе"), "longitude"),
}
NUMBERS: Final = """1 one один одного одном одна одну
2 two couple два двух две двумя
3 three три трех тремя тройку
4 four четыре четырех
5 five пять пяти
6 six шесть шести
7 seven семь семи
8 eight восемь восьми
9 nine девять девяти
10 ten десять десяти десяток
12 twelve dozen двенадцать дюжину
15 fifteen пятнадцать
20 twenty двадцать двадцати
30 thirty тридцать
50 fifty пятьдесят
100 hundred сто"""
ORDINALS: Final = """1 first 1st перв
2 second 2nd втор
3 third 3rd трет
4 fourth 4th четверт
5 fifth 5th пят"""
