"""`handrail artifact` as a person uses it, through a gateway in front of both services."""

from __future__ import annotations

import json
from pathlib import Path

from handrail_rpc.digest import sha256_hex
from tests.e2e.test_cli_settlements import Desk, desk
from tests.grpc.loop.driver import last


async def revised(at: Desk) -> tuple[str, str, str]:
    """A note in two versions: its conversation, its id, and the hash of the newest."""
    conversation_id = await at.whole.create()
    await at.whole.driver.send(conversation_id, "write memo at 3 then post")
    asked = last(await at.whole.driver.send(conversation_id, "actually level 9"), "approval_required")
    return conversation_id, asked.snapshot.artifact_id, asked.snapshot.artifact_sha256


async def test_what_was_made_is_listed_shown_saved_and_compared(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        conversation_id, artifact_id, sha256 = await revised(at)
        listed = await at.run("artifact", "list", conversation_id)
        assert (listed.code, listed.err) == (0, "")
        assert f"{artifact_id}  version 2" in listed.out
        assert "note: memo" in listed.out
        shown = await at.run("artifact", "show", conversation_id, artifact_id)
        assert '{"level":9,"title":"memo"}' in shown.out
        assert f"from {artifact_id} version 1" in shown.out
        assert "made by change_note" in shown.out
        file = tmp_path / "note.json"
        saved = await at.run("artifact", "show", conversation_id, artifact_id, "--version", "2", "--out", str(file))
        assert saved.code == 0, saved.err
        assert sha256_hex(file.read_bytes()) == sha256
        told = await at.run("artifact", "diff", conversation_id, artifact_id, "--from", "1", "--context", "0")
        assert told.out.splitlines()[2:] == ["@@ -2 +2 @@", '-  "level": 3,', '+  "level": 9,']
        patch = await at.run("artifact", "diff", conversation_id, artifact_id, "--from", "1", "--patch")
        assert json.loads(patch.out) == [{"op": "replace", "path": "/level", "value": 9}]


async def test_what_cannot_be_shown_is_said_in_one_line(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        conversation_id, artifact_id, _ = await revised(at)
        other = await at.whole.create()
        assert "nothing was made" in (await at.run("artifact", "list", other)).out
        missing = await at.run("artifact", "diff", conversation_id, artifact_id, "--from", "7")
        assert (missing.code, missing.err.count("\n"), "does not exist" in missing.err) == (2, 1, True)
        folder = await at.run("artifact", "show", conversation_id, artifact_id, "--out", str(tmp_path / "no" / "file"))
        assert (folder.code, folder.err.count("\n"), "No such file" in folder.err) == (2, 1, True)
