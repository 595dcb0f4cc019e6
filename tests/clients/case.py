"""Request of a real client, with the expected answer and changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.journeys.conftest import Api, EmulatorControl
from tests.journeys.raw import RawAnswer, send_raw

KEY = "<key>"
"""Placeholder of the API key in the texts of a case. Other braces are JSON."""

Headers = Sequence[tuple[str, str]]

USUAL: Headers = (("Authorization", f"Bearer {KEY}"), ("X-Spreadsheet-Id", "demo"))
JSON_HEADERS: Headers = (*USUAL, ("Content-Type", "application/json"))


@dataclass(frozen=True, kw_only=True)
class Case:
    """Request as exact bytes, with the expected answer, log and changed cells.

    `line` is the name of its line in `docs/reference/clients.md`; `client` distinguishes cases of a
    line. `reading` is the lenient decoding in the log. `answer` is the whole body of a success,
    `names` has the first field of each listed row, `message` words of an error. `changes` has the
    new values or formulas of all changed cells.
    """

    line: str
    client: str
    method: str = "GET"
    target: str = "/v2/sheets/Cities?limit=2"
    headers: Headers = USUAL
    body: bytes | None = None
    key: str = "paid"
    settings: Mapping[str, object] = field(default_factory=dict)
    reading: str | None = None
    status: int = 200
    code: int | None = None
    message: str = ""
    names: Sequence[str] | None = None
    answer: Mapping[str, Any] | None = None
    changes: Mapping[str, object] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.line}:{self.client}"


def sent(name: str, request: str = "Cities?limit=2", **members: Any) -> Case:
    """Return a case by `line: client`, and its request by method and target.

    The default method is GET. The target follows `/v2/sheets/` unless it begins with a slash. A
    request with a body has JSON headers by default.
    """
    line, _, client = name.partition(": ")
    method, _, target = request.rpartition(" ")
    headers = USUAL if members.get("body") is None else JSON_HEADERS
    return Case(
        line=line,
        client=client,
        method=method or "GET",
        target=target if target.startswith("/") else f"/v2/sheets/{target}",
        **{"headers": headers, **members},
    )


def send_case(api: Api, case: Case) -> RawAnswer:
    """Send the request of a case, with a key of the gateway."""
    key = api.keys[case.key]
    return send_raw(
        api,
        case.method,
        case.target.replace(KEY, key),
        headers=[(name, value.replace(KEY, key)) for name, value in case.headers],
        body=None if case.body is None else case.body.replace(KEY.encode(), key.encode()),
    )


def first_fields(answer: RawAnswer) -> list[str]:
    """Return the first field after rowIndex of every listed row."""
    return [str(next(iter([*record.values()][1:]), None)) for record in answer.json()["results"]]


def all_cells(emulator: EmulatorControl) -> dict[str, object]:
    """Return the formula or value of each filled cell by `worksheet!row.column`: `Cities!2.1`."""
    return {
        f"{title}!{row}.{column}": cell["formula"] or cell["value"]
        for title, rows in emulator.everything().items()
        for row, cells in enumerate(rows, 1)
        for column, cell in enumerate(cells, 1)
        if cell["formula"] or cell["value"] is not None
    }


def changed(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    """Return the new values of changed cells; None for an emptied cell."""
    return {
        place: after.get(place)
        for place in {*before, *after}
        if (type(before.get(place)), before.get(place))
        != (type(after.get(place)), after.get(place))
    }
