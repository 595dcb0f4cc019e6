"""Success answers: records as JSON bytes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from starlette.responses import Response

from gateway.rows.tag import opaque_tag
from gateway.service.rows import Record, RowPage

EmptyCell = Literal["null", "", "omit"]

_MOST_NAMES = 20
_LONGEST_NAME = 50

_CACHING = {"Cache-Control": "private, no-cache"}


def record_answer(
    record: Record,
    empty_cell: EmptyCell,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    return json_answer(shaped(record, empty_cell), status=status, headers=headers)


def page_answer(page: RowPage, empty_cell: EmptyCell) -> Response:
    """A list of rows; its tag is weak, since it is of the answer and not of the worksheet."""
    results = [shaped(record, empty_cell) for record in page.records]
    answer = json_answer({"results": results, "hasNextPage": page.has_next})
    answer.headers["ETag"] = f"W/{opaque_tag(bytes(answer.body))}"
    return answer


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
        headers={**_CACHING, **(headers or {})},
        media_type="application/json",
    )


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
