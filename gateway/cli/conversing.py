"""One turn of a conversation on a terminal: send, print the events as they come, hand back how the run ended.

`chat` and `approve` use it with a person at the keyboard, the demo with a script.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console
from rich.text import Text

from gateway.cli.client import ENDINGS
from gateway.cli.events import event_lines
from handrail.common.v1.fact_pb2 import Fact, Source
from handrail.loop.v1.event_pb2 import ApprovalRequired, Event
from handrail_rpc.digest import NotCanonical, snapshot_digest, snapshot_fields_from_proto


@dataclass(frozen=True, slots=True)
class Turn:
    """The events of one run, in order."""

    events: tuple[Event, ...]

    @property
    def ending(self) -> str:
        """The kind that ended the run ('completed', …); "" if the stream ended without one."""
        for event in reversed(self.events):
            kind = event.WhichOneof("payload") or ""
            if kind in ENDINGS:
                return kind
        return ""

    @property
    def last(self) -> Event:
        """The last event; an empty one if there was none."""
        return self.events[-1] if self.events else Event()

    def of(self, kind: str) -> list[Any]:
        """The payloads of that kind, in order."""
        return [getattr(event, kind) for event in self.events if event.WhichOneof("payload") == kind]

    @property
    def failed(self) -> bool:
        return self.ending in ("failed", "blocked", "")


async def show(
    console: Console,
    events: AsyncGenerator[Event, None],
    lines_of: Callable[[Event], list[Text]] | None = None,
    *,
    verbose: bool = False,
) -> Turn:
    """Print each event as it comes; return them when the stream ends. Raises HandrailError as the stream does.

    What is printed is `lines_of` an event; without it, its event_lines.
    """
    seen: list[Event] = []
    async with aclosing(events):
        async for event in events:
            seen.append(event)
            for line in event_lines(event, verbose=verbose) if lines_of is None else lines_of(event):
                console.print(line)
    return Turn(tuple(seen))


def position_fact(latitude_deg: float, longitude_deg: float, observed_time: Timestamp) -> Fact:
    """The fact `position` of contract.md, as the user entered it; raises ValueError outside the globe."""
    if not (-90 <= latitude_deg <= 90 and -180 <= longitude_deg <= 180):
        raise ValueError("a position is lat,lon in degrees: lat from -90 to 90, lon from -180 to 180")
    value = Struct()
    value.update({"lat": latitude_deg, "lon": longitude_deg})
    return Fact(name="position", value=value, source=Source.SOURCE_USER, scope="session", observed_time=observed_time)


def parse_position(text: str) -> tuple[float, float]:
    """'52.52,13.40' → (52.52, 13.4) in degrees; raises ValueError naming the form for anything else."""
    parts = text.replace(";", ",").split(",")
    try:
        latitude_deg, longitude_deg = (float(part) for part in parts)
    except ValueError:
        raise ValueError("a position is two decimal numbers: lat,lon in degrees, for example 52.52,13.40") from None
    position_fact(latitude_deg, longitude_deg, Timestamp())
    return latitude_deg, longitude_deg


def digest_is_of_what_is_shown(approval: ApprovalRequired) -> bool:
    """Whether the digest to be echoed is that of the snapshot's fields, computed here again (requirement E1)."""
    try:
        return snapshot_digest(snapshot_fields_from_proto(approval.snapshot)) == approval.snapshot_digest
    except NotCanonical:
        return False
