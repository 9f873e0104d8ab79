"""The planner's words: verbs of commands, lead-ins, prepositions, as parts of regular expressions, English and Russian.

Called by the other modules of the planner. Russian verbs stand as stems, so that imperative and infinitive are one.
"""

from __future__ import annotations

import re
from typing import Final

FIND: Final = r"(?:find|search(?: for)?|look for|look up|locate|grep|най\w+|ищи|иска\w+|поищи|отыщи|разыщи)"
LIST: Final = r"(?:list|enumerate|count|how many|посчита\w+|перечисл\w+|выведи список|дай список|список)"
SHOW: Final = (
    r"(?:show|open|read|display|print|view|cat|see|give me|get|fetch|let me see|"
    r"покаж\w+|показать|открой\w*|открыть|прочитай\w*|прочти|выведи\w*|вывести|дай|глянь|посмотр\w+)"
)
COMPARE: Final = r"(?:compare|diff|contrast|сравни\w*|сопостав\w+)"
SET: Final = (
    r"(?:set|change|update|make|modify|edit|put|switch|bump|raise|increase|lower|reduce|decrease|scale|assign|"
    r"постав\w+|установ\w+|зада[йт]\w*|измен\w+|поменя\w+|смени\w*|сменить|замени\w*|сдела\w+|обнов\w+|увелич\w+|"
    r"уменьш\w+|исправ\w+|выстав\w+|пропи[шс]\w+|переключ\w+|присво\w+|отредактир\w+|подним\w+|поднять|опусти\w*|"
    r"сниз\w+|пониз\w+)"
)
TAKES_BARE_VALUE: Final = re.compile(
    r"(?:set|put|make|assign|scale|постав|установ|зада|сдела|выстав|пропи|присво)", re.IGNORECASE
)
RAISES: Final = re.compile(r"(?:increase|raise|bump|scale up)(?!\w)", re.IGNORECASE)
LOWERS: Final = re.compile(r"(?:lower|reduce|decrease|scale down)(?!\w)", re.IGNORECASE)
# «увеличь на 1» is an amount, «увеличь до 5» a value.
RAISES_RU: Final = re.compile(r"(?:увелич|подним|поднять)", re.IGNORECASE)
LOWERS_RU: Final = re.compile(r"(?:уменьш|сниз|пониз|опусти)", re.IGNORECASE)
REPLACE: Final = r"(?:replace|замени\w*)"
SWITCH_ON: Final = r"(?:enable|turn on|switch on|activate|включ\w+|активир\w+)"
SWITCH_OFF: Final = r"(?:disable|turn off|switch off|deactivate|выключ\w+|отключ\w+|деактивир\w+)"
REMOVE: Final = (
    r"(?:remove|delete|drop|unset|clear|erase|get rid of|удали\w*|убери\w*|убрать|сотри\w*|стереть|очист\w+)"
)
ADD: Final = r"(?:add|append|insert|include|добав\w+|допиши|дописать|вставь|вставить)"
CREATE: Final = r"(?:create|scaffold|созда[йт]\w*|завед\w+|завести)"
VALIDATE: Final = r"(?:validate|check|verify|lint|test|провер\w+|провалидир\w+|валидир\w+)"
PUBLISH: Final = (
    r"(?:publish|apply|save|commit|release|ship|write|опубликуй\w*|опубликовать|публикуй|примени\w*|сохран\w+|"
    r"запиши\w*|записать|закоммит\w*|выложи\w*|внеси)"
)
UNDO: Final = (
    r"(?:undo|revert|discard|roll back|rollback|abandon|throw away|reset|откати\w*|отбрось\w*|отбросить|сбрось\w*|"
    r"сбросить|верни|отмени\w*|отменить)"
)
DESCRIBE: Final = r"(?:describe|summari[sz]e|give (?:me )?an? (?:overview|summary) of|overview of|опиши|обзор)"
VERB: Final = (
    "|".join(
        (FIND, LIST, SHOW, COMPARE, SET, REPLACE, SWITCH_ON, SWITCH_OFF, REMOVE, ADD, CREATE, VALIDATE, PUBLISH, UNDO)
    )
    + "|"
    + DESCRIBE
)
# Commands that this domain has no tool for: better refused than looked up in the documentation.
UNSUPPORTED: Final = re.compile(
    r"(?:deploy|restart|start|stop|run|execute|send|email|e-mail|mail|install|uninstall|upgrade|merge|push|pull|rename|"
    r"move|copy|duplicate|translate|rewrite|download|upload|book|order|buy|call|sort|format|reformat|encrypt|decrypt|"
    r"разверни|задеплой|перезапусти|запусти|останови|выполни|отправь|пошли|установи пакет|слей|переименуй|"
    r"перемести|скопируй|продублируй|переведи|скачай|загрузи|закажи|купи|позвони|отсортируй|зашифруй)(?!\w)",
    re.IGNORECASE,
)
THING: Final = (
    r"(?:the |this |that |my |our |last |latest |current |whole |entire |все |всё |весь |всю |всей |эт\w+ |мо\w+ |"
    r"наш\w* |последн\w+ |текущ\w+ )*"
)
DRAFT_WORD: Final = (
    r"(?:change|changes|draft|drafts|edit|edits|modification|modifications|update|revision|diff|"
    r"изменени[еяй]|правк[уаи]|черновик\w*|дифф?|редакци[юя]|различия)"
)
WORKSPACE_WORD: Final = (
    r"(?:workspace|folder|project|repo|repository|directory|workbench|"
    r"рабоч\w+ област\w+|папк\w+|проект\w*|репозитори\w+|каталог\w*|воркспейс\w*)"
)
LEAD_IN: Final = re.compile(
    r"^(?:(?:please|pls|hi|hello|hey|ok|okay|now|then|so|well|also|just|kindly|and|next(?=,)|finally|afterwards|"
    r"after that|"
    r"(?:could|can|would|will) you(?: please)?|i(?:'d| would) like(?: you)? to|i (?:want|need)(?: you)? to|let'?s|"
    r"let us|"
    r"пожалуйста|привет|здравствуй(?:те)?|добрый день|теперь|затем|потом|тогда|ну|итак|а|и|также|просто|наконец|"
    r"(?:ты |вы )?мож(?:ешь|ете)(?: ли)?(?: ты| вы)?|не мог(?:ли|ла)? бы(?: ты| вы)?|мне (?:нужно|надо)|нужно|надо|"
    rf"(?:ещё|еще)(?=\s+(?:{VERB})(?!\w))|(?:я )?хочу|(?:я )?хотел\w? бы|давай(?:те)?|будь добр\w?|после этого)"
    r"(?![\w'-])[\s,:!—–-]*)+",
    re.IGNORECASE,
)
TRAILER: Final = re.compile(
    r"(?:[\s,]+(?:please|pls|instead|лучше|вместо этого|thanks|thank you|for me|right now|пожалуйста|спасибо|"
    r"плиз))*[\s.!;,]*$",
    re.IGNORECASE,
)
QUESTION_WORD: Final = re.compile(
    r"(?:what|what's|whats|how|why|when|where|who|which|whose|is|are|does|do|did|can|could|should|may|must|will|has|"
    r"have|explain|tell me|что|чего|чем|как|какой|какая|какое|какие|каких|каким|какую|почему|зачем|когда|где|куда|кто|"
    r"сколько|можно ли|нужно ли|надо ли|есть ли|объясни|расскажи|поясни|для чего)(?![\w'-])",
    re.IGNORECASE,
)
ABOUT_DOCUMENTATION: Final = re.compile(
    r"^(?:(?:what|anything|is there anything)\s+)?(?:(?:do|does|did|is|can)\s+)?"
    r"(?:(?:the|our|this)\s+)?(?:docs?|documentation|manual|guide|readme|handbook)\s+"
    r"(?:say|says|tell|tells|mention|mentions|contain|contains|state|have|has)(?:\s+us|\s+me)?"
    r"(?:\s+(?:about|on|regarding|of))?\s+(?P<query>.+)$|"
    r"^(?:what(?:'s| is| does it say)\s+(?:written|said|documented|there|in the (?:docs|documentation)|it say)"
    r"(?:\s+in the (?:docs|documentation))?\s+(?:about|on|regarding)\s+)(?P<query2>.+)$|"
    r"^(?:search|look|check|consult|find)\s+(?:in\s+|through\s+)?(?:the\s+|our\s+)?(?:docs?|documentation|manual)\s+"
    r"(?:for|about|on)\s+(?P<query3>.+)$|"
    r"^(?:is there|are there|do we have)\s+(?:anything|something)\s+(?:in\s+the\s+(?:docs?|documentation)\s+)?"
    r"(?:about|on|regarding)\s+(?P<query10>.+)$|"
    r"^(?:есть ли|есть|найдётся ли|найдется ли)\s+(?:в\s+(?:документации|доках|руководстве)\s+)?"
    r"(?:что-нибудь|что-то|что-либо|информация)\s+(?:про|о|об|обо|по)\s+(?P<query11>.+)$|"
    r"^(?:docs?|documentation)\s+(?:for|about|on)\s+(?P<query4>.+)$|"
    r"^(?:(?:find|look up|search for|show)\s+)(?P<query5>.+?)\s+in\s+(?:the\s+|our\s+)?(?:docs|documentation|manual)$|"
    r"^что\s+(?:(?:в\s+)?(?:документации|доках|руководстве|мануале|инструкции)\s+)?"
    r"(?:написано|сказано|говорит(?:ся)?|пишут|есть)(?:\s+в\s+(?:документации|доках|руководстве))?"
    r"\s+(?:про|о|об|обо|по|насч[её]т)\s+(?P<query6>.+)$|"
    r"^что\s+(?:говорит|сообщает)\s+документация\s+(?:про|о|об|обо|по)\s+(?P<query7>.+)$|"
    r"^(?:поищи|найди|посмотри|глянь|ищи)\s+в\s+(?:документации|доках|руководстве)\s+(?:про\s+|о\s+|об\s+|обо\s+)?"
    r"(?P<query8>.+)$|"
    r"^документация\s+(?:про|о|об|по)\s+(?P<query9>.+)$",
    re.IGNORECASE,
)
GREETING: Final = re.compile(
    r"(?:hi|hello|hey|good (?:morning|day|evening)|привет|здравствуйте?|добрый (?:день|вечер)|доброе утро)[\s!.,]*",
    re.IGNORECASE,
)
THANKS: Final = re.compile(
    r"(?:thanks?(?: you)?(?: (?:very|so) much| a lot)?|спасибо(?: большое)?|благодарю)[\s!.,]*", re.IGNORECASE
)
YES_OR_NO: Final = re.compile(r"(?:yes|yep|yeah|no|nope|да|ага|нет|неа)[\s!.,]*", re.IGNORECASE)
HELP: Final = re.compile(
    r"(?:help(?: me)?|what can (?:you|i) do(?: here)?|how does this work|помощь|помоги|"
    r"что ты (?:умеешь|можешь)(?: делать)?|что вы умеете|справка)[\s?!.]*",
    re.IGNORECASE,
)
CANCEL: Final = re.compile(
    r"(?:never ?mind|forget (?:it|about it|that)|cancel(?: it| that| this| the request)?|stop(?: it)?|abort|leave it|"
    r"don'?t|do not|not now|отмена|отмени(?:ть)?(?: это| вс[её])?|не надо|не нужно|забудь(?: об этом)?|стоп|"
    r"хватит|прекрати|передумал[аи]?|оставь(?: так| как есть)?)[\s!.]*",
    re.IGNORECASE,
)


def words_of(text: str) -> list[str]:
    """The words of a text as it stands between spaces."""
    return text.split()
