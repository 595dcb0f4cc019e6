"""Creates whose outcome Google left open: they are looked for, and never sent again."""

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import GatewayError, QuotaSpent, UpstreamError, WriteOutcomeUnknown
from gateway.settings.model import WriteSettings
from gateway.worksheets.writes import Create, WriteIdentity
from tests.fakes import Formatted
from tests.worksheets.conftest import WORKSHEET, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

ANSWERED = WriteOutcomeUnknown("?", was_answered=True, retry_after_seconds=185)
UNANSWERED = WriteOutcomeUnknown("?", retry_after_seconds=185)
BOTH = pytest.mark.parametrize("error", [ANSWERED, UNANSWERED], ids=["answered", "no-answer"])
COLD_OR_NOT = pytest.mark.parametrize("is_seen", [False, True], ids=["cold", "header-seen"])
GROUP = [
    Create(rows=({"name": "a"},)),
    Create(rows=({"state": "b"}, {"population": 1}), is_array=True),
    Create(rows=({"name": "a"},)),
]


async def _see_header(bench: Bench, is_seen: bool) -> int:
    """Have the header seen if so; how many reads the look of a create costs then."""
    if is_seen:
        await bench.page()
    bench.sheets.cost()
    return int(not is_seen)


@BOTH
@COLD_OR_NOT
async def test_applied_is_found(bench: Bench, error: GatewayError, is_seen: bool) -> None:
    """A row that is there is answered with its number and what it displays, for two reads."""
    look = await _see_header(bench, is_seen)
    bench.sheets.after("append_rows", error)

    written = await bench.created({"name": "Reno", "population": 264165})

    assert written.record == {"rowIndex": 5, "name": "Reno", "population": "264165"}
    assert written.tag == (await bench.read(5)).tag
    assert bench.sheets.cost() == Cost(look + 2 + 1, 1)
    assert bench.pauses == []


@COLD_OR_NOT
async def test_answered_and_not_there(bench: Bench, is_seen: bool) -> None:
    """After two looks what Google answered was not applied, and may be sent again."""
    look = await _see_header(bench, is_seen)
    bench.sheets.before("append_rows", ANSWERED)

    with pytest.raises(UpstreamError) as caught:
        await bench.create(name="Reno")

    assert (caught.value.outcome, caught.value.retryable) == ("not_applied", True)
    assert bench.sheets.cost() == Cost(look + 2, 1)
    assert bench.pauses == [2.0]
    assert await bench.create(name="Reno") == 5


async def test_not_answered_and_not_there(bench: Bench) -> None:
    """What Google did not answer may still land: its outcome stays unknown."""
    bench.sheets.before("append_rows", UNANSWERED)

    with pytest.raises(WriteOutcomeUnknown) as caught:
        await bench.create(name="Reno")

    assert (caught.value.outcome, caught.value.retry_after_seconds) == ("unknown", 185)
    assert bench.sheets.cost() == Cost(3, 1)
    assert bench.pauses == [2.0]


async def test_the_pause_is_a_setting(make_bench: MakeBench) -> None:
    """`look_again_seconds` lie between the two looks."""
    bench = make_bench(writes=WriteSettings(look_again_seconds=0.5))
    bench.sheets.before("append_rows", ANSWERED)

    with pytest.raises(UpstreamError):
        await bench.create(name="Reno")

    assert bench.pauses == [0.5]


@BOTH
async def test_landing_between_the_looks(bench: Bench, error: GatewayError) -> None:
    """A row that was not there at first is found by the second look, wherever it is."""
    bench.sheets.before("append_rows", error)
    bench.sheets.after("read_values", lambda: bench.cities.type(7, "Reno", "NV"))

    written = await bench.created({"name": "Reno", "state": "NV"})

    assert written.row == 7
    assert bench.pauses == [2.0]


@BOTH
async def test_rows_of_before_are_not_taken_for_it(bench: Bench, error: GatewayError) -> None:
    """A row that looks the same and was there before is not the one that was sent."""
    await bench.create(name="Reno")
    bench.sheets.before("append_rows", error)

    with pytest.raises(GatewayError) as caught:
        await bench.create(name="Reno")

    assert caught.value.outcome != "applied"
    assert bench.cities.lines()[4:] == [["Reno"]]


@BOTH
async def test_below_a_row_of_the_meantime(bench: Bench, error: GatewayError) -> None:
    """A row that landed below that of a person has its own number."""
    await bench.page()
    bench.cities.type(5, "Miami")
    bench.sheets.after("append_rows", error)

    assert await bench.create(name="Reno") == 6


@BOTH
@pytest.mark.parametrize("failing", [1, 2], ids=["first", "second"])
async def test_a_look_that_fails(bench: Bench, error: GatewayError, failing: int) -> None:
    """The second look alone may tell that a row is not there; if it fails nobody knows."""
    await _see_header(bench, True)
    bench.sheets.before("append_rows", error)
    bench.sheets.before("read_values", QuotaSpent("later"), nth=failing)

    with pytest.raises(GatewayError) as caught:
        await bench.create(name="Reno")

    is_told = failing == 1 and error is ANSWERED
    assert caught.value.outcome == ("not_applied" if is_told else "unknown")
    assert bench.sheets.count("append_rows") == 1


@BOTH
async def test_found_but_not_displayed(bench: Bench, error: GatewayError) -> None:
    """A row that is there but cannot be read back was applied, and is not to be sent again."""
    await _see_header(bench, True)
    bench.sheets.after("append_rows", error)
    bench.sheets.before("read_values", QuotaSpent("later"), nth=2)

    with pytest.raises(UpstreamError) as caught:
        await bench.create(name="Reno")

    assert caught.value.outcome == "applied"


@BOTH
async def test_the_next_one_looks(bench: Bench, error: GatewayError) -> None:
    """Nothing that was seen before an open write is trusted after it."""
    bench.sheets.after("append_rows", error)
    await bench.create(state="NV")
    bench.sheets.cost()

    row = await bench.create(state="OR")

    assert row == 6
    assert bench.sheets.cost() == Cost(1, 1)


@BOTH
async def test_a_group_is_found_together(bench: Bench, error: GatewayError) -> None:
    """All rows of a group that are there are answered, each with its own number."""
    bench.sheets.after("append_rows", error)

    ends = await bench.together(*GROUP)

    assert [[written.row for written in end] for end in ends if isinstance(end, tuple)] == [
        [5],
        [6, 7],
        [8],
    ]
    assert bench.sheets.cost() == Cost(3, 1)


@pytest.mark.parametrize(
    ("error", "outcome"), [(ANSWERED, "not_applied"), (UNANSWERED, "unknown")], ids=["yes", "no"]
)
async def test_a_group_is_not_found_together(
    bench: Bench, error: GatewayError, outcome: str
) -> None:
    """What became of one of a group became of all."""
    bench.sheets.before("append_rows", error)

    ends = await bench.together(*GROUP)

    assert [end.outcome for end in ends if isinstance(end, GatewayError)] == [outcome] * 3
    assert bench.sheets.count("append_rows") == 1


@pytest.mark.parametrize(
    "rows",
    [[["a"], ["", "b"]], [["a"], ["", "b"], [], ["", "", 1], ["a"]]],
    ids=["some", "with-a-gap"],
)
@BOTH
async def test_a_part_of_a_group_is_not_it(
    bench: Bench, error: GatewayError, rows: Sequence[Sequence[str | int]]
) -> None:
    """Google writes all of a request or nothing: rows that only look like a part are others'."""
    edits = [partial(bench.cities.type, row, *line) for row, line in enumerate(rows, start=5)]
    bench.sheets.before("append_rows", *edits, error)

    ends = await bench.together(*GROUP)

    assert all(isinstance(end, GatewayError) and end.outcome != "applied" for end in ends)


async def test_an_array_formula_beside_it(bench: Bench) -> None:
    """A cell that the create left alone may be filled by a formula by the time of the look."""
    bench.sheets.after("append_rows", lambda: bench.cities.type(5, None, Formatted("x", "x")))
    bench.sheets.after("append_rows", ANSWERED)

    written = await bench.created({"name": "Reno", "population": 1})

    assert written.record == {"rowIndex": 5, "name": "Reno", "population": "1"}


@pytest.mark.parametrize("rows", [0, 100], ids=["full-grid", "room-below"])
async def test_the_record_says_where_to_look(make_bench: MakeBench, rows: int) -> None:
    """With an Idempotency-Key it is noted before the write, each create below the one before."""
    bench = make_bench(rows=rows)
    identities = [
        WriteIdentity(scope=scope, fingerprint="f", worksheet=WORKSHEET, key_id="", is_create=True)
        for scope in ("one", "two")
    ]
    bench.sheets.before("append_rows", UNANSWERED)

    await bench.together(
        Create(rows=({"name": "a"}, {"state": "b"}), identity=identities[0]),
        Create(rows=({"name": "c"},)),
        Create(rows=({"population": 1},), identity=identities[1]),
    )

    noted = {scope: (entry.first_row, entry.rows) for scope, entry in bench.ledger.entries.items()}
    assert noted == {"one": (5, [["a"], [None, "b"]]), "two": (8, [[None, None, 1]])}


async def test_others_wait_for_the_looks(bench: Bench) -> None:
    """While an open write is looked for no other one of the worksheet is sent."""
    gate = asyncio.Event()
    await _see_header(bench, True)
    bench.sheets.after("append_rows", UNANSWERED)
    bench.sheets.before("read_values", gate)
    first = asyncio.create_task(bench.create(name="a"))
    await bench.sheets.begun("read_values")
    second = asyncio.create_task(bench.create(name="a"))
    await wait_all_tasks_blocked()
    sent = bench.sheets.count("append_rows")
    gate.set()

    assert sent == 1
    assert [await first, await second] == [5, 6]
