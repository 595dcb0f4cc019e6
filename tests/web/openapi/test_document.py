"""The whole OpenAPI document: always valid, and limited to what the key is allowed to see."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openapi_spec_validator import validate
from openapi_spec_validator.validation.exceptions import OpenAPIValidationError

from gateway.settings.model import ApiSettings, PlanSettings
from gateway.table.header import ALL_COLUMNS, ColumnGrant
from gateway.web.openapi.document import document_of, general_document
from gateway.web.openapi.reach import Reach, reach_of_all
from gateway.worksheets.catalogue import Listed
from tests.counted_work import counting
from tests.web.openapi.worksheets import CITIES, GENERAL, document, reach, worksheet

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["{}", "{rowIndex}", "~/", "..", "$ref", "%2F", "#/components", " ", "\x00", "rowIndex", "<b>"]
)
WORKSHEETS = st.builds(worksheet, TEXTS.filter(bool), TEXTS, TEXTS, TEXTS)
BOOKS = st.lists(WORKSHEETS, max_size=4, unique_by=lambda each: each.title)
GRANTS = st.builds(
    ColumnGrant,
    st.none() | st.frozensets(TEXTS, max_size=2),
    st.none() | st.frozensets(TEXTS, max_size=2),
)
PLANS = st.builds(
    PlanSettings,
    where_and_order=st.booleans(),
    writes=st.booleans(),
    deletes=st.booleans(),
    max_affected=st.integers(0, 1),
    require_if_match=st.booleans(),
)
APIS = st.builds(
    ApiSettings,
    empty_cell=st.sampled_from(["null", "", "omit"]),
    unknown_fields=st.sampled_from(["reject", "ignore"]),
)


DELETING = PlanSettings(deletes=True)
CAREFUL = PlanSettings(deletes=True, require_if_match=True)
RIGHTS = ["create", "update", "delete", "create, delete", "update, delete"]
"""Rights, in addition to `read`, of keys made with `--may`."""

INSTRUCTIONS_OF_COLUMN = 600
INSTRUCTIONS_OF_WORKSHEET = 25_000


def reach_with(rights: str) -> Reach:
    """Return the reach of a key with `read` and these rights."""
    return replace(reach(plan=DELETING), rights=frozenset(rights.split(", ")))


def references(node: object) -> Iterator[str]:
    """Yield all `$ref` values in a node, except a property whose name is `$ref`."""
    if isinstance(node, dict):
        for name, inner in node.items():
            if name == "$ref" and isinstance(inner, str):
                yield inner
            else:
                yield from references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from references(inner)


def methods(told: dict[str, Any]) -> set[tuple[str, str]]:
    """Return path and method of each operation on worksheets and rows."""
    return {
        (path, method)
        for path, item in told["paths"].items()
        for method in item
        if path.startswith("/v2/") and method != "parameters"
    }


@given(APIS)
@settings(max_examples=6)
def test_the_general_document_is_valid(api: ApiSettings) -> None:
    """The general document is valid OpenAPI for any API settings."""
    validate(json.loads(general_document(reach_of_all(api)).body))


@given(BOOKS, PLANS, GRANTS, APIS, st.sampled_from(["read_only", "may_delete", ""]))
@settings(max_examples=25)
def test_the_document_of_a_key_is_valid(
    book: list[Listed], plan: PlanSettings, columns: ColumnGrant, api: ApiSettings, right: str
) -> None:
    """A key's document is valid OpenAPI for any titles, headers and grants."""
    told = document(
        reach(
            plan=plan,
            columns=columns,
            api=api,
            read_only=right == "read_only",
            may_delete=right == "may_delete",
        ),
        *book,
    )

    validate(told)
    served = [each for each in book if each.header.columns]
    assert len([path for path in told["paths"] if path.startswith("/v2/sheets/")]) == 3 * len(
        served
    )


def test_an_invalid_document_is_found() -> None:
    """The validator of these tests rejects an invalid document."""
    told = document()
    told["paths"]["/livez"]["get"]["responses"]["200"] = {"headers": {}}

    with pytest.raises(OpenAPIValidationError):
        validate(told)


@pytest.mark.parametrize(
    "told",
    [
        GENERAL,
        reach(),
        reach(read_only=True),
        reach(plan=DELETING, may_delete=True),
        reach(plan=CAREFUL, may_delete=True),
        reach(plan=PlanSettings(max_affected=0)),
        reach(plan=PlanSettings(where_and_order=False)),
        *map(reach_with, RIGHTS),
    ],
    ids=["general", "key", "read-only", "delete", "If-Match", "no filters", "free", *RIGHTS],
)
def test_every_component_is_used(told: Reach) -> None:
    """Every component is referenced, and every `$ref` names an existing component."""
    whole = document(told, CITIES)
    there = {
        f"#/components/{kind}/{name}"
        for kind, named in whole["components"].items()
        if kind != "securitySchemes"
        for name in named
    }

    used = set(references(whole))
    assert used <= there
    assert there - used <= {
        f"#/components/headers/{name}" for name in ("X-Ignored-Fields", "Allow")
    } | {"#/components/headers/Idempotent-Replayed", "#/components/headers/Location"}


def test_operation_ids_are_unique() -> None:
    """`operationId` is unique, even if titles resemble the prefixes and suffixes of other IDs."""
    titles = ("Cities", "cities", "yz", "CitiesPut", "Rows", "Row", "Is", "isAlive")
    told = document(
        reach(plan=DELETING, may_delete=True), *(worksheet(title, "a") for title in titles)
    )

    names = [
        operation["operationId"]
        for item in told["paths"].values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert len(names) == len(set(names)) == 10 * len(titles) + 3


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(reach(), {"get", "post", "put", "patch"}, id="all"),
        pytest.param(reach(read_only=True), {"get"}, id="read-only key"),
        pytest.param(reach(plan=PlanSettings(writes=False)), {"get"}, id="plan without writes"),
        pytest.param(
            reach(columns=ColumnGrant(None, frozenset())), {"get"}, id="no writable column"
        ),
    ],
)
def test_the_document_has_only_allowed_operations(told: Reach, expected: set[str]) -> None:
    """A key's document has a write only if key, plan and columns allow the write."""
    found = methods(document(told, CITIES))

    assert {method for _, method in found} == expected


@pytest.mark.parametrize(
    ("told", "of_rows", "of_row"),
    [
        pytest.param(reach(), {"patch"}, set(), id="without deletes"),
        pytest.param(
            reach(plan=DELETING, may_delete=True), {"patch", "delete"}, {"delete"}, id="all"
        ),
        pytest.param(reach(may_delete=True), {"patch"}, set(), id="plan without deletes"),
        pytest.param(reach(plan=DELETING), {"patch"}, set(), id="key without deletes"),
        pytest.param(
            reach(plan=DELETING, may_delete=True, read_only=True),
            {"delete"},
            {"delete"},
            id="reads and deletes",
        ),
        pytest.param(reach(plan=CAREFUL, may_delete=True), set(), {"delete"}, id="If-Match"),
        pytest.param(
            reach(plan=PlanSettings(deletes=True, max_affected=0), may_delete=True),
            {"patch"},
            {"delete"},
            id="no filters",
        ),
    ],
)
def test_writes_of_several_rows_follow_the_rights(
    told: Reach, of_rows: set[str], of_row: set[str]
) -> None:
    """Upserts and writes of several rows are absent if the plan requires `If-Match`."""
    paths = document(told, CITIES)["paths"]
    rows, row = paths["/v2/sheets/Cities"], paths["/v2/sheets/Cities/{rowIndex}"]
    creates = json.dumps(rows.get("post"))

    assert {"patch", "delete"} & {*rows} == of_rows
    assert {"delete"} & {*row} == of_row
    assert ("on_conflict" in creates) == ("patch" in of_rows)


@pytest.mark.parametrize(
    ("plan", "has_filter"),
    [
        pytest.param(PlanSettings(), True, id="filters"),
        pytest.param(PlanSettings(max_affected=0), False, id="no rows"),
        pytest.param(PlanSettings(where_and_order=False), False, id="no searches"),
    ],
)
def test_filters_of_writes_follow_the_plan(plan: PlanSettings, has_filter: bool) -> None:
    """If the plan has no filters, PATCH takes only a list of rows."""
    change = document(reach(plan=plan), CITIES)["paths"]["/v2/sheets/Cities"]["patch"]
    body = change["requestBody"]["content"]["application/json"]["schema"]

    assert ("where" in [each.get("name") for each in change["parameters"]]) is has_filter
    assert ("oneOf" in body) is has_filter


def test_a_key_of_no_worksheet_gets_a_document_without_any() -> None:
    """Without a visible worksheet, the document has only `/v2/sheets`, `/livez` and `/readyz`."""
    told = document(reach(worksheets=frozenset({"Missing"})), CITIES)

    validate(told)
    assert [*told["paths"]] == ["/v2/sheets", "/livez", "/readyz"]


@pytest.mark.parametrize(
    ("told", "alike"),
    [
        pytest.param(reach(worksheets=frozenset({"Cities"})), [CITIES], id="worksheets"),
        pytest.param(
            reach(columns=ColumnGrant(frozenset({"name"}))),
            [
                worksheet("Secret!", "name"),
                worksheet("Cities", "name"),
                worksheet("Secret?", "name"),
            ],
            id="columns",
        ),
    ],
)
def test_hidden_worksheets_and_columns_leave_no_trace(told: Reach, alike: Sequence[Listed]) -> None:
    """A key's document equals the document of a spreadsheet without what the key cannot see."""
    hush = worksheet("Secret!", "hush", "name")
    listed = [hush, CITIES, worksheet("Secret?", "name", "population")]

    body = document_of(told, listed).body
    assert b"hush" not in body
    assert b"population" not in body or told.columns == ALL_COLUMNS
    assert body == document_of(told, alike).body


def test_the_document_names_only_a_requested_spreadsheet() -> None:
    """The spreadsheet ID is only in the document if the request has sent that ID."""
    told = [reach(spreadsheets=frozenset({"s3cr3t"}), named=named) for named in (None, "s3cr3t")]

    assert [b"s3cr3t" in document_of(each, [CITIES]).body for each in told] == [False, True]


def test_the_tag_depends_on_the_bytes() -> None:
    """Equal documents have equal ETags, and different documents have different ETags."""
    one, same, other = (
        document_of(reach(), [CITIES]),
        document_of(reach(), [worksheet("Cities", *CITIES.header.cells)]),
        document_of(reach(), [worksheet("Cities", "name")]),
    )

    assert one == same
    assert one.tag != other.tag


def test_the_server_url_is_relative() -> None:
    """The server URL is relative to the document, so it works behind any proxy."""
    assert document()["servers"] == [{"url": "./"}]


@pytest.mark.parametrize(("worksheets", "columns"), [(2, 500), (20, 50)])
def test_work_is_linear_in_columns(worksheets: int, columns: int) -> None:
    """1,000 columns take equal work in few wide worksheets and in many narrow worksheets."""
    book = [worksheet(f"S{n}", *(f"column {c}" for c in range(columns))) for n in range(worksheets)]
    document_of(reach(), book[:1])  # parts that all documents share are built once
    with counting() as instructions:
        document_of(reach(), book)

    most = 1000 * INSTRUCTIONS_OF_COLUMN + worksheets * INSTRUCTIONS_OF_WORKSHEET
    assert instructions.count < most


def test_many_wide_worksheets_are_described_in_a_few_megabytes() -> None:
    """The document of 50 worksheets with 1,000 columns each is smaller than 10 MB."""
    book = [worksheet(f"S{n}", *(f"column {c}" for c in range(1000))) for n in range(50)]
    encoded = document_of(reach(), book)

    assert len(encoded.body) < 10_000_000
    assert len(json.loads(encoded.body)["components"]["schemas"]["S49Row"]["properties"]) == 1001
