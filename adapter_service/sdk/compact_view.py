"""The default of Tool.view and Tool.say: what a later context and an answer show of a result of any size (H1).

Ends, counts and short texts instead of everything. Called by Tool; a domain may call `compact` in a view of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from adapter_service.sdk.artifact import Finding
from adapter_service.sdk.naming import sentence
from adapter_service.sdk.text import Text

MOST_TEXT_CHARACTERS = 400
MOST_MEMBERS = 24
MOST_ITEMS = 6
MOST_DEPTH = 4
MOST_VIEW_CHARACTERS = 4_000
MOST_FINDINGS = 20
MOST_PREVIEW_CHARACTERS = 16_000
_LEFT_OUT = "left_out"


def compact(result: Any) -> Any:
    """A JSON value of at most MOST_VIEW_CHARACTERS: long lists keep their ends and say how many items lie between."""
    for items, characters, depth in ((MOST_ITEMS, MOST_TEXT_CHARACTERS, MOST_DEPTH), (2, 120, 3), (2, 60, 2)):
        view = _shortened(result, items, characters, depth)
        if len(json.dumps(view, ensure_ascii=False, default=str)) <= MOST_VIEW_CHARACTERS:
            return view
    return _shape(result)


def _shortened(value: Any, items: int, characters: int, depth: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= characters else f"{value[: characters - 1]}…"
    if isinstance(value, Mapping):
        if depth == 0:
            return _shape(value)
        kept = list(value.items())[:MOST_MEMBERS]
        view = {str(key): _shortened(member, items, characters, depth - 1) for key, member in kept}
        if len(value) > len(kept):
            view[_LEFT_OUT] = len(value) - len(kept)
        return view
    if isinstance(value, list | tuple):
        if depth == 0:
            return _shape(value)
        if len(value) <= items:
            return [_shortened(item, items, characters, depth - 1) for item in value]
        ends = [*value[: items - 1], value[-1]]
        shown = [_shortened(item, items, characters, depth - 1) for item in ends]
        return [*shown[:-1], {_LEFT_OUT: len(value) - len(ends)}, shown[-1]]
    return value


def _shape(value: Any) -> Any:
    """What is left of a value that is too deep or too large: how much it holds."""
    if isinstance(value, str | list | tuple | Mapping):
        return {_LEFT_OUT: len(value)} if len(value) else value
    return value


_DONE = Text("{title}: done.", "{title}: готово.")
_FINE = Text("{title}: no findings.", "{title}: замечаний нет.")
_NOTHING = Text("{title}: nothing found.", "{title}: ничего не найдено.")
_MORE = Text("… and {count} more", "… и ещё {count}")
_CUT = Text("… (cut; the artifact holds all of it)", "… (сокращено; целиком — в артефакте)")
_BYTES = Text("{count} bytes that are no text", "байт: {count} (не текст)")
_YES = {True: Text("yes", "да"), False: Text("no", "нет")}


def plain_say(title: Text) -> Callable[[Any, str], str]:
    """The default of Tool.say for a tool of that title: a readable rendering of the compact view of its result."""

    def say(result: Any, locale: str) -> str:
        name = title.localized(locale)
        if result is None:
            return _DONE.of(locale, title=name)
        if result == [] or result == {}:
            return _NOTHING.of(locale, title=name)
        view = compact(result)
        if isinstance(view, str):
            return view if view.strip() else _NOTHING.of(locale, title=name)
        if isinstance(view, dict | list):
            return "\n".join([f"{name}:", *_lines(view, locale)])
        return f"{name}: {_scalar(view, locale)}"

    return say


def plain_preview(title: Text) -> Callable[[Mapping[str, Any], str], str]:
    """The default of Tool.preview for a CHANGE or EXTERNAL tool of that title: its whole input, readable.

    Nothing of an input within MOST_PREVIEW_CHARACTERS is left out: it is what a person approves.
    """

    def preview(given: Mapping[str, Any], locale: str) -> str:
        told = "\n".join([title.localized(locale), *_lines(dict(given), locale)])
        if len(told) <= MOST_PREVIEW_CHARACTERS:
            return told
        return f"{told[:MOST_PREVIEW_CHARACTERS]}{_CUT.localized(locale)}"

    return preview


def findings_say(title: Text) -> Callable[[list[Finding], str], str]:
    """The default of Tool.say for a validating tool: its findings, or that there are none."""

    def say(findings: list[Finding], locale: str) -> str:
        if not findings:
            return _FINE.of(locale, title=title.localized(locale))
        lines = [finding.message.localized(locale) for finding in findings[:MOST_FINDINGS]]
        if len(findings) > MOST_FINDINGS:
            lines.append(_MORE.of(locale, count=str(len(findings) - MOST_FINDINGS)))
        return "\n".join(lines)

    return say


def view_findings(findings: list[Finding]) -> list[Finding]:
    """The default of Tool.view for a validating tool: the findings that an answer tells."""
    return findings[:MOST_FINDINGS]


def _lines(view: dict[str, Any] | list[Any], locale: str) -> list[str]:
    if isinstance(view, list):
        return [f"- {inline(item, locale)}" for item in view]
    lines = [f"- {sentence(key)}: {inline(value, locale)}" for key, value in view.items() if key != _LEFT_OUT]
    return [*lines, f"- {_MORE.of(locale, count=str(view[_LEFT_OUT]))}"] if _LEFT_OUT in view else lines


def inline(value: Any, locale: str) -> str:
    """A JSON value on one line, for people."""
    if isinstance(value, dict):
        if value.keys() == {_LEFT_OUT}:
            return _MORE.of(locale, count=str(value[_LEFT_OUT]))
        return ", ".join(f"{sentence(key).lower()} {inline(member, locale)}" for key, member in value.items())
    if isinstance(value, list):
        return "; ".join(inline(item, locale) for item in value) or "–"
    return _scalar(value, locale)


def _told_bytes(data: bytes, locale: str) -> str:
    """The text that an artifact's bytes are, or how many they are; which ones the approval's hash says."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _BYTES.of(locale, count=str(len(data)))


def _scalar(value: Any, locale: str) -> str:
    if isinstance(value, bool):
        return _YES[value].localized(locale)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # what came with a signal is counted in floats
    if isinstance(value, bytes):
        return _told_bytes(value, locale)
    return "–" if value is None or value == "" else str(value)
