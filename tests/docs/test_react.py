"""React components of the documentation show rows and errors, in a page and on a server."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gateway.commands.demo import Demo
from tests.docs.blocks import blocks_of, by_page, filled_in
from tests.docs.jsx import REACT, as_javascript

NODE = shutil.which("node")
BLOCKS = {page: block for page, (block,) in by_page(blocks_of("jsx")).items()}
IN_PAGE, ON_SERVER = "docs/how-to/react.md", "docs/how-to/server-side.md"
SHOW = """
import { render, unmount } from "./react.mjs";
const shown = [];
for (let pass = 0; pass < 200 && (pass < 2 || shown.at(-1).includes("Loading")); pass++) {
  shown.push(render(Cities, { state: "Texas" }));
  await new Promise((done) => setTimeout(done, 50));
}
unmount();
console.log(shown[0]);
console.log(shown.at(-1));
"""
SHOW_ON_SERVER = """
const createElement = (type, properties, ...children) =>
  `<${type}>${children.flat(9).join("")}</${type}>`;
console.log(await Page().catch((error) => error.message));
"""
pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")


def shown(folder: Path, meant: dict[str, str]) -> list[str]:
    """Return the first and the last rendering of the component."""
    text = filled_in(as_javascript(BLOCKS[IN_PAGE].text), meant)
    program = text.replace("import { ", "import { createElement, ", 1).replace(
        '"react"', '"./react.mjs"'
    )
    (folder / "react.mjs").write_text(REACT)
    return said(folder, program + SHOW)


def said(folder: Path, program: str) -> list[str]:
    (folder / "page.mjs").write_text(program)
    done = subprocess.run(  # noqa: S603 - our own page
        [NODE or "", "page.mjs"], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()


def test_each_component_has_a_test() -> None:
    """The pages have exactly the two components that this file tests."""
    assert set(BLOCKS) == {IN_PAGE, ON_SERVER}


@pytest.mark.parametrize(
    ("is_known", "shown"),
    [
        (
            True,
            "<ol><li>New York: 8804190</li><li>Los Angeles: 3898747</li>"
            "<li>Chicago: 2746388</li></ol>",
        ),
        (False, "4011: "),
    ],
    ids=["rows", "wrong key"],
)
def test_the_component_of_the_server_becomes_html(
    demo: Demo, tmp_path: Path, is_known: bool, shown: str
) -> None:
    """The server component renders rows, or throws the code and message of the gateway."""
    meant = {
        "http://127.0.0.1:8000": demo.url,
        "sgw_…": demo.read_only_key if is_known else "sgw_wrong",
    }
    text = filled_in(as_javascript(BLOCKS[ON_SERVER].text), meant)
    (line,) = said(tmp_path, text + SHOW_ON_SERVER)

    assert line.startswith(shown)
    assert is_known or "key" in line


def test_the_component_shows_rows(demo: Demo, tmp_path: Path) -> None:
    """The component shows "Loading…" and then the cities of the state."""
    meant = {"http://127.0.0.1:8000": demo.url, "sgw_…": demo.read_only_key}
    first, last = shown(tmp_path, meant)

    assert first == "<p>Loading…</p>"
    assert re.findall(r"<li>([^:]+): \d+</li>", last) == ["Houston", "San Antonio", "Dallas"]
    assert last.startswith("<ul><li>")


def test_the_component_shows_an_error(demo: Demo, tmp_path: Path) -> None:
    """The component shows the gateway's message for a wrong key."""
    _, last = shown(tmp_path, {"http://127.0.0.1:8000": demo.url, "sgw_…": "sgw_wrong"})

    assert re.fullmatch(r"<p>.*key.*</p>", last)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        pytest.param("a < b", "a < b", id="no element"),
        pytest.param('<p a="x" b={1} />', 'createElement("p", { "a": "x", "b": 1 })', id="empty"),
        pytest.param(
            "<A>\n  x {y}\n</A>", 'createElement(A, {  }, "x ", y, "")', id="text and expression"
        ),
        pytest.param(
            "<ul>{a.map((b) => <li>{b}</li>)}</ul>",
            'createElement("ul", {  }, a.map((b) => createElement("li", {  }, b)))',
            id="element in an expression",
        ),
    ],
)
def test_elements_become_calls(text: str, made: str) -> None:
    """JSX elements compile to calls of `createElement`."""
    assert as_javascript(text) == made


@pytest.mark.parametrize("text", ["<p>", "<p>x</q>", "<p a={1>"])
def test_a_broken_element_is_found(text: str) -> None:
    """An element without an end, with another end, or with an open brace raises ValueError."""
    with pytest.raises(ValueError, match="is not"):
        as_javascript(text)
