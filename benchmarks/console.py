"""Latency of the console's pages with the usage of 1,000 keys in each hour of 30 days.

`python -m benchmarks.console` prints median and p95 of each page, and the p99 of small lists of
another client at the same time. The exit status is 1 if the overview's p95 exceeds its limit. The
key store is a SQLite file with 864,000 rows of usage.
"""

import argparse
import contextlib
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.processes import (
    COMMAND,
    LONG_LIFE,
    SPREADSHEET,
    Site,
    emulator,
    fetch,
    free_port,
    gateway,
    get,
    make_site,
)
from benchmarks.sheet import make_cities, write_csv

KEYS, HOURS = 1_000, 720
MOST_P95_SECONDS = 0.2
PAGES: Mapping[str, str] = {
    "overview": "/",
    "usage, 24 h": "/usage",
    "usage, 30 d by key": "/usage?since=30d",
    "usage, 30 d by code": "/usage?since=30d&by=code",
    "requests": "/requests",
    "status": "/admin/v1/status",
}


def use(ids: Sequence[str], present: datetime) -> Iterator[tuple[object, ...]]:
    """Yield rows of usage for each key and hour; one key in five has rejected requests."""
    for ago in range(HOURS):
        hour = (present - timedelta(hours=ago)).isoformat()
        for number, key_id in enumerate(ids):
            yield hour, key_id, SPREADSHEET, "Cities", 0, 50 + number % 7, 3, 1, 500, 40_000
            if number % 5 == 0:
                yield hour, key_id, "", "", 4290, 5, 0, 0, 0, 1_000


def fill(database: Path) -> None:
    """Add keys and their usage to a key store."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(api_keys)")]
        (known,) = connection.execute("SELECT * FROM api_keys").fetchall()
        ids = [f"key_{number:08}" for number in range(KEYS)]
        for number, key_id in enumerate(ids):
            changed = {"id": key_id, "name": f"key {number}", "digest": number.to_bytes(32, "big")}
            row = {**dict(zip(columns, known, strict=True)), **changed}
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO api_keys VALUES ({marks})", [*row.values()])  # noqa: S608
        present = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        marks = ", ".join("?" * 10)
        connection.executemany(f"INSERT INTO key_usage VALUES ({marks})", use(ids, present))  # noqa: S608
        connection.commit()


def admin_key(site: Site) -> str:
    """Create an admin key."""
    command = [*COMMAND, "admin", "create", "--name", "benchmark", "--config", str(site.config)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)  # noqa: S603
    return str(re.findall(r"sga_\w+", done.stdout)[0])


def percentile(seconds: Sequence[float], part: float) -> float:
    return sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * part))]


@contextlib.contextmanager
def beside(url: str, site: Site) -> Iterator[list[float]]:
    """Measure another client's small lists during the block, in seconds."""
    times: list[float] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.wait(0.005):
            began = time.perf_counter()
            fetch(url, "/v2/sheets/Cities?limit=5", site.headers)
            times.append(time.perf_counter() - began)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield times
    finally:
        is_over.set()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds: int = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_csv(folder / "seed" / SPREADSHEET / "Cities.csv", make_cities(100))
        with emulator(folder) as google:
            site, port = make_site(folder, google.url, cache=LONG_LIFE), free_port()
            with site.config.open("a", encoding="utf-8") as file:
                file.write(f'[admin]\nlisten = "127.0.0.1:{port}"\n')
            key = {"Authorization": f"Bearer {admin_key(site)}"}
            fill(next(folder.glob("*.db")))
            with gateway(site) as running:
                get(running, site, "/v2/sheets/Cities?limit=5")
                slow = measure(f"http://127.0.0.1:{port}", running.url, site, key, rounds)
    sys.exit(slow)


def measure(url: str, api: str, site: Site, key: Mapping[str, str], rounds: int) -> int:
    """Print a line for each page. Returns 1 if the overview is too slow, else 0."""
    p95 = 0.0
    for name, path in PAGES.items():
        seconds = []
        with beside(api, site) as others:
            for _ in range(rounds):
                began = time.perf_counter()
                status, _body = fetch(url, path, key)
                seconds.append(time.perf_counter() - began)
                if status != 200:
                    raise SystemExit(f"{path} was answered {status}")
        found = percentile(seconds, 0.95)
        p95 = found if name == "overview" else p95
        middle, late = statistics.median(seconds), percentile(others, 0.99)
        print(
            f"{name:20} median {middle * 1000:5.0f} ms   p95 {found * 1000:5.0f} ms   "
            f"lists beside it p99 {late * 1000:4.0f} ms"
        )
    return int(p95 > MOST_P95_SECONDS)


if __name__ == "__main__":
    main()
