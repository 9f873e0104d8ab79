"""`handrail conformance`: runs the rules and prints each with its verdict and why. Called by gateway.cli.main."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from gateway.cli.conformance.probes import PROBES
from gateway.cli.conformance.rule import RULES, Rule
from gateway.cli.conformance.run import Result, Unreachable, Verdict, run_rules
from gateway.cli.events import one_line
from handrail.common.v1.tool_pb2 import Effect

EXIT_CONFORMS = 0
EXIT_BROKEN_RULE = 1
EXIT_NOT_CHECKED = 2
_STYLES = {Verdict.PASS: "green", Verdict.FAIL: "bold red", Verdict.NOT_APPLICABLE: "yellow"}


def check_adapter(console: Console, target: str, domain: str, names: tuple[str, ...], file: Path | None) -> int:
    """Run the named rules, or all, and report. 0 all pass, 1 a rule is broken, 2 the adapter could not be checked."""
    try:
        results = asyncio.run(run_rules(target, domain, names))
    except Unreachable as error:
        console.print(Text.assemble(("not checked ", "bold red"), one_line(str(error))))
        return EXIT_NOT_CHECKED
    for result in results:
        _print(console, result)
    counts = Counter(result.verdict for result in results)
    console.print(
        f"{counts[Verdict.PASS]} passed, {counts[Verdict.FAIL]} failed, "
        f"{counts[Verdict.NOT_APPLICABLE]} not applicable: {target}, domain {domain}"
    )
    if file is not None:
        try:
            file.write_text(json.dumps(_report(target, domain, results), ensure_ascii=False, indent=2) + "\n", "utf-8")
        except OSError as error:
            console.print(Text.assemble(("not written ", "bold red"), f"{file}: {error.strerror}"))
            return EXIT_NOT_CHECKED
    return EXIT_BROKEN_RULE if counts[Verdict.FAIL] else EXIT_CONFORMS


def list_rules(console: Console) -> None:
    """Print every rule with what it wants, where it comes from and why, then the probe tools."""
    for rule in RULES.values():
        console.print(Text(rule.name, "bold"))
        for line in (rule.wants, f"from {rule.source}", f"why: {rule.why}"):
            console.print(f"    {line}")
    console.print(Text("\nprobe tools", "bold"))
    for probe in PROBES:
        marks = [Effect.Name(probe.effect).removeprefix("EFFECT_")]
        marks += ["idempotent"] if probe.idempotent else []
        marks += [f"role {probe.role}"] if probe.role else []
        marks += ["required"] if probe.core else []
        console.print(f"    {probe.name} ({', '.join(marks)}): {probe.does}")


def _print(console: Console, result: Result) -> None:
    rule, style = result.rule, _STYLES[result.verdict]
    console.print(Text.assemble((f"{result.verdict.value:<15}", style), rule.name))
    if result.verdict is Verdict.NOT_APPLICABLE:
        console.print(f"    {one_line(result.why)}")
    if result.verdict is not Verdict.FAIL:
        return
    for label, text in (("came", result.why), ("wanted", rule.wants), ("from", rule.source), ("why", rule.why)):
        console.print(Text.assemble((f"    {label:<7}", "bold"), one_line(text)))
    for line in result.exchange:
        console.print(Text(f"    | {one_line(line)}", "dim"))


def _report(target: str, domain: str, results: list[Result]) -> dict[str, Any]:
    return {
        "target": target,
        "domain": domain,
        "conforms": all(result.verdict is not Verdict.FAIL for result in results),
        "rules": [{**_described(each.rule), "verdict": each.verdict.value, **_found(each)} for each in results],
    }


def _described(rule: Rule) -> dict[str, str]:
    return {"rule": rule.name, "wants": rule.wants, "source": rule.source, "why": rule.why}


def _found(result: Result) -> dict[str, Any]:
    return {"came": result.why, "exchange": list(result.exchange)} if result.why else {}
