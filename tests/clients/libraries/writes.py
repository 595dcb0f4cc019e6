"""Cases of writes, Idempotency-Keys and typed values."""

from collections.abc import Mapping, Sequence
from csv import DictReader
from dataclasses import replace
from unittest.mock import ANY

from tests.clients.libraries.case import (
    OWN,
    PYTHON,
    TYPESCRIPT,
    Case,
    Failure,
    Of,
    call,
    case,
    fails,
    row,
    tagged,
)
from tests.clients.libraries.senders import Call
from tests.clients.middlebox import Fault
from tests.clients.outcomes import ANY as PRESENT
from tests.journeys.workbook import CITIES

AUSTIN = {"name": "Austin", "population": 961855}
AUSTIN_SHOWN = {"name": "Austin", "population": "961855"}
AUSTIN_CELLS: Mapping[str, object] = {"Cities!12.1": "Austin", "Cities!12.4": 961855}
LOST = Fault(is_forwarded=True)
"""Fault: the gateway gets the request, and its answer is lost."""


_CITIES = [(*each.values(),) for each in DictReader(CITIES.splitlines())]


def moved_up(*deleted: int) -> dict[str, object]:
    """Return the changed cells of `Cities` after these rows are deleted."""
    left = [cells for at, cells in enumerate(_CITIES, 2) if at not in deleted]
    after = [*left, *[(None,) * 4] * len(deleted)]
    return {
        f"Cities!{at}.{column}": int(new) if new and column == 4 else new
        for at, rows in enumerate(zip(_CITIES, after, strict=True), 2)
        for column, (old, new) in enumerate(zip(*rows, strict=True), 1)
        if old != new
    }


CREATE = case("create", call("create", AUSTIN), tagged(12, AUSTIN_SHOWN), changes=AUSTIN_CELLS)
EACH_WRITE: Sequence[Case] = [
    CREATE,
    case(
        "create many rows in order, without ETags",
        call("create", (AUSTIN, {"name": "Waco"})),
        [row(12, AUSTIN_SHOWN), row(13, {"name": "Waco"})],
        changes={**AUSTIN_CELLS, "Cities!13.1": "Waco"},
    ),
    case(
        "update",
        call("update", 2, {"name": "x"}),
        tagged(2, {"name": "x"}),
        changes={"Cities!2.1": "x"},
    ),
    case(
        "update many rows in order",
        call("update_many", [{"rowIndex": 3, "name": "x"}, {"rowIndex": 2, "state": "y"}]),
        [row(3, {"name": "x"}), row(2, {"state": "y"})],
        changes={"Cities!3.1": "x", "Cities!2.2": "y"},
    ),
    case(
        "upsert",
        call("upsert", {"name": "Dallas", "population": 1}, on="name"),
        row(10, {"name": "Dallas", "population": "1"}, created=False),
        changes={"Cities!10.4": 1},
    ),
    case(
        "upsert existing and new rows",
        call("upsert", [AUSTIN, {"name": "Dallas", "country": "TX"}], on=["name"]),
        [
            row(12, AUSTIN_SHOWN, created=True),
            row(10, {"name": "Dallas", "country": "TX"}, created=False),
        ],
        changes={**AUSTIN_CELLS, "Cities!10.3": "TX"},
    ),
    case(
        "update where",
        call("update_where", {"state": "Texas"}, {"state": "TX"}, max_affected=3),
        {"count": 3, "rowIndexes": [5, 8, 10]},
        changes={f"Cities!{at}.2": "TX" for at in (5, 8, 10)},
    ),
    case("delete", call("delete", 2), None, changes=moved_up(2)),
    case(
        "delete where",
        call("delete_where", {"rowIndex": {"$lte": 3}}, max_affected=2),
        {"count": 2, "rowIndexes": [2, 3]},
        changes=moved_up(2, 3),
    ),
]
_PLAIN: Sequence[Case] = [
    *EACH_WRITE,
    *[
        replace(
            each,
            name=f"lost answers to {each.name}",
            faults=[LOST, LOST],
            requests=len(each.steps) + 2,
        )
        for each in EACH_WRITE
    ],
    case(
        "an upsert with ignore_existing leaves existing rows unchanged",
        call(
            "upsert",
            {"name": "Dallas", "state": "Texas", "population": 3},
            on=["name", "state"],
            ignore_existing=True,
        ),
        row(10, ANY, created=False),
    ),
    *[
        case(
            f"{asked.method} of more rows than max_affected writes nothing",
            asked,
            fails(kind="SheetsError", code=4005, outcome="not_applied"),
        )
        for asked in (
            call("update_where", {"state": "Texas"}, {"country": "x"}, max_affected=2),
            call("delete_where", {"state": "Texas"}, max_affected=2),
        )
    ],
    case(
        "None empties a cell, and finds empty cells in a filter",
        call("create", {"name": "Austin", "state": None}),
        tagged(12, {"name": "Austin", "state": None}),
        call("update", 12, {"name": None, "country": "USA"}),
        tagged(12, {"name": None, "country": "USA"}),
        call("list", where={"name": None, "country": "USA"}, keys=["country"]),
        {"rows": [row(12, {"country": "USA"})], "hasNextPage": False},
        changes={"Cities!12.3": "USA"},
    ),
    case(
        "a refresh is accepted, without the parameter `values`",
        call("refresh"),
        None,
        client={"values": "typed"},
        sent={"path": ["/v2/sheets/Cities/refresh"], "values": [None]},
    ),
]


def conflict(existing: Mapping[str, object], etag: object) -> Failure:
    """Expect the error for an outdated ETag, with the current row and its ETag."""
    return fails(
        kind="SheetsError",
        name="PreconditionFailed",
        status=412,
        code=4120,
        outcome="not_applied",
        existing={**existing, "etag": etag},
    )


_TAGS: Sequence[Case] = [
    case(
        "each answer's ETag is valid for the next update",
        call("create", AUSTIN),
        tagged(12, AUSTIN_SHOWN),
        call("update", 12, {"population": 964_000}, if_match=Of(0, "etag")),
        tagged(12, {"population": "964000"}),
        call("update", 12, {"state": None}, if_match=Of(1, "etag")),
        tagged(12, {"state": None}),
        call("get", 12, keys=["name"]),
        tagged(12, {"name": "Austin"}),
        changes={**AUSTIN_CELLS, "Cities!12.4": 964000},
    ),
    *[
        case(
            f"{asked.method} with an outdated ETag gets the current row, and writes nothing",
            call("get", 2),
            ANY,
            call("update", 2, {"population": 1}, if_match=Of(0, "etag")),
            tagged(2, {"population": "1"}),
            asked,
            conflict(row(2, {"population": "1"}), Of(1, "etag")),
            changes={"Cities!2.4": 1},
        )
        for asked in (
            call("update", 2, {"population": 2}, if_match=Of(0, "etag")),
            call("delete", 2, if_match=Of(0, "etag")),
        )
    ],
    case(
        "a delete with the ETag protects the row that moved to the same number",
        call("get", 3),
        ANY,
        call("delete", 3, if_match=Of(0, "etag")),
        None,
        call("delete", 3, if_match=Of(0, "etag")),
        conflict(row(3, {"name": "Chicago"}), PRESENT),
        changes=moved_up(3),
    ),
]
_KEYS: Sequence[Case] = [
    case(
        "two calls with one key of the caller write once",
        call("create", AUSTIN, idempotency_key=OWN),
        tagged(12, AUSTIN_SHOWN),
        call("create", AUSTIN, idempotency_key=OWN),
        row(12, AUSTIN_SHOWN, etag=Of(0, "etag")),
        changes=AUSTIN_CELLS,
    ),
    case(
        "two equal creates are two rows",
        steps=[(call("create", {"name": "x"}), tagged(at, {"name": "x"})) for at in (12, 13)],
        changes={"Cities!12.1": "x", "Cities!13.1": "x"},
    ),
    case(
        "a null key counts as absent, and each write has its own key",
        senders=TYPESCRIPT,
        steps=[
            (call("create", {"name": "x"}, idempotency_key=None), tagged(at, {"name": "x"}))
            for at in (12, 13)
        ],
        changes={"Cities!12.1": "x", "Cities!13.1": "x"},
    ),
]

_EVERY_CALL: Sequence[Call] = [
    call("list"),
    call("list", limit=1),
    call("rows"),
    call("export"),
    call("get", 2),
    call("create", {"name": "a"}),
    call("create", [{"name": "b"}]),
    call("update", 12, {"state": "x"}),
    call("update_many", [{"rowIndex": 12, "state": "y"}]),
    call("upsert", {"name": "b"}, on="name"),
    call("update_where", {"name": "a"}, {"state": "z"}),
    call("delete", 12),
    call("delete_where", {"name": "b"}),
]
_OF_PYTHON = [call("export_rows"), call("to_dataframe")]
_VALUES: Sequence[Case] = [
    case(
        f"{of_sheet} values of the worksheet, else {of_client} ones of the client",
        senders=senders,
        client={} if of_client is None else {"values": of_client},
        of_sheet={} if of_sheet is None else {"values": of_sheet},
        steps=[(asked, ANY) for asked in (*_EVERY_CALL, *more)],
        sent={"values": [*[sent] * (len(_EVERY_CALL) + len(more[:1])), *["typed"] * len(more[1:])]},
    )
    for of_client, of_sheet, sent in (
        (None, None, None),
        ("typed", None, "typed"),
        ("displayed", None, "displayed"),
        ("displayed", "typed", "typed"),
        ("typed", "displayed", "displayed"),
    )
    for senders, more in ((PYTHON, _OF_PYTHON), (TYPESCRIPT, []))
]
_TYPED: Sequence[Case] = [
    case(
        "typed rows are read and written, and a date is stored as a date",
        call("get", 2),
        tagged(
            2, {"item": "Pen", "price": 1250.5, "due": "2024-01-02", "total": 2501, "note": None}
        ),
        call("update", 2, {"price": 2501, "due": "2024-01-03"}),
        tagged(2, {"price": 2501, "due": "2024-01-03"}),
        call("create", {"item": "Nib", "price": 0.5, "due": "2024-04-01"}),
        tagged(4, {"item": "Nib", "price": 0.5, "due": "2024-04-01"}),
        sheet="Orders",
        client={"values": "typed"},
        changes={
            "Orders!2.2": 2501,
            "Orders!2.3": 45294,
            "Orders!4.1": "Nib",
            "Orders!4.2": 0.5,
            "Orders!4.3": 45383,
        },
    ),
    case(
        "typed booleans are read",
        call("list", keys=["done"]),
        {
            "rows": [row(at, {"done": done}) for at, done in ((2, True), (3, False), (4, None))],
            "hasNextPage": False,
        },
        sheet="Tasks",
        client={"values": "typed"},
    ),
    case(
        "one worksheet of a typed client has displayed values",
        call("get", 2, keys=["price"]),
        tagged(2, {"price": "$1,250.50"}),
        sheet="Orders",
        client={"values": "typed"},
        of_sheet={"values": "displayed"},
    ),
    case(
        "a change hidden by the display is a conflict, with the typed row",
        call("get", 2),
        ANY,
        call("update", 2, {"price": 1250.501}),
        ANY,
        call("update", 2, {"price": 1}, if_match=Of(0, "etag")),
        conflict(row(2, {"price": 1250.501, "due": "2024-01-02"}), PRESENT),
        sheet="Orders",
        client={"values": "typed"},
        changes={"Orders!2.2": 1250.501},
    ),
]

WRITES: Sequence[Case] = [*_PLAIN, *_TAGS, *_KEYS, *_VALUES, *_TYPED]
