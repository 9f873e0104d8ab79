"""A domain unlike the shipped ones: async functions, structures, enums, bytes, and a wait for a signal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, IntEnum, IntFlag
from typing import Any

import pytest_asyncio

from adapter_service.sdk import ArtifactOutput, Domain, Effect, Finding, ToolContext, Wait, bytes_of, validator, wrap
from adapter_service.testing import DomainSession, running_domain

INK = bytes(range(256))
"""No text in any encoding that is checked."""


class Finish(Enum):
    MATT = "matt"
    GLOSS = "gloss"


class Weight(IntEnum):
    LIGHT = 80
    HEAVY = 160


class Sides(IntFlag):
    FRONT = 1
    BACK = 2


@dataclass
class Margins:
    top_mm: int
    left_mm: int = 10


@dataclass
class Sheet:
    text: str
    margins: Margins
    finish: Finish = Finish.MATT


@dataclass
class Proof:
    name: str
    data: bytes


async def quote(copies: int, weight: Weight) -> dict[str, Any]:
    """What printing costs."""
    return {"cents": cents_of(copies, weight)}


def cents_of(copies: int, weight: Weight) -> int:
    return copies * weight


def fold(sides: Sides) -> str:
    """Fold a sheet."""
    return f"folded {sides.value}"


def notes() -> str:
    """What the last shift left: nothing."""
    return ""


async def make_proof(sheet: Sheet, finish: Finish) -> Proof:
    """A proof of a sheet."""
    assert isinstance(sheet.margins, Margins)
    return Proof(f"{sheet.text} ({finish.value})", INK)


async def make_plate(name: str) -> bytes:
    """A plate, which is nothing but bytes."""
    return INK + name.encode()


async def check_proof(proof: bytes) -> list[Finding]:
    """A proof has the ink."""
    return [] if proof == INK else [Finding.error("", "There is no ink.", slot="sheet")]


async def rest(hours: int) -> None:
    """Wait; there is nothing to tell."""


async def print_proof(proof: bytes, copies: int, context: ToolContext) -> dict[str, Any]:
    """Print a proof; done when the plotter says so."""
    context.report(50, "sent")
    return {"size": len(proof), "copies": copies}


def print_shop() -> Domain:
    proof = ArtifactOutput("proof", "application/pdf", content=lambda result: bytes_of(result["data"]))
    plotter = Wait(signal="plotter", limit=timedelta(hours=1))
    return Domain(
        name="print_shop",
        tools=(
            wrap(quote, Effect.READ, say="{cents} cents"),
            wrap(fold, Effect.READ),
            wrap(notes, Effect.READ),
            wrap(rest, Effect.READ, waits=lambda _result: Wait(until=timedelta(hours=1))),
            wrap(make_proof, Effect.DRAFT, makes=proof, say="Made {name}."),
            wrap(make_plate, Effect.DRAFT, makes=ArtifactOutput("plate", "application/octet-stream")),
            validator(check_proof, "proof"),
            wrap(print_proof, Effect.EXTERNAL, artifacts="proof", waits=lambda _result: plotter),
        ),
    )


@pytest_asyncio.fixture
async def shop() -> AsyncIterator[DomainSession]:
    async with running_domain(print_shop()) as session:
        yield session


async def test_enums_are_closed_lists_whatever_their_values_are(shop: DomainSession) -> None:
    asked = await shop.say("quote 10")
    assert asked.options == ("light", "heavy")
    assert (await asked.say("heavy")).answer == "1600 cents"
    assert (await shop.say("fold back")).answer == "folded 2"


async def test_a_value_that_could_not_be_read_back_is_asked_for_again(shop: DomainSession) -> None:
    asked = await shop.say("fold 3")
    assert "“3” is not an accepted value" in asked.question
    assert (await asked.choose("front")).answer == "folded 1"


async def test_a_structure_is_asked_for_with_the_names_of_its_members(shop: DomainSession) -> None:
    asked = await shop.say("make proof finish=gloss")
    assert asked.question == (
        "What is “sheet”? A JSON object with text, margins (a JSON object with top_mm and optionally left_mm) "
        "and optionally finish (one of matt, gloss)."
    )
    again = await asked.say('{"text": "Menu", "margins": {"top_mm": "wide"}}')
    assert "is not an accepted value" in again.question
    made = await again.say('{"text": "Menu", "margins": {"top_mm": 5}}')
    assert made.answer == "Made Menu (gloss)."


async def test_any_bytes_are_an_artifact_and_come_back_as_they_were(shop: DomainSession) -> None:
    made = await shop.say('make_proof {"text":"Menu","margins":{"top_mm":5}} gloss')
    assert (made.made[0].title, made.made[0].content) == ("Menu (gloss)", INK)
    waiting = await shop.say("print_proof 3")
    assert "256 bytes that are no text" in waiting.approval.preview
    printing = await waiting.approve()
    assert printing.kind == "waiting"
    done = await printing.wake({"page": 3})
    assert "Size: 256" in done.answer
    assert "page 3," in done.answer


async def test_a_function_that_returns_bytes_makes_them_without_further_words(shop: DomainSession) -> None:
    made = await shop.say("make_plate A")
    assert (made.made[0].title, made.made[0].content) == ("plate", INK + b"A")
    assert made.answer == "Make plate: done."


async def test_a_result_without_any_text_is_an_answer(shop: DomainSession) -> None:
    assert (await shop.say("notes")).answer == "Notes: nothing found."


async def test_a_wait_needs_no_result(shop: DomainSession) -> None:
    waiting = await shop.say("rest 1")
    assert (await waiting.wake()).answer == "Rest: done."
