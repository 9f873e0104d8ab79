"""Named points at every boundary of Loop and Adapter where a test lets the process die as by kill -9.

HANDRAIL_CRASH_POINT names them: `name` or `name:n` (the n-th time it is reached), comma separated; or `@/path/to/file`:
the points stand in that file, which is looked at each time one is reached and is used up by the crash (what was
reached is left in `<file>.reached`), so that a test can choose while the process runs and restart it unharmed.

Called by handrail_storage's writer (commits), the Loop's Adapter client (calls), handrail_rpc's boundary (replies) and
the Adapter (tools). Without the variable `reach` is bound to a function that does nothing. The names stand here and
nowhere else; a test holds them against the code, both ways.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable

VARIABLE = "HANDRAIL_CRASH_POINT"

LOOP_UNITS = (
    "adapter_calls.adopt_fence",
    "advance.diverged",
    "advance.failed",
    "advance.give_up",
    "advance.open_session",
    "advance.out_of_time",
    "ask_model.store",
    "cancel_interaction.accept",
    "claim_runs.claim",
    "claim_runs.put_back",
    "claim_runs.renew",
    "claim_runs.void_leases",
    "create_conversation.create",
    "delete_conversation.accept",
    "delete_conversation.cut_log",
    "delete_conversation.erase",
    "delete_conversation.finish",
    "delete_conversation.mark",
    "delete_conversation.put_off",
    "execute_calls.dispatch_again",
    "execute_calls.outcome",
    "execute_calls.progress",
    "fire_timers.fire",
    "lost_histories.mark",
    "recover_conversation.accept",
    "report_channel_failure.store",
    "resolve_approval.accept",
    "send_message.accept",
    "settle_execution.record",
    "signal_interaction.accept",
    "stop_interaction.dispatch",
    "stop_interaction.not_settled",
    "stop_interaction.settled",
    "stop_interaction.without_session",
    "take_decision.put_off",
    "take_decision.store",
    "trim_events.trim",
)
"""Units of work of the Loop, as named at `UnitOfWork.write`."""

ADAPTER_UNITS = (
    "artifact_retention.remove",
    "cancel_interaction.close",
    "decide.replay",
    "decide.store",
    "delete_session.erase",
    "drop_expired_uploads.drop",
    "execute_tool.adopt_fence",
    "execute_tool.claim",
    "execute_tool.recheck",
    "execute_tool.record",
    "open_session.open",
    "publish_upload.store",
    "settle_execution.settle",
    "start.take_possession",
    "upload_workspace.add_file",
    "upload_workspace.take_manifest",
)
"""Units of work of the Adapter."""

LOOP_CALLS = ("cancel_interaction", "decide", "delete_session", "execute_tool", "open_session", "settle_execution")
"""Calls of the Loop to the Adapter that change something."""

LOOP_REPLIES = (
    "cancel_interaction",
    "create_conversation",
    "delete_conversation",
    "query",
    "recover_conversation",
    "report_channel_failure",
    "resolve_approval",
    "send_message",
    "settle_execution",
    "signal_interaction",
    "watch_conversation",
)
"""RPCs whose replies have points of their own (each streamed event, each unary answer); `query`: every other one."""

ADAPTER_REPLIES = (
    "cancel_interaction",
    "decide",
    "delete_session",
    "execute_tool",
    "open_session",
    "query",
    "settle_execution",
)

TOOL_FUNCTIONS = ("probe", "tool")
"""A domain's functions, within their thread."""


def _names() -> tuple[str, ...]:
    units = [f"loop.{unit}" for unit in LOOP_UNITS] + [f"adapter.{unit}" for unit in ADAPTER_UNITS]
    around = [f"loop.call.{method}" for method in LOOP_CALLS]
    around += [f"loop.reply.{method}" for method in LOOP_REPLIES]
    around += [f"adapter.reply.{method}" for method in ADAPTER_REPLIES]
    around += [f"adapter.{function}" for function in TOOL_FUNCTIONS]
    commits = [f"{unit}.{moment}" for unit in units for moment in ("before_commit", "after_commit")]
    return tuple(sorted(commits + [f"{each}.{moment}" for each in around for moment in ("before", "after")]))


POINTS = _names()
"""Every name, sorted."""


def parse(text: str) -> dict[str, int]:
    """`name` or `name:n`, comma separated, as name -> n. Raises ValueError naming what is accepted."""
    wanted: dict[str, int] = {}
    for part in text.split(","):
        name, colon, times = part.strip().partition(":")
        if name not in POINTS or (colon and not (times.isascii() and times.isdigit() and int(times))):
            raise ValueError(
                "must be name or name:n (the n-th time, from 1), comma separated, or @/path/to/file, "
                f"with names of: {', '.join(POINTS)}"
            )
        wanted[name] = int(times) if colon else 1
    return wanted


def reply_point(prefix: str, method: str) -> str:
    """Of the RPC `package.Service/Method` in the process whose replies have `prefix`: its own, or that of queries."""
    words = re.sub(r"(?<!^)(?=[A-Z])", "_", method.rpartition("/")[2]).lower()
    own = f"{prefix}.{words}"
    return own if f"{own}.before" in POINTS else f"{prefix}.query"


def check(text: str) -> str:
    """The setting's text as it is, "" for none. Raises ValueError naming what is accepted."""
    if text and not text.startswith("@"):
        parse(text)
    return text


class _Chosen:
    """Points chosen for the life of the process."""

    def __init__(self, wanted: dict[str, int]) -> None:
        self._wanted = wanted
        self._lock = threading.Lock()

    def reach(self, name: str) -> None:
        with self._lock:
            if name in self._wanted:
                self._wanted[name] -= 1
                if self._wanted[name] == 0:
                    self._die(name)

    def _die(self, name: str) -> None:
        # Unbuffered, as nothing else of this process will be written any more.
        os.write(2, f"crash point {name} reached: this process ends now\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)


class _ChosenInFile(_Chosen):
    """Points that stand in a file for as long as it exists."""

    def __init__(self, path: str) -> None:
        super().__init__({})
        self._path = path
        self._seen: tuple[int, int, int] | None = None

    def reach(self, name: str) -> None:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return
        with self._lock:
            seen = (found.st_ino, found.st_mtime_ns, found.st_size)
            if seen != self._seen:
                try:
                    with open(self._path, encoding="utf-8") as file:
                        self._wanted = parse(file.read())
                except FileNotFoundError:
                    return
                self._seen = seen
        super().reach(name)

    def _die(self, name: str) -> None:
        with open(f"{self._path}.reached", "w", encoding="utf-8") as file:
            file.write(name)
        os.unlink(self._path)
        super()._die(name)


def _nothing(_name: str) -> None:
    """No crash point is chosen."""


def _bound(text: str) -> Callable[[str], None]:
    if text.startswith("@"):
        return _ChosenInFile(text[1:]).reach
    try:
        return _Chosen(parse(text)).reach if text else _nothing
    except ValueError:
        # The settings refuse the start with the accepted form; an import must not.
        return _nothing


reach = _bound(os.environ.get(VARIABLE, ""))
"""Call it at a point; the process may end there."""

chosen = reach is not _nothing
"""Whether any point may end this process."""
