"""Headers in the OpenAPI document: headers that CORS exposes, and headers of requests."""

from gateway.web.admission import KEY_HEADERS, SPREADSHEET_HEADERS
from gateway.web.frame import EXPOSED
from gateway.web.openapi.operations import HEADERS, SECURITY_SCHEMES, security
from gateway.web.openapi.parameters import SPREADSHEET_ID
from gateway.web.signature import KEY_PARAMETER


def test_the_document_has_exactly_the_exposed_headers() -> None:
    """The documented response headers are the headers in `Access-Control-Expose-Headers`."""
    assert [*HEADERS] == EXPOSED.split(", ")


def test_security_schemes_use_the_headers_of_keys() -> None:
    """The security schemes name the headers and the query parameter that can hold a key."""
    named = {scheme["name"] for scheme in SECURITY_SCHEMES.values() if "name" in scheme}

    assert named == {"API-Key", "X-API-Key", KEY_PARAMETER}
    assert {name.decode() for name in KEY_HEADERS} >= {"api-key", "x-api-key", "authorization"}
    assert SPREADSHEET_ID.lower().encode() in SPREADSHEET_HEADERS


def test_a_key_in_the_url_may_only_read() -> None:
    """The security schemes of writes do not include the key in the URL."""
    assert {"apiKeyQuery": []} in security(is_write=False)
    assert {"apiKeyQuery": []} not in security(is_write=True)
    assert {"bearer": []} in security(is_write=True)
