"""Removed rows that several deletes by filter could have removed are explained as a whole."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.simulation.verbs.removals import Cover, Explanation


def explanation(covers: dict[int, list[int]]) -> Explanation:
    """Return an explanation with the deletes that can have removed the only row of each batch."""
    batches = [SimpleNamespace(index=index, removed=[2], at=0.0) for index in covers]
    nothing = SimpleNamespace(row=lambda _: "")
    course = SimpleNamespace(
        batches=batches,
        by_index={batch.index: batch for batch in batches},
        before=lambda _: nothing,
    )
    entry = SimpleNamespace(was_applied=False)
    made = Explanation(
        course=cast(Any, course),
        deletes=[],
        by_filter={number: cast(Any, entry) for numbers in covers.values() for number in numbers},
        covers={
            index: [Cover(rows={number: [2]}) for number in numbers]
            for index, numbers in covers.items()
        },
        options={},
    )
    made.choose()
    return made


def test_two_batches_change_their_deletes_together() -> None:
    """Two batches exchange their deletes at once, if one exchange alone does not help."""
    assert explanation({10: [1, 2], 20: [1, 2], 30: [2, 3]}).problems() == []


@pytest.mark.parametrize(
    "covers",
    [
        pytest.param({10: [1], 20: [1, 2], 30: [1, 3, 4], 40: [1, 3, 5]}, id="one of all"),
        pytest.param({10: [1, 2], 20: [2, 3], 30: [3, 4], 40: [1]}, id="a chain of four"),
    ],
)
def test_many_batches_change_their_deletes_together(covers: dict[int, list[int]]) -> None:
    """Several batches exchange their deletes, so that each batch has its own delete."""
    assert explanation(covers).problems() == []


def test_one_delete_too_few_is_a_problem() -> None:
    (problem,) = explanation({10: [1, 2], 20: [1, 2], 30: [2, 1]}).problems()

    assert problem.kind in ("doubled", "removed")
