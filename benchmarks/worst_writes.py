"""Other keys beside the largest writes.  Usage: python -m benchmarks.worst_writes

    --shapes patch-8mib upsert-16-keys, --at-once 1 12: see --help

The gateway is a process in front of the emulator, as a user runs it, started anew for each shape.
One key sends a write at its limits, once and 12 times at once; another key's small query and /livez
are asked 50 times a second each, from a process of their own. The worksheets: `Wide` has 900
columns and 500 rows, `Long` 4 columns and 100,000 rows, `Full` 900 columns of texts of 100
characters, `Numbers` 16 columns of numbers.

A refusal is a good answer: 400, 413, 429 or 503, never 500, and never 409: the writes here meet
nobody else. Memory is the most that the process held meanwhile, less what it held before; the rows
are in memory before. The status is 1 if a goal is missed.
"""

import argparse
import csv
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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
FULL_ROWS, FULL_CHARACTERS = 110, 100
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


@dataclass(frozen=True, kw_only=True)
class Write:
    """A request at its limits; `make` gives query and body by a number, for different requests."""

    name: str
    method: str
    sheet: str
    make: Callable[[int], tuple[str, object]]
    delete: str = "shift"

    def request(self, number: int) -> tuple[str, bytes | None]:
        """Path and body."""
        query, body = self.make(number)
        path = f"/v2/sheets/{self.sheet}"
        return (
            f"{path}{query}",
            None if body is None else json.dumps(body, separators=(",", ":")).encode(),
        )


def wide(number: int) -> str:
    return f"f{number}"


def row_of_texts(bytes_: int, columns: int, mark: object) -> dict[str, str]:
    """Fields of the first columns that take so many bytes as JSON."""
    length = max(1, bytes_ // columns - 8)
    return {wide(at): f"{mark}{'x' * length}"[:length] for at in range(columns)}


def where(**conditions: object) -> str:
    return f"?where={quote(json.dumps(conditions))}"


def all_wide(number: int) -> str:
    """100 rows of `Wide`, by the column that no shape writes."""
    return where(**{wide(WIDE_COLUMNS - 1): f"g{number % 5}"})


def listed(rows: int, columns: int, mark: object, *, step: int = 1) -> list[dict[str, object]]:
    length = max(1, BODY_BYTES // rows // columns - 9)
    return [
        {"rowIndex": 2 + row}
        | {
            wide(at * step): f"{mark}-{row}-{'y' * length}"[: max(length, 4)]
            for at in range(columns)
        }
        for row in range(rows)
    ]


def keyed(rows: int, keys: int, first: int) -> list[dict[str, object]]:
    return [{f"k{at}": first + row * 3 + at for at in range(keys)} for row in range(rows)]


SHAPES: Sequence[Write] = (
    Write(name="create-500-wide", method="POST", sheet="Wide",
          make=lambda n: ("", [row_of_texts(BODY_BYTES // 500, 60, f"{n}-{row}") for row in range(500)])),
    Write(name="list-500x1-wide", method="PATCH", sheet="Wide",
          make=lambda n: ("", listed(500, 1, n))),
    Write(name="list-500x100-wide", method="PATCH", sheet="Wide",
          make=lambda n: ("", listed(500, 100, n))),
    Write(name="list-100x400-alternate", method="PATCH", sheet="Wide",
          make=lambda n: ("", listed(100, 400, n, step=2))),
    Write(name="list-500x2-hull", method="PATCH", sheet="Wide",
          make=lambda n: ("", listed(500, 2, n, step=897))),
    Write(name="list-100-full", method="PATCH", sheet="Full",
          make=lambda n: ("", listed(100, 2, n))),
    Write(name="put-row-full", method="PUT", sheet="Full/5",
          make=lambda n: ("", row_of_texts(BODY_BYTES, 899, n))),
    Write(name="patch-4kb-wide", method="PATCH", sheet="Wide",
          make=lambda n: (all_wide(n), row_of_texts(4_000, 200, n))),
    Write(name="patch-899-wide", method="PATCH", sheet="Wide",
          make=lambda n: (all_wide(n), row_of_texts(70_000, 899, n))),
    Write(name="patch-8mib-wide", method="PATCH", sheet="Wide",
          make=lambda n: (all_wide(n), row_of_texts(80_000, 60, n))),
    Write(name="patch-100mib-wide", method="PATCH", sheet="Wide",
          make=lambda n: (all_wide(n), row_of_texts(BODY_BYTES, 60, n))),
    Write(name="patch-100-full", method="PATCH", sheet="Full",
          make=lambda n: (where(f899={"$gt": ""}, f898={"$gt": ""}), {"f0": f"n{n}"})),
    Write(name="patch-100-long", method="PATCH", sheet="Long",
          make=lambda n: (where(a={"$gte": n * 100, "$lt": n * 100 + 100}), {"b": f"n{n}"})),
    Write(name="delete-100-wide", method="DELETE", sheet="Wide",
          make=lambda n: (all_wide(n), None)),
    Write(name="clear-100-wide", method="DELETE", sheet="Wide", delete="clear",
          make=lambda n: (all_wide(n), None)),
    Write(name="upsert-500-long", method="POST", sheet="Long",
          make=lambda n: ("?on_conflict=a,c", [{"a": 250 * n + row, "c": f"c{250 * n + row}", "b": f"n{n}"}
                                              for row in range(500)])),
    Write(name="upsert-16-numbers", method="POST", sheet="Numbers",
          make=lambda n: ("?on_conflict=" + ",".join(f"k{at}" for at in range(KEYS)),
                          [row | {"v": f"n{n}"} for row in keyed(500, KEYS, n * 1500)])),
    Write(name="upsert-16-mixed", method="POST", sheet="Numbers",
          make=lambda n: ("?on_conflict=" + ",".join(f"k{at}" for at in range(KEYS)),
                          [{key: (value if (at >> int(key[1:])) & 1 else str(value))
                            for key, value in row.items()} | {"v": f"n{n}"}
                           for at, row in enumerate(keyed(500, KEYS, n * 1500))])),
    Write(name="upsert-500-wide", method="POST", sheet="Wide",
          make=lambda n: ("?on_conflict=f899,f0",
                          [{"f0": f"v{row}", "f899": f"g{row % 5}"} | {wide(at): f"n{n}" for at in range(1, 100)}
                           for row in range(400)])),
    Write(name="upsert-2650-names", method="POST", sheet="Wide",
          make=lambda n: ("?on_conflict=" + ",".join(_name(at) for at in range(2_650)),
                          [{"a": n}] * 500)),
)  # fmt: skip


def _name(at: int) -> str:
    digits = "abcdefghijklmnopqrst"
    return digits[at // 400] + digits[at // 20 % 20] + digits[at % 20]


def write_worksheets(folder: Path) -> None:
    """The seeds of the worksheets."""
    write_worksheet(folder / f"{WORKSHEET}.csv", SMALL_ROWS)
    names = [wide(at) for at in range(WIDE_COLUMNS)]
    sheets: Mapping[str, tuple[Sequence[str], Iterator[Sequence[object]]]] = {
        "Wide": (
            names,
            ([f"v{row}"] + ["cell"] * (WIDE_COLUMNS - 2) + [f"g{row % 5}"] for row in range(WIDE_ROWS)),
        ),
        "Full": (names, (["z" * FULL_CHARACTERS] * WIDE_COLUMNS for _ in range(FULL_ROWS - 10))),
        "Long": (["a", "b", "c", "d"], ([row, f"b{row}", f"c{row}", row % 7] for row in range(LONG_ROWS))),
        "Numbers": (
            [*(f"k{at}" for at in range(KEYS)), "v"],
            ([row * 3 + at for at in range(KEYS)] + ["old"] for row in range(KEY_ROWS)),
        ),
    }  # fmt: skip
    for name, (header, rows) in sheets.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)


def main() -> None:
    """Print the table; the status is 1 if a goal is missed."""
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
    """The lines of a shape; how many of them miss a goal."""
    missed, number = 0, 0
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        write_worksheets_into = folder / "seed" / SPREADSHEET
        write_worksheets_into.mkdir(parents=True)
        write_worksheets(write_worksheets_into)
        with emulating(folder) as google:
            config = folder / "config.toml"
            config.write_text(SETTINGS.format(google=google, delete=shape.delete), "utf-8")
            site, small = make_site(config, "paid", "--delete"), make_site(config, "paid")
            with (
                gateway(site) as running,
                neighbours(running.url, small.headers, SMALL_ROWS) as others,
            ):
                for count in at_once:
                    _warm(running, site, shape)
                    time.sleep(SETTLING_SECONDS)
                    before = resident_megabytes(running.pid)
                    Path(f"/proc/{running.pid}/clear_refs").write_text("5", "ascii")
                    others.begin()
                    began = time.perf_counter()
                    with ThreadPoolExecutor(count) as pool:
                        asked = [shape.request(number + at) for at in range(count)]
                        answers = [*pool.map(partial(_answer, running, site, shape.method), asked)]
                    seconds = time.perf_counter() - began
                    time.sleep(SETTLING_SECONDS)
                    observed = others.end()
                    megabytes = peak_megabytes(running.pid) - before
                    missed += report(shape, count, answers, seconds, observed, megabytes)
                    number += count
    return missed


def _warm(running: Running, site: Site, shape: Write) -> None:
    """Have the rows in memory with their types, so that only the write is seen."""
    path = f"/v2/sheets/{shape.sheet.partition('/')[0]}?limit=1&where=%7B%22rowIndex%22%3A2%7D"
    status, body = ask(running.url, "GET", path, site.headers, TIMEOUT_SECONDS)
    if status != 200:
        raise SystemExit(f"GET {path} was answered {status}: {body[:500]!r}")


def _answer(
    running: Running, site: Site, method: str, asked: tuple[str, bytes | None]
) -> tuple[int, str]:
    """Status and code of an answer."""
    path, body = asked
    headers = site.headers | {"Content-Type": "application/json"}
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
    """The line of an outcome; whether it misses a goal."""
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
    parser.add_argument("--at-once", type=int, nargs="+", default=(1, 12), help="requests")
    return parser.parse_args()


if __name__ == "__main__":
    main()
