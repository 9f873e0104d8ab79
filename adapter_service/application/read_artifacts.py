"""Artifact use cases: get, list, read. Called by the artifact servicer; a wrong conversation is NOT_FOUND."""

from __future__ import annotations

import re

from adapter_service.application.ports import Transaction, UnitOfWork
from adapter_service.domain.artifact import ArtifactVersion
from handrail_rpc.errors import InvalidArgument, NotFound, OutOfRange

CHUNK_BYTES = 64 * 1024
_TOKEN = re.compile(r"a([0-9]{1,18})")


class ReadArtifacts:
    """The use cases; one instance a process."""

    def __init__(self, unit_of_work: UnitOfWork) -> None:
        self._unit_of_work = unit_of_work

    async def get(self, conversation_id: str, artifact_id: str, version: int) -> ArtifactVersion:
        """One version, the newest for 0. Raises NotFound, also for another conversation's artifact."""
        return await self._unit_of_work.read(lambda tx: _get(tx, conversation_id, artifact_id, version))

    async def list(self, conversation_id: str, page_size: int, page_token: str) -> tuple[list[ArtifactVersion], str]:
        """A page of newest versions, newest artifact first, and the next page's token.

        Raises InvalidArgument for a token that no page has returned.
        """
        before = None
        if page_token:
            match = _TOKEN.fullmatch(page_token)
            if match is None:
                raise InvalidArgument.field("page_token", "must be the next_page_token of an earlier page")
            before = int(match.group(1))
        rows = await self._unit_of_work.read(lambda tx: tx.artifacts.page(conversation_id, before, page_size + 1))
        token = f"a{rows[page_size - 1][0]}" if len(rows) > page_size else ""
        return [version for _, version in rows[:page_size]], token

    async def content(
        self, conversation_id: str, artifact_id: str, version: int, offset: int
    ) -> tuple[ArtifactVersion, bytes]:
        """A version and its bytes from `offset` on. Raises NotFound, OutOfRange naming the size."""

        def read(tx: Transaction) -> tuple[ArtifactVersion, bytes]:
            found = _get(tx, conversation_id, artifact_id, version)
            if not 0 <= offset <= found.size_bytes:
                raise OutOfRange(
                    f"offset must be within 0 and {found.size_bytes}", metadata={"size_bytes": str(found.size_bytes)}
                )
            return found, tx.artifacts.content(found.sha256)[offset:]

        return await self._unit_of_work.read(read)


def _get(tx: Transaction, conversation_id: str, artifact_id: str, version: int) -> ArtifactVersion:
    found = tx.artifacts.find(artifact_id, version)
    if found is None or found.conversation_id != conversation_id:
        raise NotFound.of("artifact", artifact_id)
    return found
