"""Prints results as tables and turns them into JSON. Called by __main__."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.figures import Timing
from bench.results import (
    ROUND_AIM_ECHOES,
    TURN_AIM_ECHOES,
    WAITING_AIM_BYTES,
    Counts,
    Growth,
    Results,
    Speed,
    Waiting,
)
from bench.stack import SERVICES


def as_json(results: Results) -> str:
    """Every measured number and the derived ones; times in seconds, memory and storage in bytes."""
    data: dict[str, Any] = asdict(results)
    for speed, values in zip(results.speeds, data["speeds"], strict=True):
        values |= {
            "echo_rate": speed.echo.rate,
            "group_commit_rate": speed.group_commit.rate,
            "round_rate": speed.round.rate,
            "turn_rate": speed.turn.rate,
            "round_echoes": speed.round_echoes,
            "turn_echoes": speed.turn_echoes,
            "round_cpu_echoes": speed.round_cpu_echoes,
            "turn_cpu_echoes": speed.turn_cpu_echoes,
        }
    if results.growth is not None:
        kinds = ("calls", "commits", "stored")
        data["growth"]["quarter_ratios"] = {kind: results.growth.quarter_ratio(kind) for kind in kinds}
    if results.waiting is not None:
        data["waiting"] |= {
            "bytes_each": {name: results.waiting.bytes_each(name) for name in SERVICES},
            "warm_bytes_each": {name: results.waiting.warm_bytes_each(name) for name in SERVICES},
            "made_rate": results.waiting.made.rate,
            "resumed_rate": results.waiting.resumed.rate,
        }
    return json.dumps(data, indent=2)


def show(results: Results, console: Console) -> None:
    """All tables."""
    console.print("  ".join(f"{key} {value}" for key, value in results.machine.items()), style="dim")
    console.print(_speed_table(results.speeds))
    console.print(
        "'in echoes': how many bare echoes the machine does in the time of one round, at as many clients; 'by CPU': "
        "the same by the CPU time of all processes; 'others': cores that other programs kept busy meanwhile.",
        style="dim",
    )
    console.print(_cpu_table(results.speeds))
    console.print(_count_table(results.counts))
    if results.growth is not None:
        _show_growth(results.growth, console)
    if results.waiting is not None:
        _show_waiting(results.waiting, console)
    console.print(f"Each of {results.effects} approved rounds had its effect exactly once.")


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _speed_table(speeds: list[Speed]) -> Table:
    table = _table("Speed", "clients", "what", "per second", "p50 ms", "p99 ms", "in echoes", "by CPU", "aim", "others")
    for speed in speeds:
        rows = (
            ("bare echo", speed.echo, 1.0, 1.0, ""),
            ("bare group commit", speed.group_commit, 0.0, 0.0, f"{speed.units_per_commit:.1f} a commit"),
            ("R1, a round with an approval", speed.round, speed.round_echoes, speed.round_cpu_echoes, ROUND_AIM_ECHOES),
            ("R2, a turn with one tool", speed.turn, speed.turn_echoes, speed.turn_cpu_echoes, TURN_AIM_ECHOES),
        )
        for name, timing, cost, cpu, aim in rows:
            table.add_row(
                str(speed.clients),
                name,
                f"{timing.rate:,.0f}",
                f"{timing.p50 * 1000:.1f}",
                f"{timing.p99 * 1000:.1f}",
                f"{cost:.1f}" if cost else "",
                f"{cpu:.1f}" if cpu else "",
                f"<= {aim:g}" if isinstance(aim, float) else aim,
                f"{timing.others:.1f}" if timing.cpu else "",
            )
        table.add_section()
    return table


def _cpu_table(speeds: list[Speed]) -> Table:
    processes = ("load", "echo", *SERVICES)
    table = _table("CPU milliseconds a round, by process", "clients", "what", *processes, "all")
    for speed in speeds:
        for name, timing in (("echo", speed.echo), ("R1", speed.round), ("R2", speed.turn)):
            table.add_row(str(speed.clients), name, *_cpu_cells(timing, processes), f"{timing.cpu_total * 1000:.2f}")
        table.add_section()
    return table


def _cpu_cells(timing: Timing, processes: tuple[str, ...]) -> list[str]:
    return [f"{timing.cpu[name] * 1000:.2f}" if name in timing.cpu else "" for name in processes]


def _count_table(counts: list[Counts]) -> Table:
    table = _table(
        "Counted, for each round",
        "what",
        "clients",
        "client RPCs",
        "events",
        "RPCs served: gateway",
        "loop",
        "adapter",
        "commits: loop",
        "adapter",
        "bytes: loop",
        "adapter",
    )
    for each in counts:
        table.add_row(
            each.workload,
            str(each.clients),
            f"{each.client_calls:.1f}",
            f"{each.messages:.1f}",
            *(f"{each.served.get(name, 0):.1f}" for name in SERVICES),
            *(f"{each.commits.get(name, 0):.2f}" for name in ("loop", "adapter")),
            *(f"{each.stored.get(name, 0):,.0f}" for name in ("loop", "adapter")),
        )
    return table


def _show_growth(growth: Growth, console: Console) -> None:
    console.print(
        f"R3: {growth.turns} turns in one conversation: the last 20 took {growth.ratio:.2f} times the first 20 "
        f"({growth.last_mean * 1000:.1f} ms, {growth.first_mean * 1000:.1f} ms); {growth.stored / 1e6:.2f} MB stored."
    )
    if growth.ratio_at_200 is not None:
        console.print(f"R3: of the first 200 turns the last 20 took {growth.ratio_at_200:.2f} times the first 20.")
    if growth.quarters:
        console.print(_count_table(list(growth.quarters)))
        ratios = (f"{kind} {growth.quarter_ratio(kind):.3f}" for kind in ("calls", "commits", "stored"))
        console.print(f"R3: the last quarter over the second: {', '.join(ratios)}.")


def _show_waiting(waiting: Waiting, console: Console) -> None:
    console.print(
        f"R4: {waiting.count} interactions began to wait at {waiting.made.rate:,.0f} a second and were resumed at "
        f"{waiting.resumed.rate:,.0f} a second (p99 {waiting.resumed.p99 * 1000:.0f} ms)."
    )
    console.print(
        f"R5: killed and started with {waiting.count} waiting: serving after {waiting.serving_seconds:.2f} s (with an "
        f"empty database {waiting.empty_serving_seconds:.2f} s), the first resumed and answered after "
        f"{waiting.first_resume_seconds:.2f} s."
    )
    if not waiting.started_waiting:
        return
    table = _table(
        "Private memory",
        "process",
        "started empty",
        "started, all waiting",
        f"each (aim: at most {WAITING_AIM_BYTES:,} B)",
        "left by making each",
    )
    for name in SERVICES:
        table.add_row(
            name,
            _mebibytes(waiting.started_empty, name),
            _mebibytes(waiting.started_waiting, name),
            f"{waiting.bytes_each(name):,.0f} B",
            f"{waiting.warm_bytes_each(name):,.0f} B",
        )
    console.print(table)


def _mebibytes(memory: Mapping[str, int], name: str) -> str:
    return f"{memory.get(name, 0) / 2**20:.1f} MiB"
