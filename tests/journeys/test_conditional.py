"""Requests that depend on the state of a row: `ETag`, `If-Match`, `If-None-Match`."""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import refused

STRONG = r'"[A-Za-z0-9_-]{16}"'


def tag_of(api: Api, path: str, **options: Any) -> str:
    """The tag of what a path shows now."""
    answer = api.get(path, **options)
    assert answer.status_code == 200, answer.text
    tag: str = answer.headers["etag"]
    return tag


def update(api: Api, path: str, body: Mapping[str, Any], if_match: str) -> httpx2.Response:
    """An update of a row under a condition."""
    return api.send("PATCH", path, json=body, headers={"If-Match": if_match})


def type_before(api: Api, text: str, *, row: int, column: int, call: str = "*") -> None:
    """Let a person type into a cell of `Cities` just before the next such call; from 0."""
    cell = {"userEnteredValue": {"stringValue": text}}
    sheet = list(api.emulator.everything()).index("Cities")
    start = {"sheetId": sheet, "rowIndex": row, "columnIndex": column}
    edit = {"rows": [{"values": [cell]}], "fields": "userEnteredValue", "start": start}
    api.emulator.faults({"call": call, "edit": {"requests": [{"updateCells": edit}]}})


def test_a_row_has_a_strong_tag_whatever_is_shown_of_it(shared_api: Api) -> None:
    """The tag is of the row: reads of some fields, and with other credentials, have the same."""
    tags = [
        tag_of(shared_api, "Cities/2"),
        tag_of(shared_api, "Cities/2/"),
        tag_of(shared_api, "Cities/2", params={"keys": "name"}),
        tag_of(shared_api, "Cities/2", params={"keys": "rowIndex"}),
        tag_of(shared_api, "Cities/2", key="read-only"),
        shared_api.send("HEAD", "Cities/2").headers["etag"],
    ]

    assert re.fullmatch(STRONG, tags[0])
    assert set(tags) == {tags[0]}
    assert len({tag_of(shared_api, f"Cities/{row}") for row in range(2, 12)}) == 10


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
@pytest.mark.parametrize(
    "body",
    [{"population": 9000000}, {"name": "NYC", "population": None}, {"name": "New York"}],
    ids=["one field", "two fields", "nothing new"],
)
def test_an_update_answers_with_the_tag_of_the_row(
    api: Api, method: str, body: dict[str, Any]
) -> None:
    """The answer of an update shows the row as of the write, formulas included."""
    updated = api.send("PATCH", "Formulas/2", json={"a": 5})
    tag = tag_of(api, "Formulas/2")

    assert updated.headers["etag"] == tag
    assert update(api, "Formulas/2", {"note": "y"}, tag).status_code == 200
    assert api.emulator.cell("Formulas", 2, 3)["formula"] == "=A2+B2"


@pytest.mark.parametrize("worksheet", ["Cities", "HeaderOnly", "BlankHeader", "BlankFirst"])
def test_a_create_answers_with_the_tag_of_the_row(api: Api, worksheet: str) -> None:
    """A conditional update after a create needs no read in between."""
    created = api.post(worksheet, json={"name": "x"})

    assert created.status_code == 201
    assert created.headers["etag"] == tag_of(api, created.headers["location"])


def test_an_update_whose_condition_holds_is_written(api: Api) -> None:
    """The tag of a read, alone, in a list or in a second header, lets the update through."""
    first = update(api, "Cities/2", {"name": "a"}, tag_of(api, "Cities/2"))
    second = update(api, "Cities/2", {"name": "b"}, f'"x,y", {tag_of(api, "Cities/2")}')
    third = update(api, "Cities/2", {"name": "c"}, "*")

    assert [answer.status_code for answer in (first, second, third)] == [200, 200, 200]
    assert [answer.json()["name"] for answer in (first, second, third)] == ["a", "b", "c"]
    assert api.emulator.cell("Cities", 2, 1)["text"] == "c"


def test_a_row_that_has_changed_is_left_alone(api: Api) -> None:
    """412 shows the row as it is, and its tag, with which the update can be sent again."""
    seen = tag_of(api, "Cities/2")
    assert api.send("PATCH", "Cities/2", json={"name": "NYC", "country": None}).status_code == 200
    writes = api.emulator.calls()[1]

    failed = update(api, "Cities/2", {"population": 1}, seen)

    assert refused(failed) == (412, 4120)
    assert failed.json()["existing"] == {
        "rowIndex": 2,
        "name": "NYC",
        "state": "New York",
        "country": None,
        "population": "8804190",
    }
    assert failed.json()["outcome"] == "not_applied"
    assert failed.headers["etag"] == tag_of(api, "Cities/2")
    assert api.emulator.calls()[1] == writes
    assert api.emulator.cell("Cities", 2, 4)["text"] == "8804190"
    assert update(api, "Cities/2", {"population": 1}, failed.headers["etag"]).status_code == 200


def test_what_a_person_typed_while_the_quota_was_waited_for_is_noticed(
    open_gateway: OpenGateway,
) -> None:
    """Nothing waits between the look that `If-Match` compares and its write."""
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
def test_what_a_person_typed_meanwhile_is_noticed(
    api: Api, row: int, column: int, is_changed: bool
) -> None:
    """The condition is held against the sheet itself, right before the write."""
    tag = tag_of(api, "Cities/2")
    type_before(api, "by hand", row=row, column=column, call="spreadsheets.get")

    answer = update(api, "Cities/2", {"population": 1}, tag)

    assert answer.status_code == (412 if is_changed else 200)
    assert api.emulator.cell("Cities", row + 1, column + 1)["text"] == "by hand"
    assert (api.emulator.cell("Cities", 2, 4)["text"] == "1") is not is_changed


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("Cities/99", {"name": "x"}, 404, 103),
        ("Cities/1", {"name": "x"}, 404, 103),
        ("Nowhere/2", {"name": "x"}, 404, 105),
        ("Cities/2", {"name": []}, 400, 104),
    ],
    ids=["row", "header", "worksheet", "body"],
)
@pytest.mark.parametrize("if_match", ["*", '"x"'])
def test_other_errors_come_first(
    shared_api: Api, path: str, body: dict[str, Any], status: int, code: int, if_match: str
) -> None:
    """A condition matters only for a request that would succeed without it."""
    assert refused(update(shared_api, path, body, if_match)) == (status, code)


def test_of_updates_under_one_tag_one_is_written(api: Api) -> None:
    """Clients that saw the same row cannot undo each other's updates."""
    tag = tag_of(api, "Cities/2")

    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda n: update(api, "Cities/2", {"population": n}, tag), range(1, 9))
        )

    written = [answer for answer in answers if answer.status_code == 200]
    assert len(written) == 1
    assert {refused(answer) for answer in answers if answer not in written} == {(412, 4120)}
    assert api.emulator.cell("Cities", 2, 4)["text"] == written[0].json()["population"]


def test_no_increment_is_lost(api: Api) -> None:
    """Readers who write back what they counted, and start over on 412, count right."""

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
    """Updates without the tag of the row are refused before anything else is looked at.

    Creates are not.
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


@pytest.mark.parametrize("path", ["Cities/2", "Cities", "Cities?where=%7B%22name%22%3A%22x%22%7D"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_a_client_has_is_not_sent_again(shared_api: Api, method: str, path: str) -> None:
    """`If-None-Match` with the tag of the answer, weak or strong, gives 304 without a body."""
    tag = tag_of(shared_api, path)
    known = [tag, f'"x", {tag}', f"W/{tag.removeprefix('W/')}", "*"]

    answers = [shared_api.send(method, path, headers={"If-None-Match": value}) for value in known]

    for answer in answers:
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == tag
        assert answer.headers["cache-control"] == "private, no-cache"
        assert "content-type" not in answer.headers
        assert answer.headers["x-request-id"]


@pytest.mark.parametrize("value", ['"x"', "", "null", 'W/"x", "y"'])
def test_what_a_client_does_not_have_is_sent(shared_api: Api, value: str) -> None:
    """Other tags and malformed ones get the whole answer."""
    for path in ("Cities/2", "Cities"):
        answer = shared_api.get(path, headers={"If-None-Match": value})

        assert answer.status_code == 200
        assert answer.json() == shared_api.get(path).json()


def test_a_condition_of_a_read_changes_no_error(shared_api: Api) -> None:
    """There is no 304 for what is not there."""
    answers = [
        shared_api.get(path, headers={"If-None-Match": "*"}) for path in ("Cities/99", "Nowhere")
    ]

    assert [refused(answer) for answer in answers] == [(404, 103), (404, 105)]


def test_a_list_has_a_weak_tag_of_what_it_shows(api: Api) -> None:
    """It changes with the rows of the page alone, and fulfils no condition of an update."""
    first, second = (tag_of(api, f"Cities?limit=2&skip={skip}") for skip in (0, 2))

    assert re.fullmatch(f"W/{STRONG}", first)
    assert first != second
    assert refused(update(api, "Cities/2", {"name": "x"}, first)) == (412, 4120)
    assert api.send("PUT", "Cities/2", json={"name": "x"}).status_code == 200
    assert tag_of(api, "Cities?limit=2&skip=0") != first
    assert tag_of(api, "Cities?limit=2&skip=2") == second
