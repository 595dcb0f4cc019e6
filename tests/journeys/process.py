"""The command `sheets-gateway` as processes: run to their end, or serving for a while."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tests.journeys.waiting import PATIENCE_SECONDS

COMMAND = (sys.executable, "-m", "gateway")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GATEWAY_")}


@dataclass(frozen=True, kw_only=True)
class Process:
    """A server that said where it listens."""

    process: subprocess.Popen[str]
    url: str
    said: Sequence[str]
    """The lines that it printed at its start."""
    log: Path

    def end(self) -> int:
        """The exit status after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)


def run(
    *arguments: str, environ: dict[str, str] | None = None, fds: Sequence[int] = ()
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  (our own command)
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env={**ENVIRONMENT, **(environ or {})},
        pass_fds=fds,
        check=False,
    )


@contextmanager
def running(
    log: Path,
    *arguments: str,
    last_words: str = " on http",
    pattern: str = r" on (http://\S+[0-9])",
    fds: Sequence[int] = (),
    command: Sequence[str] = COMMAND,
    environ: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Process]:
    """A server process during the block; `last_words` are in the last line of its start.

    `pattern` finds the URL in these lines. The process inherits the file descriptors `fds`.
    """
    with log.open("wb") as errors:
        process = subprocess.Popen(  # noqa: S603  (our own command)
            [*command, *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**ENVIRONMENT, **environ},
            pass_fds=fds,
        )
    try:
        said = _first_words(process, last_words)
        found = re.search(pattern, "".join(said))
        assert found is not None, log.read_text()
        yield Process(process=process, url=found[1], said=said, log=log)
    finally:
        process.kill()
        process.communicate()


def _first_words(process: subprocess.Popen[str], last_words: str) -> list[str]:
    """The lines up to the one with the last words, or to the end of a process that says none."""
    said: list[str] = []
    output = process.stdout
    timer = threading.Timer(PATIENCE_SECONDS, process.kill)
    timer.start()
    while output is not None and (line := output.readline()):
        said.append(line)
        if last_words in line:
            break
    timer.cancel()
    return said
