"""Finds the domains that this process serves: entry points of the group handrail.domains, and `module:attribute`.

Called by bootstrap. Whatever is wrong with a domain stops the start with one text that says what to mend.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from adapter_service.application.ports import Domains
from adapter_service.sdk import DeclarationError, Domain, DomainEnvironment
from handrail_rpc.errors import StartRefused

GROUP = "handrail.domains"
SETTING = "HANDRAIL_ADAPTER_DOMAINS"

_GIVEN = "given"

DomainFactory = Callable[[DomainEnvironment], Domain]
DomainSource = Domain | DomainFactory


def load_domains(
    sources: Iterable[DomainSource] | None,
    names: tuple[str, ...] | None,
    data_dir: Path,
    clock: Callable[[], datetime],
    environment: Mapping[str, str] = os.environ,
) -> Domains:
    """Domains by name: the given ones, or the installed ones (all, or the named ones).

    Their factories get a folder of their own below `data_dir`, the clock and the environment's settings.
    Raises StartRefused for what is missing or declared wrongly, with every mistake of every domain and its fix.
    """
    make_one = _Maker(data_dir, clock, environment)
    wanted: list[tuple[str, Callable[[], Domain]]]
    if sources is None:
        wanted = [
            (name, partial(_named, name, make_one)) for name in (names if names is not None else sorted(_installed()))
        ]
    else:
        wanted = [(_GIVEN, partial(_given, source, make_one)) for source in sources]
    made: list[Domain] = []
    mistakes: list[str] = []
    for name, make in wanted:
        try:
            made.append(make())
        except DeclarationError as error:
            mistakes += (mistake if name == _GIVEN else f"{name}: {mistake}" for mistake in error.mistakes)
    mistakes += (
        f"two domains have the same name {name}"
        for name, count in Counter(domain.name for domain in made).items()
        if count > 1
    )
    if len(mistakes) == 1:
        raise StartRefused(f"a domain is declared wrongly: {mistakes[0]}")
    if mistakes:
        told = "\n".join(f"  - {mistake}" for mistake in mistakes)
        raise StartRefused(f"domains are declared wrongly; {len(mistakes)} mistakes:\n{told}")
    return {domain.name: domain for domain in made}


def _given(source: DomainSource, make: _Maker) -> Domain:
    return source if isinstance(source, Domain) else make(_GIVEN, source)


def _installed() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _named(name: str, make: _Maker) -> Domain:
    """A domain by its name in the setting. Raises StartRefused where there is none, or its module cannot be loaded."""
    module, colon, attribute = name.partition(":")
    if not colon:
        found = _installed()
        if name not in found:
            raise StartRefused(
                f"{SETTING}: {name} is not installed; installed are: {', '.join(sorted(found)) or 'none'}; a domain "
                "that is not installed is named as module:attribute"
            )
        module, attribute = found[name].module, found[name].attr
    source = _attribute(name, module, attribute)
    if isinstance(source, Domain):
        return source
    if not callable(source):
        raise StartRefused(
            f"{SETTING}: {name} is neither a Domain nor a function that makes one from a DomainEnvironment"
        )
    return make(module.rpartition(".")[2] if colon else name, source)


def _attribute(name: str, module_name: str, attribute: str) -> object:
    try:
        module = importlib.import_module(module_name)
    except DeclarationError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise StartRefused(f"{SETTING}: module {module_name} cannot be loaded: {_cause(error)}") from error
        raise StartRefused(
            f"{SETTING}: {name}: there is no module {module_name}; it must be installed, or lie in the working "
            "directory or a folder of PYTHONPATH"
        ) from error
    except Exception as error:  # a module runs any code of its author
        raise StartRefused(f"{SETTING}: module {module_name} cannot be loaded: {_cause(error)}") from error
    found: object = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise StartRefused(
                f"{SETTING}: {name}: module {module_name} has no attribute {attribute}; {_offered(module)}"
            )
        found = getattr(found, part)
    return found


def _offered(module: object) -> str:
    """What of a module could be meant: its domains, and its own public functions."""
    names = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (
            isinstance(value, Domain)
            or (callable(value) and getattr(value, "__module__", "") == getattr(module, "__name__", ""))
        )
    ]
    return f"it has: {', '.join(names)}" if names else "it has no domain and no function"


@dataclass(frozen=True, slots=True)
class _Maker:
    """Calls factories, each with an environment of its own."""

    data_dir: Path
    clock: Callable[[], datetime]
    settings: Mapping[str, str]

    def __call__(self, name: str, factory: DomainFactory) -> Domain:
        folder = self.data_dir / "domains" / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StartRefused(f"HANDRAIL_DATA_DIR: cannot make the folder {folder}: {error.strerror}") from error
        try:
            domain: object = factory(DomainEnvironment(folder.absolute(), self.clock, dict(self.settings)))
        except (DeclarationError, StartRefused):
            raise
        except Exception as error:  # a factory runs any code of its author
            raise StartRefused(f"domain {name}: its factory failed: {_cause(error)}") from error
        if not isinstance(domain, Domain):
            raise StartRefused(f"domain {name}: its factory must return a Domain, and returned {type(domain).__name__}")
        return domain


def _cause(error: BaseException) -> str:
    """One line: what was raised, with its text, and the last line of the author's code on the way to it."""
    text = " ".join(str(error).split())
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_foreign(frame.filename)]
    place = f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"


_FOREIGN: Sequence[str] = (__file__, importlib.__file__, sys.prefix, sys.base_prefix, "<frozen")


def _is_foreign(filename: str) -> bool:
    return filename.startswith(tuple(_FOREIGN))
