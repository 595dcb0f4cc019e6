"""Writes with values calls: their anchors and echoes, and open outcomes that stay open."""

from collections.abc import MutableMapping
from dataclasses import replace
from typing import Any

import pytest

from gateway.errors import (
    GatewayError,
    InvalidBody,
    ProtectedCells,
    QuotaSpent,
    StorageFull,
    UpstreamError,
    UpstreamRefusal,
    WorksheetNotFound,
    WriteOutcomeUnknown,
)
from gateway.google.sheets import Values
from gateway.worksheets.access import Access
from gateway.worksheets.values_writer import GROWTH_ROWS, MAX_EXTRA_WRITES
from gateway.worksheets.writes import Create, Results, Update, WriteIdentity
from tests.worksheets.conftest import CITIES, TARGET, TTL_SECONDS, WORKSHEET, Bench, MakeBench
from tests.worksheets.scripted_sheets import Answer, Cost, Kind

HEADER = CITIES[0]
OPEN = WriteOutcomeUnknown("no answer", outcome="unknown", retry_after_seconds=185)
SPENT = QuotaSpent("spent", outcome="not_applied")
TICKET = WriteIdentity(scope="s1", fingerprint="f1", worksheet=WORKSHEET, key_id="")
FULL = "This action would increase the number of cells in the workbook above the limit"
PROTECTED = "You are trying to edit a protected cell or object."


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """Three cities in a grid with room for more; Google parses what is sent."""
    return make_bench(value_input="user_entered")


def one(**fields: str | int | None) -> Create:
    return Create(rows=(fields,))


def row_of(end: Results | BaseException) -> int:
    assert not isinstance(end, BaseException), end
    return end[0].row


async def test_echo_without_skipped_cells(bench: Bench) -> None:
    """An echo that leaves skipped cells at its start out is understood as well."""
    echo = Values(range="Cities!C5:C5", cells=(("9",),))
    bench.sheets.after("append_rows", Answer(echo))

    written = await bench.created({"name": None, "state": "", "population": 9})

    assert written.record == {"rowIndex": 5, "name": None, "state": None, "population": "9"}


async def test_growing_stays_rare(make_bench: MakeBench) -> None:
    """A grid that had to grow has room for the rows that follow, also if they start blank."""
    bench = make_bench([HEADER, [None, "MA"]], rows=0, value_input="user_entered")
    await bench.create(state="CO")
    bench.sheets.cost()

    rows = [await bench.create(state="TX") for _ in range(3)]

    assert rows == [4, 5, 6]
    assert bench.sheets.cost() == Cost(0, 3)
    assert bench.sheets.count("grow_grid") == 1
    assert bench.cities.rows >= 2 + GROWTH_ROWS


async def test_growth_that_stays_open_writes_nothing(make_bench: MakeBench) -> None:
    """If Google leaves open whether the grid grew, the row surely was not written."""
    bench = make_bench([HEADER, [None, "MA"]], rows=0, value_input="user_entered")
    bench.sheets.after("grow_grid", WriteOutcomeUnknown("?", outcome="unknown"))

    with pytest.raises(UpstreamError) as caught:
        await bench.create(state="CO")

    assert caught.value.outcome == "not_applied"
    assert bench.sheets.count("append_rows") == 0
    assert await bench.create(state="CO") == 3


@pytest.mark.parametrize(
    ("echo", "is_logged"),
    [
        pytest.param("Cities!A4:A4", True, id="not-below"),
        pytest.param("Cities!B5:B5", True, id="other-column"),
        pytest.param("Cities!A5:B5", True, id="too-wide"),
        pytest.param("Cities!A5:A6", True, id="two-rows"),
        pytest.param("cities!A5", False, id="renamed"),
        pytest.param("Cities!A:A", False, id="unreadable"),
    ],
)
async def test_odd_echo(
    bench: Bench, events: list[MutableMapping[str, Any]], echo: str, is_logged: bool
) -> None:
    """A row that Google put elsewhere is said to be applied, logged, and not sent again."""
    bench.sheets.after("append_rows", Answer(Values(range=echo, cells=(("Reno",),))))

    with pytest.raises(UpstreamError) as caught:
        await bench.create(name="Reno")

    assert caught.value.outcome == "applied"
    assert bench.sheets.cost() == Cost(1, 1)
    assert [event["event"] for event in events] == ["misplaced-write"] * is_logged
    assert await bench.create(name="Salem") == 6
    assert bench.sheets.cost() == Cost(1, 1)


async def test_a_key_without_the_right_types_no_formulas(bench: Bench) -> None:
    """A text that Google would take for a formula is forced to be text."""
    access = Access(formulas=True)
    trusted = replace(TARGET, access=access)
    await bench.created({"name": "=1+1"}, replace(TARGET, access=replace(access, formulas=False)))
    await bench.created({"name": "=1+1"}, trusted)

    assert bench.cities.lines()[4:] == [["'=1+1"], ["=1+1"]]


async def test_full_grid_is_known_after_another_look(make_bench: MakeBench) -> None:
    """A look by way of a known last row sees that it begins with a blank and fills the grid."""
    bench = make_bench([["name", "state"], [None, "MA"]], rows=0, value_input="user_entered")
    await bench.page()
    bench.clock.advance(TTL_SECONDS)
    bench.sheets.cost()

    row = await bench.create(state="CO")

    assert row == 3
    assert bench.cities.lines()[1:] == [["", "MA"], ["", "CO"]]
    assert bench.sheets.cost() == Cost(2, 2)


async def test_a_grid_that_grew_for_a_failed_append_does_not_grow_again(
    make_bench: MakeBench,
) -> None:
    """The next append finds the room that the one before it made."""
    lines = [["name", "state"], ["Boston", "MA"], [None, "CO"]]
    bench = make_bench(lines, rows=3, value_input="user_entered")
    bench.sheets.before("append_rows", SPENT)
    first = (await bench.together(one(name="a")))[0]
    second = (await bench.together(one(name="b")))[0]

    assert isinstance(first, QuotaSpent)
    assert not isinstance(second, BaseException)
    assert bench.sheets.count("grow_grid") == 1


@pytest.mark.parametrize("is_applied", [False, True], ids=["not applied", "applied"])
async def test_an_open_create_stays_open(bench: Bench, is_applied: bool) -> None:
    """Rows prove nothing: it is not looked for, and never sent again, with or without a key."""
    keyed = Create(rows=({"name": "Reno"},), identity=TICKET)
    (bench.sheets.after if is_applied else bench.sheets.before)("append_rows", OPEN)
    ends = [(await bench.together(keyed))[0]]
    first = bench.sheets.cost()
    for _ in range(2):
        bench.clock.advance(200)
        ends += await bench.together(keyed)

    assert [isinstance(end, WriteOutcomeUnknown) and end.outcome for end in ends] == ["unknown"] * 3
    assert first == Cost(1, 1)
    assert bench.sheets.cost() == Cost(0, 0)
    assert bench.cities.lines()[4:] == [["Reno"]] * is_applied


@pytest.mark.parametrize("is_applied", [False, True], ids=["not applied", "applied"])
async def test_an_open_update_stays_open(bench: Bench, is_applied: bool) -> None:
    """What the row displays now may be somebody else's: nothing is concluded from it."""
    keyed = Update(row=2, fields={"name": "X"}, identity=TICKET)
    (bench.sheets.after if is_applied else bench.sheets.before)("write_cells", OPEN)
    ends = await bench.together(keyed) + await bench.together(keyed)

    assert [isinstance(end, WriteOutcomeUnknown) and end.outcome for end in ends] == ["unknown"] * 2
    assert bench.sheets.cost() == Cost(1, 1)


async def test_a_group_stays_open_together(bench: Bench) -> None:
    """All that went to Google are open; what was wrong before is not."""
    bench.sheets.before("append_rows", OPEN)

    ends = await bench.together(one(name="a"), one(mayor="x"), one(name="b"))

    assert [type(end) for end in ends] == [WriteOutcomeUnknown, InvalidBody, WriteOutcomeUnknown]


async def test_the_next_one_looks(bench: Bench) -> None:
    """Nothing that was seen before an open create is trusted after it."""
    await bench.page()
    bench.sheets.after("append_rows", OPEN)
    with pytest.raises(WriteOutcomeUnknown):
        await bench.create(state="NV")
    bench.sheets.cost()

    row = await bench.create(state="OR")

    assert row == 6
    assert bench.sheets.cost() == Cost(1, 1)


@pytest.mark.parametrize("kind", ["append_rows", "write_cells"])
async def test_an_open_write_has_the_rows_read_anew(make_bench: MakeBench, kind: Kind) -> None:
    """After a write of which nobody knows the outcome, what was read is not fresh any more."""
    bench = make_bench(value_input="user_entered", cache={"rows_ttl_seconds": 5.0})
    await bench.page()
    bench.sheets.after(kind, OPEN)
    with pytest.raises(WriteOutcomeUnknown):
        await (bench.create(name="X") if kind == "append_rows" else bench.updated(2, {"name": "X"}))

    assert "X" in await bench.names()


async def test_a_misplaced_row_is_not_missed(make_bench: MakeBench) -> None:
    """Where Google wrote a row elsewhere, what was read before it is not served any more."""
    cache = {"rows_ttl_seconds": 5.0, "max_stale_seconds": 3600.0}
    bench = make_bench(value_input="user_entered", cache=cache)
    await bench.page()
    bench.sheets.after("append_rows", Answer(Values(range="Cities!B9", cells=(("Reno",),))))
    with pytest.raises(UpstreamError):
        await bench.create(name="Reno")
    bench.sheets.before("read_columns", UpstreamError("down"))

    with pytest.raises(UpstreamError):
        await bench.page()


async def test_misplaced_rows_are_told_to_all(bench: Bench) -> None:
    """If Google put the rows of a group elsewhere none of them is sent again."""
    odd = Values(range="Cities!B5:B6", cells=(("a",), ("b",)))
    bench.sheets.after("append_rows", Answer(odd))

    ends = await bench.together(one(name="a"), one(name="b"), one(mayor="x"))

    assert [end.outcome for end in ends[:2] if isinstance(end, UpstreamError)] == ["applied"] * 2
    assert isinstance(ends[2], InvalidBody)
    assert bench.sheets.cost().writes == 1


async def test_an_odd_echo_of_an_update_is_applied(bench: Bench) -> None:
    """An update whose echo names another worksheet is said to be applied."""
    bench.sheets.after("write_cells", Answer([Values(range="CITIES!A2", cells=(("X",),))]))

    with pytest.raises(UpstreamError) as caught:
        await bench.updated(2, {"name": "X"})

    assert caught.value.outcome == "applied"


async def test_the_creates_of_a_refused_group_go_one_by_one(bench: Bench) -> None:
    """Google does not say which is to blame; the others are written."""
    bench.sheets.poison["boom"] = PROTECTED

    ends = await bench.together(one(name="a"), one(name="boom", state="x"), one(name="c"))

    assert [row_of(end) for end in (ends[0], ends[2])] == [5, 6]
    assert isinstance(ends[1], ProtectedCells)
    assert bench.cities.lines()[4:] == [["a"], ["c"]]
    assert bench.sheets.cost().writes == 4


async def test_a_large_refused_group_is_not_tried_on_and_on(bench: Bench) -> None:
    """What is left after four more writes is refused, and told so without another's reason."""
    bench.sheets.poison["c2"] = PROTECTED

    ends = await bench.together(*(one(name=f"c{number}") for number in range(20)))

    assert [type(end) for end in ends[:4]] == [tuple, tuple, ProtectedCells, tuple]
    assert [type(end) for end in ends[4:]] == [UpstreamError] * 16
    assert {end.outcome for end in ends[4:] if isinstance(end, GatewayError)} == {"not_applied"}
    assert bench.cities.lines()[4:] == [["c0"], ["c1"], ["c3"]]
    assert bench.sheets.cost().writes == 1 + MAX_EXTRA_WRITES


async def test_one_alone_is_not_sent_again(bench: Bench) -> None:
    """A create that Google refuses under a header just seen is told why at once."""
    bench.sheets.poison["x"] = "Ungültig"

    (end,) = await bench.together(Create(rows=({"name": "x"}, {"name": "y"}), is_array=True))

    assert isinstance(end, UpstreamRefusal)
    assert bench.sheets.cost() == Cost(2, 1)


async def test_a_full_workbook_fails_all_that_were_sent(bench: Bench) -> None:
    """What is wrong with the spreadsheet is told to them, for one write and one read."""
    bench.sheets.before("append_rows", UpstreamRefusal(FULL))

    ends = await bench.together(one(name="a"), one(mayor="x"), one(name="b"))

    assert [type(end) for end in ends] == [StorageFull, InvalidBody, StorageFull]
    assert bench.sheets.cost() == Cost(2, 1)


@pytest.mark.parametrize("kind", ["append_rows", "write_cells"])
async def test_a_worksheet_renamed_meanwhile_fails_all(bench: Bench, kind: Kind) -> None:
    """If the worksheet has another name by the time of the write, all hear of it."""
    bench.sheets.before(kind, lambda: setattr(bench.cities, "title", "Towns"))
    updates = [Update(row=row, fields={"name": "x"}) for row in (2, 3)]

    ends = await bench.together(*(updates if kind == "write_cells" else [one(name="a")] * 2))

    assert [type(end) for end in ends] == [WorksheetNotFound] * 2
    assert bench.sheets.cost() == Cost(2, 1)


async def test_updates_do_not_renew_the_header(bench: Bench) -> None:
    """An update's look leaves the header's age as it was."""
    await bench.page()
    bench.clock.advance(TTL_SECONDS)
    await bench.updated(2, {"name": "X"})
    bench.sheets.cost()

    await bench.create(name="Y")

    assert bench.sheets.cost() == Cost(1, 1)


async def test_appends_do_not_prolong_the_ttl(bench: Bench) -> None:
    """However often rows are created, the header is looked at once in a ttl."""
    costs = []
    for _ in range(4):
        await bench.create(name="Reno")
        costs.append(bench.sheets.cost())
        bench.clock.advance(TTL_SECONDS / 2)

    assert costs == [Cost(1, 1), Cost(0, 1), Cost(1, 1), Cost(0, 1)]
