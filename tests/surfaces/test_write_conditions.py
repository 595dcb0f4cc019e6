"""Conditional headers of writes: those that are not evaluated are refused, not ignored."""

from collections.abc import Iterator, Mapping

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from tests.surfaces.stage import GRANTED, Surface, open_surface

DATE = "Wed, 25 Nov 2026 22:00:00 GMT"
WHERE = 'where={"name":"Chicago"}'
CREATES: Mapping[str, tuple[str, str, bytes]] = {
    "create": ("POST", "Cities", b'{"name":"x"}'),
    "create of a list": ("POST", "Cities", b'[{"name":"x"}]'),
}
ON_ROWS: Mapping[str, tuple[str, str, bytes]] = {
    "put": ("PUT", "Cities/2", b'{"name":"x"}'),
    "patch": ("PATCH", "Cities/2", b'{"name":"x"}'),
    "post": ("POST", "Cities/2", b'{"name":"x"}'),
    "delete": ("DELETE", "Cities/2", b""),
}
ON_SEVERAL: Mapping[str, tuple[str, str, bytes]] = {
    "update of a list": ("PATCH", "Cities", b'[{"rowIndex":2,"name":"x"}]'),
    "update by filter": ("PATCH", f"Cities?{WHERE}", b'{"name":"x"}'),
    "delete by filter": ("DELETE", f"Cities?{WHERE}", b""),
}
UPSERT: Mapping[str, tuple[str, str, bytes]] = {
    "upsert": ("POST", "Cities?on_conflict=name", b'{"name":"x"}'),
}
EVERY = {**CREATES, **ON_ROWS, **ON_SEVERAL, **UPSERT}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """Open the application with a key that can delete."""
    key = KeyRequest(
        name="staff", plan="staff", grants=Grants(spreadsheets=GRANTED, may_delete=True)
    )
    plans = {"plans.staff.deletes": True, "plans.staff.requests_per_minute": 0}
    with open_surface(tmp_path_factory.mktemp("conditions"), {"staff": key}, plans) as surface:
        yield surface


@pytest.mark.parametrize(
    ("name", "value"),
    [("If-None-Match", "*"), ("If-None-Match", '"a"'), ("If-Unmodified-Since", DATE)],
)
@pytest.mark.parametrize("write", EVERY)
def test_conditions_that_no_write_evaluates(
    surface: Surface, write: str, name: str, value: str
) -> None:
    """Conditional headers that writes do not support are rejected."""
    method, target, body = EVERY[write]

    found, answer = surface.refused(method, target, key="staff", headers=[(name, value)], body=body)

    assert found == (400, 4000)
    assert answer.json()["message"].startswith(f"{name} is not supported on writes")


@pytest.mark.parametrize("value", ["*", '"a"', 'W/"a"', ""])
@pytest.mark.parametrize("write", CREATES)
def test_a_create_has_no_row_that_could_match(surface: Surface, write: str, value: str) -> None:
    """`If-Match` on a create is rejected."""
    method, target, body = CREATES[write]

    found, answer = surface.refused(
        method, target, key="staff", headers=[("If-Match", value)], body=body
    )

    assert found == (400, 4000)
    assert "a new row has no ETag" in answer.json()["message"]


@pytest.mark.parametrize("value", ["*", '"a"'])
def test_an_upsert_may_create_rows_that_match_nothing(surface: Surface, value: str) -> None:
    """`If-Match` on an upsert is rejected, `*` too."""
    method, target, body = UPSERT["upsert"]

    found, answer = surface.refused(
        method, target, key="staff", headers=[("If-Match", value)], body=body
    )

    assert found == (400, 4000)
    assert "If-Match is the ETag of one row" in answer.json()["message"]


@pytest.mark.parametrize("write", [*ON_ROWS, *ON_SEVERAL])
def test_any_state_of_existing_rows(surface: Surface, write: str) -> None:
    """Every row meets `*`. A date in another header is then ignored (RFC 9110, 13.1.4)."""
    method, target, body = EVERY[write]
    headers = [("If-Match", "*"), ("If-Unmodified-Since", DATE)]

    answer = surface.send(method, target, key="staff", headers=headers, body=body)

    assert answer.status_code in (200, 204)
    assert surface.calls.writes == 1


@pytest.mark.parametrize("write", EVERY)
def test_a_date_of_reads_is_ignored_by_writes(surface: Surface, write: str) -> None:
    """Writes ignore `If-Modified-Since`, a condition of reads only (RFC 9110, 13.1.3)."""
    method, target, body = EVERY[write]

    answer = surface.send(
        method, target, key="staff", headers=[("If-Modified-Since", DATE)], body=body
    )

    assert answer.status_code in (200, 201, 204)
    assert surface.calls.writes == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        *(
            (value, "is not a list of ETags in quotes")
            for value in ("{}", "'{}'", '*, "{}"', "", '"{}"x', '"{}", x', "null")
        ),
        *((value, "does not have the ETag of the current row") for value in ('"{}x"', '"*"', '""')),
        ('W/"{}"', "or all of them are weak (W/)"),
        ('"x", W/"{}"', "does not have the ETag of the current row"),
    ],
)
@pytest.mark.parametrize(("method", "body"), [("PATCH", b'{"name":"x"}'), ("DELETE", b"")])
def test_tag_that_is_not_quoted(
    surface: Surface, method: str, body: bytes, value: str, said: str
) -> None:
    """An ETag without quotes gets an error that says so, and the row is not changed."""
    tag = surface.send("GET", "Cities/2", key="staff").headers["etag"].strip('"')
    headers = [("If-Match", value.format(tag))]

    code, answer = surface.refused(
        method, "Cities/2", key="staff", headers=headers, body=body, reads=2
    )

    assert code == (412, 4120)
    assert said in answer.json()["message"]
    assert answer.headers["etag"] == f'"{tag}"'
