"""Limits of a worksheet's write queue, and the order of keys' turns."""

from collections.abc import Mapping

import pytest

from gateway.errors import QueueFull
from gateway.settings.model import WriteSettings
from gateway.worksheets.write_queue import (
    MAX_ROWS,
    SHARE,
    BoundedQueue,
    ExclusiveTask,
    Waiting,
    memory_limit,
)
from gateway.worksheets.writes import Results, Write

CLIENTS = 96
LARGE = "x" * 100_000
ROOM_FOR_ALL: Mapping[str, int] = {
    "max_waiting_bytes_per_worksheet": SHARE * 350_000,
    "max_waiting_bytes": 100 * SHARE * 350_000,
}


async def nothing() -> Results:
    return ()


def create(key: str, *, rows: int = 1, text: str = "x") -> Waiting:
    return Waiting(key_id=key, write=Write.create(rows=({"n": text},) * rows))


def update(key: str, *, row: int) -> Waiting:
    return Waiting(key_id=key, write=Write.update(row=row, fields={"n": "x"}))


def made(*waiting: Waiting, **settings: int) -> BoundedQueue[Waiting]:
    """A queue with its own memory limit and these writes."""
    chosen = WriteSettings.model_validate(settings)
    line: BoundedQueue[Waiting] = BoundedQueue(chosen, memory_limit(chosen.max_waiting_bytes))
    for each in waiting:
        line.join(each)
    return line


def joined(line: BoundedQueue[Waiting], *waiting: Waiting) -> int:
    """Number of accepted writes."""
    return sum(is_let_in(line, each) for each in waiting)


def is_let_in(line: BoundedQueue[Waiting], waiting: Waiting) -> bool:
    try:
        line.join(waiting)
    except QueueFull:
        return False
    return True


def groups(line: BoundedQueue[Waiting]) -> list[str]:
    """The keys of each group, until the queue is empty."""
    taken = []
    while line.turns:
        taken.append("".join(each.key_id for each in line.take_group()))
    return taken


def test_a_key_keeps_no_other_from_waiting() -> None:
    """However much one key sends, writes of each other key are accepted, a second one, too."""
    line = made(create("a", rows=MAX_ROWS))
    refused = [joined(line, create("a", rows=MAX_ROWS)), joined(line, create("a"))]
    others = joined(line, *(create(key) for key in "bcdbcd"))

    assert refused == [0, 0]
    assert others == 6


def test_full_queue_gives_a_retry_time() -> None:
    """A full queue refuses a write as not applied, with a time to retry."""
    line = made(create("a", rows=MAX_ROWS))

    with pytest.raises(QueueFull) as caught:
        line.join(create("a"))
    assert (caught.value.outcome, caught.value.retry_after_seconds) == ("not_applied", 5)


def test_a_crowd_of_one_key_is_let_in() -> None:
    """Many clients with one key are accepted, such as the visitors of a web page."""
    line = made(*(create("a") for _ in range(CLIENTS)))

    assert groups(line) == ["a" * CLIENTS]


def test_a_key_with_nothing_here_is_let_in_above_the_bound_of_rows() -> None:
    """In a queue full of many keys, each other key can have one waiting write."""
    line = made(*(create(key, rows=3) for key in "ab"), max_waiting_rows=6)

    assert joined(line, create("a")) == 0
    assert joined(line, create("c"), create("c"), create("d")) == 2


def test_what_left_makes_room() -> None:
    """A write that was sent or cancelled frees its space in the queue."""
    first, second = create("a", rows=MAX_ROWS), create("b")
    line = made(first, second)
    line.take_group()
    again = joined(line, create("a", rows=MAX_ROWS))
    has_left = [line.leave(second), line.leave(second), line.leave(first)]

    assert again == 1
    assert has_left == [True, False, False]
    assert groups(line) == ["a"]


def test_keys_take_turns() -> None:
    """Another key waits for one group of a busy key, however many groups wait."""
    line = made(create("b"), max_waiting_rows_per_key=10 * MAX_ROWS)
    assert joined(line, *(create("a", rows=MAX_ROWS) for _ in range(4))) == 4
    first = line.take_group()
    line.join(create("b"))
    rest = groups(line)

    assert [each.key_id for each in first] == ["b"]
    assert rest == ["a", "b", "a", "a", "a"]


@pytest.mark.parametrize("is_create", [True, False], ids=["create", "update"])
def test_what_goes_along_costs_no_turn(is_create: bool) -> None:
    """A write that cannot share a group gets its turn, even if its key's other writes go first."""
    along = update("a", row=6) if is_create else create("a")
    patient = create("a") if is_create else update("a", row=6)
    busy = [update("b", row=5) if is_create else create("b", rows=MAX_ROWS - 1) for _ in range(2)]
    line = made(*busy, patient, along, max_waiting_rows_per_key=10 * MAX_ROWS)
    taken: list[list[Waiting]] = []
    for _ in range(4):
        taken.append(line.take_group())
        for each in taken[-1]:
            line.join(each)

    assert [patient in group for group in taken] == [False, True, False, True]
    assert taken[0] == [busy[0], along]


def test_the_room_of_a_group_is_shared() -> None:
    """If not all writes fit into a group, each key gets its share, in order of arrival."""
    rendering = MAX_ROWS // 2
    line = made(*(create("a", rows=rendering) for _ in range(2)), create("b", rows=rendering))

    assert groups(line) == ["ab", "a"]


def test_a_turn_may_be_one_to_be_alone() -> None:
    """Exclusive tasks and writes take turns by key."""
    line = made(create("a"), create("b"))
    line.join(Waiting(key_id="c", write=ExclusiveTask(work=nothing)))
    line.take_group()
    line.join(create("a"))

    assert groups(line) == ["c", "a"]


def test_memory_is_bounded_for_each_key() -> None:
    """One key has a share of the memory of all queues; other keys have theirs."""
    large = [create("a", text=LARGE) for _ in range(9)]
    line = made(**ROOM_FOR_ALL)

    assert joined(line, *large) == 3
    assert joined(line, create("a", rows=2), create("b", text=LARGE)) == 2


def test_memory_is_bounded_in_all() -> None:
    """A queue has a memory limit, above which no key's write is accepted."""
    line = made(**ROOM_FOR_ALL)
    many = joined(line, *(create(key, text=LARGE) for key in "abcdefghijklmnopqrstuvwxyz"))

    assert many == 13
    assert joined(line, create("z"), create("y", text=LARGE)) == 1


def test_memory_is_bounded_over_all_worksheets() -> None:
    """The queues of several worksheets share one memory limit, also for each key."""
    settings = WriteSettings(max_waiting_bytes=SHARE * 350_000)
    all_lines = memory_limit(settings.max_waiting_bytes)
    lines: list[BoundedQueue[Waiting]] = [BoundedQueue(settings, all_lines) for _ in range(20)]
    own = [joined(line, create("a", text=LARGE)) for line in lines]
    others = [joined(line, create(f"key {n}", text=LARGE)) for n, line in enumerate(lines)]
    while lines[0].turns:
        lines[0].take_group()
    after = joined(lines[1], create("late", text=LARGE))

    assert own == [1] * 3 + [0] * 17
    assert others == [1] * 10 + [0] * 10
    assert after == 1


@pytest.mark.parametrize("size", [400_000, 2_000_000], ids=["than its share", "than all"])
def test_what_is_larger_than_its_bound_is_let_in_alone(size: int) -> None:
    """A write that is larger than the memory limit is accepted when no other write waits."""
    large = create("a", text="x" * size)
    line = made(**ROOM_FOR_ALL)

    assert joined(line, large, large) == 1
    assert groups(line) == ["a"]


def test_wide_texts_count_as_what_they_are() -> None:
    """One wide character in a text makes all its characters wide in memory."""
    line = made(**ROOM_FOR_ALL)

    assert joined(line, *(create("a", text=LARGE + "🏙") for _ in range(3))) == 1
