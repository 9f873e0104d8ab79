"""The console entry of a plain install says what to install, in one line."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from handrail_rpc import command


def test_without_the_extra_one_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = importlib.util.find_spec

    def find(name: str, *rest: Any) -> Any:
        return None if name == "typer" else real(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", find)
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    text = capsys.readouterr().err
    assert "pip install 'handrail[server]'" in text
    assert text.count("\n") == 1
