"""Headers in the document: those that pages may read, and those that requests bring."""

from gateway.web.admission import KEY_HEADERS, SPREADSHEET_HEADERS
from gateway.web.frame import EXPOSED
from gateway.web.openapi.operations import HEADERS, SECURITY_SCHEMES, security
from gateway.web.openapi.parameters import SPREADSHEET_ID
from gateway.web.signature import KEY_PARAMETER


def test_every_header_that_pages_may_read_is_reported() -> None:
    """And no other."""
    assert [*HEADERS] == EXPOSED.split(", ")


def test_keys_go_where_the_gateway_looks_for_them() -> None:
    """Into headers that it reads, and for reads into its query parameter."""
    named = {scheme["name"] for scheme in SECURITY_SCHEMES.values() if "name" in scheme}

    assert named == {"API-Key", "X-API-Key", KEY_PARAMETER}
    assert {name.decode() for name in KEY_HEADERS} >= {"api-key", "x-api-key", "authorization"}
    assert SPREADSHEET_ID.lower().encode() in SPREADSHEET_HEADERS


def test_a_key_in_the_url_may_only_read() -> None:
    """Writes have one way less."""
    assert {"apiKeyQuery": []} in security(is_write=False)
    assert {"apiKeyQuery": []} not in security(is_write=True)
    assert {"bearer": []} in security(is_write=True)
