"""Keys of upserts: a row has a key exactly if `$eq` matches each of its values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from gateway.errors import DuplicateKey, InvalidBody
from gateway.query.query import Query, parse_where
from gateway.table.record import key_form
from gateway.table.records import BLANK_ONLY
from gateway.table.steps import Work, finish
from gateway.table.table import Table, make_table
from gateway.worksheets.planning import Planned, Planner, RowChange
from gateway.worksheets.writes import Write, Written
from tests.query.cases import make_operand, make_renderings, make_rows, without_end
from tests.query.sheet import evaluate

PLANNER = Planner(ignore_unknown=False)
SHEETS = 400


def planned(table: Table, keys: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Planned:
    """Plan of an upsert, in a worksheet where a new row with only `false` is a record."""
    table = replace(table, header=replace(table.header, end=BLANK_ONLY))
    write = Write.upsert(keys=tuple(keys), rows=tuple(rows), is_array=True)
    work: Work[Planned] = PLANNER.planned(0, write, table)
    return finish(work)


def number(slot: Written | RowChange | int) -> int | None:
    """Row number of a result; None for a new row."""
    return None if isinstance(slot, int) else slot.row


@pytest.mark.parametrize("seed", range(8))
def test_a_row_has_a_key_where_eq_matches(seed: int) -> None:
    """Cells and values of every kind, in one column and in two."""
    random = Random(seed)  # noqa: S311
    found = 0
    for _ in range(SHEETS // 8):
        cells = make_rows(random)
        table = make_renderings(cells, random)
        rows = without_end(cells)
        some = [cell for row in rows for cell in row.values()]
        for _ in range(12):
            names = random.sample(["a", "b", "d"], random.choice((1, 1, 2)))
            key = {name: make_operand(random, some) for name in names}
            if any(value in (None, "") for value in key.values()):
                continue
            matching: Sequence[int | None] = evaluate(
                table, Query(where=parse_where(key), limit=1_000)
            ).rows
            try:
                (slot,) = planned(table, names, [key]).slots
            except DuplicateKey:
                assert len(matching) > 1
            else:
                assert [number(slot)] == ([*matching] or [None])
            found += bool(matching)

    assert found > 20


def test_two_keys_of_a_body_are_apart_or_refused() -> None:
    """Each row of a body gets the row that it would get alone, unless two would get the same."""
    random = Random(9)  # noqa: S311
    refused = 0
    for _ in range(3 * SHEETS):
        cells = make_rows(random)
        table = make_renderings(cells, random)
        some = [row["a"] for row in without_end(cells)]
        keys = [make_operand(random, some), make_operand(random, some)]
        if any(value in (None, "") for value in keys) or key_form(keys[0]) == key_form(keys[1]):
            continue
        alone: list[int | None] = []
        try:
            alone += [number(*planned(table, ["a"], [{"a": key}]).slots) for key in keys]
            together = [*map(number, planned(table, ["a"], [{"a": key} for key in keys]).slots)]
        except DuplicateKey:
            continue
        except InvalidBody:
            assert alone[0] == alone[1]
            refused += 1
        else:
            assert together == alone

    assert refused > 0


def test_new_keys_are_compared_in_nfc() -> None:
    """Two new keys that differ only in their Unicode form are the same key."""
    table = finish(make_table([["a"]]).with_typed([["a"]]))

    with pytest.raises(InvalidBody):
        planned(table, ["a"], [{"a": "é"}, {"a": "e\u0301"}])
