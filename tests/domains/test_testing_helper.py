"""`running_domain`: a domain on the real engine without processes, with assertion messages that say what happened."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import structlog
from pydantic import Field

from adapter_service.domains import workbench
from adapter_service.sdk import ApprovalRule, Domain, Effect, Slot, Text, Tool, Wait, wrap
from adapter_service.testing import running_domain
from handrail_rpc.errors import StartRefused
from tests.fakes.adapter_harness import FakeClock

Size = Literal["small", "large"]


def paint(size: Size, colour: str | None = None) -> dict[str, Any]:
    """Paint something."""
    return {"size": size, "colour": colour}


def hang(painting: dict[str, Any], wall: str) -> str:
    """Hang it."""
    return f"{wall}: {painting['size']}"


def dry(hours: int) -> dict[str, Any]:
    """Wait until it is dry."""
    return {"hours": hours}


def where(position: dict[str, Any]) -> str:
    """Where the painter is."""
    return f"at {position['lat']}"


def spill() -> None:
    """A tool that breaks."""
    raise RuntimeError("the text of an exception")


def pack(fragile: bool, tags: list[str], weight: Annotated[float, Field(gt=0)]) -> dict[str, Any]:
    """Parameters whose types say what is asked for."""
    return {"fragile": fragile, "tags": tags, "weight": weight}


def studio(*more: Tool) -> Domain:
    """A domain that meets every kind of reply."""
    return Domain(
        "studio",
        tools=(
            wrap(paint, Effect.DRAFT, makes="painting", slots={"size": Text("Which size?", "Какой размер?")}),
            wrap(hang, Effect.CHANGE, artifacts="painting", approval=ApprovalRule("curator", timedelta(hours=1))),
            wrap(dry, Effect.READ, waits=lambda _result: Wait(signal="dry", limit=timedelta(hours=9))),
            wrap(where, Effect.READ, slots={"position": Slot(fact="position")}),
            wrap(spill, Effect.READ, roles=("painter",)),
            *more,
        ),
    )


async def test_a_request_is_followed_to_its_answer() -> None:
    async with running_domain(studio()) as session:
        asked = await session.say("paint")
        assert (asked.question, asked.options) == ("Which size?", ("small", "large"))
        painted = await asked.choose("large")
        assert painted.tools == ("paint",)
        assert "Size: large" in painted.answer
        assert [(made.version, made.content["size"]) for made in painted.made] == [(1, "large")]
        waiting = await session.say("hang wall=north")
        assert (waiting.approval.tool, waiting.approval.role) == ("hang", "curator")
        assert waiting.blocks == ("approval_missing",)
        assert "Wall: north" in waiting.approval.preview
        assert (await waiting.say("fine")).kind == "unclear"
        hung = await waiting.approve()
        assert hung.answer == "north: large"


async def test_verdicts_waits_facts_and_failures_have_replies_of_their_own() -> None:
    async with running_domain(studio(), roles=("guest",)) as session:
        await session.say("paint small")
        rejected = await (await session.say("hang north")).reject()
        assert rejected.failure_code == "approval_rejected"
        changed = await (await session.say("hang north")).request_changes("wall=south")
        assert "Wall: south" in changed.approval.preview
        assert (await session.say("cancel")).kind == "canceled"
        waiting = await session.say("dry 3")
        assert waiting.kind == "waiting"
        assert "Hours: 3" in (await waiting.wake({"by": "sun"})).answer
        session.fact("position", {"lat": 52.5}, source="device")
        assert (await session.say("where")).answer == "at 52.5"
        refused = await session.say("spill")
        assert (refused.failure_code, refused.tools) == ("tool_not_permitted", ())
        session.roles = ("painter",)
        broken = await session.say("spill")
        assert broken.failure_code == "tool_failed"
        assert "exception" not in broken.explanation


async def test_another_request_supersedes_what_was_open() -> None:
    async with running_domain(studio()) as session:
        asked = await session.say("paint")
        painted = await asked.say("paint large; paint small")
        assert painted.tools == ("paint", "paint")
        with pytest.raises(AssertionError, match="something was said after this reply"):
            await asked.choose("small")


async def test_a_reply_of_another_kind_says_what_there_was_instead() -> None:
    async with running_domain(studio()) as session:
        asked = await session.say("paint")
        with pytest.raises(AssertionError, match="expected answer, but got question “Which size"):
            assert asked.answer
        with pytest.raises(AssertionError, match="'huge' is not offered; the options are: small, large"):
            await asked.choose("huge")
        with pytest.raises(AssertionError, match="expected approval, but got question"):
            await asked.approve()
        painted = await asked.choose("small")
        with pytest.raises(AssertionError, match="expected question, but got answer “Paint"):
            assert painted.options


async def test_it_speaks_russian() -> None:
    async with running_domain(studio(), locale="ru") as session:
        assert (await session.say("paint")).question == "Какой размер?"


async def test_types_alone_ask_for_their_values_and_read_them() -> None:
    async with running_domain(studio(wrap(pack, Effect.DRAFT, makes="parcel")), locale="ru") as session:
        fragile = await session.say("pack")
        assert (fragile.question, fragile.options) == ("Укажите «fragile»: да или нет.", ("да", "нет"))
        tags = await fragile.choose("да")
        assert tags.question == "Укажите «tags»: список через запятую или JSON."
        weight = await tags.say("red, blue")
        again = await weight.say("-1")
        assert again.question.startswith("Значение «-1» не подходит.")
        assert again.question.endswith("Укажите «weight»: число, например 2.5, больше 0.")
        packed = await again.say("2.5")
        assert packed.made[0].content == {"fragile": True, "tags": ["red", "blue"], "weight": 2.5}


async def test_its_clock_decides_about_expiry() -> None:
    clock = FakeClock()
    async with running_domain(studio(), clock=clock) as session:
        await session.say("paint small")
        waiting = await session.say("hang north")
        clock.advance(timedelta(hours=2))
        renewed = await waiting.approve()
        assert renewed.blocks == ("approval_expired",)
        assert (await renewed.approve()).tools == ("hang",)


async def test_neither_a_port_nor_the_database_of_the_environment_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "real.db"
    monkeypatch.setenv("HANDRAIL_ADAPTER_DATABASE_URL", f"sqlite:///{database}")
    monkeypatch.setenv("HANDRAIL_DATA_DIR", str(tmp_path / "real"))

    def refuse(*_arguments: object) -> None:
        raise AssertionError("a port was opened")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    async with running_domain(studio()) as session:
        assert (await session.say("paint small")).kind == "answer"
    assert os.listdir(tmp_path) == []


async def test_a_wrong_declaration_is_refused_as_by_the_service() -> None:
    with pytest.raises(StartRefused, match="did you mean size"):
        async with running_domain(lambda _environment: studio(wrap(paint, Effect.READ, name="p", slots={"sise": "?"}))):
            raise AssertionError("it was served")


async def test_settings_of_a_domain_are_given_and_not_read_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "given" / "services").mkdir(parents=True)
    (tmp_path / "given" / "services" / "till.yaml").write_text("name: till\nport: 8080\n")
    monkeypatch.setenv("HANDRAIL_WORKBENCH_FOLDER", str(tmp_path / "of-the-environment"))
    settings = {"HANDRAIL_WORKBENCH_FOLDER": str(tmp_path / "given")}
    async with running_domain(workbench.create_domain, settings=settings) as session:
        assert "8080" in (await session.say("show till")).answer


async def test_what_a_domain_breaks_on_is_printed_with_its_line_and_without_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configured = structlog.get_config()
    structlog.reset_defaults()
    try:
        async with running_domain(studio()) as session:
            await session.say("paint large")
            assert capsys.readouterr().out == ""
            await session.say("spill")
        assert not structlog.is_configured()
    finally:
        structlog.configure(**configured)
    told = capsys.readouterr().out
    assert 'raise RuntimeError("the text of an exception")' in told
    assert "locals" not in told
