"""The types that `sheets-gateway-types` prints, of a gateway that is not to be trusted."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from threading import Thread
from urllib.parse import quote

import pytest

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


@dataclass
class FakeGateway:
    """A server with one answer for every request, and another for those of rows if it has any."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    rows: bytes | None = None
    url: str = ""
    targets: list[str] = field(default_factory=list)
    asked: list[Mapping[str, str]] = field(default_factory=list)
    """Headers of the requests that arrived."""


@contextmanager
def serving(gateway: FakeGateway) -> Iterator[FakeGateway]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            gateway.asked.append(dict(self.headers))
            gateway.targets.append(self.path)
            is_list = self.path.startswith("/v2/sheets/")
            body = (is_list and gateway.rows) or gateway.body
            self.send_response(gateway.status)
            for name, value in gateway.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        gateway.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield gateway
        finally:
            server.shutdown()
            thread.join()


def document(names: Sequence[str], cell_type: object) -> bytes:
    """A description with worksheets of these names, which have fields of these names."""
    row = {"properties": {name: {"type": cell_type} for name in names}}
    page = {"properties": {"results": {"items": row}}}
    answer = {"content": {"application/json": {"schema": page}}}
    paths = {
        f"/v2/sheets/{quote(name, safe='')}": {"get": {"responses": {"200": answer}}}
        for name in names
    }
    return json.dumps({"paths": paths}).encode()


def printed(package: Package, url: str, *options: str) -> CompletedProcess[str]:
    return run([node(), str(package.folder / "bin" / "types.mjs"), *options, url, "sgw_secret"])


@pytest.mark.parametrize(
    ("cell_type", "as_printed"),
    [
        (["string", "null"], "string | null"),
        ("any; }; }\nexport const f = 1;\ninterface X { y: { z: any", "unknown"),
        (["number", {"a": 1}], "number | unknown"),
    ],
    ids=["usual", "code", "object"],
)
def test_no_name_breaks_out(
    package: Package, tmp_path: Path, cell_type: object, as_printed: str
) -> None:
    """Whatever names there are, the types compile to nothing, and all their characters are seen."""
    with serving(FakeGateway(body=document(NASTY, cell_type))) as gateway:
        done = printed(package, gateway.url)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "types.ts").write_text(done.stdout)
    compiled = package.tsc(*STRICT, cwd=tmp_path)

    assert (compiled.returncode, compiled.stdout) == (0, "")
    assert (tmp_path / "types.js").read_text() == "export {};\n"
    assert [each for each in done.stdout if not each.isprintable() and each != "\n"] == []
    assert done.stdout.count(f": {as_printed};\n") == len(NASTY) ** 2


def test_a_lone_surrogate_is_escaped(package: Package) -> None:
    """JSON may hold one in a name; as a character no file could."""
    with serving(FakeGateway(body=document(["a"], "string"))) as gateway:
        gateway.body = gateway.body.replace(b'{"a": {"type"', b'{"\\ud800": {"type"')
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
    """One request lists the worksheets; each that has fields is asked for its interface."""
    body, rows = json.dumps(LISTED).encode(), INTERFACE.encode()
    with serving(FakeGateway(body=body, rows=rows)) as gateway:
        done = printed(package, gateway.url, "--typed")

    assert done.stdout.splitlines() == [
        "export interface Worksheets {",
        '  "a b/c": {',
        *("  " + line for line in INTERFACE.splitlines()[2:-1]),
        "  };",
        "}",
    ]
    assert gateway.targets == ["/v2/sheets", "/v2/sheets/a%20b%2Fc/schema?format=typescript"]
    assert [each["Authorization"] for each in gateway.asked] == ["Bearer sgw_secret"] * 2


@pytest.mark.parametrize(
    "line",
    [
        '"name": string | null; } export const a = 1; interface X {',
        '"name": any;',
        '"name": { a: string };',
        "name: string;",
        '"name": "a\\";',
        '"na"me": string;',
        '"name": string; // */',
        "}",
        "export const a = 1;",
    ],
)
def test_an_interface_of_another_shape_is_refused(package: Package, line: str) -> None:
    """Nothing is printed that would be taken for types, and no code of the gateway."""
    rows = INTERFACE.replace('"name": string | null;', line).encode()
    with serving(FakeGateway(body=json.dumps(LISTED).encode(), rows=rows)) as gateway:
        done = printed(package, gateway.url, "--typed")

    assert (done.returncode, done.stdout) == (1, "")
    assert "is not the gateway's: it has no interface." in done.stderr


@pytest.mark.parametrize("body", ["{}", '{"sheets": 1}', "<html>", '{"sheets": [null]}'])
def test_a_list_of_another_shape_is_refused(package: Package, body: str) -> None:
    """Nothing is printed that would be taken for types."""
    with serving(FakeGateway(body=body.encode(), rows=INTERFACE.encode())) as gateway:
        done = printed(package, gateway.url, "--typed")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr


def test_typed_names_are_seen(package: Package, tmp_path: Path) -> None:
    """Names of worksheets and fields with invisible characters are escaped, and compile."""
    listed = {"sheets": [{"name": name, "fields": [1]} for name in NASTY]}
    names = "\n".join(f"  {json.dumps(name, ensure_ascii=True)}: string | null;" for name in NASTY)
    rows = f"//\nexport interface X {{\n{names}\n}}\n".encode()
    with serving(FakeGateway(body=json.dumps(listed).encode(), rows=rows)) as gateway:
        done = printed(package, gateway.url, "--typed")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "types.ts").write_text(done.stdout)
    compiled = package.tsc(*STRICT, cwd=tmp_path)

    assert (compiled.returncode, compiled.stdout) == (0, "")
    assert (tmp_path / "types.js").read_text() == "export {};\n"
    assert [each for each in done.stdout if not each.isprintable() and each != "\n"] == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(package: Package, status: int) -> None:
    """The key does not go to another host; the error names its address."""
    with serving(FakeGateway(body=document(["a"], "string"))) as other:
        place = {"Location": f"{other.url}/openapi.json"}
        with serving(FakeGateway(status=status, headers=place)) as gateway:
            done = printed(package, gateway.url)

    assert (done.returncode, done.stdout, other.asked) == (1, "", [])
    assert f"The gateway redirects to {other.url}/openapi.json." in done.stderr


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, "a\x1b[2J\x9b\u202e"), (200, "\x1b]0;x\x07"), (200, '{"paths": null, "\x1b": 1}')],
)
def test_an_error_does_not_write_to_the_terminal(package: Package, status: int, body: str) -> None:
    """Control characters of an answer are escaped in the message."""
    with serving(FakeGateway(status=status, body=body.encode())) as gateway:
        done = printed(package, gateway.url)

    assert (done.returncode, done.stdout) == (1, "")
    assert [each for each in done.stderr if not each.isprintable() and each != "\n"] == []
