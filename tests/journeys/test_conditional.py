"""Requests that depend on the state of a row: `ETag`, `If-Match`, `If-None-Match`."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import refused


def tag_of(api: Api, path: str, **options: Any) -> str:
    """The ETag of the answer to a GET of this path."""
    answer = api.get(path, **options)
    assert answer.status_code == 200, answer.text
    tag: str = answer.headers["etag"]
    return tag


def update(api: Api, path: str, body: Mapping[str, Any], if_match: str) -> httpx2.Response:
    """Update a row with `If-Match`."""
    return api.send("PATCH", path, json=body, headers={"If-Match": if_match})


def type_before(api: Api, text: str, *, row: int, column: int, call: str = "*") -> None:
    """Let a person write a cell of `Cities` just before the next such call. Positions
    count from 0.
    """
    cell = {"userEnteredValue": {"stringValue": text}}
    sheet = list(api.emulator.everything()).index("Cities")
    start = {"sheetId": sheet, "rowIndex": row, "columnIndex": column}
    edit = {"rows": [{"values": [cell]}], "fields": "userEnteredValue", "start": start}
    api.emulator.faults({"call": call, "edit": {"requests": [{"updateCells": edit}]}})


def test_an_edit_during_the_wait_for_quota_is_noticed(
    open_gateway: OpenGateway,
) -> None:
    """The gateway waits for quota before the read that `If-Match` compares, not after it."""
    api = open_gateway({"google.writes_per_minute": 18, "google.max_waiting_seconds": 10})
    tag = tag_of(api, "Cities/2")
    for _ in range(2):  # the burst of 18 a minute
        assert api.post("New", json={"name": "x"}).status_code == 201
    with ThreadPoolExecutor(1) as pool:
        answering = pool.submit(update, api, "Cities/2", {"state": "ours"}, tag)
        was_answered = bool(wait([answering], timeout=1.5).done)
        type_before(api, "theirs", row=1, column=1, call="values.get")
        api.get("New")
        answer = answering.result()

    assert not was_answered
    assert refused(answer) == (412, 4120)
    assert api.emulator.texts("Cities")[1][1] == "theirs"


@pytest.mark.parametrize(
    ("row", "column", "is_changed"),
    [
        pytest.param(1, 3, True, id="the field to write"),
        pytest.param(1, 0, True, id="another field"),
        pytest.param(0, 1, True, id="the header"),
        pytest.param(2, 3, False, id="another row"),
    ],
)
def test_an_edit_just_before_the_write_is_noticed(
    api: Api, row: int, column: int, is_changed: bool
) -> None:
    """`If-Match` fails if a person edited the row or header just before the write."""
    tag = tag_of(api, "Cities/2")
    type_before(api, "by hand", row=row, column=column, call="spreadsheets.get")

    answer = update(api, "Cities/2", {"population": 1}, tag)

    assert answer.status_code == (412 if is_changed else 200)
    assert api.emulator.cell("Cities", row + 1, column + 1)["text"] == "by hand"
    assert (api.emulator.cell("Cities", 2, 4)["text"] == "1") is not is_changed


def test_one_of_several_updates_with_one_etag_is_written(api: Api) -> None:
    """Of eight concurrent updates with one ETag, one is written and seven get 412."""
    tag = tag_of(api, "Cities/2")

    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda n: update(api, "Cities/2", {"population": n}, tag), range(1, 9))
        )

    written = [answer for answer in answers if answer.status_code == 200]
    assert len(written) == 1
    assert {refused(answer) for answer in answers if answer not in written} == {(412, 4120)}
    assert api.emulator.cell("Cities", 2, 4)["text"] == written[0].json()["population"]


def test_no_concurrent_increment_is_lost(api: Api) -> None:
    """Clients that increment with `If-Match` and retry on 412 lose no increment."""

    def increment(_: int) -> None:
        row = api.get("HeaderOnly/2")
        while True:
            body = {"amount": int(row.json()["amount"]) + 1}
            answer = update(api, "HeaderOnly/2", body, row.headers["etag"])
            if answer.status_code == 200:
                return
            assert refused(answer) == (412, 4120)
            row = api.get("HeaderOnly/2")

    api.post("HeaderOnly", json={"name": "count", "amount": 0})
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(increment, range(12)))

    assert api.emulator.texts("HeaderOnly")[1] == ["count", "12"]


def test_a_plan_may_require_a_condition(open_gateway: OpenGateway) -> None:
    """With `require_if_match`, an update without an ETag gets 428 and costs no call.

    Creates need no ETag.
    """
    api = open_gateway({"plans.paid.require_if_match": True})

    missing = [
        api.send(method, "Cities/2", json={"name": "x"}, headers=headers)
        for method in ("POST", "PUT", "PATCH")
        for headers in ({}, {"If-Match": "*"})
    ]
    calls = api.emulator.stats()["calls"]
    tag = tag_of(api, "Cities/2")
    given = [update(api, "Cities/2", {"name": "x"}, tag) for tag in (tag, '"x"')]
    created = api.post("Cities", json={"name": "x"})
    other_plan = api.send("PUT", "Cities/2", json={"name": "y"}, key="free")

    assert [refused(answer) for answer in missing] == [(428, 4280)] * 6
    assert "If-Match" in missing[0].json()["message"]
    assert calls == {}
    assert [answer.status_code for answer in given] == [200, 412]
    assert (created.status_code, other_plan.status_code) == (201, 200)
