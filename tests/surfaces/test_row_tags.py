"""Row tags of keys that see some columns: a condition holds for one record in one row."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from gateway.table.header import ColumnGrant, row_tag
from tests.asgi_client import Answer
from tests.fakes import FakeWorksheet
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, Surface, open_surface

KEYS: Mapping[str, KeyRequest] = {
    "whole": KeyRequest(
        name="whole", plan="staff", grants=Grants(spreadsheets=GRANTED, may_delete=True)
    ),
    "clerk": KeyRequest(
        name="clerk",
        plan="staff",
        grants=Grants(
            spreadsheets=GRANTED, may_delete=True, columns=ColumnGrant(frozenset({"name", "state"}))
        ),
    ),
}
STAFF: Mapping[str, object] = {
    "plans.staff.deletes": True,
    "plans.staff.requests_per_minute": 0,
    "access.pepper": "pepper of the row tags",
}
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "read each time": STAFF,
    "clearing": {**STAFF, "writes.delete": "clear"},
    "kept": {**STAFF, "cache.rows_ttl_seconds": 600, "cache.header_ttl_seconds": 600},
    "windows": {**STAFF, "cache.window_above_cells": 1},
    "another pepper": {**STAFF, "access.pepper": "another pepper of row tags"},
}
HEADER = ["name", "secret", "", "state", "note"]
ANN, OTHER_ANN, BOB, CID = (
    ["Ann", "hidden 1", "", "open"],
    ["Ann", "hidden 2", "", "open"],
    ["Bob", "", "below a blank header", "", "", "past the header"],
    ["Cid"],
)
WRITES = {
    "PATCH": b'{"state":"done"}',
    "PUT": b'{"state":"done"}',
    "POST": b'{"state":"done"}',
    "DELETE": b"",
}


@pytest.fixture
def surface(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Surface]:
    """Open an application that has read the worksheet `Staff`."""
    with staffed(tmp_path, getattr(request, "param", "read each time")) as opened:
        yield opened


@contextmanager
def staffed(folder: Path, settings: str) -> Iterator[Surface]:
    with open_surface(folder, KEYS, SETTINGS[settings]) as surface:
        surface.sheets.add("Staff", [HEADER, ANN, OTHER_ANN, BOB, CID])
        get(surface, "Staff")
        yield surface


def staff(surface: Surface) -> FakeWorksheet:
    return next(each for each in surface.sheets.worksheets if each.title == "Staff")


def get(surface: Surface, target: str, key: str = "clerk") -> Answer:
    answer = surface.send("GET", target, key=key)
    assert answer.status_code == 200
    return answer


def tag_of(surface: Surface, row: int, key: str = "clerk") -> str:
    return get(surface, f"Staff/{row}", key).headers["etag"]


def write(
    surface: Surface, method: str, row: int, tag: str, key: str = "clerk", **options: Any
) -> Answer:
    headers = [("If-Match", tag), ("Content-Type", "application/json")]
    return surface.send(
        method, f"Staff/{row}", key=key, headers=headers, body=WRITES[method], **options
    )


@pytest.mark.parametrize("surface", ["read each time", "clearing"], indirect=True)
@pytest.mark.parametrize("method", WRITES)
def test_another_record_that_looks_alike_is_left_alone(surface: Surface, method: str) -> None:
    """After a sort of rows that look equal to the key, the condition does not hold."""
    tag = tag_of(surface, 2)
    staff(surface).type(2, *OTHER_ANN)
    staff(surface).type(3, *ANN)
    before = surface.cells()

    failed = write(surface, method, 2, tag)

    assert refused(failed) == (412, 4120)
    assert failed.json()["existing"] == {"rowIndex": 2, "name": "Ann", "state": "open"}
    assert b"hidden" not in failed.content
    assert (surface.cells(), surface.calls.writes) == (before, 0)
    assert failed.headers["etag"] == tag_of(surface, 2) != tag
    assert write(surface, method, 2, failed.headers["etag"]).status_code in (200, 204)


@pytest.mark.parametrize("method", WRITES)
def test_a_row_that_moved_is_left_alone(surface: Surface, method: str) -> None:
    """The ETag of a key that sees some columns includes the row number."""
    tag = tag_of(surface, 3)
    staff(surface).delete_rows(2)
    failed = write(surface, method, 2, tag)

    assert refused(failed) == (412, 4120)
    assert surface.calls.writes == 0
    assert staff(surface).lines()[1] == OTHER_ANN


def test_a_key_that_sees_everything_has_the_tag_of_the_record(surface: Surface) -> None:
    """Its ETag moves with the record, and equal rows have equal ETags."""
    tag = tag_of(surface, 3, "whole")
    staff(surface).delete_rows(2)
    moved = tag_of(surface, 2, "whole")
    staff(surface).type(3, *OTHER_ANN, "", "")

    assert tag == moved == tag_of(surface, 3, "whole") == row_tag(HEADER, OTHER_ANN)
    assert tag_of(surface, 2) != tag_of(surface, 3)
    assert write(surface, "PATCH", 2, tag, "whole").status_code == 200


@pytest.mark.parametrize("row", [1, 4], ids=["header", "row"])
def test_a_change_of_what_is_hidden_changes_the_tag(surface: Surface, row: int) -> None:
    """A changed hidden header or cell changes the ETag for `If-None-Match` and `If-Match`."""
    tag, seen = tag_of(surface, 4), get(surface, "Staff/4").content
    known = [("If-None-Match", tag)]
    same = surface.send("GET", "Staff/4", key="clerk", headers=known)
    staff(surface).type(row, None, "changed")
    changed = surface.send("GET", "Staff/4", key="clerk", headers=known)

    assert (same.status_code, changed.status_code) == (304, 200)
    assert changed.content == seen
    assert refused(write(surface, "PATCH", 4, tag)) == (412, 4120)


@pytest.mark.parametrize("surface", SETTINGS, indirect=True)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("row", [2, 4, 5])
def test_all_answers_about_a_row_have_one_tag(surface: Surface, key: str, row: int) -> None:
    """The ETag of any answer is valid for the next condition."""
    json_lines = [("Content-Type", "application/json")]
    failed = write(surface, "PATCH", row, '"old"', key)
    read = [tag_of(surface, row, key), get(surface, f"Staff/{row}?keys=name", key).headers["etag"]]
    updated = write(surface, "PATCH", row, read[0], key)
    read_again = tag_of(surface, row, key)
    unchanged = write(surface, "PATCH", row, updated.headers["etag"], key)
    created = surface.send(
        "POST", "Staff", key=key, headers=json_lines, body=b'{"name":"Dee","state":null}'
    )
    read_new = tag_of(surface, 6, key)
    conditional = write(surface, "PATCH", 6, created.headers["etag"], key)

    assert refused(failed) == (412, 4120)
    assert {failed.headers["etag"]} == {*read}
    assert updated.status_code == unchanged.status_code == 200
    assert read[0] != updated.headers["etag"] == read_again == unchanged.headers["etag"]
    assert created.headers["location"].endswith("/6")
    assert created.headers["etag"] == read_new
    assert conditional.status_code == 200


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    ("method", "target"), [("POST", "Staff"), ("PATCH", "Staff/2")], ids=["create", "update"]
)
def test_a_repeated_write_has_the_tag_of_its_row(
    surface: Surface, key: str, method: str, target: str
) -> None:
    """The answer to a repeated request has an ETag for the next condition, too."""
    lines = [("Content-Type", "application/json"), ("Idempotency-Key", "k")]
    body = b'{"name":"Dee","state":"done"}'
    first, again = (
        surface.send(method, target, key=key, headers=lines, body=body) for _ in range(2)
    )
    row = first.json()["rowIndex"]

    assert again.headers["idempotent-replayed"] == "true"
    assert first.headers["etag"] == again.headers["etag"] == tag_of(surface, row, key)


def test_tags_depend_on_the_pepper_alone(tmp_path: Path) -> None:
    """Gateways with the same pepper make the same ETags.

    A key that sees all columns needs no pepper.
    """
    tags: dict[str, dict[str, tuple[str, ...]]] = {key: {} for key in KEYS}
    for number, settings in enumerate(SETTINGS):
        folder = tmp_path / str(number)
        folder.mkdir()
        with staffed(folder, settings) as surface:
            for key in KEYS:
                tags[key][settings] = tuple(tag_of(surface, row, key) for row in range(2, 6))
    other = tags["clerk"].pop("another pepper")

    assert len({*tags["whole"].values()}) == 1
    assert len({*tags["clerk"].values()}) == 1
    assert set(other).isdisjoint(set().union(*tags["clerk"].values(), *tags["whole"].values()))


def test_a_list_has_a_tag_over_what_is_seen(surface: Surface) -> None:
    """A change of hidden cells does not change the ETag of a list."""
    tag = get(surface, "Staff").headers["etag"]
    staff(surface).type(2, *OTHER_ANN)
    same = get(surface, "Staff").headers["etag"]
    staff(surface).type(2, "Amy")

    assert tag == same != get(surface, "Staff").headers["etag"]
    assert tag.startswith("W/")


@pytest.mark.parametrize(
    ("other", "status"), [(ANN, 304), (OTHER_ANN, 200)], ids=["equal", "different"]
)
def test_a_key_that_deletes_can_compare_hidden_cells(
    surface: Surface, other: list[str], status: int
) -> None:
    """The documentation says so: equal ETags of one row number mean equal hidden cells."""
    staff(surface).type(3, *other)
    known = [("If-None-Match", tag_of(surface, 2))]
    assert surface.send("DELETE", "Staff/2", key="clerk").status_code == 204

    assert surface.send("GET", "Staff/2", key="clerk", headers=known).status_code == status


def test_a_row_with_hidden_cells_only_is_a_record(surface: Surface) -> None:
    """It is listed and counted without a value, and the rows between are records, too."""
    assert get(surface, "Staff?count=true&limit=0").json()["total"] == 4
    staff(surface).type(7, None, "hidden 3")

    page = get(surface, "Staff?count=true&skip=4")

    empty = {"name": None, "state": None}
    assert page.json()["results"] == [{"rowIndex": row, **empty} for row in (6, 7)]
    assert page.json()["total"] == 6
    assert b"hidden" not in page.content


def test_a_second_reading_of_a_name_has_the_tag_of_the_worksheet(surface: Surface) -> None:
    """The ETag depends on the worksheet, not on the spelling in the path."""
    first = get(surface, "A%252FB/2")
    second = get(surface, "A%2FB/2")

    assert first.headers["etag"] == second.headers["etag"]
    assert first.json() == {"rowIndex": 2, "name": "slash"}
