"""README and reference pages match the code."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from starlette.testclient import TestClient
from typer.testing import CliRunner

from gateway.commands.cli import main
from gateway.query.operators import ALIASES, OPERATORS
from gateway.query.query import COMBINATORS, NOT
from gateway.server.intake import MAX_HEADER_LINES
from gateway.settings.model import PlanSettings, Settings
from gateway.telemetry.events import RequestEvent, Tallies
from gateway.telemetry.metrics import create_metrics
from gateway.web.body import MAX_ROWS
from sheets_emulator.edits.batch import KINDS
from sheets_emulator.faults import Fault
from sheets_emulator.operations import OPERATIONS
from sheets_emulator.protocol.definition import DEFINITION, members
from tests.docs.blocks import blocks_in
from tests.error_tree import concrete_errors

PROJECT = Path(__file__).parents[1]
DOCS = PROJECT / "docs"
README = (PROJECT / "README.md").read_text("utf-8")
EMULATOR = (DOCS / "reference" / "emulator.md").read_text("utf-8")
API = (DOCS / "reference" / "api.md").read_text("utf-8")
ERRORS = (DOCS / "reference" / "errors.md").read_text("utf-8")
CLI = (DOCS / "reference" / "cli.md").read_text("utf-8")
SETTINGS = (DOCS / "reference" / "settings.md").read_text("utf-8")
LOG = (DOCS / "reference" / "log-and-metrics.md").read_text("utf-8")
PROXY = (DOCS / "how-to" / "reverse-proxy.md").read_text("utf-8")
TROUBLE = (DOCS / "how-to" / "troubleshooting.md").read_text("utf-8")
_ERROR_SECTION = re.compile(r"^### (\d+) (\w+) \((\d+)\)\n\n(.*?)(?=^##)", re.MULTILINE | re.DOTALL)
_ERROR_ROW = re.compile(r"^\| (\d+) \| (\d+) \| (\w+) \| (.+) \|$", re.MULTILINE)


def commands(group: Any, prefix: str = "sheets-gateway") -> Iterator[tuple[str, Any]]:
    """Yield each command by its words, such as `keys list`, or `sheets-gateway serve` at
    the top level.
    """
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, name)
        else:
            yield f"{prefix} {name}", command


COMMANDS: Mapping[str, Any] = dict(commands(typer.main.get_command(main)))


def test_every_error_is_in_the_table() -> None:
    """The error table has exactly the codes of the code, with status, name and description."""
    documented = [
        ((int(code), int(status), name), text)
        for code, status, name, text in _ERROR_ROW.findall(ERRORS)
    ]
    described = [
        ((error.code, error.status, error.name), error.description()) for error in concrete_errors()
    ]

    assert documented == sorted(described, key=lambda line: line[0])


def test_every_error_has_a_description() -> None:
    """Every error class has its own description."""
    assert [error for error in concrete_errors() if not error.description()] == []


def test_the_commands_are_found() -> None:
    """The command line has exactly these commands, so that the next tests cover all."""
    assert set(COMMANDS) == {
        *(f"sheets-gateway {name}" for name in ("serve", "demo", "init", "emulator", "check")),
        *(f"admin {name}" for name in ("create", "list", "revoke")),
        *(f"keys {name}" for name in ("create", "list", "update", "rotate", "revoke")),
        *(f"keys {name}" for name in ("report", "log")),
        *(f"storage {name}" for name in ("backup", "restore", "migrate", "copy")),
    }


@pytest.mark.parametrize("words", COMMANDS)
def test_the_options_of_a_command_equal_its_help(words: str) -> None:
    """The section of each command has a table with exactly the options of `--help`."""
    section = section_of(words)
    listed = re.findall(r"^\| `(--[^`]+)` \| \S.* \|$", section, re.MULTILINE)
    done = CliRunner().invoke(main, [*in_full(words), "--help"], terminal_width=80)
    printed = re.findall(r"^  (-\S+(?: \S+)?)(?:  |$)", done.output, re.MULTILINE)

    assert done.exit_code == 0
    assert sorted([*listed, "-h, --help"]) == sorted(printed)
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_an_example(words: str) -> None:
    """The section of each command has an example that calls the command."""
    examples = "".join(block.text for block in blocks_in(section_of(words), words))

    assert f"sheets-gateway {' '.join(in_full(words))}" in examples


def test_the_page_has_no_other_commands() -> None:
    """The page has exactly one section for each command."""
    titles = re.findall(r"^## (.+)$", CLI, re.MULTILINE)

    assert sorted(titles) == sorted(" ".join(in_full(words)) for words in COMMANDS)


def in_full(words: str) -> Sequence[str]:
    """Return the words after the name of the program."""
    return words.removeprefix("sheets-gateway ").split(" ")


def section_of(words: str) -> str:
    title = " ".join(in_full(words))
    return CLI.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_operator_is_named() -> None:
    """The API reference names each operator of `where`, each alias and each combinator."""
    names = {*OPERATORS, *ALIASES, *COMBINATORS, NOT}

    assert names >= {"$eq", "$neq", "$and", "$not"}
    assert sorted(name for name in names if f"`{name}`" not in API) == []


def test_every_error_has_a_troubleshooting_section() -> None:
    """Troubleshooting has a section for every code, with advice for client and operator."""
    sections = _ERROR_SECTION.findall(TROUBLE)
    told = [(int(code), int(status), name) for code, name, status, _ in sections]
    raised = {(each.code, each.status, each.name) for each in concrete_errors()}

    assert sorted(told) == sorted(raised)
    assert [
        code
        for code, _, _, text in sections
        if not re.fullmatch(
            r"\S.*\n- \*\*Client\*\*: .*\n- \*\*Operator\*\*: .*\n\n", text, re.DOTALL
        )
    ] == []


def test_every_section_of_the_settings_is_in_the_table() -> None:
    """The table of settings has all sections in the order of config.example.toml."""
    sections = re.findall(r"^\| `\[+(\w+)(?:\.NAME)?\]+` \|", SETTINGS, re.MULTILINE)
    example = (PROJECT / "config.example.toml").read_text("utf-8")
    in_example = re.findall(r"^(?:# \[)?\[(\w+)", example, re.MULTILINE)

    assert sorted(sections) == sorted(Settings.model_fields)
    assert sections == list(dict.fromkeys(in_example))


def test_every_setting_of_a_plan_is_in_the_table() -> None:
    """The table of plans has every setting with its default for both plans."""
    table = SETTINGS.partition("## Plans")[2].partition("## ")[0]
    lines = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table, re.MULTILINE))
    paid, free = Settings().plans["paid"], Settings().plans["free"]

    assert lines.keys() == PlanSettings.model_fields.keys()
    for name, told in lines.items():
        values = {each: getattr(plan, name) for each, plan in (("paid", paid), ("free", free))}
        words = {str(value).lower() for value in values.values()}
        one = ", ".join(f"`{each}` {str(value).lower()}" for each, value in values.items())
        assert told == (words.pop() if len(words) == 1 else one)


def test_every_member_of_a_log_line_is_documented() -> None:
    """The table of the log has exactly the members of a request's line."""
    table = LOG.partition("| member |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)

    assert set(re.findall(r"`(\w+)`", " ".join(cells))) == {
        *RequestEvent.__struct_fields__,
        "event",
    }


def test_every_event_of_the_log_is_documented() -> None:
    """The tables of events have exactly the events that `telemetry` writes."""
    files = sorted((PROJECT / "gateway" / "telemetry").glob("*.py"))
    source = "".join(file.read_text("utf-8") for file in files)
    events = set(re.findall(r'log\.(?:info|warning|error)\(\s*"([a-z-]+)"', source))
    tables = LOG.partition("### Lines of other events")[2].partition("\n## ")[0]

    assert len(events) >= 10
    assert sorted(re.findall(r"^\| `([a-z-]+)` \|", tables, re.MULTILINE)) == sorted(events)


def test_every_metric_is_documented() -> None:
    """The page on log and metrics has exactly the gateway's metrics."""
    tallies = Tallies(is_store_available=True)
    text = TestClient(create_metrics(tallies), "http://localhost").get("/metrics").text
    names = set(re.findall(r"^# TYPE (gateway_\w+)", text, re.MULTILINE))

    assert len(names) >= 10
    assert set(re.findall(r"`(gateway_\w+)`", LOG)) == names


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (4032, ["worksheet", "write this field"]),
        (4080, ["head", "body"]),
        (4132, ["`google.max_answer_bytes`", "`cache.max_worksheet_bytes`"]),
        (4310, ["`server.max_head_bytes`", f"more than {MAX_HEADER_LINES}"]),
        (5031, ["worksheet", "connections", "key store"]),
    ],
)
def test_an_error_has_the_same_causes_on_both_pages(code: int, words: Sequence[str]) -> None:
    """The error table and troubleshooting name the same causes of an error."""
    rows = " ".join(re.findall(rf"^\| {code} \|.*$", ERRORS, re.MULTILINE))
    section = next(
        text for each, _, _, text in _ERROR_SECTION.findall(TROUBLE) if each == str(code)
    )

    assert [word for word in words if word not in rows] == []
    assert [word for word in words if word not in section] == []


def test_limits_in_the_readme_are_the_defaults() -> None:
    """The limits in the README are the defaults of the settings."""
    told = README.partition("## Limits and freshness")[2]
    settings = Settings()
    plan = settings.plans["paid"]

    assert f"shows within {settings.cache.rows_ttl_seconds:.0f} seconds" in told
    assert settings.cache.max_stale_seconds == 3600
    assert f"send {plan.requests_per_minute} requests a minute" in told
    assert f"{plan.max_concurrent} can be in progress at the same time" in told
    assert f"{plan.max_limit} rows in an answer, {MAX_ROWS} in a create" in told
    assert settings.server.max_body_bytes == 1024**2


def test_bounds_in_bytes_are_those_of_the_code() -> None:
    """The page on proxies has each byte limit of `[writes]` with its default."""
    table = PROXY.partition("| what | bound |")[2].partition("\n\n")[0]
    told = re.findall(r"\| (\d+) ([MG])iB \|.*`(\w+)` \|", table)
    writes = Settings().writes
    bounds = {
        name: getattr(writes, name)
        for name in type(writes).model_fields
        if re.search(r"_bytes(_|$)", name)
    }

    assert {name: int(size) * 1024 ** {"M": 2, "G": 3}[unit] for size, unit, name in told} == bounds
    assert len(bounds) >= 3
    assert f"more than {MAX_HEADER_LINES} header lines" in PROXY


def test_the_readme_is_short() -> None:
    """The README has at most 200 lines, and contains words that users search for."""
    words = ["CORS", "pagination", "filter", "rate limit", "webhook", "TypeScript", "Windows"]

    assert len(README.splitlines()) <= 200
    assert [word for word in words if word.lower() not in README.lower()] == []


def test_every_setting_section_is_reachable_from_the_readme() -> None:
    """The README links to config.example.toml, which has all settings."""
    assert "(config.example.toml)" in README


def test_every_request_of_a_batch_in_the_emulator_is_named() -> None:
    """The page lists exactly the `batchUpdate` requests of the emulator, which all exist
    in the Sheets API.
    """
    kinds = EMULATOR.partition("Kinds of `batchUpdate`")[2].partition("\n\n")[0]

    assert set(re.findall(r"`(\w+)`", kinds)) == set(KINDS) <= set(members("Request") or ())


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_call_of_the_emulator_is_named(name: str) -> None:
    """The emulator page lists each supported call."""
    covered = EMULATOR.partition("## Not supported")[0]

    assert f"`{name}`" in covered or f"`{name.split('.')[-1]}`" in covered


def test_the_emulator_covers_every_call() -> None:
    """The emulator supports every method of Google's API definition."""
    names = {f"spreadsheets.{name.removeprefix('spreadsheets.')}" for name in OPERATIONS}

    assert names == set(DEFINITION.methods)


def test_every_member_of_a_fault_is_named() -> None:
    """The table of faults has a line for each member of a fault."""
    table = EMULATOR.partition("### Faults")[2].partition("## Assumptions")[0]
    first_cells = re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE)

    assert sorted(re.findall(r"`(\w+)`", ",".join(first_cells))) == sorted(Fault.__struct_fields__)
