"""Latency of other keys during the largest writes.  Usage: python -m benchmarks.worst_writes

    --shapes patch-8mib upsert-16-keys, --at-once 1 12: see --help

The gateway runs as a process in front of the emulator, as for a user, and is restarted for each
shape (kind of write). One key sends a write at the gateway's limits, once and 12 times at once.
Another process sends a small query of another key and /livez 50 times a second each. The
worksheets: `Wide` has 900 columns and 500 rows, `Long` 4 columns and 100,000 rows, `Full` 900
columns of texts of 100 characters, `Numbers` 16 columns of numbers.

The errors 400, 413, 429 and 503 are good answers. 500 is never good, and neither is 409, because no
other client writes these rows. Memory is the maximum of the process during the writes, minus the
memory before, when the rows are already cached. The exit status is 1 if a goal is missed.
"""

import argparse
import csv
import json
import string
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

from benchmarks.costly import WORKSHEET, write_worksheet
from benchmarks.emulator import peak_megabytes
from benchmarks.neighbours import Observed, neighbours
from benchmarks.processes import SPREADSHEET, Running, Site, gateway, resident_megabytes
from benchmarks.report import milliseconds, print_header, print_row, surroundings, verdict
from benchmarks.worst_queries import ask, emulating, make_site

MOST_SECONDS = {1: 0.1, 12: 0.25}
MOST_LIVEZ_SECONDS = 0.1
MOST_MEGABYTES = 100.0
SETTLING_SECONDS = 0.5
TIMEOUT_SECONDS = 120.0
SMALL_ROWS = 1_000
WIDE_COLUMNS, WIDE_ROWS = 900, 500
FULL_ROWS, FULL_CHARACTERS = 100, 100
LONG_COLUMNS, LONG_ROWS = 4, 100_000
KEYS, KEY_ROWS = 16, 20_000
BODY_BYTES = 1_000_000
REFUSED = {400, 413, 429, 503}
TITLES = (
    "write", "how", "answers", "time", "others: slowest", "p99", "/livez: slowest", "memory",
    "reached",
)  # fmt: skip

SETTINGS = """[google]
endpoint = "{google}"
credentials = "account.json"
reads_per_minute = 100000
writes_per_minute = 100000
write_timeout_seconds = 60
[cache]
rows_ttl_seconds = 3600
[writes]
delete = "{delete}"
max_waiting_rows_per_key = 10000
[plans.paid]
requests_per_minute = 1000000000
deletes = true
"""


@dataclass(frozen=True)
class Write:
    """A write at the gateway's limits; `make` returns query and body for a number."""

    name: str
    method: str
    sheet: str
    make: Callable[[int], tuple[str, object]]
    delete: str = "shift"
    is_keyed: bool = False
    """True if the request has an Idempotency-Key."""

    def request(self, number: int) -> tuple[str, bytes | None, Mapping[str, str]]:
        """Return path, body and headers of the request with this number."""
        query, body = self.make(number)
        encoded = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        key = {"Idempotency-Key": f"write-{number}"} if self.is_keyed else {}
        return f"/v2/sheets/{self.sheet}{query}", encoded, key


def wide(number: int) -> str:
    """Return the shortest possible name of a column, so that a body holds more cells."""
    return LETTERS[number // 31] + LETTERS[number % 31]


LETTERS = string.ascii_lowercase + "ABCDE"
LAST = wide(WIDE_COLUMNS - 1)
KEY_NAMES = [f"k{at}" for at in range(KEYS)]


def texts(bytes_: int, columns: int, mark: object) -> dict[str, str]:
    """Return fields of the first columns that take this number of bytes as JSON."""
    length = max(1, bytes_ // columns - 8)
    return {wide(at): f"{mark}{'x' * length}"[:length] for at in range(columns)}


def where(**conditions: object) -> str:
    return f"?where={quote(json.dumps(conditions))}"


def group(number: int) -> str:
    """Return a filter for 100 rows of `Wide`, by the column that no shape writes."""
    return where(**{LAST: f"g{number % 5}"})


def listed(rows: int, columns: int, mark: int, *, step: int = 1) -> list[dict[str, object]]:
    """Return updates of rows that fill a body, with every `step`-th column."""
    length = max(1, BODY_BYTES // rows // columns - 8)
    texts_ = [f"{mark}{row}{'y' * length}"[:length] for row in range(rows)]
    return [
        {"rowIndex": 2 + row} | {wide(at * step): text for at in range(columns)}
        for row, text in enumerate(texts_)
    ]


def tiny(mark: int) -> object:
    """Return as many cells as a body can hold."""
    columns = (BODY_BYTES - 20 * WIDE_ROWS) // WIDE_ROWS // len('"aa":1,')
    return [
        {"rowIndex": 2 + row} | {wide(at): mark % 10 for at in range(columns)}
        for row in range(WIDE_ROWS)
    ]


def keyed(number: int, *, is_mixed: bool) -> object:
    """Return upserts by 16 fields of numbers; with `is_mixed` each also has texts."""
    rows = []
    for row in range(500):
        keys = [(number * 1500) + row * 3 + at for at in range(KEYS)]
        is_text = [is_mixed and row >> at & 1 for at in range(KEYS)]
        values = [str(key) if text else key for key, text in zip(keys, is_text, strict=True)]
        rows.append(dict(zip(KEY_NAMES, values, strict=True)) | {"v": f"n{number}"})
    return rows


def create(number: int) -> tuple[str, object]:
    return "", [texts(BODY_BYTES // 500, 60, f"{number}-{row}") for row in range(500)]


def upsert_long(number: int) -> tuple[str, object]:
    numbers = range(250 * number, 250 * number + 500)
    return "?on_conflict=a,c", [{"a": at, "c": f"c{at}", "b": f"n{number}"} for at in numbers]


def upsert_wide(number: int) -> tuple[str, object]:
    fields = {wide(at): f"n{number}" for at in range(1, 100)}
    rows = [{wide(0): f"v{row}", LAST: f"g{row % 5}"} | fields for row in range(400)]
    return f"?on_conflict={LAST},{wide(0)}", rows


def upsert_names(number: int) -> tuple[str, object]:
    """Return an upsert with more field names than allowed, none of which exists."""
    return f"?on_conflict={','.join(map(wide, range(900)))}", [{"v": number}] * 500


def by_keys(number: int, *, is_mixed: bool = False) -> tuple[str, object]:
    return f"?on_conflict={','.join(KEY_NAMES)}", keyed(number, is_mixed=is_mixed)


def long_range(number: int) -> tuple[str, object]:
    return where(a={"$gte": number * 100, "$lt": number * 100 + 100}), {"b": f"n{number}"}


def by_texts(number: int) -> tuple[str, object]:
    return where(**{wide(899): {"$gt": ""}, wide(898): {"$gt": ""}}), {wide(0): f"n{number}"}


W = "Wide"
SHAPES: Sequence[Write] = (
    Write("create-500-wide", "POST", W, create),
    Write("list-500x1-wide", "PATCH", W, lambda n: ("", listed(500, 1, n))),
    Write("list-500x100-wide", "PATCH", W, lambda n: ("", listed(500, 100, n))),
    Write("list-500x100-keyed", "PATCH", W, lambda n: ("", listed(500, 100, n)), is_keyed=True),
    Write("list-tiny-wide", "PATCH", W, lambda n: ("", tiny(n))),
    Write("list-100x400-alternate", "PATCH", W, lambda n: ("", listed(100, 400, n, step=2))),
    Write("list-500x2-hull", "PATCH", W, lambda n: ("", listed(500, 2, n, step=897))),
    Write("list-100-full", "PATCH", "Full", lambda n: ("", listed(100, 2, n))),
    Write("put-row-full", "PUT", "Full/5", lambda n: ("", texts(BODY_BYTES, 899, n))),
    Write("patch-4kb-wide", "PATCH", W, lambda n: (group(n), texts(4_000, 200, n))),
    Write("patch-899-wide", "PATCH", W, lambda n: (group(n), texts(70_000, 899, n))),
    Write("patch-8mib-wide", "PATCH", W, lambda n: (group(0), texts(80_000, 60, n))),
    Write("patch-100mib-wide", "PATCH", W, lambda n: (group(n), texts(BODY_BYTES, 60, n))),
    Write("patch-100-full", "PATCH", "Full", by_texts),
    Write("patch-100-long", "PATCH", "Long", long_range),
    Write("delete-100-wide", "DELETE", W, lambda n: (group(n), None)),
    Write("clear-100-wide", "DELETE", W, lambda n: (group(n), None), delete="clear"),
    Write("upsert-500-long", "POST", "Long", upsert_long),
    Write("upsert-16-numbers", "POST", "Numbers", by_keys),
    Write("upsert-16-mixed", "POST", "Numbers", partial(by_keys, is_mixed=True)),
    Write("upsert-400-wide", "POST", W, upsert_wide),
    Write("upsert-900-names", "POST", W, upsert_names),
)


def write_worksheets(folder: Path) -> None:
    """Write the CSV files of the worksheets."""
    write_worksheet(folder / f"{WORKSHEET}.csv", SMALL_ROWS)
    names = [wide(at) for at in range(WIDE_COLUMNS)]
    between = ["cell"] * (WIDE_COLUMNS - 2)
    sheets: Mapping[str, tuple[Sequence[str], Iterator[Sequence[object]]]] = {
        "Wide": (names, ([f"v{row}", *between, f"g{row % 5}"] for row in range(WIDE_ROWS))),
        "Full": (names, (["z" * FULL_CHARACTERS] * WIDE_COLUMNS for _ in range(FULL_ROWS))),
        "Long": ("abcd", ([row, f"b{row}", f"c{row}", row % 7] for row in range(LONG_ROWS))),
        "Numbers": (
            [*KEY_NAMES, "v"],
            ([*range(row * 3, row * 3 + KEYS), "old"] for row in range(KEY_ROWS)),
        ),
    }
    for name, (header, rows) in sheets.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)


def main() -> None:
    """Print the table. The exit status is 1 if a goal is missed."""
    options = _options()
    print(f"{surroundings()}; body {BODY_BYTES:,} bytes")
    missed = 0
    print_header(TITLES)
    for shape in SHAPES:
        if not options.shapes or shape.name in options.shapes:
            missed += report_shape(shape, options.at_once)
    print(f"\nLines that miss a goal: {missed}.")
    sys.exit(missed > 0)


def report_shape(shape: Write, at_once: Sequence[int]) -> int:
    """Print the lines of a shape. Returns the number that miss a goal."""
    missed = number = 0
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        folder = Path(directory)
        seed = folder / "seed" / SPREADSHEET
        seed.mkdir(parents=True)
        write_worksheets(seed)
        google = stack.enter_context(emulating(folder))
        config = folder / "config.toml"
        config.write_text(SETTINGS.format(google=google, delete=shape.delete), "utf-8")
        site, small = make_site(config, "paid", "--delete"), make_site(config, "paid")
        running = stack.enter_context(gateway(site))
        others = stack.enter_context(neighbours(running.url, small.headers, SMALL_ROWS))
        for count in at_once:
            _warm(running, site, shape)
            time.sleep(SETTLING_SECONDS)
            before = resident_megabytes(running.pid)
            Path(f"/proc/{running.pid}/clear_refs").write_text("5", "ascii")
            asked = [shape.request(number + at) for at in range(count)]
            others.begin()
            began = time.perf_counter()
            with ThreadPoolExecutor(count) as pool:
                answers = [*pool.map(partial(_answer, running, site, shape.method), asked)]
            seconds = time.perf_counter() - began
            time.sleep(SETTLING_SECONDS)
            observed = others.end()
            megabytes = peak_megabytes(running.pid) - before
            missed += report(shape, count, answers, seconds, observed, megabytes)
            number += count
    return missed


def _warm(running: Running, site: Site, shape: Write) -> None:
    """Read the typed rows into the cache, so that only the write is measured."""
    path = f"/v2/sheets/{shape.sheet.partition('/')[0]}?limit=1&where=%7B%22rowIndex%22%3A2%7D"
    status, body = ask(running.url, "GET", path, site.headers, TIMEOUT_SECONDS)
    if status != 200:
        raise SystemExit(f"GET {path} was answered {status}: {body[:500]!r}")


def _answer(
    running: Running,
    site: Site,
    method: str,
    asked: tuple[str, bytes | None, Mapping[str, str]],
) -> tuple[int, str]:
    """Return status and error code of an answer."""
    path, body, key = asked
    headers = site.headers | {"Content-Type": "application/json", **key}
    status, answer = ask(running.url, method, path, headers, TIMEOUT_SECONDS, body)
    return status, "" if status < 400 else f" {json.loads(answer).get('code')}"


def report(
    shape: Write,
    count: int,
    answers: Sequence[tuple[int, str]],
    seconds: float,
    observed: Observed,
    megabytes: float,
) -> bool:
    """Print the line of an outcome. Returns True if it misses a goal."""
    small, livez = observed.small, observed.livez
    found = {
        "answers": any(status >= 300 and status not in REFUSED for status, _ in answers),
        "others": small.slowest_seconds > MOST_SECONDS.get(count, 0.25) or small.failed > 0,
        "/livez": livez.slowest_seconds > MOST_LIVEZ_SECONDS or livez.failed > 0,
        "memory": megabytes > MOST_MEGABYTES,
    }
    misses = [what for what, is_missed in found.items() if is_missed]
    print_row(
        [
            shape.name,
            f"{count} at once",
            ", ".join(f"{n} x {status}{code}" for (status, code), n in Counter(answers).items()),
            milliseconds(seconds),
            milliseconds(small.slowest_seconds),
            milliseconds(small.p99_seconds),
            milliseconds(livez.slowest_seconds),
            f"{megabytes:+.0f} MB",
            ": ".join([verdict(not misses), *filter(None, [", ".join(misses)])]),
        ]
    )
    return bool(misses)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worst_writes")
    parser.add_argument("--shapes", nargs="+", default=(), choices=[each.name for each in SHAPES])
    parser.add_argument(
        "--at-once", type=int, nargs="+", default=(1, 12), help="numbers of concurrent requests"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
