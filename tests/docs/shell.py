"""Shell blocks of the documentation, run in the order of a page.

Rules: a block that would change the machine (`useradd`, `docker`, …) is not run. The tests check
its syntax, its calls of `sheets-gateway` and the files of the checkout that it names. A command
that another user runs must have a full path, because that user's PATH does not contain it.

All other blocks of a page run in one bash. A failed command is a problem. An HTTP answer must be
2xx, or have the status after the language: `sh 200 404`.

Blocks have no comments, because an interactive zsh does not recognise comments. In a `console`
block the lines after `$ command` are its exact output, and `…` stands for any text.
"""

import os
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.docs.blocks import TOP, Block, filled_in, in_place
from tests.docs.command_line import commands_in, problems_of

LANGUAGES = ("sh", "console")
PATIENCE_SECONDS = 120.0

MEANT: Mapping[str, str] = {
    "http://127.0.0.1:8000": '$(cat "$STATE/gateway-url")',
    "http://127.0.0.1:9099": '$(cat "$STATE/emulator-url")',
    "sgw_…": '$(cat "$STATE/key")',
    "KEY_ID": '$(cat "$STATE/key-id")',
    "http://127.0.0.1:8001": '$(cat "$STATE/admin-url")',
    "sga_…": '$(cat "$STATE/admin-key")',
    "ADMIN_ID": '$(cat "$STATE/admin-id")',
    "SPREADSHEET_ID": "demo",
    "/sheets/WORKSHEET": "/sheets/Cities",
}
"""Shell expressions for placeholders of the pages. Bash evaluates the expression when the
line runs.
"""

_MACHINE = re.compile(
    r"^(?:sudo|useradd|systemctl|journalctl|runuser|docker|kubectl|gcloud|apt-get|git) ",
    re.MULTILINE,
)
_OUR_FILE = re.compile(r"(?<![\w/.-])(?:docs|scripts)/[\w./@-]*\w")
_WITHOUT_PATH = re.compile(r"^(?:runuser|sudo) .*\s(sheets-gateway [a-z]\S*)", re.MULTILINE)
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*\"""")
_COMMENT = re.compile(r"(?:^|\s)#", re.MULTILINE)

_PROLOGUE = r"""
unset BASH_ENV
curl() {
    local line=${BASH_LINENO[0]} mark='%{stderr}@@%{http_code}\n' before="" status=0 argument
    local said; said=$(mktemp "$STATE/curl.XXXXXX")
    local -a arguments=()
    for argument in "$@"; do
        if [ "$before" = -w ]; then argument+=$mark; mark=""; fi
        arguments+=("$argument"); before=$argument
    done
    command curl -sS ${mark:+-w "$mark"} "${arguments[@]}" 2> "$said" || status=$?
    sed -n "s/^@@/$line /p" "$said" >> "$STATE/answers"
    sed '/^@@/d' "$said" >&2
    return $status
}
trap 'echo "$LINENO $? $BASH_COMMAND" >> "$STATE/failures"' ERR
"""
"""Functions before the page's commands. They log the status of each answer and each
failed command by line.
"""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A reader's checkout with the files that pages use, and a folder for values recorded
    during the run.
    """

    checkout: Path
    state: Path
    environ: Mapping[str, str]


def make_stage(folder: Path, *, environ: Mapping[str, str], noted: Mapping[str, str]) -> Stage:
    """Create a checkout with `tests.docs.stand_in` as `sheets-gateway`.

    `noted` has the initial files of the state folder.
    """
    checkout, state, programs = folder / "checkout", folder / "state", folder / "bin"
    for each in (checkout / "scripts", checkout / ".venv" / "bin", state, programs):
        each.mkdir(parents=True)
    for name, text in noted.items():
        (state / name).write_text(text)
    for name in ("answers", "failures", "pids", "log"):
        (state / name).touch()
    stand_in = f'exec {shlex.quote(sys.executable)} -m tests.docs.stand_in "$@"'
    _program(programs / "sheets-gateway", stand_in)
    _program(checkout / "scripts" / "demo", 'exec sheets-gateway demo "$@"')
    _program(checkout / "scripts" / "test", "exit 0")
    (checkout / ".venv" / "bin" / "activate").touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GATEWAY_")}
    return Stage(
        checkout=checkout,
        state=state,
        environ={
            **kept,
            **environ,
            "PATH": f"{programs}:{kept['PATH']}",
            "PYTHONPATH": str(TOP),
            "NO_PROXY": "127.0.0.1",
            "STATE": str(state),
        },
    )


def is_run(block: Block) -> bool:
    return _MACHINE.search(block.text) is None


def has_comment(text: str) -> bool:
    """True if a shell would treat a part of the text as a comment."""
    return _COMMENT.search(_QUOTED.sub("''", text)) is not None


def problems_unrun(block: Block) -> list[str]:
    """Return problems of a block that is checked without running it."""
    syntax = subprocess.run(
        ["/bin/bash", "-n"], input=block.text, capture_output=True, text=True, check=False
    )
    words = [problem for command in commands_in(block.text) for problem in problems_of(command)]
    files = [
        f"there is no {name}" for name in _OUR_FILE.findall(block.text) if not (TOP / name).exists()
    ]
    paths = [f"{each} is not on the path" for each in _WITHOUT_PATH.findall(block.text)]
    found = [*syntax.stderr.splitlines(), *words, *files, *paths]
    return [f"{block}: {problem}" for problem in found]


def problems_run(page: str, blocks: Sequence[Block], stage: Stage) -> list[str]:
    """Run the blocks of a page in order, and return differences from the page."""
    scripted = [_scripted(block) for block in blocks]
    script = stage.state / "page.sh"
    script.write_text(filled_in(in_place(scripted), MEANT))
    prologue = stage.state / "prologue.sh"
    prologue.write_text(_PROLOGUE)
    try:
        done = subprocess.run(  # noqa: S603 - the shell
            ["/bin/bash", str(script)],
            cwd=stage.checkout,
            env={**stage.environ, "BASH_ENV": str(prologue)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    finally:
        _end_servers(stage.state)
    found = [*_failures(stage.state), *_answers(blocks, stage.state), *_outputs(blocks, stage)]
    if done.returncode != 0 or "syntax error" in done.stderr:
        found.append(f"the shell ended with {done.returncode}")
    return [f"{page}:{problem}\n{done.stdout}\n{done.stderr}" for problem in found]


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def _scripted(block: Block) -> Block:
    """Return a `console` block as a script that saves the output of each command."""
    if block.language != "console":
        return block
    lines = [
        f'{{ {line[2:]}; }} > "$STATE/out.{number}"' if line[:2] == "$ " else ""
        for number, line in enumerate(block.text.split("\n"), block.line)
    ]
    return replace(block, language="sh", text="\n".join(lines))


def _failures(state: Path) -> Iterator[str]:
    for line in (state / "failures").read_text().splitlines():
        number, status, command = line.split(" ", 2)
        yield f"{number}: ended with {status}: {command}"


def _answers(blocks: Sequence[Block], state: Path) -> Iterator[str]:
    expected = dict(found for block in blocks for found in _expected_statuses(block))
    seen: set[int] = set()
    for line in (state / "answers").read_text().splitlines():
        number, status = map(int, line.split())
        seen.add(number)
        wanted = expected.get(number)
        if status != wanted if wanted else status // 100 != 2:
            yield f"{number}: answered {status}, not {wanted or '2xx'}"
    yield from (f"{number}: no answer" for number in sorted(expected.keys() - seen))


def _expected_statuses(block: Block) -> Iterator[tuple[int, int]]:
    """Yield the first line number of each curl command, and its expected status or 0."""
    lines = list(_lines_with_curl(block))
    statuses = [int(status) for status in block.notes] or [0] * len(lines)
    yield from zip(lines, statuses, strict=True)


def _lines_with_curl(block: Block) -> Iterator[int]:
    first, command = block.line, ""
    for number, line in enumerate(block.text.split("\n"), block.line):
        command += line
        if line.endswith("\\"):
            continue
        if re.search(r"\bcurl\b", command):
            yield first
        first, command = number + 1, ""


def _outputs(blocks: Sequence[Block], stage: Stage) -> Iterator[str]:
    for block in blocks:
        if block.language == "console":
            for number, lines in _expected_outputs(block):
                printed = stage.state / f"out.{number}"
                said = printed.read_text().splitlines() if printed.exists() else []
                if not _matches(lines, said):
                    yield f"{number}: prints {said}, not {lines}"


def _expected_outputs(block: Block) -> Iterator[tuple[int, list[str]]]:
    number, lines = 0, list[str]()
    for at, line in enumerate(block.text.split("\n"), block.line):
        if line.startswith("$ "):
            if number:
                yield number, lines
            number, lines = at, []
        else:
            lines.append(line)
    if number:
        yield number, lines


def _matches(expected: Sequence[str], said: Sequence[str]) -> bool:
    """True if the output equals the expected lines, in which `…` stands for any text."""
    pattern = ".*".join(map(re.escape, "\n".join(expected).split("…")))
    return re.fullmatch(pattern, "\n".join(said)) is not None


def _end_servers(state: Path) -> None:
    """Send SIGTERM to each server that the page started, and wait for its end."""
    for pid in map(int, (state / "pids").read_text().split()):
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
            if not select.select([descriptor], [], [], PATIENCE_SECONDS)[0]:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)
