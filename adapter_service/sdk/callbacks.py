"""Whether what an author declares as a callback can be called as the engine calls it. Called by checks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Callback:
    """An option that holds a function, and the arguments that it gets, in their order."""

    option: str
    arguments: tuple[str, ...] = ("result",)
    optional: bool = False

    def mistakes(self, function: object, label: str = "") -> Iterator[str]:
        """What is wrong with what was declared; `label` where it is not called like the option."""
        named = label or f"{self.option}="
        if function is None and self.optional:
            return
        if not callable(function):
            yield f"{named} must be a function, and {function!r} cannot be called"
            return
        if inspect.iscoroutinefunction(function):
            yield f"{named} must be an ordinary function, without async: it is called between two steps"
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):  # a built-in function that tells nothing of itself
            return
        try:
            signature.bind(*self.arguments)
        except TypeError:
            yield f"{named} must take ({', '.join(self.arguments)}), and takes {signature}"


OF_TOOL = (
    Callback("say", ("result", "locale")),
    Callback("view"),
    Callback("cites"),
    Callback("cites_documentation"),
    Callback("referents"),
    Callback("limitations", ("result", "locale")),
    Callback("waits"),
    Callback("target", ("input",)),
    Callback("base", ("input", "workspace"), optional=True),
    Callback("preview", ("input", "locale"), optional=True),
    Callback("probe", ("input", "context"), optional=True),
)
OF_OUTPUT = (Callback("title"), Callback("content"), Callback("sources"), Callback("data_scope"))
OF_KIND = (
    Callback("diff_form", ("content",), optional=True),
    Callback("base_form", ("content",), optional=True),
)
OF_DOMAIN = (
    Callback("identities", ("text",)),
    Callback("fragments", ("text",)),
    Callback("correct", ("refused_input",), optional=True),
)
OF_WORKSPACE = (
    Callback("prepare", ("workspace",)),
    Callback("documentation_version", ("view",)),
    Callback("holds", ("resolver", "value", "view")),
    Callback("forget", ("workspace_id",)),
)
RESOLVER = Callback("resolvers", ("text", "context"))
SOURCE = Callback("sources", ())
FACT_VALUE = Callback("fact_value", ("fact",), optional=True)
