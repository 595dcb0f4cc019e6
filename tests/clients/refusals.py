"""Requests of real clients that get errors."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from tests.clients.case import JSON_HEADERS, KEY, USUAL, Case, sent

AUSTIN = b'{"name": "Austin"}'
NOBODY = "where=%7B%22name%22:%22Nobody%22%7D"
FORM = ("Content-Type", "application/x-www-form-urlencoded")


def refused(
    name: str, status: int, code: int, message: str, request: str = "Cities?limit=2", **members: Any
) -> Case:
    """Return a request that gets an error and changes nothing."""
    return sent(name, request, status=status, code=code, message=message, **members)


_LISTS: Sequence[tuple[str, int, str, str]] = [
    ("key-in-both: an old key left in the URL", 4001, "different API keys", "apiKey=sgw_old"),
    (
        "key-in-both: another spreadsheet in the URL",
        4001,
        "different spreadsheet IDs",
        "spreadsheetId=other",
    ),
    ("broken-where: the docs' cURL", 4002, "offset", "where=%7B%22country%22%3A%22USA%7D"),
    (
        "broken-where: encoded twice",
        4002,
        "offset",
        "where=%257B%2522country%2522%253A%2522USA%257D",
    ),
    ("broken-where: an object made a string", 4002, "JSON.stringify", "where=%5Bobject+Object%5D"),
    (
        "where-twice: a field that there is not",
        4002,
        '"town"',
        "where=%257B%2522town%2522%253A1%257D",
    ),
    ("order-twice: a field that there is not", 4002, '"no%20such"', "order=no%2520such"),
    (
        "where-brackets: an operator that there is not",
        4002,
        "$like is not an operator",
        "where[state][$like]=T",
    ),
    (
        "not-a-number: a template string without its value",
        4002,
        "limit must be a whole number",
        "limit=undefined&skip=NaN",
    ),
    ("misspelt-parameter: a name in capitals", 4002, "send limit instead", "Limit=5"),
    ("no-such-keys: a renamed column", 4002, 'its fields are rowIndex, "name"', "keys=town"),
]
"""Lists that get 400: case, code, words of the message, and query."""
REFUSALS: Sequence[Case] = [
    *[refused(name, 400, code, said, f"Cities?{query}") for name, code, said, query in _LISTS],
    *[
        refused(
            f"another-scheme: {value.partition(' ')[0]}",
            401,
            4011,
            said,
            headers=(("Authorization", value), USUAL[1]),
        )
        for value, said in (
            (f"Token {KEY}", "Token is not a scheme of this API"),
            ("Basic dXNlcjpwYXNz", "Basic is not a scheme of this API"),
            (f'"{KEY}"', "There is a quote or a bracket before the key"),
            ("undefined", "so the variable for the key is empty"),
        )
    ],
    refused(
        "rows-in-an-object: SheetDB",
        400,
        104,
        "Send the list itself",
        "POST Cities",
        body=b'{"data": [{"name": "Austin"}]}',
    ),
    *[
        refused(f"other-operators: {client}", 400, 4002, said, f"Cities?{query}")
        for client, query, said in (
            ("without $", 'where={"population":{"gt":1}}', "Did you mean $gt (greater)?"),
            ("Strapi", 'where={"name":{"$contains":"a"}}', "Did you mean $text ("),
            ("SQL", "order=population%20desc", "Did you mean order=-population?"),
        )
    ],
    *[
        refused(
            f"write-without-row: {method}",
            405,
            4051,
            "send PATCH with where and a JSON object, or with a JSON list",
            f"{method} Cities",
            body=AUSTIN,
        )
        for method in ("PUT", "PATCH")
    ],
    *[
        refused(
            f"text-as-row: {row}",
            400,
            4003,
            "rowIndex",
            f"{method} Cities/{row}",
            headers=JSON_HEADERS,
            body=body,
        )
        for method, row, body in (
            ("GET", "search", None),
            ("GET", "undefined", None),
            ("PUT", "NaN", AUSTIN),
            ("PUT", "0", AUSTIN),
            ("POST", "New%20York", AUSTIN),
        )
    ],
    *[
        refused(
            f"v1: {client}",
            410,
            4100,
            "/v2/sheets/{sheetName}",
            f"{method} {target}",
            body=body,
            headers=USUAL,
        )
        for client, method, target, body in (
            ("a list", "GET", "/v1/sheets/Cities?spreadsheetId=demo", None),
            ("a create", "POST", "/v1/sheets/Cities/", AUSTIN),
            ("an update", "PUT", "/v1/sheets/Cities/2", AUSTIN),
        )
    ],
    refused(
        "list-without-g: the docs' cURL",
        401,
        4010,
        "add -G",
        "POST Cities",
        headers=(FORM,),
        body=f"apiKey={KEY}&spreadsheetId=demo".encode(),
    ),
    refused(
        "list-without-g: with a filter",
        401,
        4010,
        "add -G",
        "POST Cities",
        headers=(FORM,),
        body=f"where=%7B%22state%22%3A%22Texas%22%7D&apiKey={KEY}&spreadsheetId=demo".encode(),
    ),
    refused(
        "key-in-url-of-a-write: a create",
        401,
        4012,
        "Authorization",
        f"POST Cities?apiKey={KEY}&spreadsheetId=demo",
        headers=JSON_HEADERS[2:],
        body=AUSTIN,
    ),
    refused("worksheet-twice: a name that there is not", 404, 105, '"No%20Sheet"', "No%2520Sheet"),
    refused("worksheet-plus: a name that there is not", 404, 105, '"No+Sheet"', "No+Sheet"),
    refused(
        "where-brackets: a plan without where",
        403,
        4034,
        "where",
        "Cities?where[state]=Texas",
        key="free",
    ),
    refused(
        "query-in-name: a plan without where",
        403,
        4034,
        "where",
        "Cities?where%3D%7B%22state%22%3A%22Texas%22%7D",
        key="free",
        reading="query-in-name",
    ),
    refused(
        "json-as-text: not quite JSON",
        400,
        104,
        "JSON",
        "POST Cities",
        headers=(*USUAL, ("Content-Type", "text/plain")),
        body=b'{"name": "Austin",}',
        reading="json-as-text",
    ),
    refused(
        "multipart: fetch with FormData",
        415,
        4150,
        "JSON",
        "POST Cities",
        headers=(*USUAL, ("Content-Type", "multipart/form-data; boundary=b")),
        body=b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nAustin\r\n--b--\r\n',
    ),
    refused("delete: any", 405, 4051, "", "DELETE Cities/3"),
    refused("other-status: a worksheet that there is not", 404, 105, "Nowhere", "Nowhere"),
    refused(
        "other-status: a spreadsheet that there is not",
        404,
        101,
        "",
        headers=(USUAL[0], ("X-Spreadsheet-Id", "unknown")),
    ),
    refused(
        "other-status: a malformed spreadsheet id",
        400,
        101,
        "",
        headers=(USUAL[0], ("X-Spreadsheet-Id", "YOUR SPREADSHEET ID")),
    ),
    refused(
        "other-idempotency-header: a client of another service",
        400,
        4004,
        "Send the key as Idempotency-Key",
        "POST Cities",
        headers=(*JSON_HEADERS, ("X-Idempotency-Key", "order-7")),
        body=b'{"name": "Austin"}',
    ),
    refused(
        "method-override: a client behind a proxy",
        400,
        4000,
        "X-HTTP-Method-Override names the method",
        "POST Cities",
        headers=(*JSON_HEADERS, ("X-HTTP-Method-Override", "DELETE")),
        body=b'{"name": "Austin"}',
    ),
    refused(
        "method-override: a form of a framework",
        400,
        4000,
        "_method in the form names the method",
        "POST Cities/2",
        headers=(*USUAL, FORM),
        body=b"_method=DELETE",
    ),
    *[
        refused(
            f"other-operation: {method} with a filter",
            400,
            4002,
            "where is not a parameter of",
            f"{method} Cities/2?{NOBODY}",
            body=AUSTIN,
        )
        for method in ("PATCH", "PUT", "POST")
    ],
    refused(
        "other-operation: a create with an empty filter",
        400,
        4002,
        "where is not a parameter of a create",
        "POST Cities?where=",
        body=AUSTIN,
    ),
    *[
        refused(f"other-service: {client}", 400, 4002, f"with {right}", f"Cities?{query}")
        for client, query, right in [
            ("a loop over pages", "page=2", "limit and skip"),
            ("SheetDB's order", "sort_by=name", "order"),
            ("json-server's page", "_page=2&_per_page=10", "limit and skip"),
            ("PostgREST's columns", "select=name", "keys"),
            ("a JSON:API filter", "filter[state]=Texas", "where"),
            ("OData's order", "$orderby=name", "order"),
            ("Airtable's formula", "filterByFormula=1", "where"),
        ]
    ],
    *[
        refused(f"field-as-parameter: {client}", 400, 4002, "send where", f"Cities?{query}")
        for client, query in [
            ("a filter of SheetDB", "state=Texas"),
            ("a filter of PostgREST", "state=eq.Texas"),
            ("a range of json-server", "population_gte=1000000"),
            ("a filter with brackets", "state[eq]=Texas"),
            ("a filter in capitals", "State=Texas"),
        ]
    ],
    *[
        refused(
            f"filter-of-all: an empty input, {where}",
            400,
            4002,
            '{"rowIndex":{"$gte":2}}',
            f"PATCH Cities?where={quote(where)}",
            body=AUSTIN,
        )
        for where in (
            '{"name":{"$text":""}}',
            '{"name":{"$nin":[]}}',
            '{"$not":{"name":{"$in":[]}}}',
        )
    ],
    refused(
        "pasted-url: the address of the spreadsheet",
        400,
        101,
        "between /d/ and /edit",
        headers=(
            USUAL[0],
            ("X-Spreadsheet-Id", "https://docs.google.com/spreadsheets/d/demo/edit"),
        ),
    ),
    refused(
        "two-slashes: a base URL that ends with a slash",
        404,
        4040,
        "/v2/sheets/{sheetName}",
        "/v2//sheets/Cities",
    ),
    refused("no-worksheet: a name that never came", 404, 4040, "", "/v2/sheets/"),
]
