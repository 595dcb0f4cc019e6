"""Examples in the tables of the API reference have the documented results."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qsl

import httpx2
import pytest

from gateway.commands.demo import Demo, running_demo
from gateway.commands.options import DEMO_SPREADSHEET
from gateway.query.operators import ALIASES, OPERATORS
from gateway.query.query import COMBINATORS, MAX_CONDITIONS, MAX_DEPTH, NOT
from gateway.server.sockets import bind
from gateway.telemetry.events import RequestKind
from gateway.web.operations import OPERATIONS
from gateway.web.parameters import MAX_WHERE_BYTES
from tests.docs.blocks import TOP

PAGE = (TOP / "docs" / "reference" / "api.md").read_text("utf-8")
_CONDITION = re.compile(r"^\| (`\$.*?) \| .*? \| `(\{.*\})` \| ([\d, ]+) \|$", re.MULTILINE)
_PARAMETER = re.compile(r"^\| `([a-z-]+)` \| .* \| `\?(.+?)` \| `(.+)` \|$", re.MULTILINE)
CONDITIONS = _CONDITION.findall(PAGE)
PARAMETERS = _PARAMETER.findall(PAGE)


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """Run one demo for all examples, which write nothing."""
    with running_demo(bind("127.0.0.1", 0), {}) as running:
        yield running


def asked(demo: Demo, query: str) -> httpx2.Response:
    return httpx2.get(
        f"{demo.url}{demo.example.path}",
        params=dict(parse_qsl(query, keep_blank_values=True)),
        headers={"API-Key": demo.full_key, "X-Spreadsheet-Id": DEMO_SPREADSHEET},
    )


def test_every_operator_has_an_example() -> None:
    """The table of conditions has a line for each operator and combinator, with all aliases."""
    listed = [name for names, _, _ in CONDITIONS for name in re.findall(r"`(\$\w+)`", names)]

    assert sorted(listed) == sorted({*OPERATORS, *ALIASES, *COMBINATORS, NOT})
    assert [names for names, where, _ in CONDITIONS if names.split("`")[1] not in where] == []


@pytest.mark.parametrize(("names", "where", "rows"), CONDITIONS)
def test_a_condition_finds_these_rows(demo: Demo, names: str, where: str, rows: str) -> None:
    """The example of each condition finds exactly the documented rows, in worksheet order."""
    found = asked(demo, f"keys=rowIndex&where={where}").json()["results"]

    assert [row["rowIndex"] for row in found] == json.loads(f"[{rows}]")


def test_every_parameter_has_an_example() -> None:
    """The table of parameters has a line for each parameter of a list, in order."""
    document = ["limit", "skip", "cursor", "keys", "order", "where", "count", "values", "no-cache"]

    assert [name for name, _, _ in PARAMETERS] == document


@pytest.mark.parametrize(("name", "query", "text"), PARAMETERS)
def test_a_parameter_has_this_effect(demo: Demo, name: str, query: str, text: str) -> None:
    """The example of each parameter uses the parameter, and its answer contains the
    documented text.
    """
    assert name in dict(parse_qsl(query, keep_blank_values=True))
    assert text in asked(demo, query).text


LISTED: Mapping[str, Sequence[RequestKind]] = {
    "list": ["list"],
    "export": ["export"],
    "read of a row": ["read"],
    "create, update of a row or of a list, delete of a row": [
        *("create", "update", "update_rows", "delete")
    ],
    "refresh, list of worksheets": ["refresh", "worksheets"],
    "schema": ["schema"],
    "upsert": ["upsert"],
    "update or delete by filter": ["update_where", "delete_where"],
}


@pytest.mark.parametrize("line", LISTED)
def test_the_parameters_of_an_operation_equal_the_code(line: str) -> None:
    """The table of operations lists exactly the parameters and preferences of the code."""
    found = re.search(rf"^\| {line} \| (.*) \|(.*)\|$", PAGE, re.MULTILINE)
    columns = [re.findall(r"`(.+?)`", text) for text in found.groups()] if found else []

    assert [columns] * len(LISTED[line]) == [
        [[*OPERATIONS[kind].parameters], [*OPERATIONS[kind].preferences]] for kind in LISTED[line]
    ]


def test_every_operation_is_listed() -> None:
    """The table of operations lists every operation of the code."""
    assert {kind for kinds in LISTED.values() for kind in kinds} == set(OPERATIONS)


def test_the_limits_of_where_equal_the_code() -> None:
    """The page has the limits of `where` from the code: conditions, depth and size."""
    size = f"{MAX_WHERE_BYTES // 1024} KiB"

    assert f"At most {MAX_CONDITIONS} conditions, {MAX_DEPTH} deep, in {size}." in PAGE
