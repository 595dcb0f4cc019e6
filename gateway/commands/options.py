"""Options, coroutines and messages that several commands use."""

# ruff: noqa: PLC0415 - heavy imports stay inside the commands, so that --help is quick

import asyncio
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from gateway.commands.terminal import Level, say_status, waiting

if TYPE_CHECKING:
    from gateway.settings.database import Database
    from gateway.settings.model import Settings
    from gateway.storage.key_store import Grants, KeyRecord, KeyRequest

S = TypeVar("S")
T = TypeVar("T")

DEMO_SPREADSHEET = "demo"
"""ID of the spreadsheet of `demo`, defined here because `cli` reads it without importing `demo`."""

_DATABASE = "access.database"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile("([0-9]{1,4})([smhd])")  # now minus 9999 days is still a valid date

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="Configuration file; by default config.toml if it exists."
    ),
]


def number(help_text: str, metavar: str = "N", least: int = 0) -> Any:
    """Return a Typer option for a whole number of at least `least`."""
    return typer.Option(metavar=metavar, min=least, help=help_text)


def repeatable(metavar: str, help_text: str) -> Any:
    """Return a Typer option for several values. Its help ends with "repeatable"."""
    return typer.Option(metavar=metavar, help=f"{help_text}; repeatable.")


def flag(name: str, help_text: str) -> Any:
    """Return a Typer option without a value and without a `--no-` form."""
    return typer.Option(name, help=help_text)


@contextmanager
def reported(database: str = _DATABASE) -> Iterator[None]:
    """Print errors of the configuration or the key store in the block, and exit.

    The exit status is 2 for the configuration, and 1 for a store that fails, is damaged or is
    locked. Other exceptions are not caught. `database` is the setting or option that names the key
    store.
    """
    try:
        yield
    except Exception as error:
        from sqlalchemy.exc import SQLAlchemyError

        from gateway.settings.model import ConfigError
        from gateway.storage.damaged_rows import DamagedRow
        from gateway.storage.database import reason_of
        from gateway.storage.lock import LockError

        if isinstance(error, ConfigError):
            fail(*(each.replace(_DATABASE, database) for each in error.problems))
        if isinstance(error, LockError):
            fail(str(error), status=1)
        if isinstance(error, DamagedRow):
            fail(f"{database}: {error}", status=1)
        if isinstance(error, SQLAlchemyError):
            fail(unusable_store(reason_of(error)).replace(_DATABASE, database), status=1)
        raise


def settings_of(config: Path | None, overrides: Mapping[str, object] | None = None) -> "Settings":
    """Load the settings. Prints all problems and exits if the settings are invalid.

    `overrides` has values by the name of the setting, such as `server.port`.
    """
    from gateway.settings.model import load_settings

    with reported():
        return load_settings(config, os.environ, overrides or {})


def configuration_words(config: Path | None) -> str:
    """Return the path of the configuration file, or a text that the file does not exist."""
    from gateway.settings.layers import DEFAULT_FILE

    file = config or DEFAULT_FILE
    if file.exists():
        return str(file.absolute())
    return f"no {file} in {Path.cwd()}, so defaults and variables GATEWAY_… only"


def run(
    work: Coroutine[Any, Any, T], *, waits_for: str = "the key store", database: str = _DATABASE
) -> T:
    """Run a coroutine and return its result. Prints errors and exits as `reported(database)` does.

    After half a second, a terminal shows a spinner with the words `waits_for`.
    """
    with reported(database), waiting(f"Waiting for {waits_for}"):
        return asyncio.run(work)


def run_in(opened: AbstractAsyncContextManager[S], work: Callable[[S], Awaitable[T]]) -> T:
    """Enter a context, run `work` with its value, and return the result. Fails as `run` does."""

    async def open_and_work() -> T:
        async with opened as found:
            return await work(found)

    return run(open_and_work())


async def new_key(
    settings: "Settings",
    request: "KeyRequest",
    *,
    replaced: Callable[[], None] = lambda: None,
    random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    by: str = "",
    check: bool = False,
) -> tuple["KeyRecord", str]:
    """Create a key in the database of the settings. Returns its record and the key itself.

    Calls `replaced` if the database has no keys, and another pepper than before is used. `by` is
    the author in the log of edits. With `check`, exits if a granted spreadsheet, worksheet or field
    does not exist. Raises ConfigError for an invalid request.
    """
    from gateway.access.issue import check_request, create_key
    from gateway.access.pepper import pepper_of
    from gateway.storage.key_store import KeyStore

    now = datetime.now(UTC)
    async with KeyStore.open(settings.access.database) as store:
        pepper = await pepper_of(store, settings.access, replaced=replaced)
        check_request(request, settings.plans, now)
        if check:
            await warn_or_fail(settings, request.grants)
        return await create_key(
            request,
            store=store,
            pepper=pepper,
            plans=settings.plans,
            now=now,
            random_bytes=random_bytes,
            by=by,
        )


async def warn_or_fail(settings: "Settings", grants: "Grants") -> None:
    """Exit if a spreadsheet, worksheet or field of a key does not exist.

    Prints a warning for each spreadsheet that could not be read. Cost: 1 to 3 reads for each
    spreadsheet, and 1 read for each account without access.
    """
    from gateway.commands.doctor.account import look_for

    if grants.spreadsheets is None:
        return
    with waiting("Waiting for Google"):
        looked = await look_for(settings, grants)
    if looked.problems:
        fail(*looked.problems, "nothing was changed; --no-check skips this check")
    for each in looked.unchecked:
        warn(f"not checked: {each}")


def read_duration(text: str, option: str = "--overlap") -> float:
    """Convert a duration such as `90m` to seconds. Exits with an error about `option` otherwise."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        fail(f"{option}: {text!r} is not a duration. Use a number with s, m, h or d, as in 24h")
    return float(found[1]) * _SECONDS[found[2]]


def missing_store(database: "Database") -> str | None:
    """Return a message if the SQLite file does not exist, else None."""
    if not isinstance(database, Path) or database.exists():
        return None
    return f"{database.absolute()} does not exist. If you have keys, correct access.database"


def unusable_store(reason: str) -> str:
    """Return the message for a database that fails during reads or writes."""
    return (
        f"access.database: the key store cannot be read or written: {reason}. If it is damaged, "
        "restore it from a backup"
    )


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def say_done(*texts: str) -> None:
    """Print what the command has done, a line for each text."""
    for text in texts:
        say_status("ok", text, plain=text, done="; ".join(texts))


def say_finding(level: Level, text: str) -> None:
    say_status(level, text, plain=f"{level:8} {text}")


def warn(text: str) -> None:
    say_status("warning", text, plain=f"Warning: {text}", err=True)


def fail(*problems: str, status: int = 2) -> NoReturn:
    """Print each problem as a line on standard error, and exit."""
    for problem in problems:
        say_status("error", problem, plain=f"sheets-gateway: {problem}", err=True)
    raise typer.Exit(status)
