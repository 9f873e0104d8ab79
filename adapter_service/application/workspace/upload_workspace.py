"""`UploadWorkspace`: files one by one, then the manifest that makes a snapshot. Called by the artifact servicer.

What is known is the conversation's own: naming a hash that only another conversation has does not give its content.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from adapter_service.application.ports import Clock, Domains, Ids, Transaction, UnitOfWork
from adapter_service.application.workspace.uploaded import KEPT, take_snapshot
from adapter_service.domain.workspace import MOST_BYTES, MOST_FILES, WorkspaceSource, WorkspaceState, state_sha256
from adapter_service.sdk import WorkspaceFile
from handrail_rpc.digest import canonical_json, sha256_hex
from handrail_rpc.errors import (
    AlreadyExists,
    FailedPrecondition,
    FieldViolation,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
)

MOST_STORED_BYTES = 2 * MOST_BYTES
MOST_STORED = 2 * MOST_FILES
MOST_ANSWER_BYTES = 64 * 1024 * 1024
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class UploadAnswer:
    """After a file its hash; after a manifest the hashes that are missing, or the workspace as it is now."""

    sha256: str = ""
    missing: tuple[str, ...] = ()
    workspace: WorkspaceState | None = None


class UploadWorkspace:
    """The use case; one instance a process."""

    def __init__(self, unit_of_work: UnitOfWork, domains: Domains, *, clock: Clock, ids: Ids) -> None:
        self._unit_of_work = unit_of_work
        self._domains = domains
        self._clock = clock
        self._ids = ids

    async def add_file(self, conversation_id: str, request_id: str, data: bytes) -> UploadAnswer:
        """Keep a file's bytes for a day. Raises NotFound, FailedPrecondition, AlreadyExists, ResourceExhausted."""
        sha256 = sha256_hex(data)

        def add(tx: Transaction, session_id: str, now: datetime) -> UploadAnswer:
            if not tx.workspaces.has_content(session_id, sha256):
                count, size = tx.workspaces.stored(session_id)
                if count >= MOST_STORED or size + len(data) > MOST_STORED_BYTES:
                    raise _full("40,000 workspace files or 400 MiB of them", "what its newest snapshot does not have")
            tx.workspaces.put_content(session_id, sha256, data, now + KEPT)
            return UploadAnswer(sha256=sha256)

        body = sha256_hex(b"file " + sha256.encode())
        return await self._unit_of_work.write(
            lambda tx: self._once(tx, conversation_id, request_id, body, add), name="upload_workspace.add_file"
        )

    async def take_manifest(
        self, conversation_id: str, request_id: str, files: Sequence[WorkspaceFile]
    ) -> UploadAnswer:
        """The missing hashes, or the snapshot of exactly these files, which were checked. Raises as `add_file`, and
        InvalidArgument for a size that is not the content's.
        """
        by_path = {file.path: file for file in files}

        def take(tx: Transaction, session_id: str, now: datetime) -> UploadAnswer:
            known = tx.workspaces.known(session_id)
            missing = tuple(dict.fromkeys(file.sha256 for file in files if file.sha256 not in known))
            if missing:
                if tx.workspaces.answer_bytes(session_id) > MOST_ANSWER_BYTES:
                    raise _full("64 MiB of answers to manifests", "each of them")
                return UploadAnswer(missing=missing)
            _check_sizes(files, known)
            state = take_snapshot(tx, session_id, by_path, sha256, snapshot_id=self._ids("wsp"), now=now)
            return UploadAnswer(workspace=state)

        # Outside the transaction, and in a thread: for 20,000 files it takes a while, in which others go on.
        body = await asyncio.to_thread(_body_sha256, files)
        sha256 = await asyncio.to_thread(state_sha256, by_path)
        return await self._unit_of_work.write(
            lambda tx: self._once(tx, conversation_id, request_id, body, take), name="upload_workspace.take_manifest"
        )

    def _once(
        self,
        tx: Transaction,
        conversation_id: str,
        request_id: str,
        body_sha256: str,
        work: Callable[[Transaction, str, datetime], UploadAnswer],
    ) -> UploadAnswer:
        session_id = session_with_workspace(tx, self._domains, conversation_id)
        known = tx.workspaces.answered(session_id, request_id)
        if known is not None:
            if known[0] != body_sha256:
                raise AlreadyExists("request_id was used before with another body", reason="REQUEST_ID_REUSED")
            return _read_answer(known[1])
        now = self._clock()
        answer = work(tx, session_id, now)
        tx.workspaces.add_answer(session_id, request_id, body_sha256, _answer_bytes(answer), now + KEPT)
        return answer


class DropExpiredUploads:
    """Housekeeping: bytes that no snapshot has had for a day, and answers that nobody repeats any more."""

    def __init__(self, unit_of_work: UnitOfWork, *, clock: Clock, most: int = 200) -> None:
        self._unit_of_work = unit_of_work
        self._clock = clock
        self._most = most

    async def run(self) -> int:
        """How many contents were dropped; in short transactions, so that nobody waits for long."""
        dropped = 0
        while True:
            found = await self._unit_of_work.write(
                lambda tx: tx.workspaces.drop_expired(self._clock(), self._most), name="drop_expired_uploads.drop"
            )
            dropped += found
            if found < self._most:
                return dropped


def session_with_workspace(tx: Transaction, domains: Domains, conversation_id: str) -> str:
    """The session of a conversation whose domain uses workspaces. Raises NotFound, FailedPrecondition saying so."""
    session = tx.sessions.find_by_conversation(conversation_id)
    domain = domains.get(session.domain) if session is not None else None
    if session is None or session.erased or domain is None:
        raise NotFound.of("conversation", conversation_id)
    if domain.workspace is None:
        raise FailedPrecondition.state(
            "WORKSPACE_UNUSED", conversation_id, f"conversations of the domain {domain.name} have no workspace"
        )
    return session.domain_session_id


def _full(what: str, dropped: str) -> ResourceExhausted:
    return ResourceExhausted(
        f"the conversation has {what}, which is the limit; {dropped} is dropped after a day",
        reason="WORKSPACE_STORAGE_FULL",
    )


def _body_sha256(files: Sequence[WorkspaceFile]) -> str:
    return sha256_hex(canonical_json([[file.path, file.sha256, file.size_bytes] for file in files]))


def _check_sizes(files: Sequence[WorkspaceFile], known: Mapping[str, int]) -> None:
    wrong = [
        FieldViolation(f"manifest.files[{index}].size_bytes", f"must be {known[file.sha256]}, the size of that content")
        for index, file in enumerate(files)
        if file.size_bytes != known[file.sha256]
    ]
    if wrong:
        raise InvalidArgument.fields(wrong[:_MOST_NAMED])


def _answer_bytes(answer: UploadAnswer) -> bytes:
    body = asdict(answer)
    if answer.workspace is not None:
        body["workspace"]["create_time"] = answer.workspace.create_time.isoformat()
    return json.dumps(body).encode()


def _read_answer(data: bytes) -> UploadAnswer:
    body = json.loads(data)
    state = body["workspace"]
    if state is not None:
        state = WorkspaceState(
            **{
                **state,
                "source": WorkspaceSource(state["source"]),
                "create_time": datetime.fromisoformat(state["create_time"]),
            }
        )
    return UploadAnswer(body["sha256"], tuple(body["missing"]), state)
