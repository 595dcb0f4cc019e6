"""Deletes, and writes to several rows: what they do, answer and cost; refusals after a look."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from tests.surfaces.stage import GRANTED, Surface, open_surface

KEY = "staff"
PLANS: Mapping[str, object] = {
    "plans.staff.deletes": True,
    "plans.staff.requests_per_minute": 0,
    "cache.rows_ttl_seconds": 0,
    "cache.max_stale_seconds": 0,
}
OWN = {KEY: KeyRequest(name=KEY, plan=KEY, grants=Grants(spreadsheets=GRANTED, may_delete=True))}
NEW_YORK = ["New York", "New York", "USA", "8804190"]
LOS_ANGELES = ["Los Angeles", "California", "USA", "3898747"]
CHICAGO = ["Chicago", "Illinois", "USA", "2746388"]
LARGE = 'where={"population":{"$gt":3000000}}'
LAST_ROWS = 'where={"rowIndex":{"$gte":3}}'


@dataclass(frozen=True, kw_only=True)
class Done:
    """A request, its answer, the rows after it, and its reads. Each case costs one write."""

    method: str
    target: str
    body: object = None
    status: int = 200
    answer: object = None
    rows: Sequence[Sequence[str]] = ()
    reads: int = 1
    writes: int = 1
    headers: Sequence[tuple[str, str]] = field(default=())


CASES: Mapping[str, Done] = {
    "delete a row": Done(method="DELETE", target="Cities/3", status=204, rows=[NEW_YORK, CHICAGO]),
    "delete the last row": Done(
        method="DELETE", target="Cities/4", status=204, rows=[NEW_YORK, LOS_ANGELES]
    ),
    "delete any state": Done(
        method="DELETE",
        target="Cities/2",
        status=204,
        rows=[LOS_ANGELES, CHICAGO],
        headers=[("If-Match", "*")],
    ),
    "list of updates": Done(
        method="PATCH",
        target="Cities",
        body=[{"rowIndex": 4, "state": "IL"}, {"rowIndex": 2, "state": "NY", "population": 1}],
        answer={
            "results": [
                {"rowIndex": 4, "state": "IL"},
                {"rowIndex": 2, "state": "NY", "population": "1"},
            ]
        },
        rows=[
            ["New York", "NY", "USA", "1"],
            LOS_ANGELES,
            ["Chicago", "IL", "USA", "2746388"],
        ],
    ),
    "list of updates with credentials": Done(
        method="PATCH",
        target="Cities",
        body=[{"rowIndex": 4.0, "state": "IL", "apiKey": "k"}, {"name": None, "rowIndex": 2}],
        answer={"results": [{"rowIndex": 4, "state": "IL"}, {"rowIndex": 2, "name": None}]},
        rows=[["", *NEW_YORK[1:]], LOS_ANGELES, ["Chicago", "IL", "USA", "2746388"]],
    ),
    "update by filter": Done(
        method="PATCH",
        target=f"Cities?{LARGE}",
        body={"country": "US"},
        answer={"count": 2, "results": [{"rowIndex": 2}, {"rowIndex": 3}]},
        rows=[
            [*NEW_YORK[:2], "US", NEW_YORK[3]],
            [*LOS_ANGELES[:2], "US", LOS_ANGELES[3]],
            CHICAGO,
        ],
        reads=3,
    ),
    "update by filter, guarded": Done(
        method="PATCH",
        target=f"Cities?{LARGE}&max-affected=2",
        body={"country": ""},
        answer={"count": 2, "results": [{"rowIndex": 2}, {"rowIndex": 3}]},
        rows=[[*NEW_YORK[:2], "", NEW_YORK[3]], [*LOS_ANGELES[:2], "", LOS_ANGELES[3]], CHICAGO],
        reads=3,
        headers=[("Prefer", "max-affected=50")],
    ),
    "update by filter of numbers": Done(
        method="PATCH",
        target=f"Cities?{LAST_ROWS}",
        body={"country": "US"},
        answer={"count": 2, "results": [{"rowIndex": 3}, {"rowIndex": 4}]},
        rows=[NEW_YORK, [*LOS_ANGELES[:2], "US", LOS_ANGELES[3]], [*CHICAGO[:2], "US", CHICAGO[3]]],
        reads=2,
    ),
    "delete by filter": Done(
        method="DELETE",
        target=f"Cities?{LARGE}",
        answer={"count": 2, "results": [{"rowIndex": 2}, {"rowIndex": 3}]},
        rows=[CHICAGO],
        reads=3,
    ),
    "filter without a match": Done(
        method="DELETE",
        target='Cities?where={"state":"Ohio"}',
        answer={"count": 0, "results": []},
        rows=[NEW_YORK, LOS_ANGELES, CHICAGO],
        reads=3,
        writes=0,
    ),
    "upsert an object": Done(
        method="POST",
        target="Cities?on_conflict=name",
        body={"name": "Chicago", "population": 5},
        answer={
            "results": [{"rowIndex": 4, "created": False, "name": "Chicago", "population": "5"}]
        },
        rows=[NEW_YORK, LOS_ANGELES, [*CHICAGO[:3], "5"]],
        reads=3,
    ),
    "upsert a new object": Done(
        method="POST",
        target="Cities?on_conflict=name,state",
        body={"name": "Chicago", "state": "Ohio"},
        status=201,
        answer={"results": [{"rowIndex": 5, "created": True, "name": "Chicago", "state": "Ohio"}]},
        rows=[NEW_YORK, LOS_ANGELES, CHICAGO, ["Chicago", "Ohio"]],
        reads=3,
    ),
    "upsert a list": Done(
        method="POST",
        target="Cities?on_conflict=name",
        body=[{"name": "Reno", "country": "USA"}, {"name": "New York", "state": "NY"}],
        answer={
            "results": [
                {"rowIndex": 5, "created": True, "name": "Reno", "country": "USA"},
                {"rowIndex": 2, "created": False, "name": "New York", "state": "NY"},
            ]
        },
        rows=[["New York", "NY", *NEW_YORK[2:]], LOS_ANGELES, CHICAGO, ["Reno", "", "USA"]],
        reads=3,
    ),
    "upsert a new list": Done(
        method="POST",
        target="Cities?on_conflict=name",
        body=[{"name": "Reno"}, {"name": "Ames", "state": "IA"}],
        status=201,
        answer={
            "results": [
                {"rowIndex": 5, "created": True, "name": "Reno"},
                {"rowIndex": 6, "created": True, "name": "Ames", "state": "IA"},
            ]
        },
        rows=[NEW_YORK, LOS_ANGELES, CHICAGO, ["Reno"], ["Ames", "IA"]],
        reads=3,
    ),
    "upsert, existing rows stay": Done(
        method="POST",
        target="Cities?on_conflict=name",
        body={"name": "Chicago", "state": "x"},
        answer={
            "results": [{"rowIndex": 4, "created": False, "name": "Chicago", "state": "Illinois"}]
        },
        rows=[NEW_YORK, LOS_ANGELES, CHICAGO],
        reads=3,
        writes=0,
        headers=[("Prefer", "resolution=ignore-duplicates")],
    ),
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    with open_surface(tmp_path_factory.mktemp("done"), OWN, PLANS) as surface:
        yield surface


@pytest.fixture
def surface(opened: Surface) -> Surface:
    opened.reset()
    return opened


NUMBERS = count()


def title(surface: Surface) -> str:
    """Return a worksheet with the rows of Cities, of which nothing is cached."""
    (cities,) = [each for each in surface.sheets.worksheets if each.title == "Cities"]
    cities.title = f"Cities{next(NUMBERS)}"
    return cities.title


def rows(surface: Surface, name: str) -> list[list[str]]:
    lines = surface.cells()[name]
    assert isinstance(lines, list)
    return [[str(cell) for cell in line] for line in lines[1:]]


def send(surface: Surface, name: str, done: Done) -> Any:
    target = done.target.replace("Cities", name)
    body = b"" if done.body is None else json.dumps(done.body).encode()
    return surface.send(done.method, target, key=KEY, body=body, headers=done.headers)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_is_done(surface: Surface, case: Done) -> None:
    """Answer, cells and calls of a write are as the case says."""
    name = title(surface)

    answer = send(surface, name, case)

    assert answer.status_code == case.status
    assert (answer.json() if case.answer else answer.content) == (case.answer or b"")
    assert rows(surface, name) == [list(row) for row in case.rows]
    assert (surface.calls.reads, surface.calls.writes) == (case.reads, case.writes)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_is_done_once_for_a_key(surface: Surface, case: Done) -> None:
    """A repeated Idempotency-Key gets the same answer without a call."""
    name = title(surface)
    keyed = replace(case, headers=[*case.headers, ("Idempotency-Key", "k")])
    first = send(surface, name, keyed)
    spent = (surface.calls.reads, surface.calls.writes)

    again = send(surface, name, keyed)

    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert rows(surface, name) == [list(row) for row in case.rows]
    assert (surface.calls.reads, surface.calls.writes) == spent


REFUSALS: Mapping[str, tuple[Done, tuple[int, int], int]] = {
    "no row": (Done(method="DELETE", target="Cities/9"), (404, 103), 3),
    "header": (Done(method="DELETE", target="Cities/1"), (404, 103), 0),
    "other state": (
        Done(method="DELETE", target="Cities/2", headers=[("If-Match", '"x"')]),
        (412, 4120),
        1,
    ),
    "one row of a list is missing": (
        Done(
            method="PATCH",
            target="Cities",
            body=[{"rowIndex": 2, "state": "x"}, {"rowIndex": 99, "state": "x"}],
        ),
        (404, 103),
        4,
    ),
    "field of a list is unknown": (
        Done(method="PATCH", target="Cities", body=[{"rowIndex": 2, "staat": "x"}]),
        (400, 104),
        1,
    ),
    "more than allowed": (
        Done(method="PATCH", target=f"Cities?{LARGE}&max-affected=1", body={"state": "x"}),
        (400, 4005),
        3,
    ),
    "more than preferred": (
        Done(method="DELETE", target=f"Cities?{LARGE}", headers=[("Prefer", "max-affected=1")]),
        (400, 4005),
        3,
    ),
    "filter of an unknown field": (
        Done(method="DELETE", target='Cities?where={"staat":"x"}'),
        (400, 4002),
        3,
    ),
    "key is no field": (
        Done(method="POST", target="Cities?on_conflict=staat", body={"staat": "x"}),
        (400, 4002),
        3,
    ),
    "two rows have the key": (
        Done(method="POST", target="Cities?on_conflict=country", body={"country": "USA"}),
        (409, 4092),
        3,
    ),
    "no worksheet": (Done(method="DELETE", target="Nowhere/2"), (404, 105), 4),
}


@pytest.mark.parametrize(("case", "expected", "reads"), REFUSALS.values(), ids=REFUSALS)
def test_it_is_refused(surface: Surface, case: Done, expected: tuple[int, int], reads: int) -> None:
    """Nothing is written, and only the calls of the case are made."""
    name = title(surface)
    target = case.target.replace("Cities", name)
    body = b"" if case.body is None else json.dumps(case.body).encode()

    found, _ = surface.refused(
        case.method, target, key=KEY, body=body, headers=case.headers, reads=reads
    )
    assert found == expected


BOUNDS: Mapping[tuple[str, str], tuple[bool, str | None]] = {
    ("&max-affected=2", ""): (True, None),
    ("&max-affected=", ""): (True, None),
    ("&max-affected=0", ""): (False, None),
    ("", "max-affected=2"): (True, "max-affected=2"),
    ("", "return=minimal, Max-Affected=2; x=y"): (True, "max-affected=2"),
    ("&max-affected=1", "max-affected=4"): (False, None),
    ("&max-affected=5", "handling=strict,max-affected=1"): (False, None),
    ("&max-affected=80", "max-affected=4"): (True, "max-affected=4"),
    ("", "handling=lenient, missing=default"): (True, None),
}
"""Parameter and preference; True if a write of 2 rows passes; preference in the answer."""


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
@pytest.mark.parametrize(("query", "prefer"), BOUNDS, ids=str)
def test_the_smallest_number_of_rows_counts(
    surface: Surface, query: str, prefer: str, method: str
) -> None:
    """The smaller of parameter and preference is the limit."""
    passes, applied = BOUNDS[query, prefer]
    body = {"state": "x"} if method == "PATCH" else None
    headers = [("Prefer", prefer), ("Origin", "https://page.example")]
    case = Done(method=method, target=f"Cities?{LARGE}{query}", body=body, headers=headers)

    answer = send(surface, title(surface), case)

    assert answer.status_code == (200 if passes else 400)
    assert answer.headers.get("preference-applied") == applied
    assert (b"access-control-expose-headers", b"Preference-Applied") in answer.pairs or not applied
    assert surface.calls.writes == passes


def test_a_plan_bounds_the_rows_of_a_write(tmp_path: Path) -> None:
    """A larger parameter does not raise the limit of the plan."""
    with open_surface(tmp_path, OWN, {**PLANS, "plans.staff.max_affected": 1}) as surface:
        answer = surface.send("DELETE", f"Cities?{LARGE}&max-affected=80", key=KEY)

    assert (answer.status_code, answer.json()["code"]) == (400, 4005)


@pytest.mark.parametrize("prefer", ["resolution=merge-duplicates", "handling=strict, missing=x"])
def test_existing_rows_are_merged(surface: Surface, prefer: str) -> None:
    """Existing rows are merged by default. The answer names the applied preference."""
    case = replace(CASES["upsert an object"], headers=[("Prefer", prefer)])
    answer = send(surface, title(surface), case)

    assert answer.json() == case.answer
    applied = answer.headers.get("preference-applied")
    assert applied == (prefer if prefer.startswith("resolution") else None)


def test_google_keeps_a_row(surface: Surface) -> None:
    """If Google keeps a row, the answer says so, and nothing is removed."""
    surface.sheets.worksheets[0].array_rows.add(2)
    before = surface.cells()

    answer = surface.send("DELETE", "Cities/2", key=KEY)
    assert (answer.status_code, answer.json()["code"]) == (409, 4093)
    assert "Google cannot delete the row" in answer.json()["message"]
    assert answer.json()["outcome"] == "not_applied"
    assert surface.cells() == before
