"""Updates: read the row, then write only named cells that differ."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from gateway.errors import (
    GatewayError,
    InvalidBody,
    LookOutdated,
    PreconditionFailed,
    QueueFull,
    QuotaSpent,
    RowNotFound,
    RowNumberUnknown,
    UpstreamAuth,
    UpstreamError,
    WriteOutcomeUnknown,
)
from gateway.table.header import IfMatch
from gateway.worksheets.fences import BURNT
from gateway.worksheets.writes import Write
from tests.fakes import FakeWorksheet, Formatted, Held
from tests.worksheets.conftest import TTL_SECONDS, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

UNANSWERED = WriteOutcomeUnknown("no answer")
FORMULA = Formatted(0.25, "25%")
DATE = Formatted(43831, "1 Jan 2020")
LINES: Sequence[Sequence[Held | None]] = [
    ["name", "share", "since", "open", "note"],
    ["Boston", FORMULA, DATE, True, "a"],
    ["Denver", 0.5, 43832, False, ""],
]


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """Two cities with cells of every kind."""
    return make_bench(LINES)


def _row(bench: Bench, row: int) -> list[object]:
    return [bench.cities.cells.get((row, column)) for column in range(1, 6)]


async def test_cell_past_the_end_of_its_row(bench: Bench) -> None:
    """A written cell right of the last filled cell is in the answer."""
    bench.cities.type(3, None, "", "", "", "")

    written = await bench.updated(3, {"open": True})

    assert written.record == {"rowIndex": 3, "open": "TRUE"}
    assert written.tag == (await bench.read(3)).tag


async def test_equal_number_is_written(bench: Bench) -> None:
    """Only strings are compared with the display; a number is always written."""
    bench.cities.type(3, None, "0.5")

    await bench.updated(3, {"share": 0.5})

    assert bench.cities.cells[3, 2] == 0.5


async def test_blank_row_between(make_bench: MakeBench) -> None:
    """A blank row with rows below exists, for 1 read more."""
    bench = make_bench([*LINES, [], ["Austin"]])

    await bench.updated(4, {"name": "X"})

    assert bench.cities.lines()[3:] == [["X"], ["Austin"]]
    assert bench.sheets.cost() == Cost(2, 1)


@pytest.mark.parametrize(
    ("rows", "row"), [(3, 4), (9, 4), (9, 10), (9, 99_999_999)], ids=lambda value: str(value)
)
async def test_row_that_is_not_there(make_bench: MakeBench, rows: int, row: int) -> None:
    """A row below the last one gets 404, also below the grid, and the grid never grows."""
    bench = make_bench(LINES, rows=rows)

    with pytest.raises(RowNotFound):
        await bench.updated(row, {"name": "X"})

    assert bench.cities.rows == rows
    assert bench.sheets.cost() == Cost(2, 0)


def _insert_column(sheet: FakeWorksheet) -> None:
    for row in range(1, 4):
        held = [sheet.cells.pop((row, column), "") for column in range(1, 6)]
        sheet.type(row, "new", *held)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(_insert_column, id="inserts-a-column"),
        pytest.param(lambda sheet: sheet.type(1, "since", None, "name"), id="swaps-names"),
    ],
)
async def test_header_is_never_trusted(bench: Bench, edit: Callable[[FakeWorksheet], None]) -> None:
    """An update reads the header itself, however fresh the cached one is."""
    await bench.page()
    edit(bench.cities)

    await bench.updated(3, {"name": "X"})

    assert (await bench.record(3))["name"] == "X"
    assert bench.cities.cells[1, bench.cities.lines()[2].index("X") + 1] == "name"


async def test_changed_header_is_not_used_by_creates(bench: Bench) -> None:
    """If an update reads another header, the next create reads the header again."""
    await bench.page()
    bench.cities.type(1, "since", None, "name")
    await bench.updated(3, {"name": "X"})
    bench.sheets.cost()

    row = await bench.create(name="Y")

    assert bench.cities.lines()[row - 1] == ["", "", "Y"]
    assert bench.sheets.cost() == Cost(1, 1)


async def test_emptied_last_row_is_filled_again(bench: Bench) -> None:
    """After an update empties the last row, the next create reads the end and uses that row."""
    await bench.updated(3, {"share": None, "since": "", "open": None})
    await bench.page()
    await bench.updated(3, {"name": ""})

    assert await bench.create(name="X") == 3


async def test_rows_below_a_blank_one_that_take_long(make_bench: MakeBench) -> None:
    """If the read below a blank row is slow, the row is read again and written."""
    bench = make_bench([["name"], ["Boston"], [], ["Austin"]])
    for nth in range(1, 6):
        bench.sheets.before("read_columns", lambda: bench.clock.advance(2), nth=nth)

    written = await bench.updated(3, {"name": "Reno"})

    assert written.row == 3
    assert bench.sheets.cost() == Cost(3, 1)


async def test_row_deleted_below_a_blank_one(make_bench: MakeBench) -> None:
    """A blank row gets 404 if it is below the grid in the second read."""
    bench = make_bench([*LINES, [], ["Austin"]], rows=5)
    bench.sheets.before("read_columns", lambda: bench.cities.delete_rows(3, 3))

    with pytest.raises(RowNotFound):
        await bench.updated(4, {"name": "X"})


async def test_rows_deleted_between_looks_concern_their_own_update(make_bench: MakeBench) -> None:
    """Only the update of the deleted row fails; other updates of the group are written."""
    bench = make_bench(rows=0)
    row = len(bench.cities.lines())
    shrink = partial(bench.cities.delete_rows, row)
    bench.sheets.before("read_sheet", shrink, nth=2)

    ends = await bench.together(
        *(Write.update(row=each, fields={"name": f"X{each}"}) for each in (2, row, row + 9))
    )

    assert [type(end) for end in ends] == [tuple, RowNotFound, RowNotFound]
    assert _row(bench, 2)[0] == "X2"


async def test_blank_rows_deleted_between_looks(make_bench: MakeBench) -> None:
    """Blank rows with no row below get 404, and the other row is updated."""
    bench = make_bench([*LINES, [], ["Austin"]], rows=5)
    bench.sheets.before("read_columns", lambda: bench.cities.delete_rows(3, 3))

    ends = await bench.together(*(Write.update(row=row, fields={"name": "X"}) for row in (2, 4)))

    assert [type(end) for end in ends] == [tuple, RowNotFound]


async def test_rows_that_go_on_going(make_bench: MakeBench) -> None:
    """If each read finds fewer rows, the writes fail with a clear message."""
    bench = make_bench(rows=40)
    for nth in range(1, 12):
        bench.sheets.before(
            "read_sheet", lambda: bench.cities.delete_rows(bench.cities.rows - 1, 2), nth=nth
        )

    ends = await bench.together(
        *(Write.update(row=row, fields={"name": "X"}) for row in (2, *range(18, 41, 2)))
    )

    assert {type(end) for end in ends} == {LookOutdated}


async def test_an_applied_update_is_found(bench: Bench) -> None:
    """An update with a lost answer is found by its fence: 2 reads and no other write."""
    bench.sheets.after("apply", UNANSWERED)

    written = await bench.updated(2, {"name": "X", "open": False})

    assert written.record == {"rowIndex": 2, "name": "X", "open": "FALSE"}
    assert written.tag == (await bench.read(2)).tag
    assert _row(bench, 2) == ["X", FORMULA, DATE, False, "a"]
    assert bench.sheets.cost() == Cost(4, 1)


async def test_an_update_is_sent_again_while_its_look_is_fresh(bench: Bench) -> None:
    """The same batch is sent again within a second, after the test of used IDs."""
    bench.sheets.before("apply", UNANSWERED)

    written = await bench.updated(2, {"name": "X", "open": False})

    assert written.record == {"rowIndex": 2, "name": "X", "open": "FALSE"}
    assert bench.sheets.cost() == Cost(2, 4)
    bench.sheets.before("apply", UNANSWERED)
    await bench.updated(2, {"name": "Y"})
    assert bench.sheets.cost() == Cost(2, 2)


async def test_an_update_is_looked_for_anew_once_its_look_is_old(bench: Bench) -> None:
    """The fence is burnt, so the first copy cannot be applied; then all rows are read again."""
    bench.sheets.before("apply", lambda: bench.clock.advance(1.0), UNANSWERED)
    bench.sheets.before(
        "put_fence", lambda: bench.cities.type(2, None, None, None, None, "b"), nth=3
    )

    written = await bench.updated(2, {"name": "X"})

    assert written.record == {"rowIndex": 2, "name": "X"}
    assert written.tag == (await bench.read(2)).tag
    assert _row(bench, 2) == ["X", FORMULA, DATE, True, "b"]
    burnt = [fence.token.endswith(BURNT) for fence in bench.fake.fences]
    assert burnt == [False, False, True, False]


async def test_an_open_update_meets_its_condition_again(bench: Bench) -> None:
    """If a person changed the row meanwhile, the condition fails for good."""
    tag = (await bench.read(2)).tag
    update = Write.update(row=2, fields={"name": "X"}, condition=IfMatch(tags=frozenset({tag})))
    edit = partial(bench.cities.type, 2, None, None, None, None, "b")
    bench.sheets.before("apply", lambda: bench.clock.advance(1.0), edit, UNANSWERED)

    (end,) = await bench.together(update)

    assert isinstance(end, PreconditionFailed)
    assert _row(bench, 2) == ["Boston", FORMULA, DATE, True, "b"]


async def test_an_update_of_which_nobody_can_know(bench: Bench) -> None:
    """While Google is unavailable the outcome stays unknown, and updates of the row wait."""
    bench.sheets.before("apply", UNANSWERED)
    for nth in (1, 2):
        bench.sheets.before("fence_tokens", UpstreamAuth("no token"), nth=nth)

    ends = await bench.together(Write.update(row=2, fields={"name": "X"}))
    ends += await bench.together(
        Write.update(row=2, fields={"name": "Y"}), Write.update(row=3, fields={"name": "Z"})
    )
    later = await bench.updated(2, {"name": "Y"})

    assert [type(end) for end in ends] == [WriteOutcomeUnknown, QueueFull, tuple]
    assert [end.outcome for end in ends if isinstance(end, GatewayError)] == [
        "unknown",
        "not_applied",
    ]
    assert later.record == {"rowIndex": 2, "name": "Y"}
    assert _row(bench, 2)[0] == "Y"


async def test_a_found_update_of_a_row_that_changed(bench: Bench) -> None:
    """The update was applied, but the row has changed, so its number is unknown."""
    edit = partial(bench.cities.type, 2, "theirs")
    bench.sheets.after("apply", edit, UNANSWERED)

    with pytest.raises(RowNumberUnknown) as caught:
        await bench.updated(2, {"name": "X"})

    assert caught.value.outcome == "applied"
    assert _row(bench, 2)[0] == "theirs"
    assert bench.sheets.count("apply") == 1


async def test_a_found_update_that_cannot_be_read_back(bench: Bench) -> None:
    """The update was applied, whatever fails afterwards."""
    bench.sheets.after("apply", UNANSWERED)
    bench.sheets.before("read_sheet", QuotaSpent("later"), nth=2)

    with pytest.raises(RowNumberUnknown) as caught:
        await bench.updated(2, {"name": "X"})

    assert caught.value.outcome == "applied"
    assert bench.sheets.count("apply") == 1


async def test_an_update_of_a_tab_that_gave_its_name_away(bench: Bench) -> None:
    """The cells were written to the tab that was read, and the answer says so."""

    def rename() -> None:
        bench.cities.title = "Towns"
        bench.fake.add("Cities", LINES)

    bench.sheets.before("apply", rename)

    with pytest.raises(UpstreamError) as caught:
        await bench.updated(2, {"name": "X"})

    assert caught.value.outcome == "applied"
    assert [sheet.lines()[1][0] for sheet in bench.fake.worksheets] == ["X", "Boston"]


async def test_two_names_for_a_column(bench: Bench) -> None:
    """Two fields of one column are refused, and nothing is written."""
    with pytest.raises(InvalidBody):
        await bench.updated(2, {"name": "X", " name": "Y"})

    assert bench.sheets.cost() == Cost(1, 0)


async def test_answers_of_updates_renew_the_header(bench: Bench) -> None:
    """Answers of updates show the header, so the next create needs no read."""
    costs = []
    for value in ("X", "X"):
        await bench.page()
        bench.clock.advance(TTL_SECONDS)
        await bench.updated(2, {"name": value})
        bench.sheets.cost()
        await bench.create(name="Y")
        costs.append(bench.sheets.cost())

    assert costs == [Cost(0, 1), Cost(1, 1)]
