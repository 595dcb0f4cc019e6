"""`Accept-Encoding` and odd `Accept` headers; other tests of `Accept` are in tests/surfaces."""

import pytest

from gateway.web.head import accepted_format, takes_gzip


@pytest.mark.parametrize(
    ("accepted", "is_taken"),
    [
        ([], False),
        ([""], False),
        (["gzip"], True),
        (["GZIP"], True),
        (["gzip, deflate, br, zstd"], True),
        (["br;q=1.0, gzip;q=0.8, *;q=0.1"], True),
        (["br", "gzip"], True),
        (["gzip;q=0.5"], True),
        (["gzip ; q=0.5"], True),
        (["gzip;q=x"], True),
        (["gzip;q=0"], False),
        (["gzip;q=0."], False),
        (["gzip; q=0.000"], False),
        (["gzip;Q=0"], False),
        (["gzip;q=0, *"], False),
        (["identity"], False),
        (["identity, gzip"], True),
        (["identity;q=0, gzip;q=0.1"], True),
        (["identity, gzip;q=0.5"], False),
        (["identity;q=0.4", "gzip;q=0.5"], True),
        (["*"], False),
        (["x-gzipped"], False),
        (["gzip" + "," * 600], True),
    ],
    ids=lambda given: ",".join(given)[:40] or "nothing" if isinstance(given, list) else None,
)
def test_gzip_is_used_if_the_client_names_it(accepted: list[str], is_taken: bool) -> None:
    """The answer is compressed only if the client names gzip and prefers gzip to identity."""
    assert takes_gzip([line.encode() for line in accepted]) is is_taken


@pytest.mark.parametrize(
    "accept",
    [";;;", ",", "text/csv;q=", "text/csv;q=9", "\xff", "text/csv " * 100, "text/csv;q=0.0000"],
)
def test_a_malformed_accept_header_is_read(accept: str) -> None:
    """A malformed weight counts as 1, and a malformed media type names no format."""
    assert accepted_format([accept.encode("latin-1")]) in ("", "csv")
