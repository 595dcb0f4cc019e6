"""Requests that are answered differently where an operator has set a switch for who migrates."""

from collections.abc import Mapping, Sequence

from tests.clients.case import JSON_HEADERS, Case

UNKNOWN = b'{"name": "Austin", "utm_source": "mail"}'
SPARSE: Mapping[str, object] = {"rowIndex": 2, "item": "Pen", "price": "$1,250.50"}
FULL = "/v2/sheets/Orders/2?keys=item,price,note"
HUNDRED = [str(number) for number in range(1, 101)]

SWITCHES: Sequence[Case] = [
    Case(line="empty_cell", client="default", target=FULL, answer={**SPARSE, "note": None}),
    Case(
        line="empty_cell",
        client="a page that calls a text's methods",
        settings={"api.empty_cell": ""},
        target=FULL,
        answer={**SPARSE, "note": ""},
    ),
    Case(
        line="empty_cell",
        client="a program that asks whether a field is there",
        settings={"api.empty_cell": "omit"},
        target=FULL,
        answer=SPARSE,
    ),
    Case(
        line="unknown_fields",
        client="default",
        method="POST",
        target="/v2/sheets/Cities",
        headers=JSON_HEADERS,
        body=UNKNOWN,
        status=400,
        code=104,
    ),
    Case(
        line="unknown_fields",
        client="a form with more fields than the sheet",
        settings={"api.unknown_fields": "ignore"},
        method="POST",
        target="/v2/sheets/Cities",
        headers=JSON_HEADERS,
        body=UNKNOWN,
        status=201,
        answer={"rowIndex": 12, "name": "Austin"},
        changes={"Cities!12.1": "Austin"},
    ),
    Case(line="max_limit", client="default", target="/v2/sheets/Long?limit=1000", names=HUNDRED),
    Case(
        line="max_limit",
        client="a page that does not page",
        settings={"plans.paid.max_limit": 1000},
        target="/v2/sheets/Long?limit=1000",
        names=[str(number) for number in range(1, 131)],
    ),
]
"""Those called `default` are sent to a gateway without settings."""
