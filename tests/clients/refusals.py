"""Requests of real clients that are refused, and their errors."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from tests.clients.case import JSON_HEADERS, KEY, USUAL, Case

AUSTIN = b'{"name": "Austin"}'
NOBODY = "where=%7B%22name%22:%22Nobody%22%7D"
FORM = ("Content-Type", "application/x-www-form-urlencoded")


def refused(line: str, client: str, status: int, code: int, message: str, **members: Any) -> Case:
    """A request that is refused, and changes nothing."""
    return Case(line=line, client=client, status=status, code=code, message=message, **members)


REFUSALS: Sequence[Case] = [
    *[
        refused(
            "another-scheme",
            value.partition(" ")[0],
            401,
            4011,
            said,
            headers=(("Authorization", value), USUAL[1]),
        )
        for value, said in (
            (f"Token {KEY}", "Token is not a scheme of this API"),
            ("Basic dXNlcjpwYXNz", "Basic is not a scheme of this API"),
            (f'"{KEY}"', "A quote or bracket stands before the key"),
            ("undefined", "the variable that should hold it is empty"),
        )
    ],
    refused(
        "rows-in-an-object",
        "SheetDB",
        400,
        104,
        "Send the list itself",
        method="POST",
        target="/v2/sheets/Cities",
        headers=JSON_HEADERS,
        body=b'{"data": [{"name": "Austin"}]}',
    ),
    *[
        refused("other-operators", client, 400, 4002, said, target=f"/v2/sheets/Cities?{query}")
        for client, query, said in (
            ("without $", 'where={"population":{"gt":1}}', "Did you mean $gt (greater)?"),
            ("Strapi", 'where={"name":{"$contains":"a"}}', "Did you mean $text ("),
            ("SQL", "order=population%20desc", "Did you mean order=-population?"),
        )
    ],
    *[
        refused(
            "write-without-row",
            method,
            405,
            4051,
            "send PATCH with where and an object, or with a JSON list",
            method=method,
            target="/v2/sheets/Cities",
            headers=JSON_HEADERS,
            body=AUSTIN,
        )
        for method in ("PUT", "PATCH")
    ],
    *[
        refused(
            "text-as-row",
            row,
            400,
            4003,
            "rowIndex",
            method=method,
            target=f"/v2/sheets/Cities/{row}",
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
            "v1",
            client,
            410,
            4100,
            "/v2/sheets/{sheetName}",
            method=method,
            target=target,
            body=body,
        )
        for client, method, target, body in (
            ("a list", "GET", "/v1/sheets/Cities?spreadsheetId=demo", None),
            ("a create", "POST", "/v1/sheets/Cities/", AUSTIN),
            ("an update", "PUT", "/v1/sheets/Cities/2", AUSTIN),
        )
    ],
    refused(
        "list-without-g",
        "the docs' cURL",
        401,
        4010,
        "add -G",
        method="POST",
        target="/v2/sheets/Cities",
        headers=(FORM,),
        body=f"apiKey={KEY}&spreadsheetId=demo".encode(),
    ),
    refused(
        "list-without-g",
        "with a filter",
        401,
        4010,
        "add -G",
        method="POST",
        target="/v2/sheets/Cities",
        headers=(FORM,),
        body=f"where=%7B%22state%22%3A%22Texas%22%7D&apiKey={KEY}&spreadsheetId=demo".encode(),
    ),
    refused(
        "key-in-url-of-a-write",
        "a create",
        401,
        4012,
        "Authorization",
        method="POST",
        target=f"/v2/sheets/Cities?apiKey={KEY}&spreadsheetId=demo",
        headers=JSON_HEADERS[2:],
        body=AUSTIN,
    ),
    refused(
        "key-in-both",
        "an old key left in the URL",
        400,
        4001,
        "different API keys",
        target="/v2/sheets/Cities?apiKey=sgw_old",
    ),
    refused(
        "key-in-both",
        "another spreadsheet in the URL",
        400,
        4001,
        "different spreadsheet ids",
        target="/v2/sheets/Cities?spreadsheetId=other",
    ),
    refused(
        "broken-where",
        "the docs' cURL",
        400,
        4002,
        "position",
        target="/v2/sheets/Cities?where=%7B%22country%22%3A%22USA%7D",
    ),
    refused(
        "broken-where",
        "encoded twice",
        400,
        4002,
        "position",
        target="/v2/sheets/Cities?where=%257B%2522country%2522%253A%2522USA%257D",
    ),
    refused(
        "broken-where",
        "an object made a string",
        400,
        4002,
        "JSON.stringify",
        target="/v2/sheets/Cities?where=%5Bobject+Object%5D",
    ),
    refused(
        "where-twice",
        "a field that there is not",
        400,
        4002,
        '"town"',
        target="/v2/sheets/Cities?where=%257B%2522town%2522%253A1%257D",
    ),
    refused(
        "order-twice",
        "a field that there is not",
        400,
        4002,
        '"no%20such"',
        target="/v2/sheets/Cities?order=no%2520such",
    ),
    refused(
        "worksheet-twice",
        "a name that there is not",
        404,
        105,
        '"No%20Sheet"',
        target="/v2/sheets/No%2520Sheet",
    ),
    refused(
        "worksheet-plus",
        "a name that there is not",
        404,
        105,
        '"No+Sheet"',
        target="/v2/sheets/No+Sheet",
    ),
    refused(
        "where-brackets",
        "an operator that there is not",
        400,
        4002,
        "$like is not an operator",
        target="/v2/sheets/Cities?where[state][$like]=T",
    ),
    refused(
        "where-brackets",
        "a plan without where",
        403,
        4034,
        "where",
        key="free",
        target="/v2/sheets/Cities?where[state]=Texas",
    ),
    refused(
        "query-in-name",
        "a plan without where",
        403,
        4034,
        "where",
        key="free",
        reading="query-in-name",
        target="/v2/sheets/Cities?where%3D%7B%22state%22%3A%22Texas%22%7D",
    ),
    refused(
        "json-as-text",
        "not quite JSON",
        400,
        104,
        "JSON",
        method="POST",
        target="/v2/sheets/Cities",
        headers=(*USUAL, ("Content-Type", "text/plain")),
        body=b'{"name": "Austin",}',
        reading="json-as-text",
    ),
    refused(
        "multipart",
        "fetch with FormData",
        415,
        4150,
        "JSON",
        method="POST",
        target="/v2/sheets/Cities",
        headers=(*USUAL, ("Content-Type", "multipart/form-data; boundary=b")),
        body=b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nAustin\r\n--b--\r\n',
    ),
    refused(
        "delete",
        "any",
        405,
        4051,
        "",
        method="DELETE",
        target="/v2/sheets/Cities/3",
    ),
    refused(
        "other-status",
        "a worksheet that there is not",
        404,
        105,
        "Nowhere",
        target="/v2/sheets/Nowhere",
    ),
    refused(
        "other-status",
        "a spreadsheet that there is not",
        404,
        101,
        "",
        headers=(USUAL[0], ("X-Spreadsheet-Id", "unknown")),
    ),
    refused(
        "other-status",
        "a malformed spreadsheet id",
        400,
        101,
        "",
        headers=(USUAL[0], ("X-Spreadsheet-Id", "YOUR SPREADSHEET ID")),
    ),
    refused(
        "other-idempotency-header",
        "a client of another service",
        400,
        4004,
        "Send the key as Idempotency-Key",
        method="POST",
        target="/v2/sheets/Cities",
        headers=(*JSON_HEADERS, ("X-Idempotency-Key", "order-7")),
        body=b'{"name": "Austin"}',
    ),
    refused(
        "method-override",
        "a client behind a proxy",
        400,
        4000,
        "X-HTTP-Method-Override names the method",
        method="POST",
        target="/v2/sheets/Cities",
        headers=(*JSON_HEADERS, ("X-HTTP-Method-Override", "DELETE")),
        body=b'{"name": "Austin"}',
    ),
    refused(
        "method-override",
        "a form of a framework",
        400,
        4000,
        "_method in the form names the method",
        method="POST",
        target="/v2/sheets/Cities/2",
        headers=(*USUAL, FORM),
        body=b"_method=DELETE",
    ),
    refused(
        "not-a-number",
        "a template string without its value",
        400,
        4002,
        "limit must be a whole number",
        target="/v2/sheets/Cities?limit=undefined&skip=NaN",
    ),
    refused(
        "misspelt-parameter",
        "a name in capitals",
        400,
        4002,
        "send limit instead",
        target="/v2/sheets/Cities?Limit=5",
    ),
    *[
        refused(
            "other-operation",
            f"{method} with a filter",
            400,
            4002,
            "where is not a parameter of",
            method=method,
            target=f"/v2/sheets/Cities/2?{NOBODY}",
            headers=JSON_HEADERS,
            body=AUSTIN,
        )
        for method in ("PATCH", "PUT", "POST")
    ],
    refused(
        "other-operation",
        "a create with an empty filter",
        400,
        4002,
        "where is not a parameter of a create",
        method="POST",
        target="/v2/sheets/Cities?where=",
        headers=JSON_HEADERS,
        body=AUSTIN,
    ),
    *[
        refused(
            "other-service",
            client,
            400,
            4002,
            f"with {right}",
            target=f"/v2/sheets/Cities?{query}",
        )
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
        refused(
            "field-as-parameter",
            client,
            400,
            4002,
            "send where",
            target=f"/v2/sheets/Cities?{query}",
        )
        for client, query in [
            ("a filter of SheetDB", "state=Texas"),
            ("a filter of PostgREST", "state=eq.Texas"),
            ("a range of json-server", "population_gte=1000000"),
            ("a filter with brackets", "state[eq]=Texas"),
            ("a filter in capitals", "State=Texas"),
        ]
    ],
    refused(
        "no-such-keys",
        "a renamed column",
        400,
        4002,
        'its fields are rowIndex, "name"',
        target="/v2/sheets/Cities?keys=town",
    ),
    *[
        refused(
            "filter-of-all",
            f"an empty input, {where}",
            400,
            4002,
            '{"rowIndex":{"$gte":2}}',
            method="PATCH",
            target=f"/v2/sheets/Cities?where={quote(where)}",
            headers=JSON_HEADERS,
            body=AUSTIN,
        )
        for where in (
            '{"name":{"$text":""}}',
            '{"name":{"$nin":[]}}',
            '{"$not":{"name":{"$in":[]}}}',
        )
    ],
    refused(
        "pasted-url",
        "the address of the spreadsheet",
        400,
        101,
        "between /d/ and /edit",
        headers=(
            USUAL[0],
            ("X-Spreadsheet-Id", "https://docs.google.com/spreadsheets/d/demo/edit"),
        ),
    ),
    refused(
        "two-slashes",
        "a base URL that ends with a slash",
        404,
        4040,
        "/v2/sheets/{sheetName}",
        target="/v2//sheets/Cities",
    ),
    refused(
        "no-worksheet",
        "a name that never came",
        404,
        4040,
        "",
        target="/v2/sheets/",
    ),
]
