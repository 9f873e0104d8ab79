"""Domains are found by entry point and by module:attribute; whatever is wrong stops the start with the fix."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapter_service.config import AdapterSettings
from adapter_service.domain_registry import load_domains
from handrail_rpc.errors import StartRefused
from handrail_rpc.settings import load_settings

Write = Callable[[str], str]
HEAD = "from adapter_service.sdk import *\ndef greet(name: str) -> str:\n    return name\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes the text of a module of its own name that can be imported; the name."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def write(text: str) -> str:
        name = f"desk_{len(list(folder.iterdir()))}_{tmp_path.name}"
        (folder / f"{name}.py").write_text(HEAD + text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


def load(tmp_path: Path, *names: str) -> list[str]:
    """The names of the domains that these settings bring."""
    found = load_domains(None, names, tmp_path, lambda: datetime(2030, 1, 1, tzinfo=UTC))
    return list(found)


def refused(tmp_path: Path, *names: str) -> str:
    """Why the start is refused."""
    with pytest.raises(StartRefused) as refusal:
        load(tmp_path, *names)
    text = str(refusal.value)
    assert "Traceback" not in text
    return text


def test_a_domain_or_its_factory_is_found_by_module_and_attribute(tmp_path: Path, module: Write) -> None:
    one = module("DOMAIN = Domain('greeter', tools=(wrap(greet, Effect.READ),))\n")
    two = module(
        "def create(environment):\n"
        "    assert environment.data_dir.is_dir()\n"
        "    return Domain('factory_made', tools=(wrap(greet, Effect.READ),))\n"
    )
    assert load(tmp_path, f"{one}:DOMAIN", f"{two}:create") == ["greeter", "factory_made"]
    assert (tmp_path / "domains" / two).is_dir()


def test_installed_domains_are_found_by_name(tmp_path: Path) -> None:
    assert load(tmp_path, "aviation") == ["aviation"]
    assert "atlantis is not installed; installed are: aviation" in refused(tmp_path, "atlantis")


@pytest.mark.parametrize(
    ("text", "attribute", "said"),
    [
        ("", "create", "has no attribute create; it has: greet"),
        ("number = 3\n", "number", "is neither a Domain nor a function that makes one"),
        ("import no_such_package\n", "create", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("1 / 0\n", "create", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("def create(:\n", "create", "cannot be loaded: SyntaxError"),
        ("def create(e):\n    raise OSError('no\\ndisk')\n", "create", "its factory failed: OSError: no disk ("),
        ("def create(e):\n    return Domain\n", "create", "its factory must return a Domain, and returned type"),
        ("def create():\n    return 1\n", "create", "its factory failed: TypeError: create() takes 0"),
        ("def create(e):\n    return Domain('x')\n", "create", "declared wrongly: desk_0_"),
        ("DOMAIN = Domain('x')\n", "DOMAIN", "tools= must hold at least one Tool"),
    ],
)
def test_what_cannot_be_served_is_refused_with_the_cause_in_one_line(
    tmp_path: Path, module: Write, text: str, attribute: str, said: str
) -> None:
    told = refused(tmp_path, f"{module(text)}:{attribute}")
    assert said in told
    assert "\n" not in told


def test_the_cause_names_the_line_of_the_author(tmp_path: Path, module: Write) -> None:
    name = module("def create(e):\n    return int('one')\n")
    assert f"{name}.py, line 5)" in refused(tmp_path, f"{name}:create")


def test_a_module_that_does_not_exist_is_told_with_where_it_is_looked_for(tmp_path: Path) -> None:
    for name in ("nowhere_desk", "nowhere_desk.domain"):
        told = refused(tmp_path, f"{name}:create")
        assert f"there is no module {name}; it must be installed, or lie in the working directory" in told


def test_all_mistakes_of_all_domains_are_told_at_once(tmp_path: Path, module: Write) -> None:
    broken = "def create(e):\n    return Domain('x', policy_version=0, tools=(wrap(greet, Effect.READ, version=0),))\n"
    names = [f"{module(broken)}:create", f"{module(broken)}:create"]
    lines = refused(tmp_path, *names).splitlines()
    assert lines[0].endswith("4 mistakes:")
    assert [sum(name in line for line in lines[1:]) for name in names] == [2, 2]
    assert "tool greet: version= must be 1 or more" in lines[2]


def test_two_domains_of_one_name_are_refused(tmp_path: Path, module: Write) -> None:
    text = "def create(e):\n    return Domain('x', tools=(wrap(greet, Effect.READ),))\n"
    assert "two domains have the same name x" in refused(tmp_path, f"{module(text)}:create", f"{module(text)}:create")


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("aviation", ("aviation",)),
        ("aviation, desk.domain:create", ("aviation", "desk.domain:create")),
        ("Desk:DOMAIN", ("Desk:DOMAIN",)),
    ],
)
def test_the_setting_takes_names_and_attributes(
    monkeypatch: pytest.MonkeyPatch, value: str, names: tuple[str, ...]
) -> None:
    monkeypatch.setenv("HANDRAIL_ADAPTER_DOMAINS", value)
    assert load_settings(AdapterSettings).domains == names


@pytest.mark.parametrize("value", ["", "a,,b", "Aviation", "a:b:c", "desk:", ":create", "desk/x:create", "a,a"])
def test_a_malformed_setting_is_refused_with_its_form(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HANDRAIL_ADAPTER_DOMAINS", value)
    with pytest.raises(StartRefused, match="HANDRAIL_ADAPTER_DOMAINS.*module:attribute, comma separated"):
        load_settings(AdapterSettings)
