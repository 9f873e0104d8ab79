"""`handrail conformance` as its users run it: against our own Adapter's process, a hand-written one, and nobody."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapter_service.domains.conformance import GUARD, SECRET, Effects, create_domain
from adapter_service.sdk import DomainEnvironment
from gateway.cli.conformance import probes
from gateway.cli.conformance.rule import RULES
from gateway.cli.conformance.run import Verdict, run_rules
from gateway.cli.processes import free_loopback_ports
from handrail_rpc.channel import open_channel
from tests.conformance import minimal_adapter
from tests.conformance.adapters import PROBES, ROOT, adapter_process, served_adapter
from tests.conformance.broken_executions import ActsOnEachDispatch
from tests.conformance.relay import served

SECONDS = 120


async def conformance(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, as a process."""
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "gateway.cli", "conformance", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


async def test_our_own_adapter_keeps_every_rule(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    async with adapter_process(tmp_path, PROBES) as target:
        ended = await conformance(target, "--json", str(report))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{len(RULES)} passed, 0 failed, 0 not applicable" in ended.stdout
    written = json.loads(report.read_text())
    assert written["conforms"] is True
    assert {each["rule"] for each in written["rules"]} == set(RULES)
    assert {each["verdict"] for each in written["rules"]} == {"pass"}


async def test_a_hand_written_adapter_keeps_the_rules_of_the_required_tools() -> None:
    server, port = await minimal_adapter.serve()
    try:
        results = await run_rules(f"127.0.0.1:{port}", probes.DOMAIN)
    finally:
        await server.stop(None)
    failed = {result.rule.name: result.why for result in results if result.verdict is Verdict.FAIL}
    assert failed == {}
    core = {probe.name for probe in probes.PROBES if probe.core}
    needed = {rule.name for rule in RULES.values() if set(rule.needs) <= core}
    assert {result.rule.name for result in results if result.verdict is Verdict.PASS} == needed


async def test_a_broken_rule_is_named_with_what_came_and_what_is_wanted(tmp_path: Path) -> None:
    effects, report = Effects(), tmp_path / "report.json"
    async with served_adapter(tmp_path, lambda environment: create_domain(environment, effects)) as honest:
        channel = open_channel(honest)
        async with served(ActsOnEachDispatch(channel, effects)) as target:
            chosen = ("--rule", "repeated_call_acts_once", "--rule", "first_decision")
            ended = await conformance(target, *chosen, "--json", str(report))
        await channel.close()
    assert ended.returncode == 1, ended.stdout + ended.stderr
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert ["fail", "repeated_call_acts_once"] in lines
    assert ["pass", "first_decision"] in lines
    rule = RULES["repeated_call_acts_once"]
    for text in (
        "the key was executed 2 times instead of 1",
        rule.wants,
        rule.source,
        rule.why,
        "sent Decide",
        "came ",
    ):
        assert text in ended.stdout
    written = {each["rule"]: each for each in json.loads(report.read_text())["rules"]}
    assert written["repeated_call_acts_once"]["verdict"] == "fail"
    assert written["repeated_call_acts_once"]["exchange"]


async def test_an_adapter_that_cannot_be_checked_ends_with_2(tmp_path: Path) -> None:
    nobody = f"127.0.0.1:{free_loopback_ports(1)[0]}"
    away = await conformance(nobody)
    assert (away.returncode, "no gRPC service answers at" in away.stdout) == (2, True), away.stdout + away.stderr
    async with served_adapter(tmp_path, create_domain) as target:
        other = await conformance(target, "--domain", "weather")
    assert other.returncode == 2
    assert "serves no domain 'weather'" in other.stdout


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("127.0.0.1:1", "--rule", "no_such_rule")])
async def test_wrong_arguments_are_named(arguments: tuple[str, ...]) -> None:
    ended = await conformance(*arguments)
    assert ended.returncode == 2
    assert "HOST:PORT" in ended.stderr or "--rule" in ended.stderr


async def test_the_list_names_every_rule_and_probe_tool() -> None:
    ended = await conformance("--list")
    assert ended.returncode == 0
    for name in (*RULES, *(probe.name for probe in probes.PROBES)):
        assert name in ended.stdout


def test_our_domain_serves_exactly_the_probe_tools(tmp_path: Path) -> None:
    domain = create_domain(DomainEnvironment(tmp_path, lambda: datetime.now(UTC), os.environ))
    assert domain.name == probes.DOMAIN
    assert {tool.name for tool in domain.tools} == set(probes.BY_NAME)
    assert (GUARD, SECRET) == (probes.GUARD, probes.SECRET)


def test_the_documentation_describes_every_probe_tool_and_rule() -> None:
    text = (ROOT / "docs" / "conformance.md").read_text()
    for probe in probes.PROBES:
        assert f"| `{probe.name}` |" in text
        assert probe.does in text
    for rule in RULES.values():
        assert f"| `{rule.name}` | {rule.wants} |" in text


def test_every_rule_cites_a_section_that_a_reader_can_open() -> None:
    listed = (ROOT / "docs" / "conformance.md").read_text()
    headings = re.findall(r"^#+ (.+)$", (ROOT / "docs" / "protocol.md").read_text(), re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    cited = set()
    for rule in RULES.values():
        document, anchor = rule.source.split("#")
        assert document == "docs/protocol.md", rule.name
        assert anchor in anchors, rule.name
        assert f"| `{rule.name}` | {rule.wants} | [{anchor}](protocol.md#{anchor}) |" in listed
        cited.add(anchor)
    assert anchors - cited == {"the-decision-protocol"}, "each section has a rule"
    for text in (listed, *(path.read_text() for path in (ROOT / "gateway/cli/conformance").glob("*.py"))):
        assert not re.findall(r"\b(?:contract|soundness|requirements)\.md", text)


def test_every_rule_needs_declared_probe_tools_only() -> None:
    for rule in RULES.values():
        assert set(rule.needs) <= set(probes.BY_NAME), rule.name
