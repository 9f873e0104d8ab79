"""Takes every rule of soundness.md away in turn and demands that its tests notice: `make soundness`.

For each removal the sources are copied to a temporary folder, changed there, and its tests run on the copy: each of
them must fail. Before that, all of them must pass on an unchanged copy. Exits non-zero where a removal survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.soundness.rule import Removal
from tests.soundness.rules import RULES

ROOT = Path(__file__).parents[2]
LEFT_OUT = (".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", "handrail-data", "*.db", "node_modules")
MOST_SECONDS = 300
PASSED, FAILED = 0, 1  # pytest's own exit codes; every other one means that the tests did not run


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a removal fared: `survivors` are the tests that did not fail without the rule."""

    rule: str
    removal: Removal
    survivors: tuple[str, ...]
    seconds: float
    output: str


@contextmanager
def copied() -> Iterator[Path]:
    """The sources in a folder of their own; the file times are kept, so compiled files stay good."""
    with tempfile.TemporaryDirectory(prefix="handrail-soundness-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        yield copy


def run(copy: Path, tests: Iterable[str]) -> tuple[int, str]:
    """pytest's exit code and output, with the copy's packages before the installed ones."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(copy), str(copy / "proto" / "python")))}
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=MOST_SECONDS
        )
    except subprocess.TimeoutExpired as hung:
        return -1, f"did not end within {MOST_SECONDS} s\n{(hung.stdout or b'').decode(errors='replace')}"
    return done.returncode, done.stdout.decode(errors="replace")


def judge(rule: str, removal: Removal) -> Verdict:
    """Take the rule away in a copy, and run each of its tests there."""
    started = time.monotonic()
    with copied() as copy:
        path = copy / removal.path
        text = path.read_text("utf-8")
        if text.count(removal.old) != 1:
            found = f"the text to remove occurs {text.count(removal.old)} times in {removal.path}"
            return Verdict(rule, removal, removal.tests, 0.0, found)
        path.write_text(text.replace(removal.old, removal.new), "utf-8")
        code, output = run(copy, removal.tests)
    failed = [line.removeprefix("FAILED ") for line in output.splitlines() if line.startswith("FAILED ")]
    survivors = tuple(
        test for test in removal.tests if code != FAILED or not any(_is_of(line, test) for line in failed)
    )
    return Verdict(rule, removal, survivors, time.monotonic() - started, output)


def _is_of(line: str, test: str) -> bool:
    """Whether a line of pytest's summary tells of this test, or of one of its parameters where none is named."""
    return line == test or line.startswith((f"{test} - ", f"{test}["))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soundness.removals", description=__doc__)
    parser.add_argument("--only", default="", help="only rules whose name contains this")
    parser.add_argument("--jobs", type=int, default=2, help="removals at a time (default 2)")
    parser.add_argument("--skip-unchanged", action="store_true", help="do not run the tests on an unchanged copy first")
    parser.add_argument("--show", action="store_true", help="print what the tests of a surviving removal said")
    options = parser.parse_args()
    chosen = [(rule.name, removal) for rule in RULES if options.only in rule.name for removal in rule.removals]
    if not options.skip_unchanged:
        with copied() as copy:
            code, output = run(copy, dict.fromkeys(test for _, removal in chosen for test in removal.tests))
        if code != PASSED:
            sys.stdout.write(f"{output}\nThe tests do not pass on the unchanged sources.\n")
            return 1
    survived = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for verdict in pool.map(lambda each: judge(*each), chosen):
            survived += bool(verdict.survivors)
            told = "SURVIVED" if verdict.survivors else "noticed"
            sys.stdout.write(f"{told:9} {verdict.seconds:6.1f} s  {verdict.rule:26} {verdict.removal.path}\n")
            for test in verdict.survivors:
                sys.stdout.write(f"          did not fail: {test}\n")
            if verdict.survivors and options.show:
                sys.stdout.write(f"{verdict.output}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen)} removals of {len({name for name, _ in chosen})} rules, {survived} survived\n")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
