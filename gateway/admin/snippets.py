"""Code that requests the rows of a page: with curl, with fetch, and with both client libraries.

The code quotes the worksheet's name and the filter as JSON strings, which are valid in JavaScript
and in Python. The key is a placeholder, because the gateway does not store keys. Only
`first_request` has a key, which was just created.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from gateway.storage.key_store import Grants
from gateway.web.forms import CHALLENGE

_KEY = "YOUR_KEY"


def snippets(
    api_url: str, spreadsheet: str, title: str, view: Mapping[str, str]
) -> Mapping[str, str]:
    """Return code that lists rows of the worksheet `title`, by language.

    `view` has the texts of the query parameters `where` and `order`.
    """
    given = {name: value for name, value in view.items() if value}
    path = f"{api_url}/v2/sheets/{quote(title, safe='')}"
    address = f"{path}?{urlencode(given)}" if given else path
    lines = [
        f"curl -G {shlex.quote(path)}",
        f"  -H 'Authorization: Bearer {_KEY}'",
        f"  -H {shlex.quote(f'X-Spreadsheet-Id: {spreadsheet}')}",
        *(f"  --data-urlencode {shlex.quote(f'{name}={text}')}" for name, text in given.items()),
    ]
    headers = f'{{ Authorization: "Bearer {_KEY}", "X-Spreadsheet-Id": {json.dumps(spreadsheet)} }}'
    where = object_in(given.get("where", ""))
    python = {name: json.dumps(text) for name, text in given.items()}
    script = {**python}
    if where is not None:
        python["where"], script["where"] = repr(where), json.dumps(where)
    options = [f"{name}={text}" for name, text in python.items()]
    members = [f"{name}: {text}" for name, text in script.items()]
    argument = f"{{ {', '.join(members)} }}" if members else ""
    base, sheet, spreadsheet = map(json.dumps, (api_url, title, spreadsheet))
    return {
        "curl": " \\\n".join(lines),
        "fetch": f"const response = await fetch({json.dumps(address)}, {{\n"
        f"  headers: {headers},\n}});\n"
        "const { results } = await response.json();",
        "Python": "from sheets_gateway_client import Sheets\n\n"
        f'with Sheets({base}, "{_KEY}", {spreadsheet}) as sheets:\n'
        f"    for row in sheets.sheet({sheet}).rows({', '.join(options)}):\n"
        "        print(row.row_index, row.fields)",
        "TypeScript": 'import { Sheets } from "sheets-gateway-client";\n\n'
        f'const sheets = new Sheets({{ baseUrl: {base}, apiKey: "{_KEY}", '
        f"spreadsheetId: {spreadsheet} }});\n"
        f"for await (const row of sheets.sheet({sheet}).rows({argument})) {{\n"
        "  console.log(row.rowIndex, row.fields);\n}",
    }


def first_request(api_url: str, key: str, grants: Grants, title: str) -> tuple[str, Sequence[str]]:
    """Return a curl command that tries a new key, and the placeholders in the command.

    If the key can read, the command lists rows of the worksheet `title`, or the spreadsheet's
    worksheets if `title` is "". Otherwise it creates a row. A placeholder stands for each name that
    the grants do not have, and for a Turnstile token.
    """
    columns, can_read = grants.columns, grants.may_read
    known = {"SPREADSHEET_ID": min(grants.spreadsheets or ("",))}
    if not can_read:
        field = min(columns.writable or columns.readable or ("",))
        known |= {"SHEET": title, "FIELD": field}
        if grants.needs_challenge:
            known["TOKEN"] = ""
    used = {placeholder: name or placeholder for placeholder, name in known.items()}
    title = used.get("SHEET", title)
    path = f"{api_url}/v2/sheets/{quote(title, safe='')}".removesuffix("/")
    lines = [
        f"curl {shlex.quote(f'{path}?limit=3' if title and can_read else path)}",
        f"  -H {shlex.quote(f'Authorization: Bearer {key}')}",
        f"  -H {shlex.quote('X-Spreadsheet-Id: ' + used['SPREADSHEET_ID'])}",
    ]
    if not can_read:
        row = {used["FIELD"]: "value"}
        if "TOKEN" in used:
            row[CHALLENGE] = used["TOKEN"]
        body = shlex.quote(json.dumps(row, ensure_ascii=False))
        lines += ["  -H 'Content-Type: application/json'", f"  -d {body}"]
    return " \\\n".join(lines), [placeholder for placeholder, name in known.items() if not name]


def object_in(text: str) -> dict[str, object] | None:
    """Parse a JSON object. Returns None if the text is not a JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
