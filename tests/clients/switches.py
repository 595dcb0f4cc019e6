"""Requests whose answers depend on a setting for migration."""

from collections.abc import Mapping, Sequence

from tests.clients.case import Case, sent

UNKNOWN = b'{"name": "Austin", "utm_source": "mail"}'
SPARSE: Mapping[str, object] = {"rowIndex": 2, "item": "Pen", "price": "$1,250.50"}
FULL = "/v2/sheets/Orders/2?keys=item,price,note"
HUNDRED = [str(number) for number in range(1, 101)]

SWITCHES: Sequence[Case] = [
    sent("empty_cell: default", f"{FULL}", answer={**SPARSE, "note": None}),
    sent(
        "empty_cell: a page that calls a text's methods",
        f"{FULL}",
        settings={"api.empty_cell": ""},
        answer={**SPARSE, "note": ""},
    ),
    sent(
        "empty_cell: a program that asks whether a field is there",
        f"{FULL}",
        settings={"api.empty_cell": "omit"},
        answer=SPARSE,
    ),
    sent("unknown_fields: default", "POST Cities", body=UNKNOWN, status=400, code=104),
    sent(
        "unknown_fields: a form with more fields than the sheet",
        "POST Cities",
        settings={"api.unknown_fields": "ignore"},
        body=UNKNOWN,
        status=201,
        answer={"rowIndex": 12, "name": "Austin"},
        changes={"Cities!12.1": "Austin"},
    ),
    sent("max_limit: default", "Long?limit=1000", names=HUNDRED),
    sent(
        "max_limit: a page that does not page",
        "Long?limit=1000",
        settings={"plans.paid.max_limit": 1000},
        names=[str(number) for number in range(1, 131)],
    ),
]
"""Cases for the migration settings. Cases named `default` go to a gateway without settings."""
