"""The writes of a queue that go to Google in one group."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pytest

from gateway.settings.model import WriteSettings
from gateway.table.header import ColumnGrant
from gateway.worksheets.access import Access
from gateway.worksheets.write_queue import (
    MAX_BYTES,
    MAX_ROWS,
    SHARE,
    BoundedQueue,
    ExclusiveTask,
    Waiting,
    memory_limit,
)
from gateway.worksheets.writes import Write

ROOM = WriteSettings(
    max_waiting_rows=9 * MAX_ROWS,
    max_waiting_rows_per_key=9 * MAX_ROWS,
    max_waiting_bytes_per_worksheet=9 * SHARE * MAX_BYTES,
)


@dataclass(kw_only=True, eq=False)
class Named(Waiting):
    """A waiting write with a name for the test."""

    name: str


def create(name: str, key: str = "k", *, rows: int = 1, size: int = 1) -> Named:
    write = Write.create(rows=({"n": "x" * size},) * rows)
    return Named(key_id=key, write=write, name=name)


def update(name: str, key: str = "k", *, row: int = 2, size: int = 1) -> Named:
    write = Write.update(row=row, fields={"n": "x" * size})
    return Named(key_id=key, write=write, name=name)


def granted(waiting: Named, *fields: str, titles: frozenset[str] | None = None) -> Named:
    """The same write of a key that uses these fields only and sees these worksheets."""
    access = Access(key_id=waiting.key_id, titles=titles, columns=ColumnGrant(frozenset(fields)))
    assert not isinstance(waiting.write, ExclusiveTask)
    waiting.write = replace(waiting.write, access=access)
    return waiting


def groups(*line: Named) -> list[str]:
    """Names in each group, until the queue is empty."""
    queue = joined(line)
    taken: list[str] = []
    while queue.turns:
        taken.append("".join(each.name for each in queue.take_group()))
    return taken


def joined(line: Iterable[Named]) -> BoundedQueue[Named]:
    """A queue with these writes."""
    queue: BoundedQueue[Named] = BoundedQueue(ROOM, memory_limit(9 * SHARE * MAX_BYTES))
    for each in line:
        queue.join(each)
    return queue


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param([create("a")], ["a"], id="one"),
        pytest.param([create(name) for name in "abc"], ["abc"], id="all creates"),
        pytest.param([update(n, row=ord(n)) for n in "abc"], ["abc"], id="all updates"),
        pytest.param(
            [create("a"), update("b", "l"), create("c", "m"), update("d", "n", row=3)],
            ["ac", "bd"],
            id="each kind by itself",
        ),
        pytest.param(
            [update("a"), create("b", "l"), update("c", "m", row=3)],
            ["ac", "b"],
            id="the first says the kind",
        ),
        pytest.param(
            [create("a"), update("b"), create("c"), create("d", "l")],
            ["acd", "b"],
            id="a key's updates do not hold its creates",
        ),
        pytest.param(
            [update("a"), update("b", "l"), update("c", "m")],
            ["a", "b", "c"],
            id="a row is updated once",
        ),
        pytest.param(
            [update("a"), update("b", "l"), update("c", "l", row=3), update("d", "m", row=4)],
            ["ad", "bc"],
            id="behind an update of the same row a key waits",
        ),
        pytest.param(
            [create("a"), granted(create("b", "l"), "n", titles=frozenset({"Cities"}))],
            ["ab"],
            id="creates of keys with other grants",
        ),
        pytest.param(
            [granted(update("a"), "n"), granted(update("b", "l", row=3), "m"), update("c", row=4)],
            ["abc"],
            id="updates of keys with other grants",
        ),
    ],
)
def test_who_goes_with_whom(line: Iterable[Named], expected: list[str]) -> None:
    """The first write goes, and all writes that can go with it, in order."""
    assert groups(*line) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([MAX_ROWS, 1], ["a", "b"], id="full"),
        pytest.param([MAX_ROWS - 1, 1, 1], ["ab", "c"], id="just full"),
        pytest.param([1, MAX_ROWS, 1], ["ac", "b"], id="a large one waits"),
        pytest.param([MAX_ROWS + 1, 1], ["a", "b"], id="larger than any group"),
    ],
)
def test_rows_are_bounded(rows: list[int], expected: list[str]) -> None:
    """A group has a maximum number of rows; a write of several rows is never split."""
    line = [create(name, name, rows=count) for name, count in zip("abc", rows, strict=False)]

    assert groups(*line) == expected


def test_large_write_holds_its_key_back() -> None:
    """Later writes of the same key wait for a write that does not fit."""
    line = [create("a"), create("b", rows=MAX_ROWS), create("c"), create("d", "l")]

    assert groups(*line) == ["ad", "b", "c"]


@pytest.mark.parametrize(
    ("size", "expected"),
    [(MAX_BYTES // 2 - 10, ["ab", "c"]), (MAX_BYTES // 2, ["a", "b", "c"]), (MAX_BYTES, None)],
    ids=["two fit", "one fits", "none fits"],
)
def test_bytes_are_bounded(size: int, expected: list[str] | None) -> None:
    """A group has a maximum size in bytes; a larger write goes alone."""
    creates = [create(name, name, size=size) for name in "abc"]
    updates = [update(name, name, row=ord(name), size=size) for name in "abc"]

    assert groups(*creates) == (expected or ["a", "b", "c"])
    assert groups(*updates) == (expected or ["a", "b", "c"])


def test_bytes_are_those_of_utf_8() -> None:
    """UTF-8 bytes count, not characters."""
    line = [
        Named(
            key_id="k",
            write=Write.create(rows=({"n": "€" * (MAX_BYTES // 4)},)),
            name=name,
        )
        for name in "ab"
    ]

    assert groups(*line) == ["a", "b"]


@pytest.mark.parametrize(
    ("write", "count"),
    [(Write.create(rows=({"n": 1},) * 3), 3), (Write.update(row=7, fields={"n": 1, "m": 2}), 1)],
    ids=["create", "update"],
)
def test_rows_of_a_write(write: Write, count: int) -> None:
    """A create counts its rows, an update counts one."""
    assert write.row_count == count


def test_a_line_keeps_what_is_not_taken() -> None:
    """Writes that stay in the queue keep their order."""
    line = [create("a"), update("b"), create("c"), create("d", "l"), update("e", "m", row=3)]

    queue = joined(line)
    group = queue.take_group()

    assert [each.name for each in group] == ["a", "c", "d"]
    assert [each.name for each in queue.take_group()] == ["b", "e"]
