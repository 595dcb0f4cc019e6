"""Output of commands: control characters are escaped in the one module that prints."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gateway.commands
from gateway.commands.cli import main
from gateway.commands.options import configuration_words
from gateway.commands.terminal import say

COMMANDS = Path(gateway.commands.__file__).parent
OBEYED = [
    *map(chr, (*range(0x20), *range(0x7F, 0xA0))),
    *map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))),
    *("\u2028", "\u2029", "\u200e", "\u200f", "\u061c", "\ufeff", "\u00ad", "\U000e0041", "\ud800"),
]


@pytest.mark.parametrize("is_error", [False, True], ids=["out", "err"])
def test_control_characters_are_escaped(capsys: pytest.CaptureFixture[str], is_error: bool) -> None:
    """`say` escapes control characters, direction marks and line separators."""
    say(*(f"a{each}b" for each in OBEYED), "Zürich 🏙 'x'", err=is_error)

    read = capsys.readouterr()
    lines = (read.err if is_error else read.out).split("\n")
    assert lines[-2:] == ["Zürich 🏙 'x'", ""]
    assert [line for line in lines if not line.isprintable()] == []
    assert len(lines) == len(OBEYED) + 2
    assert lines[0x1B] == "a\\x1bb"


def test_the_configuration_in_use_is_named(tmp_path: Path) -> None:
    """The configuration is named by its full path, or by the folder where it is missing."""
    file = tmp_path / "config.toml"
    missing = configuration_words(file)
    file.touch()

    assert configuration_words(file) == str(file)
    assert missing == f"no {file} in {Path.cwd()}, so defaults and variables GATEWAY_… only"


def test_only_one_module_prints() -> None:
    """Only `terminal.py` prints to standard output or standard error."""
    found = {
        file.name
        for file in sorted(COMMANDS.rglob("*.py"))
        for line in file.read_text("utf-8").splitlines()
        if re.search(r"\b(echo|print|secho|stderr\.write)\(", line)
    }

    assert found == {"terminal.py"}


def test_invalid_edits_of_a_seed_end_the_emulator(tmp_path: Path) -> None:
    """An invalid edit in a seed ends the emulator with status 1; the error names file and
    reason.
    """
    body = '{"requests": [{"deleteTable": {"tableId": "x"}}]}'
    (tmp_path / "book.json").write_text(body)
    done = CliRunner().invoke(main, ["emulator", "--seed", str(tmp_path), "--port", "0"])

    assert done.exit_code == 1
    assert done.output.strip() == (
        f"sheets-gateway: --seed: {tmp_path}/book.json: "
        "Invalid requests[0].deleteTable: No table with id: x"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--config", "x\x1b]0;t\x07\u202e.toml"],
        [
            "storage",
            "copy",
            "--from",
            "x\x9b\u2028\n.db",
            "--to",
            "postgresql+asyncpg://u:p@127.0.0.1/y",
        ],
        ["emulator", "--seed", "x\x7f\n", "--port", "0"],
        ["keys", "revoke", "\x1b[1A\n"],
        ["keys", "create", "--name", "a\nb\x9b", "--spreadsheet", "s", "--plan", "\x1b"],
    ],
    ids=lambda arguments: " ".join(arguments[:2])[:12],
)
def test_names_do_not_write_to_the_terminal(tmp_path: Path, arguments: list[str]) -> None:
    """Names of files, keys and plans in errors are escaped."""
    environ = {"GATEWAY_ACCESS__DATABASE": str(tmp_path / "keys.db")}
    done = CliRunner().invoke(main, arguments, env=environ)

    assert done.exit_code != 0
    assert re.search(r"\\(x1b|x9b|x7f|n)", done.output)
    assert [each for each in done.output if not each.isprintable() and each != "\n"] == []
