"""Errors that clients get when Google refuses a request."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import pytest

from gateway.errors import (
    GatewayError,
    InvalidBody,
    ProtectedCells,
    StorageFull,
    UpstreamRefusal,
    WorksheetNotFound,
)
from gateway.query.query import Query, parse_where
from gateway.worksheets.access import Target, WorksheetId
from tests.worksheets.conftest import WORKSHEET, Bench
from tests.worksheets.scripted_sheets import Cost

PROTECTED = (
    "You are trying to edit a protected cell or object. Please contact the spreadsheet owner to "
    "remove protection if you need to edit."
)
FULL = (
    "This action would increase the number of cells in the workbook above the limit of 10000000 "
    "cells."
)
TOO_LONG = "Your input contains more than the maximum of 50000 characters in a single cell."
MEANINGS = [
    pytest.param(PROTECTED, ProtectedCells, id="protected"),
    pytest.param(FULL, StorageFull, id="full-workbook"),
    pytest.param(TOO_LONG, InvalidBody, id="long-cell"),
    pytest.param("Quelque chose", UpstreamRefusal, id="unexplained"),
]
Operation = Callable[[Bench, Target], Awaitable[object]]
OPERATIONS: Mapping[str, Operation] = {
    "list": lambda bench, target: bench.page(Query(), target=target),
    "where": lambda bench, target: bench.page(
        Query(where=parse_where({"name": "x"})), target=target
    ),
    "read": lambda bench, target: bench.read(2, target=target),
    "create": lambda bench, target: bench.created({"name": "x"}, target),
    "update": lambda bench, target: bench.updated(2, {"name": "x"}, target),
}


@pytest.mark.parametrize(("text", "meaning"), MEANINGS)
async def test_refused_create(bench: Bench, text: str, meaning: type[GatewayError]) -> None:
    """A refused create costs 1 read for the reason, is not applied and not sent again."""
    refusal = UpstreamRefusal(f"Invalid requests[1].appendCells: {text}")
    bench.sheets.before("apply", refusal)

    with pytest.raises(GatewayError) as caught:
        await bench.create(name="x")

    assert type(caught.value) is meaning
    assert caught.value.outcome == "not_applied"
    assert bench.sheets.cost() == Cost(2, 1)
    assert len(bench.cities.lines()) == 4


@pytest.mark.parametrize(("text", "meaning"), MEANINGS)
async def test_refused_update(bench: Bench, text: str, meaning: type[GatewayError]) -> None:
    """A refused update is explained like a create, whatever precedes Google's message."""
    refusal = UpstreamRefusal(f"Invalid requests[1].updateCells: {text}")
    bench.sheets.before("apply", refusal)

    with pytest.raises(GatewayError) as caught:
        await bench.updated(2, {"name": "x"})

    assert type(caught.value) is meaning
    assert caught.value.outcome == "not_applied"
    assert bench.sheets.cost() == Cost(2, 1)
    assert bench.cities.lines()[1][0] == "Boston"


async def test_refusal_with_a_fresh_header(bench: Bench) -> None:
    """A refusal with a known reason is not tried again after a read."""
    await bench.look()
    refusal = UpstreamRefusal(f"Invalid requests[1].appendCells: {PROTECTED}")
    bench.sheets.before("apply", refusal)

    with pytest.raises(ProtectedCells):
        await bench.create(name="x")

    assert bench.sheets.cost() == Cost(1, 1)


async def test_google_words_are_for_the_log(
    bench: Bench, events: list[MutableMapping[str, Any]]
) -> None:
    """Known messages of Google are logged, others may quote cells; no error contains them."""
    words = (
        "Invalid requests[1].appendCells: You are trying to edit a protected cell or object: Ann"
    )
    bench.sheets.before("apply", UpstreamRefusal(words))

    with pytest.raises(ProtectedCells) as caught:
        await bench.create(name="x")

    (event,) = events
    assert (event["event"], event["text"].startswith(words[:60])) == ("google-refused", True)
    assert "Ann" not in event["text"] + caught.value.message


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_absent_worksheet(bench: Bench, operation: str) -> None:
    """A title that no worksheet has gets 404, and the error has the existing titles."""
    with pytest.raises(WorksheetNotFound) as caught:
        await OPERATIONS[operation](bench, Target(WorksheetId(WORKSHEET.spreadsheet, "Citys")))

    assert caught.value.titles == ["Cities"]
    assert bench.sheets.cost() == Cost(2, 0)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("title", ["cities", "CITIES"])
async def test_other_spelling_of_case(bench: Bench, operation: str, title: str) -> None:
    """Google ignores the case of titles, but the gateway does not, and writes nothing."""
    before = bench.cities.lines()

    with pytest.raises(WorksheetNotFound) as caught:
        await OPERATIONS[operation](bench, Target(WorksheetId(WORKSHEET.spreadsheet, title)))

    assert caught.value.titles == ["Cities"]
    assert bench.sheets.cost() == Cost(1, 0)
    assert bench.cities.lines() == before


async def test_deleted_worksheet_within_the_ttl(bench: Bench) -> None:
    """A worksheet that a person deleted since the last read gets 404, and nothing is written."""
    await bench.look()
    bench.fake.worksheets.clear()

    with pytest.raises(WorksheetNotFound):
        await bench.create(name="x")

    assert bench.sheets.cost() == Cost(1, 1)
