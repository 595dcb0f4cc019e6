"""Success answers as bytes."""

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


def test_an_answer_is_json_that_may_not_be_shared() -> None:
    """UTF-8 JSON, kept by the client alone and checked before it is used again."""
    headers = {"Location": "/v2/sheets/x/2"}
    response = as_response(json_answer(RECORD, status=201, headers=headers))

    assert response.status_code == 201
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.headers["cache-control"] == "private, no-cache"
    assert response.headers["location"] == "/v2/sheets/x/2"
    assert '"Zürich"'.encode() in bytes(response.body)


@pytest.mark.parametrize("total", [0, 1, 12_345])
def test_a_page_may_tell_how_many_rows_match(total: int) -> None:
    """The total stands last, and is there when it was counted only."""
    body = ENCODERS["null"].page(with_digests([]), Paging(False, total)).body

    assert body == b'{"results":[],"hasNextPage":false,"total":%d}' % total


def test_the_tag_of_a_page_is_weak_and_of_what_it_shows() -> None:
    """Two pages that are alike to the byte have one tag, and others have others."""
    encoder, omitting = ENCODERS["null"], ENCODERS["omit"]
    rows = encoder.rows([RECORD])
    omitted = omitting.rows([row_object(HEADER, 2, ["Zürich"], HEADER.whole.names, omitting.empty)])

    tags = [
        encoder.page(with_digests(rows), Paging(False, None)).tag,
        encoder.page(with_digests(encoder.rows([dict(RECORD)])), Paging(False, None)).tag,
        encoder.page(with_digests(rows), Paging(True, None)).tag,
        encoder.page(with_digests(rows), Paging(False, 1)).tag,
        omitting.page(with_digests(omitted), Paging(False, None)).tag,
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
def test_names_fit_into_a_header(names: list[str], header: str) -> None:
    """Names are quoted, so that none can end the header or look like two."""
    assert listed(names) == header


def test_a_header_does_not_grow_with_the_body() -> None:
    """Of many long names so many are listed that a client can still read the answer."""
    names = [f"{n} {'ö' * 2_000}" for n in range(400)]

    assert len(listed(names)) < 8_000
