"""The benchmark of the catalogue runs, and an index spares most of what a bare scan does."""

from __future__ import annotations

import json
from pathlib import Path

import typer
from typer.testing import CliRunner

from adapter_service.domains.aviation.search import search_airports
from bench import catalogue


def test_a_small_run_measures_every_query(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(catalogue.main)
    ended = CliRunner().invoke(app, ["--repetitions", "3", "--json", str(tmp_path / "figures.json")])
    assert ended.exit_code == 0, ended.output
    figures = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert figures["airports"] > 28_000
    assert [each["query"] for each in figures["queries"]] == ["bare scan", *catalogue.QUERIES]
    assert all(0 < each["p50"] <= each["p99"] for each in figures["queries"])
    assert "nearest in the USA" in ended.output


def test_the_bare_scan_finds_what_the_search_finds() -> None:
    """So the ratio compares two ways to one answer (the sphere's order may differ from the ellipsoid's)."""
    scanned = {icao for _, icao in catalogue.scan(48.0, 11.0)}
    found = {a["icao"] for a in search_airports(center_lat_deg=48.0, center_lon_deg=11.0, kind="any")["airports"]}
    assert len(scanned & found) >= 9
