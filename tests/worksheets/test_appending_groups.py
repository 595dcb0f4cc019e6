"""Creates that Google gets in one batch: each one has its own result."""

from collections.abc import Sequence

import pytest

from gateway.errors import (
    GatewayError,
    InvalidBody,
    NoHeaderRow,
    ProtectedCells,
    QuotaSpent,
    RowNumberUnknown,
    StorageFull,
    UpstreamError,
    UpstreamRefusal,
)
from gateway.worksheets.fenced_writer import MAX_EXTRA_WRITES
from gateway.worksheets.writes import Fields, Results, Write
from tests.worksheets.conftest import CITIES, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

NAMED = "Invalid requests[{index}].appendCells: "
ODD = NAMED + "Ungültig"
PROTECTED = NAMED + "You are trying to edit a protected cell or object."
TOO_LONG = NAMED + "Your input contains more than the maximum of 50000 characters in a single cell."
FULL = NAMED + "This action would increase the number of cells in the workbook above the limit"


def one(**fields: str | int | None) -> Write:
    return Write.create(rows=(fields,))


def many(*rows: Fields) -> Write:
    return Write.create(rows=rows, is_array=True)


def rows_of(end: Results | BaseException) -> list[int]:
    """Row numbers of a create that was written."""
    assert not isinstance(end, BaseException), end
    return [written.row for written in end]


def pointers(end: Results | BaseException) -> list[str]:
    """JSON pointers in an error."""
    assert isinstance(end, InvalidBody)
    return [problem.pointer for problem in end.problems]


async def test_rows_and_lists_of_rows_in_one_write(bench: Bench) -> None:
    """All rows are contiguous, in the order of the requests and as in the answers."""
    ends = await bench.together(
        one(name="a"),
        many({"state": "b1"}, {"name": "b2", "population": 2}, {"name": "b3", "state": None}),
        one(population=3),
    )

    assert [rows_of(end) for end in ends] == [[5], [6, 7, 8], [9]]
    assert bench.cities.lines()[4:] == [["a"], ["", "b1"], ["b2", "", "2"], ["b3"], ["", "", "3"]]
    assert bench.sheets.cost() == Cost(1, 1)
    assert isinstance(ends[1], tuple)
    assert [dict(written.record) for written in ends[1]] == [
        {"rowIndex": 6, "state": "b1"},
        {"rowIndex": 7, "name": "b2", "population": "2"},
        {"rowIndex": 8, "name": "b3", "state": None},
    ]


async def test_the_answer_to_one_row_has_its_tag(bench: Bench) -> None:
    """The tag of a single created row is that of a later read; rows of a list have no tag."""
    ends = await bench.together(one(name="a"), many({"state": "b"}, {"population": 1}))

    tags = [written.tag for end in ends if isinstance(end, tuple) for written in end]
    assert tags == [(await bench.read(5)).tag, "", ""]


async def test_an_invalid_one_among_good_ones(bench: Bench) -> None:
    """A create with an unknown field fails alone, and the others are written."""
    ends = await bench.together(one(name="a"), one(name="b", mayor="x"), one(name="c"))

    assert rows_of(ends[0]) + rows_of(ends[2]) == [5, 6]
    assert pointers(ends[1]) == ["#/mayor"]
    assert bench.cities.lines()[4:] == [["a"], ["c"]]
    assert bench.sheets.cost() == Cost(1, 1)


async def test_a_list_with_an_invalid_row(bench: Bench) -> None:
    """If one row of a list is invalid, no row is written, and the pointer names the row."""
    ends = await bench.together(
        many({"name": "a"}, {"name": "b"}, {"mayor": "x", " name": "d", "name": "e"}),
        one(name="c"),
    )

    assert pointers(ends[0]) == ["#/2/mayor", "#/2/name"]
    assert rows_of(ends[1]) == [5]
    assert bench.cities.lines()[4:] == [["c"]]


async def test_a_list_with_a_row_that_would_be_blank(bench: Bench) -> None:
    """A row without a value is refused before anything is sent, anywhere in the list."""
    (end,) = await bench.together(many({"name": "a"}, {"name": None, "state": ""}))

    assert pointers(end) == ["#/1"]
    assert bench.sheets.cost() == Cost(0, 0)


async def test_a_row_left_blank_by_ignored_fields(make_bench: MakeBench) -> None:
    """A row with only ignored unknown fields is refused, in a list with its pointer."""
    bench = make_bench(unknown_fields="ignore")

    ends = await bench.together(
        many({"name": "a"}, {"mayor": "x", "name": None}), one(mayor="x"), one(name="c", mayor="x")
    )

    assert [pointers(end) for end in ends[:2]] == [["#/1"], ["#"]]
    assert rows_of(ends[2]) == [5]


async def test_all_invalid(bench: Bench) -> None:
    """If no create is valid, nothing is sent."""
    ends = await bench.together(one(mayor="x"), one(mayor="y"))

    assert [pointers(end) for end in ends] == [["#/mayor"]] * 2
    assert bench.sheets.cost() == Cost(1, 0)


@pytest.mark.parametrize("is_seen", [False, True], ids=["cold", "header-seen"])
@pytest.mark.parametrize("size", [2, 50])
@pytest.mark.parametrize("words", [ODD, TOO_LONG, PROTECTED], ids=["odd", "long", "guard"])
async def test_the_poisoned_row_is_found(
    bench: Bench, words: str, size: int, is_seen: bool
) -> None:
    """A row that Google refuses fails alone, for one more write; 49 rows are written."""
    if is_seen:
        await bench.look()
    bench.sheets.poison["=BOOM()"] = words
    creates = [one(name=f"c{n}", population=n) for n in range(size)]
    creates[size // 3] = one(name="=BOOM()")
    bench.sheets.cost()

    ends = await bench.together(*creates)

    errors = [end for end in ends if isinstance(end, GatewayError)]
    assert ends.index(errors[0]) == size // 3
    assert [error.outcome for error in errors] == ["not_applied"]
    assert len(bench.cities.lines()) == 4 + size - 1
    for number, end in enumerate(ends):
        if end not in errors:
            (row,) = rows_of(end)
            assert bench.cities.lines()[row - 1] == [f"c{number}", "", str(number)]
    # An old look may explain an odd refusal: the batch is sent once more after a new one.
    assert bench.sheets.cost().writes == (3 if is_seen and words == ODD else 2)


async def test_several_poisoned_rows(bench: Bench) -> None:
    """Refused rows are left out one after the other, within the limit of writes."""
    bench.sheets.poison |= {f"c{n}": ODD for n in (3, 7, 19, 49)}

    ends = await bench.together(*(one(name=f"c{n}") for n in range(50)))

    refused = [n for n, end in enumerate(ends) if isinstance(end, UpstreamRefusal)]
    assert refused == [3, 7, 19, 49]
    assert len(bench.cities.lines()) == 4 + 46
    assert bench.sheets.cost().writes == 1 + MAX_EXTRA_WRITES


async def test_too_many_poisoned_rows(bench: Bench) -> None:
    """After four more writes the remaining creates fail, without the reason of another row."""
    bench.sheets.poison |= {f"c{n}": ODD for n in range(6)}

    ends = await bench.together(*(one(name=f"c{n}") for n in range(20)))

    assert [type(end) for end in ends] == [UpstreamRefusal] * 5 + [UpstreamError] * 15
    assert {end.outcome for end in ends if isinstance(end, GatewayError)} == {"not_applied"}
    assert len(bench.cities.lines()) == 4
    assert bench.sheets.cost().writes == 1 + MAX_EXTRA_WRITES


async def test_a_refusal_that_names_no_create_proves_nothing(bench: Bench) -> None:
    """Google may have applied the batch, so its fence decides, and all answers are correct."""
    bench.sheets.after("apply", UpstreamRefusal("Unable to parse range: ?"))

    ends = await bench.together(one(name="a"), one(name="b"))

    assert [rows_of(end) for end in ends] == [[5], [6]]
    assert bench.cities.lines()[4:] == [["a"], ["b"]]
    assert bench.sheets.count("apply") == 1


async def test_a_list_is_never_taken_apart(bench: Bench) -> None:
    """If Google refuses one row of a list, no row of the list is written."""
    bench.sheets.poison["=BOOM()"] = ODD

    ends = await bench.together(
        one(name="a"), many({"name": "b"}, {"name": "=BOOM()"}, {"name": "c"}), one(name="d")
    )

    assert isinstance(ends[1], UpstreamRefusal)
    assert rows_of(ends[0]) + rows_of(ends[2]) == [5, 6]
    assert bench.cities.lines()[4:] == [["a"], ["d"]]


async def test_one_alone_is_not_sent_again(bench: Bench) -> None:
    """A single create that Google refuses is not sent again."""
    bench.sheets.poison["x"] = ODD

    (end,) = await bench.together(many({"name": "x"}, {"name": "y"}))

    assert isinstance(end, UpstreamRefusal)
    assert bench.sheets.cost() == Cost(2, 1)


async def test_a_full_workbook_fails_all(bench: Bench) -> None:
    """A problem of the spreadsheet fails all creates, for 1 write and 1 read."""
    bench.sheets.before("apply", UpstreamRefusal(FULL.format(index=1)))

    ends = await bench.together(one(name="a"), many({"name": "b"}, {"name": "c"}))

    assert [type(end) for end in ends] == [StorageFull] * 2
    assert bench.sheets.cost() == Cost(2, 1)


async def test_a_worksheet_renamed_meanwhile_has_the_rows(bench: Bench) -> None:
    """The rows go to the tab that was read, and each answer says that it was renamed."""
    bench.sheets.before("apply", lambda: setattr(bench.cities, "title", "Towns"))

    ends = await bench.together(one(name="a"), one(name="b"))

    assert [type(end) for end in ends] == [RowNumberUnknown] * 2
    assert [end.outcome for end in ends if isinstance(end, GatewayError)] == ["applied"] * 2
    assert bench.cities.lines()[4:] == [["a"], ["b"]]
    assert bench.sheets.count("apply") == 1


async def test_a_worksheet_that_gave_its_name_away_has_the_rows(bench: Bench) -> None:
    """Rows of the tab that has the title now do not count as the written rows."""
    await bench.look()

    def rename() -> None:
        bench.cities.title = "Towns"
        bench.fake.add("Cities", CITIES)

    bench.sheets.before("apply", rename)

    ends = await bench.together(one(name="a"), one(name="b"))

    assert [end.outcome for end in ends if isinstance(end, UpstreamError)] == ["applied"] * 2
    assert bench.cities.lines()[4:] == [["a"], ["b"]]
    assert bench.fake.worksheets[1].lines() == bench.cities.lines()[:4]
    assert await bench.create(name="c") == 5
    assert bench.fake.worksheets[1].lines()[4:] == [["c"]]


async def test_all_protected(bench: Bench) -> None:
    """One refusal for a protected column fails all creates that write this column."""
    bench.sheets.poison |= {f"c{n}": PROTECTED for n in range(20)}

    ends = await bench.together(*(one(name=f"c{n}") for n in range(20)))

    assert [type(end) for end in ends] == [ProtectedCells] * 20
    assert bench.sheets.cost().writes == 1
    assert len(bench.cities.lines()) == 4


async def test_a_protected_column_stops_nobody_else(bench: Bench) -> None:
    """Creates that do not write the protected column are sent again."""
    bench.sheets.poison |= {"MA": PROTECTED, "CO": PROTECTED}

    ends = await bench.together(
        one(name="a"), one(name="b", state="MA"), one(population=1), one(name="d", state="CO")
    )

    assert [type(end) for end in ends] == [tuple, ProtectedCells, tuple, ProtectedCells]
    assert bench.cities.lines()[4:] == [["a"], ["", "", "1"]]
    assert bench.sheets.cost().writes == 2


async def test_a_spent_quota_fails_all(bench: Bench) -> None:
    """After a 429 no create of the group is sent again."""
    bench.sheets.before("apply", QuotaSpent("x", outcome="not_applied"))

    ends = await bench.together(one(name="a"), one(name="b"))

    assert [type(end) for end in ends] == [QuotaSpent] * 2
    assert bench.sheets.cost() == Cost(1, 1)


async def test_a_failed_look_fails_all(bench: Bench) -> None:
    """If the read of the end fails, no create of the group is sent."""
    bench.cities.type(1, "", "", "")

    ends = await bench.together(one(name="a"), one(name="b"))

    assert [type(end) for end in ends] == [NoHeaderRow] * 2
    assert bench.sheets.cost() == Cost(1, 0)


async def test_header_changed_before_the_second_try(bench: Bench) -> None:
    """A retry after a refusal reads the header again, so no value goes to a wrong column."""
    bench.sheets.poison["=BOOM()"] = ODD
    swap = ["state", "name", "population"]
    bench.sheets.after("list_worksheets", lambda: bench.cities.type(1, *swap))

    ends = await bench.together(*(one(name=f"c{n}") for n in range(4)), one(name="=BOOM()"))

    assert [rows_of(end) for end in ends[:4]] == [[5], [6], [7], [8]]
    assert bench.cities.lines()[4:] == [["", f"c{n}"] for n in range(4)]


async def test_field_gone_before_the_second_try(bench: Bench) -> None:
    """A create fails if its field is gone in the new header; the others are written."""
    bench.sheets.poison["=BOOM()"] = ODD
    bench.sheets.after("list_worksheets", lambda: bench.cities.type(1, None, "county"), nth=1)

    ends = await bench.together(
        one(name="a"), one(name="b"), one(name="c", state="d"), one(name="=BOOM()")
    )

    assert [rows_of(end) for end in ends[:2]] == [[5], [6]]
    assert pointers(ends[2]) == ["#/state"]
    assert isinstance(ends[3], UpstreamRefusal)
    assert bench.cities.lines()[4:] == [["a"], ["b"]]


async def test_a_new_column_is_looked_for_once(bench: Bench) -> None:
    """An unknown field causes one new read for the whole group."""
    await bench.look()
    bench.cities.type(1, None, None, None, "mayor")
    bench.sheets.cost()

    ends = await bench.together(one(name="a"), one(name="b", mayor="H"))

    assert [rows_of(end) for end in ends] == [[5], [6]]
    assert bench.sheets.cost() == Cost(1, 1)


@pytest.mark.parametrize(
    ("lines", "rows", "first"),
    [
        pytest.param(CITIES, 0, 5, id="full-grid"),
        pytest.param(CITIES[:1], 0, 2, id="header-only-full-grid"),
        pytest.param([*CITIES, [None, "x"]], 0, 6, id="full-grid-that-starts-blank"),
        pytest.param([*CITIES, [], ["total"]], 20, 7, id="totals"),
    ],
)
async def test_a_group_lands_below_all(
    make_bench: MakeBench,
    lines: Sequence[Sequence[str | int | None]],
    rows: int,
    first: int,
) -> None:
    """The rows of a group are contiguous, also if some begin with blanks."""
    bench = make_bench(lines, rows=rows)

    ends = await bench.together(one(state="a"), many({"name": "b"}, {"state": "c"}), one(name="d"))
    next_row = await bench.create(state="e")

    assert [rows_of(end) for end in ends] == [[first], [first + 1, first + 2], [first + 3]]
    assert bench.cities.lines()[first - 1 :] == [["", "a"], ["b"], ["", "c"], ["d"], ["", "e"]]
    assert next_row == first + 4
