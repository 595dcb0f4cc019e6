"""Output of commands: marks, tables, colours and a spinner on a terminal, else plain lines.

Rules:
- Lines are plain in a pipe, a file or CI, with `NO_COLOR` and with `TERM=dumb`, for scripts.
- The library rich is imported inside functions, so that `serve` starts without it.
- There is one accent colour. Each level is a word and a colour, so no colour alone has a meaning.
- Texts from files, sheets and servers are never markup, and their control characters are escaped.
- If standard output fails, as on a full disk, the command ends with `OutputError`, whose message
  says what the command has done. Errors of standard error are ignored.
"""

# ruff: noqa: PLC0415 - rich is imported where a terminal needs it

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Literal

import typer

from gateway.table.quoting import printable
from gateway.telemetry.colours import shows_colours

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Level = Literal["ok", "note", "warning", "problem", "error", "help"]

ACCENT = "magenta"
"""Accent colour, which is readable on light and on dark backgrounds."""
SPINNER_AFTER_SECONDS = 0.5
"""Seconds of waiting before a spinner appears."""
_MARKS = {
    "ok": ("✓", "green"),
    "note": ("·", ACCENT),
    "warning": ("!", "yellow"),
    "problem": ("✗", "red"),
    "error": ("✗", "red"),
    "help": ("→", ACCENT),
}
_HEADING = r"(?m)^[A-Z][a-z]+:"
_NAMES = (r"(?<![\w-])--?[a-z][\w-]*", r"(?m)^  [a-z][a-z-]*(?=  )")
"""Regular expressions for options and for commands in a help text."""


class OutputError(Exception):
    """Standard output cannot be written. The message is for the operator."""


def open_closed_streams() -> None:
    """Open streams that were closed at the start, so that writing fails as on a full disk.

    Otherwise the next opened file, such as the key store, would get the number of the stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free
            os.set_inheritable(descriptor, True)
            setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))


def discard_unwritten() -> None:
    """Discard output that cannot be written. Otherwise Python ends with status 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


@contextmanager
def writing(*, err: bool = False, done: str = "") -> Iterator[None]:
    """Handle errors of output in the block, on standard output or with `err` on standard error.

    Raises `OutputError` with the text `done`, which says what the command has done. A command that
    has done nothing ends without a message if nothing reads its output, as `keys list | head` does.
    """
    try:
        yield
    except OSError as error:
        if err:
            return
        if error.errno == errno.EPIPE and not done:
            raise
        problem = f"standard output cannot be written: {error.strerror}"
        raise OutputError(f"{problem}. {done}" if done else problem) from error


def is_styled(*, err: bool = False) -> bool:
    """True if standard output, or error with `err`, is a terminal with colours, outside of CI."""
    return shows_colours(sys.stderr if err else sys.stdout) and not os.environ.get("CI")


def say(*lines: str, err: bool = False, done: str = "") -> None:
    """Print lines on standard output, or with `err` on standard error. Escapes control characters.

    Names of files, worksheets and keys, and texts of servers can contain control characters. `done`
    is for `writing`.
    """
    clear_spinner()
    with writing(err=err, done=done):
        for line in lines:
            typer.echo(printable(line), err=err)


def say_status(level: Level, text: str, *, plain: str, err: bool = False, done: str = "") -> None:
    """Print a mark, the level and the text on a terminal, else the line `plain`.

    All lines of the text have the same indentation. `done` is for `writing`.
    """
    if not is_styled(err=err):
        say(plain, err=err, done=done)
        return
    from rich.table import Table
    from rich.text import Text

    mark, colour = _MARKS[level]
    row = Table.grid(padding=(0, 1))
    row.add_row(Text(mark, colour), Text(f"{level:7}", "bold"), Text(printable(text)))
    _print(row, err=err, done=done)


def print_table(header: Sequence[str], rows: Sequence[Sequence[Sequence[str]]]) -> None:
    """Print a table whose cells are lists of lines. The first line of each cell is bold."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=SIMPLE_HEAD,
        header_style=ACCENT,
        border_style="dim",
        leading=1,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for title in header:
        table.add_column(title, overflow="fold")
    for row in rows:
        cells = [Text("\n".join(map(printable, lines))) for lines in row]
        for cell, lines in zip(cells, row, strict=True):
            cell.stylize("bold", 0, len(printable(lines[0])) if lines else 0)
        table.add_row(*cells)
    _print(table)


def say_labelled(label: str, text: str) -> None:
    """Print a label in the accent colour, then a text. Long lines are not wrapped, for copying."""
    if not is_styled():
        say(f"{label}{text}")
        return
    from rich.text import Text

    line = Text.assemble((printable(label), ACCENT), printable(text))
    _print(line, is_wrapped=False)


def styled_help(text: str) -> str:
    """Return a help text with escape codes: headings bold, options and commands in colour."""
    from rich.text import Text

    styled = Text(text)
    styled.highlight_regex(_HEADING, "bold")
    for pattern in _NAMES:
        styled.highlight_regex(pattern, ACCENT)
    console = _console()
    with console.capture() as captured:
        console.print(styled, soft_wrap=True)
    return captured.get().rstrip("\n")


@contextmanager
def waiting(text: str, waited_seconds: float = 0.0) -> Iterator[None]:
    """Show a spinner, a text and the waiting time if the block runs longer than 0.5 seconds.

    The spinner is on standard error, and only on a terminal. `waited_seconds` is the waiting time
    before the block. The functions of this module can print lines meanwhile.
    """
    global _spinner
    if not is_styled(err=True):
        yield
        return
    outer, inner = _spinner, _Spinner(text, waited_seconds)
    if outer is not None:
        outer.hide()
    _spinner = inner
    inner.show_later()
    try:
        yield
    finally:
        inner.hide()
        _spinner = outer
        if outer is not None:
            outer.show_later()


def clear_spinner() -> None:
    """Hide the spinner before a line is printed, and show it again half a second later."""
    if _spinner is not None:
        _spinner.hide()
        _spinner.show_later()


class _Spinner:
    def __init__(self, text: str, waited_seconds: float) -> None:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            SpinnerColumn(style=ACCENT),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=_console(err=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._progress.add_task(text, total=None)
        (task,) = self._progress.tasks
        task.start_time = (task.start_time or 0.0) - waited_seconds
        self._timer: Timer | None = None

    def show_later(self) -> None:
        self._timer = Timer(SPINNER_AFTER_SECONDS, self._progress.start)
        self._timer.daemon = True
        self._timer.start()

    def hide(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        self._progress.stop()


_spinner: _Spinner | None = None
"""Spinner of the innermost `waiting` block, or None."""


def _console(*, err: bool = False) -> "Console":
    from rich.console import Console
    from rich.theme import Theme

    theme = Theme({"progress.elapsed": "dim"})
    return Console(stderr=err, theme=theme, highlight=False, markup=False, emoji=False)


def _print(
    what: "RenderableType", *, err: bool = False, is_wrapped: bool = True, done: str = ""
) -> None:
    clear_spinner()
    with writing(err=err, done=done):
        _console(err=err).print(what, soft_wrap=not is_wrapped)
