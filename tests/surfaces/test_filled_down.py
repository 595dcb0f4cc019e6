"""Worksheets whose columns are filled down in advance: what is below the last record is nowhere."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gateway.errors import SheetTooLarge
from gateway.google.sheets import Render, Rendering, SheetArea, Sheets, SheetView
from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant
from tests.asgi_client import Answer
from tests.fakes import BOOK, Formatted, Held
from tests.forwarding import Call, ForwardingSheets, Kind
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, Surface, open_surface
from tests.surfaces.test_header_rows import KEPT, WINDOWS, ask, sheet, where

T = TypeVar("T")
Rows = Sequence[Sequence[Held | None]]

FIELDS = ["task", "owner", "cost", "done"]
RECORDS: Rows = [
    ["Paint", "Ann", 120, True],
    ["Repair", "Bob", 80.5, False],
    [None, None, None, False],
    ["Clean", "Ann", 0, False],
]
LAST = 1 + len(RECORDS)
FALSCH = Formatted(False, "FALSCH")
TAILS: Mapping[str, Sequence[Held | None]] = {
    "checkboxes": [None, None, None, False],
    "german": [None, None, None, FALSCH],
    "two": [None, False, None, False],
    "blank formulas": [Formatted("", ""), None, None, False],
}
HIDING = Grants(
    spreadsheets=GRANTED, may_delete=True, columns=ColumnGrant(frozenset({"task", "cost"}))
)
KEYS: Mapping[str, KeyRequest] = {
    "paid": KeyRequest(name="paid", grants=Grants(spreadsheets=GRANTED, may_delete=True)),
    "clerk": KeyRequest(name="clerk", grants=HIDING),
}
SETTINGS: Mapping[str, object] = {
    "plans.paid.deletes": True,
    "plans.paid.requests_per_minute": 0,
    "worksheets": [
        {"spreadsheet": BOOK, "title": "Chosen", "record_field": "task"},
        {"spreadsheet": BOOK, "title": "Off", "filled_down": False},
        {"spreadsheet": BOOK, "title": "Lacking", "record_field": "secret"},
    ],
}
BELOW = 20
"""Rows below the records that are filled down."""


@contextmanager
def opened(folder: Path, settings: Mapping[str, object] | None = None) -> Iterator[Surface]:
    with open_surface(folder, KEYS, {**SETTINGS, **(settings or {})}) as surface:
        yield surface


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    with opened(tmp_path_factory.mktemp("filled")) as surface:
        yield surface


def add(
    surface: Surface, title: str, tail: Sequence[Held | None] = (), rows: Rows = RECORDS
) -> None:
    """Add a worksheet with records and filled-down rows below them."""
    lines = [FIELDS, *rows, *[tail] * (BELOW if tail else 0)]
    surface.sheets.add(title, lines, rows=len(lines) + 5)


def add_both(surface: Surface, tail: Sequence[Held | None], title: str = "Filled") -> None:
    surface.reset()
    add(surface, "Plain")
    add(surface, title, tail)


OPERATIONS: Mapping[str, tuple[str, str, object, int]] = {
    "list": ("GET", "?limit=50&count=true", None, 1),
    "page": ("GET", "?skip=2&limit=2", None, 1),
    "page at the end": ("GET", "?skip=3&limit=2", None, 1),
    "page past the end": ("GET", "?skip=9", None, 1),
    "cursor": ("GET", "?limit=4&cursor=", None, 1),
    "typed list": ("GET", "?values=typed&limit=50", None, 0),
    "export": ("GET", "?format=json", None, 1),
    "csv": ("GET", "?format=csv&formulas=raw", None, 1),
    "order": ("GET", "?order=done,-task", None, 0),
    "not done": ("GET", where({"done": False}, count="true"), None, 0),
    "without a task": ("GET", where({"task": None}, count="true"), None, 0),
    "last record": ("GET", f"/{LAST}", None, 1),
    "record in the middle": ("GET", "/4?values=typed", None, 0),
    "tail by number": ("GET", f"/{LAST + 2}", None, 1),
    "typed tail": ("GET", f"/{LAST + 1}?values=typed", None, 0),
    "update": ("PUT", f"/{LAST}", {"cost": 5}, 0),
    "update of the middle": ("PUT", "/4", {"cost": 5}, 1),
    "update by filter": ("PATCH", where({"done": False}), {"owner": "Cy"}, 0),
    "update of blank owners": ("PATCH", where({"owner": None}), {"owner": "Cy"}, 0),
    "upsert": ("POST", "?on_conflict=task", {"task": "Paint", "cost": 1}, 0),
    "delete": ("DELETE", "/2", None, 0),
    "delete by filter": ("DELETE", where({"done": False}), None, 0),
    "delete of all": ("DELETE", where({"rowIndex": {"$gte": 0}}), None, 1),
}
"""Method, target, body, and the extra reads with filled-down rows."""


def compare(surface: Surface, name: str, title: str = "Filled", key: str = "paid") -> int:
    """Assert that an operation has the same answer with and without filled-down rows."""
    method, target, body, _ = OPERATIONS[name]
    expected, costs = ask(surface, method, f"Plain{target}", body, key=key)
    answer, calls = ask(surface, method, f"{title}{target}", body, key=key)

    assert answer.status_code == expected.status_code, name
    if "cursor" in target:
        assert comparable(answer)["results"] == comparable(expected)["results"], name
    else:
        assert comparable(answer) == comparable(expected), name
    if key == "paid" and not expected.headers.get("etag", "W/").startswith("W/"):
        assert answer.headers["etag"] == expected.headers["etag"], name
    plain, shown = sheet(surface, "Plain").lines(), sheet(surface, title).lines()
    assert shown[: len(plain)] == plain, name
    assert {*map(tuple, shown[len(plain) :])} <= {tuple(shown[-1])}, name
    assert calls[1] == costs[1], name
    return calls[0] - costs[0]


def comparable(answer: Answer) -> Any:
    try:
        found = json.loads(answer.content or b"null")
    except ValueError:
        return answer.content
    if isinstance(found, dict):
        found.pop("requestId", None)
        if found.get("code") == 103:  # it names the last record if the tail is visible
            found["message"] = found["message"].partition(" and end with ")[0]
    return found


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_does_what_it_does_without_the_tail(
    shared: Surface, name: str, tail: str
) -> None:
    """Answers and records are equal. Typed values cost 1 more read if they are not read anyway."""
    add_both(shared, TAILS[tail], tail)

    more = compare(shared, name, tail)

    assert more == OPERATIONS[name][3]


@pytest.mark.parametrize("changed", [{}, WINDOWS], ids=["whole", "windows"])
@pytest.mark.parametrize("key", KEYS)
def test_who_sees_no_checkbox_has_the_same_records(
    tmp_path: Path, changed: Mapping[str, object], key: str
) -> None:
    """The last record is the same for all keys, and no answer shows hidden cells."""
    with opened(tmp_path, changed) as surface:
        for name in OPERATIONS:
            if name in ("not done", "order", "update by filter", "delete by filter"):
                continue
            add_both(surface, TAILS["checkboxes"])
            for title in ("Plain", "Filled"):
                ask(surface, "GET", title, key=key)
            compare(surface, name, key=key)


@pytest.mark.parametrize("values", ["displayed", "typed"])
@pytest.mark.parametrize("tail", TAILS)
def test_windows_end_with_the_last_record(tmp_path: Path, tail: str, values: str) -> None:
    """Pages and single rows of a large worksheet end with the last record."""
    with opened(tmp_path, WINDOWS) as surface:
        add_both(surface, TAILS[tail])
        targets = [f"?skip={skip}&limit={limit}" for skip in range(7) for limit in range(4)]
        targets = [*targets, *(f"/{row}?" for row in range(2, 9))]
        for title in ("Plain", "Filled"):
            ask(surface, "GET", title)  # now it is known to be large
        for target in targets:
            target = f"{target}&values={values}"
            expected, _ = ask(surface, "GET", f"Plain{target}")
            answer, _ = ask(surface, "GET", f"Filled{target}")

            assert answer.status_code == expected.status_code, target
            assert comparable(answer) == comparable(expected), target


@pytest.mark.parametrize(
    ("target", "reads", "typed_reads"),
    [
        pytest.param("?limit=1", 1, 2, id="above the end"),
        pytest.param("?skip=2&limit=1", 1, 2, id="the last but one"),
        pytest.param("?skip=3&limit=1", 2, 3, id="the last"),
        pytest.param("?limit=9", 2, 3, id="all"),
        pytest.param("?skip=6&limit=2", 2, 2, id="past the end"),
        pytest.param(f"/{LAST}?", 2, 3, id="row"),
        pytest.param(f"/{LAST + 3}?", 2, 2, id="no record"),
    ],
)
def test_windows_at_the_tail_cost_one_read_more(
    tmp_path: Path, target: str, reads: int, typed_reads: int
) -> None:
    """The rows below a window are read in both renderings at once."""
    with opened(tmp_path, WINDOWS) as surface:
        add_both(surface, TAILS["checkboxes"])
        ask(surface, "GET", "Filled")

        _, calls = ask(surface, "GET", f"Filled{target}")
        _, typed_calls = ask(surface, "GET", f"Filled{target}&values=typed")

        assert (calls[0], typed_calls[0]) == (reads, typed_reads)


def test_kept_rows_cost_nothing(tmp_path: Path) -> None:
    """Both renderings are cached together and survive writes to the last record."""
    with opened(tmp_path, KEPT) as surface:
        add_both(surface, TAILS["checkboxes"])

        _, first = ask(surface, "GET", "Filled")
        updated, write = ask(surface, "PUT", f"Filled/{LAST}", {"cost": 7, "done": True})
        listed, again = ask(surface, "GET", "Filled?count=true")
        typed, more = ask(surface, "GET", "Filled?values=typed&order=-cost")

        assert (first, write, again, more) == ((2, 0), (1, 1), (0, 0), (0, 0))
        assert updated.status_code == 200
        assert listed.json()["results"][-1] == {
            "rowIndex": LAST, "task": "Clean", "owner": "Ann", "cost": "7", "done": "TRUE",
        }  # fmt: skip
        assert listed.json()["total"] == len(typed.json()["results"]) == len(RECORDS)


@pytest.mark.parametrize("changed", [KEPT, {**WINDOWS, "cache.rows_ttl_seconds": 600}])
def test_own_writes_move_the_end(tmp_path: Path, changed: Mapping[str, object]) -> None:
    """A record that a write empties, unchecks or removes does not count as a record."""
    with opened(tmp_path, changed) as surface:
        surface.reset()
        add(surface, "Filled", TAILS["checkboxes"], [*RECORDS, [None, None, None, True]])

        def total() -> int:
            pages = [ask(surface, "GET", f"Filled?skip={at}&limit=1")[0] for at in range(6)]
            found = sum(len(page.json()["results"]) for page in pages)
            has_next = [page.json()["hasNextPage"] for page in pages]
            assert has_next == [at < found - 1 for at in range(6)]
            return found

        totals = [total()]
        for method, target, body in (
            ("PUT", f"/{LAST + 1}", {"done": False}),
            ("PUT", f"/{LAST}", {"task": None, "owner": None, "cost": None}),
            ("DELETE", "/3", None),
        ):
            answer, _ = ask(surface, method, f"Filled{target}", body)
            assert answer.status_code < 300
            totals.append(total())

    assert totals == [5, 4, 2, 1]


def test_text_that_says_false_is_data(shared: Surface) -> None:
    """The typed value decides, not the displayed word. Both are read."""
    check_texts(shared)


def check_texts(surface: Surface) -> None:
    surface.reset()
    add(surface, "Texts", [None, None, None, "FALSE"])
    add(surface, "Word", [None, None, None, "X"], RECORDS)
    add(surface, "Mixed", TAILS["german"], [*RECORDS, [None, None, "FALSCH", FALSCH]])

    totals = {}
    for title in ("Texts", "Word", "Mixed"):
        listed, calls = ask(surface, "GET", f"{title}?count=true&limit=0")
        totals[title] = listed.json()["total"], calls[0]

    assert totals == {
        "Texts": (len(RECORDS) + BELOW, 2),
        "Word": (len(RECORDS) + BELOW, 2),
        "Mixed": (len(RECORDS) + 1, 2),
    }


def test_checked_rows_and_single_fields_are_data(shared: Surface) -> None:
    """A TRUE is a record. So is each FALSE in a worksheet with one field."""
    shared.reset()
    add(shared, "Checked", TAILS["checkboxes"], [*RECORDS, [None, None, None, True]])
    shared.sheets.add("Answers", [["agreed"], [True], [False], [False]])
    add(shared, "Off", TAILS["checkboxes"])

    found = {
        title: ask(shared, "GET", f"{title}?count=true&limit=0")
        for title in ("Checked", "Answers", "Off")
    }

    assert {title: (each[0].json()["total"], each[1][0]) for title, each in found.items()} == {
        "Checked": (len(RECORDS) + 1, 2),
        "Answers": (3, 1),
        "Off": (len(RECORDS) + BELOW, 1),
    }


CHOSEN_TAIL: Sequence[Held | None] = [None, "new", Formatted(0, "$0.00"), False]


@pytest.mark.parametrize("changed", [{}, WINDOWS], ids=["whole", "windows"])
@pytest.mark.parametrize("key", KEYS)
def test_a_record_field_decides_alone(
    tmp_path: Path, changed: Mapping[str, object], key: str
) -> None:
    """With a record field, other columns make no records, and no more renderings are read."""
    with opened(tmp_path, changed) as surface:
        for name in OPERATIONS:
            if key == "clerk" and "done" in json.dumps(OPERATIONS[name]):
                continue
            add_both(surface, CHOSEN_TAIL, "Chosen")
            for title in ("Plain", "Chosen"):
                ask(surface, "GET", title, key=key)

            more = compare(surface, name, "Chosen", key)

            assert more <= 0, name


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("method", "target", "body"), [
    ("GET", "", None), ("GET", "/2", None), ("PUT", "/2", {"task": "x"}),
    ("POST", "", {"task": "x"}), ("DELETE", "/2", None),
])  # fmt: skip
@pytest.mark.parametrize("changed", [{}, WINDOWS], ids=["whole", "windows"])
def test_a_header_without_the_record_field_is_refused(
    tmp_path: Path, changed: Mapping[str, object], method: str, target: str, body: object, key: str
) -> None:
    """The error names the setting but no hidden field, and nothing is written."""
    with opened(tmp_path, changed) as surface:
        surface.reset()
        add(surface, "Lacking")
        before = sheet(surface, "Lacking").lines()

        answer, calls = ask(surface, method, f"Lacking{target}", body, key=key)

        assert refused(answer) == (409, 102)
        assert "record_field" in answer.json()["message"]
        assert b"secret" not in answer.content
        assert calls[1] == 0
        assert sheet(surface, "Lacking").lines() == before


class ByDisplays(ForwardingSheets):
    """Planted bug: a row that displays the word of a boolean counts as filled down."""

    def __init__(self, inner: Sheets) -> None:
        self._inner = inner

    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        return await call(self._inner)

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        found = await super().read_columns(spreadsheet, range_, render=render, known=known)
        if found is None or render is Render.DISPLAYED:
            return found
        taken = [[False if cell == "FALSE" else cell for cell in each] for each in found.columns]
        return replace(found, columns=tuple(map(tuple, taken)))


def test_a_tail_decided_by_displays_alone_is_noticed(tmp_path: Path) -> None:
    """The test of texts fails if the gateway takes words for booleans."""
    with opened(tmp_path) as surface:
        surface.calls.inner = ByDisplays(surface.sheets)

        with pytest.raises(AssertionError):
            check_texts(surface)


@pytest.mark.parametrize(("grid_rows", "calls"), [(50, (1, 1)), (3_000, (4, 1))])
def test_created_rows_are_records(tmp_path: Path, grid_rows: int, calls: tuple[int, int]) -> None:
    """A row that is created on a sheet with a tail is listed, with the row that it has.

    If the end is not known in a large grid, both renderings are read, and then the end.
    """
    with opened(tmp_path) as surface:
        add_both(surface, TAILS["checkboxes"])
        sheet(surface, "Filled").rows = grid_rows

        created, spent = ask(surface, "POST", "Filled", {"task": "Sweep"})
        row = created.json()["rowIndex"]
        read, _ = ask(surface, "GET", f"Filled/{row}")
        listed, _ = ask(surface, "GET", "Filled?order=-rowIndex&limit=1")

        assert (created.status_code, spent) == (201, calls)
        assert read.json()["task"] == "Sweep"
        assert listed.json()["results"][0]["rowIndex"] == row


def test_worksheets_count_their_records(tmp_path: Path) -> None:
    """The list of worksheets has the same number of records as the lists."""
    with opened(tmp_path, KEPT) as surface:
        add_both(surface, TAILS["checkboxes"])
        ask(surface, "GET", "Filled")

        answer, _ = ask(surface, "GET", "/v2/sheets")

        rows = {each["name"]: each["rows"] for each in answer.json()["sheets"]}
        assert rows["Filled"] == len(RECORDS)


@pytest.mark.parametrize("query", ["", "&order=-cost"])
@pytest.mark.parametrize("changed", [{}, WINDOWS], ids=["whole", "windows"])
def test_cursors_end_with_the_last_record(
    tmp_path: Path, changed: Mapping[str, object], query: str
) -> None:
    """Cursors give each record once, and the last page has no cursor."""
    with opened(tmp_path, changed) as surface:
        add_both(surface, TAILS["checkboxes"])
        ask(surface, "GET", "Filled")
        cursor: str | None = ""
        rows: list[int] = []
        while cursor is not None:
            page, _ = ask(surface, "GET", f"Filled?limit=1{query}&cursor={cursor}")
            rows += [each["rowIndex"] for each in page.json()["results"]]
            cursor = page.json()["cursor"]

        assert sorted(rows) == [*range(2, LAST + 1)]


class SeenRows(ForwardingSheets):
    """Counts the rows that reads show. A read of more than `most` rows is too large."""

    def __init__(self, inner: Sheets, most: int = 10_000) -> None:
        self._inner = inner
        self._most = most
        self.rows = 0

    async def forward(self, spreadsheet: str, call: Call[T], *, kind: Kind) -> T:
        found = await call(self._inner)
        if isinstance(found, SheetView):
            rows = sum(len(block.texts) for block in found.blocks)
            self.rows += rows
            if rows > self._most:
                raise SheetTooLarge("large")
        return found


@pytest.mark.parametrize("is_listed", [False, True], ids=["cold", "listed"])
@pytest.mark.parametrize("tail", TAILS)
def test_first_rows_that_are_too_large(tmp_path: Path, tail: str, is_listed: bool) -> None:
    """If typed rows are too large, the displayed rows show the last record."""
    with opened(tmp_path) as surface:
        surface.reset()
        surface.sheets.add("Long", [FIELDS, *RECORDS, *[TAILS[tail]] * 1_500], rows=1_600)
        surface.calls.inner = SeenRows(surface.sheets, most=1_000)
        if is_listed:
            ask(surface, "GET", "Long")
        made = [ask(surface, "POST", "Long", {"task": f"Sweep {number}"}) for number in range(2)]

        assert [created.json()["rowIndex"] for created, _ in made] == [LAST + 1, LAST + 2]
        assert [calls for _, calls in made] == [(1 if is_listed else 5, 1), (1, 1)]


MANY = 3_000
"""Filled-down rows below the records."""
Typed = tuple[int, Sequence[Held | None]]


@dataclass(frozen=True, kw_only=True)
class LongTail:
    """Case of creates in a long worksheet: title, records, calls of each create, earlier edits.

    `edits` are rows that people type before the second create.
    """

    title: str = "Filled"
    tail: Sequence[Held | None] = (None, None, None, False)
    records: Rows = tuple(RECORDS)
    blank: int = 0
    """Number of blank rows between the records and the filled-down rows."""
    edits: Sequence[Typed] = ()
    calls: Sequence[tuple[int, int]]
    rows: Sequence[int] = (LAST + 1, LAST + 2, LAST + 3)


LONG_TAILS = {
    "checkboxes": LongTail(calls=[(4, 1), (1, 1), (1, 1)]),
    "record field": LongTail(
        title="Chosen", tail=CHOSEN_TAIL, calls=[(3, 1), (1, 1), (1, 1)]
    ),
    "no records": LongTail(
        title="Chosen", tail=CHOSEN_TAIL, records=[], calls=[(3, 1), (1, 1), (1, 1)],
        rows=[2, 3, 4],
    ),
    "record added by others": LongTail(
        edits=[(LAST + 3, ["Dust"])], calls=[(4, 1), (1, 1), (1, 1)],
        rows=[LAST + 1, LAST + 4, LAST + 5],
    ),
    "many records added by others": LongTail(
        edits=[(row, ["Dust"]) for row in range(LAST + 2, LAST + 90)],
        calls=[(4, 1), (5, 1), (1, 1)], rows=[LAST + 1, LAST + 90, LAST + 91],
    ),
    "filled down far below": LongTail(blank=100, calls=[(4, 1), (1, 1), (1, 1)]),
}  # fmt: skip


@pytest.mark.parametrize("case", LONG_TAILS.values(), ids=LONG_TAILS)
def test_a_create_looks_at_few_rows(tmp_path: Path, case: LongTail) -> None:
    """A create costs 1 read of a few rows and 1 write, however many rows are filled down."""
    with opened(tmp_path) as surface:
        surface.reset()
        lines = [FIELDS, *case.records, *[[]] * case.blank, *[case.tail] * MANY]
        surface.sheets.add(case.title, lines)
        surface.calls.inner = seen = SeenRows(surface.sheets)
        calls, rows = list[tuple[int, int]](), list[int]()
        for number in range(3):
            if number == 1:
                for row, cells in case.edits:
                    sheet(surface, case.title).type(row, *cells)
            if number == 2:
                seen.rows = 0
            created, spent = ask(surface, "POST", case.title, {"task": f"Sweep {number}"})
            calls.append(spent)
            rows.append(created.json()["rowIndex"])

        assert rows == [*case.rows]
        assert calls == [*case.calls]
        assert seen.rows < 80
        assert [len(sheet(surface, case.title).lines())] == [len(lines) + 3]
