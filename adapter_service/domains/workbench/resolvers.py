"""From words to documents, types, fields and values of the workspace; several meanings are offered as a closed list
(C5).

Called by the engine for slots that name a resolver here (questions.py). Nothing is guessed: what is only similar is
named in the question instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from adapter_service.domains.workbench import pointing_words, topics
from adapter_service.domains.workbench.answers import dotted_path, one_line, rendered
from adapter_service.domains.workbench.errors import quoted
from adapter_service.domains.workbench.field_resolvers import FIELD_RESOLVERS
from adapter_service.domains.workbench.noun_phrases import read_phrase, unquoted
from adapter_service.domains.workbench.view import View
from adapter_service.domains.workbench.workspace_view import NO_WORKSPACE_HELP, OpenWorkspace
from adapter_service.sdk import (
    Candidate,
    Candidates,
    Resolution,
    ResolveContext,
    Resolved,
    Resolver,
    Text,
    Unresolved,
)

# Scores of View.match_documents: from SURE on a name is the document's, from LIKELY on it is a slip of the pen.
SURE: Final = 95
LIKELY: Final = 80
_LEAD: Final = 8
_MOST_OFFERED: Final = 10
_MOST_NAME_CHARACTERS: Final = 120
_YES: Final = frozenset(
    ["yes", "y", "yep", "sure", "ok", "okay", "да", "ага", "конечно", "давай", "хорошо", "угу", "ок", "true", "please"]
)
_NO: Final = frozenset(["no", "n", "nope", "not", "нет", "не", "неа", "false"])


def _view(context: ResolveContext) -> View | None:
    return context.workspace.view if isinstance(context.workspace, OpenWorkspace) else None


def resolve_document(text: str, context: ResolveContext) -> Resolution:
    """A key, a name, a file's path, "it" or "the second one"."""
    view = _view(context)
    if view is None:
        return Unresolved(NO_WORKSPACE_HELP)
    said = " ".join(text.split())
    if pointing_words.points_back(said):
        return _pointed_at(said, view, context)
    known = view.find(unquoted(said))
    if known is not None:
        return Resolved(known.key, known.key)
    by_path = [each for each in view.documents() if each.path == unquoted(said)]
    if by_path:
        return _offered(view, [each.key for each in by_path])
    return _by_name(said, view)


def _pointed_at(said: str, view: View, context: ResolveContext) -> Resolution:
    keys = [key for key in topics.last_topic(context.memory).keys if view.find(key) is not None]
    number = pointing_words.ordinal_of(said)
    if number is not None:
        index = number - 1 if number > 0 else number
        keys = keys[index : index + 1 or None] if -len(keys) <= index < len(keys) else []
    if not keys:
        return Unresolved(Text("It is not clear which document is meant.", "Неясно, о каком документе речь."))
    return _offered(view, keys)


def _by_name(said: str, view: View) -> Resolution:
    phrase = read_phrase(said, view)
    if not phrase.name:
        of_type = [each.key for each in view.documents() if not phrase.kind or each.type == phrase.kind]
        if len(of_type) <= 20:
            return _offered(view, of_type)
        return Unresolved(
            Text(f"There are {len(of_type)} such documents.", f"Таких документов много: {len(of_type)}."),
        )
    found = view.match_documents(phrase.name, limit=20, type=phrase.kind)
    whole = [] if not phrase.kind else view.match_documents(said, limit=3)
    if whole and whole[0]["score"] >= SURE and (not found or whole[0]["score"] > found[0]["score"]):
        found = whole
    if not found or found[0]["score"] < LIKELY:
        near = [match["key"] for match in (found or view.match_documents(said, limit=3))[:3]]
        hint_en = f" The nearest names are: {', '.join(near)}." if near else ""
        hint_ru = f" Ближайшие названия: {', '.join(near)}." if near else ""
        return Unresolved(
            Text(
                f"There is no document {quoted(phrase.name)} in the workspace.{hint_en}",
                f"В рабочей области нет документа {quoted(phrase.name)}.{hint_ru}",
            )
        )
    best = found[0]["score"]
    equals = [match["key"] for match in found if best - match["score"] < (1 if best >= SURE else _LEAD)]
    return _offered(view, equals)


def _offered(view: View, keys: list[str]) -> Resolution:
    if len(keys) == 1:
        return Resolved(keys[0], keys[0])
    documents = [view.document(key) for key in keys[:_MOST_OFFERED]]
    return Candidates(tuple(Candidate(each.key, each.key, each.path, each.key) for each in documents))


def resolve_type(text: str, context: ResolveContext) -> Resolution:
    """A type of the workspace, in singular or plural."""
    view = _view(context)
    if view is None:
        return Unresolved(NO_WORKSPACE_HELP)
    phrase = read_phrase(text, view)
    if phrase.kind and not phrase.name:
        return Resolved(phrase.kind, phrase.kind)
    found = [(str(name), score) for name, score in view.match_types(unquoted(text), limit=5)]
    if found and found[0][1] >= SURE:
        return Resolved(found[0][0], found[0][0])
    if found and found[0][1] >= LIKELY:
        return Candidates(tuple(Candidate(name, name, "", name) for name, score in found if score >= LIKELY))
    names = ", ".join(each["type"] for each in view.types()[:12])
    return Unresolved(
        Text(
            f"There are no documents of type {quoted(text)}. The types here are: {names or 'none'}.",
            f"Документов вида {quoted(text)} нет. Есть такие: {names or 'никаких'}.",
        )
    )


def resolve_page(text: str, context: ResolveContext) -> Resolution:
    """A documentation file by its path, its name or its title."""
    view = _view(context)
    if view is None:
        return Unresolved(NO_WORKSPACE_HELP)
    pages = pages_named(text, view)
    if len(pages) == 1:
        return Resolved(pages[0], pages[0])
    if pages:
        return Candidates(tuple(Candidate(path, path, "", path) for path in pages[:_MOST_OFFERED]))
    return Unresolved(
        Text(f"There is no documentation file {quoted(text)}.", f"Файла документации {quoted(text)} нет.")
    )


def pages_named(text: str, view: View) -> list[str]:
    """Paths of the documentation files that a text names exactly: by path, file name with or without ending, or
    title.
    """
    wanted = unquoted(text).casefold()
    pages = view.documentation()
    for exact in (
        [page["path"] for page in pages if page["path"].casefold() == wanted],
        [page["path"] for page in pages if page["path"].casefold().rpartition("/")[2] == wanted],
        [page["path"] for page in pages if page["path"].casefold().rpartition("/")[2].rpartition(".")[0] == wanted],
        [page["path"] for page in pages if str(page["title"]).casefold() == wanted],
    ):
        if exact:
            return exact
    return []


def resolve_words(text: str, _context: ResolveContext) -> Resolution:
    """The words themselves."""
    words = " ".join(unquoted(text).split())
    if not words:
        return Unresolved(Text("At least one word is needed.", "Нужно хотя бы одно слово."), "tool_input_invalid")
    return Resolved(words, one_line(words))


def resolve_name(text: str, _context: ResolveContext) -> Resolution:
    """A new document's name: one line without a slash."""
    name = " ".join(unquoted(text).split())
    if not name or "/" in name or "\\" in name or name.startswith(".") or len(name) > _MOST_NAME_CHARACTERS:
        return Unresolved(
            Text(
                f"A name has 1 to {_MOST_NAME_CHARACTERS} characters, without / and \\, and does not begin with a dot.",
                f"Имя — от 1 до {_MOST_NAME_CHARACTERS} символов, без / и \\ и не с точки.",
            ),
            "tool_input_invalid",
        )
    return Resolved(name, name)


def resolve_confirmation(text: str, _context: ResolveContext) -> Resolution:
    """Yes or no."""
    words = {word.strip(".,!").casefold() for word in text.split()}
    if words & _YES and not words & _NO:
        return Resolved(True, "yes")
    if words & _NO:
        return Resolved(False, "no")
    return Unresolved(Text("Please answer yes or no.", "Ответьте, пожалуйста, «да» или «нет»."), "tool_input_invalid")


def resolvers() -> Mapping[str, Resolver]:
    """All of them, by the names that questions.py uses."""
    return {
        "document": resolve_document,
        "document_type": resolve_type,
        "page": resolve_page,
        "words": resolve_words,
        "name": resolve_name,
        "confirmation": resolve_confirmation,
        **FIELD_RESOLVERS,
    }


def holds(resolver: str, value: Any, view: Any) -> bool:
    """Whether a resolved value still names something in the workspace (requirement C10)."""
    if not isinstance(view, OpenWorkspace):
        return False
    if resolver == "document":
        return view.view.find(str(value)) is not None
    if resolver == "document_type":
        return any(each["type"] == value for each in view.view.types())
    if resolver == "page":
        return any(page["path"] == value for page in view.view.documentation())
    return True


CHECKED_RESOLVERS: Final = ("document", "document_type", "page")
__all__ = ["CHECKED_RESOLVERS", "dotted_path", "holds", "rendered", "resolvers"]
