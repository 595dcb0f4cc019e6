"""The sentences that a caller reads after a usual mistake: what was found, and what to do."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from gateway.server.sockets import bind
from tests.clients.middlebox import Fault, Middlebox
from tests.clients.typescript.conftest import Connect
from tests.clients.typescript.package import NodeSheet, Package, node, run
from tests.journeys.conftest import Api

READ = ["get", 2]
ONCE = {"tries": 1}
VALUES: Mapping[str, tuple[str, str]] = {
    "new Date()": ("TypeError", 'a Date is not a value of a cell. Pass a text, such as "2026-'),
    "new Date(NaN)": ("TypeError", "a Date is not a value of a cell."),
    "10n": ("TypeError", "a bigint is not a value of a cell."),
    "() => 1": ("TypeError", "a function is not a value of a cell."),
    "NaN": ("RangeError", "NaN is not a value of a cell; null empties it."),
    "-Infinity": ("RangeError", "-Infinity is not a value of a cell;"),
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


@pytest.mark.parametrize("spoilt", ["{}/", "{}//", " {}\n"], ids=["slash", "slashes", "blanks"])
def test_settings_may_be_pasted_carelessly(
    connect: Connect, middlebox: Middlebox, api: Api, spoilt: str
) -> None:
    """Blanks around URL and key, and slashes at the end of the URL, have no meaning."""
    sheet = connect(baseUrl=spoilt.format(middlebox.url), apiKey=f"\t{api.keys['paid']}\r\n")

    assert sheet.do(READ).value["fields"]["name"] == "New York"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param({"apiKey": None}, "apiKey is missing: pass the gateway's", id="no key"),
        pytest.param({"apiKey": " \n"}, "apiKey is missing: pass the gateway's", id="blank key"),
        pytest.param({"apiKey": "Bearer sgw_x"}, "It has no blanks and no Bearer.", id="Bearer"),
        pytest.param({"baseUrl": None}, "baseUrl is missing: pass the gateway's", id="no URL"),
        pytest.param({"baseUrl": ""}, "baseUrl is missing: pass the gateway's", id="empty URL"),
        *(
            pytest.param({"baseUrl": url}, f'The base URL "{url}" is not http:// or', id=url)
            for url in (
                "localhost:8000",
                "127.0.0.1",
                "/v2",
                "ftp://localhost",
                "http://",
                "http:///x",
                "http://localhost:99999",
                "http://local host",
            )
        ),
    ],
)
def test_unusable_settings_are_named(
    connect: Connect, options: Mapping[str, Any], sentence: str
) -> None:
    """When the client is made, before any call; the key is not shown."""
    error = connect(**options).do(READ).error

    assert error["kind"] == "TypeError"
    assert sentence in error["message"]
    assert "sgw_x" not in error["message"]


def test_a_client_without_options_is_refused(package: Package) -> None:
    """The first of them is named."""
    program = f"new (await import('{package.module}')).Sheets()"
    done = run([node(), "--input-type=module", "-e", program])

    assert "TypeError: apiKey is missing" in done.stderr


@pytest.mark.parametrize("path", ["/v2", "/v2/", "/v2/sheets", "/api"])
def test_a_base_url_with_too_much_is_named(
    connect: Connect, middlebox: Middlebox, path: str
) -> None:
    """The error has the URL that was requested, and the cause."""
    call = ["list", {"where": {"name": "x"}}]
    error = connect(baseUrl=f"{middlebox.url}{path}").do(call).error
    url = f"{middlebox.url}{path.rstrip('/')}/v2/sheets/Cities"

    assert error["code"] == 4040
    assert error["message"].endswith(
        f"The request went to {url}: correct the base URL, which ends before /v2."
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_gateway_that_is_down_is_named(connect: Connect, host: str) -> None:
    """URL and cause; a query, which may hold values of cells, is left out."""
    with bind("127.0.0.1", 0) as closed:
        url = f"http://{host}:{closed.getsockname()[1]}"
    error = connect(baseUrl=url, retry=ONCE).do(["list", {"where": {"name": "x"}}]).error

    assert error["kind"] == "ConnectionFailed"
    assert error["message"].startswith(f"No answer to GET {url}/v2/sheets/Cities at try 1: ")
    assert "ECONNREFUSED" in error["message"]


def test_a_page_of_a_proxy_is_named(connect: Connect, middlebox: Middlebox) -> None:
    """URL, status and beginning of an answer that is not the gateway's."""
    middlebox.fail(Fault(status=200, text="<html>\n<title>Sign in</title>"))
    error = connect(retry=ONCE).do(READ).error

    assert error["message"] == (
        f"The answer of {middlebox.url}/v2/sheets/Cities/2 is not the gateway's: status 200. "
        'It begins: "<html> <title>Sign in</title>"'
    )


@pytest.mark.parametrize("value", VALUES)
def test_a_value_that_no_cell_takes_is_named(
    package: Package, middlebox: Middlebox, value: str
) -> None:
    """With its field; nothing is sent. As JSON it would be another value, or none."""
    kind, sentence = VALUES[value]
    lines = (f"() => sheet.{use}".replace("VALUE", value) for use in USES)
    program = (
        f"const {{ Sheets }} = await import('{package.module}');"
        f"const sheet = new Sheets({{ baseUrl: '{middlebox.url}', apiKey: 'x' }}).sheet('Cities');"
        f"for (const call of [{', '.join(lines)}])"
        "await call().catch((error) => console.log(error.name, error.message));"
    )
    done = run([node(), "--input-type=module", "-e", program])
    found = done.stdout.splitlines()

    assert len(found) == len(USES), done.stderr
    assert [line for line in found if not line.startswith(f"{kind} due: {sentence}")] == []
    assert middlebox.arrived == []


def test_functions_of_a_class_are_no_fields(package: Package, api: Api) -> None:
    """As in JSON, own functions of an object of a class are left out; a `URL` is a base URL."""
    program = (
        f"const {{ Sheets }} = await import('{package.module}');"
        f"const options = {{ baseUrl: new URL('{api.url}'), apiKey: '{api.keys['paid']}' }};"
        "const sheet = new Sheets({ ...options, spreadsheetId: 'demo' }).sheet('Cities');"
        "class City { constructor(name) { this.name = name; this.greet = () => name; } }"
        "console.log((await sheet.create(new City('Ulm'))).fields.name);"
    )
    done = run([node(), "--input-type=module", "-e", program])

    assert done.stdout == "Ulm\n", done.stderr


@pytest.mark.parametrize("url", ["http://u:p@host/", "http://host/?x", "ftp://host/"])
def test_an_unusable_url_is_named_as_its_text_is(package: Package, url: str) -> None:
    """An object of the class `URL` is checked like a text."""
    program = f"new (await import('{package.module}')).Sheets({{ baseUrl: URLS, apiKey: 'x' }})"
    given = (f"new URL('{url}')", f"'{url}'")
    errors = [
        run([node(), "--input-type=module", "-e", program.replace("URLS", each)]).stderr
        for each in given
    ]
    sentences = [re.findall("TypeError: The base URL [^\n]*", each) for each in errors]

    assert len(sentences[0]) == 1
    assert sentences[0] == sentences[1]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (["create", None], "A row is an object"),
        (["create", "x"], "A row is an object"),
        (["create", [{"name": "x"}, None]], "A row is an object"),
        (["create", [["name", "x"]]], "A row is an object"),
        (["update", 2], "A row is an object"),
        (["updateMany", None], "A row is an object"),
        (["upsert", None, {"on": "name"}], "A row is an object"),
        (["upsert", {"name": "x"}], "An upsert needs the fields `on`"),
        (["updateWhere", {"name": "x"}], "A row is an object"),
        (["updateWhere", None, {"name": "x"}], "A filter is an object"),
        (["deleteWhere"], "A filter is an object"),
        (["deleteWhere", "name = 'x'"], "A filter is an object"),
    ],
    ids=str,
)
def test_what_is_no_row_or_filter_is_named(
    cities: NodeSheet, middlebox: Middlebox, call: list[Any], sentence: str
) -> None:
    """Before anything is sent."""
    error = cities.do(call).error

    assert error["kind"] == "TypeError"
    assert error["message"].startswith(sentence)
    assert middlebox.arrived == []


@pytest.mark.parametrize(
    ("call", "option"),
    [
        (["list", {"filter": {"name": "x"}}], "filter"),
        (["list", {"offset": 2}], "offset"),
        (["rows", {"limit": 5}], "limit"),
        (["get", 2, {"fields": ["name"]}], "fields"),
        (["create", {"name": "x"}, {"idempotency_key": "k"}], "idempotency_key"),
        (["update", 2, {"name": "x"}, {"if_match": '"t"'}], "if_match"),
        (["updateMany", [{"rowIndex": 2, "name": "x"}], {"ifMatch": '"t"'}], "ifMatch"),
        (["upsert", {"name": "x"}, {"on": "name", "ignoreexisting": True}], "ignoreexisting"),
        (["updateWhere", {"name": "x"}, {"name": "y"}, {"max_affected": 1}], "max_affected"),
        (["delete", 2, {"ifmatch": '"t"'}], "ifmatch"),
        (["deleteWhere", {"name": "x"}, {"limit": 1}], "limit"),
        (["refresh", {"sheet": "Cities"}], "sheet"),
    ],
    ids=str,
)
def test_an_unknown_option_is_named(
    cities: NodeSheet, middlebox: Middlebox, call: list[Any], option: str
) -> None:
    """Without it other rows would be read, or be written in spite of a condition."""
    error = cities.do(call).error

    assert error["kind"] == "TypeError"
    assert error["message"].startswith(f'"{option}" is not an option here; the options are ')
    assert middlebox.arrived == []


@pytest.mark.parametrize(
    ("options", "option"),
    [({"timeout": 5}, "timeout"), ({"retry": {"retries": 1}}, "retries")],
    ids=["client", "retry"],
)
def test_an_unknown_option_of_a_client_is_named(
    connect: Connect, options: Mapping[str, Any], option: str
) -> None:
    """When the client is made, before any call."""
    error = connect(**options).do(READ).error

    assert error["message"].startswith(f'"{option}" is not an option here; the options are ')


def test_an_unknown_option_of_a_sheet_is_named(connect: Connect) -> None:
    """Its cells would be of the other kind."""
    error = replace(connect(), of_sheet={"value": "typed"}).do(READ).error

    assert error["message"] == '"value" is not an option here; the options are values.'


@pytest.mark.parametrize("name", ["", None, 7], ids=["empty", "null", "number"])
def test_what_names_no_worksheet_is_named(
    connect: Connect, middlebox: Middlebox, name: Any
) -> None:
    """Before anything is sent."""
    error = connect(name).do(["list"]).error

    assert "cannot be the name of a worksheet" in error["message"]
    assert middlebox.arrived == []


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        pytest.param(
            lambda url: url.removeprefix("http://"), "does not begin with http://", id="scheme"
        ),
        pytest.param(lambda url: f"{url}/v2", "/v2/openapi.json: 404: ", id="v2"),
        pytest.param(lambda url: re.sub(r"\d+$", "1", url), "No answer from http://", id="down"),
        pytest.param(lambda url: f"{url}/docs/?", "is not the gateway's: it begins", id="page"),
    ],
)
def test_types_are_refused_with_the_url(
    package: Package, api: Api, spoil: Callable[[str], str], sentence: str
) -> None:
    """The program that prints types names the URL and the cause."""
    program = str(package.folder / "bin" / "types.mjs")
    done = run([node(), program, spoil(api.url), api.keys["paid"]])

    assert (done.returncode, done.stdout) == (1, "")
    assert sentence in done.stderr
    assert api.keys["paid"] not in done.stderr
