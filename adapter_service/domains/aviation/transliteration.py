"""How well a Russian spelling and a Latin spelling name the same place: an alignment of their letters.

Called by the place matching. A Russian name of a foreign place renders its sound, by the practical transcription of
the language it comes from; the catalogue has the place in its own or in English spelling. So no single
transliteration fits. Instead each Russian letter (or pair) has the Latin spellings it may stand for, each with a
cost, and the cheapest alignment of the two words says how far they are apart. The tables are rules of writing
(English, German, French, Spanish, Portuguese, Italian, Polish, pinyin after Palladius), not names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from os.path import commonprefix
from typing import Final

from rapidfuzz import fuzz, process


def _table(text: str) -> dict[str, tuple[tuple[str, float], ...]]:
    """Parse lines "ж zh 0 j .05": a Russian spelling, then Latin spellings with their costs ("-" = nothing)."""
    table = {}
    for line in text.strip().splitlines():
        russian, *pairs = line.split()
        table[russian] = tuple(
            ("" if latin == "-" else latin, float(cost)) for latin, cost in zip(pairs[::2], pairs[1::2], strict=True)
        )
    return table


# Costs: 0 the plain reading, up to .15 usual in some language, above that possible but weak. A whole wrong
# consonant is 1.
_SPELLINGS: Final = _table(
    """
    а a 0 aa .05 ah .1 ya .2 ai .25 e .35 o .3 u .35 ia .3
    б b 0 bb .05
    в v 0 w .02 vv .05 wh .15 ff .3 f .35 u .3 b .3 gh .5
    г g 0 gg .05 gh .05 gu .1 h .12 gue .1 j .4
    д d 0 dd .05 dh .1 th .35 t .4
    е e 0 ye 0 ie .08 ae .1 ee .15 ai .15 ea .15 oe .1 eh .1 a .3 i .35 ei .2 ey .2 ue .3
    ж zh 0 j .05 g .08 ge .08 z .3 zs .05 r .25 x .2 rz .05
    з z 0 zz .05 s .08 th .3 ds .2 c .2
    и i 0 y .08 ee .1 ie .1 ii .05 iy .1 ea .15 e .15 hi .2 ui .3 ei .15 wi .4 yi .05 j .2
    й y .03 i 0 j .05 - .35 ll .2 e .2
    к k 0 c 0 ck 0 kk .05 cc .05 ch .12 q .05 qu .1 que .1 kh .2 g .35
    л l 0 ll .02 lh .1 lle .1
    м m 0 mm .05
    н n 0 nn .05 gn .15 ng .15 ne .1 mp .5
    о o 0 au .12 ou .15 ow .15 oa .12 oo .15 oh .1 eau .1 eaux .1 aux .1 ault .2 a .2 aw .2 ough .2 oe .2 u .35
    п p 0 pp .05 b .4
    р r 0 rr .05 rh .1 er .2 re .15 wr .1
    с s 0 ss .05 c .25 sc .1 z .12 ce .1 sz .1 x .15 th .25 sh .3 ts .35 tz .2
    т t 0 tt .05 th .05 dt .1 te .1 d .35
    у u 0 ou .05 oo .05 w .1 wu .05 oe .12 ue .15 o .25 uh .1 hu .2
    ф f 0 ff .05 ph 0 v .2 th .3
    х h 0 kh 0 ch .08 j .08 x .1 gh .15 hh .05 g .25 wh .2 q .35
    ц ts 0 c .05 z .03 tz 0 tc .05 cz .1 zz .1 tt .3 s .25
    ч ch 0 tch .02 tsch .02 c .12 cz .08 cs .08 ci .12 tj .1 q .08 tsh .05 cc .15 t .35
    ш sh 0 sch 0 s .15 ch .08 sz .05 x .1 sc .12 che .08 sk .4
    щ shch 0 sch .05 sh .1 szcz .05
    ъ - 0
    ы y 0 i .08 ui .2 yi .1
    ь - 0 y .1 i .15 j .1 e .15
    э e 0 ae .08 eh .05 a .2 ai .15 ea .15 oe .1
    ю yu 0 iu 0 ju .03 u .08 ue .1 ew .12 eu .12 y .2 ou .2 yoo .1
    я ya 0 ia 0 ja .03 a .12 ea .2 ie .3 iya .05 ija .1
    ая aya 0 aia 0 aja .05 a .3
    ий y 0 iy 0 ii .05 i .1 ij .05 yi .05 iyi .1
    ый y 0 yy 0 yi .05 iy .05 i .1 yj .05
    ай ai 0 ay 0 ei .1 i .12 y .12 ey .12 ij .1 igh .12 ie .15 aj .05
    ей ey 0 ei 0 ai .05 ay .05 a .12 ej .05 y .15
    эй ey .02 ei 0 ai .05 ay .03 a .12
    ой oi 0 oy 0 eu .1 oj .05
    уй ui 0 uy 0 wi .1
    йо yo 0 jo .05 io .05
    ье ie .05 ye .02 e .1
    ья ia .02 ya .02 lla .3 a .15
    ьо io .05 yo .02 o .1
    ль l 0 ll 0 le .05 lle .05 les .08 el .15
    лья lla .05 lle .12 lia .02 lya .02 lha .05
    нь n .02 gn .03 gne .05 nh .05 ny .03 ni .1 nne .08
    нья na .1 gna .02 nya .02 nia .02 nha .03
    сь s .02 z .1
    кс x 0 ks 0 cs .05 xe .1
    гз x .05
    кв qu 0 kv 0 kw 0 cu .1 q .2
    гв gu .05 gw 0 gv 0
    ква qua 0 cua .02
    дж j 0 g .05 dzh 0 dj .02 dg .05 gi .08 ge .1 zh .2 dsch .05
    джи gi 0 ji 0 gy .05
    дз z .05 dz 0 zz .05 ds .1
    чж zh 0 z .2
    цз z .05 j .03 zi .1
    цзи ji 0 zi .1
    цзя jia 0
    цзю jiu 0 ju .05
    се se 0 ce .03 sse .05 she .3
    си si 0 xi .02 ci .05 cy .08 sea .2
    пх ph .02
    кх kh .02
    тх th .02
    бх bh .02
    дх dh .02
    ся xia .02 sia .05 sya .02 xa .2
    сю xu .02 xiu .05 su .1
    сян xiang 0 xian .02
    ци qi .02 ci .05 zi .03 tzi .05
    чэн cheng 0 chen .02
    жэ re .02
    уэ we .03 ue .05 uae .1 wa .12
    уа wa .03 ua .02 oa .08 oi .12
    уи wi .03 ui .02 uy .08
    уо wo .03 wa .08 wal .2
    оу ow .05 ou .02 oe .15 o .12
    ау au 0 ou .05 ow .05 ao .03
    ао ao 0
    хуа hua .02 jua .03
    хуэ hue .05 jue .05
    ск sk 0 sc .02 sq .1
    сх sch .05 skh 0
    стл stle .02
    тс ts 0 tz .05
    ция tia .05 cia .03 zia .03 ce .1 tsia .02 tsiya 0 tion .3
    сия cia .05 sia .02 ce .15 tia .1
    зия sia .03 zia .02 esia .2
    цца zza 0 ce .12 cca .1
    уза ouse .1 uza 0
    ия ia .02 iya 0 ija .05 ie .1 y .12 e .25 ea .1
    ин in 0 ing .2 ine .08
    ен en 0 an .12 aine .2 ain .15 ene .1
    ан an 0 en .08 ane .08 ain .2
    он on 0 onne .08 one .08 un .2 ong .12
    ом om 0 um .15 omme .15 ham .3
    эм am .1 em 0 ham .15
    ам am 0 ham .1 um .25
    ун un 0 oun .03 ong .15 oon .05
    иэ ea .05 ie .03
    ель el 0 elle .03 eille .05 eil .08
    рбург rsburg .1 rsbourg .1
    рберг rsberg .1
    нб nb 0 mb .08
    нп np 0 mp .08
    ер er 0 ur .1 ear .15
    нью new .02
    новый new .05
    новая new .05
    северный north .1
    южный south .1
    санкт saint .02
    сент saint .02
    сен saint .08
    бург burg 0 bourg .02 burgh .02 berg .2 boro .3 burgo .15
    берг berg 0 burg .2
    поль pol 0 ple .3 poli .08 polis .2 ples .15
    """
)
# Letters without a reading of their own in names: ё reaches us folded to е, so its readings are е's readings too.
_E_AS_YO: Final = (("yo", 0.1), ("o", 0.2), ("eo", 0.2), ("io", 0.15), ("eu", 0.15), ("oe", 0.12))
_SPELLINGS["е"] = (*_SPELLINGS["е"], *_E_AS_YO)
_LONGEST: Final = max(map(len, _SPELLINGS))
_LONGEST_LATIN: Final = max(len(latin) for readings in _SPELLINGS.values() for latin, _ in readings)
_INFINITE: Final = float("inf")
# How many skeletons besides the equal one are looked at per form, and how like they must be (0..100).
_SHORTLIST: Final = 60
_SKELETON_CUTOFF: Final = 60

_LATIN_VOWELS: Final = frozenset("aeiouy")
_RUSSIAN_VOWELS: Final = frozenset("аеиоуыэюя")
# A Latin letter that stands for no sound, by where it stands; a space or hyphen is free either way.
_SILENT_AT_END: Final = {"e": 0.12, "s": 0.3, "t": 0.3, "h": 0.2, "x": 0.3, "d": 0.5, "p": 0.5, "z": 0.4}
_SILENT_INSIDE: Final = {"h": 0.3, "e": 0.35, " ": 0.08}
_VOWEL_COST: Final = 0.6
_CONSONANT_COST: Final = 1.0


def _insert_cost(latin: str, position: int) -> float:
    """Cost of a Latin letter that no Russian letter accounts for."""
    letter = latin[position]
    at_end = position + 1 == len(latin) or latin[position + 1] == " "
    if at_end and letter in _SILENT_AT_END:
        return _SILENT_AT_END[letter]
    if letter in _SILENT_INSIDE:
        return _SILENT_INSIDE[letter]
    if position and latin[position - 1] == letter:
        return 0.1
    return _VOWEL_COST if letter in _LATIN_VOWELS else _CONSONANT_COST


def _delete_cost(letter: str) -> float:
    if letter == " ":
        return 0.08
    return 0.7 if letter in _RUSSIAN_VOWELS else _CONSONANT_COST


@dataclass(frozen=True, slots=True)
class _LatinName:
    """A folded Latin spelling, prepared: where each of its short pieces ends, and what skipping each letter costs."""

    text: str
    ends: Mapping[str, tuple[int, ...]]
    inserts: tuple[float, ...]


@lru_cache(maxsize=32_768)
def _prepare(latin: str) -> _LatinName:
    ends: dict[str, list[int]] = {"": list(range(len(latin) + 1))}
    for start in range(len(latin)):
        for end in range(start + 1, min(len(latin), start + _LONGEST_LATIN) + 1):
            ends.setdefault(latin[start:end], []).append(end)
    return _LatinName(
        latin,
        {piece: tuple(places) for piece, places in ends.items()},
        tuple(_insert_cost(latin, position) for position in range(len(latin))),
    )


def _next_row(rows: list[list[float]], russian: str, latin: _LatinName) -> list[float]:
    """The alignment costs of `russian` with every beginning of `latin`, from the rows of its own beginnings."""
    height = len(russian)
    if height == 0:
        row = [0.0] + [_INFINITE] * len(latin.text)
    else:
        letter = russian[-1]
        dropped = _delete_cost(letter)
        above = rows[height - 1]
        row = [cost + dropped for cost in above]
        for end in latin.ends.get(letter, ()):  # a Latin letter or a digit in the Russian text stands for itself
            row[end] = min(row[end], above[end - 1])
        for length in range(1, min(height, _LONGEST) + 1):
            before = rows[height - length]
            for spelling, price in _SPELLINGS.get(russian[-length:], ()):
                for end in latin.ends.get(spelling, ()):
                    cost = before[end - len(spelling)] + price
                    if cost < row[end]:
                        row[end] = cost
    for position, skipped in enumerate(latin.inserts):
        cost = row[position] + skipped
        if cost < row[position + 1]:
            row[position + 1] = cost
    return row


def _score(cost: float, russian: str, latin: str) -> float:
    # Per letter of the shorter spelling, so that one wrong consonant weighs less in a long name than in a short one.
    return 100.0 * (1.0 - cost / (min(len(russian), len(latin)) + 1))


def alignment_score(russian: str, latin: str) -> float:
    """0..100: how well two folded spellings read as the same name; 100 = letter by letter by the plain readings."""
    return max(0.0, _best_form({russian: 0.0}, latin, 0.0))


def _best_form(forms: Mapping[str, float], latin: str, cutoff: float) -> float:
    """The best score of any of the forms (each with its price), or -1 where none reaches the cutoff.

    Forms share their beginnings, and so the rows of the alignment; a beginning that already costs too much is left.
    """
    name = _prepare(latin)
    best = -1.0
    rows: list[list[float]] = []
    previous = ""
    dead = ""
    for form in sorted(forms):
        if not form or not latin or (dead and form.startswith(dead)):
            continue
        shared = len(commonprefix((previous, form)))
        del rows[shared + 1 :]
        budget = (1.0 - cutoff / 100.0) * (min(len(form) + 4, len(latin)) + 1)
        dead = ""
        for height in range(len(rows), len(form) + 1):
            rows.append(_next_row(rows, form[:height], name))
            if min(rows[-1]) > budget and (height < 4 or min(min(row) for row in rows[-4:]) > budget):
                dead = form[:height]
                break
        previous = form[: len(rows) - 1]
        if not dead:
            score = _score(rows[-1][-1], form, latin) - forms[form]
            if score >= cutoff:
                best = max(best, score)
    return best


# Classes of consonants that transcriptions confuse; the coarse key keeps only their order.
_COARSE_RUSSIAN: Final = str.maketrans(
    {
        **dict.fromkeys("бпф", "p"),
        "в": "v",
        **dict.fromkeys("гкх", "k"),
        **dict.fromkeys("дт", "t"),
        **dict.fromkeys("жзсцчшщ", "s"),
        "л": "l",
        "м": "m",
        "н": "n",
        "р": "r",
        **dict.fromkeys("аеиоуыэюяйьъё ", ""),
    }
)
_COARSE_LATIN: Final = str.maketrans(
    {
        **dict.fromkeys("bpf", "p"),
        **dict.fromkeys("vw", "v"),
        **dict.fromkeys("gkhqc", "k"),
        **dict.fromkeys("dt", "t"),
        **dict.fromkeys("zsjx", "s"),
        **dict.fromkeys("aeiouy ", ""),
    }
)
_ASPIRATES: Final = re.compile("([птбдк])х")
_DIGRAPHS: Final = (
    ("sch", "s"),
    ("tsch", "s"),
    ("sh", "s"),
    ("zh", "s"),
    ("ch", "s"),
    ("ts", "s"),
    ("tz", "s"),
    ("cz", "s"),
    ("ph", "p"),
    ("th", "t"),
    ("kh", "k"),
    ("gh", "k"),
    ("ce", "s"),
    ("ci", "s"),
    ("cy", "s"),
)


def _squeeze(key: str) -> str:
    """Doubled classes count once."""
    return "".join(char for index, char in enumerate(key) if index == 0 or key[index - 1] != char)


def coarse_russian(folded: str) -> str:
    """The consonant skeleton of a Russian spelling, its first sound kept even if a vowel."""
    # An aspirate is written with an h that has no sound of its own ("Пхукет", "Phuket").
    skeleton = _ASPIRATES.sub(r"\1", folded).translate(_COARSE_RUSSIAN).translate(_COARSE_LATIN)
    return ("a" if folded[:1] in _RUSSIAN_VOWELS else "") + _squeeze(skeleton)


def coarse_latin(folded: str) -> str:
    """The consonant skeleton of a Latin spelling, comparable with coarse_russian."""
    text = folded
    for digraph, replacement in _DIGRAPHS:
        text = text.replace(digraph, replacement)
    return ("a" if folded[:1] in _LATIN_VOWELS else "") + _squeeze(text.translate(_COARSE_LATIN))


class NameIndex:
    """Latin names ready to be searched by Russian spellings: by consonant skeleton first, by alignment then."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_skeleton: dict[str, list[str]] = {}
        for name in sorted(set(names)):
            self._by_skeleton.setdefault(coarse_latin(name), []).append(name)
        self._skeletons = list(self._by_skeleton)

    def search(self, forms: Mapping[str, float], cutoff: float) -> dict[str, float]:
        """The names that align with any of the Russian forms, with their best scores >= cutoff (0..100).

        `forms` are the nominatives that the text may be a case form of, each with the price of that guess. The
        skeleton gives a shortlist (a cheap bound), the alignment decides.
        """
        wanted: set[str] = set()
        for skeleton in {coarse_russian(form) for form in forms}:
            wanted.add(skeleton)
            hits = process.extract(
                skeleton, self._skeletons, scorer=fuzz.ratio, limit=_SHORTLIST, score_cutoff=_SKELETON_CUTOFF
            )
            wanted.update(hit[0] for hit in hits)
        found = {}
        for skeleton in wanted:
            for name in self._by_skeleton.get(skeleton, ()):
                score = _best_form(forms, name, cutoff)
                if score >= cutoff:
                    found[name] = score
        return found
