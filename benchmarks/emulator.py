"""Speed of the emulator, as ratios within one run.  Usage: python benchmarks/emulator.py

A process serves one worksheet of 100,000 rows and 10 columns on the loopback. Its times are divided
by the time in which msgspec encodes the same answer. Times are medians, and memory is the maximum
of the process.
"""

import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from google.auth.transport.requests import AuthorizedSession
from google.oauth2.service_account import Credentials

ROWS = (1_000, 100_000)
ROUNDS = 7
SCOPES = ["https://www.googleapis.com/auth/spreadsheets"]
RENDERINGS = ("FORMATTED_VALUE", "UNFORMATTED_VALUE")
DIMENSIONS = ("ROWS", "COLUMNS")


def main() -> None:
    """Print the table."""
    for rows in ROWS:
        with tempfile.TemporaryDirectory() as directory:
            write_seed(Path(directory) / "seed", rows)
            with serving(Path(directory)) as (process, url, session):
                print(f"{rows:,} rows x 10 columns")
                report_reads(session, f"{url}/v4/spreadsheets/book/values/")
                report_appends(session, f"{url}/v4/spreadsheets/book/values/Data:append")
                print(f"  memory at most {peak_megabytes(process.pid):.0f} MB")


def write_seed(directory: Path, rows: int) -> None:
    """Write the CSV of a worksheet with integers, decimals, texts and booleans."""
    chance = random.Random(1)  # noqa: S311 - the same worksheet in each run
    path = directory / "book" / "Data.csv"
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(f"column {number}" for number in range(10)) + "\n")
        for row in range(1, rows):
            city, state = f"City {row}", f"State {row % 50}"
            price, share = chance.randint(0, 10**8) / 100, chance.random()
            counts = f"{row},{chance.randint(0, 10**6)},{row % 100}"
            file.write(f"{city},{state},{counts},{price},{share},true,x{row},y{row % 7}\n")


@contextmanager
def serving(directory: Path) -> Iterator[tuple["subprocess.Popen[str]", str, AuthorizedSession]]:
    """Run the emulator as a process, and yield it with its URL and an authorized session."""
    credentials = directory / "credentials.json"
    command = [sys.executable, "-m", "gateway", "emulator", "--port", "0"]
    options = ["--seed", str(directory / "seed"), "--credentials", str(credentials)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            yield process, _url(process), _session(credentials)
        finally:
            process.kill()


def report_reads(session: AuthorizedSession, url: str) -> None:
    """Print the time to read all cells over HTTP, and its ratio to encoding them."""
    for rendering in RENDERINGS:
        for dimension in DIMENSIONS:
            query = {"valueRenderOption": rendering, "majorDimension": dimension}
            rounds = [time_read(session, f"{url}Data", query) for _ in range(ROUNDS)]
            reads, encodings, sizes = zip(*rounds, strict=True)
            read, encoding = statistics.median(reads), statistics.median(encodings)
            print(
                f"  values.get {rendering} {dimension}: {read / encoding:.1f} x the encoding "
                f"({read * 1000:.0f} ms, {sizes[0] / 1e6:.1f} MB)"
            )


def time_read(
    session: AuthorizedSession, url: str, query: dict[str, str]
) -> tuple[float, float, int]:
    """Return seconds of a read, seconds to encode its answer, and the bytes of the answer."""
    headers = {"Accept-Encoding": "identity"}
    start = time.perf_counter()
    body = session.get(url, params={**query, "prettyPrint": "false"}, headers=headers).content
    read_seconds = time.perf_counter() - start
    answer = msgspec.json.decode(body)
    start = time.perf_counter()
    msgspec.json.encode(answer)
    return read_seconds, time.perf_counter() - start, len(body)


def report_appends(session: AuthorizedSession, url: str) -> None:
    """Print the time to append one row below the table."""
    for option in ("OVERWRITE", "INSERT_ROWS"):
        query = {"valueInputOption": "RAW", "insertDataOption": option, "prettyPrint": "false"}
        times = [time_append(session, url, query) for _ in range(50)]
        print(f"  values.append {option}: {statistics.median(times) * 1000:.2f} ms")


def time_append(session: AuthorizedSession, url: str, query: dict[str, str]) -> float:
    """Return the seconds of an append."""
    start = time.perf_counter()
    session.post(url, params=query, data=b'{"values": [["Oslo", "Norway", 1]]}').raise_for_status()
    return time.perf_counter() - start


def peak_megabytes(pid: int) -> float:
    """Return the maximum memory of a process in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else float("nan")


def _url(process: "subprocess.Popen[str]") -> str:
    for line in process.stdout or ():
        found = re.search(r" on (http://\S+[0-9])", line)
        if found:
            return found[1]
    raise SystemExit("The emulator did not start.")


def _session(credentials: Path) -> AuthorizedSession:
    account = Credentials.from_service_account_file(  # type: ignore[no-untyped-call]
        str(credentials), scopes=SCOPES
    )
    return AuthorizedSession(account)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
