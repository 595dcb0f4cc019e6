"""A PostgreSQL server of the tests: Debian's programs, with a folder and a port of its own."""

import asyncio
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import pytest
from pydantic import SecretStr

from gateway.settings.database import PostgresUrl
from gateway.storage.database import migrate_database

PASSWORD = "swordfish"
USER = "gateway"
START_SECONDS = 30.0
PROGRAMS = Path("/usr/lib/postgresql")

T = TypeVar("T")


def in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in an event loop of another thread, and wait for it."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(lambda: asyncio.run(work())).result()


@dataclass
class PostgresServer:
    """A running server."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    _numbers: Iterator[int] = field(default_factory=count)

    def url(self, name: str, password: str = PASSWORD) -> PostgresUrl:
        place = f"{USER}:{password}@127.0.0.1:{self.port}/{name}"
        return PostgresUrl(SecretStr(f"postgresql+asyncpg://{place}"))

    def new_database(self, *, is_migrated: bool = True) -> PostgresUrl:
        """A database without rows; without tables too, unless it is migrated."""
        name = f"store{next(self._numbers)}"
        template = "migrated" if is_migrated else "template0"
        self.execute("postgres", f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def execute(self, database: str, sql: str, *values: object) -> Sequence[tuple[Any, ...]]:
        async def ask() -> Sequence[tuple[Any, ...]]:
            connection = await asyncpg.connect(
                host=str(self.folder), port=self.port, user=USER, database=database
            )
            try:
                return [tuple(row) for row in await connection.fetch(sql, *values)]
            finally:
                await connection.close()

        return in_thread(ask)


def programs() -> Path | None:
    """The folder of the newest installed server."""
    found = sorted(PROGRAMS.glob("*/bin/postgres"), key=lambda each: int(each.parts[-3]))
    return found[-1].parent if found else None


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """Start a server; skip the test where none is installed, but not in CI."""
    folder_of_programs = programs()
    if folder_of_programs is None:
        reason = f"PostgreSQL is not installed: no {PROGRAMS}/*/bin/postgres"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        with _server(folder_of_programs, folder) as server:
            _prepare(server)
            yield server
    finally:
        shutil.rmtree(folder)


def _account() -> str | None:
    """The user that the server runs as: it refuses to be root."""
    if os.geteuid() != 0:
        return None
    return "postgres"


@contextmanager
def _server(programs: Path, folder: Path) -> Iterator[PostgresServer]:
    user, data = _account(), folder / "data"
    (folder / "password").write_text(PASSWORD)
    if user is not None:
        for path in (folder, folder / "password"):
            os.chown(path, pwd.getpwnam(user).pw_uid, -1)
    options: list[Path | str] = [
        *("-D", data, "-U", USER, "-E", "UTF8", "-N", "--locale=C.UTF-8"),
        *("--locale-provider=icu", "--icu-locale=en-US"),  # it sorts texts as a dictionary does
        *("--auth-local=trust", "--auth-host=md5", f"--pwfile={folder / 'password'}"),
    ]
    subprocess.run(  # noqa: S603 - Debian's program
        [programs / "initdb", *options],
        user=user,
        check=True,
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    port = _free_port()
    settings = {"listen_addresses": "127.0.0.1", "fsync": "off", "unix_socket_directories": folder}
    arguments: list[Path | str] = ["-D", data, "-p", str(port)]
    arguments += [f"--{name}={value}" for name, value in settings.items()]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - Debian's program
            [programs / "postgres", *arguments],
            user=user,
            cwd=folder,
            stderr=log,
        )
    try:
        yield PostgresServer(folder, port, process)
    finally:
        process.send_signal(signal.SIGQUIT)  # at once: nothing of it is used again
        process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _prepare(server: PostgresServer) -> None:
    """Wait until the server answers, and make the template of the databases."""
    ends = time.monotonic() + START_SECONDS
    while True:
        try:
            server.execute("postgres", "CREATE DATABASE migrated")
            break
        except (OSError, asyncpg.CannotConnectNowError):
            if time.monotonic() > ends or server.process.poll() is not None:
                raise RuntimeError((server.folder / "log").read_text()) from None
            time.sleep(0.05)
    in_thread(lambda: migrate_database(server.url("migrated")))
