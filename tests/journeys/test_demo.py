"""The demo as a process: what it prints, and where its log goes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.access.keys import mint_key
from gateway.commands.demo import full_bytes
from sheets_emulator.state.seed import Seed
from tests.journeys.process import run, running
from tests.journeys.waiting import PATIENCE_SECONDS, until
from tests.sheets_emulator.xlsx import Tab, formula, number, text, xlsx

SCRIPT = Path(__file__).parents[2] / "scripts" / "demo"
MEASURED = [sys.executable, "-m", "tests.peak_memory", "gateway"]

PUBLIC_KEY = "sgw_PublicKeyOfTheDemoOnLoopback000AfF0j"


def paste(lines: Sequence[str]) -> list[Any]:
    """Run shell lines and return their JSON output."""
    answers = []
    for line in lines:
        done = subprocess.run(  # noqa: S602  (the demo's own lines)
            line, shell=True, capture_output=True, timeout=PATIENCE_SECONDS, check=True
        )
        assert done.stdout.endswith(b"}\n")
        answers.append(json.loads(done.stdout))
    return answers


def test_the_keys_of_the_demo_are_managed_by_its_settings(tmp_path: Path) -> None:
    """A key created while the demo serves works, and `keys list` shows the keys of the demo."""
    with running(tmp_path / "log", "demo", "--port", "0", last_words="Ctrl-C") as demo:
        (config,) = re.findall(r"^Keys: +sheets-gateway keys list(.+)$", "".join(demo.said), re.M)
        options = config.split()
        made = run("keys", "create", "--name", "n", "--spreadsheet", "demo", "--json", *options)
        key = json.loads(made.stdout)["key"]
        listed = json.loads(run("keys", "list", "--json", *options).stdout)
        answer = httpx2.get(
            f"{demo.url}/v2/sheets/Cities", headers={"API-Key": key}, timeout=PATIENCE_SECONDS
        )
        demo.end()

    assert made.stderr == ""
    assert [each["name"] for each in listed] == [
        *("demo full access", "demo no filters", "demo read-only"),
        "n",
    ]
    assert answer.status_code == 200
    assert not Path(options[-1]).exists()


def test_the_demo_logs_to_a_file(tmp_path: Path) -> None:
    """The demo prints the URL of `/docs` and the path of its log file, and deletes the
    file at its end.
    """
    log = tmp_path / "log"
    with running(log, "demo", "--port", "0", last_words="Ctrl-C") as demo:
        said = dict(re.findall(r"^(.+?): +(\S+)$", "".join(demo.said), re.MULTILINE))
        page = httpx2.get(said["Try it"], timeout=PATIENCE_SECONDS)
        rows = httpx2.get(
            f"{demo.url}/v2/sheets/Cities",
            headers={"Authorization": f"Bearer {said['Full-access key']}"},
            timeout=PATIENCE_SECONDS,
        )
        is_logged = until(lambda: "/v2/sheets/Cities" in Path(said["Log"]).read_text())
        status = demo.end()

    assert (page.status_code, rows.status_code) == (200, 200)
    assert said["Try it"] == f"{demo.url}/docs"
    assert is_logged
    assert (log.read_text(), status) == ("", 0)
    assert not Path(said["Log"]).parent.exists()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_demo_works_as_pasted(tmp_path: Path) -> None:
    """The curl lines that the demo prints work in a shell and return the described rows."""
    with running(tmp_path / "log", "demo", "--port", "0", last_words="Ctrl-C") as demo:
        lines = [each for each in demo.said if each.startswith("curl ")]
        listed, found, read, typed, created, updated, *errors = paste(lines)
        status = demo.end()

    assert [len(listed["results"]), listed["hasNextPage"]] == [3, True]
    assert PUBLIC_KEY in lines[0]
    assert [city["name"] for city in found["results"]][:2] == ["New York", "Los Angeles"]
    assert (read["rowIndex"], read["name"]) == (2, "New York")
    assert typed["results"][0] == {
        "rowIndex": 2,
        "product": "Notebook",
        "price": 4.5,
        "added": "2026-01-05",
        "available": True,
    }
    assert created == {
        "rowIndex": 12,
        "name": "Austin",
        "state": "Texas",
        "country": "USA",
        "population": "961855",
    }
    assert updated == {"rowIndex": 12, "population": "964000"}
    assert [error["code"] for error in errors] == [4050, 4034]
    assert status == 0


CELLS = {
    "A1": text("Größe, netto"),
    "B1": text("it's"),
    "A2": number("1.5"),
    "B2": text("a 'b' & c"),
    "A3": number("2"),
}


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("name", ["prices.xlsx", "folder", "header only.csv", "odd.csv"])
def test_the_demo_serves_own_data(tmp_path: Path, name: str) -> None:
    """The printed curl lines use the worksheet and fields of the user's file, and work twice."""
    source = tmp_path / name
    if name == "folder":
        source.mkdir()
        (source / "My list.csv").write_text("name;size\nA, B;7\nC;8\n")
    elif name == "odd.csv":  # what a shell, JSON or the API takes for something else
        source.write_text(f'$or,n\x7fm,`id`$(id)!\\\'"\nx,y,"{"x" * 5000}"\n')
    elif name.endswith(".csv"):
        source.write_text("name,size\n")
    else:
        source.write_bytes(xlsx(Tab(title="A & B", cells=CELLS)))
    before = sorted((each, each.stat().st_mtime_ns) for each in tmp_path.rglob("*"))
    with running(tmp_path / "log", "demo", str(source), "--port", "0", last_words="Ctrl-C") as demo:
        lines = [each for each in demo.said if each.startswith("curl ")]
        answers = [paste(lines), paste(lines)]

    assert [[each.get("code") for each in again] for again in answers] == [
        [None] * 6 + [4050, 4034]
    ] * 2
    assert all(each["results"] for again in answers for each in again if "results" in each)
    assert PUBLIC_KEY not in "".join(demo.said)
    (tmp_path / "log").unlink()
    assert sorted((each, each.stat().st_mtime_ns) for each in tmp_path.rglob("*")) == before


def test_the_key_of_the_sample_is_public_on_loopback_only() -> None:
    """The fixed sample key is used only on loopback and only for the sample data."""
    keys = [
        mint_key(full_bytes(host, seed))
        for host, seed in (
            ("127.0.0.1", None),
            ("::1", None),
            ("0.0.0.0", None),  # noqa: S104 - not bound
            ("192.0.2.1", None),
            ("127.0.0.1", Seed()),
        )
    ]

    assert [key == PUBLIC_KEY for key in keys] == [True, True, False, False, False]


def test_a_file_does_not_write_to_the_terminal(tmp_path: Path) -> None:
    """Control characters in file and field names are escaped in the output of the demo."""
    source = tmp_path / "x%1B]0;title%07 \x1b]0;title\x07.csv"
    source.write_text("n\x1b[1A\x1b[2Kcurl evil|sh #,\u202eb\x7f\n1,2\n")
    with running(tmp_path / "log", "demo", str(source), "--port", "0", last_words="Ctrl-C") as demo:
        said = "".join(demo.said)

    assert [each for each in said if not each.isprintable() and each != "\n"] == []
    assert said.count("Reading ") == said.count("%07%20%1B%5D0%3Btitle%07 has the fields n") == 1


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.xlsx", None, "no such file or folder."),
        ("junk.xlsx", "junk", "this is a text file, perhaps CSV, not an .xlsx file: rename it"),
        ("open.csv", 'a,b\n1,"x\n', "line 2: a quote opens a cell"),
        ("old.xls", "junk", "this is not a .xlsx or .csv file: save the spreadsheet as one."),
        ("blank.csv", "\n1\n", "no worksheet has field names: write them into row 1"),
    ],
)
def test_a_file_that_cannot_be_served_is_named(
    tmp_path: Path, name: str, content: str | None, words: str
) -> None:
    """The error about an unusable file is one sentence with the path and the reason."""
    if content is not None:
        (tmp_path / name).write_text(content)
    done = run("demo", str(tmp_path / name), "--port", "0")

    assert done.returncode == 1
    assert done.stderr.startswith(f"sheets-gateway: {tmp_path / name}: {words}")
    assert done.stderr.count("\n") == 1


WARNINGS = [
    pytest.param(
        "A.csv", "a,,a\n1,2,3\n", ["no header in column B", 'the header "a" is in'], id="header"
    ),
    pytest.param("A.csv", "a\n1,2\n", ["row 1 has one cell", "rows with more cells"], id="column"),
    pytest.param(
        "A.csv",
        "Prices\n\nname;price\nx;1\n",
        ['row 1 has one cell, "Prices", and row 3 has 2. If row 1 is a title, delete the rows'],
        id="title",
    ),
    pytest.param("A.csv", "Gr\xf6\xdfe\n1\n", ["was read as Windows-1252"], id="encoding"),
    pytest.param(
        "A.xlsx",
        xlsx(Tab(title="A", cells={"A1": text("n"), "A2": formula("1", "")}), Tab(title="B")),
        ["1 formula without a stored result is blank", 'worksheet "B": row 1 is blank'],
        id="formula and empty worksheet",
    ),
    pytest.param(
        "A.csv",
        "task,done\nx,TRUE\n,FALSE\n,FALSE\n",
        ['note     worksheet "A": no records in rows 3 to 4: only FALSE and blanks'],
        id="checkboxes filled down",
    ),
]


@pytest.mark.parametrize(("name", "content", "words"), WARNINGS)
def test_the_demo_describes_what_it_does_not_serve(
    tmp_path: Path, name: str, content: str | bytes, words: Sequence[str]
) -> None:
    """The demo warns about its guesses on a file, and prints the findings of `check`."""
    source = tmp_path / name
    source.write_bytes(content.encode("latin-1") if isinstance(content, str) else content)
    with running(tmp_path / "log", "demo", str(source), "--port", "0", last_words="Ctrl-C") as demo:
        said = [each for each in demo.said if each.startswith(("warning ", "note "))]

    assert len(said) == len(words)
    assert [word for word in words if not any(word in each for each in said)] == []


def test_the_script_finds_a_file_in_the_folder_of_its_caller(tmp_path: Path) -> None:
    """`scripts/demo` runs its set-up in the checkout and `demo` in the caller's directory."""
    checkout, folder = tmp_path / "checkout", tmp_path / "caller"
    (checkout / "scripts").mkdir(parents=True)
    folder.mkdir()
    shutil.copy(SCRIPT, checkout / "scripts" / "demo")
    (checkout / "scripts" / "setup.sh").write_text('VENV="$PWD/venv"\n')
    command = checkout / "venv" / "bin" / "sheets-gateway"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\npwd\nprintf "%s\\n" "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(  # noqa: S603 - our own script
        [str(checkout / "scripts" / "demo"), "my prices.xlsx", "--port", "0"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == [str(folder), "demo", "my prices.xlsx", "--port", "0"]


@pytest.mark.parametrize("place", ["XFD1048576", "XFD5000"])
@pytest.mark.parametrize("command", ["demo", "emulator"])
def test_a_stray_cell_costs_neither_time_nor_memory(
    tmp_path: Path, command: str, place: str
) -> None:
    """A cell far outside the data is reported within 2 s of CPU time and 300 MB of memory."""
    content = xlsx(Tab(title="A", cells={"A1": text("n"), "B1": text("m"), place: number("1")}))
    (tmp_path / "book.xlsx").write_bytes(content)
    source = ["--seed", str(tmp_path)] if command == "emulator" else [str(tmp_path / "book.xlsx")]
    with (tmp_path / "errors").open("wb") as errors:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [*MEASURED, command, *source, "--port", "0"], stdout=errors, stderr=errors
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    (tmp_path / "book.xlsx").unlink()

    assert process.returncode == 1
    *said, peak_kib = (tmp_path / "errors").read_text().splitlines()
    assert f"the worksheet A has a cell at {place}" in "".join(said)
    assert used.ru_utime + used.ru_stime < 2
    assert int(peak_kib) < 300 * 1024


@pytest.mark.parametrize("hangup", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_demo_ends_in_good_order(tmp_path: Path, hangup: signal.Signals) -> None:
    """SIGINT, SIGTERM and SIGHUP end the demo with status 0."""
    with running(tmp_path / "log", "demo", "--port", "0", last_words="Ctrl-C") as demo:
        demo.process.send_signal(hangup)

        assert demo.process.wait(PATIENCE_SECONDS) == 0
