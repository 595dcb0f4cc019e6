"""What Google's refusals mean to a client."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import replace
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
from gateway.query.query import Query
from gateway.query.where import parse_where
from gateway.worksheets.worksheet_ref import WorksheetRef
from tests.worksheets.conftest import REF, Bench
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
Operation = Callable[[Bench, WorksheetRef], Awaitable[object]]
OPERATIONS: Mapping[str, Operation] = {
    "list": lambda bench, ref: bench.page(Query(), ref=ref),
    "where": lambda bench, ref: bench.page(Query(where=parse_where({"name": "x"})), ref=ref),
    "read": lambda bench, ref: bench.read(2, ref=ref),
    "create": lambda bench, ref: bench.created({"name": "x"}, ref),
    "update": lambda bench, ref: bench.updated(2, {"name": "x"}, ref),
}


@pytest.mark.parametrize(("text", "meaning"), MEANINGS)
async def test_refused_create(bench: Bench, text: str, meaning: type[GatewayError]) -> None:
    """A refused create is explained for one read, is not applied, and is not sent again."""
    bench.sheets.before("append_rows", UpstreamRefusal(text))

    with pytest.raises(GatewayError) as caught:
        await bench.create(name="x")

    assert type(caught.value) is meaning
    assert caught.value.outcome == "not_applied"
    assert bench.sheets.cost() == Cost(2, 1)
    assert len(bench.cities.lines()) == 4


@pytest.mark.parametrize(("text", "meaning"), MEANINGS)
async def test_refused_update(bench: Bench, text: str, meaning: type[GatewayError]) -> None:
    """A refused update is explained like a create, whatever Google puts before its words."""
    bench.sheets.before("write_cells", UpstreamRefusal(f"Invalid data[0]: {text}"))

    with pytest.raises(GatewayError) as caught:
        await bench.updated(2, {"name": "x"})

    assert type(caught.value) is meaning
    assert caught.value.outcome == "not_applied"
    assert bench.sheets.cost() == Cost(2, 1)
    assert bench.cities.lines()[1][0] == "Boston"


async def test_refusal_with_a_fresh_header(bench: Bench) -> None:
    """A refusal that is explained is not tried again after a look."""
    await bench.page()
    bench.sheets.cost()
    bench.sheets.before("append_rows", UpstreamRefusal(PROTECTED))

    with pytest.raises(ProtectedCells):
        await bench.create(name="x")

    assert bench.sheets.cost() == Cost(1, 1)


async def test_google_words_are_for_the_log(
    bench: Bench, events: list[MutableMapping[str, Any]]
) -> None:
    """Google's own text is logged, and is not in the message."""
    bench.sheets.before("append_rows", UpstreamRefusal("Some words"))

    with pytest.raises(UpstreamRefusal) as caught:
        await bench.create(name="x")

    assert [(event["event"], event["text"]) for event in events] == [
        ("google-refused", "Some words")
    ]
    assert "Some words" not in caught.value.message


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_absent_worksheet(bench: Bench, operation: str) -> None:
    """A title that no worksheet has is not found, and those that there are are told."""
    with pytest.raises(WorksheetNotFound, match=r" It has \"Cities\"\.$"):
        await OPERATIONS[operation](bench, replace(REF, title="Citys"))

    assert bench.sheets.cost() == Cost(2, 0)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("title", ["cities", "CITIES"])
async def test_other_spelling_of_case(bench: Bench, operation: str, title: str) -> None:
    """Google finds a title in any case, the API does not, and writes nothing there."""
    before = bench.cities.lines()

    with pytest.raises(WorksheetNotFound, match=r" It has \"Cities\"\.$"):
        await OPERATIONS[operation](bench, replace(REF, title=title))

    assert bench.sheets.cost() == Cost(1, 0)
    assert bench.cities.lines() == before


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("title", ["Citys", "cities"])
async def test_hidden_names_are_not_told(bench: Bench, operation: str, title: str) -> None:
    """A worksheet that the key may not see is not named as a near one."""
    ref = replace(REF, title=title, visible=frozenset({title, "Citadel"}))
    bench.fake.add("Citadel", [["name"]])

    with pytest.raises(WorksheetNotFound) as caught:
        await OPERATIONS[operation](bench, ref)

    assert "Cities" not in caught.value.message


@pytest.mark.parametrize("operation", ["list", "read"])
async def test_each_of_those_who_joined_a_read_hears_its_own_names(
    bench: Bench, operation: str
) -> None:
    """Whoever's read it was: the hidden names of one are told to another who may hear of them."""
    for title in ("Citys1", "Citys2", "Citys3", "Citya"):
        bench.fake.add(title, [["name"]])
    refs = [
        replace(REF, title="Citys", visible=visible)
        for visible in (frozenset({"Citys", "Citya"}), None, frozenset({"Citys", "Cities"}))
    ]
    errors = await asyncio.gather(
        *(OPERATIONS[operation](bench, ref) for ref in refs), return_exceptions=True
    )

    assert [str(error).partition("It has ")[2] for error in errors] == [
        '"Citya".',
        '"Cities", "Citys1", "Citys2", "Citys3", "Citya".',
        '"Cities".',
    ]
    assert bench.sheets.cost() == Cost(2, 0)


async def test_deleted_worksheet_within_the_ttl(bench: Bench) -> None:
    """A worksheet that a person deleted since the last look is not found, nothing written."""
    await bench.page()
    bench.fake.worksheets.clear()
    bench.sheets.cost()

    with pytest.raises(WorksheetNotFound):
        await bench.create(name="x")

    assert bench.sheets.cost() == Cost(1, 1)
