"""Tests that only one gateway at a time uses a PostgreSQL key store."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from gateway.settings.database import PostgresUrl
from gateway.settings.model import ConfigError
from gateway.storage.lock import LockError, session_lock, store_lock
from tests.postgres import PostgresServer, running_server
from tests.storage.by_hand import execute, waiting_while

HOLDER = """
import os, sys
from gateway.storage.lock import store_lock
from gateway.settings.database import parse_database
with store_lock(parse_database(os.environ["DATABASE"])):
    print("has it", flush=True)
    sys.stdin.read()
"""
PATIENCE_SECONDS = 20.0
LOCKS = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())"
)
END_HOLDER = f"SELECT pg_terminate_backend(pid) FROM ({LOCKS} AND granted) AS held"  # noqa: S608
TAKE_UNTIL_PEPPER = """
DO $$ BEGIN
    PERFORM pg_advisory_lock('api_keys'::regclass::oid::bigint);
    COMMIT;
    WHILE NOT EXISTS (SELECT FROM pepper) LOOP PERFORM pg_sleep(0.01); END LOOP;
END $$
"""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that the test can stop."""
    with running_server() as started:
        yield started


def hold(database: PostgresUrl) -> subprocess.Popen[str]:
    """Start a process that holds the lock until the process is killed."""
    process = subprocess.Popen(  # noqa: S603  (our own program)
        [sys.executable, "-c", HOLDER],
        env={"DATABASE": database.url.get_secret_value()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "has it\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_second_process_is_refused(postgres: PostgresServer) -> None:
    """The message of a second process names the key store. Another store on the same server is
    not locked.
    """
    database = postgres.new_database()
    process = hold(database)
    try:
        with pytest.raises(LockError) as caught, session_lock(database):
            pass
        with session_lock(postgres.new_database()):
            pass
    finally:
        end(process)

    assert str(caught.value) == (
        f"another gateway already uses the key store {database}; "
        "only one gateway may use a key store: stop that gateway, or use another key store"
    )


def test_a_lock_ends_with_its_process(postgres: PostgresServer) -> None:
    """After a gateway was killed, the next gateway gets the lock when PostgreSQL has noticed
    the end.
    """
    database = postgres.new_database()
    end(hold(database))
    with session_lock(database, max_wait_seconds=PATIENCE_SECONDS):
        pass


def test_waiting_for_the_lock(postgres: PostgresServer) -> None:
    """The next process gets the lock when the previous process has ended."""
    database = postgres.new_database()
    with ExitStack() as stack:
        stack.enter_context(session_lock(database))
        threading.Timer(0.5, stack.pop_all().close).start()
        began = time.monotonic()
        with store_lock(database, max_wait_seconds=PATIENCE_SECONDS):
            waited_seconds = time.monotonic() - began

    assert 0.3 < waited_seconds < PATIENCE_SECONDS


def test_a_lock_outlives_a_restart_of_the_server(server: PostgresServer) -> None:
    """After a restart of PostgreSQL, the process takes the lock again before another gateway
    can.
    """
    database = server.new_database()
    lost = threading.Event()
    with session_lock(database, lost=lost.set):
        server.stop()
        server.start()
        execute(database, waiting_while(f"NOT EXISTS ({LOCKS} AND granted)"))
        with pytest.raises(LockError), session_lock(database):
            pass

    assert not lost.is_set()


def test_a_lock_that_another_gateway_took_is_lost(postgres: PostgresServer) -> None:
    """If another gateway took the lock during an outage, `lost` is called in the previous
    process.
    """
    database = postgres.new_database()
    lost = threading.Event()
    with session_lock(database, lost=lost.set), ThreadPoolExecutor() as executor:
        taking = executor.submit(execute, database, TAKE_UNTIL_PEPPER)
        execute(database, waiting_while(f"NOT EXISTS ({LOCKS} AND NOT granted)"))
        execute(database, END_HOLDER)
        is_lost = lost.wait(PATIENCE_SECONDS)
        execute(database, "INSERT INTO pepper VALUES (0, 'x')")
        taking.result()

    assert is_lost


def test_a_stopped_server_is_reported(server: PostgresServer) -> None:
    """If PostgreSQL has stopped, taking the lock raises an error."""
    database = server.new_database()
    server.stop()

    with (
        pytest.raises(ConfigError, match="cannot be used as the key store"),
        session_lock(database),
    ):
        pass
