"""Calls one tool function: builds its arguments from the stored bytes, bounds its time, isolates it (A4, A6).

Called by `execute_tool` after the claim is durable. Synchronous functions run each in a thread of its own,
asynchronous ones in an event loop of their domain. There the result gets its JSON form, too: it may be large, or
computed only when it is looked at.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_core import to_jsonable_python

from adapter_service.application.artifact_content import ContentTooLarge, parse_content, parse_stored
from adapter_service.application.decide.prepare_input import input_arguments
from adapter_service.application.execute.claim import Claimed, unknown_trouble
from adapter_service.application.findings import finding_json
from adapter_service.application.ports import Threads, Transaction, UnitOfWork
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.artifact import ArtifactVersion
from adapter_service.domain.errors import NoThreadFree
from adapter_service.domain.ledger import ExecutionState, Trouble
from adapter_service.domain.session import MOST_ARTIFACT_BYTES
from adapter_service.sdk import (
    NOT_EXECUTED,
    BaseChanged,
    Domain,
    Finding,
    NotExecuted,
    Text,
    Tool,
    ToolContext,
    ToolError,
)
from handrail_rpc import crash_points
from handrail_rpc.digest import canonical_json, sha256_hex
from handrail_rpc.logging import get_logger

MOST_EXPLANATION_CHARACTERS = 2000
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")

logger = get_logger(__name__)


class ContentDamaged(Exception):
    """Stored bytes do not have the hash under which they are stored."""


class ToolEnded(Exception):
    """The tool ended without a result: the state to record, and why."""

    def __init__(self, state: ExecutionState, trouble: Trouble) -> None:
        super().__init__(trouble.code)
        self.state = state
        self.trouble = trouble


class ResultBroken(Exception):
    """The tool returned something that has no JSON form or is too large; `error` says which."""

    def __init__(self, error: Exception) -> None:
        super().__init__(type(error).__name__)
        self.error = error


async def load_arguments(unit_of_work: UnitOfWork, tool: Tool, claimed: Claimed) -> dict[str, Any]:
    """The function's arguments from the stored input bytes; artifact contents by their hash, verified again.

    Raises ToolEnded where the bytes do not fit the tool, which can only be damage: they were checked when stored.
    """
    try:
        arguments = input_arguments(claimed.call.input_bytes)
        for name in tool.artifacts:
            named = arguments.get(name)
            if named is None:
                continue
            artifact_id, version, sha256 = named["artifact_id"], named["version"], named["sha256"]
            found, data = await _stored(unit_of_work, artifact_id, version, sha256)
            if found is None or found.sha256 != sha256 or sha256_hex(data) != sha256:
                raise ContentDamaged(f"artifact {artifact_id} version {version}")
            arguments[name] = parse_content(found.media_type, data)
        model = tool.input_model.model_validate(arguments)
    except (ValueError, KeyError, ContentDamaged) as error:  # pydantic's and the parser's own are ValueErrors
        logger.error("stored input does not fit the tool", tool=tool.name, exc_info=error)
        trouble = Trouble("tool_input_invalid", texts.filled(texts.TOOL_INPUT_INVALID, title=tool.title))
        raise ToolEnded(ExecutionState.FAILED, trouble) from error
    return {name: getattr(model, name) for name in model.model_fields_set}


async def _stored(
    unit_of_work: UnitOfWork, artifact_id: str, version: int, sha256: str
) -> tuple[ArtifactVersion | None, bytes]:
    def read(tx: Transaction) -> tuple[ArtifactVersion | None, bytes]:
        return tx.artifacts.find(artifact_id, version), tx.artifacts.content(sha256)

    return await unit_of_work.read(read)


async def call_tool(
    domain: Domain, tool: Tool, claimed: Claimed, arguments: dict[str, Any], context: ToolContext, threads: Threads
) -> Any:
    """The result in JSON form.

    Raises ToolEnded for a failed call, BaseChanged for a change that found another base than the approved one, and
    ResultBroken for a result that cannot be kept.
    """
    if tool.context_parameter:
        arguments = {**arguments, tool.context_parameter: context}
    limit = asyncio.timeout(claimed.call.timeout.total_seconds())
    try:
        async with limit:
            return await _invoke(domain.name, tool, arguments, threads)
    except ResultBroken:
        raise
    except BaseChanged as error:
        if claimed.call.effect.needs_approval:
            raise
        # What it reads is changing under it: another attempt sees the new state.
        explanation = texts.filled(texts.TOOL_FAILED, title=tool.title)
        trouble = Trouble("tool_failed", explanation, texts.TRY_AGAIN, "base_changed", retryable=True)
        raise ToolEnded(ExecutionState.FAILED, trouble) from error
    except ToolError as error:
        raise ToolEnded(ExecutionState.FAILED, _reported(error)) from error
    except NoThreadFree as error:
        # Nothing has begun.
        explanation = texts.filled(texts.TOOL_FAILED, title=tool.title)
        trouble = Trouble("tool_failed", explanation, texts.TRY_AGAIN, error.reason.lower(), retryable=True)
        raise ToolEnded(ExecutionState.FAILED, trouble) from error
    except Exception as error:
        if limit.expired():
            raise _timed_out(domain, tool, claimed) from error
        # The boundary to a domain's code: its exceptions stay in the log, users get the generic text.
        logger.error("tool failed", tool=tool.name, exc_info=error)
        raise _broken_off(domain, tool, claimed) from error


def _broken_off(domain: Domain, tool: Tool, claimed: Claimed) -> ToolEnded:
    """An error that the tool does not report itself, for example a time-out of its own: a change may have happened."""
    if claimed.call.effect.needs_approval:
        return ToolEnded(ExecutionState.UNKNOWN, unknown_trouble(domain, claimed.call, "tool_failed"))
    trouble = Trouble("tool_failed", texts.filled(texts.TOOL_FAILED, title=tool.title))
    return ToolEnded(ExecutionState.FAILED, trouble)


def _timed_out(domain: Domain, tool: Tool, claimed: Claimed) -> ToolEnded:
    """After a claim the thread may still run and write: unknown, never failed (soundness rule timeout_unknown)."""
    if claimed.call.effect.needs_approval:
        return ToolEnded(ExecutionState.UNKNOWN, unknown_trouble(domain, claimed.call, "tool_timeout"))
    explanation = texts.filled(texts.TOOL_TIMEOUT, title=tool.title)
    trouble = Trouble("tool_timeout", explanation, helpful_action=texts.TRY_AGAIN, retryable=True)
    return ToolEnded(ExecutionState.FAILED, trouble)


async def probe(
    tool: Tool, arguments: dict[str, Any], context: ToolContext, threads: Threads, seconds: float
) -> Any | NotExecuted | None:
    """Ask whether the change of an earlier attempt is there: its result, NOT_EXECUTED where it surely is not.

    None where nobody can tell: without a probe, and for one that fails.
    """
    function = tool.probe
    if function is None:
        return None
    try:
        async with asyncio.timeout(seconds):
            return await threads.run(lambda: _probe(tool, function, arguments, context))
    except Exception as error:
        logger.error("probe failed", tool=tool.name, exc_info=error)
        return None


async def _invoke(domain: str, tool: Tool, arguments: dict[str, Any], threads: Threads) -> Any:
    if inspect.iscoroutinefunction(tool.function):
        return await threads.run_async(domain, lambda: _call_async(tool, arguments))
    result = await threads.run(lambda: _call(tool, arguments))
    return await threads.run_async(domain, lambda: _awaited(tool, result)) if inspect.isawaitable(result) else result


async def _call_async(tool: Tool, arguments: dict[str, Any]) -> Any:
    crash_points.reach("adapter.tool.before")
    result = await tool.function(**arguments)
    crash_points.reach("adapter.tool.after")
    return _kept(tool, result)


def _call(tool: Tool, arguments: dict[str, Any]) -> Any:
    crash_points.reach("adapter.tool.before")
    result = tool.function(**arguments)
    crash_points.reach("adapter.tool.after")
    return result if inspect.isawaitable(result) else _kept(tool, result)


async def _awaited(tool: Tool, result: Awaitable[Any]) -> Any:
    return _kept(tool, await result)


def _probe(tool: Tool, function: Callable[..., Any], arguments: dict[str, Any], context: ToolContext) -> Any:
    crash_points.reach("adapter.probe.before")
    result = function(arguments, context)
    crash_points.reach("adapter.probe.after")
    return result if result is None or result is NOT_EXECUTED else _kept(tool, result)


def _kept(tool: Tool, result: Any) -> Any:
    """The JSON form; its errors are told apart from the tool's own, although it may run code of the result's types."""
    try:
        return _json_form(tool, result)
    except Exception as error:
        raise ResultBroken(error) from error


def _json_form(tool: Tool, result: Any) -> Any:
    """What is stored and what callbacks get. Raises ContentTooLarge, and whatever a result without JSON form raises."""
    if tool.validates:
        result = [finding_json(item) if isinstance(item, Finding) else item for item in result]
    # Any bytes have a base64 form, only some a UTF-8 one.
    data = canonical_json(to_jsonable_python(result, bytes_mode="base64"))
    if len(data) > MOST_ARTIFACT_BYTES:
        raise ContentTooLarge(texts.THE_RESULT, len(data), MOST_ARTIFACT_BYTES)
    return parse_stored(data)


def _reported(error: ToolError) -> Trouble:
    """What the tool tells, bounded and in characters that can be stored and sent: no outcome is lost for its words."""
    return Trouble(
        code=error.code if _CODE.fullmatch(error.code) else "tool_failed",
        explanation=_bounded(error.explanation),
        helpful_action=None if error.helpful_action is None else _bounded(error.helpful_action),
        source_code=_plain(error.source_code),
        correctable=error.correctable,
        retryable=error.retryable,
        slot=error.slot,
    )


def _bounded(text: Text) -> Text:
    return Text(_plain(text.en), _plain(text.ru))


def _plain(text: str) -> str:
    return str(text or "")[:MOST_EXPLANATION_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
