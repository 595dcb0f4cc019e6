"""Number formats of created rows: copied from the row above where the new cells have none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from tests.journeys.books import running_books
from tests.journeys.conftest import Api, EmulatorControl, KeysOnDisk, OpenGateway
from tests.journeys.test_native_tables import (
    KEPT,
    Request,
    area,
    edit,
    formatted,
    put,
    spent,
    table,
)

DAY, PRICE, SHARE = ("DATE", "yyyy-mm-dd"), ("CURRENCY", "$0.00"), ("PERCENT", "0%")


@pytest.fixture(scope="module")
def books(emulator: EmulatorControl, access: KeysOnDisk) -> Iterator[OpenGateway]:
    with running_books(emulator, access, rows=300, columns=6) as open_book:
        yield open_book


@pytest.fixture
def start(emulator: EmulatorControl, books: OpenGateway) -> Iterator[OpenGateway]:
    yield books
    emulator.check()


def column(at: int, first_row: int, last_row: int, form: tuple[str, str]) -> Request:
    """The request that formats cells of a column. Rows count from 1."""
    return formatted(area(first_row - 1, at, last_row, at + 1), *form)


HEADER = ["item", "day", "price", "share"]
SEEN = [HEADER, ["nail", "46054", "5", "0.5"], ["bolt", "46055", "6.5", "0.05"]]
LAST_ROW = [column(1, 2, 3, DAY), column(2, 2, 3, PRICE), column(3, 2, 3, SHARE)]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A worksheet with formats, the rows sent, and the texts that the new rows display."""

    lines: Sequence[Sequence[str]] = field(default_factory=lambda: SEEN)
    formats: Sequence[Request] = field(default_factory=lambda: LAST_ROW)
    sent: object = field(default_factory=lambda: {"item": "nut", "day": 46056, "price": 7})
    shown: Sequence[Sequence[str]] = field(default_factory=lambda: [["nut", "2026-02-03", "$7.00"]])
    query: str = ""
    writes: int = 1


CASES: Mapping[str, Case] = {
    "the row above": Case(),
    "no formats": Case(formats=[], shown=[["nut", "46056", "7"]]),
    "the last row only": Case(
        formats=[column(1, 2, 2, DAY), column(2, 3, 3, PRICE)], shown=[["nut", "46056", "$7.00"]]
    ),
    "a cell with a format of its own": Case(
        formats=[*LAST_ROW, column(2, 4, 4, ("NUMBER", "0.000"))],
        shown=[["nut", "2026-02-03", "7.000"]],
    ),
    "a column formatted in advance": Case(
        formats=[*LAST_ROW, column(2, 4, 300, ("NUMBER", "0.000"))],
        sent=[{"item": "nut", "price": 7}, {"day": 46056, "price": 8}],
        shown=[["nut", "", "7.000"], ["", "2026-02-03", "8.000"]],
    ),
    "all columns formatted in advance": Case(
        formats=[column(1, 2, 300, DAY), column(2, 2, 300, PRICE)]
    ),
    "a header only": Case(lines=[HEADER], formats=[], shown=[["nut", "46056", "7"]]),
    "texts": Case(
        sent={"item": "nut", "day": "2026-02-03", "price": "7"}, shown=[["nut", "2026-02-03", "7"]]
    ),
    "several rows": Case(
        sent=[{"day": 46056}, {"price": 7}, {"share": 0.25}],
        shown=[["", "2026-02-03"], ["", "", "$7.00"], ["", "", "", "25%"]],
    ),
    "an upsert": Case(
        query="?on_conflict=item",
        sent=[{"item": "nail", "price": 8}, {"item": "nut", "day": 46056, "price": 7}],
    ),
    "typed": Case(query="?values=typed", sent={"item": "nut", "day": "2026-02-03", "price": 7}),
    "typed, in a column of another kind": Case(
        query="?values=typed", sent={"item": "2026-02-03", "day": 46056, "price": 7},
        shown=[["2026-02-03", "2026-02-03", "$7.00"]],
    ),
    "more rows than a look": Case(
        lines=[HEADER, *(["nail", "46054", "5", "0.5"] for _ in range(120))],
        formats=[column(1, 2, 121, DAY), column(2, 2, 121, PRICE)],
    ),
    "a full table": Case(formats=[*LAST_ROW, table(area(0, 0, 3, 4))]),
    "a table with blank rows": Case(formats=[*LAST_ROW, table(area(0, 0, 9, 4))]),
    "a table with a totals row": Case(
        lines=[*SEEN, ["Total", "", "11.5"]],
        formats=[*LAST_ROW, column(2, 4, 4, SHARE), table(area(0, 0, 4, 4), totals=True)],
    ),
}  # fmt: skip


def opened(start: OpenGateway, case: Case) -> Api:
    api = start(KEPT)
    edit(api, put(case.lines), *case.formats)
    return api


@pytest.mark.parametrize("seen", ["nothing", "rows", "a create"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_created_row_shows_the_formats_of_the_row_above(
    start: OpenGateway, case: Case, seen: str
) -> None:
    """A created row shows the formats of the row above, without additional calls."""
    api = opened(start, case)
    if seen == "rows":
        api.get("S")
    if seen == "a create":
        api.post("S", json={"item": "first"})
    before = api.emulator.calls()

    answer = api.post(f"S{case.query}", json=case.sent)

    calls = spent(api, before)
    rows = [each["rowIndex"] for each in answer.json().get("results", [answer.json()])]
    texts = api.emulator.texts("S")
    new = rows[-len(case.shown) :]
    assert [texts[row - 1] for row in new] == [[*each] for each in case.shown]
    if "on_conflict" not in case.query:
        assert calls == (0 if seen == "a create" else 1, 1)


def test_a_blank_cell_of_a_created_row_has_the_format(start: OpenGateway) -> None:
    """A later update of a blank cell of a created row shows the format of the cells above."""
    api = opened(start, CASES["the row above"])
    api.post("S", json={"item": "nut"})
    answer = api.send("PATCH", "S/4", json={"day": 46056, "price": 7})

    assert answer.json() == {"rowIndex": 4, "day": "2026-02-03", "price": "$7.00"}
    assert api.emulator.texts("S")[3] == ["nut", "2026-02-03", "$7.00"]


def test_creates_use_the_formats_of_the_last_row(start: OpenGateway) -> None:
    """A create copies the formats that the answer to the previous create showed."""
    api = opened(start, CASES["the row above"])
    for _ in range(2):
        api.post("S", json={"price": 1})
    edit(api, column(2, 2, 300, SHARE))
    for _ in range(2):
        api.post("S", json={"price": 1})

    assert [line[2] for line in api.emulator.texts("S")[3:]] == ["100%", "100%", "$1.00", "100%"]


def test_unknown_formats_are_not_sent(start: OpenGateway) -> None:
    """A create after an update does not read formats, and its cells keep the sheet's formats."""
    api = opened(start, CASES["the row above"])
    api.get("S")
    api.send("PATCH", "S/2", json={"item": "screw"})
    before = api.emulator.calls()
    api.post("S", json={"price": 7})

    assert spent(api, before) == (0, 1)
    assert api.emulator.texts("S")[3] == ["", "", "7"]


def test_a_totals_row_keeps_its_formats(start: OpenGateway) -> None:
    """A totals row that moves down for a new row keeps its number formats."""
    api = opened(start, CASES["a table with a totals row"])
    api.post("S", json={"price": 7})

    assert api.emulator.texts("S")[3:] == [["", "", "$7.00"], ["Total", "", "1150%"]]
