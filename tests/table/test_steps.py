"""Tests of work that counts steps: budgets, pauses, and cached results."""

from math import inf

import pytest

from gateway.table.steps import Metered, OutOfSteps, Work, blocks, finish, shared


def counting(blocks: int, steps: int) -> Work[str]:
    """Work of `blocks` blocks with `steps` steps each."""
    for _ in range(blocks):
        yield steps
    return "done"


def in_slices(work: Metered[str], steps: int) -> None:
    """Advance the work in slices until it is done."""
    while not work.advance(steps):
        pass


class Column:
    """Column with one cached value from three blocks of work, and a second value derived from
    the first.
    """

    def __init__(self) -> None:
        self.calls = 0

    @shared
    def value(self) -> Work[int]:
        self.calls += 1
        yield from counting(3, 10)
        return self.calls

    @shared
    def double(self) -> Work[int]:
        return 2 * (yield from self.value())

    @shared
    def faulty(self) -> Work[int]:
        self.calls += 1
        yield 1
        raise ValueError(self.calls)


def test_work_within_its_budget_is_done() -> None:
    """Work within its budget has a result. `steps` is the sum over all blocks."""
    work = Metered(counting(10, 5), 50)

    assert work.advance(1_000)
    assert (work.result, work.steps) == ("done", 50)


def test_work_pauses_after_some_steps() -> None:
    """A slice ends after the block that reaches its limit. The next slice continues there."""
    work = Metered(counting(10, 5), 50)

    assert [work.advance(12), work.steps] == [False, 15]
    assert [work.advance(12), work.steps] == [False, 30]
    assert work.advance(inf)
    assert work.result == "done"


@pytest.mark.parametrize("slice_steps", [1, 7, 1_000])
def test_work_ends_past_its_budget(slice_steps: int) -> None:
    """Work raises OutOfSteps after the block that exceeds the budget, for slices of any size."""
    work = Metered(counting(10, 8), 30)

    with pytest.raises(OutOfSteps):
        in_slices(work, slice_steps)

    assert work.steps == 32


def test_a_shared_value_is_computed_once() -> None:
    """The first use computes a shared value. Later uses take no steps."""
    column = Column()

    first, second = Metered(column.double()), Metered(column.double())

    assert first.advance(inf)
    assert second.advance(inf)
    assert (first.result, second.result, column.calls) == (2, 2, 1)
    assert (first.steps, second.steps) == (30, 0)


def test_two_concurrent_callers_share_the_work() -> None:
    """Two callers of a shared value advance one computation, and each counts its own steps."""
    column = Column()
    one, other = Metered(column.double()), Metered(column.value())

    assert [one.advance(1), other.advance(1), one.advance(inf), other.advance(inf)] == [
        *(False, False, True, True),
    ]
    assert (one.result, other.result, column.calls) == (2, 1, 1)
    assert one.steps + other.steps == 30


def test_stopped_work_keeps_its_progress() -> None:
    """A caller continues work that an earlier caller stopped because of its budget."""
    column = Column()
    with pytest.raises(OutOfSteps):
        Metered(column.value(), 10).advance(inf)

    rest = Metered(column.value())

    assert rest.advance(inf)
    assert rest.steps < 30
    assert column.calls == 1


def test_work_that_failed_starts_again() -> None:
    """Shared work that raised an error starts again at the next call."""
    column = Column()

    for call in (1, 2):
        with pytest.raises(ValueError, match=str(call)):
            finish(column.faulty())


@pytest.mark.parametrize("stop", [0, 1, 2_048, 5_000])
def test_blocks_hold_all_numbers(stop: int) -> None:
    """The blocks of a range contain each number once, in order."""
    assert [number for block in blocks(0, stop) for number in block] == list(range(stop))
