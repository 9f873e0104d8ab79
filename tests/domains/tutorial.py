"""The blocks of docs/tutorial.md, as they are printed. Used by test_tutorial and by the suite of every domain."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path

from adapter_service.sdk import Domain, DomainEnvironment

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")


def block(title: str) -> str:
    """The text of the block with that title."""
    (text,) = re.findall(rf'^```\w+ title="{re.escape(title)}"\n(.*?)^```$', TUTORIAL, re.DOTALL | re.MULTILINE)
    return str(text)


def create_tutorial_domain(folder: Path) -> Callable[[DomainEnvironment], Domain]:
    """The factory of the tutorial's module, which is written into `folder`."""
    path = folder / "incident_desk.py"
    path.write_text(block("incident_desk.py"), "utf-8")
    spec = importlib.util.spec_from_file_location("incident_desk", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    factory: Callable[[DomainEnvironment], Domain] = module.create_domain
    return factory
