"""PostgreSQL server for tests: Debian's programs with a temporary folder and a free port."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import pytest
from pydantic import SecretStr

from gateway.settings.database import PostgresUrl
from gateway.storage.database import migrate_database

PASSWORD = "swordfish"
USER = "operator"
DATABASE = "postgres"
START_SECONDS = 30.0
_MIGRATED = "migrated_store"
PROGRAMS = Path("/usr/lib/postgresql")

T = TypeVar("T")


def in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine in an event loop of another thread, and wait for the result."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(lambda: asyncio.run(work())).result()


@dataclass
class PostgresServer:
    """Server with a folder and a port. `user` is the system user of the server, or None
    for the current user.
    """

    programs: Path
    folder: Path
    port: int
    user: str | None
    _process: subprocess.Popen[bytes] | None = None
    _numbers: Iterator[int] = field(default_factory=count)

    def new_database(self, *, is_migrated: bool = True) -> PostgresUrl:
        """Create an empty store, without tables if `is_migrated` is False.

        The store is a schema with the name of its user, because a new database would have 300
        files.
        """
        name = f"store{next(self._numbers)}"
        schema = f"CREATE SCHEMA {name} AUTHORIZATION {name}"
        if is_migrated:
            schema = self._migrated.replace(_MIGRATED, name)
        self.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'; {schema}")
        return self._url(name)

    @cached_property
    def _migrated(self) -> str:
        """SQL of a migrated schema, which runs ten times faster than the migrations."""
        self.execute(
            f"CREATE ROLE {_MIGRATED} LOGIN PASSWORD '{PASSWORD}'; "
            f"CREATE SCHEMA {_MIGRATED} AUTHORIZATION {_MIGRATED}"
        )
        in_thread(lambda: migrate_database(self._url(_MIGRATED)))
        done = subprocess.run(  # noqa: S603 - Debian's program
            [
                *(self.programs / "pg_dump", "--inserts", f"--schema={_MIGRATED}"),
                *("-h", self.folder, "-p", str(self.port), "-U", USER, DATABASE),
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        # Omit the commands of psql, which begin with a backslash.
        return "\n".join(line for line in done.stdout.splitlines() if not line.startswith("\\"))

    def _url(self, name: str) -> PostgresUrl:
        place = f"{name}:{PASSWORD}@127.0.0.1:{self.port}/{DATABASE}"
        return PostgresUrl(SecretStr(f"postgresql+asyncpg://{place}"))

    def execute(self, sql: str) -> None:
        async def ask() -> None:
            connection = await asyncpg.connect(
                host=str(self.folder), port=self.port, user=USER, database=DATABASE
            )
            try:
                await connection.execute(sql)
            finally:
                await connection.close()

        in_thread(ask)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "fsync": "off",
            "full_page_writes": "off",
            "autovacuum": "off",
            "unix_socket_directories": self.folder,
        }
        options: list[Path | str] = ["-D", self.folder / "data", "-p", str(self.port)]
        options += [f"--{name}={value}" for name, value in settings.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - Debian's program
                [self.programs / "postgres", *options], user=self.user, cwd=self.folder, stderr=log
            )
        ends = time.monotonic() + START_SECONDS
        while True:
            try:
                return self.execute("SELECT 1")
            except (OSError, asyncpg.CannotConnectNowError):
                if time.monotonic() > ends or self._process.poll() is not None:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server and all sessions immediately."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the server and all sessions."""
        if self._process is None:
            raise RuntimeError("the server does not run")
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for each in (pid, *map(int, children)):
            with suppress(ProcessLookupError):  # the session has ended meanwhile
                os.kill(each, number)


def programs() -> Path | None:
    """Return the folder of the newest installed server, or None."""
    found = sorted(PROGRAMS.glob("*/bin/postgres"), key=lambda each: int(each.parts[-3]))
    return found[-1].parent if found else None


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """Start a server. Without PostgreSQL the test is skipped, or fails in CI."""
    found = programs()
    if found is None:
        reason = f"PostgreSQL is not installed: no {PROGRAMS}/*/bin/postgres"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    user = "postgres" if os.geteuid() == 0 else None  # the server refuses to be root
    server = PostgresServer(found, folder, _free_port(), user)
    try:
        _create(server)
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


def _create(server: PostgresServer) -> None:
    """Create the server's files."""
    password = server.folder / "password"
    password.write_text(PASSWORD)
    if server.user is not None:
        for path in (server.folder, password):
            shutil.chown(path, server.user)
    options: list[Path | str] = [
        *("-D", server.folder / "data", "-U", USER, "-E", "UTF8", "-N", "--locale=C.UTF-8"),
        *(
            "--locale-provider=icu",
            "--icu-locale=en-US",
        ),  # sort texts by language, not by code point
        *("--auth-local=trust", "--auth-host=md5", f"--pwfile={password}"),
    ]
    subprocess.run(  # noqa: S603 - Debian's program
        [server.programs / "initdb", *options],
        user=server.user,
        cwd=server.folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port
