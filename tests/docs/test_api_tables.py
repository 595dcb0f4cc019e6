"""The examples in the tables of the API reference find what stands beside them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qsl

import httpx2
import pytest

from gateway.commands.demo import Demo, running_demo
from gateway.commands.options import DEMO_SPREADSHEET
from gateway.query.operators import ALIASES, OPERATORS
from gateway.query.where import COMBINATORS, MAX_CONDITIONS, MAX_DEPTH, NOT
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
    """One for all examples, which write nothing."""
    with running_demo(bind("127.0.0.1", 0), {}) as running:
        yield running


def asked(demo: Demo, query: str) -> httpx2.Response:
    return httpx2.get(
        f"{demo.url}{demo.example.path}",
        params=dict(parse_qsl(query, keep_blank_values=True)),
        headers={"API-Key": demo.full_key, "X-Spreadsheet-Id": DEMO_SPREADSHEET},
    )


def test_every_operator_has_an_example() -> None:
    """Each operator and combinator has a line by all of its names."""
    listed = [name for names, _, _ in CONDITIONS for name in re.findall(r"`(\$\w+)`", names)]

    assert sorted(listed) == sorted({*OPERATORS, *ALIASES, *COMBINATORS, NOT})
    assert [names for names, where, _ in CONDITIONS if names.split("`")[1] not in where] == []


@pytest.mark.parametrize(("names", "where", "rows"), CONDITIONS)
def test_a_condition_finds_these_rows(demo: Demo, names: str, where: str, rows: str) -> None:
    """Those and no others, in the order of the worksheet."""
    found = asked(demo, f"keys=rowIndex&where={where}").json()["results"]

    assert [row["rowIndex"] for row in found] == json.loads(f"[{rows}]")


def test_every_parameter_has_an_example() -> None:
    """Each parameter of a list has a line."""
    document = ["limit", "skip", "cursor", "keys", "order", "where", "count", "values", "no-cache"]

    assert [name for name, _, _ in PARAMETERS] == document


@pytest.mark.parametrize(("name", "query", "text"), PARAMETERS)
def test_a_parameter_has_this_effect(demo: Demo, name: str, query: str, text: str) -> None:
    """The example is of the parameter, and the answer contains the text beside it."""
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
def test_the_parameters_of_an_operation_are_those_of_the_code(line: str) -> None:
    """So are its preferences."""
    found = re.search(rf"^\| {line} \| (.*) \|(.*)\|$", PAGE, re.MULTILINE)
    columns = [re.findall(r"`(.+?)`", text) for text in found.groups()] if found else []

    assert [columns] * len(LISTED[line]) == [
        [[*OPERATIONS[kind].parameters], [*OPERATIONS[kind].preferences]] for kind in LISTED[line]
    ]


def test_every_operation_is_listed() -> None:
    assert {kind for kinds in LISTED.values() for kind in kinds} == set(OPERATIONS)


def test_the_limits_of_where_are_those_of_the_code() -> None:
    """Number of conditions, depth and size."""
    size = f"{MAX_WHERE_BYTES // 1024} KiB"

    assert f"At most {MAX_CONDITIONS} conditions, {MAX_DEPTH} deep, in {size}." in PAGE
