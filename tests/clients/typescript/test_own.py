"""Behaviour of only the TypeScript client: JavaScript values, objects and answers."""

import json
from collections.abc import Mapping

import pytest

from tests.clients.middlebox import Middlebox
from tests.clients.typescript.package import Package, node, run
from tests.journeys.conftest import Api

VALUES: Mapping[str, str] = {
    "new Date()": 'TypeError due: a Date cannot be a cell value. Pass a string, such as "20',
    "new Date(NaN)": "TypeError due: a Date cannot be a cell value.",
    "10n": "TypeError due: a bigint cannot be a cell value.",
    "() => 1": "TypeError due: a function cannot be a cell value.",
    "NaN": "RangeError due: NaN cannot be a cell value. Pass null to empty the cell.",
    "-Infinity": "RangeError due: -Infinity cannot be a cell value.",
}
USES = (
    "create({ due: VALUE })",
    "create([{ name: 'x' }, { due: VALUE }])",
    "update(2, { due: VALUE })",
    "list({ where: { $or: [{ due: VALUE }] } })",
    "list({ where: { due: { $gte: VALUE } } })",
    "deleteWhere({ due: VALUE })",
    "deleteWhere({ $or: [{ due: { $in: ['x', VALUE] } }] })",
)


def results(package: Package, url: str, key: str, *expressions: str) -> list[str]:
    """Return the results of expressions as JSON, or names and messages of their errors."""
    program = f"""
        const {{ Sheets }} = await import({json.dumps(package.module)});
        const options = {json.dumps({"baseUrl": url, "apiKey": key, "spreadsheetId": "demo"})};
        const sheet = new Sheets(options).sheet("Cities");
        class City {{ constructor(name) {{ this.name = name; this.greet = () => name; }} }}
        for (const each of [{", ".join(f"async () => {each}" for each in expressions)}])
            console.log(await each().then(
                (value) => JSON.stringify(value), ({{ name, message }}) => `${{name}} ${{message}}`,
            ));
    """
    done = run([node(), "--input-type=module", "-e", program])
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_an_invalid_cell_value_is_named_with_its_field(
    package: Package, middlebox: Middlebox
) -> None:
    """Values that JSON would change or drop are errors that name the field; nothing is sent."""
    asked = [(f"sheet.{use}".replace("VALUE", value), value) for value in VALUES for use in USES]
    found = results(package, middlebox.url, "x", *(expression for expression, _ in asked))
    pairs = zip(found, (VALUES[value] for _, value in asked), strict=True)

    assert [(line, words) for line, words in pairs if not line.startswith(words)] == []
    assert middlebox.arrived == []


UNDEFINED = "undefined is not a value. Pass null for an empty cell."
OBJECTS: Mapping[str, str] = {
    **{
        f"sheet.{use}": f"TypeError {field}: {UNDEFINED}"
        for use, field in (
            ("deleteWhere({ name: 'x', due: undefined })", "due"),
            ("updateWhere({ $or: [{ due: undefined }] }, { name: 'x' })", "due"),
            ("list({ where: { due: { $gte: undefined } } })", "due"),
            ("export('csv', { where: { due: { $in: ['x', undefined] } } })", "due"),
            ("create({ due: ['x', undefined] })", "due"),
        )
    },
    "sheet.list({ keys: ['name', undefined] })": f"TypeError {UNDEFINED}",
    "sheet.list({ where: new Map([['due', 1]]) })": "TypeError a Map has no fields of its own.",
    "sheet.deleteWhere(new Map([['due', 1]]))": "TypeError a Map has no fields of its own.",
    "sheet.deleteWhere((async () => ({ due: 1 }))())": "TypeError a Promise has no fields",
    "sheet.create(new URLSearchParams('due=1'))": "TypeError a URLSearchParams has no fields",
    "sheet.deleteWhere({ due: { $in: new Set(['x']) } })": "TypeError due: a Set has no fields",
    "sheet.list({ where: { due: /x/ } })": "TypeError due: a RegExp has no fields of its own.",
}


def test_a_value_that_json_would_drop_is_an_error(package: Package, middlebox: Middlebox) -> None:
    """Undefined conditions and objects without own fields are errors; nothing is sent."""
    found = results(package, middlebox.url, "x", *OBJECTS)
    pairs = zip(found, OBJECTS.values(), strict=True)

    assert [(line, words) for line, words in pairs if not line.startswith(words)] == []
    assert middlebox.arrived == []


def test_an_undefined_field_of_a_row_is_omitted(package: Package, api: Api) -> None:
    """A field of a row with the value undefined is not written."""
    written = "(await sheet.update(2, { name: undefined, state: 'x' })).fields"

    assert results(package, api.url, api.keys["paid"], written) == ['{"state":"x"}']


def test_methods_of_an_object_are_not_fields(package: Package, api: Api) -> None:
    """Functions of an object of a class are omitted, and a `URL` object can be the base URL."""
    of_url = "new Sheets({ ...options, baseUrl: new URL(options.baseUrl) }).sheet('Cities')"
    created, row = results(
        package,
        api.url,
        api.keys["paid"],
        "(await sheet.create(new City('Ulm'))).fields.name",
        f"(await {of_url}.get(2)).fields.name",
    )

    assert (created, row) == ('"Ulm"', '"New York"')


@pytest.mark.parametrize("url", ["http://u:p@host/", "http://host/?x", "ftp://host/"])
def test_an_invalid_url_object_is_an_error(package: Package, url: str) -> None:
    """A `URL` object gets the same error as its text."""
    made = "new Sheets({ ...options, baseUrl: GIVEN })"
    given = (f"new URL('{url}')", f"'{url}'")
    of_object, of_text = results(
        package, "http://host", "x", *(made.replace("GIVEN", each) for each in given)
    )

    assert of_object == of_text
    assert of_text.startswith("TypeError The base URL ")


def test_a_client_without_options_is_an_error(package: Package) -> None:
    """The error for missing options names `apiKey`."""
    (found,) = results(package, "http://host", "x", "new Sheets()")

    assert found.startswith("TypeError apiKey is missing")


def test_the_last_page_has_a_cursor_of_null(package: Package, api: Api) -> None:
    """The last page by cursor has the cursor null; a page without `cursor` has no cursor."""
    last = "sheet.list({ cursor: '', limit: 1, where: { name: 'Dallas' }, keys: ['name'] })"
    other = "sheet.list({ limit: 1, where: { name: 'Dallas' }, keys: ['name'] })"
    rows = '{"rows":[{"rowIndex":10,"fields":{"name":"Dallas"}}],"hasNextPage":false'

    assert results(package, api.url, api.keys["paid"], last, other) == [
        rows + ',"cursor":null}',
        rows + "}",
    ]
