"""Groups of rows or columns.

Rules:
- Each line (row or column) has a depth, which is the number of groups that contain the line.
- A group of depth d is a maximal sequence of lines of depth d or more. So adjacent groups merge,
  and overlapping groups become a wider and an inner group. Source: Google's documentation of adding
  and deleting groups.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sheets_emulator.grid.marks import PLAIN_LINE, Line


@dataclass(frozen=True, kw_only=True)
class Group:
    """A group of rows or columns from `start` to `end` (excluded)."""

    start: int
    end: int
    depth: int
    is_collapsed: bool


def groups_of(lines: Mapping[int, Line]) -> list[Group]:
    """Return all groups of rows or columns, sorted by start and depth."""
    found: list[Group] = []
    starts: list[int] = []  # start of the open group by depth
    previous = -1
    for index in sorted(index for index, line in lines.items() if line.depth):
        depth = lines[index].depth
        _close(starts, depth if index == previous + 1 else 0, previous + 1, lines, found)
        starts.extend([index] * (depth - len(starts)))
        previous = index
    _close(starts, 0, previous + 1, lines, found)
    return sorted(found, key=lambda group: (group.start, group.depth))


def deepened(lines: Mapping[int, Line], indexes: Iterable[int]) -> dict[int, Line]:
    """Return the lines (rows or columns) with the depth at `indexes` increased by one."""
    changed = {}
    for index in indexes:
        line = lines.get(index, PLAIN_LINE)
        changed[index] = replace(line, depth=line.depth + 1)
    return {**lines, **changed}


def raised(lines: Mapping[int, Line], indexes: Iterable[int]) -> dict[int, Line]:
    """Return the lines (rows or columns) with the depth at `indexes` decreased by one.

    A depth of zero does not change.
    """
    changed = {}
    for index in indexes:
        line = lines.get(index, PLAIN_LINE)
        if line.depth:
            collapsed = line.collapsed - {line.depth}
            changed[index] = replace(line, depth=line.depth - 1, collapsed=collapsed)
    return {**lines, **changed}


def folded(lines: Mapping[int, Line], group: Group, *, is_collapsed: bool) -> dict[int, Line]:
    """Return the lines (rows or columns) after a group was collapsed or expanded.

    The lines of the group become hidden or visible (Google's documentation).
    """
    changed = {}
    for index in range(group.start, group.end):
        line = lines[index]
        rest = line.collapsed - {group.depth}
        collapsed = rest | {group.depth} if is_collapsed else rest
        changed[index] = replace(line, collapsed=collapsed, is_hidden=is_collapsed)
    return {**lines, **changed}


def extended(lines: Mapping[int, Line], start: int, count: int) -> dict[int, Line]:
    """Return the lines (rows or columns) after `count` lines were inserted at `start`.

    New lines within a group belong to the group.
    """
    before, after = (lines.get(index, PLAIN_LINE) for index in (start - 1, start + count))
    depth = min(before.depth, after.depth)
    if not depth:
        return dict(lines)
    collapsed = before.collapsed & after.collapsed
    line = Line(depth=depth, collapsed=collapsed, is_hidden=bool(collapsed))
    return {**lines, **dict.fromkeys(range(start, start + count), line)}


def _close(
    starts: list[int], depth: int, end: int, lines: Mapping[int, Line], found: list[Group]
) -> None:
    """Append the open groups deeper than `depth` to `found`.

    These groups end at `end` (excluded).
    """
    while len(starts) > depth:
        level = len(starts)
        start = starts.pop()
        is_collapsed = level in lines[start].collapsed
        found.append(Group(start=start, end=end, depth=level, is_collapsed=is_collapsed))
