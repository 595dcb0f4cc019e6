"""The README says what the code does."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

from gateway.cli import main
from gateway.emulator.edits.batch import KINDS
from gateway.emulator.faults import Fault
from gateway.emulator.http.routes import NOT_COVERED
from gateway.emulator.operations import OPERATIONS
from gateway.emulator.protocol.definition import members
from gateway.rows.conditions import ALIASES, COMBINATORS, NOT, OPERATORS
from tests.error_tree import concrete_errors

PROJECT = Path(__file__).parents[1]
README = (PROJECT / "README.md").read_text("utf-8")
EMULATOR = (PROJECT / "docs" / "emulator.md").read_text("utf-8")
_ERROR_ROW = re.compile(r"^\| (\d+) \| (\d+) \| (\w+) \|", re.MULTILINE)


def commands(group: Any, prefix: str = "sheets-gateway") -> Iterator[tuple[str, Any]]:
    """Every command by the words that call it; `sheets-gateway` is left out before `keys`."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, name)
        else:
            yield f"{prefix} {name}", command


COMMANDS: Mapping[str, Any] = dict(commands(typer.main.get_command(main)))


def passages(words: str) -> str:
    """The paragraphs and list items of the README that hold some words."""
    return "\n".join(part for part in re.split(r"\n\n|\n(?=- )", README) if words in part)


def test_every_error_is_in_the_table() -> None:
    """The error table has each code with its status and name, and no other row."""
    documented = [
        (int(code), int(status), name) for code, status, name in _ERROR_ROW.findall(README)
    ]
    raised = {(each.code, each.status, each.name) for each in concrete_errors()}

    assert documented == sorted(raised)


def test_the_commands_are_found() -> None:
    """What the next tests go by is the whole command line."""
    assert set(COMMANDS) == {
        *(f"sheets-gateway {name}" for name in ("serve", "demo", "emulator", "check")),
        *(f"keys {name}" for name in ("create", "list", "revoke")),
    }


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_is_named(words: str) -> None:
    """Each command of the command line stands in the README as it is typed."""
    assert re.search(rf"\b{words}\b", README)


@pytest.mark.parametrize("words", ["keys create", "sheets-gateway emulator"])
def test_every_option_is_named(words: str) -> None:
    """Where the README speaks of these commands it names all of their options."""
    told = re.findall(r"--[a-z-]+", passages(words))
    options = {name for each in COMMANDS[words].params for name in each.opts if "--" in name}

    assert len(options) >= 6
    assert sorted(options - set(told)) == []


def test_every_operator_is_named() -> None:
    """The README has each operator of `where`, by all of its names, and what combines them."""
    names = {*OPERATORS, *ALIASES, *COMBINATORS, NOT}

    assert names >= {"$eq", "$neq", "$and", "$not"}
    assert sorted(name for name in names if f"`{name}`" not in README) == []


def test_every_setting_section_is_reachable_from_the_readme() -> None:
    """The README leads to the file that has all settings."""
    assert "(config.example.toml)" in README


def test_every_kind_of_a_batch_that_the_emulator_covers_is_named() -> None:
    """The list of kinds is the table of kinds, and has none that Google does not have."""
    kinds = EMULATOR.partition("Kinds of `batchUpdate`")[2].partition("\n\n")[0]

    assert set(re.findall(r"`(\w+)`", kinds)) == set(KINDS) <= set(members("Request") or ())


@pytest.mark.parametrize("name", [*OPERATIONS, *NOT_COVERED])
def test_every_call_is_covered_or_missing_by_name(name: str) -> None:
    """Each call of the API is in the page on the emulator, under what it is."""
    covered, _, missing = EMULATOR.partition("## Missing")
    last_word = re.split(r"\.(?:get|search)$", name)[0].split(".")[-1]
    page = covered if name in OPERATIONS else missing

    assert f"`{name}`" in page or f"`{last_word}`" in page or f"`{name.split('.')[-1]}`" in page


def test_every_member_of_a_fault_is_named() -> None:
    """The example of a fault has all members with their defaults."""
    example = EMULATOR.partition('`{"call":')[2].partition("}`")[0]

    assert set(re.findall(r'"(\w+)":', '"call":' + example)) == set(Fault.__struct_fields__)
