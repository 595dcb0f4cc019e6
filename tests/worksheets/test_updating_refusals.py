"""Groups of updates that Google refuses, or of which it does not say what became."""

import pytest

from gateway.errors import (
    GatewayError,
    ProtectedCells,
    QuotaSpent,
    RowNotFound,
    UpstreamError,
    UpstreamRefusal,
    WorksheetNotFound,
    WriteOutcomeUnknown,
)
from gateway.worksheets.bisection import MAX_EXTRA_WRITES
from tests.worksheets.conftest import Bench, MakeBench
from tests.worksheets.rename import LINES, names, record, renamed, update
from tests.worksheets.scripted_sheets import Cost

NAMED = "Invalid data[{index}]: You are trying to edit a protected cell or object."
ANSWERED = WriteOutcomeUnknown("?", was_answered=True)
UNANSWERED = WriteOutcomeUnknown("?")
BOTH = pytest.mark.parametrize("error", [ANSWERED, UNANSWERED], ids=["answered", "no-answer"])


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """The twenty rows in a grid of 100."""
    return make_bench(LINES)


@pytest.mark.parametrize("bad", [2, 11, 21])
async def test_the_named_culprit_is_left_out(bench: Bench, bad: int) -> None:
    """Google says which range is to blame: one more write, and all others are there."""
    bench.sheets.poison[f"new {bad}"] = NAMED

    ends = await bench.together(*renamed(*range(2, 22), note="y"))

    refused = {row: end for row, end in enumerate(ends, start=2) if not isinstance(end, tuple)}
    assert {row: type(end) for row, end in refused.items()} == {bad: ProtectedCells}
    assert names(bench, bad) == [f"n{bad}"]
    assert bench.sheets.cost() == Cost(2, 2)


async def test_the_culprit_of_several_runs(bench: Bench) -> None:
    """Ranges are counted over all rows: a row of two runs has two of them."""
    bench.sheets.poison["bad"] = NAMED

    ends = await bench.together(
        update(2, name="a", note="b"), update(3, name="c", note="bad"), update(4, name="d")
    )

    assert [type(end) for end in ends] == [tuple, ProtectedCells, tuple]
    assert names(bench, 2, 3, 4) == ["a", "n3", "d"]


async def test_several_named_culprits(bench: Bench) -> None:
    """One after the other is left out, as long as there are writes for it."""
    bench.sheets.poison |= {f"new {row}": NAMED for row in (3, 5, 8, 13)}

    ends = await bench.together(*renamed(*range(2, 22)))

    refused = {row: end for row, end in enumerate(ends, start=2) if not isinstance(end, tuple)}
    assert {row: type(end) for row, end in refused.items()} == dict.fromkeys(
        (3, 5, 8, 13), ProtectedCells
    )
    assert bench.sheets.cost().writes == 1 + MAX_EXTRA_WRITES


async def test_too_many_named_culprits(bench: Bench) -> None:
    """After four more writes the rest is refused, and told so without another's reason."""
    bench.sheets.poison |= {f"new {row}": NAMED for row in range(2, 8)}

    ends = await bench.together(*renamed(*range(2, 22)))

    assert [type(end) for end in ends[:5]] == [ProtectedCells] * 5
    assert [type(end) for end in ends[5:]] == [UpstreamError] * 15
    assert names(bench, *range(2, 22)) == [f"n{row}" for row in range(2, 22)]
    assert bench.sheets.cost().writes == 1 + MAX_EXTRA_WRITES


async def test_the_culprit_that_nobody_names(bench: Bench) -> None:
    """Without a number in Google's words the odd one is looked for, with four more writes."""
    bench.sheets.poison["=BOOM()"] = "Ungültig"

    ends = await bench.together(
        *renamed(*range(2, 12)), update(12, name="=BOOM()"), *renamed(*range(13, 22))
    )

    refused = [row for row, end in enumerate(ends, start=2) if isinstance(end, UpstreamRefusal)]
    assert refused == [12]
    assert bench.sheets.cost().writes == 2


@pytest.mark.parametrize("words", ["Invalid data[7]: ?", "data[99999999999999999999]"])
async def test_a_number_that_is_none_of_ours(bench: Bench, words: str) -> None:
    """A range that was not sent is nobody's: the culprit is looked for as if none was named."""
    bench.sheets.poison["=BOOM()"] = words

    ends = await bench.together(update(2, name="a"), update(3, name="b"), update(4, name="=BOOM()"))

    assert [type(end) for end in ends[:2]] == [tuple] * 2
    assert isinstance(ends[2], UpstreamRefusal)


async def test_row_deleted_between_look_and_write(make_bench: MakeBench) -> None:
    """A row that the grid has no more by the time of the write is not found; others are done."""
    bench = make_bench(LINES)
    bench.sheets.before("write_cells", lambda: bench.cities.delete_rows(20, 81))

    ends = await bench.together(*renamed(2, 20, 21))

    assert [type(end) for end in ends] == [tuple, RowNotFound, RowNotFound]
    assert names(bench, 2) == ["new 2"]
    assert bench.cities.rows == 19


async def test_one_alone_is_to_blame(make_bench: MakeBench) -> None:
    """A single update that is refused without a number has the reason of its own row."""
    bench = make_bench(LINES)
    refusal = UpstreamRefusal("Ungültig")
    bench.sheets.before("write_cells", lambda: bench.cities.delete_rows(20, 81), refusal)

    (end,) = await bench.together(update(20, name="a"))

    assert isinstance(end, RowNotFound)
    assert bench.sheets.cost() == Cost(2, 1)


async def test_worksheet_renamed_between_look_and_write(bench: Bench) -> None:
    """If the worksheet has another name by the time of the write, all hear of it at once."""
    bench.sheets.before("write_cells", lambda: setattr(bench.cities, "title", "Towns"))

    ends = await bench.together(*renamed(2, 3, 4))

    assert [type(end) for end in ends] == [WorksheetNotFound] * 3
    assert bench.sheets.cost() == Cost(2, 1)


async def test_a_spent_quota_fails_all(bench: Bench) -> None:
    """After a 429 nothing of the group is sent again."""
    bench.sheets.before("write_cells", QuotaSpent("x", outcome="not_applied"))

    ends = await bench.together(*renamed(2, 3))

    assert [type(end) for end in ends] == [QuotaSpent] * 2
    assert bench.sheets.cost() == Cost(1, 1)


@BOTH
@pytest.mark.parametrize("is_applied", [False, True], ids=["not-applied", "applied"])
async def test_an_open_group_is_settled_together(
    bench: Bench, error: GatewayError, is_applied: bool
) -> None:
    """A group that Google left open is looked for, and sent again if all is as it was."""
    script = bench.sheets.after if is_applied else bench.sheets.before
    script("write_cells", error)

    ends = await bench.together(*renamed(2, 3, 9, note=None))

    assert [record(end) for end in ends] == [
        {"rowIndex": row, "name": f"new {row}", "note": None} for row in (2, 3, 9)
    ]
    assert names(bench, 2, 3, 9) == ["new 2", "new 3", "new 9"]
    assert bench.sheets.cost() == Cost(3, 1 if is_applied else 2)


@BOTH
async def test_an_open_group_with_a_changed_row(bench: Bench, error: GatewayError) -> None:
    """If a person changed one of its rows meanwhile the whole group stays open, unsent."""
    bench.sheets.before("write_cells", lambda: bench.cities.type(3, "theirs"), error)

    ends = await bench.together(*renamed(2, 3, 9))

    assert [type(end) for end in ends] == [WriteOutcomeUnknown] * 3
    assert names(bench, 2, 3, 9) == ["n2", "theirs", "n9"]
    assert bench.sheets.cost().writes == 1


@BOTH
async def test_an_open_group_under_another_header(bench: Bench, error: GatewayError) -> None:
    """If the header changed meanwhile nothing is sent again under the old one."""
    bench.sheets.before("write_cells", lambda: bench.cities.type(1, "note", None, "name"), error)

    ends = await bench.together(*renamed(2, 3))

    assert [type(end) for end in ends] == [WriteOutcomeUnknown] * 2
    assert bench.sheets.cost().writes == 1


async def test_an_open_culprit(bench: Bench) -> None:
    """A group that is sent again and then refused by name still finds its culprit."""
    bench.sheets.before("write_cells", ANSWERED)
    bench.sheets.poison["new 3"] = NAMED

    ends = await bench.together(*renamed(2, 3, 4))

    assert [type(end) for end in ends] == [tuple, ProtectedCells, tuple]
    assert names(bench, 2, 3, 4) == ["new 2", "n3", "new 4"]
