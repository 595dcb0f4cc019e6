"""Tests of types that openapi-typescript generates from /openapi.json.

Rules: `npm ci` installs the tools from the locked versions next to this file. Without npm's
registry the tests are skipped, but fail if `CI` is set.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from gateway.settings.model import PlanSettings
from tests.clients.codegen.conftest import TYPED, described, written
from tests.clients.codegen.test_python import ALIKE
from tests.clients.typescript.package import NPM, node, run, unavailable
from tests.journeys.conftest import Api
from tests.web.openapi.worksheets import document, reach

FOLDER = Path(__file__).parent
STRICT = ["--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom"]
START = """
import type { components, paths } from "./api.js";
type Schemas = components["schemas"];
type Row = Schemas["CitiesRow"];
type Fields = Schemas["CitiesFields"];
type Create = paths["/v2/sheets/Cities"]["post"];
type List = paths["/v2/sheets/Cities"]["get"];
type Refusal = Create["responses"]["400"]["content"]["application/json"];
type Page = List["responses"]["200"]["content"]["application/json"];
"""
RIGHT = """
declare const process: { readonly argv: readonly string[] };
const [, , base, key] = process.argv;
const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
const order: Schemas["CitiesOrder"][] = ["-population"];
const query: NonNullable<List["parameters"]["query"]> = {
  where: JSON.stringify({ state: "Texas" }), order, keys: ["name"], limit: 2,
};
const url = `${base}/v2/sheets/Cities`;
const texts = Object.entries(query).map(([name, value]) => [name, String(value)]);
const answer = await fetch(`${url}?${new URLSearchParams(texts)}`, { headers });
const page = (await answer.json()) as Page;
const names: (string | null | undefined)[] = page.results.map((row: Row) => row.name);
console.log(names.join(), page.hasNextPage);
const body: Create["requestBody"]["content"]["application/json"] = [{ name: "x".repeat(50_001) }];
const refused = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
const refusal = (await refused.json()) as Refusal;
if (refusal.code === 104) console.log(refusal.outcome, refusal.errors?.[0]?.pointer);
const change: Schemas["CitiesChange"] = { rowIndex: 2, population: null };
const number: number = change.rowIndex;
console.log(number);
"""
USE_TYPED = """
declare const process: { readonly argv: readonly string[] };
const [, , base, key] = process.argv;
const query: List["parameters"]["query"] = { limit: 1, values: "typed" };
const texts = Object.entries(query).map(([name, value]) => [name, String(value)]);
const url = `${base}/v2/sheets/Cities?${new URLSearchParams(texts)}`;
const answer = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
const page = (await answer.json()) as Page;
const population: string | number | boolean | null | undefined = page.results[0]?.population;
console.log(typeof population, population);
"""
WRONG = {
    "a field that is none": "export const a = (row: Row) => row.town;",
    "a cell that is no text": "export const b = (row: Row): number => row.rowIndex + row.name;",
    "a value that no cell takes": 'export const c: Fields = { name: ["x"] };',
    "a change of a field that is none": 'export const d: Fields = { town: "x" };',
    "an order by a field that is none": 'export const e: Schemas["CitiesOrder"] = "-town";',
    "a change without a row": 'export const f: Schemas["CitiesChange"] = { name: "x" };',
    "a code of another status": "export const g = (refusal: Refusal) => refusal.code === 4040;",
}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose `node_modules` contain generator and compiler."""
    folder = tmp_path_factory.mktemp("tools")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(FOLDER / name, folder)
    npm = NPM or unavailable("npm is not installed")
    done = run([npm, "ci", "--no-audit", "--no-fund", "--fetch-retry-mintimeout=1000"], cwd=folder)
    if done.returncode != 0:
        unavailable(f"npm ci failed: {done.stderr[-500:]}")
    return folder


def make_types(tools: Path, file: Path) -> Path:
    """Generate the types of a document into a module next to it, and return the module."""
    program = str(tools / "node_modules" / "openapi-typescript" / "bin" / "cli.js")
    types = file.with_name("api.ts")
    done = run([node(), program, str(file), "--output", str(types)], cwd=tools)
    assert done.returncode == 0, done.stderr
    file.with_name("package.json").write_text('{"type": "module"}')
    return types


def compiled(tools: Path, program: Path) -> str:
    """Return the error messages of the compiler."""
    compiler = str(tools / "node_modules" / "typescript" / "bin" / "tsc")
    return run([node(), compiler, *STRICT, program.name], cwd=program.parent).stdout


@pytest.mark.parametrize(
    ("key", "query"), [(None, ""), ("paid", ""), ("paid", TYPED)], ids=["general", "key", "typed"]
)
def test_the_types_compile_strictly(
    tools: Path, api: Api, tmp_path: Path, key: str | None, query: str
) -> None:
    """The types compile, and contain each operation of the document."""
    file = described(api, key, tmp_path, query)
    types = make_types(tools, file)
    names = set(re.findall(r'"operationId": "(\w+)"', file.read_text()))

    assert compiled(tools, types) == ""
    assert names
    assert names == set(re.findall(r'operations\["(\w+)"\]', types.read_text("utf-8")))


def test_similar_names_compile(tools: Path, tmp_path: Path) -> None:
    """The types compile although names of worksheets and fields are similar or unusual."""
    told = document(reach(plan=PlanSettings(deletes=True), may_delete=True), *ALIKE)
    types = make_types(tools, written(told, tmp_path))

    assert compiled(tools, types) == ""
    assert types.read_text("utf-8").count('"total sales"?:') == 2


def test_a_program_uses_the_types(tools: Path, api: Api, tmp_path: Path) -> None:
    """A program with the types compiles, and reads answers and errors of the gateway."""
    make_types(tools, described(api, "paid", tmp_path))
    program = tmp_path / "use.ts"
    program.write_text(START + RIGHT)
    complaints = compiled(tools, program)
    ran = run([node(), "use.js", api.url, api.keys["paid"]], cwd=tmp_path)

    assert complaints == ""
    assert (ran.stdout, ran.stderr) == ("Houston,San Antonio true\nnot_applied #/0/name\n2\n", "")


def test_a_program_uses_typed_cells(tools: Path, api: Api, tmp_path: Path) -> None:
    """Cells are strings, numbers or booleans, and requests must have the parameter `values`."""
    make_types(tools, described(api, "paid", tmp_path, TYPED))
    program = tmp_path / "use.ts"
    program.write_text(START + USE_TYPED)
    ran_into = compiled(tools, program)
    ran = run([node(), "use.js", api.url, api.keys["paid"]], cwd=tmp_path)
    program.write_text(START + 'export const a: List["parameters"]["query"] = { limit: 2 };\n')
    complaints = compiled(tools, program)

    assert ran_into == ""
    assert (ran.stdout, ran.stderr) == ("number 8804190\n", "")
    assert "Property 'values' is missing" in complaints


def test_wrong_uses_do_not_compile(tools: Path, api: Api, tmp_path: Path) -> None:
    """Each mistake in a program is a compiler error in its own line."""
    make_types(tools, described(api, "paid", tmp_path))
    program = tmp_path / "use.ts"
    program.write_text(START + "\n".join(WRONG.values()) + "\n")
    complaints = compiled(tools, program)
    found = {int(line) for line in re.findall(r"^use\.ts\((\d+),", complaints, re.MULTILINE)}
    first = START.count("\n") + 1

    assert found == set(range(first, first + len(WRONG))), complaints


def test_the_tools_are_locked() -> None:
    """Each locked package has a hash, and none names a registry."""
    text = (FOLDER / "package-lock.json").read_text("utf-8")
    packages = [each for name, each in json.loads(text)["packages"].items() if name]

    assert packages
    assert [each for each in packages if "resolved" in each or "integrity" not in each] == []
    assert "://" not in text
