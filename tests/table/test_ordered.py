"""Tests of sorted row positions, in long and in short columns."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from gateway.table.ordered import SORTED_AT_ONCE, make_run, sorted_places, unique
from gateway.table.steps import BLOCK, finish

LENGTHS = [0, 1, 2, BLOCK, BLOCK + 1, SORTED_AT_ONCE, SORTED_AT_ONCE + 1, 4 * SORTED_AT_ONCE + 7]
KEYS: list[Callable[[Random], float | str]] = [
    lambda random: random.random(),
    lambda random: random.randint(0, 40),
    lambda random: f"{random.randint(0, 9_000)}",
    lambda random: "alike",
    lambda random: min(random.randint(0, 3), 1),
]
KEY_IDS = ["floats", "many ties", "texts", "all alike", "one in four apart"]


def keys_of(make: Callable[[Random], float | str], length: int) -> list[float | str]:
    random = Random(length)  # noqa: S311
    return [make(random) for _ in range(length)]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("make", KEYS, ids=KEY_IDS)
def test_rows_are_sorted_like_sorted(make: Callable[[Random], float | str], length: int) -> None:
    """Sorting in pieces gives the same result as one stable sort."""
    keys = keys_of(make, length)

    found = [*finish(sorted_places(range(length), keys))]

    assert found == sorted(range(length), key=keys.__getitem__)


@pytest.mark.parametrize(
    "keys", [sorted, lambda keys: sorted(keys, reverse=True)], ids=["up", "down"]
)
def test_sorted_keys_are_sorted_correctly(keys: Callable[[Sequence[int]], list[int]]) -> None:
    """Keys that are already ascending or descending are sorted correctly."""
    given = keys([place // 3 for place in range(3 * SORTED_AT_ONCE + 1)])

    found = [*finish(sorted_places(range(len(given)), given))]

    assert found == sorted(range(len(given)), key=given.__getitem__)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("make", KEYS, ids=KEY_IDS)
def test_a_run_has_a_group_for_each_key(make: Callable[[Random], float | str], length: int) -> None:
    """`make_run` returns distinct ascending keys, and for each key the row positions in sheet
    order.
    """
    keys = keys_of(make, length)

    run = finish(make_run(range(length), keys, length))

    assert list(run.keys) == sorted(set(keys))
    assert [keys[place] for place in run.ranked.places] == sorted(keys)
    assert [keys[run.ranked.places[start]] for start in run.ranked.starts[:-1]] == list(run.keys)
    assert list(run.ranked.places) == sorted(range(length), key=keys.__getitem__)


@pytest.mark.parametrize("make", KEYS, ids=KEY_IDS)
def test_descending_keeps_ties_as_they_are(make: Callable[[Random], float | str]) -> None:
    """Descending order reverses the groups. Rows with equal keys stay in sheet order."""
    keys = keys_of(make, 500)

    run = finish(make_run(range(500), keys, 500))

    assert list(finish(run.ranked.descending())) == sorted(
        range(500),
        key=keys.__getitem__,
        reverse=True,
    )


@pytest.mark.parametrize("make", KEYS, ids=KEY_IDS)
def test_ranks_number_the_groups(make: Callable[[Random], float | str]) -> None:
    """`ranks()` gives the group number of each position, or the number of groups without a key."""
    keys = keys_of(make, 300)
    places = [place for place in range(300) if place % 3]

    run = finish(make_run(places, keys, 300))
    ranks = finish(run.ranked.ranks())

    assert [run.keys[ranks[place]] for place in places] == [keys[place] for place in places]
    assert {ranks[place] for place in range(0, 300, 3)} == {run.ranked.groups}


@pytest.mark.parametrize("length", [0, 10, 2 * SORTED_AT_ONCE])
def test_rows_of_several_lists_occur_once(length: int) -> None:
    """`unique` returns each position once, even if several lists contain the position."""
    lists = [range(length), range(0, length, 2), range(length // 2, length)]

    assert sorted(finish(unique(lists, length))) == list(range(length))


@pytest.mark.parametrize("length", [0, 200, 5_000])
def test_long_keys_are_sorted_in_smaller_pieces(length: int) -> None:
    """Long keys are sorted in smaller pieces, with the same result."""
    keys = keys_of(KEYS[2], 9_000)

    found = [*finish(sorted_places(range(9_000), keys, length))]

    assert found == sorted(range(9_000), key=keys.__getitem__)
