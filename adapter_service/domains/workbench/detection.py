"""Type, identity and title of a document that no mapping declares: what its content says, then its place and name.

Called by the index for each new or moved file. Only facts of public formats are named here, no project's own names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from .pointers import get

# In this order: what names a thing to machines before what names it to people.
_IDENTITY_KEYS: Final = ("id", "name", "key", "uid", "slug", "identifier", "code", "title")
_TITLE_KEYS: Final = ("title", "displayName", "display_name", "label", "name", "summary")
_NUMBERED: Final = re.compile(r"[-_ .]*\d[\d._-]*$")
_COMPOSE_NAMES: Final = re.compile(r"(docker-)?compose([.-].*)?\.ya?ml")
_LONGEST_IDENTITY: Final = 120


@dataclass(frozen=True, slots=True)
class Detected:
    """`identity_path` is the pointer that the identity was read from, "" for the file's name."""

    type: str
    identity: str
    title: str
    identity_path: str = ""


def detect(path: str, value: Any, document_index: int) -> Detected:
    """Never raises; `value` is None for a text-only document."""
    folder, _, name = path.rpartition("/")
    stem = file_stem(name)
    fallback = stem if document_index == 0 else f"{stem}-{document_index + 1}"
    if isinstance(value, dict):
        for rule in _FORMATS:
            found = rule(path, name, value, fallback)
            if found:
                return found
    kind = folder_type(folder)
    if isinstance(value, dict):
        own_kind = value.get("kind")
        if isinstance(own_kind, str) and re.fullmatch(r"[\w.-]{1,60}", own_kind):
            kind = type_name(own_kind)
        for steps in (*((key,) for key in _IDENTITY_KEYS), ("metadata", "name"), ("metadata", "id")):
            identity = _text_at(value, steps)
            if identity:
                return Detected(kind, identity, title_of(value), "/" + "/".join(steps))
    return Detected(kind, fallback, title_of(value))


def file_stem(name: str) -> str:
    """A file's name without its endings: "a.service.yaml" is "a.service", ".eslintrc.json" is ".eslintrc"."""
    stem = re.sub(r"\.(ya?ml|jsonc?|toml|md|markdown)$", "", name, flags=re.IGNORECASE)
    return stem or name


def folder_type(folder: str) -> str:
    """A type from the folder's name, in the singular ("services" is "service"); "config" at the root."""
    for part in reversed(folder.split("/")):
        part = _NUMBERED.sub("", part.lower()).strip("._")
        if part:
            return singular(part)
    return "config"


def singular(word: str) -> str:
    """An English plural's singular by the usual endings; any other word as it is."""
    for ending, instead, least in (
        ("ies", "y", 5),
        ("sses", "ss", 5),
        ("xes", "x", 4),
        ("ches", "ch", 6),
        ("shes", "sh", 6),
    ):
        if word.endswith(ending) and len(word) >= least:
            return word[: -len(ending)] + instead
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def type_name(kind: str) -> str:
    """A kind as a type's name: lower case, so that a person need not know its capitals."""
    return kind.strip().lower()


def title_of(value: Any) -> str:
    """What a document calls itself for people; "" where it does not."""
    if not isinstance(value, dict):
        return ""
    for source in (value, value.get("info"), value.get("metadata"), value.get("project"), value.get("package")):
        for key in _TITLE_KEYS:
            text = source.get(key) if isinstance(source, dict) else None
            if isinstance(text, str) and text.strip():
                return " ".join(text.split())[:200]
    return ""


def _text_at(value: Any, steps: tuple[str, ...]) -> str:
    try:
        found = get(value, steps)
    except (KeyError, TypeError, IndexError):
        return ""
    return identity_text(found)


def identity_text(found: Any) -> str:
    """A scalar that can name a document, on one line and short; "" for any other value."""
    if isinstance(found, bool) or not isinstance(found, str | int):
        return ""
    text = str(found).strip()
    return text if text and len(text) <= _LONGEST_IDENTITY and "\n" not in text else ""


def _kubernetes(path: str, name: str, value: dict[str, Any], fallback: str) -> Detected | None:
    kind = value.get("kind")
    if not (isinstance(value.get("apiVersion"), str) and isinstance(kind, str) and kind):
        return None
    identity = _text_at(value, ("metadata", "name"))
    return Detected(type_name(kind), identity or fallback, title_of(value), "/metadata/name" if identity else "")


def _schema(path: str, name: str, value: dict[str, Any], fallback: str) -> Detected | None:
    declared = value.get("$schema")
    is_schema = isinstance(declared, str) and "json-schema.org" in declared and "/schema" in declared
    if not is_schema and not name.lower().endswith((".schema.json", ".schema.yaml", ".schema.yml")):
        return None
    return Detected("json-schema", re.sub(r"\.schema$", "", fallback), title_of(value))


def _manifest(path: str, name: str, value: dict[str, Any], fallback: str) -> Detected | None:
    for file_name, kind, steps in _MANIFESTS:
        if name.lower() == file_name.lower():
            identity = next((found for each in steps if (found := _text_at(value, each))), "")
            pointer = next(("/" + "/".join(each) for each in steps if _text_at(value, each)), "")
            folder = path.rpartition("/")[0].rpartition("/")[2]
            return Detected(kind, identity or folder or fallback, title_of(value), pointer)
    return None


_MANIFESTS: Final = (
    ("pyproject.toml", "python-project", (("project", "name"), ("tool", "poetry", "name"))),
    ("package.json", "npm-package", (("name",),)),
    ("Cargo.toml", "cargo-package", (("package", "name"),)),
    ("composer.json", "composer-package", (("name",),)),
    ("Chart.yaml", "helm-chart", (("name",),)),
)


def _workflow(path: str, name: str, value: dict[str, Any], fallback: str) -> Detected | None:
    if "jobs" not in value or not ("/workflows/" in f"/{path}" or "on" in value):
        return None
    identity = _text_at(value, ("name",))
    return Detected("workflow", identity or fallback, identity, "/name" if identity else "")


def _compose(path: str, name: str, value: dict[str, Any], fallback: str) -> Detected | None:
    if not (_COMPOSE_NAMES.fullmatch(name.lower()) and isinstance(value.get("services"), dict)):
        return None
    identity = _text_at(value, ("name",))
    return Detected("compose", identity or fallback, title_of(value), "/name" if identity else "")


def _openapi(path: str, name: str, value: dict[str, Any], fallback: str) -> Detected | None:
    kind = next((key for key in ("openapi", "swagger", "asyncapi") if isinstance(value.get(key), str | float)), "")
    if not kind or not isinstance(value.get("info"), dict):
        return None
    return Detected("openapi" if kind == "swagger" else kind, fallback, title_of(value))


_FORMATS: Final = (_kubernetes, _schema, _manifest, _openapi, _workflow, _compose)
