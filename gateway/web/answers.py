"""Success answers: records as JSON bytes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import msgspec
from starlette.responses import Response

from gateway.table.record import Record
from gateway.table.tag import opaque_tag
from gateway.web.media_types import JSON
from gateway.worksheets.answers import Encoded

EmptyCell = Literal["null", "", "omit"]

CACHING = "private, no-cache"

_encode = msgspec.json.Encoder().encode

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
    """The created rows, in the order of the request."""
    results = [shaped(record, empty_cell) for record in records]
    return json_answer({"results": results}, status=201, headers=headers)


def json_answer(
    content: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(
        msgspec.json.encode(content),
        status_code=status,
        headers={"Cache-Control": CACHING, **(headers or {})},
        media_type=JSON,
    )


@dataclass(frozen=True, eq=False)
class JsonEncoder:
    """Rows and pages as JSON; one object per representation of empty cells."""

    empty_cell: EmptyCell

    def rows(self, records: Iterable[Record]) -> list[bytes]:
        if self.empty_cell != "null":
            records = [shaped(record, self.empty_cell) for record in records]
        return [*map(_encode, records)]

    def page(self, rows: Sequence[bytes], *, has_next: bool, total: int | None) -> Encoded:
        """A list of rows; its tag is weak, because it is not of the worksheet."""
        counted = b"" if total is None else b',"total":%d' % total
        end = b'],"hasNextPage":true' if has_next else b'],"hasNextPage":false'
        body = b"".join((b'{"results":[', b",".join(rows), end, counted, b"}"))
        return Encoded(body, f"W/{opaque_tag(body)}")


# Cached answers are keyed by their encoder.
ENCODERS: Final[Mapping[EmptyCell, JsonEncoder]] = {
    empty_cell: JsonEncoder(empty_cell) for empty_cell in get_args(EmptyCell)
}


def shaped(record: Record, empty_cell: EmptyCell) -> Record:
    """The record with its empty cells (None) as configured."""
    if empty_cell == "null":
        return record
    if empty_cell == "":
        return {name: "" if value is None else value for name, value in record.items()}
    return {name: value for name, value in record.items() if value is not None}


def listed(names: Sequence[str]) -> str:
    """Names for a header, each as a JSON string in ASCII; a long list is cut.

    A client cannot read an answer with a head that is too large, and would repeat its write.
    """
    return ", ".join(json.dumps(name[:_LONGEST_NAME]) for name in names[:_MOST_NAMES])
