"""Speed of the gateway and of other servers with the same rows.  Usage: python -m benchmarks.peers

All servers run at once on the loopback. In each round wrk measures all of them in turn, with
questions for the same pages in each server's query language; the answers are checked before.
`--peers DIR` names a folder in which the servers are installed permanently; without it they are
installed for this run only. Needs wrk, pip and npm.
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.dialects import GATEWAY, WORKSHEET
from benchmarks.installs import PEERS, install, serving_peer, versions
from benchmarks.load import Effort, Target, find_wrk, race, rate, ratio
from benchmarks.processes import LONG_LIFE, SPREADSHEET, emulator, fetch, gateway, make_site
from benchmarks.questions import Kind, first, right_answer
from benchmarks.report import per_second, print_header, print_row, surroundings, verdict
from benchmarks.sheet import City, make_cities, write_csv

CHECKED = 3
"""Questions of each kind whose answers are checked before the measurement."""
US = "gateway"


@dataclass(frozen=True, kw_only=True)
class PeerLine:
    """A kind of question, and the goals: how many times as fast the gateway must be."""

    what: str
    kind: Kind
    least: Mapping[str, float] = field(default_factory=dict)
    """Goal by server; 1 for a server that is not named."""


LINES = (
    PeerLine(
        what="range + sort + page",
        kind="range",
        least={"Datasette": 10, "ROAPI": 30, "json-server": 300},
    ),
    PeerLine(what="equality", kind="equality"),
    PeerLine(what="single row", kind="row"),
    PeerLine(what="range on one column, order of another", kind="other order"),
    PeerLine(what="50 conditions and text", kind="fifty"),
)


def main() -> None:
    """Print the table of requests per second, and the gateway's ratio to each server."""
    options = _options()
    find_wrk()
    cities = make_cities(options.rows)
    with ExitStack() as stack:
        installed = options.peers or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        install(installed)
        print(f"{surroundings()}; {versions(installed)}")
        print(f"{options.rows:,} rows, {options.rounds} rounds\n")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        effort = Effort(rounds=options.rounds, seconds=options.seconds, folder=folder)
        targets = {US: serve_gateway(stack, folder, cities)}
        for name, peer in PEERS.items():
            data = folder / name
            data.mkdir()
            running = stack.enter_context(serving_peer(peer, installed, data, cities))
            targets[name] = Target(server=running, dialect=peer.dialect)
        for line in LINES:
            check(line.kind, _able(targets, line.kind), cities)
        print_header(("what", US, *PEERS, "goal", "reached"))
        for line in LINES:
            report(line, targets, cities, effort)


def serve_gateway(stack: ExitStack, folder: Path, cities: Sequence[City]) -> Target:
    """Run the gateway in front of the emulator; the gateway reads the worksheet once."""
    write_csv(folder / "seed" / SPREADSHEET / f"{WORKSHEET}.csv", cities)
    google = stack.enter_context(emulator(folder))
    site = make_site(folder, google.url, cache=LONG_LIFE)
    running = stack.enter_context(gateway(site))
    return Target(server=running, dialect=GATEWAY, headers=site.headers)


def check(kind: Kind, targets: Mapping[str, Target], cities: Sequence[City]) -> None:
    """Raise SystemExit unless all servers answer correctly."""
    for question in first(kind, cities, CHECKED):
        right = right_answer(question, cities)
        for name, target in targets.items():
            path = target.dialect.path(question)
            status, body = fetch(target.server.url, path, target.headers)
            if status != 200 or target.dialect.names(body) != right:
                raise SystemExit(f"{name} answered {path} wrong, {status}: {body[:500]!r}")


def report(
    line: PeerLine, targets: Mapping[str, Target], cities: Sequence[City], effort: Effort
) -> None:
    able = _able(targets, line.kind)
    speeds = race(line.kind, able, cities, effort)
    factors = {name: ratio(speeds[US], speeds[name]) for name in able if name != US}
    cells = {name: per_second(rate(each)) for name, each in speeds.items()}
    cells |= {name: f"{cells[name]} ({factor:,.1f} x)" for name, factor in factors.items()}
    is_reached = all(factor >= line.least.get(name, 1) for name, factor in factors.items())
    goal = ", ".join(f">= {least} x" for least in line.least.values()) or "ahead"
    shown = (cells.get(name, "-") for name in (US, *PEERS))
    print_row((line.what, *shown, goal, verdict(is_reached)))


def _able(targets: Mapping[str, Target], kind: Kind) -> dict[str, Target]:
    """Return the servers whose query language can express this kind of question."""
    return {
        name: target for name, target in targets.items() if name == US or kind in PEERS[name].kinds
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How fast other servers answer the same.")
    parser.add_argument(
        "--peers", type=Path, help="folder of the installed servers, created if missing"
    )
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the worksheet")
    parser.add_argument(
        "--rounds", type=int, default=5, help="number of measurements of each figure"
    )
    parser.add_argument("--seconds", type=int, default=2, help="duration of each run of wrk")
    return parser.parse_args()


if __name__ == "__main__":
    main()
