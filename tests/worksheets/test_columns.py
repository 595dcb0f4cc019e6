"""Shared and separate results of API keys: reads, groups, snapshots, windows."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from gateway.errors import InvalidBody, InvalidQuery, NotGranted, PreconditionFailed
from gateway.query.query import Query, SortTerm, parse_where
from gateway.table.header import ColumnGrant, IfMatch, row_tag
from gateway.table.record import Stored
from gateway.worksheets.access import Access, Target, WorksheetId
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.writes import Write, Written
from tests.worksheets.conftest import KEPT, TARGET, WORKSHEET, Bench, MakeBench, PlainEncoder
from tests.worksheets.scripted_sheets import Cost

SEES = ColumnGrant(frozenset({"name", "state"}), tag_key=b"key")
SOME = Target(WORKSHEET, Access(key_id="some", columns=replace(SEES, writable=frozenset({"name"}))))
SEEN = Target(WORKSHEET, Access(key_id="seen", columns=SEES))


ENCODER = PlainEncoder()
"""One encoder for all tests, as in the web layer: cached answers depend on it."""


async def page(bench: Bench, target: Target, query: Query) -> str:
    served = await bench.service.list_rows(target, query, ENCODER)
    return served.encoded.body.decode()


async def update(bench: Bench, target: Target, row: int, fields: Mapping[str, Stored]) -> Settled:
    return await bench.service.write(target, Write.update(row=row, fields=fields))


@pytest.mark.parametrize(
    "targets", [(TARGET, SEEN, SOME), (SEEN, SOME, TARGET)], ids=["all first", "last"]
)
@pytest.mark.parametrize("query", [Query(), Query(order=(SortTerm("name"),))], ids=["", "sorted"])
async def test_kept_answers_are_for_who_sees_the_same(
    make_bench: MakeBench, targets: Sequence[Target], query: Query
) -> None:
    """One snapshot answers all keys, each with its own fields."""
    bench = make_bench(cache=KEPT)
    pages = {
        target.access.key_id: await page(bench, target, query) for target in (*targets, *targets)
    }
    rows = {
        target.access.key_id: (await bench.service.read_row(target, 2, None, ENCODER)).encoded
        for target in (*targets, *targets)
    }

    assert "654776" in pages[""]
    assert "population" not in pages["seen"]
    assert "654776" not in pages["seen"]
    assert pages["some"] == pages["seen"]
    assert rows["some"] == rows["seen"]
    assert rows["seen"].body == b'{"rowIndex": 2, "name": "Boston", "state": "MA"}'
    assert rows["seen"].tag != rows[""].tag
    assert rows[""].tag == row_tag(["name", "state", "population"], ["Boston", "MA", "654776"])


@pytest.mark.parametrize("is_known", [False, True], ids=["nothing known", "snapshot at hand"])
@pytest.mark.parametrize("name", ["population", "nope"], ids=["hidden", "unknown"])
@pytest.mark.parametrize("parameter", ["where", "order"], ids=["where", "order"])
async def test_a_hidden_field_costs_what_an_unknown_one_costs(
    make_bench: MakeBench, parameter: str, name: str, is_known: bool
) -> None:
    """A hidden field costs 1 read without cached data, as an unknown field does; later none."""
    bench = make_bench(cache=KEPT)
    if is_known:
        await page(bench, TARGET, Query(order=(SortTerm("population"),)))
    bench.sheets.cost()
    query = (
        Query(where=parse_where({name: 1}))
        if parameter == "where"
        else Query(order=(SortTerm(name),))
    )
    with pytest.raises(InvalidQuery, match='its fields are rowIndex, "name", "state"'):
        await page(bench, SEEN, query)

    assert bench.sheets.cost().reads == (0 if is_known else 1)


@pytest.mark.parametrize("first", [TARGET, SEEN], ids=["all first", "some first"])
async def test_updates_side_by_side_are_judged_each_by_its_own_grant(
    bench: Bench, first: Target
) -> None:
    """In one queue, a field is unknown to the keys that do not see it."""
    second = SEEN if first is TARGET else TARGET
    targets = [first, second, first, second]
    ends = await asyncio.gather(
        *(
            update(bench, target, 2 + at % 3, {"population": at, "name": f"N{at}"})
            for at, target in enumerate(targets)
        ),
        return_exceptions=True,
    )
    seen = [end for end, target in zip(ends, targets, strict=True) if target is SEEN]
    whole = [end for end, target in zip(ends, targets, strict=True) if target is TARGET]

    assert [type(end) for end in seen] == [InvalidBody] * 2
    assert all("population" in str(end).partition(":")[0] for end in seen)
    assert all('"name", "state".' in str(end) for end in seen)
    assert [type(end) for end in whole] == [Settled] * 2


async def test_creates_side_by_side_are_judged_each_by_its_own_grant(bench: Bench) -> None:
    """A key with some columns writes nothing into others; each tag is for its own key."""
    fields: Sequence[tuple[Target, Mapping[str, Stored]]] = [
        (TARGET, {"name": "a", "population": 1}),
        (SEEN, {"name": "b", "population": 2}),
        (SEEN, {"name": "c"}),
        (TARGET, {"name": "d"}),
    ]
    ends = await asyncio.gather(
        *(bench.service.write(target, Write.create(rows=(row,))) for target, row in fields),
        return_exceptions=True,
    )
    rows = {
        str(line[0]): [*map(str, line)] for line in bench.cities.lines()[4:] if line and line[0]
    }

    assert [type(end) for end in ends] == [Settled, InvalidBody, Settled, Settled]
    assert sorted(rows) == ["a", "c", "d"]
    for end, (target, _) in zip(ends, fields, strict=True):
        if isinstance(end, Settled):
            (written,) = end.results
            assert written.tag == (await bench.read(written.row, target=target)).tag


@pytest.mark.parametrize(
    "write",
    [
        Write.create(rows=({"name": "x"}, {"name": "y", "state": "z"}), is_array=True),
        Write.update(row=2, fields={"state": "x"}),
        Write.update(row=2, fields={" state ": "x", "nope": 1}),
    ],
    ids=["create", "update", "update in blanks"],
)
async def test_what_may_only_be_seen_costs_no_call(bench: Bench, write: Write) -> None:
    """The grant alone shows that the field is read-only, without a call."""
    with pytest.raises(NotGranted, match="state"):
        await bench.service.write(SOME, write)

    assert bench.sheets.cost().reads == 0


async def test_a_condition_is_on_the_whole_row(bench: Bench) -> None:
    """A change of hidden cells breaks the condition, because the record may be another one."""
    seen = await bench.read(2, target=SEEN)
    await bench.updated(2, {"population": 5})
    old, new = (
        Write.update(row=2, fields={"name": "New"}, condition=IfMatch(tags=frozenset({tag})))
        for tag in (seen.tag, (await bench.read(2, target=SEEN)).tag)
    )
    with pytest.raises(PreconditionFailed) as failed:
        await bench.service.write(SEEN, old)
    (written,) = (await bench.service.write(SEEN, new)).results

    assert failed.value.existing == seen.record
    assert new.condition == IfMatch(tags=frozenset({failed.value.tag}))
    assert written == Written(
        row=2,
        record={"rowIndex": 2, "name": "New"},
        tag=(await bench.read(2, target=SEEN)).tag,
        ignored=(),
    )


async def test_equal_rows_of_two_worksheets_have_different_tags(make_bench: MakeBench) -> None:
    """A caller cannot test guesses of a hidden cell in their own worksheet."""
    bench = make_bench()
    bench.fake.add("Own", bench.cities.lines())
    own = replace(SEEN, worksheet=WorksheetId(WORKSHEET.spreadsheet, "Own"))
    tags = [(await bench.read(2, target=target)).tag for target in (SEEN, own)]
    whole = [(await bench.read(2, target=Target(each.worksheet))).tag for each in (SEEN, own)]

    assert len({*tags}) == 2
    assert len({*whole}) == 1


def test_row_tags_have_a_key_for_each_worksheet() -> None:
    """Rows of another spreadsheet, which may belong to the caller, also have another secret."""
    places = [
        WORKSHEET,
        WorksheetId(WORKSHEET.spreadsheet, "Own"),
        WorksheetId("own", WORKSHEET.title),
    ]

    assert len({SEEN.access.to(place).columns.tag_key for place in places}) == 3
    assert SEEN.access.to(WORKSHEET) == SEEN.access
    assert TARGET.access.to(WORKSHEET) is TARGET.access


async def check_kept_tags(bench: Bench, target: Target) -> None:
    """Check that cached rows have the same tags as rows read for a condition."""
    bench.sheets.cost()
    tags = [(await bench.read(row, target=target)).tag for row in (2, 3)]
    cost = bench.sheets.cost()
    fresh = [(await bench.read(row, target=target, no_cache=True)).tag for row in (2, 3)]

    assert cost == Cost(0, 0)
    assert tags == fresh
    for row, tag in zip((2, 3), tags, strict=True):
        condition = IfMatch(tags=frozenset({tag}))
        update = Write.update(row=row, fields={"name": "x"}, condition=condition)
        await bench.service.write(target, update)


@pytest.mark.parametrize("target", [SEEN, TARGET], ids=["some", "all"])
async def test_rows_that_moved_in_a_snapshot_have_the_tags_of_a_look(
    kept: Bench, target: Target
) -> None:
    """An update empties the end of a row, and a delete above moves the row."""
    await kept.page()
    await kept.updated(3, {"population": None, "state": "New"})
    await kept.service.write(TARGET, Write.delete(row=2))

    await check_kept_tags(kept, target)


@pytest.mark.parametrize("target", [SEEN, TARGET], ids=["some", "all"])
async def test_rows_that_changed_in_a_window_have_the_tags_of_a_look(
    make_bench: MakeBench, target: Target
) -> None:
    """Updates change a hidden cell and a visible cell."""
    bench = make_bench(cache={**KEPT, "window_above_cells": 1})
    await bench.page()
    bench.clock.advance(10.0)
    for row in (2, 3):
        await bench.read(row)
    await bench.updated(2, {"population": 5})
    await bench.updated(3, {"state": "New"})

    await check_kept_tags(bench, target)
