"""Groups of updates that Google refuses, or whose outcome is unknown."""

from functools import partial

import pytest

from gateway.errors import (
    GatewayError,
    HeaderChanged,
    ProtectedCells,
    QuotaSpent,
    RowNotFound,
    RowNumberUnknown,
    UpstreamError,
    UpstreamRefusal,
    WorksheetNotFound,
    WriteOutcomeUnknown,
)
from gateway.worksheets.fenced_writer import MAX_EXTRA_WRITES
from tests.worksheets.conftest import Bench, MakeBench
from tests.worksheets.rename import LINES, names, record, renamed, update
from tests.worksheets.scripted_sheets import Cost

PLACE = "Invalid requests[{index}].updateCells: "
NAMED = PLACE + "You are trying to edit a protected cell or object."
UNANSWERED = WriteOutcomeUnknown("?")


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    """Twenty rows in a grid of 100 rows."""
    return make_bench(LINES)


@pytest.mark.parametrize("bad", [2, 11, 21])
async def test_the_named_culprit_is_left_out(bench: Bench, bad: int) -> None:
    """Google names the refused request: one more write, and all other updates are written."""
    bench.sheets.poison[f"new {bad}"] = NAMED

    ends = await bench.together(*renamed(*range(2, 22), note="y"))

    refused = {row: end for row, end in enumerate(ends, start=2) if not isinstance(end, tuple)}
    assert {row: type(end) for row, end in refused.items()} == {bad: ProtectedCells}
    assert names(bench, bad) == [f"n{bad}"]
    assert bench.sheets.cost() == Cost(3, 2)  # the others are sent by a new look


async def test_the_culprit_of_several_runs(bench: Bench) -> None:
    """Requests are counted over all rows: a row with two runs of cells has two requests."""
    bench.sheets.poison["bad"] = NAMED

    ends = await bench.together(
        update(2, name="a", note="b"), update(3, name="c", note="bad"), update(4, name="d")
    )

    assert [type(end) for end in ends] == [tuple, ProtectedCells, tuple]
    assert names(bench, 2, 3, 4) == ["a", "n3", "d"]


async def test_several_named_culprits(bench: Bench) -> None:
    """Refused updates are left out one after the other, within the limit of writes."""
    bench.sheets.poison |= {f"new {row}": NAMED for row in (3, 5, 8, 13)}

    ends = await bench.together(*renamed(*range(2, 22)))

    refused = {row: end for row, end in enumerate(ends, start=2) if not isinstance(end, tuple)}
    assert {row: type(end) for row, end in refused.items()} == dict.fromkeys(
        (3, 5, 8, 13), ProtectedCells
    )
    assert bench.sheets.cost().writes == 1 + MAX_EXTRA_WRITES


async def test_too_many_named_culprits(bench: Bench) -> None:
    """After four more writes the remaining updates fail, without the reason of another one."""
    bench.sheets.poison |= {f"new {row}": NAMED for row in range(2, 8)}

    ends = await bench.together(*renamed(*range(2, 22)))

    assert [type(end) for end in ends[:5]] == [ProtectedCells] * 5
    assert [type(end) for end in ends[5:]] == [UpstreamError] * 15
    assert names(bench, *range(2, 22)) == [f"n{row}" for row in range(2, 22)]
    assert bench.sheets.cost().writes == 1 + MAX_EXTRA_WRITES


@pytest.mark.parametrize(
    "words", ["?", "Invalid requests[7].updateCells: ?", "requests[999999999]"]
)
async def test_a_refusal_that_names_no_update_proves_nothing(bench: Bench, words: str) -> None:
    """Google may have applied the batch, so its fence decides, and all answers are correct."""
    bench.sheets.after("apply", UpstreamRefusal(words))

    ends = await bench.together(update(2, name="a"), update(3, name="b"))

    assert [type(end) for end in ends] == [tuple] * 2
    assert names(bench, 2, 3) == ["a", "b"]
    assert bench.sheets.count("apply") == 1


async def test_a_refusal_on_and_on_that_names_no_update(bench: Bench) -> None:
    """The refused update is unknown: nothing was written, and each answer says so."""
    bench.sheets.poison["=BOOM()"] = "Ungültig"

    ends = await bench.together(update(2, name="a"), update(3, name="=BOOM()"))

    assert [isinstance(end, GatewayError) and end.outcome for end in ends] == ["not_applied"] * 2
    assert names(bench, 2, 3) == ["n2", "n3"]


async def test_row_past_the_grid_between_look_and_write(bench: Bench) -> None:
    """A row that is below the grid at the write gets 404; other updates are written."""
    refusal = UpstreamRefusal(PLACE.format(index=2) + "Out of range")
    bench.sheets.before("apply", lambda: bench.cities.delete_rows(20, 81), refusal)

    ends = await bench.together(*renamed(2, 20, 21))

    assert [type(end) for end in ends] == [tuple, RowNotFound, RowNotFound]
    assert names(bench, 2) == ["new 2"]
    assert bench.cities.rows == 19


async def test_worksheet_renamed_between_look_and_write(bench: Bench) -> None:
    """The cells go to the tab that was read, and each answer says that it was renamed."""
    bench.sheets.before("apply", lambda: setattr(bench.cities, "title", "Towns"))

    ends = await bench.together(*renamed(2, 3, 4))

    assert [type(end) for end in ends] == [RowNumberUnknown] * 3
    assert names(bench, 2, 3, 4) == ["new 2", "new 3", "new 4"]
    assert bench.sheets.count("apply") == 1


async def test_worksheet_deleted_between_look_and_write(bench: Bench) -> None:
    """Nothing was written, and each answer has the reason."""
    bench.sheets.before("apply", bench.fake.worksheets.clear)

    ends = await bench.together(*renamed(2, 3, 4))

    assert [type(end) for end in ends] == [WorksheetNotFound] * 3
    assert bench.sheets.cost() == Cost(2, 1)


async def test_a_spent_quota_fails_all(bench: Bench) -> None:
    """After a 429 no update of the group is sent again."""
    bench.sheets.before("apply", QuotaSpent("x", outcome="not_applied"))

    ends = await bench.together(*renamed(2, 3))

    assert [type(end) for end in ends] == [QuotaSpent] * 2
    assert bench.sheets.cost() == Cost(1, 1)


@pytest.mark.parametrize("is_applied", [False, True], ids=["not-applied", "applied"])
@pytest.mark.parametrize("seconds", [0.0, 1.0], ids=["fresh", "old"])
async def test_an_open_group_is_settled_together(
    bench: Bench, is_applied: bool, seconds: float
) -> None:
    """A group without an answer is found by its fence, or sent again completely."""
    script = bench.sheets.after if is_applied else bench.sheets.before
    script("apply", lambda: bench.clock.advance(seconds), UNANSWERED)

    ends = await bench.together(*renamed(2, 3, 9, note=None))

    assert [record(end) for end in ends] == [
        {"rowIndex": row, "name": f"new {row}", "note": None} for row in (2, 3, 9)
    ]
    assert names(bench, 2, 3, 9) == ["new 2", "new 3", "new 9"]
    assert bench.sheets.count("apply") == (1 if is_applied else 2)


async def test_a_found_group_with_a_changed_row(bench: Bench) -> None:
    """All updates were applied; only the row that a person changed is not answered."""
    bench.sheets.after("apply", lambda: bench.cities.type(3, "theirs"), UNANSWERED)

    ends = await bench.together(*renamed(2, 3, 9))

    assert [type(end) for end in ends] == [tuple, RowNumberUnknown, tuple]
    assert names(bench, 2, 3, 9) == ["new 2", "theirs", "new 9"]
    assert bench.sheets.count("apply") == 1


@pytest.mark.parametrize("is_found", [False, True], ids=["answered", "found"])
async def test_a_group_under_another_header(bench: Bench, is_found: bool) -> None:
    """If a person changed the header at the same time, updates of changed columns get the error."""
    swap = partial(bench.cities.type, 1, "note", None, "name")
    bench.sheets.before("apply", swap)
    if is_found:
        bench.sheets.after("apply", UNANSWERED)

    ends = await bench.together(*renamed(2, 3), update(4, sum=1))

    assert [type(end) for end in ends] == [HeaderChanged, HeaderChanged, tuple]
    assert [end.row for end in ends if isinstance(end, HeaderChanged)] == [2, 3]
    assert [end.outcome for end in ends if isinstance(end, HeaderChanged)] == ["applied"] * 2
    assert bench.sheets.count("apply") == 1


async def test_an_open_group_that_is_sent_anew_goes_by_the_new_header(bench: Bench) -> None:
    """After its fence is burnt, no update is sent with an old header."""
    swap = partial(bench.cities.type, 1, "note", None, "name")
    bench.sheets.before("apply", lambda: bench.clock.advance(1.0), swap, UNANSWERED)

    ends = await bench.together(*renamed(2, 3))

    assert [record(end) for end in ends] == [
        {"rowIndex": row, "name": f"new {row}"} for row in (2, 3)
    ]
    assert [bench.cities.lines()[row - 1][2] for row in (2, 3)] == ["new 2", "new 3"]
    assert names(bench, 2, 3) == ["n2", "n3"]


async def test_an_open_culprit(bench: Bench) -> None:
    """A group that is sent again and then refused still finds the refused update."""
    bench.sheets.before("apply", UNANSWERED)
    bench.sheets.poison["new 3"] = NAMED

    ends = await bench.together(*renamed(2, 3, 4))

    assert [type(end) for end in ends] == [tuple, ProtectedCells, tuple]
    assert names(bench, 2, 3, 4) == ["new 2", "n3", "new 4"]
