"""The bare group commit: handrail_storage with engineering.md's transaction (insert an event, update its run).

`python -m bench.group_commit FOLDER WRITERS UNITS SECONDS` prints one JSON line: units, seconds, latencies, commits.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
import sys
import time
from pathlib import Path

from sqlalchemy import BigInteger, Column, Connection, LargeBinary, MetaData, String, Table, bindparam, insert, update

from handrail_storage import Database

_metadata = MetaData()
_events = Table(
    "events",
    _metadata,
    Column("run_id", String, primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)
_runs = Table(
    "runs", _metadata, Column("run_id", String, primary_key=True), Column("events", BigInteger, nullable=False)
)
# Built once: building a statement costs more than executing it.
_INSERT_EVENT = insert(_events)
_UPDATE_RUN = update(_runs).where(_runs.c.run_id == bindparam("run")).values(events=bindparam("count"))
_DATA = bytes(200)


async def measure(folder: Path, writers: int, units: int, most_seconds: float) -> dict[str, object]:
    """`writers` runs, each a transaction at a time, on a new database in `folder`."""
    path = folder / f"group-commit-{writers}-{time.monotonic_ns()}.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE events (run_id TEXT, number INTEGER, data BLOB NOT NULL, PRIMARY KEY (run_id, number));"
        "CREATE TABLE runs (run_id TEXT PRIMARY KEY, events INTEGER NOT NULL);"
    )
    connection.executemany("INSERT INTO runs VALUES (?, 0)", [(f"run_{writer}",) for writer in range(writers)])
    connection.commit()
    connection.close()
    latencies: list[float] = []
    left = itertools.count()
    async with Database(f"sqlite:///{path}") as database:
        started = time.monotonic()

        async def write(writer: int) -> None:
            run_id = f"run_{writer}"
            for number in itertools.count(1):
                if next(left) >= units or time.monotonic() > started + most_seconds:
                    return

                def unit(connection: Connection, number: int = number) -> None:
                    connection.execute(_INSERT_EVENT, {"run_id": run_id, "number": number, "data": _DATA})
                    connection.execute(_UPDATE_RUN, {"run": run_id, "count": number})

                began = time.monotonic()
                await database.write(unit)
                latencies.append(time.monotonic() - began)

        async with asyncio.TaskGroup() as group:
            for writer in range(writers):
                group.create_task(write(writer))
        seconds = time.monotonic() - started
        commits = database.stats.commits
    return {"seconds": seconds, "latencies": latencies, "commits": commits}


if __name__ == "__main__":
    given = sys.argv[1:]
    result = asyncio.run(measure(Path(given[0]), int(given[1]), int(given[2]), float(given[3])))
    sys.stdout.write(json.dumps(result) + "\n")
