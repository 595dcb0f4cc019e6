"""The examples of the README run one by one, each twice, against the demo."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gateway.commands.demo import running_demo
from gateway.server.sockets import bind
from sheets_gateway_client import AsyncSheet, Sheet
from tests.docs.blocks import Block, blocks_in, filled_in
from tests.docs.samples import PYTHON, run_own_commands

PACKAGE = Path(__file__).parents[3] / "clients" / "python"
README = (PACKAGE / "README.md").read_text("utf-8")
BLOCKS = [block for block in blocks_in(README, "README.md") if block.language == "python"]
PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def meant() -> Iterator[Mapping[str, str]]:
    """Yield the values that replace placeholders, after the demo's printed commands have run."""
    with running_demo(bind("127.0.0.1", 0), {}) as demo:
        run_own_commands(demo)
        yield {"http://127.0.0.1:8000": demo.url}


def output_of(text: str, folder: Path) -> list[str]:
    """Return the lines that a program prints, or its error text if it fails."""
    program = folder / "sample.py"
    program.write_text(text)
    done = subprocess.run(  # noqa: S603 - our own page
        [*PYTHON.command, str(program)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return (done.stdout + done.stderr).splitlines()


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_sample_runs_twice(block: Block, meant: Mapping[str, str], tmp_path: Path) -> None:
    """Each example prints what its comments say, both times."""
    expected = [each["said"] for each in PYTHON.prints.finditer(block.text)]
    program = filled_in(block.text, meant)

    assert expected
    assert None not in expected
    assert output_of(program, tmp_path) == expected
    assert output_of(program, tmp_path) == expected


def test_a_mistake_in_a_sample_is_found(meant: Mapping[str, str], tmp_path: Path) -> None:
    """An example with a wrong method fails."""
    program = filled_in(BLOCKS[1].replaced("update_many", "update_all").text, meant)

    assert "update_all" in "\n".join(output_of(program, tmp_path))


def test_every_method_is_in_the_table() -> None:
    """The table of the README has all methods of `Sheet` and `AsyncSheet`."""
    from_table = {line.partition("(")[0].strip("| `") for line in README.splitlines()}
    names = {name for name in vars(Sheet) if not name.startswith("_")}

    assert names == {name for name in vars(AsyncSheet) if not name.startswith("_")}
    assert len(names) == 15
    assert names <= from_table
