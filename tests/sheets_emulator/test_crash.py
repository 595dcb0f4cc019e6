"""An emulator that is killed while clients write."""

import json
import random
import shutil
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path

from tests.journeys.process import Process, running
from tests.sheets_emulator.crash import (
    LOG,
    PATIENCE_SECONDS,
    SHARED,
    SHARED_SHEET_ID,
    Writer,
    connected,
    log_problems,
)

WRITERS = 4
ROUNDS = 5
FEWEST_WRITES, MOST_WRITES = 205, 235  # acknowledged writes of all writers before a kill
FEWEST_ACKNOWLEDGED = 1000
LAST_SECONDS = 0.005  # maximum delay of a kill; longer than one write
SEED = 20240229


def test_kills_lose_no_acknowledged_write_and_leave_no_partial_write(tmp_path: Path) -> None:
    """After each of 5 kills, all acknowledged writes are there, and no write is there partly."""
    chances = [random.Random(SEED + index) for index in range(WRITERS + 1)]  # noqa: S311 - no secret
    numbers = count(1)
    acknowledged = threading.Semaphore(0)
    writers = [
        Writer(index=index, chance=chance, numbers=numbers, acknowledged=acknowledged)
        for index, chance in enumerate(chances[:WRITERS])
    ]
    spreadsheet_id = made(tmp_path)
    problems: list[str] = []
    for _ in range(ROUNDS):
        with running(tmp_path / "log", *arguments(tmp_path)) as server:
            write_until_killed(server, tmp_path, spreadsheet_id, writers, chances[-1])
        problems += integrity(tmp_path / "book.db")
        with running(tmp_path / "log", *arguments(tmp_path)) as server:
            problems += found_problems(server, tmp_path, spreadsheet_id, writers)

    assert problems == []
    assert sum(writer.acknowledged_count for writer in writers) >= FEWEST_ACKNOWLEDGED
    assert min(len(writer.logged) for writer in writers) > ROUNDS


def arguments(folder: Path) -> list[str]:
    """Command-line arguments of the emulator."""
    return ["emulator", "--port", "0", "--db", str(folder / "book.db")]


def made(folder: Path) -> str:
    """Create the file and a spreadsheet with the worksheets of the writers. Return its id."""
    ids = {f"W{index}": index for index in range(WRITERS)}
    sheets = [
        {"properties": {"sheetId": sheet_id, "title": title}}
        for title, sheet_id in {**ids, SHARED: SHARED_SHEET_ID, LOG: SHARED_SHEET_ID + 1}.items()
    ]
    credentials = ["--credentials", str(folder / "credentials.json")]
    with running(folder / "log", *arguments(folder), *credentials) as server:
        client = connected(server.url, account(folder))
        with closing(client.connection):
            answer = client.send("POST", "", {"sheets": sheets})
            client.spreadsheet_id = answer["spreadsheetId"]
            header = {"values": [["number"] * 3]}
            client.send("PUT", f"/values/{LOG}!A1?valueInputOption=RAW", header)
    return client.spreadsheet_id


def account(folder: Path) -> dict[str, str]:
    """The credentials that the first start wrote."""
    read: dict[str, str] = json.loads((folder / "credentials.json").read_text(encoding="utf-8"))
    return read


def write_until_killed(
    server: Process,
    folder: Path,
    spreadsheet_id: str,
    writers: Sequence[Writer],
    chance: random.Random,
) -> None:
    """Let all writers write, and kill the server after a random number of writes."""
    clients = [connected(server.url, account(folder), spreadsheet_id) for _ in writers]
    threads = [
        threading.Thread(target=writer.write_on, args=(client,))
        for writer, client in zip(writers, clients, strict=True)
    ]
    for thread in threads:
        thread.start()
    ticks = range(chance.randint(FEWEST_WRITES, MOST_WRITES))
    is_writing = all(writers[0].acknowledged.acquire(timeout=PATIENCE_SECONDS) for _ in ticks)
    killer = threading.Timer(chance.uniform(0, LAST_SECONDS), server.process.kill)
    killer.start()
    for thread in (killer, *threads):
        thread.join()

    assert is_writing, server.log.read_text()


def integrity(db: Path) -> list[str]:
    """Problems that SQLite's integrity check finds in a copy of the file."""
    copy = db.parent / "copy" / db.name
    copy.parent.mkdir(exist_ok=True)
    for path in (db, db.with_name(f"{db.name}-wal")):
        shutil.copy(path, copy.parent)
    with closing(sqlite3.connect(copy)) as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
    return [] if found == [("ok",)] else [str(found)]


def found_problems(
    server: Process, folder: Path, spreadsheet_id: str, writers: Sequence[Writer]
) -> list[str]:
    """Missing and unexpected cells after the kill. Writers then continue from these cells."""
    client = connected(server.url, account(folder), spreadsheet_id)
    with closing(client.connection):
        problems = [each for writer in writers for each in writer.problems(client)]
        problems += log_problems(client, writers)
    for writer in writers:
        writer.under_way = ("", 0)
    return problems
