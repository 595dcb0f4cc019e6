"""The README says what the code does."""

import re
from collections.abc import Iterator
from pathlib import Path

import typer

from gateway.cli import main
from gateway.errors import GatewayError

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
_ERROR_ROW = re.compile(r"^\| (\d+) \| (\d+) \| (\w+) \|", re.MULTILINE)


def error_classes(root: type[GatewayError] = GatewayError) -> Iterator[type[GatewayError]]:
    """Every error of the tree that has a code."""
    for each in root.__subclasses__():
        if hasattr(each, "code"):
            yield each
        yield from error_classes(each)


def test_every_error_is_in_the_table() -> None:
    """The error table has each code with its status and name, and no other row."""
    documented = [
        (int(code), int(status), name) for code, status, name in _ERROR_ROW.findall(README)
    ]
    raised = {(each.code, each.status, each.name) for each in error_classes()}

    assert documented == sorted(raised)


def test_every_command_is_named() -> None:
    """Each command of the command line stands in the README."""
    command = typer.main.get_command(main)
    names = list(getattr(command, "commands", {}))

    assert len(names) >= 5
    assert [name for name in names if name not in README] == []


def test_every_setting_section_is_reachable_from_the_readme() -> None:
    """The README leads to the file that has all settings."""
    assert "(config.example.toml)" in README
