"""The index that finds merged ranges by their location."""

from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.grid.a1 import Span
from sheets_emulator.grid.box import Box, sized
from sheets_emulator.grid.marks import Merge
from sheets_emulator.grid.sheet import Sheet

BOXES = st.builds(
    sized,
    top=st.integers(0, 30),
    left=st.integers(0, 8),
    height=st.integers(1, 12),
    width=st.integers(1, 4),
)
STEPS = st.lists(st.tuples(st.sampled_from(["merge", "unmerge", "replace", "copy"]), BOXES))


def merge_of(box: Box) -> Merge:
    return Merge(span=Span(top=box.top, left=box.left, bottom=box.bottom, right=box.right))


def by_place(boxes: list[Box]) -> list[Box]:
    return sorted(boxes, key=lambda box: (box.top, box.left))


@given(STEPS)
def test_merges_in_a_box_are_all_that_overlap_it(steps: list[tuple[str, Box]]) -> None:
    """`merges_in` finds all overlapping merges after any merges, unmerges and copies."""
    sheet = Sheet(sheet_id=0, title="Data", row_count=50, column_count=20)
    kept: list[Box] = []
    for kind, box in steps:
        found = [each for each in kept if each.overlaps(box)]

        assert by_place(sheet.merges_in(box)) == by_place(found)
        if kind == "merge" and not found:
            kept.append(box)
            sheet.merges.append(merge_of(box))
        elif kind == "unmerge":
            kept = [each for each in kept if each not in found]
            sheet.remove_merges(found)
        elif kind == "replace":
            kept = kept[1:]
            sheet.merges = sheet.merges[1:]
        else:
            sheet = sheet.copy()
        assert sheet.merges == [merge_of(each) for each in kept]
