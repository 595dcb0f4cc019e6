"""The servers that the gateway is compared with: installation, data and start.

Each server is configured for speed, as its documentation says. Datasette opens an immutable SQLite
file with indexes and known row counts. ROAPI and json-server keep the table in memory. Datasette
has a time limit long enough for its slowest query.
"""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from benchmarks.dialects import DATABASE, DATASETTE, JSON_SERVER, ROAPI, TABLE, Dialect
from benchmarks.processes import HOST, Running, free_port, serving
from benchmarks.questions import Kind
from benchmarks.sheet import FIELDS, FIRST_ROW, City, write_numbered_csv

INSTALL_SECONDS = 300
JSON_SERVER_PACKAGE = "json-server@0.17.4"
INDEXED = ("name", "population", "area", "elevation")


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A server to compare: its query language, data, command, and supported kinds of questions."""

    dialect: Dialect
    kinds: frozenset[Kind]
    write_data: Callable[[Path, Path, Sequence[City]], None]
    """Writes the rows; arguments are the installation folder, a data folder and the rows."""
    command: Callable[[Path, Path, int], Sequence[str]]
    """Returns the start command; arguments are both folders and a port."""
    ready_path: str


@contextmanager
def serving_peer(
    peer: Peer, installed: Path, data: Path, cities: Sequence[City]
) -> Iterator[Running]:
    """Run a server with the rows as a process."""
    peer.write_data(installed, data, cities)
    port = free_port()
    command = peer.command(installed, data, port)
    with serving(command, port, peer.ready_path, log=data / "peers.log") as running:
        yield running


def install(folder: Path) -> None:
    """Install all servers into a folder, unless they exist there."""
    if not (folder / "venv").exists():
        _run(sys.executable, "-m", "venv", str(folder / "venv"))
        _run(str(folder / "venv/bin/pip"), "install", "--quiet", "datasette", "roapi")
    if not (folder / "node_modules").exists():
        _run("npm", "install", "--silent", "--prefix", str(folder), JSON_SERVER_PACKAGE)


def versions(folder: Path) -> str:
    """Return the versions of the installed servers."""
    said = [_run(str(folder / "venv/bin" / name), "--version") for name in ("datasette", "roapi")]
    return ", ".join([*said, f"json-server {_run(str(_json_server(folder)), '--version')}"])


def _run(*command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except FileNotFoundError as error:
        raise SystemExit(f"{command[0]} is missing.") from error
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout.strip()


def _write_sqlite(installed: Path, data: Path, cities: Sequence[City]) -> None:
    file = data / f"{DATABASE}.db"
    connection = sqlite3.connect(file)
    with connection:
        columns = ", ".join(f"{name} {_SQL_TYPES.get(name, 'text')}" for name in FIELDS)
        connection.execute(f"create table {TABLE} (id integer primary key, {columns})")
        marks = ", ".join("?" for _ in range(len(FIELDS) + 1))
        rows = ((row, *astuple(city)) for row, city in enumerate(cities, FIRST_ROW))
        connection.executemany(f"insert into {TABLE} values ({marks})", rows)  # noqa: S608
        for name in INDEXED:
            connection.execute(f"create index by_{name} on {TABLE} ({name})")
        connection.execute("analyze")
    connection.close()
    counts = str(data / "counts.json")
    _run(str(installed / "venv/bin/datasette"), "inspect", str(file), "--inspect-file", counts)


_SQL_TYPES: Mapping[str, str] = {
    "population": "integer",
    "area": "real",
    "elevation": "integer",
    "capital": "integer",
}


def _serve_sqlite(installed: Path, data: Path, port: int) -> Sequence[str]:
    counts = ["--inspect-file", str(data / "counts.json")]
    files = ["--nolock", "-i", str(data / f"{DATABASE}.db"), *counts]
    options = {"sql_time_limit_ms": "60000", "allow_facet": "off", "suggest_facets": "off"}
    settings = [part for each in options.items() for part in ("--setting", *each)]
    address = ["--host", HOST, "--port", str(port)]
    return [str(installed / "venv/bin/datasette"), "serve", *files, *address, *settings]


def _write_csv(_: Path, data: Path, cities: Sequence[City]) -> None:
    write_numbered_csv(data / f"{TABLE}.csv", cities)
    option = {"format": "csv", "use_memory_table": True}
    table = {"name": TABLE, "uri": str(data / f"{TABLE}.csv"), "option": option}
    (data / "roapi.yml").write_text(json.dumps({"tables": [table]}), encoding="utf-8")


def _serve_csv(installed: Path, data: Path, port: int) -> Sequence[str]:
    addresses = ["--addr-http", f"{HOST}:{port}", "--addr-postgres", f"{HOST}:{free_port()}"]
    return [str(installed / "venv/bin/roapi"), "--config", str(data / "roapi.yml"), *addresses]


def _write_json(_: Path, data: Path, cities: Sequence[City]) -> None:
    rows = [{"id": row, **asdict(city)} for row, city in enumerate(cities, FIRST_ROW)]
    (data / "db.json").write_text(json.dumps({TABLE: rows}), encoding="utf-8")


def _serve_json(installed: Path, data: Path, port: int) -> Sequence[str]:
    address = ["--host", HOST, "--port", str(port)]
    return [str(_json_server(installed)), "--quiet", *address, str(data / "db.json")]


def _json_server(installed: Path) -> Path:
    return installed / "node_modules/.bin/json-server"


PEERS: Mapping[str, Peer] = {
    "Datasette": Peer(
        dialect=DATASETTE,
        kinds=frozenset({"range", "equality", "row", "other order", "fifty"}),
        write_data=_write_sqlite,
        command=_serve_sqlite,
        ready_path="/-/versions.json",
    ),
    "ROAPI": Peer(
        dialect=ROAPI,
        kinds=frozenset({"range", "equality", "row", "other order"}),
        write_data=_write_csv,
        command=_serve_csv,
        ready_path=f"/api/tables/{TABLE}?limit=1",
    ),
    "json-server": Peer(
        dialect=JSON_SERVER,
        kinds=frozenset({"range", "equality", "row", "other order"}),
        write_data=_write_json,
        command=_serve_json,
        ready_path=f"/{TABLE}/{FIRST_ROW}",
    ),
}
