"""Tests of `sheets-gateway-types` with a malicious or wrong gateway."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from urllib.parse import quote

import pytest

from tests.clients.middlebox import Fault, Middlebox, running_machine
from tests.clients.typescript.package import Package, node, run

NASTY = [
    *(
        "*/ export const a = 1; /*",
        '"; }; }\nexport const b = 1;\ninterface X { "y',
        "`${c}`",
        "//",
    ),
    *("'", "\\", '\\"', "\r\n", "\u2028export const d = 1;\u2029", "\u202e\u2066", "\x1b]0;e\x07"),
    *("\x00", "\x7f\x9b", "__proto__", "constructor", "]: never; [k: string", "\U000e0041", "🏙"),
]
STRICT = ["--strict", "--module", "nodenext", "--target", "es2022", "--types", "", "types.ts"]


@contextmanager
def serving(*answers: Fault) -> Iterator[Middlebox]:
    """Run a server that gives these answers in order, instead of a gateway."""
    with running_machine("http://127.0.0.1:1") as machine:
        machine.newest.fail(*answers)
        yield machine.newest


def answer(body: object) -> Fault:
    return Fault(status=200, text=body if isinstance(body, str) else json.dumps(body))


def document(names: Sequence[str], cell_type: object) -> Fault:
    """Return an OpenAPI document with worksheets and fields of these names."""
    row = {"properties": {name: {"type": cell_type} for name in names}}
    page = {"properties": {"results": {"items": row}}}
    success = {"content": {"application/json": {"schema": page}}}
    paths = {
        f"/v2/sheets/{quote(name, safe='')}": {"get": {"responses": {"200": success}}}
        for name in names
    }
    return answer({"paths": paths})


def printed(package: Package, url: str, *options: str) -> CompletedProcess[str]:
    return run([node(), str(package.folder / "bin" / "types.mjs"), *options, url, "sgw_secret"])


IN_ONE_PROCESS = """
const [module, count, ...given] = process.argv.slice(1);
const runs = [];
for (let run = 0; run < count; run += 1) {
  const said = { log: "", error: "" };
  for (const name in said) console[name] = (text) => { said[name] += `${text}\\n`; };
  process.argv = ["node", "types.mjs", ...given];
  process.exitCode = 0;
  await import(`${module}?${run}`);
  runs.push([process.exitCode, said.log, said.error]);
}
process.exitCode = 0;
process.stdout.write(JSON.stringify(runs));
"""
"""JavaScript that runs the command several times, and prints the results as JSON."""


def refusals(package: Package, url: str, count: int, *options: str) -> list[str]:
    """Return the errors of `count` runs, and check that their output is empty."""
    program = (package.folder / "bin" / "types.mjs").as_uri()
    command = [node(), "--input-type=module", "-e", IN_ONE_PROCESS, "--", program, str(count)]
    done = run([*command, *options, url, "sgw_secret"])
    assert done.returncode == 0, done.stderr
    runs: list[tuple[int, str, str]] = json.loads(done.stdout)

    assert [(status, output) for status, output, _ in runs] == [(1, "")] * count
    return [errors for *_, errors in runs]


@pytest.mark.parametrize(
    ("cell_type", "as_printed"),
    [
        (["string", "null"], "string | null"),
        ("any; }; }\nexport const f = 1;\ninterface X { y: { z: any", "unknown"),
        (["number", {"a": 1}], "number | unknown"),
    ],
    ids=["usual", "code", "object"],
)
def test_names_cannot_insert_code(
    package: Package, tmp_path: Path, cell_type: object, as_printed: str
) -> None:
    """With any names the types compile to an empty module, and have no invisible characters."""
    with serving(document(NASTY, cell_type)) as gateway:
        done = printed(package, gateway.url)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "types.ts").write_text(done.stdout)
    compiled = package.tsc(*STRICT, cwd=tmp_path)

    assert (compiled.returncode, compiled.stdout) == (0, "")
    assert (tmp_path / "types.js").read_text() == "export {};\n"
    assert [each for each in done.stdout if not each.isprintable() and each != "\n"] == []
    assert done.stdout.count(f": {as_printed};\n") == len(NASTY) ** 2


def test_a_lone_surrogate_is_escaped(package: Package) -> None:
    """A lone surrogate in a JSON name is escaped, because no file can contain the character."""
    body = document(["a"], "string").text.replace('{"a": {"type"', '{"\\ud800": {"type"')
    with serving(answer(body)) as gateway:
        done = printed(package, gateway.url)

    assert '    "\\ud800": string;\n' in done.stdout


LISTED = {"sheets": [{"name": "a b/c", "fields": [{"name": "x"}]}, {"name": "Blank", "fields": []}]}
INTERFACE = """\
// The typed records of the worksheet "a b/c".
export interface ABC {
  "name": string | null;
  readonly "sum": number | null;
  "state"?: "open" | "d\\"one" | 1.5 | true | "" | null;
}
"""


def test_typed_fields_are_those_of_the_schemas(package: Package) -> None:
    """One request lists the worksheets, and one more per worksheet with fields gets its types."""
    with serving(answer(LISTED), answer(INTERFACE)) as gateway:
        done = printed(package, gateway.url, "--typed")

    assert done.stdout.splitlines() == [
        "export interface Worksheets {",
        '  "a b/c": {',
        *("  " + line for line in INTERFACE.splitlines()[2:-1]),
        "  };",
        "}",
    ]
    assert [each.target for each in gateway.arrived] == [
        *("/v2/sheets", "/v2/sheets/a%20b%2Fc/schema?format=typescript")
    ]
    assert gateway.sent("Authorization") == ["Bearer sgw_secret"] * 2


OTHER_LINES = [
    '"name": string | null; } export const a = 1; interface X {',
    '"name": any;',
    '"name": { a: string };',
    "name: string;",
    '"name": "a\\";',
    '"na"me": string;',
    '"name": string; // */',
    "}",
    "export const a = 1;",
]


def test_an_interface_with_other_code_is_an_error(package: Package) -> None:
    """If the gateway's interface contains other code, the command fails and prints none of it."""
    texts = [INTERFACE.replace('"name": string | null;', line) for line in OTHER_LINES]
    with serving(*(answer(each) for text in texts for each in (LISTED, text))) as gateway:
        errors = refusals(package, gateway.url, len(texts), "--typed")

    assert [
        each for each in errors if "is not from a sheets-gateway: it has no interface." not in each
    ] == []


def test_an_invalid_list_of_worksheets_is_an_error(package: Package) -> None:
    """An answer that is not a list of worksheets is an error."""
    bodies = ["{}", '{"sheets": 1}', "<html>", '{"sheets": [null]}']
    with serving(*map(answer, bodies)) as gateway:
        errors = refusals(package, gateway.url, len(bodies), "--typed")

    assert all(errors)
    assert len(gateway.arrived) == len(bodies)


def test_invisible_characters_in_typed_names_are_escaped(package: Package, tmp_path: Path) -> None:
    """Names of worksheets and fields with invisible characters are escaped, and compile."""
    listed = {"sheets": [{"name": name, "fields": [1]} for name in NASTY]}
    names = "\n".join(f"  {json.dumps(name, ensure_ascii=True)}: string | null;" for name in NASTY)
    rows = answer(f"//\nexport interface X {{\n{names}\n}}\n")
    with serving(answer(listed), *[rows] * len(NASTY)) as gateway:
        done = printed(package, gateway.url, "--typed")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "types.ts").write_text(done.stdout)
    compiled = package.tsc(*STRICT, cwd=tmp_path)

    assert (compiled.returncode, compiled.stdout) == (0, "")
    assert (tmp_path / "types.js").read_text() == "export {};\n"
    assert [each for each in done.stdout if not each.isprintable() and each != "\n"] == []


def test_a_redirect_is_not_followed(package: Package) -> None:
    """The command does not follow a redirect with the key, and names the target in its error."""
    with serving(*[document(["a"], "string")] * 5) as other:
        place = {"Location": f"{other.url}/openapi.json"}
        redirects = [Fault(status=each, headers=place) for each in (301, 302, 303, 307, 308)]
        with serving(*redirects) as gateway:
            errors = refusals(package, gateway.url, len(redirects))

    assert other.arrived == []
    sentence = f"The gateway redirects to {other.url}/openapi.json."
    assert [each for each in errors if sentence not in each] == []


def test_an_error_does_not_write_to_the_terminal(package: Package) -> None:
    """Control characters of an answer are escaped in the message."""
    bodies = [
        (500, "a\x1b[2J\x9b\u202e"),
        (200, "\x1b]0;x\x07"),
        (200, '{"paths": null, "\x1b": 1}'),
    ]
    with serving(*(Fault(status=status, text=body) for status, body in bodies)) as gateway:
        errors = refusals(package, gateway.url, len(bodies))

    assert all(errors)
    assert [each for each in "".join(errors) if not each.isprintable() and each != "\n"] == []
