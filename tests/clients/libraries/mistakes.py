"""Cases of common mistakes: wrong settings and arguments, which are errors before a request."""

import json
from collections import UserString
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from tests.clients.case import KEY
from tests.clients.libraries.case import (
    PYTHON,
    TYPESCRIPT,
    URL,
    Case,
    Step,
    call,
    case,
    fails,
    mistake,
    quoted,
    tagged,
)
from tests.clients.libraries.failures import READ
from tests.clients.libraries.senders import Call, camel

CIRCULAR: list[object] = []
CIRCULAR.append(CIRCULAR)


def numpy_like() -> object:
    """Return an object whose type has the name and module of a NumPy boolean, and `item`."""
    return type("bool", (), {"__module__": "numpy", "item": lambda _: True})()


def refused(name: str, steps: Sequence[Step], **members: Any) -> Case:
    """Return a case whose calls raise an error without a request."""
    return case(name, steps=steps, requests=0, **members)


def of_header(python: str, typescript: str, value: object) -> tuple[str, str]:
    """Return words of the errors for a value that cannot be sent in a header."""
    words = "is not visible ASCII text."
    return (
        f"{python} {value!r} {words}",
        f"{typescript} {json.dumps(value, ensure_ascii=False)} {words}",
    )


def unusable(
    client: Mapping[str, Any],
    words: str,
    typescript: str | None = None,
    *,
    hides: str | None = None,
) -> Case:
    """Return a case of an invalid setting, which is an error when the client is created.

    The message does not contain `hides`.
    """
    expected = mistake(words, typescript, hides=hides)
    return refused(f"{client} is an error", [(call("get", 2), expected)], client=client)


_SETTINGS: Sequence[Case] = [
    *[
        case(
            f"{client} is accepted with blanks, slashes or capitals",
            client=client,
            steps=READ.steps,
            sent={"path": ["/v2/sheets/Cities/2"]},
        )
        for client in (
            {"base_url": f"{URL}/"},
            {"base_url": f"{URL}//"},
            {"base_url": f" {URL}\n"},
            {"base_url": URL.upper()},
            {"api_key": f" {KEY}"},
            {"api_key": f"\t{KEY}\r\n"},
            {"spreadsheet_id": " demo\r\n"},
        )
    ],
    *[
        unusable({"api_key": key}, "The API key is missing. Pass", "apiKey is missing. Pass")
        for key in (None, " \n")
    ],
    *[
        unusable({"base_url": url}, "The base URL is missing. Pass", "baseUrl is missing. Pass")
        for url in (None, "")
    ],
    *[
        unusable({"base_url": url}, *quoted(url, "is not valid. Pass http:// or https://"))
        for url in (
            "localhost:8000",
            "127.0.0.1",
            "/v2",
            "ftp://localhost",
            "http://",
            "http:///x",
            "http://local host",
            "http://localhost:99999",
            "http://localhost:port",
        )
    ],
    *[
        unusable({"base_url": f"http:{rest}"}, "The base URL must not have", hides="sec")
        for rest in (
            "//user:secret@example.org",
            "//user:sec/ret@example.org",
            "//h/?token=secret",
            "//h/#secret",
        )
    ],
    *[
        unusable(
            {"spreadsheet_id": given}, *of_header("spreadsheet_id", "spreadsheetId", given.strip())
        )
        for given in ("a b", "a\nb", "tabellé", " ")
    ],
    unusable({"spreadsheet_id": 7}, *of_header("spreadsheet_id", "spreadsheetId", 7)),
    unusable({"api_key": "Bearer sgw_x"}, 'Remove blanks and "Bearer".', hides="sgw"),
    *[
        unusable({"api_key": key}, "The API key is not visible ASCII text.", hides="sgw")
        for key in ("sgw_\nx", "sgw_é", "sgw a", "sgw_\x7f")
    ],
    *[
        case(
            f"a base URL that ends with {path} is named",
            call("list", where={"name": "x"}),
            fails(
                f"The request went to {URL}{path.rstrip('/')}/v2/sheets/Cities: remove /v2 "
                "and wrong paths from the base URL.",
                code=4040,
            ),
            client={"base_url": f"{URL}{path}"},
        )
        for path in ("/v2", "/v2/", "/v2/sheets", "/api")
    ],
    *[
        refused(
            f"an unknown option of {of} is named",
            [(call("get", 2), mistake(f'"{option}" is not an option here. The options are '))],
            senders=TYPESCRIPT,
            **members,
        )
        for of, option, members in (
            ("a client", "timeout", {"client": {"timeout": 5}}),
            ("retries", "retries", {"client": {"retry": {"retries": 1}}}),
            ("a worksheet", "value", {"of_sheet": {"value": "typed"}}),
        )
    ],
]
_NAMES: Sequence[Case] = [
    refused(
        f"{name!r} is not a worksheet name",
        [(call("list"), mistake(*quoted(name, "cannot be the name of a worksheet.")))],
        sheet=name,
    )
    for name in ("", ".", "..", None, 7)
]
_WRONG_ON: Sequence[Any] = (None, "", [])
_ROW, _UPSERT = "row number", "An upsert needs `on`"
_ARGUMENTS: Sequence[Case] = [
    refused(
        "a wrong row number is an error",
        [
            (asked, mistake(_ROW))
            for asked in (
                *(call("get", at) for at in (0, -1, 2.5, "2", "../Orders/2", True, None)),
                call("update", "../Orders/2", {"name": "x"}),
                call("delete", '?where={"name":"x"}'),
                call("delete", None),
            )
        ],
    ),
    refused(
        "a float is not a row number in Python", [(call("get", 2.0), mistake(_ROW))], senders=PYTHON
    ),
    refused(
        "an upsert without `on` is an error",
        [(call("upsert", {"name": "x"}, on=on), mistake(_UPSERT)) for on in _WRONG_ON],
    ),
    refused(
        "a value that is not a row or filter is named",
        [
            *[
                (asked, mistake(kind, "A row must be an object"))
                for asked, kind in (
                    (call("create", None), "not NoneType"),
                    (call("create", "x"), "not str"),
                    (call("create", [{"name": "x"}, None]), "not NoneType"),
                    (call("create", [["name", "x"]]), "not list"),
                    (call("update", 2, None), "not NoneType"),
                    (call("update_many", None), "not NoneType"),
                    (call("upsert", None, on="name"), "not NoneType"),
                    (call("update_where", {"name": "x"}, None), "not NoneType"),
                )
            ],
            *[
                (asked, mistake("A filter must be a dict", "A filter must be an object"))
                for asked in (
                    call("update_where", None, {"name": "x"}),
                    call("delete_where", None),
                    call("delete_where", "name = 'x'"),
                )
            ],
        ],
    ),
    refused(
        "an Idempotency-Key or ETag that a header cannot have is named",
        [
            (asked, mistake(*of_header(name, camel(name), given)))
            for name, values in (
                ("idempotency_key", ("a\nb", "a b", "a ", "bestell-é", "", 7)),
                ("if_match", ('"a"\n', " ", "é", "", 7)),
            )
            for given in values
            for asked in (
                call("update", 2, {"name": "x"}, **{name: given}),
                call("delete", 2, **{name: given}),
            )
        ],
    ),
    case(
        "several ETags are accepted",
        call("update", 2, {"name": "x"}, if_match='"x", W/"y"'),
        fails(code=4120),
    ),
    refused(
        "a missing argument is named",
        [
            (call("update", 2), mistake("", "A row must be an object")),
            (call("delete"), mistake("", _ROW)),
            (call("upsert", {"name": "x"}), mistake("", _UPSERT)),
            (call("update_where", {"name": "x"}), mistake("", "A row must be an object")),
            (call("delete_where"), mistake("", "A filter must be an object")),
        ],
        senders=TYPESCRIPT,
    ),
    refused(
        "an unknown option, which would change the affected rows, is named",
        [
            (
                asked,
                mistake("", f'"{[*asked.options][-1]}" is not an option here. The options are '),
            )
            for asked in (
                call("list", filter={"name": "x"}),
                call("list", offset=2),
                call("rows", limit=5),
                call("get", 2, fields=["name"]),
                call("create", {"name": "x"}, idempotencykey="k"),
                call("update", 2, {"name": "x"}, ifmatch='"t"'),
                call("update_many", [{"rowIndex": 2, "name": "x"}], ifMatch='"t"'),
                call("upsert", {"name": "x"}, on="name", ignoreexisting=True),
                call("update_where", {"name": "x"}, {"name": "y"}, maxaffected=1),
                call("delete", 2, ifmatch='"t"'),
                call("delete_where", {"name": "x"}, limit=1),
                call("refresh", sheet="Cities"),
                call("worksheets", values="typed"),
                call("schema", format="typescript"),
            )
        ],
        senders=TYPESCRIPT,
    ),
    case(
        "an unknown field of a write is named, with the fields of the worksheet",
        call("update", 2, {"nmae": "x"}),
        fails('its fields are "name"', code=104),
    ),
]


def _uses(value: object) -> Sequence[Call]:
    return [
        call("create", {"name": "x", "population": value}),
        call("create", [{"name": "x"}, {"population": value}]),
        call("update", 2, {"population": value}),
        call("list", where={"population": {"$gte": value}}),
        call("delete_where", {"$or": [{"population": {"$in": [value]}}]}),
    ]


_VALUES: Sequence[Case] = [
    *[
        refused(
            f"{kind} is named with its field",
            [(asked, mistake(f"'population': {words}")) for asked in _uses(value)],
            senders=PYTHON,
        )
        for kind, value, words in (
            ("a date", date(2026, 1, 2), "a date cannot be a cell value. Pass "),
            (
                "a datetime",
                datetime(2026, 1, 2, tzinfo=UTC),
                "a datetime cannot be a cell value.",
            ),
            ("a time", time(12), "a time cannot be a cell value. Pass "),
            ("a Decimal", Decimal("1.10"), "a Decimal cannot be a cell value. Pass float"),
            ("bytes", b"x", "a bytes cannot be a cell value. Pass a str, int"),
            ("a set", {1}, "a set cannot be a cell value. Pass a str, int"),
            ("NaN", float("nan"), "nan cannot be a cell value. Pass None"),
            ("infinity", float("-inf"), "-inf cannot be a cell value."),
            ("a UserString", UserString("x"), "a UserString cannot be a cell value. Pass str("),
            (
                "a value of another module",
                numpy_like(),
                "a numpy.bool cannot be a cell value. Pass value.item()",
            ),
            ("a circular list", CIRCULAR, "the value contains itself, or has over"),
        )
    ],
    refused(
        "an invalid field name is named",
        [
            (call(method, {name: "x"}), mistake(f"{name!r} is not the name of a field"))
            for name in (("a", "b"), None, True, b"a")
            for method in ("create", "delete_where")
        ],
        senders=PYTHON,
    ),
    case(
        "a date as a string is stored as this text, and found by a filter",
        call("create", {"name": "x", "country": "2026-01-02"}),
        tagged(12, {"name": "x", "country": "2026-01-02"}),
        call("list", where={"country": {"$gte": "2026-01-02", "$lt": "2026-01-03"}}, keys=["name"]),
        {"rows": [{"rowIndex": 12, "fields": {"name": "x"}}], "hasNextPage": False},
        changes={"Cities!12.1": "x", "Cities!12.3": "2026-01-02"},
    ),
]

MISTAKES: Sequence[Case] = [*_SETTINGS, *_NAMES, *_ARGUMENTS, *_VALUES]
