"""Stand-in for `sheets-gateway` while the shell blocks of a page run.

`demo`, `emulator` and `serve` continue in the background on a free port after they print their
address. URLs and keys in the output, which a reader would copy, are stored in the folder STATE for
later lines. `tests.docs.shell` ends the processes.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

SERVING: Mapping[str, str] = {"demo": "Ctrl-C", "emulator": " on http", "serve": " on http"}
"""Text in the last line of a server's start, by command."""
ANSWERS = "\n\ndemo\n"
"""Answers to the questions of `init`: use the key file, restrict its permissions, and
this spreadsheet ID.
"""
_URL = re.compile(r"(gateway|emulator) on (http://[^\s,]+)")
_KEY = re.compile(r"sgw_\w+")
_KEY_ID = re.compile(r"key_\w+")
_ADMIN_ID = re.compile(r"adm_\w+")


def main() -> int:
    arguments, state = sys.argv[1:], Path(os.environ["STATE"])
    last_words = SERVING.get(arguments[0] if arguments else "")
    if last_words is not None:
        return _serve([*arguments, "--port", "0"], last_words, state)
    status, said = _at_terminal(arguments)
    print(said, end="")
    _note(said, state)
    return status


def _at_terminal(arguments: list[str]) -> tuple[int, str]:
    """Run a command in a terminal without colours, and return status and output."""
    reader, terminal = os.openpty()
    with subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "gateway", *arguments],
        stdin=terminal,
        stdout=terminal,
        env={**os.environ, "NO_COLOR": "1"},
    ) as process:
        os.close(terminal)
        if arguments == ["init"]:
            os.write(reader, ANSWERS.encode())
        said = b"".join(_read(reader))
    os.close(reader)
    return process.returncode, said.decode().replace("\r\n", "\n")


def _read(terminal: int) -> Iterator[bytes]:
    """Yield the output of a terminal until its writers close it, which raises OSError."""
    with suppress(OSError):
        while True:
            yield os.read(terminal, 4096)


def _serve(arguments: list[str], last_words: str, state: Path) -> int:
    with (state / "log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "gateway", *arguments],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    with (state / "pids").open("a") as pids:
        pids.write(f"{process.pid}\n")
    said = ""
    for line in process.stdout or ():
        said += line
        if last_words in line:
            break
    else:
        print((state / "log").read_text(), file=sys.stderr)
        return process.wait() or 1
    print(said, end="")
    _note(said, state)
    return 0


def _note(said: str, state: Path) -> None:
    """Store URLs and keys of an output, which a reader would copy. Of several keys, store
    the first.
    """
    for what, url in _URL.findall(said):
        (state / f"{what}-url").write_text(url)
    for pattern, name in ((_KEY, "key"), (_KEY_ID, "key-id"), (_ADMIN_ID, "admin-id")):
        found = pattern.search(said)
        if found:
            (state / name).write_text(found[0])


if __name__ == "__main__":
    sys.exit(main())
