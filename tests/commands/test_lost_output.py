"""Commands whose standard output or error is closed, or on a full disk."""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx2
import pytest

from gateway.server.sockets import free_port
from tests.journeys.process import COMMAND, ENVIRONMENT
from tests.journeys.waiting import PATIENCE_SECONDS, until

CREATE = ("keys", "create", "--name", "lost", "--spreadsheet", "s", "--no-check")
LOST = "standard output cannot be written: No space left on device"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a folder with settings for an emulator that does not run."""
    config = tmp_path / "config.toml"
    config.write_text('[google]\nendpoint = "http://127.0.0.1:9"\nproject = "p"\n')
    return tmp_path


def shell(redirected: str, *arguments: str, folder: Path) -> list[str]:
    """Return a shell command that runs `arguments` with redirected streams."""
    words = shlex.join([*COMMAND, *arguments, "--config", str(folder / "config.toml")])
    return ["/bin/sh", "-c", f"exec {words} {redirected}"]


def run(
    redirected: str, *arguments: str, folder: Path, output: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  (our own command)
        shell(redirected, *arguments, folder=folder),
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_SECONDS,
        env=ENVIRONMENT,
        check=False,
    )


@pytest.fixture
def unread() -> Iterator[int]:
    """Open a pipe that nothing reads."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def created(folder: Path) -> str:
    """Create a key and return its ID."""
    return run("", *CREATE, folder=folder).stdout.split()[0]


@pytest.mark.parametrize(
    ("redirected", "reason"),
    [
        (">/dev/full", "No space left on device"),
        (">&-", "Bad file descriptor"),
        ("", "Broken pipe"),
    ],
    ids=["full", "closed", "pipe"],
)
def test_a_created_key_that_was_not_shown_is_named(
    folder: Path, unread: int, redirected: str, reason: str
) -> None:
    """If a new key cannot be printed, one line on standard error says how to revoke it."""
    done = run(redirected, *CREATE, folder=folder, output=unread)
    listed = run("", "keys", "list", folder=folder)
    (key_id,) = re.findall(r"\bkey_\w{8}\b", listed.stdout)

    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"sheets-gateway: standard output cannot be written: {reason}. ")
    assert f"sheets-gateway keys revoke {key_id}" in done.stderr


@pytest.mark.parametrize("redirected", [">/dev/full", ">&-"], ids=["full", "closed"])
def test_a_rotated_key_that_was_not_shown_is_named(folder: Path, redirected: str) -> None:
    """If a new secret cannot be printed, standard error says how to make another."""
    key_id = created(folder)
    done = run(redirected, "keys", "rotate", key_id, folder=folder)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "The old secret is valid until" in done.stderr
    assert f"sheets-gateway keys rotate {key_id} --end" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("keys", "list"), ""),
        (("keys", "list", "--json"), ""),
        (("keys", "list", "--help"), ""),
        (("keys", "revoke", "ID"), "ID is revoked"),
        (("keys", "update", "ID", "--name", "x"), "ID is changed: name: lost -> x"),
        (("storage", "backup", "BACKUP"), "BACKUP has 1 key"),
        (("storage", "backup", "BACKUP"), "BACKUP.pepper has the pepper"),
        (("admin", "create", "--name", "ada"), "sheets-gateway admin revoke "),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_lost_output_is_one_line(folder: Path, arguments: Sequence[str], words: str) -> None:
    """A command whose output cannot be written fails with one line, which says what was done."""
    names = {"ID": created(folder), "BACKUP": str(folder / "backup.db")}
    given = [names.get(each, each) for each in arguments]
    done = run(">/dev/full", *given, folder=folder)
    for name, value in names.items():
        words = words.replace(name, value)

    assert done.returncode == 1
    assert done.stderr.startswith(f"sheets-gateway: {LOST}")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_ends_early_gets_no_message(folder: Path, unread: int) -> None:
    """A command that only prints ends without a message if its pipe is closed."""
    done = run("", "keys", "list", folder=folder, output=unread)

    assert (done.returncode, done.stderr) == (1, "")


def test_an_error_that_cannot_be_written_keeps_its_status(folder: Path) -> None:
    """An error message that cannot be written does not change the exit status."""
    done = run("2>/dev/full", "keys", "revoke", "key_x", folder=folder)

    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    "redirected",
    [">/dev/full 2>/dev/null", ">&- 2>/dev/null", ">/dev/null 2>/dev/full", ">/dev/null 2>&-"],
    ids=["output full", "output closed", "log full", "log closed"],
)
def test_serve_needs_no_output_and_no_log(folder: Path, redirected: str) -> None:
    """`serve` starts, answers and stops with status 0 if greeting and log cannot be written."""
    port = free_port("127.0.0.1", 0)
    process = subprocess.Popen(  # noqa: S603  (our own command)
        shell(redirected, "serve", "--port", str(port), folder=folder), env=ENVIRONMENT
    )
    try:
        started = until(lambda: process.poll() is not None or _status(port, "livez") == 200)
        answered = _status(port, "v2/sheets/Cities")
        process.send_signal(signal.SIGTERM)
        status = process.wait(PATIENCE_SECONDS)
    finally:
        process.kill()
        process.wait()

    assert started
    assert (answered, status) == (401, 0)


def _status(port: int, path: str) -> int:
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/{path}").status_code
    except httpx2.TransportError:
        return 0
