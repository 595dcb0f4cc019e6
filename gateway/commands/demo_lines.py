"""Curl lines of the demo: requests for one of its worksheets that work when pasted, also twice.

Rules: field names and cells come from a file of any origin. None breaks out of its quotes, and no
control character reaches the terminal.
"""

import http.client
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

SPREADSHEET = "demo"
PATIENCE_SECONDS = 120.0

_CURL = r"curl -s -w '\n'"
"""Prints a line break after each answer, so that the prompt starts on its own line."""
_SEND = "-H 'Content-Type: application/json' -d"
_NUMBER = re.compile(r"-?[1-9][0-9]{0,14}(\.[0-9]{1,6})?")
_MOST_FIELDS, _MOST_CHARACTERS = 4, 200
"""Fields in a body, and characters of a value: more make a line that nobody reads."""

Row = Mapping[str, str | int | float]


class NoExample(Exception):
    """The worksheets cannot be served; the text gives the reason."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """Parts of the lines: `where` matches a row, and `created` is a new one."""

    path: str
    """Of the worksheet, percent-encoded."""
    rows: int
    where: Mapping[str, object]
    order: str
    created: Row
    change: Row


CITIES = Example(
    path="/v2/sheets/Cities",
    rows=10,
    where={"population": {"$gte": 2_000_000}},
    order="-population",
    created={"name": "Austin", "state": "Texas", "country": "USA", "population": 961855},
    change={"population": 964000},
)
"""Of the sample workbook."""


def find_fields(url: str, key: str) -> Mapping[str, Sequence[str]]:
    """The fields of each worksheet that has any, by its path, as the gateway at `url` says."""
    document = _get(url, key, "/openapi.json")
    return {
        path: _fields(document, path)
        for path in document["paths"]
        if path.startswith("/v2/sheets/") and not path.endswith("/{rowIndex}")
    }


def find_example(url: str, key: str, fields: Mapping[str, Sequence[str]]) -> Example:
    """An example for the first worksheet. Raises NoExample."""
    if not fields:
        raise NoExample("no worksheet has field names: write them into row 1.")
    path = next(iter(fields))
    try:
        page = _get(url, key, f"{path}?limit=1&count=true")
    except _Refused as error:
        raise NoExample(str(error)) from error
    (first,) = page["results"] or [{}]
    return _example(path, page["total"], fields[path], _filled(fields[path], first))


def curl_lines(
    url: str, example: Example, *, paid: str, free: str, read_only: str
) -> Iterator[tuple[str, str]]:
    """Titles and curl commands for a shell, with three keys."""
    rows = f"{url}{example.path}"
    where = shlex.quote(f"where={_json(example.where)}")
    order = shlex.quote(f"order={example.order}")
    created, change = shlex.quote(_json(example.created)), shlex.quote(_json(example.change))
    create = ("create a row", f"{_CURL} '{rows}' {_headers(paid)} {_SEND} {created}")
    if not example.rows:
        yield create
    yield "list rows", f"{_CURL} '{rows}?limit=3' {_headers(paid)}"
    yield (
        "search and sort",
        f"{_CURL} -G '{rows}' {_headers(paid)} --data-urlencode {where} --data-urlencode {order}",
    )
    yield "read one row", f"{_CURL} '{rows}/2' {_headers(paid)}"
    if example.rows:
        yield create
    yield (
        "update the row that was created",
        f"{_CURL} '{rows}/{example.rows + 2}' {_headers(paid)} {_SEND} {change}",
    )
    yield (
        "an error: this key may only read",
        f"{_CURL} '{rows}' {_headers(read_only)} {_SEND} {created}",
    )
    yield (
        "an error: no sorting on the free plan",
        f"{_CURL} -G '{rows}' {_headers(free)} --data-urlencode {order}",
    )


class _Refused(Exception):
    """An answer with an error; the text is its message."""


def _get(url: str, key: str, target: str) -> Any:
    address = urlsplit(url)
    connection = http.client.HTTPConnection(
        address.hostname or "", address.port, timeout=PATIENCE_SECONDS
    )
    try:
        connection.request("GET", target, headers={"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        body = json.loads(response.read())
    finally:
        connection.close()
    if response.status != http.client.OK:
        raise _Refused(body["message"])
    return body


def _fields(document: Any, path: str) -> Sequence[str]:
    """The names that the parameter `keys` of a worksheet allows."""
    parameters = document["paths"][path]["get"]["parameters"]
    keys = next(each for each in parameters if each.get("name") == "keys")
    reference = keys["schema"]["items"]["$ref"].rpartition("/")[2]
    names: list[str] = document["components"]["schemas"][reference]["enum"]
    return [name for name in names if name != "rowIndex"]


def _filled(fields: Sequence[str], row: Mapping[str, Any]) -> Row:
    """The first short values of a row under plain names; numbers as numbers."""
    found = {
        name: _typed(row[name])
        for name in fields
        if name.isprintable() and not name.startswith("$")  # an operator, at the start of `where`
        if row.get(name) and len(row[name]) <= _MOST_CHARACTERS
    }
    return dict(list(found.items())[:_MOST_FIELDS])


def _typed(text: str) -> str | int | float:
    number: int | float = json.loads(text) if _NUMBER.fullmatch(text) else 0
    return number or text


def _example(path: str, rows: int, fields: Sequence[str], filled: Row) -> Example:
    sample = filled or {fields[0]: "example"}
    numbers = [name for name, value in sample.items() if not isinstance(value, str)]
    field = numbers[0] if numbers else next(iter(sample))
    value = sample[field]
    return Example(
        path=path,
        rows=rows,
        where={field: {"$gte": value} if numbers else value} if filled else {"rowIndex": 2},
        # A comma ends a name there.
        order=f"-{field}" if filled and "," not in field else "-rowIndex",
        created=sample,
        change={field: "changed" if isinstance(value, str) else value + 1},
    )


def _json(value: object) -> str:
    """JSON whose characters are all printable."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _headers(key: str) -> str:
    return f"-H 'Authorization: Bearer {key}' -H 'X-Spreadsheet-Id: {SPREADSHEET}'"
