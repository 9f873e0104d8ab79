"""City names in the forms people write them, with the airports they mean.

Read by test_city_names.py. A line: the text, a mark, ICAO codes. "=": found outright, the one code; "^": found, or a
list that begins with one of the codes; "~": a list (or found) that holds all codes.
"""

from __future__ import annotations

RUSSIAN = """
Мюнхен = EDDM
Мюнхена = EDDM
Мюнхене = EDDM
Мюнхеном = EDDM
Берлин ^ EDDB
Берлином ^ EDDB
Гамбурга = EDDH
Кёльна ^ EDDK
Кельне ^ EDDK
Франкфурт ^ EDDF
Нюрнберга = EDDN
Ганновере = EDDV
Штутгарт = EDDS
Бремена = EDDW
Дрездена = EDDC
Вена = LOWW
Вену = LOWW
Веной = LOWW
Инсбрука = LOWI
Цюрих = LSZH
Цюриха = LSZH
Женевы = LSGG
Берне ^ LSZB
Базель ^ LFSB
Прага = LKPR
Праге = LKPR
Прагу = LKPR
Брно = LKTB
Братиславы = LZIB
Будапешта = LHBP
Варшава ~ EPWA EPMO
Варшавы ~ EPWA EPMO
Краков = EPKK
Гданьска = EPGD
Вильнюса = EYVI
Риги = EVRA
Таллина = EETN
Хельсинки = EFHK
Стокгольма ~ ESSA ESSB
Гётеборга ^ ESGG
Копенгаген ^ EKCH
Осло ^ ENGM
Бергена = ENBR
Рейкьявика ~ BIKF BIRK
Париж ~ LFPG LFPO
Парижа ~ LFPG LFPO
Ницца = LFMN
Ниццы = LFMN
Лиона ^ LFLL
Тулузу = LFBO
Брюсселя ^ EBBR
Антверпена = EBAW
Амстердам = EHAM
Роттердама = EHRD
Гааги ^ EHRD EHAM
Люксембург = ELLX
Лондон ~ EGLL EGKK EGSS EGGW EGLC
Эдинбурга = EGPH
Манчестера ^ EGCC
Бирмингем ^ EGBB
Дублина = EIDW
Рим ~ LIRF LIRA
Рима ~ LIRF LIRA
Риме ~ LIRF LIRA
Милана ~ LIMC LIML
Венеция ^ LIPZ
Венеции ^ LIPZ
Флоренция ^ LIRQ
Флоренции ^ LIRQ
Флоренцию ^ LIRQ
Неаполь ^ LIRN
Неаполя ^ LIRN
Турина = LIMF
Болонья = LIPE
Генуи = LIMJ
Палермо = LICJ
Пиза = LIRP
Мадрида ^ LEMD
Барселона ^ LEBL
Барселоны ^ LEBL
Валенсии ~ LEVC SVVA
Севилья = LEZL
Лиссабон = LPPT
Лиссабона = LPPT
Порту ^ LPPR
Афины ^ LGAV
Афин ^ LGAV
Салоники = LGTS
Никосии ^ LCLK LCEN
Ларнаки = LCLK
Загреба = LDZA
Любляны = LJLJ
Белграда ^ LYBE
Сараево = LQSA
Скопье = LWSK
Тираны = LATI
София = LBSF
Софии = LBSF
Бухареста ~ LROP LRBS
Кишинёва = LUKK
Киева ~ UKBB UKKK
Львова = UKLL
Минск ^ UMMS
Стамбул ~ LTFM LTFJ
Стамбула ~ LTFM LTFJ
Анталья = LTAI
Анкары ~ LTAC LTAD
Измира ^ LTBJ
Москва ~ UUEE UUDD UUWW
Москвы ~ UUEE UUDD UUWW
Санкт-Петербург = ULLI
Санкт-Петербурга = ULLI
Петербург = ULLI
Петербурге = ULLI
Питер = ULLI
Нижний Новгород = UWGG
Нижнего Новгорода = UWGG
Новосибирска = UNNT
Екатеринбург = USSS
Казань = UWKD
Самары = UWWW
Уфы = UWUU
Владивосток = UHWW
Владивостока = UHWW
Петропавловска-Камчатского = UHPP
Южно-Сахалинска = UHSS
Калининград = UMKK
Махачкалы = URML
Тбилиси = UGTB
Еревана ^ UDYZ
Баку ^ UBBB
Ташкента ^ UZTT
Самарканда = UZSS
Алматы = UAAA
Астана = UACC
Бишкека = UCFM
Душанбе = UTDD
Ашхабад = UTAA
Пекин ~ ZBAA ZBAD
Пекина ~ ZBAA ZBAD
Шанхай ~ ZSPD ZSSS
Шанхая ~ ZSPD ZSSS
Гуанчжоу = ZGGG
Чэнду ^ ZUUU ZUTF
Харбина = ZYHB
Урумчи = ZWWW
Сиань = ZLXY
Гонконг = VHHH
Гонконга = VHHH
Тайбэй ~ RCTP RCSS
Токио ~ RJTT RJAA
Осака ~ RJBB RJOO
Сеул ~ RKSI RKSS
Сеула ~ RKSI RKSS
Пусан = RKPK
Улан-Батор ^ ZMUB ZMCK
Бангкок ~ VTBS VTBD
Бангкока ~ VTBS VTBD
Ханой = VVNB
Хошимин = VVTS
Сингапур ^ WSSS
Сингапура ^ WSSS
Куала-Лумпур ^ WMKK
Джакарта ~ WIII WIHH
Манила ^ RPLL
Дели ^ VIDP
Мумбаи = VABB
Калькутта ^ VECC
Коломбо ~ VCBI VCCC
Катманду = VNKT
Дакка = VGHS
Карачи = OPKC
Кабул = OAKB
Тегеран ~ OIIE OIII
Багдад = ORBI
Дамаска = OSDI
Бейрут = OLBA
Иерусалим ^ LLBG
Тель-Авив ^ LLBG
Амман ~ OJAI OJAM
Дубай ~ OMDB OMDW
Дубая ~ OMDB OMDW
Абу-Даби ^ OMAA
Доха ^ OTHH OTBD
Эр-Рияд ^ OERK
Джидда = OEJN
Каир = HECA
Каира = HECA
Хургада = HEGN
Шарм-эль-Шейх = HESH
Касабланка ^ GMMN
Марракеш = GMMX
Тунис = DTTA
Алжир ^ DAAG
Найроби ~ HKJK HKNW
Аддис-Абеба = HAAB
Лагос ^ DNMM
Дакар ~ GOBD GOOY
Кейптаун = FACT
Йоханнесбург ^ FAOR
Дурбан ^ FALE
Занзибар = HTZA
Антананариву = FMMI
Нью-Йорк ~ KJFK KLGA KEWR
Нью-Йорка ~ KJFK KLGA KEWR
Вашингтон ~ KIAD KDCA
Бостон = KBOS
Бостона = KBOS
Чикаго ~ KORD KMDW
Филадельфия ^ KPHL
Атланта ^ KATL
Майами ^ KMIA
Хьюстон ~ KIAH KHOU
Даллас ~ KDFW KDAL
Денвер ^ KDEN
Лос-Анджелес ^ KLAX
Лос-Анджелеса ^ KLAX
Сан-Франциско ^ KSFO
Сиэтл ^ KSEA
Лас-Вегас ^ KLAS
Гонолулу = PHNL
Анкоридж ^ PANC
Новый Орлеан ^ KMSY
Нового Орлеана ^ KMSY
Торонто ~ CYYZ CYTZ
Монреаль ^ CYUL CYMX
Ванкувер ^ CYVR
Оттава ^ CYOW
Мехико ^ MMMX
Канкун = MMUN
Гавана ^ MUHA
Гаваны ^ MUHA
Сан-Хосе ~ MROC KSJC
Панама ^ MPTO MPMG
Богота = SKBO
Каракас = SVMI
Кито ^ SEQM
Лима = SPJC
Ла-Пас ~ SLLP MMLP
Сантьяго ^ SCEL
Буэнос-Айрес ~ SAEZ SABE
Монтевидео = SUMU
Асунсьон = SGAS
Рио-де-Жанейро ~ SBGL SBRJ
Сан-Паулу ~ SBGR SBSP
Бразилиа = SBBR
Сидней ^ YSSY
Сиднея ^ YSSY
Мельбурн ^ YMML
Брисбен ^ YBBN
Перт ^ YPPH
Окленд ^ NZAA KOAK
Веллингтона = NZWN
Крайстчерч = NZCH
Ростова-на-Дону ~ URRP URRR
Медельина ~ SKRG SKMD
Лондон, Онтарио = CYXU
"""

LATIN = """
Munich = EDDM
München = EDDM
Muenchen = EDDM
Monaco di Baviera = EDDM
Berlin ^ EDDB
Cologne ^ EDDK
Köln ^ EDDK
Bonn ~ EDDK
Nuremberg = EDDN
Nürnberg = EDDN
Hanover = EDDV
Vienna = LOWW
Wien = LOWW
Zurich = LSZH
Geneva ^ LSGG
Genève = LSGG
Genf = LSGG
Prague = LKPR
Praha = LKPR
Warsaw ~ EPWA EPMO
Warszawa ~ EPWA EPMO
Krakow = EPKK
Cracow = EPKK
Copenhagen ^ EKCH
København ^ EKCH
Gothenburg ^ ESGG
Göteborg ^ ESGG
Helsinki = EFHK
Brussels ^ EBBR
Bruxelles ^ EBBR
Antwerp = EBAW
The Hague ^ EHRD EHAM
Den Haag ^ EHRD EHAM
Paris ~ LFPG LFPO
Nice = LFMN
London ~ EGLL EGKK EGSS EGGW EGLC
London, Ontario = CYXU
Dublin = EIDW
Rome ~ LIRF LIRA
Roma ~ LIRF LIRA
Milan ~ LIMC LIML
Milano ~ LIMC LIML
Venice ^ LIPZ
Venezia = LIPZ
Naples ^ LIRN
Napoli = LIRN
Florence ^ LIRQ
Firenze = LIRQ
Turin = LIMF
Genoa = LIMJ
Seville = LEZL
Lisbon = LPPT
Lisboa = LPPT
Athens ^ LGAV
Thessaloniki = LGTS
Belgrade ^ LYBE
Bucharest ~ LROP LRBS
Sofia = LBSF
Istanbul ~ LTFM LTFJ
Kiev ~ UKBB UKKK
Moscow ~ UUEE UUDD UUWW
Saint Petersburg ^ ULLI
Beijing ~ ZBAA ZBAD
Peking ~ ZBAA ZBAD
Shanghai ~ ZSPD ZSSS
Canton ^ ZGGG KCAK
Hong Kong = VHHH
Taipei ~ RCTP RCSS
Tokyo ~ RJTT RJAA
Seoul ~ RKSI RKSS
Bangkok ~ VTBS VTBD
Saigon = VVTS
Ho Chi Minh City = VVTS
Singapore ^ WSSS
Bombay = VABB
Mumbai = VABB
Calcutta = VECC
New Delhi ^ VIDP
Tehran ~ OIIE OIII
Dubai ~ OMDB OMDW
Jeddah = OEJN
Cairo ^ HECA
Marrakesh = GMMX
Nairobi ~ HKJK HKNW
Cape Town = FACT
Johannesburg ^ FAOR
New York ~ KJFK KLGA KEWR
NYC ~ KJFK KLGA
Washington ~ KIAD KDCA
Boston = KBOS
Los Angeles ^ KLAX
San Francisco ^ KSFO
San Jose ~ KSJC MROC
Portland ~ KPDX KPWM
Portland, ME = KPWM
Montreal ^ CYUL CYMX
Vancouver ^ CYVR
Mexico City ^ MMMX
Havana ^ MUHA
Panama City ~ MPTO KECP
Bogota = SKBO
Lima = SPJC
Santiago ^ SCEL
Buenos Aires ~ SAEZ SABE
Rio de Janeiro ~ SBGL SBRJ
São Paulo ~ SBGR SBSP
Sydney ^ YSSY
Melbourne ^ YMML
Perth ^ YPPH
Auckland = NZAA
"""


def cases(block: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """(text, mark, codes) of every line."""
    found = []
    for line in block.strip().splitlines():
        for mark in "=^~":
            text, sign, codes = line.partition(f" {mark} ")
            if sign:
                found.append((text, mark, tuple(codes.split())))
                break
        else:
            raise AssertionError(f"a line without a mark: {line}")
    return found
