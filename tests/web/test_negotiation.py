"""Headers with weights; `tests/surfaces/test_exports.py` has those of `Accept` over HTTP."""

import pytest

from gateway.web.negotiation import accepted_format, takes_gzip


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
def test_gzip_is_used_where_it_is_named(accepted: list[str], is_taken: bool) -> None:
    """Clients that do not name it, refuse it, or prefer none, get the plain body."""
    assert takes_gzip([line.encode() for line in accepted]) is is_taken


@pytest.mark.parametrize(
    "accept",
    [";;;", ",", "text/csv;q=", "text/csv;q=9", "\xff", "text/csv " * 100, "text/csv;q=0.0000"],
)
def test_no_header_is_too_odd(accept: str) -> None:
    """What cannot be read has the weight 1, or names nothing."""
    assert accepted_format([accept.encode("latin-1")]) in ("", "csv")
