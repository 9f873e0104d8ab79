"""Settings: accepted forms, and a readable refusal that names the variable and never shows its value."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail_rpc.errors import StartRefused
from handrail_rpc.settings import (
    ADDRESS_FORM,
    AdapterTargetsSetting,
    DatabaseUrlSetting,
    ListenAddress,
    ListenAddressSetting,
    Seconds,
    ServiceSettings,
    TargetSetting,
    default_database_url,
    load_settings,
    parse_adapters,
    parse_database_url,
    parse_listen_address,
    parse_target,
    setting,
)


class Settings(ServiceSettings):
    listen: ListenAddressSetting = setting("HANDRAIL_T_LISTEN", "127.0.0.1:50051", form=ADDRESS_FORM)
    peer: TargetSetting = setting("HANDRAIL_T_PEER", "127.0.0.1:50052", form="host:port")
    adapters: AdapterTargetsSetting = setting("HANDRAIL_T_ADAPTERS", "aviation=127.0.0.1:50052", form="d=h:p")
    database: DatabaseUrlSetting = setting("HANDRAIL_T_DATABASE", "sqlite:///x.db", form="sqlite:///…")
    deadline: Seconds = setting("HANDRAIL_T_DEADLINE", 15.0, form="a number of seconds, more than 0")


def test_defaults_are_parsed_too() -> None:
    settings = load_settings(Settings)
    assert settings.listen == ListenAddress("127.0.0.1", 50051)
    assert settings.adapters == {"aviation": "127.0.0.1:50052"}


def test_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_T_LISTEN", "[::1]:7")
    monkeypatch.setenv("HANDRAIL_T_ADAPTERS", "aviation=localhost:1, workbench=[::1]:2")
    monkeypatch.setenv("HANDRAIL_T_DEADLINE", "2.5")
    settings = load_settings(Settings)
    assert settings.listen.target == "[::1]:7"
    assert settings.adapters == {"aviation": "localhost:1", "workbench": "[::1]:2"}
    assert settings.deadline == 2.5


def test_every_wrong_variable_is_named_with_its_form_and_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {
        "HANDRAIL_T_LISTEN": "s3cret",
        "HANDRAIL_T_PEER": "s3cret:0",
        "HANDRAIL_T_ADAPTERS": "s3cret",
        "HANDRAIL_T_DATABASE": "postgresql://u:s3cret@h/db",
        "HANDRAIL_T_DEADLINE": "s3cret",
    }
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(StartRefused) as refused:
        load_settings(Settings)
    text = str(refused.value)
    assert refused.value.exit_code == 2
    assert "s3cret" not in text
    lines = text.splitlines()[1:]
    assert [line.split(":")[0].strip() for line in lines] == list(wrong)
    assert all("must be " in line for line in lines)


@pytest.mark.parametrize(
    "text", ["", "localhost", ":1", "h:", "h:65536", "h:-1", "h:١", "[::1]", "::1:5", "[x]:1", "a b:1", "h:1:2", "-h:1"]
)
def test_addresses_of_another_form(text: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        parse_listen_address(text)
    with pytest.raises(ValueError, match="host:port"):
        parse_target(text)


@pytest.mark.parametrize(
    "text", ["", "aviation", "=h:1", "a=h", "A=h:1", "a=h:1,,", "a=h:1,a=h:2", "a=h:1;b=h:2", "a=h:0"]
)
def test_adapters_of_another_form(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        parse_adapters(text)


@pytest.mark.parametrize("text", ["", "x.db", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///x?y=1"])
def test_database_urls_of_another_form(text: str) -> None:
    with pytest.raises(ValueError, match="sqlite"):
        parse_database_url(text)


def test_the_default_database_is_absolute_and_accepted(tmp_path: Path) -> None:
    url = default_database_url(tmp_path / "data", "loop")
    assert parse_database_url(url) == f"sqlite:///{tmp_path}/data/loop.db"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert ListenAddress(host, 1).is_loopback is loopback
