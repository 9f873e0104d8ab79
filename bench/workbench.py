"""The workbench's index: a workspace of typed documents and documentation, opened, opened again, changed and searched.

`python -m bench.workbench [DOCUMENTS] [MEGABYTES]` makes one (5,000 and 50 by default) and prints the figures; `--json`
prints them as one JSON line. Speed is a ratio to a bare read and hash of the same bytes in the same run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from adapter_service.domains.workbench.index import WorkbenchIndex
from adapter_service.domains.workbench.view import View

_SYLLABLES = ("ka", "ro", "mi", "te", "lu", "sa", "no", "vi", "pe", "do", "ra", "ni", "fo", "be", "cu", "ly")
_QUERIES = ("checkout port 8080", "retry timeout", "logging level", "replicas", "database connection pool")
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class FolderFile:
    path: str
    sha256: str
    size_bytes: int


class FolderState:
    """A folder as the index wants a workspace; made by reading and hashing everything, which is the yardstick."""

    def __init__(
        self, folder: Path, known: dict[str, FolderFile] | None = None, changed: frozenset[str] = frozenset()
    ) -> None:
        self.folder = folder
        self.workspace_id = "bench"
        files = dict(known or {})
        for path in changed or sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()):
            data = (folder / path).read_bytes()
            files[path] = FolderFile(path, hashlib.sha256(data).hexdigest(), len(data))
        self.files = files
        self.sha256 = hashlib.sha256("".join(path + each.sha256 for path, each in files.items()).encode()).hexdigest()

    def read(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()


def make_workspace(folder: Path, documents: int, size_bytes: int, seed: int = 7) -> None:
    """Three quarters YAML, an eighth JSON, an eighth Markdown of about size_bytes / documents each."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(8_000)]
    words += ["retry", "retries", "timeout", "logging", "level", "database", "connection", "pool", "checkout"] * 20
    each = size_bytes // documents
    for name in ("services", "jobs", "data", "docs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number in range(documents):
        kind = number % 8
        if kind == 7:
            text = _markdown(chance, words, number, each)
            (folder / "docs" / f"page-{number}.md").write_text(text, encoding="utf-8")
            continue
        value = _document(chance, words, number, each)
        if kind == 6:
            text = json.dumps(value, indent=2)
            (folder / "data" / f"record-{number}.json").write_text(text, encoding="utf-8")
        else:
            text = "# Kept by the platform team\n" + _yaml(value)
            (folder / ("services" if kind < 4 else "jobs") / f"unit-{number}.yaml").write_text(text, encoding="utf-8")


def _yaml(value: Any) -> str:
    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, width=100))


def _document(chance: random.Random, words: list[str], number: int, size: int) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "replicas": chance.randint(1, 9),
        "ports": [{"name": "http", "port": chance.randint(8000, 8200)}],
    }
    written = 200
    environment = spec["environment"] = []
    while written < size:
        entry = {
            "name": "_".join(chance.choices(words, k=2)).upper(),
            "value": chance.randint(0, 99_999) if chance.random() < 0.4 else chance.choice(words),
            "description": " ".join(chance.choices(words, k=12)),
        }
        environment.append(entry)
        written += 60 + sum(len(str(each)) for each in entry.values())
    return {"kind": "Service" if number % 8 < 4 else "Job", "name": f"{chance.choice(words)}-{number}", "spec": spec}


def _markdown(chance: random.Random, words: list[str], number: int, size: int) -> str:
    parts = [f"# Page {number}\n"]
    written = 0
    while written < size:
        sentences = [" ".join(chance.choices(words, k=11)).capitalize() + "." for _ in range(8)]
        part = f"\n## {' '.join(chance.choices(words, k=3))}\n\n" + "\n".join(sentences) + "\n"
        parts.append(part)
        written += len(part)
    return "".join(parts)


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    result = action()
    return result, time.perf_counter() - started


def median_ms(actions: list[Callable[[], Any]]) -> float:
    """The median of all actions, each some times, in milliseconds."""
    times = sorted(timed(action)[1] for action in actions for _ in range(_ROUNDS))
    return times[len(times) // 2] * 1000


def measure(folder: Path, cache: Path) -> dict[str, float]:
    """The figures of one workspace: seconds for opening, milliseconds for the rest, ratios to a bare read and hash."""
    state, bare = timed(lambda: FolderState(folder))
    size = sum(each.size_bytes for each in state.files.values())
    index = WorkbenchIndex(cache)
    view, opened = timed(lambda: index.update(state))
    _, unchanged = timed(lambda: index.update(state))
    index.close()
    again = WorkbenchIndex(cache)
    view, reopened = timed(lambda: again.update(state))
    changes = [_changed(folder, again, state, path) for path in _some_paths(state)]
    finds = _finds(view)
    again.close()
    return {
        "documents": view.document_count,
        "sections": view.section_count,
        "megabytes": size / 1e6,
        "bare_read_and_hash_s": bare,
        "open_s": opened,
        "open_ratio": opened / bare,
        "reopen_s": reopened,
        "reopen_ratio": reopened / bare,
        "unchanged_ms": unchanged * 1000,
        "update_one_file_ms": sorted(changes)[len(changes) // 2] * 1000,
        "update_ratio": sorted(changes)[len(changes) // 2] / bare,
        **finds,
        "cache_megabytes": sum(each.stat().st_size for each in cache.iterdir()) / 1e6,
    }


def _some_paths(state: FolderState) -> list[str]:
    return [path for path in state.files if path.endswith(".yaml")][:: max(1, len(state.files) // 5)][:5]


def _changed(folder: Path, index: WorkbenchIndex, state: FolderState, path: str) -> float:
    file = folder / path
    file.write_text(file.read_text(encoding="utf-8") + "added: true\n", encoding="utf-8")
    changed = FolderState(folder, state.files, frozenset([path]))
    return timed(lambda: index.update(changed))[1]


def _finds(view: View) -> dict[str, float]:
    names = [document.identity for document in view.documents()[:: max(1, view.document_count // 5)]]
    # The first search makes the list of names, once for a state.
    _, first = timed(lambda: (view.find_documents("replicas"), view.match_documents(names[0])))
    return {
        "first_find_ms": first * 1000,
        "find_text_ms": median_ms([lambda q=q: view.find_documents(q) for q in _QUERIES]),  # type: ignore[misc]
        "find_where_ms": median_ms([lambda p=p: view.find_documents(where={"port": p}) for p in range(8000, 8005)]),  # type: ignore[misc]
        "match_name_ms": median_ms([lambda n=n: view.match_documents(n[:-1] + "x") for n in names]),  # type: ignore[misc]
        "search_documentation_ms": median_ms([lambda q=q: view.search_documentation(q) for q in _QUERIES]),  # type: ignore[misc]
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.workbench", description=__doc__)
    parser.add_argument("documents", type=int, nargs="?", default=5_000)
    parser.add_argument("megabytes", type=float, nargs="?", default=50.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_workspace(root / "workspace", options.documents, int(options.megabytes * 1e6))
        figures = measure(root / "workspace", root / "cache")
    if options.json:
        sys.stdout.write(json.dumps({name: round(value, 4) for name, value in figures.items()}) + "\n")
        return
    for name, value in figures.items():
        sys.stdout.write(f"{name:28} {value:12,.3f}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
