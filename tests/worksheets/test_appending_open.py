"""Creates without an answer: a fence proves them, and their cells show the row numbers."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest
from anyio import wait_all_tasks_blocked

from gateway.errors import (
    UNKNOWN_RETRY_SECONDS,
    GatewayError,
    HeaderChanged,
    ProtectedCells,
    QuotaSpent,
    RowNumberUnknown,
    UpstreamAuth,
    UpstreamRefusal,
    UpstreamTimeout,
    WriteOutcomeUnknown,
)
from gateway.google.translation import Attempt, GoogleRefusal, translated
from gateway.google.wire import Answer
from gateway.worksheets.access import Target, WorksheetId
from gateway.worksheets.fences import BURNT
from gateway.worksheets.writes import Results, Write, WriteIdentity
from tests.fakes import BOOK, FakeWorksheet, Formatted
from tests.worksheets.conftest import CITIES, TTL_SECONDS, WORKSHEET, Bench, MakeBench
from tests.worksheets.scripted_sheets import Cost

UNANSWERED = WriteOutcomeUnknown("?", retry_after_seconds=185)
COLD_OR_NOT = pytest.mark.parametrize("is_seen", [False, True], ids=["cold", "header-seen"])
GROUP = [
    Write.create(rows=({"name": "a"},)),
    Write.create(rows=({"state": "b"}, {"population": 1}), is_array=True),
    Write.create(rows=({"name": "a"},)),
]
Edit = Callable[[FakeWorksheet], object]


async def _look(bench: Bench, is_seen: bool) -> int:
    """Read the end if so. Returns the number of reads that the next create costs."""
    if is_seen:
        await bench.look()
    return int(not is_seen)


def rows_of(end: Results | BaseException) -> list[int]:
    assert not isinstance(end, BaseException), end
    return [written.row for written in end]


@COLD_OR_NOT
async def test_applied_is_found(bench: Bench, is_seen: bool) -> None:
    """An applied row is answered with its number and displayed texts, for 2 reads."""
    look = await _look(bench, is_seen)
    bench.sheets.after("apply", UNANSWERED)

    written = await bench.created({"name": "Reno", "population": 264165})

    assert written.record == {"rowIndex": 5, "name": "Reno", "population": "264165"}
    assert bench.sheets.cost() == Cost(look + 2, 1)
    assert bench.pauses == []
    assert written.tag == (await bench.read(5)).tag


@COLD_OR_NOT
async def test_not_there_is_sent_again(bench: Bench, is_seen: bool) -> None:
    """The same batch is sent again. If Google applies the first copy late, the second fails."""
    look = await _look(bench, is_seen)
    bench.sheets.before("apply", UNANSWERED)

    written = await bench.created({"name": "Reno", "population": 264165})

    assert written.record == {"rowIndex": 5, "name": "Reno", "population": "264165"}
    assert bench.cities.lines()[4:] == [["Reno", "", "264165"]]
    # The first time it is proved that ids are unique, with a fence of its own.
    assert bench.sheets.cost() == Cost(look + 1, 4)
    bench.sheets.before("apply", UNANSWERED)
    assert await bench.create(name="Salem") == 6
    assert bench.sheets.cost() == Cost(1, 2)


@pytest.mark.parametrize("status", [408, 409, 499, 503])
async def test_a_status_that_may_come_after_the_write(bench: Bench, status: int) -> None:
    """After each status, the fence decides between an answer and sending again. One row."""
    refusal = GoogleRefusal(Answer(status=status, headers={}, body=b"", digest=b""))
    bench.sheets.after("apply", translated(refusal, Attempt(is_write=True)))
    applied = await bench.create(name="Reno")
    bench.sheets.before("apply", translated(refusal, Attempt(is_write=True)))
    sent_anew = await bench.create(name="Salem")

    assert (applied, sent_anew) == (5, 6)
    assert [line[0] for line in bench.cities.lines()[4:]] == ["Reno", "Salem"]


async def test_an_old_look_is_not_sent_again(bench: Bench) -> None:
    """After the header's lifetime the fence is burnt, and header and end are read again."""
    bench.sheets.before("apply", lambda: bench.clock.advance(TTL_SECONDS), UNANSWERED)
    bench.sheets.before("read_sheet", lambda: bench.cities.type(1, "state", "name"), nth=2)

    row = await bench.create(name="Reno")

    assert bench.cities.lines()[row - 1] == ["", "Reno"]
    assert bench.cities.lines()[5:] == []
    assert sum(fence.token.endswith(BURNT) for fence in bench.fake.fences) == 1
    assert bench.sheets.count("apply") == 2


async def test_a_first_copy_after_the_burn(bench: Bench) -> None:
    """Google refuses the late first copy, so the row that was sent again exists once."""
    bench.sheets.before("apply", lambda: bench.clock.advance(TTL_SECONDS), UNANSWERED)

    row = await bench.create(name="Reno")
    with suppress(UpstreamRefusal):
        bench.fake.apply_now(BOOK, bench.sheets.batches[0])

    assert bench.sheets.count("apply") == 2
    assert bench.cities.lines()[row - 1 :] == [["Reno"]]


@pytest.mark.parametrize("is_late", [False, True], ids=["after the search", "after the second"])
async def test_a_lost_answer_twice(bench: Bench, is_late: bool) -> None:
    """The row exists once, whichever of the two copies was applied."""
    bench.sheets.before("apply", UNANSWERED)
    (bench.sheets.after if is_late else bench.sheets.before)("apply", UNANSWERED, nth=2)

    assert await bench.create(name="Reno") == 5
    assert bench.cities.lines()[4:] == [["Reno"]]


async def test_google_cannot_be_reached(bench: Bench) -> None:
    """The fence is searched with pauses; a client that leaves gets "outcome unknown"."""
    bench.sheets.after("apply", UNANSWERED)
    for nth in range(1, 100):
        bench.sheets.before("fence_tokens", UpstreamTimeout("later"), nth=nth)
    task = asyncio.create_task(bench.create(name="Reno"))
    await bench.sheets.begun("fence_tokens", 10)
    task.cancel()

    with pytest.raises(WriteOutcomeUnknown) as caught:
        await task
    assert caught.value.outcome == "unknown"
    assert bench.sheets.count("apply") == 1
    assert bench.pauses[:6] == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0]


async def test_a_look_that_is_not_allowed(bench: Bench) -> None:
    """An error that waiting cannot mend is answered at once, with a time to retry."""
    bench.sheets.after("apply", UNANSWERED)
    bench.sheets.before("fence_tokens", UpstreamAuth("no token"))

    with pytest.raises(WriteOutcomeUnknown) as caught:
        await bench.create(name="Reno")

    assert (caught.value.outcome, caught.value.retry_after_seconds) == ("unknown", 10)
    assert bench.pauses == []
    assert bench.sheets.count("apply") == 1


async def test_rows_of_before_are_not_taken_for_it(bench: Bench) -> None:
    """An equal row that was there before does not count as the sent row."""
    await bench.create(name="Reno")
    bench.sheets.before("apply", UNANSWERED)

    assert await bench.create(name="Reno") == 6
    assert bench.cities.lines()[4:] == [["Reno"], ["Reno"]]


async def test_rows_of_others_prove_nothing(bench: Bench) -> None:
    """A person's equal row does not count as the sent row, wherever it is."""
    bench.sheets.before("apply", lambda: bench.cities.type(5, "Reno"), UNANSWERED)

    assert await bench.create(name="Reno") == 6
    assert bench.cities.lines()[4:] == [["Reno"], ["Reno"]]


async def test_below_a_row_of_the_meantime(bench: Bench) -> None:
    """A row below a person's new row gets its own row number."""
    await bench.look()
    bench.cities.type(5, "Miami")
    bench.sheets.after("apply", UNANSWERED)

    assert await bench.create(name="Reno") == 6


@COLD_OR_NOT
async def test_a_row_that_people_wrote_below(bench: Bench, is_seen: bool) -> None:
    """The row is in its expected row; if that is unknown, it is the only row with its cells."""
    await _look(bench, is_seen)
    bench.sheets.after("apply", lambda: bench.cities.type(6, "Miami"), UNANSWERED)

    (end,) = await bench.together(Write.create(rows=({"name": "Reno", "population": 1},)))

    assert rows_of(end) == [5]


@pytest.mark.parametrize(
    ("edit", "row"),
    [
        pytest.param(lambda sheet: sheet.insert_rows(3, 2), 7, id="moved down"),
        pytest.param(lambda sheet: sheet.delete_rows(2, 2), 3, id="moved up"),
        pytest.param(lambda sheet: sheet.type(5, None, "NV"), 5, id="completed"),
    ],
)
@COLD_OR_NOT
async def test_a_found_row_that_moved(bench: Bench, edit: Edit, row: int, is_seen: bool) -> None:
    """The cells show the new row number if no other row has the same cells."""
    await _look(bench, is_seen)
    bench.sheets.after("apply", lambda: edit(bench.cities), UNANSWERED)

    written = await bench.created({"name": "Reno", "population": 1})

    assert written.row == row
    assert written.record["name"] == "Reno"
    assert bench.sheets.count("apply") == 1


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda sheet: sheet.delete_rows(5), id="deleted"),
        pytest.param(lambda sheet: sheet.type(5, "Las Vegas"), id="corrected"),
    ],
)
@COLD_OR_NOT
async def test_a_found_row_that_cannot_be_told(bench: Bench, edit: Edit, is_seen: bool) -> None:
    """The row number is reported as unknown, and the row is never sent again."""
    await _look(bench, is_seen)
    bench.sheets.after("apply", lambda: edit(bench.cities), UNANSWERED)

    with pytest.raises(RowNumberUnknown) as caught:
        await bench.create(name="Reno", population=1)

    assert caught.value.outcome == "applied"
    assert bench.sheets.count("apply") == 1


async def test_found_but_not_displayed(bench: Bench) -> None:
    """A row that was applied but cannot be read back must not be sent again."""
    await bench.look()
    bench.sheets.after("apply", UNANSWERED)
    bench.sheets.before("read_sheet", QuotaSpent("later"))

    with pytest.raises(RowNumberUnknown) as caught:
        await bench.create(name="Reno")

    assert caught.value.outcome == "applied"
    assert bench.sheets.count("apply") == 1


@pytest.mark.parametrize("is_found", [False, True], ids=["answered", "found"])
async def test_the_header_changed_at_the_same_time(bench: Bench, is_found: bool) -> None:
    """The answer names the row, and says that its values may be under other names."""
    await bench.look()
    bench.sheets.before("apply", lambda: bench.cities.type(1, "state", "name"))
    if is_found:
        bench.sheets.after("apply", UNANSWERED)

    ends = await bench.together(
        Write.create(rows=({"name": "a"},)), Write.create(rows=({"population": 1},))
    )
    row = await bench.create(name="b")

    assert isinstance(ends[0], HeaderChanged)
    assert (ends[0].row, ends[0].outcome) == (5, "applied")
    assert rows_of(ends[1]) == [6]
    assert bench.cities.lines()[row - 1] == ["", "b"]


async def test_the_next_one_looks(bench: Bench) -> None:
    """After a lost answer, no cached header or end is used."""
    bench.sheets.after("apply", UNANSWERED)
    await bench.create(state="NV")
    bench.sheets.cost()

    row = await bench.create(state="OR")

    assert row == 6
    assert bench.sheets.cost() == Cost(1, 1)


async def test_a_group_is_found_together(bench: Bench) -> None:
    """All applied rows of a group are answered, each with its own number."""
    bench.sheets.after("apply", UNANSWERED)

    ends = await bench.together(*GROUP)

    assert [rows_of(end) for end in ends] == [[5], [6, 7], [8]]
    assert bench.sheets.cost() == Cost(3, 1)


async def test_a_group_is_sent_again_together(bench: Bench) -> None:
    """If one create of a group was not applied, none was, and all are sent again."""
    bench.sheets.before("apply", UNANSWERED)

    ends = await bench.together(*GROUP)

    assert [rows_of(end) for end in ends] == [[5], [6, 7], [8]]
    assert len(bench.cities.lines()) == 8


async def test_a_group_that_people_took_apart(bench: Bench) -> None:
    """Rows that people separated are not in their expected rows: their numbers are unknown."""
    bench.sheets.after("apply", lambda: bench.cities.insert_rows(7), UNANSWERED)

    ends = await bench.together(
        Write.create(rows=({"name": "a"},)),
        Write.create(rows=({"state": "b"}, {"population": 1}), is_array=True),
        Write.create(rows=({"name": "c"},)),
    )

    assert [type(end) for end in ends] == [RowNumberUnknown] * 3


async def test_a_group_is_unknown_together(bench: Bench) -> None:
    """While the outcome of one create is unknown, so is that of its whole group."""
    bench.sheets.before("apply", UNANSWERED)
    bench.sheets.before("fence_tokens", UpstreamAuth("no token"))

    ends = await bench.together(*GROUP)

    assert [end.outcome for end in ends if isinstance(end, GatewayError)] == ["unknown"] * 3
    assert bench.sheets.count("apply") == 1


async def test_a_refusal_of_what_is_sent_again(bench: Bench) -> None:
    """If Google refuses the second copy, the first may still be applied; so its fence is burnt."""
    words = "Invalid requests[1].appendCells: You are trying to edit a protected cell or object."
    bench.sheets.before("apply", UNANSWERED)
    for nth in (2, 3):
        bench.sheets.before("apply", UpstreamRefusal(words), nth=nth)

    with pytest.raises(ProtectedCells) as caught:
        await bench.create(name="Reno")

    assert caught.value.outcome == "not_applied"
    assert sum(fence.token.endswith(BURNT) for fence in bench.fake.fences) == 1
    assert len(bench.cities.lines()) == 4


async def test_an_array_formula_beside_it(bench: Bench) -> None:
    """A formula may have filled a cell that the create did not write; the row is found."""
    bench.sheets.after("apply", lambda: bench.cities.type(5, None, Formatted("x", "x")))
    bench.sheets.after("apply", UNANSWERED)

    written = await bench.created({"name": "Reno", "population": 1})

    assert written.record == {"rowIndex": 5, "name": "Reno", "population": "1"}


@pytest.mark.parametrize("rows", [0, 100], ids=["full-grid", "room-below"])
async def test_the_record_says_where_to_look(make_bench: MakeBench, rows: int) -> None:
    """With an Idempotency-Key, fence, cells and expected row are stored before the write."""
    bench = make_bench(rows=rows)
    identities = [
        WriteIdentity(scope=scope, fingerprint="f", worksheet=WORKSHEET, key_id="")
        for scope in ("one", "two")
    ]
    await bench.look()
    bench.sheets.after("apply", UNANSWERED)
    bench.sheets.before("fence_tokens", UpstreamAuth("no token"))

    await bench.together(
        Write.create(rows=({"name": "a"}, {"state": "b"}), identity=identities[0]),
        Write.create(rows=({"name": "c"},)),
        Write.create(rows=({"population": 1},), identity=identities[1]),
    )

    noted = {scope: (entry.first_row, entry.rows) for scope, entry in bench.ledger.entries.items()}
    assert noted == {"one": (5, [["a"], [None, "b"]]), "two": (8, [[None, None, 1]])}
    assert [entry.fence for entry in bench.ledger.entries.values()] == [*bench.fake.fences] * 2


@pytest.mark.parametrize("was_applied", [False, True], ids=["not applied", "applied"])
async def test_a_group_is_settled_by_one_fence(bench: Bench, was_applied: bool) -> None:
    """When an open create of a group is repeated, one fence shows the outcome of all."""
    requests = [
        Write.create(
            rows=({"name": scope},),
            identity=WriteIdentity(scope=scope, fingerprint="f", worksheet=WORKSHEET, key_id=""),
        )
        for scope in ("a", "b", "c")
    ]
    play = bench.sheets.after if was_applied else bench.sheets.before
    play("apply", RuntimeError("a fault"))
    faults = await bench.together(*requests)
    ends = [(await bench.together(request))[0] for request in reversed(requests)]

    assert [type(fault) for fault in faults] == [RuntimeError] * 3
    assert sorted(row for end in ends for row in rows_of(end)) == [5, 6, 7]
    assert sorted(str(line[0]) for line in bench.cities.lines()[4:]) == ["a", "b", "c"]
    assert bench.sheets.count("apply") == (1 if was_applied else 4)


async def test_a_fence_that_is_needed_is_not_deleted(bench: Bench) -> None:
    """Writes to other worksheets delete old fences, but never the fence of a running write."""
    other = Target(WorksheetId(BOOK, "Other"))
    bench.fake.add("Other", CITIES)
    bench.clock.advance(UNKNOWN_RETRY_SECONDS)
    await bench.look()
    bench.clock.advance(1)  # now fences of earlier processes are looked for
    answer, search = asyncio.Event(), asyncio.Event()
    bench.sheets.after("apply", answer, UNANSWERED)
    bench.sheets.before("fence_tokens", search)
    mine = asyncio.create_task(bench.create(name="Reno"))
    await wait_all_tasks_blocked()
    await bench.created({"name": "a"}, other)
    answer.set()
    await bench.sheets.begun("fence_tokens")
    await bench.created({"name": "b"}, other)
    search.set()

    assert await mine == 5
    assert bench.cities.lines()[4:] == [["Reno"]]
    assert bench.sheets.count("apply") == 3


async def test_others_wait_for_the_search(bench: Bench) -> None:
    """While the outcome of a write is searched, no other write to the worksheet is sent."""
    gate = asyncio.Event()
    await bench.look()
    bench.sheets.after("apply", UNANSWERED)
    bench.sheets.before("fence_tokens", gate)
    first = asyncio.create_task(bench.create(name="a"))
    await bench.sheets.begun("fence_tokens")
    second = asyncio.create_task(bench.create(name="a"))
    await wait_all_tasks_blocked()
    sent = bench.sheets.count("apply")
    gate.set()

    assert sent == 1
    assert [await first, await second] == [5, 6]
