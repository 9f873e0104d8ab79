"""Calls one tool function: builds its arguments from the stored bytes, bounds its time, isolates it (A4, A6).

Called by `execute_tool` after the claim is durable. Synchronous functions run each in a thread of its own.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from adapter_service.application.artifact_content import parse_content, parse_stored
from adapter_service.application.decide.prepare_input import input_arguments
from adapter_service.application.execute.claim import Claimed, unknown_trouble
from adapter_service.application.findings import finding_json
from adapter_service.application.ports import Threads, Transaction, UnitOfWork
from adapter_service.domain import failure_texts as texts
from adapter_service.domain.artifact import ArtifactVersion
from adapter_service.domain.errors import NoThreadFree
from adapter_service.domain.ledger import ExecutionState, Trouble
from adapter_service.domain.session import MOST_ARTIFACT_BYTES
from adapter_service.sdk import NOT_EXECUTED, BaseChanged, Domain, Finding, NotExecuted, Tool, ToolContext, ToolError
from handrail_rpc import crash_points
from handrail_rpc.digest import canonical_json, sha256_hex
from handrail_rpc.logging import get_logger

logger = get_logger(__name__)


class ContentDamaged(Exception):
    """Stored bytes do not have the hash under which they are stored."""


class ToolEnded(Exception):
    """The tool ended without a result: the state to record, and why."""

    def __init__(self, state: ExecutionState, trouble: Trouble) -> None:
        super().__init__(trouble.code)
        self.state = state
        self.trouble = trouble


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
    ValueError for a result without a canonical form.
    """
    if tool.context_parameter:
        arguments = {**arguments, tool.context_parameter: context}
    limit = asyncio.timeout(claimed.call.timeout.total_seconds())
    try:
        async with limit:
            result = await _invoke(tool.function, arguments, threads)
    except BaseChanged as error:
        if claimed.call.effect.needs_approval:
            raise
        raise _broken_off(domain, tool, claimed) from error
    except ToolError as error:
        raise ToolEnded(ExecutionState.FAILED, _reported(error)) from error
    except NoThreadFree as error:
        # Nothing has begun.
        explanation = texts.filled(texts.TOOL_FAILED, title=tool.title)
        trouble = Trouble("tool_failed", explanation, texts.TRY_AGAIN, error.reason.lower(), retryable=True)
        raise ToolEnded(ExecutionState.FAILED, trouble) from error
    except (Exception, SystemExit) as error:
        if limit.expired():
            raise _timed_out(domain, tool, claimed) from error
        # The boundary to a domain's code: its exceptions stay in the log, users get the generic text.
        logger.error("tool failed", tool=tool.name, exc_info=error)
        raise _broken_off(domain, tool, claimed) from error
    return _json_form(tool, result)


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
            result = await threads.run(lambda: _probe(function, arguments, context))
        return result if result is None or result is NOT_EXECUTED else _json_form(tool, result)
    except Exception as error:
        logger.error("probe failed", tool=tool.name, exc_info=error)
        return None


async def _invoke(function: Callable[..., Any], arguments: dict[str, Any], threads: Threads) -> Any:
    if inspect.iscoroutinefunction(function):
        crash_points.reach("adapter.tool.before")
        result = await function(**arguments)
        crash_points.reach("adapter.tool.after")
        return result
    result = await threads.run(lambda: _call(function, arguments))
    return await result if inspect.isawaitable(result) else result


def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    crash_points.reach("adapter.tool.before")
    result = function(**arguments)
    crash_points.reach("adapter.tool.after")
    return result


def _probe(function: Callable[..., Any], arguments: dict[str, Any], context: ToolContext) -> Any:
    crash_points.reach("adapter.probe.before")
    result = function(arguments, context)
    crash_points.reach("adapter.probe.after")
    return result


def _json_form(tool: Tool, result: Any) -> Any:
    """What is stored and what callbacks get. Raises NotCanonical or ValueError for a result without JSON form."""
    try:
        if tool.validates:
            result = [finding_json(item) if isinstance(item, Finding) else item for item in result]
        data = canonical_json(to_jsonable_python(result))
    except (PydanticSerializationError, TypeError) as error:
        raise ValueError("the result has no JSON form") from error
    if len(data) > MOST_ARTIFACT_BYTES:
        raise ValueError(f"the result is larger than {MOST_ARTIFACT_BYTES} bytes")
    return parse_stored(data)


def _reported(error: ToolError) -> Trouble:
    return Trouble(
        code=error.code,
        explanation=error.explanation,
        helpful_action=error.helpful_action,
        source_code=error.source_code,
        correctable=error.correctable,
        retryable=error.retryable,
        slot=error.slot,
    )
