"""A command on a pseudo-terminal: what it prints is read, and answers are typed."""

import os
import re
import select
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.journeys.process import COMMAND, ENVIRONMENT
from tests.journeys.waiting import PATIENCE_SECONDS

CHUNK_BYTES = 65_536
COLOURS = {"TERM": "xterm-256color", "CI": "", "NO_COLOR": ""}
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(kw_only=True)
class Terminal:
    """A running command; `raw` is all that it printed so far, `said` its text."""

    process: "subprocess.Popen[bytes]"
    screen: int
    raw: str = field(default="")
    seen: int = 0

    @property
    def said(self) -> str:
        """Without colours and movements of the cursor."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def until(self, pattern: str) -> re.Match[str]:
        """The next match of a pattern in the output. Raises AssertionError at the end."""
        ends = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.compile(pattern).search(self.said, self.seen)):
            assert time.monotonic() < ends, self.said
            assert self._read(), self.said
        self.seen = found.end()
        return found

    def type(self, line: str) -> None:
        os.write(self.screen, f"{line}\n".encode())

    def end(self) -> int:
        """The exit status, after all that the command still prints."""
        while self._read():
            pass
        return self.process.wait(PATIENCE_SECONDS)

    def _read(self) -> bool:
        """Read what there is; False at the end of the output."""
        ready, _, _ = select.select([self.screen], [], [], PATIENCE_SECONDS)
        assert ready, self.said
        try:
            text = os.read(self.screen, CHUNK_BYTES)
        except OSError:  # Linux: the other side is closed
            return False
        self.raw += text.decode(errors="replace")
        return bool(text)


@contextmanager
def on_terminal(
    *arguments: str, environ: Mapping[str, str], folder: Path, columns: int = 120
) -> Iterator[Terminal]:
    """Run the command `sheets-gateway` in a folder for the time of the block."""
    screen, inside = os.openpty()
    termios.tcsetwinsize(inside, (40, columns))
    process = subprocess.Popen(  # noqa: S603 - our own command
        [*COMMAND, *arguments],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        cwd=folder,
        env={**ENVIRONMENT, **COLOURS, "COLUMNS": str(columns), **environ},
    )
    os.close(inside)
    try:
        yield Terminal(process=process, screen=screen)
    finally:
        process.kill()
        process.wait()
        os.close(screen)
