"""Every operation with every parameter, header and kind of body: an effect, or a refusal.

Rules: each case is a cell of a table. A cell without an effect is a refusal: its status and code,
no call, and nothing written.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest

from gateway.storage.key_store import Grants, KeyRequest
from gateway.telemetry.events import RequestKind
from gateway.web.operations import OPERATIONS
from gateway.web.signature import PARAMETERS
from tests.asgi_client import Answer
from tests.journeys.failure import refused
from tests.surfaces.stage import GRANTED, Headers, Surface, open_surface
from tests.web.openapi.conformance import resolved
from tests.web.openapi.worksheets import document

ROW = b'{"name":"Chicago","state":"x","population":7}'
ROWS = b"[" + ROW + b"]"
NUMBERED = b'[{"rowIndex":2,"state":"x","population":7}]'
FORM = ("Content-Type", "application/x-www-form-urlencoded")
JSON = ("Content-Type", "application/json")
MULTIPART = ("Content-Type", "multipart/form-data; boundary=b")
CHICAGO = 'where={"name":"Chicago"}'


@dataclass(frozen=True)
class Sent:
    """A valid request, to which each case adds a parameter, header or body."""

    kind: RequestKind
    method: str
    path: str
    query: str = ""
    body: bytes = b""

    def to(
        self, surface: Surface, query: str = "", headers: Headers = (), body: bytes | None = None
    ) -> Answer:
        """Return the answer. `query` replaces the parameter of the request with the same name."""
        is_own = bool(query) and self.query.startswith(query[:5])
        target = f"{self.path}?{'&'.join(filter(None, ['' if is_own else self.query, query]))}"
        sent = self.body if body is None else body
        return surface.send(self.method, target, key="staff", headers=headers, body=sent)


SENT: Mapping[str, Sent] = {
    "list": Sent("list", "GET", "Cities"),
    "list by HEAD": Sent("list", "HEAD", "Cities"),
    "export": Sent("export", "GET", "Cities", "format=csv"),
    "export by HEAD": Sent("export", "HEAD", "Cities", "format=csv"),
    "read": Sent("read", "GET", "Cities/4"),
    "read by HEAD": Sent("read", "HEAD", "Cities/4"),
    "create": Sent("create", "POST", "Cities", body=ROW),
    "create of a list": Sent("create", "POST", "Cities", body=ROWS),
    "upsert": Sent("upsert", "POST", "Cities", "on_conflict=name", ROW),
    "put": Sent("update", "PUT", "Cities/4", body=ROW),
    "patch": Sent("update", "PATCH", "Cities/4", body=ROW),
    "post": Sent("update", "POST", "Cities/4", body=ROW),
    "update of a list": Sent("update_rows", "PATCH", "Cities", body=NUMBERED),
    "update by filter": Sent("update_where", "PATCH", "Cities", CHICAGO, ROW),
    "delete": Sent("delete", "DELETE", "Cities/4"),
    "delete by filter": Sent("delete_where", "DELETE", "Cities", CHICAGO),
    "refresh": Sent("refresh", "POST", "Cities/refresh"),
    "worksheets": Sent("worksheets", "GET", "/v2/sheets"),
    "worksheets by HEAD": Sent("worksheets", "HEAD", "/v2/sheets"),
    "schema": Sent("schema", "GET", "Cities/schema"),
    "schema by HEAD": Sent("schema", "HEAD", "Cities/schema"),
}
KINDS_OF_WRITES: Sequence[RequestKind] = [
    kind for kind, operation in OPERATIONS.items() if operation.is_write
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """Open the application with a key that has every right."""
    key = KeyRequest(
        name="staff",
        plan="staff",
        grants=Grants(spreadsheets=GRANTED, may_delete=True, may_refresh=True),
    )
    plans = {"plans.staff.deletes": True, "plans.staff.requests_per_minute": 0}
    with open_surface(tmp_path_factory.mktemp("operations"), {"staff": key}, plans) as surface:
        yield surface


def names(answer: Answer) -> list[str]:
    return [record["name"] for record in answer.json()["results"]]


def exported(answer: Answer) -> list[str]:
    return [record["name"] for record in csv.DictReader(answer.content.decode().splitlines())]


def exported_fields(answer: Answer) -> list[str]:
    return answer.content.decode().splitlines()[0].split(",")


def fields(answer: Answer) -> list[str]:
    found = answer.json()
    return [*(found["results"][0] if "results" in found else found)]


def is_read(answer: Answer) -> bool:
    """True if the answer has rows. Their freshness needs another clock."""
    return answer.status_code == 200


def has_one(answer: Answer) -> bool:
    found: int = answer.json()["count"]
    return found == 1


def is_updated(answer: Answer) -> bool:
    return answer.json()["results"][0]["created"] is False


def is_typed(answer: Answer) -> bool:
    """True if each record has its population as a number."""
    found = answer.json()
    records = found.get("results", [found])
    return all(type(record["population"]) is int for record in records)


Effect = Callable[[Answer], bool]

OF_FILTERS: Mapping[str, Effect] = {
    CHICAGO: has_one,
    "where[name]=Chicago": has_one,
    "max-affected=0": lambda answer: refused(answer) == (400, 4005),
    "values=typed": has_one,
}
EFFECTS: Mapping[RequestKind, Mapping[str, Effect]] = {
    "list": {
        CHICAGO: lambda answer: names(answer) == ["Chicago"],
        "where[name]=Chicago": lambda answer: names(answer) == ["Chicago"],
        "order=name": lambda answer: names(answer) == ["Chicago", "Los Angeles", "New York"],
        "order[]=name": lambda answer: names(answer) == ["Chicago", "Los Angeles", "New York"],
        "cursor=": lambda answer: answer.json()["cursor"] is None,
        "skip=2": lambda answer: names(answer) == ["Chicago"],
        "limit=1": lambda answer: names(answer) == ["New York"],
        "keys=state": lambda answer: fields(answer) == ["rowIndex", "state"],
        "keys[]=state": lambda answer: fields(answer) == ["rowIndex", "state"],
        "count=true": lambda answer: answer.json()["total"] == 3,
        "values=typed": is_typed,
        "no-cache=true": is_read,
    },
    "export": {
        CHICAGO: lambda answer: exported(answer) == ["Chicago"],
        "where[name]=Chicago": lambda answer: exported(answer) == ["Chicago"],
        "order=name": lambda answer: exported(answer) == ["Chicago", "Los Angeles", "New York"],
        "order[]=name": lambda answer: exported(answer) == ["Chicago", "Los Angeles", "New York"],
        "skip=2": lambda answer: exported(answer) == ["Chicago"],
        "limit=1": lambda answer: exported(answer) == ["New York"],
        "keys=state": lambda answer: exported_fields(answer) == ["rowIndex", "state"],
        "keys[]=state": lambda answer: exported_fields(answer) == ["rowIndex", "state"],
        "values=typed": is_read,
        "no-cache=true": is_read,
        "format=json": lambda answer: names(answer) == ["New York", "Los Angeles", "Chicago"],
        "formulas=raw": is_read,
    },
    "read": {
        "keys=state": lambda answer: fields(answer) == ["rowIndex", "state"],
        "keys[]=state": lambda answer: fields(answer) == ["rowIndex", "state"],
        "values=typed": is_typed,
        "no-cache=true": is_read,
    },
    "create": {"values=typed": is_typed},
    "update": {"values=typed": is_typed},
    "update_rows": {"values=typed": is_typed},
    "delete": {"values=typed": lambda answer: answer.status_code == 204},
    "upsert": {
        "values=typed": is_typed,
        "on_conflict=name": is_updated,
        "on_conflict[]=name": is_updated,
    },
    "update_where": OF_FILTERS,
    "delete_where": OF_FILTERS,
    "schema": {
        "format=json": lambda answer: "properties" in answer.json(),
        "format=typescript": lambda answer: b"export interface Cities" in answer.content,
    },
}
VALUES = sorted({value for effects in EFFECTS.values() for value in effects})
MEANT: Mapping[tuple[RequestKind, str], RequestKind] = {
    ("create", "on_conflict"): "upsert",
    ("list", "format"): "export",
    ("update_rows", "where"): "update_where",
}
"""Operations into which a parameter turns other operations."""


def name_of(value: str) -> str:
    return value.partition("=")[0].partition("[")[0]


def test_the_table_has_every_parameter() -> None:
    """The table has the parameters of every operation, and no others."""
    effects = {kind: set(map(name_of, EFFECTS.get(kind, ()))) for kind in OPERATIONS}

    assert effects == {kind: set(each.parameters) for kind, each in OPERATIONS.items()}
    assert set().union(*effects.values()) == set(PARAMETERS)


@pytest.mark.parametrize(
    ("path", "method", "kinds"),
    [
        ("", "get", ["list", "export"]),
        ("", "post", ["create", "upsert"]),
        ("", "patch", ["update_rows", "update_where"]),
        ("", "delete", ["delete_where"]),
        ("/{rowIndex}", "get", ["read"]),
        ("/{rowIndex}", "patch", ["update"]),
        ("/{rowIndex}", "delete", ["delete"]),
        ("/schema", "get", ["schema"]),
    ],
)
def test_the_document_has_the_same_parameters(
    path: str, method: str, kinds: Sequence[RequestKind]
) -> None:
    """`/openapi.json` lists the parameters of the table of operations."""
    told = document()
    operation = told["paths"][f"/v2/sheets/{{sheetName}}{path}"][method]
    documented = [resolved(told, each) for each in operation["parameters"]]

    assert {each["name"] for each in documented if each["in"] == "query"} == {
        name for kind in kinds for name in OPERATIONS[kind].parameters
    }


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", SENT)
def test_a_parameter_has_its_effect_or_is_refused(surface: Surface, name: str, value: str) -> None:
    """A parameter of another operation is rejected without a call."""
    sent, cells = SENT[name], surface.cells()
    kind = MEANT.get((sent.kind, name_of(value)), sent.kind)
    effect = EFFECTS.get(kind, {}).get(value)
    is_list_by_filter = sent.kind == "update_rows" and kind == "update_where"

    answer = sent.to(surface, value)

    if effect is None or is_list_by_filter:
        assert (answer.status_code, surface.calls.reads, surface.calls.writes) == (400, 0, 0)
        assert surface.cells() == cells
    if is_list_by_filter:
        assert refused(answer) == (400, 104)
    elif effect is None and sent.method != "HEAD":
        assert refused(answer) == (400, 4002)
    elif effect is not None:
        assert is_read(answer) if sent.method == "HEAD" else effect(answer)


DATE = "Wed, 25 Nov 2026 22:00:00 GMT"
HEADERS: Mapping[str, tuple[str, str]] = {
    "if-match tag": ("If-Match", '"another"'),
    "if-match any": ("If-Match", "*"),
    "if-none-match": ("If-None-Match", "*"),
    "if-unmodified-since": ("If-Unmodified-Since", DATE),
    "if-modified-since": ("If-Modified-Since", DATE),
    "bad idempotency-key": ("Idempotency-Key", "two words"),
    "x-idempotency-key": ("X-Idempotency-Key", "order-7"),
    "max-affected": ("Prefer", "max-affected=0"),
    "resolution": ("Prefer", "resolution=ignore-duplicates"),
    "rollback": ("Prefer", "return=minimal, tx=rollback"),
    "dry run": ("Prefer", "dry-run"),
    "misspelt": ("Prefer", "max_affected=0"),
    "unreadable": ("Prefer", "max-affected=0 9"),
    "another": ("Prefer", "return=minimal"),
    "method": ("X-HTTP-Method-Override", "DELETE"),
    "spreadsheet": ("X-Spreadsheet-Id", "another"),
    "key": ("API-Key", "sgw_another"),
    "coding": ("Content-Encoding", "gzip"),
}
REFUSED: Mapping[str, Mapping[RequestKind, tuple[int, int]]] = {
    "if-match tag": {
        **dict.fromkeys(("update", "delete"), (412, 4120)),
        **dict.fromkeys(
            ("create", "upsert", "update_rows", "update_where", "delete_where"), (400, 4000)
        ),
    },
    "if-match any": dict.fromkeys(("create", "upsert"), (400, 4000)),
    "if-none-match": dict.fromkeys(KINDS_OF_WRITES, (400, 4000)),
    "if-unmodified-since": dict.fromkeys(KINDS_OF_WRITES, (400, 4000)),
    **dict.fromkeys(
        ("bad idempotency-key", "x-idempotency-key"), dict.fromkeys(KINDS_OF_WRITES, (400, 4004))
    ),
    "max-affected": {
        **dict.fromkeys(KINDS_OF_WRITES, (400, 4000)),
        **dict.fromkeys(("update_where", "delete_where"), (400, 4005)),
    },
    "resolution": {kind: (400, 4000) for kind in KINDS_OF_WRITES if kind != "upsert"},
    **dict.fromkeys(
        ("rollback", "dry run", "misspelt", "unreadable"),
        dict.fromkeys(KINDS_OF_WRITES, (400, 4000)),
    ),
    "method": {
        kind: (400, 4000) for kind, each in OPERATIONS.items() if "DELETE" not in each.methods
    },
    "spreadsheet": dict.fromkeys(OPERATIONS, (400, 4001)),
    "key": {
        **dict.fromkeys(OPERATIONS, (400, 4001)),
        **dict.fromkeys(("delete", "delete_where"), (405, 4051)),  # without a key there are none
    },
    "coding": dict.fromkeys(
        ("create", "upsert", "update", "update_rows", "update_where"), (415, 4150)
    ),
}
"""Rejected headers. Reads and reports ignore headers of writes, and `If-None-Match: *` is a 304."""


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("name", SENT)
def test_a_header_has_its_effect_or_is_refused(surface: Surface, name: str, header: str) -> None:
    """A rejected write writes nothing. Other writes are carried out once."""
    sent, cells = SENT[name], surface.cells()
    refusal = REFUSED.get(header, {}).get(sent.kind)

    answer = sent.to(surface, headers=[HEADERS[header]])

    if refusal is not None:
        assert answer.status_code == refusal[0]
        assert sent.method == "HEAD" or refused(answer) == refusal
        assert (surface.cells(), surface.calls.writes) == (cells, 0)
    elif sent.kind in KINDS_OF_WRITES:
        assert answer.status_code in (200, 201, 204)
        assert surface.calls.writes == (0 if header == "resolution" else 1)
    elif header == "if-none-match" and sent.kind not in ("export", "refresh"):
        assert answer.status_code == 304
    else:
        assert answer.status_code in (200, 202)


BODIES: Mapping[str, tuple[tuple[str, str], bytes]] = {
    "object": (JSON, ROW),
    "list": (JSON, ROWS),
    "numbered list": (JSON, NUMBERED),
    "form": (FORM, b"name=Chicago&state=x"),
    "nothing": (JSON, b""),
    "null": (JSON, b"null"),
    "number": (JSON, b"7"),
    "text": (JSON, b'"x"'),
    "broken": (JSON, b'{"name":"Chicago"'),
    "multipart": (
        MULTIPART,
        b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nx\r\n--b--',
    ),
}
TAKEN: Mapping[RequestKind, Sequence[str]] = {
    "create": ("object", "list", "numbered list", "form"),
    "upsert": ("object", "list", "form"),
    "update": ("object", "form"),
    "update_rows": ("numbered list",),
    "update_where": ("object", "form"),
}
"""Content types that writes accept. Reads, deletes and reports ignore a body."""


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("name", SENT)
def test_a_body_is_written_or_refused(surface: Surface, name: str, kind: str) -> None:
    """A write rejects another type of body. Operations without a body ignore it."""
    sent, cells = SENT[name], surface.cells()
    content_type, body = BODIES[kind]

    answer = sent.to(surface, headers=[content_type], body=body)

    if kind in TAKEN.get(sent.kind, (kind,)):
        assert answer.status_code in (200, 201, 202, 204)
        assert surface.calls.writes == (sent.kind in KINDS_OF_WRITES)
    else:
        assert refused(answer) in [(400, 104), (405, 4051), (415, 4150)]
        assert (surface.cells(), surface.calls.writes) == (cells, 0)
