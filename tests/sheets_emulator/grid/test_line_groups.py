"""Groups of rows or columns, computed from the depth of each row or column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.grid.line_groups import (
    Group,
    deepened,
    extended,
    folded,
    groups_of,
    raised,
)
from sheets_emulator.grid.marks import Line

Place = tuple[int, int, int]


def places(lines: dict[int, Line]) -> list[Place]:
    """(start, end, depth) of each group, by start and depth."""
    return [(group.start, group.end, group.depth) for group in groups_of(lines)]


def added(*ranges: tuple[int, int]) -> dict[int, Line]:
    """The rows or columns by index, after adding groups with these (start, end) in order."""
    lines: dict[int, Line] = {}
    for start, end in ranges:
        lines = deepened(lines, range(start, end))
    return lines


@pytest.mark.parametrize(
    ("ranges", "found"),
    [
        pytest.param([], [], id="none"),
        pytest.param([(0, 2)], [(0, 2, 1)], id="one"),
        pytest.param([(2, 4), (1, 5)], [(1, 5, 1), (2, 4, 2)], id="around"),
        pytest.param([(1, 5), (2, 4)], [(1, 5, 1), (2, 4, 2)], id="inside"),
        pytest.param([(1, 4), (2, 5)], [(1, 5, 1), (2, 4, 2)], id="overlapping"),
        pytest.param([(1, 3), (1, 3)], [(1, 3, 1), (1, 3, 2)], id="twice"),
        pytest.param([(1, 3), (3, 5)], [(1, 5, 1)], id="touching"),
        pytest.param([(1, 3), (4, 5)], [(1, 3, 1), (4, 5, 1)], id="apart"),
    ],
)
def test_groups_are_computed_from_depths(ranges: list[tuple[int, int]], found: list[Place]) -> None:
    """Google's examples: overlapping groups become nested groups, and adjacent groups merge."""
    assert places(added(*ranges)) == found


def test_deleting_a_group_decreases_depths_by_one() -> None:
    """Google's example: deleting D:E from the groups B:E and C:D leaves the groups B:D and C:C."""
    lines = raised(added((1, 5), (2, 4)), range(3, 5))

    assert places(lines) == [(1, 4, 1), (2, 3, 2)]


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5)), max_size=6),
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5)), max_size=3),
)
def test_depth_is_the_number_of_groups_that_contain_a_row(
    adds: list[tuple[int, int]], deletes: list[tuple[int, int]]
) -> None:
    """A row of depth n is in n groups, with the depths 1 to n."""
    lines = added(*((start, start + size) for start, size in adds))
    for start, size in deletes:
        lines = raised(lines, range(start, start + size))
    groups = groups_of(lines)

    for index in range(15):
        depth = lines.get(index, Line()).depth
        around = [group.depth for group in groups if group.start <= index < group.end]
        assert sorted(around) == list(range(1, depth + 1))


def test_collapsed_group_hides_its_rows_until_it_is_expanded() -> None:
    """A collapsed group hides all rows of the group, and a group inside stays expanded."""
    lines = added((1, 5), (2, 4))
    outer = groups_of(lines)[0]
    collapsed = folded(lines, outer, is_collapsed=True)
    shown = folded(collapsed, outer, is_collapsed=False)

    assert [group.is_collapsed for group in groups_of(collapsed)] == [True, False]
    assert {index for index, line in collapsed.items() if line.is_hidden} == {1, 2, 3, 4}
    assert shown == lines


@pytest.mark.parametrize(
    ("start", "found"),
    [
        pytest.param(2, [(1, 5, 1)], id="inside"),
        pytest.param(1, [(3, 5, 1)], id="before"),
        pytest.param(3, [(1, 3, 1)], id="after"),
    ],
)
def test_rows_inserted_within_a_group_join_it(start: int, found: list[Place]) -> None:
    """Rows inserted within a group join the group. Rows inserted beside a group do not."""
    lines = added((1, 3))
    moved = {index + (2 if index >= start else 0): line for index, line in lines.items()}

    assert places(extended(moved, start, 2)) == found


def test_group_has_its_range_and_depth() -> None:
    """A group has its start, end and depth, and whether it is collapsed."""
    assert groups_of(added((0, 2))) == [Group(start=0, end=2, depth=1, is_collapsed=False)]
