"""The check of error 4095, and of deletes that removed another record without this error."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gateway.worksheets.fences import BURNT
from sheets_emulator.grid.developer_metadata import DeveloperMetadata
from sheets_emulator.grid.workbook import Workbook
from tests.simulation.story import (
    CHANGED,
    IN_GROUP_0,
    ONE,
    THREE,
    TITLE,
    TWO,
    Cells,
    Story,
    begun,
    deleted,
    deleted_where,
    kinds_of,
    row,
    updated,
)
from tests.simulation.verbs.entries import Entry
from tests.simulation.verbs.history import History
from tests.simulation.verbs.operations import Filter

FOUR, FIVE = row(4, "group:2"), row(5, "group:3")
EMPTY: Cells = ("",) * 6
SIX, SEVEN = row(6, "group:1"), row(7, "group:2")
ROWS = (ONE, TWO, THREE, FOUR, FIVE)
ABOVE = (ONE, TWO, SIX)
TITLE_ROW: Cells = ("A title", "", "", "", "", "")
EDITED: Cells = ("id:2", "", "", "note:2 (corrected)", "group:1", "")
LONE: Cells = ("", "", "", "note:9", "", "")
LONE_EDITED: Cells = ("", "", "", "note:9 (corrected)", "", "")
SPARSE = (EMPTY, LONE, THREE, EMPTY, EMPTY)
NAMED = {"id": "id:3", "note": "note:3", "group": "group:0"}


def emptied(
    row_number: int, *then: Cells, rows: Sequence[Cells] = ROWS, above: Sequence[Cells] = ()
) -> Story:
    """Return a story: people leave the rows `then` at 4.95 s, and a batch at 5 s clears a row."""
    now, at = [*then], row_number - 2 - len(above)
    now[at : at + 1] = [EMPTY] * (at < len(then))
    story = begun(*rows, above=above).add(4.95, *then)
    return story.add(5.0, *now, fence=1, emptied=[row_number])


def third(story: Story, *, is_told: bool) -> Entry:
    """Return a delete with the ETag of the third record; `is_told` if it got error 4095."""
    records = story.history.versions[TITLE][0].records()
    (at,) = [row for row, texts in records.items() if texts.get("id") == NAMED["id"]]
    told = deleted(at, tag="t", named=NAMED, outcome="applied", code=4095)
    return told if is_told else deleted(at, tag="t", named=NAMED)


@pytest.mark.parametrize(
    ("story", "kinds"),
    [
        pytest.param(emptied(4, *ROWS), {"false alarm"}, id="nothing changed"),
        pytest.param(
            emptied(4, ONE, EDITED, THREE, FOUR, FIVE), {"false alarm"}, id="a cell beside changed"
        ),
        pytest.param(
            emptied(4, ONE, TWO, THREE, FOUR, EMPTY, FIVE), {"false alarm"}, id="rows below moved"
        ),
        pytest.param(emptied(4, FIVE, FOUR, TWO, THREE, ONE), set(), id="sorted"),
        pytest.param(emptied(4, EMPTY, *ROWS), set(), id="a row inserted above"),
        pytest.param(
            emptied(4, EMPTY, LONE_EDITED, THREE, rows=SPARSE), set(), id="no row beside stayed"
        ),
        pytest.param(
            emptied(5, *ABOVE, THREE, SEVEN, FIVE, FOUR, rows=[*ABOVE, THREE, FOUR, FIVE, SEVEN]),
            set(),
            id="rows below sorted",
        ),
        pytest.param(
            emptied(5, *ABOVE, THREE, rows=[*ABOVE, THREE, FOUR, FIVE]),
            set(),
            id="two rows deleted",
        ),
        pytest.param(
            emptied(4, THREE, FOUR, rows=[THREE, TWO], above=[TITLE_ROW] * 2),
            set(),
            id="below a title",
        ),
    ],
)
def test_errors_about_removed_rows(story: Story, kinds: set[str]) -> None:
    """Error 4095 is a false alarm if the record and the rows next to it did not move."""
    assert kinds_of(story, third(story, is_told=True)) == kinds


@pytest.mark.parametrize(
    ("story", "kinds"),
    [
        pytest.param(emptied(4, *ROWS), set(), id="nothing changed"),
        pytest.param(emptied(4, ONE, EDITED, THREE, FOUR, FIVE), set(), id="a cell beside changed"),
        pytest.param(emptied(4, FIVE, FOUR, TWO, THREE, ONE), {"silent"}, id="sorted"),
        pytest.param(emptied(4, EMPTY, *ROWS), {"silent"}, id="a row inserted above"),
        pytest.param(emptied(4, ONE, TWO, FOUR, FIVE), set(), id="it or the next one deleted"),
        pytest.param(
            emptied(4, LONE, EMPTY, EMPTY, THREE, rows=SPARSE), set(), id="one row beside"
        ),
        pytest.param(
            emptied(4, FIVE, FOUR, SIX, rows=[ONE, THREE, TWO], above=[TITLE_ROW]),
            {"silent"},
            id="below a title",
        ),
    ],
)
def test_silent_removals_of_other_records(story: Story, kinds: set[str]) -> None:
    """A removal of another record without an error is reported if the next rows show it."""
    assert kinds_of(story, third(story, is_told=False)) == kinds


def test_a_filtered_delete_without_a_match() -> None:
    """A removal belongs to the delete with error 4095, not to a delete without a match."""
    story = emptied(4, FIVE, FOUR, TWO, row(6), ONE)
    where = Filter(field="note", texts=("note:3",))
    told = deleted_where(filter=where, outcome="applied", code=4095)

    assert kinds_of(story, deleted_where(4, filter=where, number=8)) >= {"silent"}
    assert kinds_of(story, told, deleted_where(filter=where, number=8)) == set()


@pytest.mark.parametrize(
    ("filter_", "kinds"),
    [
        pytest.param(IN_GROUP_0, set(), id="cells"),
        pytest.param(Filter(rows=range(2, 3)), {"false alarm"}, id="row numbers"),
    ],
)
def test_a_blank_row_emptied_by_a_filter(filter_: Filter, kinds: set[str]) -> None:
    """Clearing a blank row that people inserted justifies 4095, though no row changed."""
    story = begun(ONE, TWO).add(4.95, EMPTY, ONE, TWO)
    story.add(5.0, EMPTY, ONE, TWO, fence=1, emptied=[2], is_idle=True)
    told = deleted_where(filter=filter_, outcome="applied", code=4095)

    assert kinds_of(story, told) == kinds


def test_a_false_4095_of_an_update() -> None:
    """4095 is a false alarm if a person only edited another row."""
    story = begun(ONE, TWO).add(4.95, ONE, EDITED).add(5.0, CHANGED, EDITED, fence=1)
    told = updated(tag="t", named={"id": "id:1", "note": "note:1", "group": "group:0"})
    error = updated(tag="t", named=told.operation.named, outcome="applied", code=4095)

    assert kinds_of(story, told) == set()
    assert kinds_of(story, error) == {"false alarm"}


@pytest.mark.parametrize(
    ("token", "count"),
    [
        pytest.param("65f0a1b2.Zm9v", 1, id="applied"),
        pytest.param(f"65f0a1b2.{BURNT}", 0, id="burnt"),
    ],
)
def test_a_burnt_fence_is_no_batch(token: str, count: int) -> None:
    """A batch that only adds a fence counts, unless the fence is burnt: marked as cancelled."""
    before = Workbook(spreadsheet_id="demo", title="Demo", sheets=[])
    fence = DeveloperMetadata(
        metadata_id=1, key="gw", value=token, visibility="DOCUMENT", project="p"
    )
    history = History()

    history.note(before, replace(before, metadata=[fence]), 5.0)

    assert len(history.idle) == count
