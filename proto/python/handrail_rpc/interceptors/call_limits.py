"""How many calls one process serves at once: unary calls and streams apart, so that neither takes the other's room.

`RpcServer` hands them to the boundary, which refuses a call beyond them before its request is read. gRPC's own
`max_concurrent_streams` would let calls queue silently instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from handrail_rpc.errors import ResourceExhausted

_RETRY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class CallLimits:
    """0 is no limit. `exempt` are methods (`package.Service/Method`) that are neither counted nor refused."""

    unary_calls: int = 0
    streams: int = 0
    exempt: frozenset[str] = frozenset()


NO_LIMITS = CallLimits()


class Room:
    """The calls of one kind that are under way, each within a `with`. Used from the event loop's thread only."""

    def __init__(self, kind: str, most: int) -> None:
        self._kind = kind
        self._most = most
        self._taken = 0

    def __enter__(self) -> None:
        """Raises ResourceExhausted (`<KIND>_FULL`) where there is no room."""
        if self._most and self._taken >= self._most:
            raise ResourceExhausted(
                f"this server has {self._most} {self._kind.replace('_', ' ')} open already, which is the limit",
                reason=f"{self._kind.upper()}_FULL",
                retry_after=_RETRY,
                metadata={"limit": str(self._most)},
            )
        self._taken += 1

    def __exit__(self, *_: object) -> None:
        self._taken -= 1
