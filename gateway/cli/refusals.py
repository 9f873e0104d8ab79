"""What the command says and returns when something did not work: one readable line, and the exit codes.

Every command goes through `exit_code_of` and `refusal_line`; the codes are part of the command's contract, and
`handrail -h` tells them.
"""

from __future__ import annotations

from rich.text import Text

from gateway.cli.events import one_line
from handrail_rpc.errors import (
    Aborted,
    FailedPrecondition,
    HandrailError,
    InvalidArgument,
    NotFound,
    OutOfRange,
    RemoteFault,
    ResourceExhausted,
    Unavailable,
)
from handrail_rpc.status import code_name

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_UNREACHABLE = 3
EXIT_INTERRUPTED = 130

EXIT_CODES_HELP = (
    "Exit codes: 0 ok, 1 the run failed, was blocked or did not do what was asked, or the server failed, 2 wrong usage "
    "or a refused request, 3 the gateway (or what is behind it) cannot be reached, 130 interrupted, 128 + n ended by "
    "signal n."
)


def exit_code_of(error: HandrailError) -> int:
    """EXIT_UNREACHABLE for what is away, EXIT_FAILED for a fault of the server, else EXIT_REFUSED."""
    if isinstance(error, Unavailable):
        return EXIT_UNREACHABLE
    return EXIT_FAILED if isinstance(error, RemoteFault) else EXIT_REFUSED


def refusal_line(error: HandrailError, address: str = "") -> Text:
    """Code, reason, text, the fields or state named, what helps, the request id, on one line."""
    named: list[str] = []
    if isinstance(error, InvalidArgument):
        named = [f"field {each.field}" for each in error.field_violations]
    elif isinstance(error, FailedPrecondition):
        named = [f"{each.type} of {each.subject}" for each in error.violations]
    if _nobody_answers(error):
        # The transport's own text is about sockets; the address and the command that starts it say more.
        return Text.assemble(
            ("unreachable ", "bold red"),
            (f"{_code(error)}: ", "red"),
            f"nothing answers at {address or 'the address'}",
            (" — start it with `handrail up`, or name another with --address", "yellow"),
        )
    line = Text.assemble(
        ("failed " if isinstance(error, RemoteFault) else "refused ", "bold red"),
        (f"{_code(error)}: ", "red"),
        one_line(error.message) or "no text was given",
    )
    if named:
        line.append(f" ({one_line(', '.join(named))})", "yellow")
    helps = _what_helps(error)
    if helps:
        line.append(f" — {helps}", "yellow")
    request_id = error.metadata.get("request_id", "")
    if request_id:
        line.append(f" [request {one_line(request_id)}]", "dim")
    return line


def _code(error: HandrailError) -> str:
    """Code and reason, once where they are the same word."""
    code = code_name(error)
    return code if error.reason == code else f"{code} {error.reason}"


def _nobody_answers(error: HandrailError) -> bool:
    """The channel's own status: no peer of ours made it, so it carries no request id."""
    return isinstance(error, Unavailable) and error.reason == "PEER_UNAVAILABLE" and not error.metadata


def _what_helps(error: HandrailError) -> str:
    if isinstance(error, Unavailable | ResourceExhausted) and error.retry_after is not None:
        return f"try again in {error.retry_after.total_seconds():g} s"
    if isinstance(error, Unavailable):
        return "" if error.message.endswith("try again") else "try again"
    if isinstance(error, Aborted):
        return "read the current state and try again"
    if isinstance(error, NotFound) and error.reason.startswith("APPROVAL"):
        return "`handrail inbox` lists what is open"
    if isinstance(error, OutOfRange):
        return "use a cursor within the range named"
    return ""
