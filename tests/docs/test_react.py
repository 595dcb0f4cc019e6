"""The component of the docs shows rows, an error, and stops what nobody waits for."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gateway.commands.demo import Demo
from tests.docs.blocks import blocks_of, filled_in
from tests.docs.jsx import REACT, as_javascript

NODE = shutil.which("node")
BLOCKS = blocks_of("jsx")
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
pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")


def shown(folder: Path, meant: dict[str, str]) -> list[str]:
    """The component at first, and in the end."""
    (block,) = BLOCKS
    text = filled_in(as_javascript(block.text), meant)
    program = text.replace("import { ", "import { createElement, ", 1).replace(
        '"react"', '"./react.mjs"'
    )
    (folder / "react.mjs").write_text(REACT)
    (folder / "page.mjs").write_text(program + SHOW)
    done = subprocess.run(  # noqa: S603 - our own page
        [NODE or "", "page.mjs"], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()


def test_the_component_shows_rows(demo: Demo, tmp_path: Path) -> None:
    """Those that the page names, after a word about loading."""
    meant = {"http://127.0.0.1:8000": demo.url, "sgw_…": demo.read_only_key}
    first, last = shown(tmp_path, meant)

    assert first == "<p>Loading…</p>"
    assert re.findall(r"<li>([^:]+): \d+</li>", last) == ["Houston", "San Antonio", "Dallas"]
    assert last.startswith("<ul><li>")


def test_the_component_shows_an_error(demo: Demo, tmp_path: Path) -> None:
    """With the message of the gateway."""
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
    """As a compiler of JSX does it."""
    assert as_javascript(text) == made


@pytest.mark.parametrize("text", ["<p>", "<p>x</q>", "<p a={1>"])
def test_a_broken_element_is_found(text: str) -> None:
    """One without an end, with another end, and one with an open brace."""
    with pytest.raises(ValueError, match="is not"):
        as_javascript(text)
