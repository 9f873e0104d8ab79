"""What is said about drafts, their validation and their publication (requirements F3, F4, H1). Called by
tools_changes.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from adapter_service.domains.workbench.answers import bounded_diff, local, told_finding
from adapter_service.domains.workbench.naming import named
from adapter_service.domains.workbench.topics import topic_referents
from adapter_service.sdk import EntityCitation, Finding, Referent, Severity

MOST_PREVIEW_CHARACTERS: Final = 60_000


def _diff(result: Mapping[str, Any]) -> str:
    diff = bounded_diff(result["unified_diff"])
    fence = "````" if "```" in diff else "```"
    return f"{fence}diff\n{diff}\n{fence}"


def say_draft(result: Mapping[str, Any], locale: str) -> str:
    """The draft's diff, and that nothing is written yet."""
    name = f"{named(result['key'])} ({result['path']})"
    if not result["unified_diff"]:
        return local(
            locale,
            f"{name}: the draft changes nothing; the file says this already.",
            f"{name}: черновик ничего не меняет, в файле уже так.",
        )
    new = not result["base_sha256"]
    head = (
        local(locale, f"Draft of a new document {name}:", f"Черновик нового документа {name}:")
        if new
        else local(locale, f"Draft for {name}, not written yet:", f"Черновик для {name}, в файл ещё не записан:")
    )
    return f"{head}\n{_diff(result)}"


def say_undone(result: Mapping[str, Any], locale: str) -> str:
    """What is left of the draft."""
    name = named(result["key"])
    if not result["operations"]:
        return local(
            locale,
            f"The draft for {name} is empty again; its file was not touched.",
            f"Черновик для {name} снова пуст; файл не тронут.",
        )
    return local(
        locale,
        f"The last edit of the draft for {name} is taken back; what is left:\n{_diff(result)}",
        f"Последняя правка черновика для {name} снята; осталось:\n{_diff(result)}",
    )


def say_diff(result: Mapping[str, Any], locale: str) -> str:
    """The diff alone."""
    name = f"{named(result['key'])} ({result['path']})"
    if not result["unified_diff"]:
        return local(locale, f"The draft for {name} changes nothing.", f"Черновик для {name} ничего не меняет.")
    if result["published"]:
        return local(locale, f"Published for {name}:", f"Опубликовано для {name}:") + "\n" + _diff(result)
    return local(locale, f"The draft for {name} changes:", f"Черновик для {name} меняет:") + "\n" + _diff(result)


def say_validation(findings: Sequence[Finding], locale: str) -> str:
    """The verdict, with the findings."""
    lines = [
        told_finding({"path": each.path, "message_en": each.message.en, "message_ru": each.message.ru}, locale)
        for each in findings
    ]
    errors = {each.code for each in findings if each.severity is Severity.ERROR}
    if errors == {"no_change"}:
        head = local(locale, "There is nothing to publish:", "Публиковать нечего:")
    elif errors:
        head = local(locale, "The draft is not valid:", "Черновик не прошёл проверку:")
    elif findings:
        head = local(locale, "The draft is valid; remarks:", "Черновик прошёл проверку; замечания:")
    else:
        return local(locale, "The draft is valid.", "Черновик прошёл проверку.")
    return "\n".join([head, *lines[:20]])


def say_published(result: Mapping[str, Any], locale: str) -> str:
    """Which file was written, whose it is, and the hash of what it holds now."""
    name, path, short = named(result["key"]), result["path"], result["sha256"][:12]
    if result.get("uploaded"):  # results of before this was told lack it
        return local(
            locale,
            f"Published: {name} is changed in this conversation's uploaded copy of {path} (sha256 {short}…). Your own "
            f"file is as it was; get the copy with `handrail workspace download CONVERSATION FOLDER`.",
            f"Опубликовано: {name} изменён в загруженной копии этого разговора, {path} (sha256 {short}…). "
            f"Ваш собственный файл прежний; копию можно забрать командой "
            f"`handrail workspace download CONVERSATION FOLDER`.",
        )
    return local(
        locale,
        f"Published: {name} is written to {path} (sha256 {short}…).",
        f"Опубликовано: {name} записан в {path} (sha256 {short}…).",
    )


def preview_change(arguments: Mapping[str, Any], locale: str) -> str:
    """The diff that would be written, for it is what is approved; of a very long one the beginning, and where all
    is.
    """
    change = arguments["change"]
    head, diff = local(locale, f"Write {change['path']}", f"Записать {change['path']}"), change["unified_diff"]
    more = len(diff) - MOST_PREVIEW_CHARACTERS
    rest = local(
        locale,
        f"\n… {more} more characters; DiffArtifact reads all of the artifact's diff.",
        f"\n… ещё символов: {more}; весь диф артефакта читается через DiffArtifact.",
    )
    return f"{head}\n\n{diff[:MOST_PREVIEW_CHARACTERS]}" + (rest if more > 0 else "")


def cite_change(result: Mapping[str, Any]) -> tuple[EntityCitation, ...]:
    """The document."""
    return (EntityCitation(result["type"], result["identity"]),)


def refer_change(result: Mapping[str, Any]) -> tuple[Referent, ...]:
    """The document."""
    return topic_referents([result["key"]])


def view_change(result: Mapping[str, Any]) -> dict[str, Any]:
    """What later context may see of a draft: its document, and the beginning of the diff."""
    return {"names": [named(result["key"])], "path": result["path"], "diff": bounded_diff(result["unified_diff"])}
