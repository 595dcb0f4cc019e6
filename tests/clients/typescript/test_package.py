"""Tests of the client as a separate package, and of compiler errors for wrong uses."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.clients.typescript.package import NPM, SOURCE, Package, node, run, unavailable
from tests.clients.typescript.test_readme import make_project
from tests.journeys.conftest import Api

STRICT = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--types", ""]
MANIFEST: Any = json.loads((SOURCE / "package.json").read_text("utf-8"))
START = """
import { Sheets, type Row } from "sheets-gateway-client";
import type { Worksheets } from "./worksheets.js";
const sheets = new Sheets({ baseUrl: "http://127.0.0.1", apiKey: "x" });
const cities = sheets.sheet<Worksheets["Cities"]>("Cities");
const plain = sheets.sheet("Cities");
"""
RIGHT = """
const row = await cities.get(2);
const text: string | null = row.fields.population;
const name: string | null = (await cities.get(2, { keys: ["name"] })).fields.name;
const rows: Row<{ name?: string | null }>[] = await cities.create([{ name: "x", population: 1 }]);
await cities.update(2, { population: null }, { ifMatch: row.etag ?? "*" });
await cities.list({ where: { $or: [{ name: "x" }, { rowIndex: { $gt: 2 } }] }, order: ["-name"] });
for await (const each of cities.rows({ keys: ["state"] })) each.fields.state;
await plain.list({ where: { anything: { $gt: 1 }, $or: [{ a: 1 }] }, order: "-anything" });
const any: string | null | undefined = (await plain.get(2)).fields["anything"];
await sheets.sheet<Worksheets["My Sheet"]>("My Sheet").upsert({ name: "x" }, { on: "name" });
const { properties } = await cities.schema();
const types: readonly string[] = properties.name.type ?? [];
const count: number | null | undefined = (await sheets.worksheets()).sheets[0]?.rows;
export { text, name, rows, any, types, count };
"""
TYPED = """
import { Sheets, type Row } from "sheets-gateway-client";
interface Worksheets {
  Products: {
    name: string | null;
    price: number | null;
    added: string | null;
    sold: boolean | null;
  };
}
type Product = Worksheets["Products"];
const options = { baseUrl: "http://127.0.0.1", apiKey: "x" };
const typed = new Sheets({ ...options, values: "typed" });
const plain = new Sheets(options);
const products = typed.sheet<Product>("Products");

const { rows } = await products.list({ where: { sold: false, price: { $lt: 5 } }, order: "added" });
const sum: number = rows.reduce((sum, { fields }) => sum + (fields.price ?? 0), 0);
const days: string[] = rows.map(({ fields }) => fields.added?.slice(0, 10) ?? "");
const created: Row<Partial<Product>> = await products.create({
  name: "Lamp", price: 39, added: "2026-03-16", sold: false,
});
const ifMatch = created.etag ?? "*";
const updated = await products.update(created.rowIndex, { sold: true, price: null }, { ifMatch });
const sold: boolean = updated.fields.sold ?? false;

const any: string | number | boolean | null | undefined =
  (await typed.sheet("Products").get(2)).fields["price"];
const text: string | null | undefined =
  (await typed.sheet("Products", { values: "displayed" }).get(2)).fields["price"];
const one: typeof any = (await plain.sheet("Products", { values: "typed" }).get(2)).fields["price"];
const other = plain.sheet<Product>("Products", { values: "typed" });
const price: number | null = (await other.get(2)).fields.price;
export { sum, days, sold, any, text, one, price };
"""
WRONG_TYPED = {
    "an amount as a text": "const a: string = rows[0]!.fields.price!;",
    "a checkbox as a text": "created.fields.sold?.toUpperCase();",
    "a typed cell that may be a text": (
        'const c: number | null = (await typed.sheet("x").get(2)).fields["y"]!;'
    ),
    "a displayed cell as a number": (
        'const d: number = (await plain.sheet("x").get(2)).fields["y"]!;'
    ),
    "values that are none": 'plain.sheet("x", { values: "raw" });',
    "an option of values that are none": 'new Sheets({ ...options, values: "text" });',
}
WRONG = {
    "a field that is none": "(await cities.get(2)).fields.town;",
    "a field that was not asked for": '(await cities.get(2, { keys: ["name"] })).fields.state;',
    "a change of a field that is none": "cities.update(2, { town: 1 });",
    "a value that no cell takes": "cities.create({ name: ['x'] });",
    "a filter by a field that is none": "cities.list({ where: { town: 1 } });",
    "an operator that is none": "cities.list({ where: { name: { $like: 1 } } });",
    "an order by a field that is none": 'cities.list({ order: "-town" });',
    "an update without a row": 'cities.updateMany([{ name: "x" }]);',
    "a key of an upsert that is none": 'cities.upsert({ name: "x" }, { on: "town" });',
    "a tag for a create": 'cities.create({ name: "x" }, { ifMatch: "x" });',
    "no filter": "cities.deleteWhere();",
    "a schema of a field that is none": "(await cities.schema()).properties.town;",
    "a right that is none": '(await sheets.worksheets()).sheets[0]?.may.includes("write");',
}


@pytest.fixture
def types(package: Package, api: Api) -> str:
    """Return the output of `sheets-gateway-types` for a key."""
    program = str(package.folder / "bin" / "types.mjs")
    done = run([node(), program, f"{api.url}/", api.keys["paid"], "demo"])
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def project(package: Package, tmp_path: Path, types: str) -> Path:
    make_project(tmp_path, package)
    (tmp_path / "worksheets.d.ts").write_text(types)
    return tmp_path


def test_the_source_compiles_strictly(package: Package) -> None:
    """The source compiles with strict settings, and a wrong type is found."""
    options = json.loads((SOURCE / "tsconfig.json").read_text("utf-8"))["compilerOptions"]
    sound = package.tsc("--noEmit")
    wrong = package.folder / "src" / "wrong.ts"
    wrong.write_text("export const wrong: number = [1][0];\n")
    broken = package.tsc("--noEmit")
    wrong.unlink()

    assert options["strict"] is True
    assert (sound.returncode, sound.stdout) == (0, "")
    assert "src/wrong.ts(1,14): error TS2322" in broken.stdout


def test_types_have_all_worksheets_and_fields(types: str) -> None:
    """The types have all names of worksheets and fields unchanged."""
    assert '  "Cities": {\n    "name": string | null;\n    "state": string | null;' in types
    assert '  "My Sheet": {' in types
    assert '    "x%2Cy": string | null;' in types
    assert "rowIndex" not in types


def test_a_right_use_compiles(package: Package, project: Path) -> None:
    """A program with rows, fields, filters and changes of the worksheet compiles."""
    (project / "use.ts").write_text(START + RIGHT)
    done = package.tsc(*STRICT, "--exactOptionalPropertyTypes", "use.ts", cwd=project)

    assert (done.returncode, done.stdout) == (0, "")


def test_wrong_uses_do_not_compile(package: Package, project: Path) -> None:
    """Each mistake in a program is a compiler error in its own line."""
    (project / "use.ts").write_text(START + "\n".join(WRONG.values()) + "\n")
    done = package.tsc(*STRICT, "use.ts", cwd=project)
    found = {int(line) for line in re.findall(r"^use\.ts\((\d+),", done.stdout, re.MULTILINE)}
    first = START.count("\n") + 1
    missed = [name for line, name in enumerate(WRONG, first) if line not in found]

    assert missed == [], done.stdout
    assert found == set(range(first, first + len(WRONG)))


def test_a_page_of_typed_rows_compiles(package: Package, project: Path) -> None:
    """A program with numbers, booleans and dates compiles with all strict options."""
    (project / "use.ts").write_text(TYPED)
    done = package.tsc(*STRICT, "--exactOptionalPropertyTypes", "use.ts", cwd=project)

    assert (done.returncode, done.stdout) == (0, "")


def test_wrong_uses_of_typed_rows_do_not_compile(package: Package, project: Path) -> None:
    """Each mistake with typed values is a compiler error in its own line."""
    (project / "use.ts").write_text(TYPED + "\n".join(WRONG_TYPED.values()) + "\n")
    done = package.tsc(*STRICT, "use.ts", cwd=project)
    found = {int(line) for line in re.findall(r"^use\.ts\((\d+),", done.stdout, re.MULTILINE)}
    first = TYPED.count("\n") + 1

    assert found == set(range(first, first + len(WRONG_TYPED))), done.stdout


@pytest.mark.parametrize(
    ("empty_cell", "line"),
    [("null", '"name": string | null;'), ("", '"name": string;'), ("omit", '"name"?: string;')],
)
def test_types_say_what_empty_cells_are(
    package: Package, start_gateway: Any, empty_cell: str, line: str
) -> None:
    """The types follow the operator's setting `api.empty_cell`."""
    api = start_gateway({"api.empty_cell": empty_cell})
    program = str(package.folder / "bin" / "types.mjs")
    done = run([node(), program, api.url, api.keys["paid"]])

    assert f"    {line}\n" in done.stdout


@pytest.mark.parametrize(
    ("key", "arguments", "is_right"),
    [
        ("{key}", [], True),
        ("{key}", ["demo"], True),
        ("{key}", ["nowhere"], False),
        ("sgw_wrong", ["{key}", "demo"], True),
        ("", ["{key}"], True),
    ],
)
def test_the_key_can_be_in_the_environment(
    package: Package, api: Api, types: str, key: str, arguments: list[str], is_right: bool
) -> None:
    """`SHEETS_GATEWAY_KEY` replaces the argument KEY; one further argument is the spreadsheet."""
    program = str(package.folder / "bin" / "types.mjs")
    key, *given = (each.format(key=api.keys["paid"]) for each in (key, *arguments))
    environ = {**os.environ, "SHEETS_GATEWAY_KEY": key}
    done = run([node(), program, api.url, *given], env=environ)

    assert done.stdout == (types if is_right else "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Usage:"),
        (["{url}", "sgw_wrong"], "401"),
        (["{url}/x", "{key}"], "404"),
        (["{host}", "{key}"], "does not begin with http://"),
        (["{url}/v2", "{key}"], "/v2/openapi.json: 404: "),
        (["http://127.0.0.1:1", "{key}"], "No answer from http://"),
        (["{url}/docs/?", "{key}"], "is not from a sheets-gateway. Check the URL."),
    ],
    ids=["nothing", "key", "path", "scheme", "v2", "down", "page"],
)
def test_errors_of_the_types_command_name_the_cause(
    package: Package, api: Api, arguments: list[str], words: str
) -> None:
    """Errors name URL and cause but no key, and the output is empty."""
    own = {"url": api.url, "host": api.url.removeprefix("http://"), "key": api.keys["paid"]}
    given = [each.format(**own) for each in arguments]
    done = run([node(), str(package.folder / "bin" / "types.mjs"), *given])

    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr
    assert api.keys["paid"] not in done.stderr


def test_the_package_has_all_published_files(package: Package) -> None:
    """The package contains the compiled client with types, its command, README and license."""
    npm = NPM or unavailable("npm is not installed")
    done = run([npm, "pack", "--dry-run", "--json", "--ignore-scripts"], cwd=package.folder)
    (packed,) = json.loads(done.stdout)
    names = {each["path"] for each in packed["files"]}
    modules = [file.stem for file in (SOURCE / "src").glob("*.ts")]

    assert names == {
        *("LICENSE", "README.md", "package.json", "bin/types.mjs"),
        *(f"dist/{name}{end}" for name in modules for end in (".js", ".d.ts")),
    }


def test_the_manifest_is_ready_to_publish() -> None:
    """`package.json` has name, license and Node version, and no run-time dependencies."""
    wanted: Mapping[str, Any] = {
        "name": "sheets-gateway-client",
        "license": "MIT",
        "type": "module",
        "engines": {"node": ">=20"},
    }

    assert {name: MANIFEST[name] for name in wanted} == wanted
    assert set(MANIFEST) & {"dependencies", "peerDependencies", "private"} == set()
    assert (SOURCE / "LICENSE").read_bytes() == (SOURCE.parents[1] / "LICENSE").read_bytes()


def test_the_lock_names_no_host() -> None:
    """Each locked package has a hash, and none names a registry."""
    lock = json.loads((SOURCE / "package-lock.json").read_text("utf-8"))
    packages = [each for name, each in lock["packages"].items() if name]

    assert packages
    assert [each for each in packages if "resolved" in each or "integrity" not in each] == []
    assert "://" not in (SOURCE / "package-lock.json").read_text("utf-8")
