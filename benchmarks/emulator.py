"""How fast the emulator answers, in ratios of one run.  Usage: python benchmarks/emulator.py

A process serves one worksheet of 100,000 rows and 10 columns over the loopback; the figure that
its times are measured by is the time that msgspec takes to encode the same answer. Times are
medians, memory is the most that the process ever held.
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
    """Whole and broken numbers, texts that repeat and texts that do not, booleans."""
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
    """The emulator as a process of its own, and a session with its credentials."""
    credentials = directory / "credentials.json"
    command = [sys.executable, "-m", "gateway", "emulator", "--port", "0"]
    options = ["--seed", str(directory / "seed"), "--credentials", str(credentials)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            yield process, _url(process), _session(credentials)
        finally:
            process.kill()


def report_reads(session: AuthorizedSession, url: str) -> None:
    """Everything, uncompressed and not indented, over HTTP, against the encoding alone."""
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
    """Seconds of a read, seconds of encoding its answer, and the answer's bytes."""
    headers = {"Accept-Encoding": "identity"}
    start = time.perf_counter()
    body = session.get(url, params={**query, "prettyPrint": "false"}, headers=headers).content
    read_seconds = time.perf_counter() - start
    answer = msgspec.json.decode(body)
    start = time.perf_counter()
    msgspec.json.encode(answer)
    return read_seconds, time.perf_counter() - start, len(body)


def report_appends(session: AuthorizedSession, url: str) -> None:
    """One row under the table, again and again."""
    for option in ("OVERWRITE", "INSERT_ROWS"):
        query = {"valueInputOption": "RAW", "insertDataOption": option, "prettyPrint": "false"}
        times = [time_append(session, url, query) for _ in range(50)]
        print(f"  values.append {option}: {statistics.median(times) * 1000:.2f} ms")


def time_append(session: AuthorizedSession, url: str, query: dict[str, str]) -> float:
    """Seconds of an append."""
    start = time.perf_counter()
    session.post(url, params=query, data=b'{"values": [["Oslo", "Norway", 1]]}').raise_for_status()
    return time.perf_counter() - start


def peak_megabytes(pid: int) -> float:
    """The most memory that a process ever held."""
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
