"""Expired worksheets of a spreadsheet are read together with the requested worksheet."""

from anyio import wait_all_tasks_blocked

from gateway.query.query import Query, parse_where
from gateway.worksheets.access import Target, WorksheetId
from gateway.worksheets.reading import SHORTEST_ACTIVITY_SECONDS
from tests.fakes import BOOK
from tests.worksheets.conftest import EVERYTHING, TTL_OF_ROWS_SECONDS, Bench
from tests.worksheets.scripted_sheets import Cost

LAKES = Target(worksheet=WorksheetId(BOOK, "Lakes"))
BY_STATE = Query(where=parse_where({"state": "MI"}))


async def both_read(bench: Bench, query: Query = EVERYTHING) -> None:
    """Both worksheets are in use, and their rows have expired."""
    bench.fake.add("Lakes", [["name", "state"], ["Erie", "OH"]])
    await bench.page()
    await bench.page(query, target=LAKES)
    bench.clock.advance(TTL_OF_ROWS_SECONDS)
    bench.sheets.cost()


async def test_what_is_due_is_read_too(kept: Bench) -> None:
    """The next request for the other worksheet costs nothing."""
    await both_read(kept)
    kept.fake.worksheets[1].type(2, "Huron")

    await kept.page()
    await wait_all_tasks_blocked()
    first = kept.sheets.cost()
    page, freshness = await kept.served_page(target=LAKES)

    assert first == Cost(2, 0)  # `GoogleSheets` makes them one
    assert [record["name"] for record in page.records] == ["Huron"]
    assert freshness.is_hit
    assert kept.sheets.cost() == Cost(0, 0)


async def test_both_renderings_where_both_are_in_use(kept: Bench) -> None:
    await both_read(kept, BY_STATE)

    await kept.page()
    await wait_all_tasks_blocked()

    assert kept.sheets.cost() == Cost(3, 0)


async def test_what_is_fresh_or_unused_is_left_alone(kept: Bench) -> None:
    await both_read(kept)
    await kept.page(target=LAKES)
    await wait_all_tasks_blocked()
    kept.sheets.cost()

    await kept.page()
    assert kept.sheets.cost() == Cost(0, 0)
    kept.clock.advance(SHORTEST_ACTIVITY_SECONDS + 2 * TTL_OF_ROWS_SECONDS)
    await kept.page()
    await wait_all_tasks_blocked()

    assert kept.sheets.cost() == Cost(1, 0)


async def test_a_worksheet_that_was_never_read_brings_no_others(kept: Bench) -> None:
    """Requests for missing titles do not cause reads of other worksheets."""
    await both_read(kept)
    kept.fake.add("Seas", [["name"], ["North"]])

    await kept.page(target=Target(worksheet=WorksheetId(BOOK, "Seas")))
    await wait_all_tasks_blocked()

    assert kept.sheets.cost() == Cost(1, 0)
