"""Cache of a spreadsheet's worksheets: cost, lifetime, size."""

import asyncio
from collections.abc import Callable

import pytest

from gateway.errors import (
    SheetTooLarge,
    SpreadsheetNotFound,
    UpstreamRefusal,
    UpstreamUnreachable,
    WorksheetNotFound,
)
from gateway.google.sheets import current_call_context
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.answers import Encoded, Served
from gateway.worksheets.catalogue import (
    KEPT_SECONDS,
    MAX_CHARACTERS,
    MAX_COLUMNS,
    Catalogue,
    Contents,
)
from tests.clock import ManualClock
from tests.fakes import BOOK, FakeSheets
from tests.forwarding import Kind
from tests.worksheets.scripted_sheets import Cost, ScriptedSheets


@pytest.fixture
def fake() -> FakeSheets:
    """A spreadsheet with two worksheets."""
    fake = FakeSheets()
    fake.add("Cities", [["name", "state"], ["Boston", "MA"]])
    fake.add("Empty", [])
    return fake


@pytest.fixture
def sheets(fake: FakeSheets) -> ScriptedSheets:
    return ScriptedSheets(fake)


@pytest.fixture
def catalogue(sheets: ScriptedSheets, clock: ManualClock) -> Catalogue:
    return make_catalogue(sheets, clock)


def make_catalogue(
    sheets: ScriptedSheets, clock: ManualClock, max_worksheets: int = 1000
) -> Catalogue:
    return Catalogue(sheets, max_worksheets=max_worksheets, clock=clock)


def told(contents: Contents) -> Encoded:
    """The worksheets and their fields, as text."""
    lines = (f"{each.title}: {', '.join(each.header.columns)}" for each in contents.worksheets)
    return Encoded("; ".join(lines).encode(), '"tag"')


async def ask(catalogue: Catalogue, spreadsheet: str = BOOK, way: str = "told") -> Served:
    return await ask_for(catalogue, told, spreadsheet, way)


async def ask_for(
    catalogue: Catalogue,
    make: Callable[[Contents], Encoded],
    spreadsheet: str = BOOK,
    way: str = "told",
) -> Served:
    contents, freshness = await catalogue.read(spreadsheet, key_id="k1")
    return Served(await catalogue.answer(contents, way, make), freshness)


async def test_worksheets_and_headers_take_two_reads(
    catalogue: Catalogue, sheets: ScriptedSheets
) -> None:
    """One read returns all headers, including blank ones."""
    served = await ask(catalogue)

    assert served.encoded.body == b"Cities: name, state; Empty: "
    assert sheets.cost() == Cost(2, 0)


async def test_what_was_read_is_kept_for_a_while(
    catalogue: Catalogue, sheets: ScriptedSheets, clock: ManualClock
) -> None:
    """For a minute no read is made; later everything is read again, and the age is reported."""
    first = await ask(catalogue)
    clock.advance(KEPT_SECONDS - 0.1)
    kept = await ask(catalogue)
    cost_kept = sheets.cost()
    clock.advance(0.1)
    again = await ask(catalogue)

    assert cost_kept == sheets.cost() == Cost(2, 0)
    assert [each.freshness.is_hit for each in (first, kept, again)] == [False, True, False]
    assert kept.freshness.age_seconds == pytest.approx(KEPT_SECONDS - 0.1)
    assert kept.freshness.ttl_seconds == pytest.approx(0.1)


async def test_all_that_ask_at_once_share_the_reads(
    catalogue: Catalogue, sheets: ScriptedSheets
) -> None:
    """A request that comes during the reads joins them."""
    gate = asyncio.Event()
    sheets.before("list_worksheets", gate)
    asking = [asyncio.ensure_future(ask(catalogue)) for _ in range(5)]
    await sheets.begun("list_worksheets")
    gate.set()
    answers = await asyncio.gather(*asking)

    assert len({answer.encoded.body for answer in answers}) == 1
    assert sheets.cost() == Cost(2, 0)


async def test_the_reads_go_on_though_the_first_to_ask_leaves(
    catalogue: Catalogue, sheets: ScriptedSheets
) -> None:
    """The reads continue for other requests, because Google has counted them."""
    gate = asyncio.Event()
    sheets.before("list_worksheets", gate)
    first, second = (asyncio.ensure_future(ask(catalogue)) for _ in range(2))
    await sheets.begun("list_worksheets")
    first.cancel()
    gate.set()

    assert (await second).encoded.body.startswith(b"Cities")
    assert sheets.cost() == Cost(2, 0)


async def test_the_reads_have_the_call_context_of_the_key(
    catalogue: Catalogue, sheets: ScriptedSheets
) -> None:
    """Both reads wait for quota in the turn of the requesting API key."""
    call_contexts: list[str] = []

    def note() -> None:
        call_contexts.append(current_call_context().key_id)

    sheets.before("list_worksheets", note)
    sheets.before("read_spreadsheet", note)
    await ask(catalogue)

    assert call_contexts == ["k1", "k1"]


async def test_what_is_made_is_kept_by_its_way(catalogue: Catalogue) -> None:
    """A document is made once for each `way`."""
    made: list[str] = []

    def make(way: str) -> Encoded:
        made.append(way)
        return Encoded(b"x", '"x"')

    for way in ("a", "a", "b", "a"):
        await ask_for(catalogue, lambda _, way=way: make(way), way=way)  # type: ignore[misc]

    assert made == ["a", "b"]


async def test_what_is_made_is_forgotten_with_the_worksheets(
    catalogue: Catalogue, fake: FakeSheets, clock: ManualClock
) -> None:
    """After a minute a new worksheet and a new header appear in the document."""
    await ask(catalogue)
    fake.add("New", [["a"]])
    fake.worksheets[0].type(1, "title")
    clock.advance(KEPT_SECONDS)

    assert (await ask(catalogue)).encoded.body == b"Cities: title, state; Empty: ; New: a"


@pytest.mark.parametrize("kind", ["list_worksheets", "read_spreadsheet"])
async def test_a_failure_is_the_answer_and_is_not_kept(
    catalogue: Catalogue, sheets: ScriptedSheets, kind: Kind
) -> None:
    """An error is answered, never a part of the worksheets; the next request reads again."""
    sheets.before(kind, UpstreamUnreachable("no way"))

    with pytest.raises(UpstreamUnreachable):
        await ask(catalogue)
    assert (await ask(catalogue)).encoded.body.startswith(b"Cities")


async def test_a_spreadsheet_that_is_not_there_is_said_so(catalogue: Catalogue) -> None:
    """Google's error about the spreadsheet is answered unchanged."""
    with pytest.raises(SpreadsheetNotFound):
        await ask(catalogue, "missing")


async def test_a_worksheet_that_went_in_between_costs_another_look(
    catalogue: Catalogue, sheets: ScriptedSheets, fake: FakeSheets
) -> None:
    """A worksheet that was renamed after the titles were read appears under its new name."""

    def rename() -> None:
        fake.worksheets[0].title = "Towns"

    sheets.after("list_worksheets", rename)
    served = await ask(catalogue)

    assert served.encoded.body == b"Towns: name, state; Empty: "
    assert sheets.cost() == Cost(4, 0)


async def test_a_refusal_that_stays_comes_out(catalogue: Catalogue, sheets: ScriptedSheets) -> None:
    """The worksheets are read twice at most; then the refusal is the answer."""
    for nth in (1, 2):
        sheets.before("read_spreadsheet", UpstreamRefusal("no"), nth=nth)

    with pytest.raises(UpstreamRefusal):
        await ask(catalogue)
    assert sheets.cost() == Cost(4, 0)


async def test_a_spreadsheet_may_have_no_worksheets(clock: ManualClock) -> None:
    """A spreadsheet that has only charts is answered with its properties."""
    sheets = ScriptedSheets(FakeSheets())

    assert (await ask(make_catalogue(sheets, clock))).encoded.body == b""
    assert sheets.cost() == Cost(2, 0)


async def test_many_worksheets_with_long_titles_take_two_reads(
    clock: ManualClock, fake: FakeSheets
) -> None:
    """Ranges that are too long for a URL go into the body of one call."""
    for number in range(200):
        fake.add(f"{'ä' * 90}{number:03d}", [["a"]])
    sheets = ScriptedSheets(fake)

    served = await ask(make_catalogue(sheets, clock))

    assert served.encoded.body.count(b": a") == 200
    assert sheets.cost() == Cost(2, 0)


async def test_worksheets_are_looked_at_as_far_as_their_columns_fit(clock: ManualClock) -> None:
    """The list ends before the worksheet that exceeds the limit of columns."""
    fake = FakeSheets()
    for title in ("First", "Wide", "Last"):
        fake.add(title, [["a"]])
    fake.worksheets[1].columns = MAX_COLUMNS
    sheets = ScriptedSheets(fake)

    contents, _ = await make_catalogue(sheets, clock).read(BOOK, key_id="k1")

    assert [each.title for each in contents.worksheets] == ["First"]
    with pytest.raises(SheetTooLarge, match="Move this worksheet"):
        contents.find(WorksheetId(BOOK, "Last"))
    with pytest.raises(WorksheetNotFound):
        contents.find(WorksheetId(BOOK, "None"))


async def test_rows_that_are_too_large_are_left_out(clock: ManualClock, fake: FakeSheets) -> None:
    """If the first rows are too large, only headers are read, which costs 1 read more."""
    sheets = ScriptedSheets(fake)
    sheets.before("read_spreadsheet", SheetTooLarge("too large"))

    served = await ask(make_catalogue(sheets, clock))

    assert served.encoded.body == b"Cities: name, state; Empty: "
    assert sheets.cost() == Cost(3, 0)


async def test_headers_are_looked_at_as_far_as_there_is_room(clock: ManualClock) -> None:
    """The list ends before the worksheet that exceeds the limit of characters."""
    fake = FakeSheets()
    fake.add("First", [["a"]])
    fake.add("Wide", [["x" * MAX_CHARACTERS]])
    fake.add("Last", [["b"]])

    served = await ask(make_catalogue(ScriptedSheets(fake), clock))

    assert served.encoded.body == b"First: a"


async def test_so_many_worksheets_are_kept(
    sheets: ScriptedSheets, fake: FakeSheets, clock: ManualClock
) -> None:
    """A spreadsheet that exceeds the cache size is cached alone."""
    for number in range(10):
        fake.add(f"S{number}", [["a"]])
    costs = []
    for size in (1, 15, 16):
        catalogue = make_catalogue(sheets, clock, size)
        for _ in range(2):
            await ask(catalogue)
            costs.append(sheets.cost().reads)

    assert costs == [2, 0] * 3


async def test_much_is_made_in_a_thread(clock: ManualClock) -> None:
    """Large documents are made once, in a thread, while the event loop continues."""
    fake = FakeSheets()
    for number in range(20):
        fake.add(f"S{number}", [["a"]])
    catalogue = make_catalogue(ScriptedSheets(fake), clock)
    loop, made = asyncio.get_running_loop(), list[bool]()

    def make(_: Contents) -> Encoded:
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(5)
        made.append(True)
        return Encoded(b"x", '"x"')

    answers = await asyncio.gather(*(ask_for(catalogue, make) for _ in range(3)))

    assert {answer.encoded.body for answer in answers} == {b"x"}
    assert made == [True]
