"""Success answers: records as JSON bytes."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Literal, get_args

import msgspec
from starlette.responses import Response

from gateway.rows.tag import opaque_tag
from gateway.service.answers import Encoded
from gateway.service.pages import Record, RowPage, RowRead

EmptyCell = Literal["null", "", "omit"]

CACHING = "private, no-cache"

_MOST_NAMES = 20
_LONGEST_NAME = 50


def record_answer(
    record: Record,
    empty_cell: EmptyCell,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    return json_answer(shaped(record, empty_cell), status=status, headers=headers)


def created_answer(
    records: Iterable[Record], empty_cell: EmptyCell, *, headers: Mapping[str, str] | None = None
) -> Response:
    """The rows that a list of objects became, in its order."""
    results = [shaped(record, empty_cell) for record in records]
    return json_answer({"results": results}, status=201, headers=headers)


def json_answer(
    content: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(
        msgspec.json.encode(content),
        status_code=status,
        headers={"Cache-Control": CACHING, **(headers or {})},
        media_type="application/json",
    )


def encode_page(page: RowPage, empty_cell: EmptyCell) -> Encoded:
    """A list of rows; its tag is weak, since it is of the answer and not of the worksheet."""
    results = [shaped(record, empty_cell) for record in page.records]
    content: dict[str, object] = {"results": results, "hasNextPage": page.has_next}
    if page.total is not None:
        content["total"] = page.total
    body = msgspec.json.encode(content)
    return Encoded(body, tag=f"W/{opaque_tag(body)}")


def encode_row(found: RowRead, empty_cell: EmptyCell) -> Encoded:
    return Encoded(msgspec.json.encode(shaped(found.record, empty_cell)), tag=found.tag)


# Answers are kept by what encoded them: each way of encoding is one object, made once.
PAGE_ENCODERS: Final[Mapping[EmptyCell, Callable[[RowPage], Encoded]]] = {
    empty_cell: partial(encode_page, empty_cell=empty_cell) for empty_cell in get_args(EmptyCell)
}
ROW_ENCODERS: Final[Mapping[EmptyCell, Callable[[RowRead], Encoded]]] = {
    empty_cell: partial(encode_row, empty_cell=empty_cell) for empty_cell in get_args(EmptyCell)
}


def shaped(record: Record, empty_cell: EmptyCell) -> Record:
    """The record with its empty cells (None) as the operator wants them."""
    if empty_cell == "null":
        return record
    if empty_cell == "":
        return {name: "" if value is None else value for name, value in record.items()}
    return {name: value for name, value in record.items() if value is not None}


def listed(names: Sequence[str]) -> str:
    """Names for a header, each as a JSON string in ASCII; the first ones, cut where long.

    A client cannot read an answer whose head is too large, and would send its write again.
    """
    return ", ".join(json.dumps(name[:_LONGEST_NAME]) for name in names[:_MOST_NAMES])
