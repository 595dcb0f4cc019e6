"""A program with typed rows: types from the gateway, compiled strictly, run against the gateway."""

from pathlib import Path

import pytest

from tests.clients.typescript.package import Package, node, run
from tests.clients.typescript.test_package import STRICT
from tests.clients.typescript.test_readme import make_project
from tests.journeys.conftest import Api

PAGE = """
import { Sheets } from "sheets-gateway-client";
import type { Worksheets } from "./worksheets.js";
declare const process: { readonly argv: readonly string[] };
const [, , baseUrl = "", apiKey = ""] = process.argv;
type Order = Worksheets["Orders"];

const sheets = new Sheets({ baseUrl, apiKey, spreadsheetId: "demo", values: "typed" });
const orders = sheets.sheet<Order>("Orders");
const { rows } = await orders.list({ order: "-price" });
const sum: number = rows.reduce((sum, { fields }) => sum + (fields.price ?? 0), 0);
const days: (string | null)[] = rows.map(({ fields }) => fields.due);
console.log(sum, days.join());

const created = await orders.create({ item: "Nib", price: 0.5, due: "2024-04-01" });
const item: string | null | undefined = created.fields.item;
console.log(created.rowIndex, item, created.fields.price, created.fields.due);

const change: Partial<Order> = { price: (created.fields.price ?? 0) * 3, due: "2024-05-01" };
const ifMatch = created.etag ?? "*";
const updated = await orders.update(created.rowIndex, change, { ifMatch });
const price: number | null | undefined = updated.fields.price;
console.log(price, updated.fields.due);

const tasks = sheets.sheet<Worksheets["Tasks"]>("Tasks");
const done = (await tasks.list()).rows.filter(({ fields }) => fields.done === true);
console.log(done.map(({ fields }) => fields.name).join());
"""


@pytest.fixture
def types(package: Package, api: Api) -> str:
    program = str(package.folder / "bin" / "types.mjs")
    done = run([node(), program, "--typed", api.url, api.keys["paid"], "demo"])
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_types_follow_the_columns(types: str) -> None:
    """Prices and formula results are numbers, checkboxes booleans, dates and texts strings."""
    assert (
        """\
  "Orders": {
    "item": string | null;
    "price": number | null;
    "due": string | null;
    readonly "total": number | null;
    "note": string | null;
  };
"""
        in types
    )
    assert '"done": boolean | null;' in types


def test_types_equal_the_interfaces_of_the_endpoint(api: Api, types: str) -> None:
    """The command prints the same fields as the schema endpoint with `format=typescript`."""
    own = api.get("Orders/schema?format=typescript").text.splitlines()

    assert own[1] == "export interface Orders {"
    assert "".join(f"  {line}\n" for line in own[2:-1]) in types


@pytest.mark.parametrize("source", ["program", "endpoint"])
def test_a_page_lists_creates_and_updates_typed_rows(
    package: Package, api: Api, types: str, source: str, tmp_path: Path
) -> None:
    """Numbers and dates have the declared types, and the sheet stores numbers and dates."""
    make_project(tmp_path, package)
    if source == "endpoint":
        titles = ("Orders", "Tasks")
        found = [api.get(f"{title}/schema?format=typescript").text for title in titles]
        named = "".join(f'"{title}": {title};' for title in titles)
        types = "\n".join([*found, f"export interface Worksheets {{ {named} }}"])
    (tmp_path / "worksheets.d.ts").write_text(types)
    (tmp_path / "page.ts").write_text(PAGE)
    options = [each for each in STRICT if each != "--noEmit"]
    compiled = package.tsc(*options, "--exactOptionalPropertyTypes", "page.ts", cwd=tmp_path)
    assert compiled.stdout == ""
    ran = run([node(), "page.js", api.url, api.keys["paid"]], cwd=tmp_path)

    assert (ran.stderr, ran.stdout.splitlines()) == (
        "",
        ["1253.5 2024-01-02,2024-02-03", "4 Nib 0.5 2024-04-01", "1.5 2024-05-01", "a"],
    )
    cells = [api.emulator.cell("Orders", 4, column) for column in (2, 3)]
    assert [(cell["value"], cell["text"]) for cell in cells] == [
        (1.5, "$1.50"),
        (45413, "2024-05-01"),
    ]


WRONG = """
import { Sheets } from "sheets-gateway-client";
interface Order { item: string | null; readonly price: number | null; done?: boolean | null }
const sheets = new Sheets({ baseUrl: "", apiKey: "", values: "typed" });
const orders = sheets.sheet<Order>("Orders");
export const written = [
  orders.create({ item: 5, price: null, done: true }), orders.update(2, { price: "", done: null }),
  sheets.sheet("Orders").create({ price: "12" }),
  // @ts-expect-error a text for a number
  orders.create({ price: "12" }),
  // @ts-expect-error a text for a number in a list
  orders.create([{ item: "Pen" }, { price: "12" }]),
  // @ts-expect-error a number for a boolean
  orders.update(2, { done: 1 }),
  // @ts-expect-error a text for a boolean
  orders.updateMany([{ rowIndex: 2, done: "TRUE" }]),
  // @ts-expect-error a text for a number in an upsert
  orders.upsert([{ item: "Pen", price: "12" }], { on: ["item"] }),
  // @ts-expect-error a boolean for a number
  orders.updateWhere({ item: "Pen" }, { price: true }),
];
"""


def test_the_compiler_rejects_values_of_another_type(package: Package, tmp_path: Path) -> None:
    """A field of numbers or booleans takes its own values, `null` and the empty string only."""
    make_project(tmp_path, package)
    (tmp_path / "page.ts").write_text(WRONG)

    assert package.tsc(*STRICT, "page.ts", cwd=tmp_path).stdout == ""
