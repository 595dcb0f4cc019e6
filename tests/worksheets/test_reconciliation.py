"""Whether an append whose outcome Google left open is there, and where."""

import asyncio
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from gateway.errors import (
    GatewayError,
    QuotaSpent,
    UpstreamError,
    UpstreamTimeout,
    WorksheetNotFound,
    WriteOutcomeUnknown,
)
from gateway.table.record import Stored
from gateway.worksheets.idempotency import RowInterval
from gateway.worksheets.reconciliation import Reconciler, displayed_rows, find_rows
from tests.fakes import FakeSheets, FakeWorksheet, Formatted, Held
from tests.worksheets.conftest import CITIES, WORKSHEET
from tests.worksheets.scripted_sheets import Cost, ScriptedSheets

RENO: Sequence[Stored] = ["Reno", "NV", 264165]
ANSWERED = WriteOutcomeUnknown("?", was_answered=True)
UNANSWERED = WriteOutcomeUnknown("?")
BOTH = pytest.mark.parametrize("error", [ANSWERED, UNANSWERED], ids=["answered", "unanswered"])


@dataclass
class Place:
    """A worksheet whose last known row is 4, and a settler whose pauses a test fills."""

    cities: FakeWorksheet
    sheets: ScriptedSheets
    meanwhile: list[Callable[[], object]] = field(default_factory=list)
    paused: list[float] = field(default_factory=list)

    async def settle(self, *rows: Sequence[Stored], error: WriteOutcomeUnknown = ANSWERED) -> int:
        reconciler = Reconciler(self.sheets, sleep=self._sleep)
        return await reconciler.settle_append(WORKSHEET, rows, from_row=5, error=error)

    async def _sleep(self, seconds: float) -> None:
        self.paused.append(seconds)
        for act in self.meanwhile:
            act()


MakePlace = Callable[..., Place]


@pytest.fixture
def make_place() -> MakePlace:
    def make(*below: Sequence[Held | None], rows: int = 100) -> Place:
        fake = FakeSheets()
        cities = fake.add("Cities", [*CITIES, *below], rows=rows)
        return Place(cities, ScriptedSheets(fake))

    return make


@pytest.mark.parametrize(
    ("held", "written", "is_it"),
    [
        pytest.param("x", "x", True, id="text"),
        pytest.param("X", "x", False, id="case"),
        pytest.param("x ", "x", False, id="blank-at-end"),
        pytest.param(1, 1.0, True, id="number"),
        pytest.param(0.1 + 0.2, 0.3, True, id="last-digit"),
        pytest.param(1.000001, 1, False, id="other-number"),
        pytest.param(1, "1", False, id="text-of-a-number"),
        pytest.param("1", 1, False, id="number-as-text"),
        pytest.param(True, 1, False, id="boolean-is-no-number"),
        pytest.param(1, True, False, id="number-is-no-boolean"),
        pytest.param(True, True, True, id="boolean"),
        pytest.param(False, True, False, id="other-boolean"),
        pytest.param("TRUE", True, False, id="boolean-as-text"),
        pytest.param(Formatted(43831, "2020-01-01"), 43831, True, id="formatted"),
        pytest.param(Formatted(43831, "2020-01-01"), "2020-01-01", False, id="its-display"),
        pytest.param("=1+2", "=1+2", True, id="text-like-a-formula"),
        pytest.param(None, "", True, id="empty"),
        pytest.param(0, "", False, id="zero-is-not-empty"),
        pytest.param(False, "", False, id="false-is-not-empty"),
        pytest.param("x", "", False, id="not-empty"),
        pytest.param(Formatted(9, "9"), None, True, id="not-written"),
        pytest.param(None, None, True, id="not-written-and-empty"),
    ],
)
async def test_cells_are_compared_typed(
    make_place: MakePlace, held: Held | None, written: Stored, is_it: bool
) -> None:
    """A cell holds what was written if type and value are the same; unwritten it may be any."""
    place = make_place(["Reno", held])

    assert await find_rows(place.sheets, WORKSHEET, [["Reno", written]], from_row=5) == (
        5 if is_it else None
    )


@pytest.mark.parametrize(
    ("below", "rows", "found"),
    [
        pytest.param([RENO], [RENO], 5, id="right-below"),
        pytest.param([["x"], RENO], [RENO], 6, id="below-others"),
        pytest.param([[], [], RENO], [RENO], 7, id="below-blank-rows"),
        pytest.param([RENO, RENO], [RENO], 5, id="first-of-two"),
        pytest.param([["a"], ["b"], ["c"]], [["a"], ["b"]], 5, id="block"),
        pytest.param([["a"], ["a"], ["b"]], [["a"], ["b"]], 6, id="false-start"),
        pytest.param([["a"], ["x"], ["b"]], [["a"], ["b"]], None, id="torn-block"),
        pytest.param([["b"], ["a"]], [["a"], ["b"]], None, id="other-order"),
        pytest.param([["a"]], [["a"], ["b"]], None, id="half-a-block"),
        pytest.param([["a"]], [["a"], ["a"]], None, id="one-of-two-same"),
        pytest.param([[None, "NV"]], [[None, "NV"]], 5, id="first-cell-not-written"),
        pytest.param([["Reno"]], [["Reno", "NV"]], None, id="shorter"),
        pytest.param([["Reno", "NV"]], [["Reno"]], 5, id="longer"),
        pytest.param([["Reno", "NV"], ["Reno"]], [["Reno"]], 6, id="no-more-than-ours-first"),
        pytest.param([["Reno", 1], ["Reno", 2]], [["Reno"]], 5, id="all-longer"),
        pytest.param([], [["Boston", "MA", 654776]], None, id="only-above"),
        pytest.param([], [RENO], None, id="nowhere"),
    ],
)
async def test_rows_are_found_by_content_position_and_count(
    make_place: MakePlace,
    below: Sequence[Sequence[Held | None]],
    rows: Sequence[Sequence[Stored]],
    found: int | None,
) -> None:
    """A block is found where all of its rows stand one below the other, below what was known."""
    place = make_place(*below)

    assert await find_rows(place.sheets, WORKSHEET, rows, from_row=5) == found
    assert place.sheets.cost() == Cost(1, 0)


@pytest.mark.parametrize(
    ("below", "rows", "taken", "found"),
    [
        pytest.param([["Reno", "NV"], ["Reno"]], [["Reno"]], [(6, 6)], 5, id="ours-has-more"),
        pytest.param([RENO, RENO], [RENO], [(5, 5)], 6, id="second"),
        pytest.param([RENO, RENO, RENO], [RENO], [(5, 5), (7, 99)], 6, id="between"),
        pytest.param([["a"], ["a"], ["a"]], [["a"], ["a"]], [(5, 5)], 6, id="block-below"),
        pytest.param([["a"], ["a"], ["a"]], [["a"], ["a"]], [(6, 6)], None, id="block-cut"),
        pytest.param([RENO], [RENO], [(1, 4), (6, 9)], 5, id="beside"),
    ],
)
async def test_rows_of_others_are_not_ours(
    make_place: MakePlace,
    below: Sequence[Sequence[Stored]],
    rows: Sequence[Sequence[Stored]],
    taken: Sequence[tuple[int, int]],
    found: int | None,
) -> None:
    """Taken rows are left out before it is asked which look most like ours. 1 read."""
    place = make_place(*below)
    spans = [RowInterval(*each) for each in taken]

    assert await find_rows(place.sheets, WORKSHEET, rows, from_row=5, taken=spans) == found
    assert place.sheets.cost() == Cost(1, 0)


async def test_no_rows_past_the_grid(make_place: MakePlace) -> None:
    """A grid that ends above has no such rows, which costs one more read to know."""
    place = make_place(rows=4)

    assert await find_rows(place.sheets, WORKSHEET, [RENO], from_row=5) is None
    assert place.sheets.cost() == Cost(2, 0)


@pytest.mark.parametrize("title", ["Towns", "CITIES"], ids=["renamed", "other-case"])
async def test_a_worksheet_that_is_gone_is_no_look(make_place: MakePlace, title: str) -> None:
    """Where the worksheet is not found, nothing is said about its rows."""
    place = make_place(RENO)
    place.cities.title = title

    with pytest.raises(WorksheetNotFound):
        await find_rows(place.sheets, WORKSHEET, [RENO], from_row=5)


async def test_what_rows_display(make_place: MakePlace) -> None:
    """Rows are read back as displayed; one that is blank by now is there all the same."""
    place = make_place(["Reno", "", 1.0], [None, True], ["next"])

    assert await displayed_rows(place.sheets, WORKSHEET, 5, 2) == [("Reno", "", "1"), ("", "TRUE")]
    assert await displayed_rows(place.sheets, WORKSHEET, 7, 3) == [("next",), (), ()]
    assert place.sheets.cost() == Cost(2, 0)


@pytest.mark.parametrize("is_renamed", [False, True], ids=["failed", "renamed"])
async def test_rows_that_cannot_be_read_back_are_applied(
    make_place: MakePlace, is_renamed: bool
) -> None:
    """A write that was found stays done if it cannot be shown."""
    place = make_place(RENO)
    if is_renamed:
        place.cities.title = "CITIES"
    else:
        place.sheets.before("read_values", QuotaSpent("later"))

    with pytest.raises(UpstreamError) as caught:
        await displayed_rows(place.sheets, WORKSHEET, 5, 1)

    assert (caught.value.code, caught.value.outcome) == (5020, "applied")


@BOTH
async def test_found_at_once(make_place: MakePlace, error: WriteOutcomeUnknown) -> None:
    """An append that is there is settled by one read, without a pause."""
    place = make_place(["x"], RENO)

    assert await place.settle(RENO, error=error) == 6
    assert place.sheets.cost() == Cost(1, 0)
    assert place.paused == []


@BOTH
async def test_found_at_the_second_look(make_place: MakePlace, error: WriteOutcomeUnknown) -> None:
    """What shows two seconds later only is found too."""
    place = make_place()
    place.meanwhile.append(lambda: place.cities.type(5, *RENO))

    assert await place.settle(RENO, error=error) == 5
    assert place.sheets.cost() == Cost(2, 0)
    assert place.paused == [2.0]


async def test_answered_and_absent_was_not_applied(make_place: MakePlace) -> None:
    """Google does nothing after its answer: rows that two looks do not find were not written."""
    place = make_place(["x"])

    with pytest.raises(UpstreamError) as caught:
        await place.settle(RENO, error=ANSWERED)

    assert (caught.value.code, caught.value.outcome) == (5020, "not_applied")
    assert caught.value.retryable
    assert caught.value.__cause__ is ANSWERED
    assert place.sheets.cost() == Cost(2, 0)


async def test_unanswered_and_absent_stays_open(make_place: MakePlace) -> None:
    """Without an answer the rows may still come, so the outcome is not known."""
    place = make_place(["x"])

    with pytest.raises(WriteOutcomeUnknown) as caught:
        await place.settle(RENO, error=UNANSWERED)

    assert caught.value is UNANSWERED
    assert place.sheets.cost() == Cost(2, 0)


@pytest.mark.parametrize(
    "trouble", [QuotaSpent("later"), UpstreamTimeout("slow")], ids=["quota", "timeout"]
)
@pytest.mark.parametrize(
    ("failing", "is_there", "expected"),
    [
        pytest.param([1], True, 5, id="first-then-found"),
        pytest.param([1], False, UpstreamError, id="first-then-absent"),
        pytest.param([2], False, WriteOutcomeUnknown, id="second"),
        pytest.param([1, 2], True, WriteOutcomeUnknown, id="both"),
    ],
)
async def test_a_failed_look_settles_nothing(
    make_place: MakePlace,
    events: list[MutableMapping[str, Any]],
    trouble: GatewayError,
    failing: Sequence[int],
    is_there: bool,
    expected: int | type[GatewayError],
) -> None:
    """That rows are absent is said by the second look alone; each failed one is logged."""
    place = make_place(*[RENO] * is_there)
    for number in failing:
        place.sheets.before("read_values", trouble, nth=number)

    try:
        outcome: object = await place.settle(RENO, error=ANSWERED)
    except GatewayError as error:
        outcome = type(error)

    assert outcome == expected
    assert [event["event"] for event in events] == ["look-failed"] * len(failing)


async def test_a_failed_look_keeps_the_first_cause(make_place: MakePlace) -> None:
    """The error that stays is still the one of the write, with what lay behind it."""
    place = make_place()
    place.sheets.before("read_values", QuotaSpent("later"), nth=2)
    error = WriteOutcomeUnknown("?", was_answered=True)
    error.__cause__ = OSError("reset")

    with pytest.raises(WriteOutcomeUnknown) as caught:
        await place.settle(RENO, error=error)

    assert caught.value is error
    assert isinstance(error.__cause__, OSError)


async def test_looks_end_in_time(make_place: MakePlace) -> None:
    """A look that takes too long is given up, and the outcome stays open."""
    place = make_place(RENO)
    place.sheets.before("read_values", asyncio.Event())
    reconciler = Reconciler(place.sheets, limit_seconds=0.01)

    async with asyncio.timeout(5):
        with pytest.raises(WriteOutcomeUnknown):
            await reconciler.settle_append(WORKSHEET, [RENO], from_row=5, error=ANSWERED)


async def test_full_grid_and_absent(make_place: MakePlace) -> None:
    """Where the grid still ends above, nothing was appended."""
    place = make_place(rows=4)

    with pytest.raises(UpstreamError) as caught:
        await place.settle(RENO, error=ANSWERED)

    assert caught.value.outcome == "not_applied"
    assert place.sheets.cost() == Cost(4, 0)
