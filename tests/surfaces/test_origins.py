"""Origins of pages: keys with origins, and preflights."""

from collections.abc import Sequence

import pytest

from tests.journeys.conftest import PAGE
from tests.journeys.operations import ROW
from tests.surfaces.stage import Surface

CREDENTIAL_HEADERS = [
    *("authorization", "api-key", "x-api-key", "authentication"),
    *("x-spreadsheet-id", "x-sheetson-spreadsheet-id"),
    *("content-type", "idempotency-key", "if-match", "if-none-match", "x-request-id"),
]
VARY = ["Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"]


@pytest.mark.parametrize(
    ("key", "origins"),
    [
        ("pages", [PAGE]),
        ("pages", [PAGE, PAGE]),
        ("pages", ["https://APP.example.org:443"]),
        ("pages", []),
        ("paid", ["null"]),
        ("paid", [""]),
        ("paid", ["https://a.example", "https://b.example"]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_allowed_origin(surface: Surface, key: str, origins: Sequence[str], method: str) -> None:
    """Programs without an origin pass, and keys without origins serve all pages."""
    headers = [("Origin", origin) for origin in origins]

    answer = surface.send(method, "Cities/2", key=key, headers=headers, body=ROW)

    allowed = [value for name, value in answer.pairs if name == b"access-control-allow-origin"]
    assert answer.status_code == 200
    assert allowed == ([b"*"] if origins else [])
    assert answer.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    "origins",
    [
        *(["http://app.example.org"], [f"{PAGE}:8443"], [f"{PAGE}.evil.example"], [f"{PAGE}/"]),
        *(["https://example.org"], ["null"], [""], [PAGE, ""], [PAGE, "null"]),
        *([PAGE, "https://evil.example"], ["https://evil.example", PAGE]),
        *([f"{PAGE}, https://evil.example"], [f"{PAGE} https://evil.example"]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_other_origin(surface: Surface, origins: Sequence[str], method: str) -> None:
    """Each line counts; a sandboxed page (`null`) has no allowed origin. Pages read the refusal."""
    headers = [("Origin", origin) for origin in origins]

    code, answer = surface.refused(method, "Cities/2", key="pages", headers=headers, body=ROW)

    allowed = [value for name, value in answer.pairs if name == b"access-control-allow-origin"]
    assert code == (403, 4031)
    assert allowed == [b"*"]


@pytest.mark.parametrize(
    "asked",
    [None, ", ".join(CREDENTIAL_HEADERS), "authorization,x-own", *CREDENTIAL_HEADERS],
    ids=lambda asked: str(asked)[:25],
)
@pytest.mark.parametrize(
    "path", ["Cities", "Cities/", "Cities/2", "Nowhere", "/nowhere", "/v1/x", "%ff"]
)
def test_preflight(surface: Surface, path: str, asked: str | None) -> None:
    """Every preflight gets the same answer, with the headers that it asks for."""
    headers = [] if asked is None else [("Access-Control-Request-Headers", asked)]
    expected = {
        "access-control-allow-origin": "*",
        "access-control-allow-methods": "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT",
        **({"access-control-allow-headers": asked} if asked else {}),
        "access-control-max-age": "86400",
    }
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "ODD"):
        for origin in (PAGE, "null"):
            for key in (None, "pages"):
                answer = surface.send(
                    "OPTIONS",
                    path,
                    key=key,
                    spreadsheet=None,
                    headers=[
                        *headers,
                        ("Origin", origin),
                        ("Access-Control-Request-Method", method),
                    ],
                )
                lines = {name: text for name, text in answer.headers.items() if "access-" in name}

                assert (answer.status_code, answer.content) == (204, b"")
                assert lines == expected
                assert answer.headers["vary"].split(", ") == VARY
    assert (surface.calls.reads, surface.calls.writes) == (0, 0)
