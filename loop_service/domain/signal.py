"""External signals and what bounds them. A signal is stored when it comes and consumed once (soundness: mailbox)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

MOST_SIGNAL_CHARACTERS = 128
MOST_PAYLOAD_BYTES = 16_384
MOST_KEPT_SIGNALS = 100
"""Signals that an interaction keeps while it does not wait for them."""

SIGNALING_ROLES = ("signaler", "operator")
"""Any of them lets another caller of the same tenant signal an interaction."""


@dataclass(frozen=True, slots=True)
class KeptSignal:
    """One row of `signals`: it came before the interaction waited for it. `payload` are the bytes of a Struct."""

    interaction_id: str
    name: str
    payload: bytes
    create_time: datetime
