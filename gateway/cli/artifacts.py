"""`handrail artifact`: lists what a conversation has made, shows or saves a version, and what differs between two.

Called by artifact_commands. What a server sends is shown without control characters; saved bytes are left as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from gateway.cli.client import HandrailClient
from gateway.cli.events import clean, one_line
from gateway.cli.refusals import EXIT_FAILED, EXIT_OK
from handrail.adapter.v1 import artifact_service_pb2 as pb

_SECONDS = 60.0
_PAGE = 200
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


async def show_list(console: Console, client: HandrailClient, conversation_id: str) -> int:
    """Print one line for each artifact, the newest first. Raises HandrailError."""
    found = 0
    async for artifact in _all(client, conversation_id):
        found += 1
        console.print(
            f"{one_line(artifact.artifact_id)}  version {artifact.version}  {artifact.size_bytes:>9} bytes  "
            f"{one_line(artifact.kind)}: {one_line(artifact.title)}"
        )
    if not found:
        console.print("nothing was made in this conversation yet", style="dim")
    return EXIT_OK


async def show(
    console: Console, client: HandrailClient, conversation_id: str, artifact_id: str, version: int, out: Path | None
) -> int:
    """Print where a version comes from and its text, or save its bytes to `out`. Raises HandrailError, OSError."""
    request = pb.GetArtifactRequest(conversation_id=conversation_id, artifact_id=artifact_id, version=version)
    got = await client.call(lambda: client.artifacts.GetArtifact(request, timeout=_SECONDS))
    artifact = got.artifact
    console.print(f"{one_line(artifact.kind)}: {one_line(artifact.title)}")
    console.print(
        f"version {artifact.version} of {artifact.latest_version}, {one_line(artifact.media_type)}, "
        f"sha256 {artifact.sha256}"
    )
    console.print(
        f"made by {one_line(artifact.tool)} ({one_line(artifact.tool_call_id)}), input sha256 {artifact.input_sha256}"
    )
    for read in artifact.input_artifacts:
        console.print(f"from {one_line(read.artifact_id)} version {read.version}, sha256 {read.sha256}")
    if artifact.sources:
        console.print(f"sources: {'; '.join(map(one_line, artifact.sources))}")
    if artifact.data_scope:
        console.print(f"covers: {one_line(artifact.data_scope)}")
    data = await client.read_artifact(conversation_id, artifact_id, artifact.version)
    if out is not None:
        await asyncio.to_thread(out.write_bytes, data)
        console.print(f"{len(data)} bytes saved to {out}")
        return EXIT_OK
    try:
        console.print(clean(data.decode("utf-8")))
    except UnicodeDecodeError:
        console.print(f"{len(data)} bytes that are no text; save them with --out FILE", style="dim")
    return EXIT_OK


async def show_diff(console: Console, client: HandrailClient, request: pb.DiffArtifactRequest, *, patch: bool) -> int:
    """Print what differs, as unified text or as a JSON Patch; EXIT_FAILED where a limit leaves it out."""
    found = await read_diff(client, request)
    told = found.json_patch if patch else found.unified_diff
    print_diff(console, told)
    limits = [limit for limit in found.limit.split("; ") if limit.startswith("json_patch" if patch else "unified_diff")]
    for limit in limits:
        console.print(f"left out: {one_line(limit)}", style="yellow")
    if not told and not limits:
        console.print("nothing differs, or the content has no such form", style="dim")
    return EXIT_FAILED if limits else EXIT_OK


async def read_diff(client: HandrailClient, request: pb.DiffArtifactRequest) -> pb.DiffArtifactResponse:
    """What differs between two versions. Raises HandrailError."""
    return await client.call(lambda: client.artifacts.DiffArtifact(request, timeout=_SECONDS))


def print_diff(console: Console, told: str) -> None:
    """Print a diff with its added and removed lines in colour."""
    for line in clean(told).splitlines():
        console.print(Text(line, _STYLES.get(line[:1], "")))


async def _all(client: HandrailClient, conversation_id: str) -> AsyncIterator[pb.Artifact]:
    token = ""
    while True:
        request = pb.ListArtifactsRequest(conversation_id=conversation_id, page_size=_PAGE, page_token=token)
        page = await client.call(partial(client.artifacts.ListArtifacts, request, timeout=_SECONDS))
        for artifact in page.artifacts:
            yield artifact
        token = page.next_page_token
        if not token:
            return
