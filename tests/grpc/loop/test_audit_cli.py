"""`handrail audit` as a person uses it, against a real Loop and a changed file (E6)."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from tests.grpc.loop.driver import LoopDriver, running_loop
from tests.grpc.loop.test_audit import File, changed, conversation, one_tool, swapped


async def handrail(*arguments: str, driver: LoopDriver | None = None) -> tuple[int, str]:
    """Exit code and output of a command."""
    address = [] if driver is None else ["--address", driver.loop.target]
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "gateway.cli", *arguments, *address],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_a_trail_is_verified_and_what_was_changed_is_named(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        file = File(driver, await conversation(driver))
        rows = file.rows()
        head = rows[-1]["hash"]
        code, told = await handrail("audit", "verify", file.conversation_id, "--head", head, driver=driver)
        assert code == 0, told
        assert f"valid    {file.conversation_id}  12 rows  head {head}" in told
        # The trail goes on, and a head that was noted before is still part of it.
        await driver.send(file.conversation_id, "more")
        noted = ("--head", head, "--number", "12")
        code, told = await handrail("audit", "verify", file.conversation_id, *noted, driver=driver)
        assert code == 0, told
        code, told = await handrail("audit", "verify", file.conversation_id, "--head", "0" * 64, driver=driver)
        assert code == 1
        assert "rewritten" in told
        for mistyped in ("abc", head.upper(), head + "0"):
            code, told = await handrail("audit", "verify", file.conversation_id, "--head", mistyped, driver=driver)
            assert code == 2, "a mistyped head is wrong usage, not a rewritten trail"
            assert "64 lower-case hex digits" in told
        other = await conversation(driver, turns=1)
        file.write(changed(file.rows(), 7, actor="mallory"))
        code, told = await handrail("audit", "verify", "--all", driver=driver)
        assert code == 1
        assert f"tampered {file.conversation_id}" in told
        assert "edited row 7" in told
        assert f"valid    {other}" in told
        code, told = await handrail("audit", "verify", other, "--principal", "eve", driver=driver)
        assert code == 2
        code, told = await handrail("audit", "verify", other, "--principal", "eve", "--roles", "auditor", driver=driver)
        assert code == 0, told


async def test_an_exported_trail_is_verified_without_a_server(tmp_path: Path) -> None:
    async with running_loop(tmp_path, one_tool) as driver:
        file = File(driver, await conversation(driver))
        stored = file.rows()
        output = tmp_path / "trail.jsonl"
        code, told = await handrail("audit", "export", file.conversation_id, "--output", str(output), driver=driver)
        assert code == 0, told
        code, printed = await handrail("audit", "export", file.conversation_id, driver=driver)
        assert printed == output.read_text()
        # A trail that was changed in the database is exported as it is, and found out offline.
        file.write(swapped(stored, 4))
        reordered = tmp_path / "reordered.jsonl"
        await handrail("audit", "export", file.conversation_id, "--output", str(reordered), driver=driver)
    lines = output.read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == [str(number) for number in range(1, 13)]
    assert all(list(json.loads(line)) == sorted(json.loads(line)) for line in lines)
    code, told = await handrail("audit", "verify", "--file", str(output))
    assert (code, told.split()[0]) == (0, "valid"), told
    assert stored[-1]["hash"] in told
    code, told = await handrail("audit", "verify", "--file", str(reordered), "--locale", "ru")
    assert code == 1
    assert "reordered row 4: Строка 4 была записана под номером 5." in told
    assert "reordered row 5" in told

    async def rewritten(changed_lines: list[str], *arguments: str) -> tuple[int, str]:
        copy = tmp_path / "copy.jsonl"
        copy.write_text("".join(f"{line}\n" for line in changed_lines))
        return await handrail("audit", "verify", "--file", str(copy), *arguments)

    edited = [line.replace('"actor":"local"', '"actor":"mallory"') for line in lines]
    code, told = await rewritten([edited[0], *lines[1:]])
    assert code == 1
    assert "edited row 1" in told
    code, told = await rewritten([*lines[:5], *lines[6:]])
    assert code == 1
    assert "removed row 6" in told
    code, told = await rewritten([lines[1], lines[0], *lines[2:]])
    assert code == 1
    assert "reordered row 1" in told
    code, told = await rewritten([*lines, lines[-1]])
    assert code == 1
    assert "inserted row 12" in told
    # A cut end is found by a head that was kept, and by nothing else.
    assert (await rewritten(lines[:-1]))[0] == 0
    code, told = await rewritten(lines[:-1], "--head", stored[-1]["hash"])
    assert code == 1
    assert "rewritten" in told
    assert (await rewritten(lines, "--head", stored[6]["hash"], "--number", "7"))[0] == 0
    assert (await rewritten(lines, "--head", stored[6]["hash"], "--number", "8"))[0] == 1
    code, told = await rewritten(["no row"])
    assert code == 2
    assert "line 1 is not a row" in told
