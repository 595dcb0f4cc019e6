"""Successful answers: bytes of the body, and headers."""

import re

import pytest

from gateway.table.header import parse_header
from gateway.table.table import row_object
from gateway.web.answers import (
    ENCODERS,
    json_answer,
    listed,
)
from gateway.worksheets.answers import Paging, with_digests
from tests.web.requests import as_response

HEADER = parse_header(["name", "state"])
RECORD = {"rowIndex": 2, "name": "Zürich", "state": None}


def test_json_answers_are_private() -> None:
    """An answer is UTF-8 JSON with `Cache-Control: private, no-cache`, and keeps given headers."""
    headers = {"Location": "/v2/sheets/x/2"}
    response = as_response(json_answer(RECORD, status=201, headers=headers))

    assert response.status_code == 201
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.headers["cache-control"] == "private, no-cache"
    assert response.headers["location"] == "/v2/sheets/x/2"
    assert '"Zürich"'.encode() in bytes(response.body)


@pytest.mark.parametrize("total", [0, 1, 12_345])
def test_a_page_ends_with_the_total(total: int) -> None:
    """`total` is the last member of a page, if the matching rows were counted."""
    body = ENCODERS["null"].page(with_digests([]), Paging(False, total)).body

    assert body == b'{"results":[],"hasNextPage":false,"total":%d}' % total


def test_the_tag_of_a_page_depends_on_its_bytes() -> None:
    """Pages with equal bytes have the same weak ETag; pages with other bytes have other ETags."""
    encoder, omitting = ENCODERS["null"], ENCODERS["omit"]
    rows = [encoder.row(RECORD)]
    other = row_object(HEADER, 2, ["Zürich"], HEADER.whole.names, omitting.empty)

    tags = [
        encoder.page(with_digests(rows), Paging(False, None)).tag,
        encoder.page(with_digests([encoder.row(dict(RECORD))]), Paging(False, None)).tag,
        encoder.page(with_digests(rows), Paging(True, None)).tag,
        encoder.page(with_digests(rows), Paging(False, 1)).tag,
        omitting.page(with_digests([omitting.row(other)]), Paging(False, None)).tag,
    ]

    assert re.fullmatch(r'W/"[A-Za-z0-9_-]{16}"', tags[0])
    assert tags[0] == tags[1]
    assert len(set(tags)) == 4


@pytest.mark.parametrize(
    ("names", "header"),
    [
        (["a", "b c"], '"a", "b c"'),
        (["a,b", 'say "x"'], r'"a,b", "say \"x\""'),
        (["a\r\nSet-Cookie: x"], r'"a\r\nSet-Cookie: x"'),
        (["\0"], r'"\u0000"'),
        (["é", "中", "😀"], r'"\u00e9", "\u4e2d", "\ud83d\ude00"'),
    ],
    ids=["plain", "comma and quote", "line break", "NUL", "beyond ASCII"],
)
def test_names_are_quoted_in_a_header(names: list[str], header: str) -> None:
    """Field names in a header are quoted as JSON in ASCII, so no name can end the header line."""
    assert listed(names) == header


def test_a_list_of_names_in_a_header_is_limited() -> None:
    """A header lists at most 8,000 characters of field names, which HTTP clients accept."""
    names = [f"{n} {'ö' * 2_000}" for n in range(400)]

    assert len(listed(names)) < 8_000
