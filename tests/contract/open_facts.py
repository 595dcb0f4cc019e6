"""Test undocumented behaviour of Google: `python -m tests.contract.open_facts`.

Prints a line for each fact: the question, the answer, and whether the emulator assumes the same. If
a line says DIFFERS, correct the emulator and the fake in memory, or describe the difference in
`docs/reference/emulator.md`.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import anyio

from gateway.errors import GatewayError
from gateway.settings.model import ConfigError
from tests.contract.facts import Bench, Fact, Finding, ask
from tests.contract.kept_facts import KEPT_FACTS
from tests.contract.metadata_facts import METADATA_FACTS
from tests.contract.place import CREDENTIALS, GOOGLE, SPREADSHEET, Place
from tests.contract.spreadsheet import open_spreadsheet

AT_ONCE = 20


async def _append_past_the_grid(bench: Bench) -> str:
    return "written at " + await bench.append("A3", [["x"]], "INSERT_ROWS")


async def _append_leading_nulls(bench: Bench) -> str:
    return await bench.append("A1", [[None, None, "z"]], "INSERT_ROWS")


def _growth(insertion: str) -> Callable[[Bench], Awaitable[str]]:
    async def grown(bench: Bench) -> str:
        before = await bench.rows()
        await bench.append("A1", [["x"], ["y"], ["z"]], insertion)
        return f"{await bench.rows() - before} rows"

    return grown


def _race(insertion: str) -> Callable[[Bench], Awaitable[str]]:
    async def kept(bench: Bench) -> str:
        told: dict[str, str] = {}
        failed: list[GatewayError] = []

        async def append(number: int) -> None:
            text = f"row {number}"
            try:
                told[text] = await bench.append("A1", [[text]], insertion)
            except GatewayError as error:
                failed.append(error)

        async with anyio.create_task_group() as group:
            for number in range(AT_ONCE):
                group.start_soon(append, number)
        lines = await bench.spreadsheet.formulas(bench.at("A2:A"))
        lost = told.keys() - {str(line[0]) for line in lines if line}
        places = len(set(told.values()))
        answer = f"{len(lost)} of {len(told)} rows are lost, {places} places were told"
        return f"{answer}, {len(failed)} failed" if failed else answer

    return kept


def _is_a_loss(answer: str, _: str) -> bool:
    return re.match(r"[1-9]\d* of ", answer) is not None


async def _formulas_pushed(bench: Bench) -> str:
    written = await bench.append("A3", [["3", "4"]], "INSERT_ROWS")
    column = [
        line[0] if line else "" for line in await bench.spreadsheet.formulas(bench.at("C2:C"))
    ]
    return f"written at {written}, formulas then {json.dumps(column)}"


async def _other_case(bench: Bench) -> str:
    await bench.spreadsheet.formulas(f"'{bench.title.swapcase()}'!A1")
    return "read"


async def _corner(bench: Bench) -> str:
    return "written at " + await bench.append("A1", [["x"]], "INSERT_ROWS")


async def _overrun(bench: Bench) -> str:
    await bench.spreadsheet.update(bench.at("B2"), [["x", "y"]])
    return "written"


FACTS = (
    Fact(
        question=f"{AT_ONCE} appends at once with INSERT_ROWS: are all rows kept?",
        assumed=f"0 of {AT_ONCE} rows are lost, {AT_ONCE} places were told",
        ask=_race("INSERT_ROWS"),
        lines=[["n"]],
    ),
    Fact(
        question=f"{AT_ONCE} appends at once with OVERWRITE: are all rows kept?",
        assumed="some rows are lost",
        fits=_is_a_loss,
        ask=_race("OVERWRITE"),
        lines=[["n"]],
    ),
    Fact(
        question="An append anchored one row past the grid: what happens?",
        assumed="refused, 'Range (A3) exceeds grid limits. Max rows: 2, max columns: 2'",
        ask=_append_past_the_grid,
    ),
    Fact(
        question="An appended row that starts with two nulls: which range was updated?",
        assumed="A3:C3",
        ask=_append_leading_nulls,
    ),
    Fact(
        question="An append of three rows with INSERT_ROWS to a full grid: how much does it grow?",
        assumed="3 rows",
        ask=_growth("INSERT_ROWS"),
    ),
    Fact(
        question="The same with five blank rows under the table: how much does it grow?",
        assumed="3 rows",
        ask=_growth("INSERT_ROWS"),
        blank_rows=5,
    ),
    Fact(
        question="An append of three rows with OVERWRITE to a full grid: how much does it grow?",
        assumed="3 rows",
        ask=_growth("OVERWRITE"),
    ),
    Fact(
        question="An append with INSERT_ROWS above formulas filled down: what are they then?",
        assumed=('written at A3:B3, formulas then ["=A2+B2", "", "=A4+B4", "=A5+B5"]'),
        ask=_formulas_pushed,
        lines=[["a", "b", "sum"], [1, 2, "=A2+B2"], [None, None, "=A3+B3"], [None, None, "=A4+B4"]],
    ),
    Fact(
        question="A range whose title is written in the other case: is it read?",
        assumed="read",
        ask=_other_case,
    ),
    Fact(
        question="Two cells that touch at a corner: under which of them does a row go?",
        assumed="written at A3",
        ask=_corner,
        lines=[["a", None], [None, "b"]],
        blank_rows=3,
    ),
    Fact(
        question="A write from one cell that runs past the last column: what happens?",
        assumed=("refused, 'Requested writing within range [B2], but tried writing to column [C]'"),
        ask=_overrun,
    ),
    *METADATA_FACTS,
    *KEPT_FACTS,
)


async def ask_all(
    place: Place, tell: Callable[[str], None], facts: Sequence[Fact] = FACTS
) -> list[Finding]:
    """Test all facts in order, and pass each line to `tell` at once."""
    findings = []
    async with open_spreadsheet(place) as spreadsheet:
        for fact in facts:
            findings.append(await ask(fact, spreadsheet))
            tell(findings[-1].line())
    return findings


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Return the exit status: 0 if all facts agree, 1 if not, 2 without a spreadsheet."""
    place = _read_place(arguments, environment)
    try:
        findings = anyio.run(ask_all, place, lambda line: print(line, flush=True))
    except (ConfigError, GatewayError) as error:
        print(f"Not all was asked. {error}", file=sys.stderr)
        return 1
    return 0 if all(finding.agrees for finding in findings) else 1


def _read_place(arguments: Sequence[str], environment: Mapping[str, str]) -> Place:
    parser = argparse.ArgumentParser(description="Asks Google what the emulator only assumes.")
    parser.add_argument("--endpoint", default=GOOGLE, help="base URL (default: Google's)")
    parser.add_argument(
        "--credentials",
        default=environment.get(CREDENTIALS),
        help=f"service account's key file (default: {CREDENTIALS})",
    )
    parser.add_argument(
        "--spreadsheet",
        default=environment.get(SPREADSHEET),
        help=f"id of a scratch spreadsheet shared with it (default: {SPREADSHEET})",
    )
    read = parser.parse_args(arguments)
    if not read.credentials or not read.spreadsheet:
        parser.error("name a key file and a spreadsheet")
    return Place(
        endpoint=read.endpoint, credentials=Path(read.credentials), spreadsheet=read.spreadsheet
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
