"""Artifact use cases: get, list, read. Called by the artifact servicer; a wrong conversation is NOT_FOUND."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import partial

from adapter_service.application.ports import Transaction, UnitOfWork
from adapter_service.domain.artifact import ArtifactVersion
from handrail_rpc.errors import InvalidArgument, NotFound, OutOfRange

CHUNK_BYTES = 64 * 1024
_TOKEN = re.compile(r"a([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class ContentPart:
    """At most CHUNK_BYTES of a version's content, from `offset` on."""

    version: ArtifactVersion
    offset: int
    data: bytes


class ReadArtifacts:
    """The use cases; one instance a process."""

    def __init__(self, unit_of_work: UnitOfWork) -> None:
        self._unit_of_work = unit_of_work

    async def get(self, conversation_id: str, artifact_id: str, version: int) -> ArtifactVersion:
        """One version, the newest for 0. Raises NotFound, also for another conversation's artifact."""
        return await self._unit_of_work.read(lambda tx: find_version(tx, conversation_id, artifact_id, version))

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
    ) -> AsyncGenerator[ContentPart, None]:
        """The bytes of a version from `offset` on, part by part, each loaded when it is wanted; at least one part.

        Raises NotFound, also where retention or erasure overtake the reader; OutOfRange naming the size.
        """

        def begin(tx: Transaction) -> ContentPart:
            found = find_version(tx, conversation_id, artifact_id, version)
            if not 0 <= offset <= found.size_bytes:
                raise OutOfRange(
                    f"offset must be within 0 and {found.size_bytes}", metadata={"size_bytes": str(found.size_bytes)}
                )
            return ContentPart(found, offset, tx.artifacts.content_part(found.sha256, offset, CHUNK_BYTES))

        part = await self._unit_of_work.read(begin)
        yield part
        while (at := part.offset + len(part.data)) < part.version.size_bytes:
            part = await self._unit_of_work.read(partial(_next_part, part.version, at))
            yield part


def _next_part(version: ArtifactVersion, offset: int, tx: Transaction) -> ContentPart:
    try:
        return ContentPart(version, offset, tx.artifacts.content_part(version.sha256, offset, CHUNK_BYTES))
    except LookupError:
        raise NotFound.of("artifact", version.artifact_id) from None


def find_version(tx: Transaction, conversation_id: str, artifact_id: str, version: int) -> ArtifactVersion:
    """A version of the conversation's artifact, the newest for 0. Raises NotFound, which tells where it was removed."""
    newest = tx.artifacts.find(artifact_id)
    if newest is None or newest.conversation_id != conversation_id:
        raise NotFound.of("artifact", artifact_id)
    found = newest if version in (0, newest.version) else tx.artifacts.find(artifact_id, version)
    if found is not None:
        return found
    if tx.artifacts.was_removed(artifact_id, version):
        raise NotFound(
            f"version {version} of artifact {artifact_id} was removed by retention; the newest is {newest.version}",
            reason="ARTIFACT_VERSION_REMOVED",
            metadata={"latest_version": str(newest.version)},
        )
    raise NotFound.of("artifact", artifact_id)
