"""Writes that met other records than the gateway read: error to the client, correct lists."""

from collections.abc import Callable, Sequence

import pytest

from gateway.errors import RowNumberUnknown, RowsMoved, WriteOutcomeUnknown
from gateway.settings.model import WriteSettings
from gateway.table.header import ColumnGrant, IfMatch
from gateway.worksheets.access import Access, Target
from gateway.worksheets.replay import Restorer, decode_answer, encode_answer
from gateway.worksheets.writes import Write
from tests.fakes import FakeWorksheet, Held
from tests.worksheets.conftest import KEPT, TARGET, Bench, MakeBench
from tests.worksheets.several_rows import where

LINES: Sequence[Sequence[Held | None]] = [
    ["name", "state", "open"],
    ["Austin", "TX", "yes"],
    ["Boston", "MA", "yes"],
    ["Denver", "CO", "no"],
    ["El Paso", "TX", "yes"],
    ["Fargo", "ND", "no"],
]
AUSTIN, BOSTON, DENVER = LINES[1:4]
Edit = Callable[[FakeWorksheet], None]


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """Five cities, which are cached for five seconds after a read."""
    return make_bench(LINES, cache=KEPT)


def reverse(sheet: FakeWorksheet) -> None:
    """Sort the rows in descending order."""
    for row, line in enumerate(reversed(sheet.lines()[1:]), start=2):
        sheet.type(row, *line)


def insert_above(sheet: FakeWorksheet) -> None:
    sheet.insert_rows(2)
    sheet.type(2, "Akron", "OH", "no")


def delete_above(sheet: FakeWorksheet) -> None:
    sheet.delete_rows(2)


async def tag_of(bench: Bench, row: int) -> IfMatch:
    return IfMatch(frozenset({(await bench.read(row)).tag}))


async def test_conditional_update_of_another_record(bench: Bench) -> None:
    """After a sort between read and write the error has both records, and lists are correct."""
    condition = await tag_of(bench, 2)
    await bench.page()
    bench.sheets.before("apply", lambda: reverse(bench.cities))

    with pytest.raises(RowsMoved) as raised:
        await bench.service.write(
            TARGET, Write.update(row=2, fields={"open": "done"}, condition=condition)
        )

    error = raised.value
    assert (error.outcome, error.row) == ("applied", 2)
    assert error.expected == {"rowIndex": 2, "name": "Austin", "state": "TX", "open": "yes"}
    assert error.met == {"rowIndex": 2, "name": "Fargo", "state": "ND", "open": "done"}
    assert await bench.names() == ["Fargo", "El Paso", "Denver", "Boston", "Austin"]


async def test_a_condition_counts_for_every_cell(bench: Bench) -> None:
    """A person's edit of another cell at the same time breaks an `If-Match`."""
    condition = await tag_of(bench, 2)
    bench.sheets.before("apply", lambda: bench.cities.type(2, None, "LA"))

    with pytest.raises(RowsMoved):
        await bench.service.write(
            TARGET, Write.update(row=2, fields={"open": "done"}, condition=condition)
        )


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(Write.update(row=2, fields={"open": "done"}), id="update"),
        pytest.param(
            Write.update(row=2, fields={"open": "done"}, condition=IfMatch(None)), id="any-record"
        ),
        pytest.param(
            Write.update_rows(rows=((2, {"open": "done"}), (3, {"open": "x"}))), id="list"
        ),
        pytest.param(Write.delete(row=2), id="delete"),
    ],
)
async def test_unconditional_writes_mean_the_row(bench: Bench, write: Write) -> None:
    """Without a condition the row number counts; lists show each record once."""
    await bench.page()
    bench.sheets.before("apply", lambda: reverse(bench.cities))

    (results,) = await bench.together(write)

    assert not isinstance(results, BaseException)
    shown = [line[0] for line in bench.cities.lines()[1:]]
    assert await bench.names() == shown
    assert len(set(shown)) == len(shown) == (4 if write.kind == "delete" else 5)


@pytest.mark.parametrize(
    ("edit", "met"),
    [
        pytest.param(reverse, None, id="sort"),
        pytest.param(insert_above, "Boston", id="insert"),
        pytest.param(delete_above, "El Paso", id="delete"),
        pytest.param(lambda sheet: sheet.delete_rows(3), None, id="delete-next"),
    ],
)
@pytest.mark.parametrize("delete", ["shift", "clear"])
async def test_conditional_delete_of_another_record(
    make_bench: MakeBench, edit: Edit, met: str | None, delete: str
) -> None:
    """The rows above and below show that another record was removed, or even which."""
    writes = WriteSettings.model_validate({"delete": delete})
    bench = make_bench(LINES, cache=KEPT, writes=writes)
    condition = await tag_of(bench, 4)
    await bench.page()
    bench.sheets.before("apply", lambda: edit(bench.cities))

    with pytest.raises(RowsMoved) as raised:
        await bench.service.write(TARGET, Write.delete(row=4, condition=condition))

    error = raised.value
    assert error.expected == {"rowIndex": 4, "name": "Denver", "state": "CO", "open": "no"}
    assert (error.met and error.met["name"]) == met
    assert await bench.names() == [line[0] if line else None for line in bench.cities.lines()[1:]]


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda sheet: None, id="none"),
        pytest.param(lambda sheet: sheet.type(2, None, "LA"), id="cell-above"),
        pytest.param(lambda sheet: sheet.type(4, None, None, "yes"), id="cell-below"),
        pytest.param(lambda sheet: sheet.type(7, "Gary", "IN"), id="row-appended"),
        pytest.param(lambda sheet: sheet.insert_rows(4), id="blank-row-inserted-below"),
        pytest.param(lambda sheet: sheet.delete_rows(4), id="row-deleted-below"),
        pytest.param(lambda sheet: sheet.insert_rows(5), id="blank-row-inserted-further-below"),
        pytest.param(lambda sheet: sheet.delete_rows(5), id="row-deleted-further-below"),
    ],
)
async def test_edits_beside_a_removed_row(bench: Bench, edit: Edit) -> None:
    """A person's edit of a cell above or below does not make it another row."""
    condition = await tag_of(bench, 3)
    bench.sheets.before("apply", lambda: edit(bench.cities))

    await bench.service.write(TARGET, Write.delete(row=3, condition=condition))

    assert "Boston" not in [cell for line in bench.cities.lines() for cell in line]


@pytest.mark.parametrize(
    "first",
    [pytest.param(5, id="it-and-the-next"), pytest.param(6, id="the-two-below")],
)
async def test_two_records_that_were_deleted(make_bench: MakeBench, first: int) -> None:
    """The answer is the same whether the planned record was deleted or not."""
    bench = make_bench([LINES[0], ["Akron", "OH", "no"], *LINES[1:]])
    bench.sheets.before("apply", lambda: bench.cities.delete_rows(first, 2))
    write = Write.delete_where(where=where("name", "$eq", "Denver"), max_rows=9)

    with pytest.raises(RowsMoved) as raised:
        await bench.service.write(TARGET, write)

    assert raised.value.met is None
    assert await bench.names() == ["Akron", "Austin", "Boston"]


SPARSE: Sequence[Sequence[Held | None]] = [
    LINES[0],
    [None],
    [None],
    ["Austin"],
    ["Boston"],
    [None],
    [None],
    [None],
]


def put(sheet: FakeWorksheet, **names: str) -> None:
    """Type names into rows, such as `r4="Denver"`."""
    for row, name in names.items():
        sheet.type(int(row[1:]), name)


@pytest.mark.parametrize(
    ("edit", "is_told"),
    [
        pytest.param(lambda sheet: None, False, id="none"),
        pytest.param(lambda sheet: put(sheet, r2="Akron"), False, id="blank-row-filled"),
        pytest.param(lambda sheet: put(sheet, r5="Denver"), True, id="the-only-row-beside-changed"),
        pytest.param(
            lambda sheet: put(sheet, r4="Boston", r5=""), True, id="the-only-row-beside-moved"
        ),
        pytest.param(
            lambda sheet: put(sheet, r2="Austin", r4=""), True, id="the-record-moved-two-rows-up"
        ),
    ],
)
async def test_blank_rows_beside_a_cleared_one(
    make_bench: MakeBench, edit: Edit, *, is_told: bool
) -> None:
    """If most rows around it are blank, a changed neighbour does not prove the planned row."""
    writes = WriteSettings.model_validate({"delete": "clear"})
    bench = make_bench(SPARSE, writes=writes)
    condition = await tag_of(bench, 4)
    bench.sheets.before("apply", lambda: edit(bench.cities))

    (end,) = await bench.together(Write.delete(row=4, condition=condition))

    assert isinstance(end, RowsMoved) is is_told


@pytest.mark.parametrize(
    ("edit", "is_told"),
    [
        pytest.param(lambda sheet: put(sheet, r2="Akron"), False, id="blank-row-filled"),
        pytest.param(lambda sheet: put(sheet, r2="Austin", r4=""), True, id="moved-two-rows-up"),
        pytest.param(lambda sheet: put(sheet, r8="Austin", r4=""), True, id="moved-four-rows-down"),
    ],
)
async def test_a_cleared_row_among_blank_ones(
    make_bench: MakeBench, edit: Edit, *, is_told: bool
) -> None:
    """The planned record in another row shows that another row was emptied."""
    writes = WriteSettings.model_validate({"delete": "clear"})
    bench = make_bench([line for line in SPARSE if line != ["Boston"]] + [[None]], writes=writes)
    condition = await tag_of(bench, 4)
    bench.sheets.before("apply", lambda: edit(bench.cities))

    (end,) = await bench.together(Write.delete(row=4, condition=condition))

    assert isinstance(end, RowsMoved) is is_told


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(
            Write.update_where(
                where=where("state", "$eq", "MA"), fields={"state": "x"}, max_rows=9
            ),
            id="the-column-of-the-filter",
        ),
        pytest.param(
            Write.update_where(
                where=where("name", "$eq", "Boston"), fields={"open": "x"}, max_rows=9
            ),
            id="another-column",
        ),
        pytest.param(
            Write.delete_where(where=where("name", "$eq", "Boston"), max_rows=9), id="delete"
        ),
        pytest.param(
            Write.upsert(rows=({"name": "Boston", "open": "x"},), keys=("name",)), id="upsert"
        ),
    ],
)
async def test_filters_and_keys_are_conditions(bench: Bench, write: Write) -> None:
    """A write by filter or key that met other records gets the error."""
    bench.sheets.before("apply", lambda: reverse(bench.cities))

    with pytest.raises(RowsMoved) as raised:
        await bench.service.write(TARGET, write)

    assert raised.value.expected is not None
    assert raised.value.expected["name"] == "Boston"


async def test_a_record_without_the_key_is_another_one(bench: Bench) -> None:
    """The row of an upsert without its key is another record: a person sorted or emptied it."""
    bench.sheets.before("apply", lambda: bench.cities.type(3, "", "LA"))

    with pytest.raises(RowsMoved):
        await bench.service.write(
            TARGET, Write.upsert(rows=({"name": "Boston", "open": "x"},), keys=("name",))
        )


async def test_a_filter_minds_its_own_columns(bench: Bench) -> None:
    """An edit of a column that the filter does not compare is no conflict."""
    write = Write.update_where(
        where=where("name", "$eq", "Denver"), fields={"open": "x"}, max_rows=9
    )
    bench.sheets.before("apply", lambda: bench.cities.type(4, None, "KS"))

    settled = await bench.service.write(TARGET, write)

    assert [each.row for each in settled.results] == [4]
    assert bench.cities.lines()[3] == ["Denver", "KS", "x"]


async def test_a_blank_row_inserted_above(bench: Bench) -> None:
    """A conditional update of the inserted blank row is an error, and lists are correct."""
    condition = await tag_of(bench, 3)
    await bench.page()
    bench.sheets.before("apply", lambda: bench.cities.insert_rows(3))

    with pytest.raises(RowsMoved):
        await bench.service.write(
            TARGET, Write.update(row=3, fields={"open": "done"}, condition=condition)
        )

    assert await bench.names() == ["Austin", None, "Boston", "Denver", "El Paso", "Fargo"]


async def test_the_only_record_below_an_inserted_row(make_bench: MakeBench) -> None:
    """A row is inserted above the only record, and removed in place of the record."""
    bench = make_bench([LINES[0], AUSTIN])
    condition = await tag_of(bench, 2)
    bench.sheets.before("apply", lambda: insert_above(bench.cities))

    with pytest.raises(RowsMoved):
        await bench.service.write(TARGET, Write.delete(row=2, condition=condition))


async def test_rows_that_the_batch_writes_are_no_evidence(make_bench: MakeBench) -> None:
    """In clear mode a delete and an update of the row below it go together."""
    writes = WriteSettings.model_validate({"delete": "clear"})
    bench = make_bench(LINES, writes=writes)
    await bench.look()

    ends = await bench.together(
        Write.delete_where(where=where("name", "$eq", "Denver"), max_rows=9),
        Write.update_where(
            where=where("rowIndex", "$gte", 5),
            fields={"name": "Q", "state": "W", "open": "E"},
            max_rows=9,
        ),
    )

    assert [len(end) for end in ends if not isinstance(end, BaseException)] == [1, 2]


async def test_only_the_write_that_met_another_record_fails(bench: Bench) -> None:
    """Of two conditional updates in one batch only the one with another record fails."""
    conditions = [await tag_of(bench, row) for row in (2, 3)]
    bench.sheets.before("apply", lambda: bench.cities.type(3, "Bangor", "ME"))

    first, second = await bench.together(
        *(
            Write.update(row=row, fields={"open": "done"}, condition=condition)
            for row, condition in enumerate(conditions, start=2)
        )
    )

    assert not isinstance(first, BaseException)
    assert isinstance(second, RowsMoved)


async def test_equal_rows_cannot_be_told_apart(make_bench: MakeBench) -> None:
    """If the record below equals the removed one, the write counts as correct."""
    bench = make_bench([LINES[0], AUSTIN, BOSTON, BOSTON, DENVER])
    condition = await tag_of(bench, 3)

    await bench.service.write(TARGET, Write.delete(row=3, condition=condition))

    assert [line[0] for line in bench.cities.lines()[1:]] == ["Austin", "Boston", "Denver"]


async def test_a_lost_answer_of_a_conditional_update(bench: Bench) -> None:
    """The row is read again and holds another record: its number is unknown."""
    condition = await tag_of(bench, 2)
    lost = WriteOutcomeUnknown("no answer")
    bench.sheets.before("apply", lambda: reverse(bench.cities))
    bench.sheets.after("apply", lost)

    with pytest.raises(RowNumberUnknown) as raised:
        await bench.service.write(
            TARGET, Write.update(row=2, fields={"open": "done"}, condition=condition)
        )

    assert raised.value.outcome == "applied"


async def test_a_moved_column_shows_no_hidden_cell(bench: Bench) -> None:
    """With another header than at the read, the error does not show the other record.

    The key sees `name` and `open`; a person swaps `open` and the hidden `state`.
    """
    grant = ColumnGrant(readable=frozenset({"name", "open"}), tag_key=b"key")
    target = Target(TARGET.worksheet, Access(key_id="some", columns=grant))

    def swap(sheet: FakeWorksheet) -> None:
        for row, line in enumerate(sheet.lines(), start=1):
            sheet.type(row, line[0], line[2], line[1])

    condition = IfMatch(frozenset({(await bench.read(2, target=target)).tag}))
    bench.sheets.before("apply", lambda: swap(bench.cities))

    with pytest.raises(RowsMoved) as raised:
        await bench.service.write(
            target, Write.update(row=2, fields={"name": "x"}, condition=condition)
        )

    assert raised.value.expected == {"rowIndex": 2, "name": "Austin", "open": "yes"}
    assert raised.value.met is None


def test_a_replay_shows_both_records_again() -> None:
    """The stored error has both records."""
    error = RowsMoved("moved", row=3, expected={"rowIndex": 3, "a": "x"}, met=None)

    kept = decode_answer(encode_answer(error), Restorer(()))

    assert isinstance(kept, RowsMoved)
    assert (kept.row, kept.expected, kept.met) == (3, {"rowIndex": 3, "a": "x"}, None)
    assert kept.outcome == "applied"
