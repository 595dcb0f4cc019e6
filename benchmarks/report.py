"""Lines of the tables, as Markdown, each printed as soon as its figures are known."""

import os
import platform
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from importlib.metadata import version

PACKAGES = ("sheets-gateway", "uvicorn", "starlette", "msgspec")


@dataclass(frozen=True)
class Line:
    """A line of the table of reads; cells without a value stay blank."""

    what: str
    floor: str = ""
    gateway: str = ""
    ratio: str = ""
    core_ratio: str = ""
    goal: str = ""
    reached: str = ""


TITLES = Line("what", "floor", "gateway", "ratio", "ratio by core time", "goal", "reached")


def print_header(titles: Sequence[str]) -> None:
    print_row(titles)
    print_row(["---", *("--:" for _ in titles[1:])])


def print_line(line: Line) -> None:
    print_row(astuple(line))


def print_row(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def verdict(is_reached: bool) -> str:
    return "yes" if is_reached else "**no**"


def per_second(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.01 else f"{seconds * 1000:.1f} ms"


def surroundings() -> str:
    """Return the date, the machine and the versions of the measurement."""
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    today = datetime.now(UTC).date().isoformat()
    return f"{today}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
