"""`DiffArtifact`: what differs between two versions, or since what a version was drafted from. Called by the servicer.

Computed in a thread, few at a time: comparing may cost seconds, and neither tools nor the event loop wait for it.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import jsonpatch

from adapter_service.application.artifact_content import parse_content
from adapter_service.application.ports import Domains, Threads, Transaction, UnitOfWork
from adapter_service.application.read_artifacts import find_version
from adapter_service.domain.artifact import ArtifactVersion
from adapter_service.domain.unified_diff import UnifiedDiff, unified_diff
from adapter_service.sdk import ArtifactKind, DiffForm
from adapter_service.sdk.artifact import is_json
from handrail_rpc.logging import get_logger

MOST_FORM_BYTES = 2 * 1024 * 1024
MOST_PATCH_BYTES = 1024 * 1024
MOST_PATCH_VALUES = 20_000  # the library's comparison of two lists costs their product at worst
MOST_AT_ONCE = 2
_NOTHING = DiffForm(text="")

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ArtifactDiff:
    """`before` is None where the version is compared with what it was drafted from. `limits` names those exceeded."""

    before: ArtifactVersion | None
    after: ArtifactVersion
    unified: UnifiedDiff
    json_patch: str
    limits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Versions with their bytes, and their kind as the domain declares it, None where it does so no longer."""

    before: ArtifactVersion | None
    before_data: bytes
    after: ArtifactVersion
    after_data: bytes
    kind: ArtifactKind | None


class DiffArtifact:
    """The use case; one instance a process, made within the running event loop."""

    def __init__(self, unit_of_work: UnitOfWork, domains: Domains, threads: Threads) -> None:
        self._unit_of_work = unit_of_work
        self._domains = domains
        self._threads = threads
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    async def run(
        self, conversation_id: str, artifact_id: str, from_version: int, to_version: int, context: int
    ) -> ArtifactDiff:
        """From a version (0: the base of `to`) to another one (0: the newest).

        Raises NotFound, also for another conversation's artifact and for a version that retention removed.
        """

        async def compare() -> ArtifactDiff:
            loaded = await self._unit_of_work.read(
                lambda tx: self._load(tx, conversation_id, artifact_id, from_version, to_version)
            )
            return await self._threads.run(lambda: _compare(loaded, context))

        await self._places.acquire()
        work = asyncio.create_task(compare())
        # A thread goes on when its client is gone: its place is free when it has ended.
        work.add_done_callback(lambda _work: self._places.release())
        return await asyncio.shield(work)

    def _load(
        self, tx: Transaction, conversation_id: str, artifact_id: str, from_version: int, to_version: int
    ) -> _Loaded:
        after = find_version(tx, conversation_id, artifact_id, to_version)
        before = find_version(tx, conversation_id, artifact_id, from_version) if from_version else None
        session = tx.sessions.find(after.domain_session_id)
        domain = self._domains.get(session.domain) if session is not None else None
        kind = next((kind for kind in domain.artifact_kinds if kind.name == after.kind), None) if domain else None
        return _Loaded(
            before,
            tx.artifacts.content(before.sha256) if before is not None else b"",
            after,
            tx.artifacts.content(after.sha256),
            kind,
        )


def _compare(loaded: _Loaded, context: int) -> ArtifactDiff:
    after = _form(loaded.after, loaded.after_data, loaded.kind)
    before = _base(loaded) if loaded.before is None else _form(loaded.before, loaded.before_data, loaded.kind)
    unified = _unified(loaded, before or _NOTHING, after, context)
    patch, patch_limit = _json_patch(before, after)
    return ArtifactDiff(
        loaded.before, loaded.after, unified, patch, tuple(limit for limit in (unified.limit, patch_limit) if limit)
    )


def _form(version: ArtifactVersion, data: bytes, kind: ArtifactKind | None) -> DiffForm:
    """What the kind declares, else indented JSON, else UTF-8 text; without either where the content is neither."""
    content = parse_content(version.media_type, data)
    if kind is not None and kind.diff_form is not None:
        try:
            return kind.diff_form(content)
        except Exception as error:
            # The boundary to a domain's code: the content itself can still be compared.
            logger.error("diff form of a domain failed", kind=version.kind, exc_info=error)
    if is_json(version.media_type):
        return DiffForm(f"{json.dumps(content, ensure_ascii=False, indent=2)}\n", content, version.title)
    try:
        return DiffForm(data.decode("utf-8"), name=version.title)
    except UnicodeDecodeError:
        return DiffForm(None, name=version.title)


def _base(loaded: _Loaded) -> DiffForm | None:
    """What the version was drafted from; None where from nothing."""
    if loaded.kind is None or loaded.kind.base_form is None:
        return None
    try:
        return loaded.kind.base_form(parse_content(loaded.after.media_type, loaded.after_data))
    except Exception as error:
        logger.error("base form of a domain failed", kind=loaded.after.kind, exc_info=error)
        return None


def _unified(loaded: _Loaded, before: DiffForm, after: DiffForm, context: int) -> UnifiedDiff:
    if before.text is None or after.text is None:
        return UnifiedDiff()
    size = max(len(text.encode("utf-8", "surrogatepass")) for text in (before.text, after.text))
    if size > MOST_FORM_BYTES:
        return UnifiedDiff(limit=f"unified_diff: at most {MOST_FORM_BYTES} bytes are compared, here are {size}")
    from_version = f"version {loaded.before.version}" if loaded.before is not None else "base"
    return unified_diff(
        before.text,
        after.text,
        from_name=_head(before.name or after.name, from_version),
        to_name=_head(after.name, f"version {loaded.after.version}"),
        context=context,
    )


def _head(name: str, version: str) -> str:
    """One line of a diff's head: the name, and after a tab, as a date would stand, the version."""
    return f"{' '.join(name.split())}\t{version}"


def _json_patch(before: DiffForm | None, after: DiffForm) -> tuple[str, str]:
    """A patch that makes exactly `after` of `before`, and the limit that it exceeds."""
    if after.document is None or (before is not None and before.document is None):
        return "", ""
    new = _plain(after.document)
    size = max(len(new), len(_plain(before.document)) if before is not None else 0)
    if size > MOST_FORM_BYTES:
        return "", f"json_patch: at most {MOST_FORM_BYTES} bytes are compared, here are {size}"
    values = max(_count(each.document) for each in (before, after) if each is not None)
    if before is not None and values > MOST_PATCH_VALUES:
        return "", f"json_patch: documents of at most {MOST_PATCH_VALUES} values are compared, here are {values}"
    patch = json.dumps(_operations(before, after, new), ensure_ascii=False)
    length = len(patch.encode("utf-8", "surrogatepass"))
    if length > MOST_PATCH_BYTES:
        return "", f"json_patch: at most {MOST_PATCH_BYTES} bytes, it would have {length}"
    return patch, ""


def _operations(before: DiffForm | None, after: DiffForm, new: str) -> list[dict[str, Any]]:
    """The library's where applying them gives exactly `new`; otherwise the whole, which is right in any case."""
    whole = [{"op": "add", "path": "", "value": after.document}]
    if before is None:
        return whole
    try:
        made = jsonpatch.make_patch(before.document, after.document)
        operations: list[dict[str, Any]] = made.patch
        return operations if _plain(made.apply(before.document)) == new else whole
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, RecursionError):
        return whole


def _count(document: object) -> int:
    """Values in a document, lists and objects included."""
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    return 1 + sum(map(_count, inner))


def _plain(document: object) -> str:
    return json.dumps(document, sort_keys=True)
