"""Tests of a client that openapi-python-client generates from /openapi.json.

Rules: the generator is installed from locked versions into its own environment, because it needs
another version of typer than the gateway. Without a package index the tests are skipped, but fail
if `CI` is set.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gateway.settings.model import PlanSettings
from tests.clients.codegen.conftest import TYPED, described, written
from tests.clients.typescript.package import TOP, run, unavailable
from tests.journeys.conftest import Api
from tests.web.openapi.worksheets import document, reach, worksheet

REQUIREMENTS = TOP / "scripts" / "requirements-codegen.txt"
METHODS = ("get", "post", "put", "patch", "delete")
ALIKE = (
    worksheet("My Sheet", "name", "Name", "total sales", "Total_Sales", "-note", "note desc"),
    worksheet("MySheet", "2024", "$", "größe", "名前", "a,b", "class", "self", "rowIndex"),
    worksheet("my-sheet 2", "created", "count", "results", "errors"),
    worksheet("Error", "status"),
    worksheet("Städte 🏙", "type"),
)
"""Worksheets whose titles and field names become equal or empty as Python names."""

USE = """
import json, sys
from made import AuthenticatedClient
from made.api.cities import *
from made.api.cities import (
    change_cities, create_cities, delete_cities, list_cities, read_cities, remove_cities,
    update_cities,
)
from made.models import CitiesChange, CitiesField, CitiesFields, CitiesOrder

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
def show(answer):
    print(json.dumps([type(answer).__name__, answer.to_dict()]))

show(list_cities.sync(
    client=client, where='{"state": "California"}', order=[CitiesOrder.POPULATION_DESC],
    keys=[CitiesField.NAME], limit=2, count=True,
))
austin = create_cities.sync(client=client, body=CitiesFields(name="Austin", population=961855))
show(austin)
show(create_cities.sync(client=client, body=[CitiesFields(name="A"), CitiesFields(name="B")]))
show(create_cities.sync(
    client=client, on_conflict=[CitiesField.NAME],
    body=[CitiesFields(name="A", state="x"), CitiesFields(name="C")],
))
row = austin.row_index
show(update_cities.sync(row, client=client, body=CitiesFields(state="TX", population=None)))
show(read_cities.sync(row, client=client))
show(change_cities.sync(client=client, body=[CitiesChange(row_index=row, state="Texas")]))
show(change_cities.sync(
    client=client, where='{"name": "Austin"}', body=CitiesFields(country="USA"), max_affected=1
))
show(remove_cities.sync(client=client, where='{"name": {"$in": ["A", "B", "C"]}}'))
print(json.dumps(delete_cities.sync_detailed(row, client=client).status_code))
print("errors")
show(create_cities.sync(client=client, body=CitiesFields()))
show(update_cities.sync(2, client=client, body=CitiesFields(name="x" * 50_001)))
show(update_cities.sync(2, client=client, body=CitiesFields(name="x"), if_match='"old"'))
show(read_cities.sync(99, client=client))
show(list_cities.sync(client=client, where='{"town": 1}'))
stranger = AuthenticatedClient(base_url=sys.argv[1], token="sgw_wrong")
show(list_cities.sync(client=stranger))
"""

USE_TYPED = """
import json, sys
from made import AuthenticatedClient
from made.api.orders import create_orders, list_orders, update_orders
from made.models import CreateOrdersValues, ListOrdersValues, OrdersFields, UpdateOrdersValues

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
page = list_orders.sync(client=client, values=ListOrdersValues.TYPED)
ink = page.results[1]
changed = update_orders.sync(
    ink.row_index, client=client, values=UpdateOrdersValues.TYPED,
    body=OrdersFields(price=ink.price + 1.5, due="2024-03-01", note=None),
)
made = create_orders.sync(
    client=client, values=CreateOrdersValues.TYPED,
    body=OrdersFields(item="Nib", price=0.5, due="2024-04-01"),
)
for row in (ink, changed, made):
    print(json.dumps([type(row).__name__, row.to_dict()]))
"""


@dataclass(frozen=True, kw_only=True)
class Generator:
    """openapi-python-client in its own environment."""

    python: Path

    def make(self, document: Path) -> "subprocess.CompletedProcess[str]":
        """Generate the package `made` next to the document. A warning is a failure."""
        program = self.python.with_name("openapi-python-client")
        options = ("--meta", "none", "--output-path", "made", "--fail-on-warning")
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"  # for the formatter
        return run(
            [str(program), "generate", "--path", str(document), *options],
            cwd=document.parent,
            env={**os.environ, "PATH": path},
        )


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    folder = tmp_path_factory.mktemp("generator") / "environment"
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    made = run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    assert made.returncode == 0, made.stderr
    installed = run([*pip, "install", "--quiet", "--require-hashes", "-r", str(REQUIREMENTS)])
    if installed.returncode != 0:
        unavailable(f"pip failed: {installed.stderr[-500:]}")
    return Generator(python=python)


def operations_of(document: Mapping[str, Any]) -> set[str]:
    """Return the names of all operations, as names of Python modules."""
    names = (
        item[method]["operationId"]
        for item in document["paths"].values()
        for method in METHODS
        if method in item
    )
    return {name.replace("_", "").lower() for name in names}


def modules_in(folder: Path) -> set[str]:
    """Return the names of the generated modules, one for each operation."""
    modules = folder.glob("made/api/*/*.py")
    return {each.stem.replace("_", "") for each in modules if each.stem != "__init__"}


@dataclass(frozen=True, kw_only=True)
class Made:
    """A document, the package generated next to it, and the generator's output of problems."""

    document: Mapping[str, Any]
    folder: Path
    complaints: str


@pytest.fixture(scope="module", params=[("paid", "")])
def made(
    request: pytest.FixtureRequest,
    generator: Generator,
    gateway_of_package: Api,
    tmp_path_factory: pytest.TempPathFactory,
) -> Made:
    folder = tmp_path_factory.mktemp("made")
    key, query = request.param
    file = described(gateway_of_package, key, folder, query)
    done = generator.make(file)
    return Made(document=json.loads(file.read_text()), folder=folder, complaints=done.stderr)


@pytest.mark.parametrize(
    "made",
    [(None, ""), ("paid", ""), ("paid", TYPED)],
    ids=["general", "key", "typed"],
    indirect=True,
)
def test_every_operation_is_generated(made: Made) -> None:
    """All operations are generated without a warning."""
    assert made.complaints == ""
    assert modules_in(made.folder) == operations_of(made.document)


def test_similar_names_stay_separate(generator: Generator, tmp_path: Path) -> None:
    """Worksheets and fields whose Python names are equal all get their own modules and fields."""
    told = document(reach(plan=PlanSettings(deletes=True), may_delete=True), *ALIKE)
    done = generator.make(written(told, tmp_path))
    fields = (tmp_path / "made" / "models" / "my_sheet_field.py").read_text("utf-8")

    assert (done.returncode, done.stderr) == (0, "")
    assert modules_in(tmp_path) == operations_of(told)
    assert re.findall(r' = "(.*)"', fields) == sorted(
        ["rowIndex", *ALIKE[0].header.columns], key=fields.index
    )


def test_two_schemas_of_one_title_are_found(generator: Generator, tmp_path: Path) -> None:
    """If two schemas have one title, the generator drops operations and fails."""
    told = document(reach(), worksheet("Cities", "name"))
    for name in ("CitiesRow", "CitiesFields"):
        told["components"]["schemas"][name]["title"] = "Cities"
    done = generator.make(written(told, tmp_path))

    assert done.returncode != 0
    assert modules_in(tmp_path) < operations_of(told)


def test_the_generated_client_reads_and_writes(generator: Generator, made: Made, api: Api) -> None:
    """Pages, rows, upserts, writes by filter and errors are objects of their types."""
    (made.folder / "use.py").write_text(USE)
    done = run([str(generator.python), "use.py", api.url, api.keys["paid"]], cwd=made.folder)
    assert done.returncode == 0, done.stderr
    first, _, second = done.stdout.partition("errors\n")
    answers = [json.loads(line) for line in first.splitlines()]
    errors = [json.loads(line) for line in second.splitlines()]

    assert answers == [
        [
            "CitiesPage",
            {
                "results": [
                    {"rowIndex": 3, "name": "Los Angeles"},
                    {"rowIndex": 9, "name": "San Diego"},
                ],
                "hasNextPage": True,
                "total": 3,
            },
        ],
        ["CitiesRow", {"rowIndex": 12, "name": "Austin", "population": "961855"}],
        [
            "CitiesResults",
            {"results": [{"rowIndex": 13, "name": "A"}, {"rowIndex": 14, "name": "B"}]},
        ],
        [
            "CitiesUpserts",
            {
                "results": [
                    {"rowIndex": 13, "name": "A", "state": "x", "created": False},
                    {"rowIndex": 15, "name": "C", "created": True},
                ]
            },
        ],
        ["CitiesRow", {"rowIndex": 12, "state": "TX", "population": None}],
        [
            "CitiesRow",
            {
                "rowIndex": 12,
                "name": "Austin",
                "state": "TX",
                "country": None,
                "population": None,
            },
        ],
        ["CitiesResults", {"results": [{"rowIndex": 12, "state": "Texas"}]}],
        ["Matches", {"count": 1, "results": [{"rowIndex": 12}]}],
        ["Matches", {"count": 3, "results": [{"rowIndex": row} for row in (13, 14, 15)]}],
        204,
    ]
    assert [(name, error["code"]) for name, error in errors] == [
        ("Create400Error", 104),
        ("Update400Error", 104),
        ("Update412Error", 4120),
        ("Read404Error", 103),
        ("List400Error", 4002),
        ("List401Error", 4011),
    ]
    assert errors[1][1]["errors"][0]["pointer"] == "#/name"
    assert errors[2][1]["existing"]["name"] == "New York"


@pytest.mark.parametrize("made", [("paid", TYPED)], ids=["typed"], indirect=True)
def test_a_typed_client_reads_and_writes(generator: Generator, made: Made, api: Api) -> None:
    """A generated client with typed values reads and stores numbers and dates."""
    (made.folder / "use.py").write_text(USE_TYPED)
    done = run([str(generator.python), "use.py", api.url, api.keys["paid"]], cwd=made.folder)
    assert done.returncode == 0, done.stderr
    ink = {"rowIndex": 3, "item": "Ink", "price": 3, "due": "2024-02-03", "total": 6, "note": "old"}

    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        ["OrdersRow", ink],
        ["OrdersRow", {"rowIndex": 3, "price": 4.5, "due": "2024-03-01", "note": None}],
        ["OrdersRow", {"rowIndex": 4, "item": "Nib", "price": 0.5, "due": "2024-04-01"}],
    ]
    assert [api.emulator.cell("Orders", row, 3)["value"] for row in (3, 4)] == [45352, 45383]


def test_the_generator_is_locked() -> None:
    """Each requirement has a version and hashes, and no line names an index."""
    text = REQUIREMENTS.read_text("utf-8").replace("\\\n", "")
    lines = [line for line in text.splitlines() if not line.startswith("#")]

    assert any(line.startswith("openapi-python-client==") for line in lines)
    assert [line for line in lines if "==" not in line or "--hash=sha256:" not in line] == []
    assert "://" not in text
