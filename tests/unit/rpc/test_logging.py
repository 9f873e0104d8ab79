"""Logs are JSON lines on stderr with the bound ids; exceptions are bounded and carry no local values."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any


def _lines(program: str) -> list[dict[str, Any]]:
    """The log lines of a fresh process (logging is configured once a process)."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == ""
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_a_line_carries_the_bound_ids_and_its_own_keys() -> None:
    (inside, outside) = _lines("""
        from handrail_rpc.logging import configure_logging, get_logger, log_context
        logger = get_logger("some.module")
        configure_logging("loop")
        with log_context(conversation_id="cnv_1", run_id="run_1"):
            logger.info("run claimed", epoch=3)
            logger.debug("not shown")
        logger.warning("привет")
    """)
    assert list(inside)[:5] == ["time", "level", "service", "logger", "event"]
    expected = {
        "level": "info",
        "service": "loop",
        "logger": "some.module",
        "event": "run claimed",
        "conversation_id": "cnv_1",
        "run_id": "run_1",
        "epoch": 3,
    }
    assert {key: inside[key] for key in expected} == expected
    assert "run_id" not in outside
    assert outside["event"] == "привет"


def test_an_exception_is_a_bounded_object() -> None:
    (line,) = _lines("""
        from handrail_rpc.logging import configure_logging, get_logger
        configure_logging("loop")
        secret = "local value"
        try:
            raise ValueError("x" * 5000)
        except ValueError as error:
            get_logger("m").error("call failed", exc_info=error)
    """)
    assert line["exception"]["type"] == "builtins.ValueError"
    assert len(line["exception"]["text"]) == 500
    assert "local value" not in json.dumps(line)


def test_other_libraries_are_json_too_from_warning_up() -> None:
    (line,) = _lines("""
        import logging
        from handrail_rpc.logging import configure_logging
        configure_logging("loop", "debug")
        logging.getLogger("library").info("chatter")
        logging.getLogger("library").warning("trouble %s", 7)
    """)
    assert (line["event"], line["logger"], line["service"]) == ("trouble 7", "library", "loop")
