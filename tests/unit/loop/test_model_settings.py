"""The settings of the workflow model: a wrong one stops the start with its name and form, and is never echoed."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail_rpc.errors import StartRefused
from handrail_rpc.failure_catalogue import CATALOGUE
from handrail_rpc.settings import load_settings
from loop_service.config import LoopSettings

KEY = "sk-a-key"


def load(monkeypatch: pytest.MonkeyPatch, **variables: str) -> LoopSettings:
    for name in ("", "_BASE_URL", "_KEY", "_SECONDS", "_TOKENS"):
        monkeypatch.delenv(f"HANDRAIL_LOOP_MODEL{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(f"HANDRAIL_LOOP_{name}", value)
    return load_settings(LoopSettings)


def test_without_settings_there_is_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch).workflow_model is None


def test_a_model_is_named_with_its_key_and_the_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(monkeypatch, MODEL="some-model", MODEL_KEY=KEY, MODEL_SECONDS="2.5", MODEL_TOKENS="64")
    assert settings.workflow_model_key is not None
    assert settings.workflow_model_key.get_secret_value() == KEY
    assert KEY not in repr(settings) + str(settings) + settings.model_dump_json()
    assert settings.timings().model_seconds == 2.5
    assert settings.workflow_model_tokens == 64


@pytest.mark.parametrize(
    ("name", "value", "form"),
    [
        ("MODEL", "", "1 to 200 characters"),
        ("MODEL", "two words", "without spaces"),
        ("MODEL_KEY", "", "printable characters"),
        ("MODEL_KEY", "sk-\n", "printable characters"),
        ("MODEL_BASE_URL", "http://models.example.org", "https://"),
        ("MODEL_BASE_URL", "https://user:sk-a-key@models.example.org", "without a user"),
        ("MODEL_BASE_URL", "https://models.example.org?key=1", "a query"),
        ("MODEL_BASE_URL", "https://models.example.org:99999", "https://"),
        ("MODEL_BASE_URL", "models.example.org", "https://"),
        ("MODEL_BASE_URL", "", "https://"),
        ("MODEL_SECONDS", "0", "more than 0"),
        ("MODEL_SECONDS", "soon", "more than 0"),
        ("MODEL_TOKENS", "63", "from 64 to 32000"),
        ("MODEL_TOKENS", "32001", "from 64 to 32000"),
    ],
)
def test_a_wrong_setting_is_named_with_its_form(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, form: str
) -> None:
    given = {"MODEL": "some-model", "MODEL_KEY": KEY, name: value}
    with pytest.raises(StartRefused) as refused:
        load(monkeypatch, **given)
    (line,) = str(refused.value).splitlines()[1:]
    assert line.strip().startswith(f"HANDRAIL_LOOP_{name}: must be ")
    assert form in line
    assert KEY not in str(refused.value)


def test_a_model_without_a_key_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StartRefused, match="HANDRAIL_LOOP_MODEL_KEY: must be .*HANDRAIL_LOOP_MODEL is set"):
        load(monkeypatch, MODEL="some-model")


@pytest.mark.parametrize(
    "url", ["https://models.example.org/v9", "http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:9/a"]
)
def test_an_address_in_the_clear_is_this_machine_only(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    assert load(monkeypatch, MODEL_BASE_URL=url).workflow_model_base_url == url


def test_the_documentation_names_every_setting_and_code() -> None:
    told = (Path(__file__).parents[3] / "docs" / "models.md").read_text("utf-8")
    names = [str(each.validation_alias) for each in LoopSettings.model_fields.values()]
    wanted = [f"`{name}`" for name in names if name.startswith("HANDRAIL_LOOP_MODEL")]
    wanted += [f"`{code}`" for code in CATALOGUE if code.startswith("model_")]
    assert len(wanted) > 12
    assert [each for each in wanted if each not in told] == []
