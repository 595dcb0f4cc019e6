"""The examples of the README run one by one, each twice, against the demo."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gateway.commands.demo import Demo, running_demo
from gateway.server.sockets import bind
from tests.clients.typescript.package import SOURCE, Package, node, run
from tests.docs.blocks import Block, blocks_in, filled_in
from tests.docs.samples import JAVASCRIPT, run_own_commands

README = (SOURCE / "README.md").read_text("utf-8")
BLOCKS = [block for block in blocks_in(README, "README.md") if block.language in ("js", "ts")]
_METHOD = re.compile(r"^  (?:async )?\*?(\w+)[<(]", re.MULTILINE)


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """Start the demo, and run the commands that it prints."""
    with running_demo(bind("127.0.0.1", 0), {}) as running:
        run_own_commands(running)
        yield running


@pytest.fixture
def project(package: Package, demo: Demo, tmp_path: Path) -> Path:
    """Return a project folder with the client and the types of the worksheets."""
    make_project(tmp_path, package)
    types = run([node(), str(package.folder / "bin" / "types.mjs"), demo.url, demo.full_key])
    assert types.returncode == 0, types.stderr
    (tmp_path / "worksheets.d.ts").write_text(types.stdout)
    return tmp_path


def make_project(folder: Path, package: Package) -> None:
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "sheets-gateway-client").symlink_to(package.folder)
    (folder / "package.json").write_text('{"type": "module"}')


def meant(demo: Demo) -> Mapping[str, str]:
    """Return the values that replace placeholders in the examples."""
    return {"http://127.0.0.1:8000": demo.url}


def output_of(package: Package, project: Path, language: str, text: str) -> list[str]:
    """Return the lines that a program prints; an example in TypeScript is compiled first."""
    program = project / f"sample.{language}"
    program.write_text(text)
    if language == "ts":
        options = ["--strict", "--module", "nodenext", "--target", "es2022", "--types", ""]
        done = package.tsc(*options, str(program), cwd=project)
        assert done.returncode == 0, done.stdout
    ran = run([node(), str(project / "sample.js")], cwd=project)
    return (ran.stdout + ran.stderr).splitlines()


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_sample_runs_twice(block: Block, package: Package, demo: Demo, project: Path) -> None:
    """Each example prints what its comments say, both times."""
    expected = [each["said"] for each in JAVASCRIPT.prints.finditer(block.text)]
    text = filled_in(block.text, meant(demo))

    assert expected
    assert None not in expected
    assert output_of(package, project, block.language, text) == expected
    assert output_of(package, project, block.language, text) == expected


def test_a_mistake_in_a_sample_is_found(package: Package, demo: Demo, project: Path) -> None:
    """An example with a wrong method fails."""
    text = filled_in(BLOCKS[1].replaced("updateMany", "updateAll").text, meant(demo))

    assert "updateAll" in "\n".join(output_of(package, project, "js", text))


def test_every_method_is_in_the_table() -> None:
    """The table has exactly the methods of a sheet, and the text above it those of a client."""
    from_table = set(re.findall(r"^\| `(\w+)\(", README, re.MULTILINE))
    from_text = set(re.findall(r"`sheets\.(\w+)\(", README))
    sheet, client = (
        (SOURCE / "src" / name).read_text("utf-8").partition("export class")[2]
        for name in ("sheet.ts", "client.ts")
    )

    assert set(_METHOD.findall(sheet)) - {"constructor"} == from_table
    assert set(_METHOD.findall(client)) - {"constructor"} == from_text
    assert (len(from_table), len(from_text)) == (13, 2)
