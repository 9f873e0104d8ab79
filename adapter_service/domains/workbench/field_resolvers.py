"""Fields and values: which field of a document a text means, and which value (requirements C5, I2). Called by
resolvers.py.

A field's name alone is enough where one field has it; several are offered; a new field is made where its place is said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from adapter_service.domains.workbench import field_names
from adapter_service.domains.workbench.answers import dotted_path, one_line, rendered
from adapter_service.domains.workbench.edits import parse_value
from adapter_service.domains.workbench.errors import WorkbenchError, quoted, some_of
from adapter_service.domains.workbench.noun_phrases import unquoted, without_article
from adapter_service.domains.workbench.workspace_view import OpenWorkspace
from adapter_service.sdk import Candidate, Candidates, Resolution, ResolveContext, Resolved, Resolver, Text, Unresolved

_MOST_FIELDS: Final = 20_000
_MOST_OFFERED: Final = 10
_LARGEST_EXACT: Final = 2**53 - 1
_MISSING: Final = object()
_TRUE: Final = frozenset(["true", "yes", "on", "enabled", "да", "вкл", "включено", "включен", "включена", "истина"])
_FALSE: Final = frozenset(
    ["false", "no", "off", "disabled", "нет", "выкл", "выключено", "выключен", "выключена", "ложь"]
)
# As the planner writes "increase … by 1".
_AMOUNT: Final = re.compile(r"(?P<sign>[+-])= (?P<amount>\d+(?:[.,]\d+)?)")
_FIELD_WORD: Final = re.compile(
    r"^(?:(?:(?:number|count|amount|list|name|value) of(?: the)?|количество|число|список|field|key|property|"
    r"setting|parameter|option|attribute|value of|value|значение|поле|поля|ключ|свойство|параметр|настройк[ауи])\s+)+",
    re.IGNORECASE,
)
_FIELD_WORD_AFTER: Final = re.compile(r"\s+(?:field|key|property|setting|parameter|option|attribute)$", re.IGNORECASE)

_PART_OF: Final = re.compile(r"(?P<part>\S+) (?:of|from|in|у|в|из|для) (?:the )?(?P<whole>\S+)", re.IGNORECASE)


def content_in(context: ResolveContext) -> Any:
    """The content of the document or draft that the call is about; _MISSING where there is none."""
    change = context.values.get("change")
    if isinstance(change, Mapping):
        return change.get("content")
    key = context.values.get("document")
    if not isinstance(context.workspace, OpenWorkspace) or not isinstance(key, str):
        return _MISSING
    try:
        return context.workspace.view.read_document(key)["content"]
    except WorkbenchError:
        return _MISSING


def walk(content: Any, pointer: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every field with its pointer, its own name and its value, the outer ones first."""
    level = [(pointer, content)]
    seen = 0
    while level and seen < _MOST_FIELDS:
        deeper: list[tuple[str, Any]] = []
        for at, value in level:
            items: Iterator[tuple[str, Any]]
            if isinstance(value, dict):
                items = iter((str(key), each) for key, each in value.items())
            elif isinstance(value, list):
                items = iter((str(index), each) for index, each in enumerate(value))
            else:
                continue
            for name, each in items:
                seen += 1
                below = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
                yield below, name, each
                deeper.append((below, each))
        level = deeper


def _pointer_of(said: str) -> str:
    """A path as people write it, as a JSON pointer: "spec.ports[0].port" as /spec/ports/0/port."""
    if said.startswith("/"):
        return said
    parts = re.sub(r"\[(\d+|-\d+)\]", r".\1", said).split(".")
    return "".join("/" + part.strip().replace("~", "~0").replace("/", "~1") for part in parts if part.strip())


def value_at(content: Any, pointer: str) -> Any:
    """The value at a JSON pointer; a value of its own kind, neither object nor list, where there is none."""
    value = content
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and re.fullmatch(r"-?\d+", name) and -len(value) <= int(name) < len(value):
            value = value[int(name)]
        else:
            return _MISSING
    return value


def _plain_name(text: str) -> str:
    said = without_article(unquoted(text))
    return unquoted(_FIELD_WORD_AFTER.sub("", _FIELD_WORD.sub("", without_article(said))))


def _named_like(content: Any, said: str) -> list[tuple[str, Any]]:
    """Fields that the text names: by whole path, by the end of their path, or by their own name; the first kind
    found.
    """
    pointer = _pointer_of(said)
    exact = value_at(content, pointer)
    if exact is not _MISSING and pointer:
        return [(pointer, exact)]
    fields = list(walk(content))
    wanted = [field_names.folded(part) for part in pointer.split("/")[1:]]
    ends = [
        (at, value)
        for at, _, value in fields
        if len(wanted) > 1 and [field_names.folded(part) for part in at.split("/")[1:]][-len(wanted) :] == wanted
    ]
    if ends:
        return ends
    for form in field_names.forms_of(said):
        folded = field_names.folded(form)
        same = [(at, value) for at, name, value in fields if folded and field_names.folded(name) == folded]
        if same:
            return same
    part = _PART_OF.fullmatch(said)
    if part is not None and (inner := _named_like(content, f"{part['whole']} {part['part']}")):
        return inner
    words = said.split()
    if len(words) > 1:  # "admin port": a field port below something called admin
        items = _items_named(content, " ".join(words[:-1]), words[-1])
        if items:
            return items
        tails = _named_like(content, words[-1])
        heads = [field_names.folded(word) for word in words[:-1]]
        return [(at, value) for at, value in tails if all(head in _context_of(content, at) for head in heads)]
    return []


def _items_named(content: Any, name: str, item: str) -> list[tuple[str, Any]]:
    """ "tag web": the item web of a list called tags."""
    wanted = unquoted(item)
    return [
        (f"{at}/{index}", each)
        for at, below, value in walk(content)
        if isinstance(value, list) and field_names.same_name(name, below)
        for index, each in enumerate(value)
        if not isinstance(each, dict | list) and rendered(each) == wanted
    ]


def _context_of(content: Any, pointer: str) -> str:
    """What stands around a field: the names above it and its neighbours' texts, folded."""
    parts = pointer.split("/")[1:]
    siblings = value_at(content, "/".join(["", *parts[:-1]]))
    texts = [str(each) for each in siblings.values() if isinstance(each, str)] if isinstance(siblings, dict) else []
    return " ".join(field_names.folded(part) for part in (*parts[:-1], *texts))


def _offered(found: list[tuple[str, Any]]) -> Resolution:
    if len(found) == 1:
        return Resolved(found[0][0], dotted_path(found[0][0]))
    return Candidates(
        tuple(
            Candidate(at, dotted_path(at), "" if value is _MISSING else one_line(rendered(value)), at)
            for at, value in found[:_MOST_OFFERED]
        )
    )


def resolve_present_field(text: str, context: ResolveContext) -> Resolution:
    """A field that the document has."""
    content, said = content_in(context), _plain_name(text)
    if content is _MISSING or content is None:
        return Resolved(_pointer_of(said), said)  # the tool says what is wrong with the document
    found = _named_like(content, said)
    return _offered(found) if found else _no_such_field(context, content, said)


def _no_such_field(context: ResolveContext, content: Any, said: str, *, hint: Text | None = None) -> Unresolved:
    names = list(dict.fromkeys(name for at, name, _ in walk(content) if not name.isdigit()))
    there = some_of(names)
    hint = hint or Text("", "")
    change = context.values.get("change")
    key = change.get("key") if isinstance(change, Mapping) else context.values.get("document")
    return Unresolved(
        Text(
            f"There is no field {quoted(said)} in {key}; there are: {there}.{hint.en}",
            f"Поля {quoted(said)} в {key} нет; есть: {there}.{hint.ru}",
        )
    )


_FULL_PATH: Final = Text(
    " To make a new field, say its whole path, for example “spec.timeout”.",
    " Чтобы создать новое поле, назовите весь путь, например «spec.timeout».",
)


def resolve_field(text: str, context: ResolveContext) -> Resolution:
    """A field to change: one that is there, or a new one in a place that is there."""
    content, said = content_in(context), _plain_name(text)
    operation = context.values.get("operation", "set")
    if content is _MISSING or content is None:
        return Resolved(_pointer_of(said), said)
    found = _named_like(content, said)
    if operation == "add":
        lists = [(at, value) for at, value in found if isinstance(value, list)]
        if lists:
            return _offered(lists)
        holding = sorted({_list_above(at, content) for at, _ in found} - {""})
        if holding:
            return _offered([(at, value_at(content, at)) for at in holding])
    if found:
        return _offered(found)
    if operation == "remove":
        return _no_such_field(context, content, said)
    return _new_field(context, content, said, operation)


def _list_above(pointer: str, content: Any) -> str:
    """The list whose items have this field: /ports for /ports/0/port; "" where there is none."""
    parent = pointer.rpartition("/")[0].rpartition("/")[0]
    return parent if isinstance(value_at(content, parent), list) and parent else ""


def _new_field(context: ResolveContext, content: Any, said: str, operation: str) -> Resolution:
    pointer = _pointer_of(said)
    parent, _, name = pointer.rpartition("/")
    above = value_at(content, parent)
    if parent and isinstance(above, dict | list):
        return Resolved(pointer, dotted_path(pointer))
    if parent or not re.fullmatch(r"[\w$@-]+", name) or not isinstance(content, dict):
        return _no_such_field(context, content, said, hint=_FULL_PATH)
    if operation == "set":
        return _no_such_field(context, content, said, hint=_FULL_PATH)
    places = ["", *(f"/{key}" for key, value in content.items() if isinstance(value, dict))]
    return _offered([(f"{place}/{name}", _MISSING) for place in places])


def resolve_value(text: str, context: ResolveContext) -> Resolution:
    """A value of the kind that the field has now: a text stays a text, "on" is true for a switch."""
    said = text.strip()
    if not said:
        return Unresolved(Text("A value is needed.", "Нужно значение."), "tool_input_invalid")
    field = context.values.get("field", _last_changed(context))
    change = context.values.get("change")
    content = content_in(context)
    if isinstance(change, Mapping) and not _AMOUNT.fullmatch(said):
        # What a draft holds may be the very mistake that is mended: the kind of the value is the file's.
        content = change.get("base_content")
    now: Any = _MISSING if content is _MISSING or not isinstance(field, str) else value_at(content, field)
    operation = context.values.get("operation", "set")
    switch = field_names.switch_below(now) if operation == "set" else ""
    value = _read(said, now[switch] if switch else now, operation, field)
    single = now is not _MISSING and not isinstance(now, dict | list | None)
    if operation == "add" and isinstance(field, str) and single:
        return _one_value(field, now, value)
    if isinstance(value, str) and unquoted(said) == said and len(value.split()) > 1 and not _is_prose(now):
        return _ends_where(value)
    one = not isinstance(value, dict | list) and not (switch and isinstance(value, bool))
    if one and operation == "set" and now and isinstance(now, dict | list):
        return _would_replace(str(field), now)
    if value is None or not _storable(value):
        return Unresolved(
            Text(
                "That is no value that can be stored: a number within ±(2^53−1), a text, true or false, or JSON.",
                "Такое значение записать нельзя: нужно число в пределах ±(2^53−1), текст, true или false, либо JSON.",
            ),
            "tool_input_invalid",
        )
    return Resolved(value, one_line(rendered(value)))


def _is_prose(now: Any) -> bool:
    """Whether a field takes several words as they stand: it holds several now."""
    return isinstance(now, str) and len(now.split()) > 1


def _one_value(field: str, now: Any, value: Any) -> Unresolved:
    """Something cannot be added to a single value."""
    path, there, wanted = dotted_path(field), one_line(rendered(now)), one_line(rendered(value))
    return Unresolved(
        Text(
            f"{path} is {there}, one value, so nothing can be added to it; say “set {path} to {wanted}” to replace it.",
            f"{path} — это одно значение, {there}, добавить к нему ничего нельзя; чтобы заменить его, скажите "
            f"«поставь {path} {wanted}».",
        ),
        "tool_input_invalid",
    )


def _ends_where(said: str) -> Unresolved:
    """Several words where one value is expected: the last ones may be meant for something else."""
    shown = quoted(said)
    return Unresolved(
        Text(
            f"Is all of {shown} the value? Then say it in quotation marks; otherwise say the value alone.",
            f"Всё ли в {shown} — значение? Если да, скажите его в кавычках, иначе назовите только значение.",
        ),
        "tool_input_invalid",
    )


def _would_replace(field: str, now: dict[str, Any] | list[Any]) -> Unresolved:
    """A single value in place of a whole object or list is hardly meant: it would be lost without a word."""
    path = dotted_path(field)
    if isinstance(now, dict):
        names = some_of([str(name) for name in now])
        return Unresolved(
            Text(
                f"{path} holds several fields ({names}), and a single value would replace them all. Name one of them, "
                f"for example “set {path}.{next(iter(now))} to …”, or give JSON for the whole.",
                f"В {path} несколько полей ({names}), и одно значение заменило бы их все. Назовите одно из них, "
                f"например «поставь {path}.{next(iter(now))} …», или дайте JSON для всего целиком.",
            ),
            "tool_input_invalid",
        )
    return Unresolved(
        Text(
            f"{path} is a list of {len(now)}, and a single value would replace it. Say “add … to {path}” for one more "
            f"item, name one, for example {path}[0], or give the whole list as JSON.",
            f"{path} — список (элементов: {len(now)}), и одно значение заменило бы его. Чтобы добавить элемент, "
            f"скажите «добавь … в {path}», назовите один из них, например {path}[0], или дайте весь список в JSON.",
        ),
        "tool_input_invalid",
    )


def _last_changed(context: ResolveContext) -> str | None:
    """The field that a draft changed last: "no, 4" is meant for it."""
    change = context.values.get("change")
    operations = change.get("operations") if isinstance(change, Mapping) else None
    return _pointer_of(str(operations[-1]["path"])) if operations else None


def _storable(value: Any) -> bool:
    """Whether JSON can hold the value exactly: larger numbers would be rounded by other readers."""
    if isinstance(value, dict):
        return all(_storable(each) for each in value.values())
    if isinstance(value, list):
        return all(_storable(each) for each in value)
    if isinstance(value, int):
        return abs(value) <= _LARGEST_EXACT
    return not isinstance(value, float) or math.isfinite(value)


def _reckoned(now: Any, amount: re.Match[str]) -> Any:
    """The present number with an amount added or taken away; None where there is no number now."""
    if isinstance(now, bool) or not isinstance(now, int | float):
        return None
    number = parse_value(amount["amount"].replace(",", "."))
    return now + number if amount["sign"] == "+" else now - number


def _read(said: str, now: Any, operation: str, field: Any) -> Any:
    bare = unquoted(said)
    if bare != said:
        return bare
    amount = _AMOUNT.fullmatch(said)
    if amount is not None:
        return _reckoned(now, amount)
    value = parse_value(said)
    if isinstance(now, bool) and said.casefold() in _TRUE | _FALSE:
        return said.casefold() in _TRUE
    if isinstance(now, str) and operation == "set" and not isinstance(value, dict | list):
        return said
    if isinstance(now, list) and operation == "set" and isinstance(value, str) and "," in value:
        return [parse_value(part.strip()) for part in value.split(",") if part.strip()]
    if isinstance(now, list) and operation == "add":
        return _item(value, now, field)
    return value


def _item(value: Any, items: list[Any], field: Any) -> Any:
    """A list's new item: where its items are objects, a bare value is the one that the list is named after."""
    objects = [each for each in items if isinstance(each, dict)]
    if isinstance(value, dict) or not objects or not isinstance(field, str):
        return value
    name = field.rpartition("/")[2]
    for key in objects[0]:
        if field_names.same_name(name, str(key)):
            return {key: value}
    return value


FIELD_RESOLVERS: Final[Mapping[str, Resolver]] = {
    "field": resolve_field,
    "present_field": resolve_present_field,
    "value": resolve_value,
}
