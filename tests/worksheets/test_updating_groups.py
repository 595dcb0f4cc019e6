"""Updates that go to Google in one batch: each has its own result."""

from collections.abc import Sequence

import pytest

from gateway.errors import InvalidBody, PreconditionFailed, RowNotFound, WorksheetNotFound
from gateway.table.header import IfMatch
from gateway.worksheets.writes import Fields, Write
from tests.worksheets.conftest import Bench, MakeBench
from tests.worksheets.rename import LINES, SUM, names, record, renamed, update
from tests.worksheets.scripted_sheets import Cost


def typed(row: int, fields: Fields) -> Write:
    return Write.update(row=row, fields=fields, is_typed=True)


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """Twenty rows in a grid of 100 rows."""
    return make_bench(LINES)


async def test_one_read_and_one_write(bench: Bench) -> None:
    """Updates of different rows share one read and one write."""
    ends = await bench.together(*renamed(2, 9, 21))

    assert [record(end) for end in ends] == [
        {"rowIndex": row, "name": f"new {row}"} for row in (2, 9, 21)
    ]
    assert names(bench, 2, 3, 9, 21) == ["new 2", "n3", "new 9", "new 21"]
    assert bench.sheets.cost() == Cost(1, 1)


async def test_formulas_beside_stay(bench: Bench) -> None:
    """Only the named cells are written; each answer finds its runs of cells."""
    ends = await bench.together(
        update(2, name="a", note="b"), update(3, note=None), update(4, note=7, name="c")
    )

    assert [record(end) for end in ends] == [
        {"rowIndex": 2, "name": "a", "note": "b"},
        {"rowIndex": 3, "note": None},
        {"rowIndex": 4, "name": "c", "note": "7"},
    ]
    assert all(bench.cities.cells[row, 2] is SUM for row in range(2, 22))
    assert bench.sheets.cost() == Cost(1, 1)


async def test_each_answer_has_the_tag_of_its_row(bench: Bench) -> None:
    """Each tag in an answer is that of a later read of the row."""
    ends = await bench.together(update(2, name="a", note="b"), update(3, note=None))

    tags = [written.tag for end in ends if isinstance(end, tuple) for written in end]
    assert tags == [(await bench.read(row)).tag for row in (2, 3)]


async def test_each_is_refused_for_itself(bench: Bench) -> None:
    """An invalid update gets its own error; the valid updates are written."""
    ends = await bench.together(
        update(2, name="a"),
        update(3, mayor="x"),
        update(1, name="b"),
        update(40, name="c"),
        update(4, condition=IfMatch(tags=frozenset({'"old"'})), name="d"),
        update(5, name="n5"),
        update(6, name="e"),
    )

    assert [type(end) for end in ends] == [
        tuple,
        InvalidBody,
        RowNotFound,
        RowNotFound,
        PreconditionFailed,
        tuple,
        tuple,
    ]
    assert names(bench, *range(2, 7)) == ["a", "n3", "n4", "n5", "e"]
    assert bench.sheets.cost() == Cost(2, 1)


async def test_nothing_new_beside_something_new(bench: Bench) -> None:
    """An update that changes nothing is answered without being sent."""
    ends = await bench.together(update(2, name="n2"), update(3, name="a"))

    assert [record(end)["name"] for end in ends] == ["n2", "a"]
    assert bench.sheets.cost() == Cost(1, 1)


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(typed(3, {"mayor": "2026-02-01"}), id="refused"),
        pytest.param(typed(2, {"name": "2026-02-01"}), id="that changes nothing"),
        pytest.param(typed(3, {"name": 7}), id="of a number"),
    ],
)
async def test_no_forms_are_read_for_other_updates(bench: Bench, own: Write) -> None:
    """After a change of the header, a typed update without dates costs other updates nothing."""
    await bench.together(typed(2, {"name": "2026-02-01"}))
    bench.cities.type(1, "name", "sum", "remark")
    bench.sheets.cost()

    await bench.together(own, update(4, name="new"))

    assert names(bench, 4) == ["new"]
    assert bench.sheets.cost() == Cost(1, 1)


async def test_updates_of_one_row_see_each_other(bench: Bench) -> None:
    """The second of two updates with the same condition fails: the first changed the row."""
    tag = (await bench.read(2)).tag
    condition = IfMatch(tags=frozenset({tag}))
    bench.sheets.cost()

    first, second = await bench.together(
        update(2, condition=condition, name="a"), update(2, condition=condition, name="b")
    )

    assert record(first) == {"rowIndex": 2, "name": "a"}
    assert isinstance(second, PreconditionFailed)
    assert second.existing == {"rowIndex": 2, "name": "a", "sum": "3", "note": "x"}
    assert second.tag == (await bench.read(2)).tag
    assert names(bench, 2) == ["a"]


@pytest.mark.parametrize(
    ("rows", "asked", "found"),
    [
        pytest.param(22, [2, 22, 23, 500], [2], id="some"),
        pytest.param(21, [22, 23], [], id="none"),
        pytest.param(21, [99_999_999], [], id="one"),
        pytest.param(21, [2, 99_999_999, 21], [2, 21], id="all but one"),
    ],
)
async def test_rows_past_the_grid(
    make_bench: MakeBench, rows: int, asked: Sequence[int], found: Sequence[int]
) -> None:
    """A row below the grid gets 404; other rows are written, and the grid stays."""
    bench = make_bench(LINES, rows=rows)

    ends = await bench.together(*renamed(*asked))

    assert [row for row, end in zip(asked, ends, strict=True) if isinstance(end, tuple)] == found
    errors = {row: end for row, end in zip(asked, ends, strict=True) if row not in found}
    assert all(isinstance(error, RowNotFound) for error in errors.values())
    assert all(f"no row {row}." in str(error) for row, error in errors.items())
    assert names(bench, *found) == [f"new {row}" for row in found]
    assert bench.cities.rows == rows
    assert bench.sheets.cost().reads <= 5


async def test_rows_past_the_grid_of_a_tab_that_loses_its_title(bench: Bench) -> None:
    """A row is missing only if the grid shows it, not if no tab has the title."""

    def rename() -> None:
        bench.cities.title = "Away"

    bench.sheets.after("list_worksheets", rename)

    ends = await bench.together(*renamed(2, 99_999_999))

    assert [type(end) for end in ends] == [WorksheetNotFound] * 2


@pytest.mark.parametrize(
    ("blank", "asked", "found", "reads"),
    [
        pytest.param([5], [2, 5, 9], [2, 5, 9], 1, id="a filled one below is asked for too"),
        pytest.param([5], [2, 5], [2, 5], 2, id="one below is not"),
        pytest.param([20, 21], [19, 20], [19], 2, id="none below"),
        pytest.param([19, 20, 21], [2, 19, 21], [2], 2, id="several at the end"),
        pytest.param([5, 21], [5, 21, 30], [5], 2, id="one inside, others below the end"),
    ],
)
async def test_blank_rows(
    bench: Bench, blank: Sequence[int], asked: Sequence[int], found: Sequence[int], reads: int
) -> None:
    """A blank row above the last filled row exists: at most 1 read more for all updates."""
    for row in blank:
        bench.cities.type(row, "", "", "")

    ends = await bench.together(*renamed(*asked))

    assert [row for row, end in zip(asked, ends, strict=True) if isinstance(end, tuple)] == found
    assert names(bench, *found) == [f"new {row}" for row in found]
    assert bench.sheets.cost() == Cost(reads, 1)
