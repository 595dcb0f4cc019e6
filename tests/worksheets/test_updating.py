"""Updates: the row is looked at, then only what is named and differs is written."""

from collections.abc import Callable, Mapping

import pytest

from gateway.errors import InvalidBody, QuotaSpent, RowNotFound, UpstreamError, WriteOutcomeUnknown
from gateway.google.sheets import Values
from gateway.table.record import Stored
from tests.fakes import FakeWorksheet, Formatted
from tests.worksheets.conftest import TTL_SECONDS, Bench, MakeBench
from tests.worksheets.scripted_sheets import Answer, Cost

FORMULA = Formatted(0.25, "25%")
DATE = Formatted(43831, "1 Jan 2020")
LINES = [
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


@pytest.mark.parametrize(
    ("fields", "stored"),
    [
        pytest.param({"name": "X"}, ["X", FORMULA, DATE, True, "a"], id="one"),
        pytest.param({"note": 7, "name": 5}, [5, FORMULA, DATE, True, 7], id="far-apart"),
        pytest.param({"note": "=1+2"}, ["Boston", FORMULA, DATE, True, "=1+2"], id="never-formula"),
        pytest.param({"note": None}, ["Boston", FORMULA, DATE, True, None], id="null-empties"),
        pytest.param({"note": ""}, ["Boston", FORMULA, DATE, True, None], id="blank-empties"),
        pytest.param({"open": False}, ["Boston", FORMULA, DATE, False, "a"], id="boolean"),
        pytest.param({"since": 1.5}, ["Boston", FORMULA, 1.5, True, "a"], id="over-a-format"),
        pytest.param({" note ": "b"}, ["Boston", FORMULA, DATE, True, "b"], id="trimmed-name"),
    ],
)
async def test_only_named_cells_change(
    bench: Bench, fields: Mapping[str, Stored], stored: list[object]
) -> None:
    """Named cells hold what was sent, all others are untouched, in one read and one write."""
    await bench.updated(2, fields)

    assert _row(bench, 2) == stored
    assert _row(bench, 3) == ["Denver", 0.5, 43832, False, None]
    assert bench.sheets.cost() == Cost(1, 1)


async def test_answer_shows_the_fields_sent(bench: Bench) -> None:
    """The answer has the sent fields in sheet order, as the sheet displays them now."""
    written = await bench.updated(3, {"note": None, "open": True, "share": 2.0, "name": "Denver"})

    assert list(written.record.items()) == [
        ("rowIndex", 3),
        ("name", "Denver"),
        ("share", "2"),
        ("open", "TRUE"),
        ("note", None),
    ]


async def test_cell_past_the_end_of_its_row(bench: Bench) -> None:
    """A cell that was blank, as all to its right were, is shown as it is now."""
    bench.cities.type(3, None, "", "", "", "")

    written = await bench.updated(3, {"open": True})

    assert written.record == {"rowIndex": 3, "open": "TRUE"}
    assert written.tag == (await bench.read(3)).tag


async def test_whole_record_put_back(bench: Bench) -> None:
    """A record sent back with one change turns no number, date or formula into text."""
    record = await bench.record(2)
    fields = {name: str(value) for name, value in record.items() if name != "rowIndex"}
    bench.sheets.cost()

    written = await bench.updated(2, {**fields, "name": "X"})

    assert _row(bench, 2) == ["X", FORMULA, DATE, True, "a"]
    assert written.record == {**record, "name": "X"}
    assert bench.sheets.cost() == Cost(1, 1)


async def test_nothing_new_is_not_written(bench: Bench) -> None:
    """If all fields are displayed like that already, they are echoed for one read, no write."""
    written = await bench.updated(
        3, {"name": "Denver", "share": "0.5", "open": "FALSE", "note": ""}
    )

    assert written.record == {
        "rowIndex": 3,
        "name": "Denver",
        "share": "0.5",
        "open": "FALSE",
        "note": None,
    }
    assert _row(bench, 3) == ["Denver", 0.5, 43832, False, None]
    assert bench.sheets.cost() == Cost(1, 0)


async def test_equal_number_is_written(bench: Bench) -> None:
    """Only strings are compared with what is displayed: a number is typed, and written."""
    bench.cities.type(3, None, "0.5")

    await bench.updated(3, {"share": 0.5})

    assert bench.cities.cells[3, 2] == 0.5


async def test_blank_row_between(make_bench: MakeBench) -> None:
    """A blank row with rows below it is a row, for one read more."""
    bench = make_bench([*LINES, [], ["Austin"]])

    await bench.updated(4, {"name": "X"})

    assert bench.cities.lines()[3:] == [["X"], ["Austin"]]
    assert bench.sheets.cost() == Cost(2, 1)


@pytest.mark.parametrize(
    ("rows", "row"), [(3, 4), (9, 4), (9, 10), (9, 99_999_999)], ids=lambda value: str(value)
)
async def test_row_that_is_not_there(make_bench: MakeBench, rows: int, row: int) -> None:
    """A row below the last is not found, in the grid or past it, and the grid never grows."""
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
    """An update looks at the header itself, however fresh the one that was seen."""
    await bench.page()
    edit(bench.cities)

    await bench.updated(3, {"name": "X"})

    assert (await bench.record(3))["name"] == "X"
    assert bench.cities.cells[1, bench.cities.lines()[2].index("X") + 1] == "name"


async def test_changed_header_is_not_used_by_creates(bench: Bench) -> None:
    """If an update sees another header, the next create looks at it."""
    await bench.page()
    bench.cities.type(1, "since", None, "name")
    await bench.updated(3, {"name": "X"})
    bench.sheets.cost()

    row = await bench.create(name="Y")

    assert bench.cities.lines()[row - 1] == ["", "", "Y"]
    assert bench.sheets.cost() == Cost(1, 1)


async def test_emptied_last_row_is_filled_again(bench: Bench) -> None:
    """After an update empties the last row, the next create looks for the end and uses it."""
    await bench.updated(3, {"share": None, "since": "", "open": None})
    await bench.page()
    await bench.updated(3, {"name": ""})

    assert await bench.create(name="X") == 3


async def test_row_deleted_below_a_blank_one(make_bench: MakeBench) -> None:
    """A grid that ends above the row by the second look has no such row."""
    bench = make_bench([*LINES, [], ["Austin"]], rows=5)
    bench.sheets.before("read_ranges", lambda: bench.cities.delete_rows(3, 3), nth=2)

    with pytest.raises(RowNotFound):
        await bench.updated(4, {"name": "X"})


@pytest.mark.parametrize("is_applied", [False, True], ids=["not-applied", "applied"])
@pytest.mark.parametrize("was_answered", [False, True], ids=["no-answer", "answered"])
async def test_open_outcome_is_settled(bench: Bench, is_applied: bool, was_answered: bool) -> None:
    """An update that Google left open is looked for, and sent again only if all is as it was."""
    script = bench.sheets.after if is_applied else bench.sheets.before
    script("write_cells", WriteOutcomeUnknown("?", was_answered=was_answered))

    written = await bench.updated(2, {"name": "X", "open": False})

    assert written.record == {"rowIndex": 2, "name": "X", "open": "FALSE"}
    assert _row(bench, 2) == ["X", FORMULA, DATE, False, "a"]
    assert bench.sheets.cost() == Cost(3, 1 if is_applied else 2)


@pytest.mark.parametrize("is_answered", [False, True], ids=["no-answer", "answered"])
async def test_row_changed_meanwhile_is_left(bench: Bench, is_answered: bool) -> None:
    """An open update of a row that a person changed since is not sent again: it stays open."""
    bench.sheets.before(
        "write_cells",
        lambda: bench.cities.type(2, None, None, None, None, "b"),
        WriteOutcomeUnknown("?", was_answered=is_answered),
    )

    with pytest.raises(WriteOutcomeUnknown):
        await bench.updated(2, {"name": "X"})

    assert _row(bench, 2) == ["Boston", FORMULA, DATE, True, "b"]
    assert bench.sheets.cost() == Cost(3, 1)


async def test_update_that_stays_open_twice(bench: Bench) -> None:
    """An update is sent again once only; what may still land keeps its outcome open."""
    bench.sheets.before("write_cells", WriteOutcomeUnknown("first"))
    bench.sheets.before("write_cells", QuotaSpent("x", outcome="not_applied"), nth=2)

    with pytest.raises(WriteOutcomeUnknown) as caught:
        await bench.updated(2, {"name": "X"})

    assert caught.value.message == "first"
    assert bench.sheets.cost() == Cost(3, 2)


async def test_answered_update_that_cannot_be_sent_again(bench: Bench) -> None:
    """What Google answered and did not do was not applied, if it cannot be sent again either."""
    bench.sheets.before("write_cells", WriteOutcomeUnknown("first", was_answered=True))
    bench.sheets.before("write_cells", QuotaSpent("x", outcome="not_applied"), nth=2)

    with pytest.raises(QuotaSpent) as caught:
        await bench.updated(2, {"name": "X"})

    assert caught.value.outcome == "not_applied"
    assert _row(bench, 2) == ["Boston", FORMULA, DATE, True, "a"]


async def test_odd_echo_is_applied(bench: Bench) -> None:
    """A write whose echo names another worksheet is said to be applied."""
    bench.sheets.after("write_cells", Answer([Values(range="CITIES!A2", cells=(("X",),))]))

    with pytest.raises(UpstreamError) as caught:
        await bench.updated(2, {"name": "X"})

    assert caught.value.outcome == "applied"


async def test_two_names_for_a_column(bench: Bench) -> None:
    """Two fields of one column are refused, and nothing is written."""
    with pytest.raises(InvalidBody):
        await bench.updated(2, {"name": "X", " name": "Y"})

    assert bench.sheets.cost() == Cost(1, 0)


async def test_updates_do_not_renew_the_header(bench: Bench) -> None:
    """An update's look leaves the header's age as it was."""
    await bench.page()
    bench.clock.advance(TTL_SECONDS)
    await bench.updated(2, {"name": "X"})
    bench.sheets.cost()

    await bench.create(name="Y")

    assert bench.sheets.cost() == Cost(1, 1)
