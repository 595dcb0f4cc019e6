"""Misspelt names of parameters: each operation refuses them, so that no bound is ignored."""

import re
from collections.abc import Iterator

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from tests.surfaces.stage import GRANTED, KEYS, Surface, open_surface

MATCHING = 'where={"country":"USA"}'


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """Open the application with a key that can delete."""
    deleter = KeyRequest(
        name="deleter", plan="paid", grants=Grants(spreadsheets=GRANTED, may_delete=True)
    )
    keys, settings = {**KEYS, "deleter": deleter}, {"plans.paid.deletes": True}
    with open_surface(tmp_path_factory.mktemp("misspelt"), keys, settings) as surface:
        yield surface


@pytest.mark.parametrize(
    ("target", "right"),
    [
        *(("Cities?LIMIT=1", "limit"), ("Cities?Where={", "where"), ("Cities?_order=a", "order")),
        *(("Cities/2?Keys=name", "keys"), ("Cities?apikey=x", "apiKey")),
        *(("Cities?Where%3D%7B%7D", "where"), ("/openapi.json?spreadsheet_id=x", "spreadsheetId")),
    ],
)
@pytest.mark.parametrize("is_cached", [False, True], ids=["cold", "warm"])
def test_misspelt_parameter(surface: Surface, target: str, right: str, is_cached: bool) -> None:
    """A read rejects and names a misspelt parameter without a call, even if it is cached."""
    if is_cached:
        surface.send("GET", "Cities")

    code, answer = surface.refused("GET", target)

    assert code == (400, 4002)
    assert f"send {right} instead" in answer.json()["message"]


def test_misspelt_key_of_the_description(surface: Surface) -> None:
    """A misspelt key parameter of the description is an error."""
    code, answer = surface.refused("GET", "/openapi.json?api-key=x", key=None, spreadsheet=None)

    assert code == (400, 4002)
    assert "send apiKey instead" in answer.json()["message"]


@pytest.mark.parametrize(
    "query",
    [
        *("max_affected=1", "MAX-AFFECTED=1", "maxAffected=1", "max-affected[]=1"),
        *("+max-affected=1", "max_affected%3D1", "Max_Affected=", "limit[]=1", "Skip=1"),
        *("amp;max-affected=1", "max%252Daffected=1", "max.affected=1", "max-affected:=1"),
        *("max%E2%80%91affected=1", "%E2%80%93max-affected=1", "max-affected%255B%255D=1"),
    ],
)
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_misspelt_bound(surface: Surface, method: str, query: str) -> None:
    """A write by filter with a misspelt maximum is rejected."""
    body = b'{"name":"x"}' if method == "PATCH" else b""

    code, answer = surface.refused(method, f"Cities?{MATCHING}&{query}", key="deleter", body=body)

    assert code == (400, 4002)
    assert re.search("instead|limit is not a parameter", answer.json()["message"])


@pytest.mark.parametrize(
    ("method", "target", "body", "right"),
    [
        ("POST", "Cities?onConflict=name", b'{"name":"x"}', "on_conflict"),
        ("POST", "Cities?ON_CONFLICT[]=name", b'[{"name":"x"}]', "on_conflict"),
        ("POST", "Cities/2?max_affected=1", b'{"name":"x"}', "max-affected"),
        ("POST", "Cities?api_key=x", b'{"name":"x"}', "apiKey"),
        ("PATCH", "Cities?Where={}", b'{"name":"x"}', "where"),
        ("PATCH", "Cities?Where={}", b'[{"rowIndex":2,"name":"x"}]', "where"),
        ("DELETE", "Cities?Where={}", b"", "where"),
        ("DELETE", "Cities/2?WHERE={}", b"", "where"),
    ],
)
def test_a_misspelt_parameter_of_a_write(
    surface: Surface, method: str, target: str, body: bytes, right: str
) -> None:
    """Every write rejects and names a misspelt parameter, and nothing is written."""
    code, answer = surface.refused(method, target, key="deleter", body=body)

    assert code == (400, 4002)
    assert f"send {right} instead" in answer.json()["message"]


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("max_affected=1", 4000),
        ("a=1; max-affected=1", 4000),
        ("max-affected=9, max-affected=1", 4005),
    ],
)
def test_a_misspelt_preference(surface: Surface, header: str, code: int) -> None:
    """A misspelt preference is rejected, and nothing is written."""
    found, _ = surface.refused(
        "DELETE", f"Cities?{MATCHING}", reads=3, key="deleter", headers=[("Prefer", header)]
    )

    assert found == (400, code)
