"""Commands on a terminal print symbols, tables and colours; otherwise plain lines."""

import json
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer
from typer.testing import CliRunner

from gateway.commands.cli import main
from tests.journeys.process import run
from tests.journeys.terminal import on_terminal
from tests.journeys.waiting import until

NASTY = "[red]a[/red] \x1b[2J\x9b :smile: 'é'"
SPREADSHEET = "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms"
BRIGHT = "\x1b["
NO_GOOGLE = {"GATEWAY_GOOGLE__CREDENTIALS": "/nonexistent"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder with a key store of three keys, one revoked."""
    made = tmp_path_factory.mktemp("office")
    (made / "config.toml").write_text("")
    config = ("--config", str(made / "config.toml"))
    grants = ("--worksheet", "Orders of the year", "--worksheet", "Z", "--writable-column", "size")
    for name, options in (
        ("website", ("--read-only", "--origin", "https://www.example.org")),
        ("nightly import of all orders of the year", (*grants, "--column", "size")),
        ("old", ("--worksheet", NASTY)),
    ):
        named = ("--name", name, "--spreadsheet", SPREADSHEET)
        done = CliRunner().invoke(main, ["keys", "create", *named, *options, *config])
        assert done.exit_code == 0, done.stderr
    CliRunner().invoke(main, ["keys", "revoke", done.stdout.split()[0], *config])
    return made


def on(
    folder: Path, *arguments: str, columns: int = 80, environ: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Run a command on a terminal, and return exit status, raw output and text."""
    with on_terminal(*arguments, environ=environ or {}, folder=folder, columns=columns) as terminal:
        return terminal.end(), terminal.raw, terminal.said


def commands(command: Any = None, names: Sequence[str] = ()) -> Iterator[Sequence[str]]:
    """Yield the words of each command and group."""
    yield names
    found = command or typer.main.get_command(main)
    for name, each in getattr(found, "commands", {}).items():
        yield from commands(each, [*names, name])


@pytest.mark.parametrize("columns", [80, 120])
def test_keys_are_a_table_that_fits(folder: Path, columns: int) -> None:
    """`keys list` on a terminal prints a coloured table with all grants that fits the width."""
    status, raw, said = on(folder, "keys", "list", columns=columns)
    words = " ".join(said.split())

    assert status == 0
    assert BRIGHT in raw
    assert [line for line in said.split("\n") if len(line) > columns] == []
    assert re.search(r"^ *KEY +STATE +MAY *$", said, re.MULTILINE)
    for each in ("website", "active", "revoked", "plan paid", "used never", '"size"', '"Orders of'):
        assert each in words
    assert len(re.findall(r"\bkey_\w{8}\b", said)) == 3


def test_texts_are_not_markup(folder: Path) -> None:
    """Brackets in names are printed literally, and control characters are escaped."""
    _, raw, said = on(folder, "keys", "list", columns=200)

    assert "[red]a[/red] \\u001b[2J\\x9b :smile: 'é'" in said
    assert "\x1b[2J" not in raw
    assert "\x9b" not in raw


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (("keys", "list"), {"NO_COLOR": "1"}),
        (("check",), {"TERM": "dumb"}),
        (("keys", "--help"), {"CI": "true"}),
        (("keys", "revoke", "key_x"), {"NO_COLOR": "1"}),
    ],
    ids=lambda part: " ".join(part),
)
def test_plain_lines_are_the_same_everywhere(
    folder: Path, arguments: Sequence[str], environ: Mapping[str, str]
) -> None:
    """With NO_COLOR, TERM=dumb or CI, a terminal gets the same bytes as a pipe."""
    options = () if "--help" in arguments else ("--config", str(folder / "config.toml"))
    plain = run(*arguments, *options, environ={**NO_GOOGLE, "COLUMNS": "80"})
    status, raw, _ = on(folder, *arguments, *options, environ={**NO_GOOGLE, **environ})

    assert status == plain.returncode
    assert raw.replace("\r\n", "\n") == plain.stdout + plain.stderr
    assert BRIGHT not in raw


def test_findings_have_symbols(folder: Path) -> None:
    """Each finding of `check` starts with a symbol and a word; continued lines are indented."""
    status, raw, said = on(folder, "check", environ=NO_GOOGLE)
    shape = re.compile(r"[✓!✗] \w+ +\S| {10}\S|$")

    assert status == 1
    assert "✓ ok      keys: 2 not revoked" in said
    assert "\x1b[31m✗\x1b[0m \x1b[1mproblem" in raw
    assert [line for line in said.split("\n") if not shape.match(line)] == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("keys", "revoke", "key_x"), "✗ error   there is no active key key_x"),
        (("keys", "lst"), "✗ error   No such command 'lst'. Did you mean 'list'?"),
        (("keys", "create"), "✗ error   Missing option '--name'."),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_errors_have_symbols(folder: Path, arguments: Sequence[str], complaint: str) -> None:
    """An error on a terminal starts with a symbol and has exit status 2."""
    status, _, said = on(folder, *arguments)

    assert status == 2
    assert said.startswith(complaint)


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_help_is_complete(words: Sequence[str]) -> None:
    """`-h` equals `--help`; nothing is truncated, lines fit, and each command has examples."""
    runner = CliRunner()
    narrow, wide, short = (
        runner.invoke(main, [*words, option], terminal_width=width).stdout
        for option, width in (("--help", 60), ("--help", 120), ("-h", 60))
    )
    command: Any = typer.main.get_command(main)
    for word in words:
        command = command.commands[word]
    texts = [each.help for each in (command, *getattr(command, "commands", {}).values())]

    assert short == narrow
    assert " ".join(narrow.split()).replace("- ", "-") == " ".join(wide.split()).replace("- ", "-")
    for text in texts:
        assert " ".join(text.split("\n\n")[0].split()) in " ".join(wide.split())
    assert [line for line in wide.split("\n") if len(line) > 120] == []
    if not hasattr(command, "commands"):
        examples = wide.partition("\nExamples:\n")[2].splitlines()
        assert examples[0].startswith(f"  sheets-gateway {' '.join(words)}")
        assert [line for line in examples if len(line) > 78] == []


def test_help_has_colours(folder: Path) -> None:
    """Help on a terminal has coloured headings, options and commands, with the same text."""
    _, raw, said = on(folder, "keys", "-h")

    assert "\x1b[1mOptions:\x1b[0m" in raw
    assert re.search(r"  \x1b\[35m-h\x1b\[0m, \x1b\[35m--help\x1b\[0m", raw)
    assert re.search(r"\x1b\[35m +create\x1b\[0m|  \x1b\[35mcreate", raw)
    assert said == run("keys", "-h", environ={"COLUMNS": "80"}).stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["chek"], "No such command 'chek'. Did you mean 'check'?"),
        (["keys", "lst"], "No such command 'lst'. Did you mean 'list'?"),
        (["check", "--confg"], "No such option: --confg. Did you mean --config?"),
        (["keys", "create", "--colum"], "Did you mean --column?"),
        (["check", "--zzz"], "No such option: --zzz\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_misspelt_words_have_a_suggestion(arguments: list[str], complaint: str) -> None:
    """A misspelt command or option gives the nearest suggestion, if any."""
    done = CliRunner().invoke(main, arguments)

    assert done.exit_code == 2
    assert complaint in done.stderr


@pytest.mark.parametrize("form", ["auto", "json"])
def test_the_log_on_a_terminal_is_text(folder: Path, form: str) -> None:
    """With `log.format = "auto"` the log on a terminal is text; with `json` it is JSON."""
    # A loopback port without a server, because the test makes no call to Google.
    environ = {"GATEWAY_GOOGLE__ENDPOINT": "http://127.0.0.1:9", "GATEWAY_LOG__FORMAT": form}
    with on_terminal("serve", "--port", "0", environ=environ, folder=folder) as terminal:
        url = terminal.until(r"Sheets gateway on (http://\S+)\n")[1]
        assert until(lambda: _is_alive(url))
        terminal.process.send_signal(signal.SIGTERM)
        status = terminal.end()
    lines = terminal.said.splitlines()

    assert status == 0
    if form == "auto":
        assert re.search(
            rf'^\S+ info +serving .* listeners=\["{url}"\].* keys=2 ', terminal.said, re.M
        )
        assert re.search(r"^\S+ 200 +GET /livez +ms=\d", terminal.said, re.M)
        assert lines[-2].endswith(" signal=SIGTERM requests=0")
        assert re.fullmatch(r"[\d:]{8} info +stopped +drained=0", lines[-1])
    else:
        assert json.loads(lines[-1])["event"] == "stopped"


def _is_alive(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/livez").status_code == 200
    except httpx2.TransportError:
        return False
