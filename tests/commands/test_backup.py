"""`storage backup` and `storage restore` of a SQLite store."""

import asyncio
import errno
import json
import os
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateway.commands.cli import main
from gateway.commands.store_files import restore
from gateway.settings.model import AccessSettings, ConfigError
from gateway.storage.backup import SIDE_FILES
from gateway.storage.backup import replace as replace_store
from gateway.storage.key_store import Grants, KeyRecord, KeyRequest, KeyStore
from gateway.storage.lock import exclusive_lock
from gateway.worksheets.idempotency import Sending
from gateway.worksheets.writes import WriteIdentity
from tests.clock import ManualClock
from tests.journeys.conftest import create_keys
from tests.journeys.waiting import until
from tests.storage.by_hand import execute, scopes
from tests.storage.conftest import FENCE, NOW, ROWS, WORKSHEET, found_after_restart, results
from tests.storage.next_version import NEXT_SCHEMA, make_next_version

_REVOKE = "UPDATE api_keys SET revoked_at = $1 WHERE id = $2"
A_KEY = KeyRequest(name="n", grants=Grants(spreadsheets=None))
NEW_KEY = KeyRecord(
    id="key",
    name="n",
    last4="wxyz",
    plan="paid",
    grants=Grants(spreadsheets=None, may_create=False, may_update=False),
    created_at=NOW,
)


@dataclass(frozen=True)
class Installation:
    """Folder with a configuration for the default store, and the command line."""

    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "keys.db"

    @property
    def pepper(self) -> Path:
        return self.folder / "keys.db.pepper"

    def storage(self, *arguments: object) -> Result:
        config = ("--config", str(self.folder / "config.toml"))
        return CliRunner().invoke(main, ["storage", *map(str, arguments), *config])

    def create_key(self) -> str:
        """Create a key, and return its ID."""
        config = ("--config", str(self.folder / "config.toml"))
        create = ["keys", "create", "--name", "n", "--any-spreadsheet", "--json", *config]
        created = json.loads(CliRunner().invoke(main, create).stdout)
        return str(created["id"])

    def records(self) -> list[KeyRecord]:
        async def fetch() -> list[KeyRecord]:
            async with KeyStore.open(self.database) as store:
                return list(await store.list())

        return asyncio.run(fetch())

    def files(self) -> set[str]:
        return {each.name for each in self.folder.iterdir()} - {"config.toml"}


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    return installation(tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path) -> Installation:
    """Return an installation on another machine, without a store."""
    return installation(tmp_path / "there")


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """Return the file name of a backup in a new folder."""
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "monday.db"


def installation(folder: Path) -> Installation:
    folder.mkdir()
    (folder / "config.toml").touch()
    return Installation(folder)


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


@dataclass
class Writer:
    """Thread that records writes and creates keys without pause, and lists what was committed."""

    database: Path
    completed: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    is_ended: threading.Event = field(default_factory=threading.Event)

    async def write(self) -> None:
        async with KeyStore.open(self.database) as store, store.open_ledger(ManualClock()) as own:
            for number in count():
                if self.is_ended.is_set():
                    return
                scope = f"w{number}"
                identity = WriteIdentity(
                    scope=scope, fingerprint="f", worksheet=WORKSHEET, key_id=""
                )
                await own.sending(WORKSHEET, [Sending(identity, 5, ROWS)], FENCE)
                if number % 2:
                    await own.complete(identity, results(5))
                    self.completed.append(scope)
                else:
                    self.open.append(scope)
                if number % 10 == 0:
                    record = replace(NEW_KEY, id=f"key_{number}")
                    await store.add(record, scope.encode())
                    self.keys.append(record.id)


@contextmanager
def writing(database: Path) -> Iterator[Writer]:
    writer = Writer(database)
    thread = threading.Thread(target=lambda: asyncio.run(writer.write()))
    thread.start()
    try:
        yield writer
    finally:
        writer.is_ended.set()
        thread.join()


def test_a_backup_during_writes_has_all_committed_data(
    here: Installation, there: Installation, backup: Path
) -> None:
    """At 50 writes a second, a backup has every committed key and record with its rows
    and fence.
    """
    here.create_key()
    with writing(here.database) as writer:
        began = time.monotonic()
        assert until(lambda: len(writer.open) >= 100)
        keys, opened, completed = [*writer.keys], [*writer.open], [*writer.completed]
        done = here.storage("backup", backup)
        assert until(lambda: len(writer.open) > len(opened) + 10)
        rate = (len(writer.open) + len(writer.completed)) / (time.monotonic() - began)
    restored = there.storage("restore", backup)

    assert (done.exit_code, restored.exit_code) == (0, 0), done.output + restored.output
    assert rate >= 50
    assert {*opened, *completed} <= scopes(there.database)
    assert {*keys} <= {record.id for record in there.records()}
    is_open = "SELECT scope FROM idempotency_records WHERE answer IS NULL"
    assert {*opened} <= {scope for (scope,) in execute(there.database, is_open)}
    entry = asyncio.run(found_after_restart(there.database, ManualClock(), opened[-1]))
    assert entry is not None
    assert (entry.rows, entry.fence) == (ROWS, FENCE)


def test_a_backup_is_one_private_file_with_its_pepper(here: Installation, backup: Path) -> None:
    """A backup has mode 0600, needs no WAL, and its pepper is in a file next to it."""
    here.create_key()
    done = here.storage("backup", backup)

    assert done.exit_code == 0
    assert done.output.startswith(f"{backup} has 1 key and 0 records of writes, 0 of them open")
    assert names(backup.parent) == {"monday.db", "monday.db.pepper"}
    assert {each.stat().st_mode & 0o777 for each in backup.parent.iterdir()} == {0o600}
    assert backup.with_name("monday.db.pepper").read_bytes() == here.pepper.read_bytes()
    assert backup.read_bytes()[18:20] == b"\x01\x01"  # the journal mode, which is not WAL


def test_a_backup_without_the_pepper_says_so(here: Installation, backup: Path) -> None:
    """With `--without-pepper`, the output says which pepper file to keep."""
    here.create_key()
    done = here.storage("backup", backup, "--without-pepper")

    assert done.exit_code == 0
    assert f"keep {here.pepper} too" in done.output
    assert names(backup.parent) == {"monday.db"}


@pytest.mark.parametrize("taken", ["monday.db", "monday.db.pepper"])
def test_a_backup_overwrites_no_file(here: Installation, backup: Path, taken: str) -> None:
    """If the name of the backup or of its pepper is taken, nothing is written."""
    here.create_key()
    backup.with_name(taken).write_text("mine")
    done = here.storage("backup", backup)

    assert done.exit_code == 2
    assert f"{backup.with_name(taken)} exists already: choose another name" in done.output
    assert names(backup.parent) == {taken}
    assert backup.with_name(taken).read_text() == "mine"


def test_a_restored_store_has_its_keys_and_pepper(
    here: Installation, there: Installation, backup: Path
) -> None:
    """A restore has all keys and the pepper, and warns that keys revoked since then are
    valid again.
    """
    key = here.create_key()
    here.storage("backup", backup)
    done = there.storage("restore", backup)

    assert done.exit_code == 0
    assert [record.id for record in there.records()] == [key]
    assert there.pepper.read_bytes() == here.pepper.read_bytes()
    assert {each.stat().st_mode & 0o777 for each in (there.database, there.pepper)} == {0o600}
    assert "Warning: keys that were revoked since the backup are valid again" in done.stderr
    assert "a repeated Idempotency-Key can write again" in done.stderr


def test_a_store_is_replaced_on_request_only(here: Installation, backup: Path) -> None:
    """A restore over a store fails without `--replace`; with it the old store is renamed
    and differences are listed.
    """
    first = here.create_key()
    here.storage("backup", backup)
    second = here.create_key()
    execute(here.database, _REVOKE, NOW.isoformat(), first)
    refused = here.storage("restore", backup)
    before = {record.id for record in here.records()}
    done = here.storage("restore", backup, "--replace")
    (aside,) = here.folder.glob("keys.db.replaced-*")

    assert refused.exit_code == 2
    assert f"{here.database} exists already: --replace" in refused.output
    assert before == {first, second}
    assert done.exit_code == 0
    assert [record.id for record in here.records()] == [first]
    assert str(aside) in done.stdout
    assert (
        f"{first} is valid again; to revoke it: sheets-gateway keys revoke {first}" in done.stderr
    )
    assert f"{second} was created since the backup" in done.stderr
    assert execute(aside, "SELECT count(*) FROM api_keys") == [(2,)]


def test_the_wal_of_a_killed_process_stays_with_its_store(here: Installation, backup: Path) -> None:
    """The WAL file of the old store is moved with it, and is not applied to the restored store."""
    key = here.create_key()
    here.storage("backup", backup)
    with closing(sqlite3.connect(here.database)) as connection:
        connection.execute("DELETE FROM api_keys")
        connection.commit()
        kept = {
            each: here.folder.joinpath(each).read_bytes() for each in ("keys.db", "keys.db-wal")
        }
    for name, content in kept.items():
        here.folder.joinpath(name).write_bytes(content)
    done = here.storage("restore", backup, "--replace")

    assert done.exit_code == 0
    assert [record.id for record in here.records()] == [key]
    (aside,) = here.folder.glob("keys.db.replaced-*Z")
    assert execute(aside, "SELECT count(*) FROM api_keys") == [(0,)]


@pytest.mark.parametrize("options", [(), ("--replace",)], ids=["new", "replace"])
def test_a_wal_without_its_store_is_not_applied(
    here: Installation, backup: Path, options: tuple[str, ...]
) -> None:
    """A leftover WAL file without its store is moved away, and is not applied to the
    restored store.
    """
    key = here.create_key()
    here.storage("backup", backup)
    with closing(sqlite3.connect(here.database)) as connection:
        connection.execute("DELETE FROM api_keys")
        connection.commit()
        left = {each: here.folder.joinpath(each).read_bytes() for each in ("keys.db-wal",)}
    here.database.unlink()
    for name, content in left.items():
        here.folder.joinpath(name).write_bytes(content)
    done = here.storage("restore", backup, *options)

    assert done.exit_code == 0
    (aside,) = here.folder.glob("keys.db.replaced-*Z-wal")
    assert f"{aside} is the previous file" in done.stdout
    assert aside.read_bytes() == left["keys.db-wal"]
    assert [record.id for record in here.records()] == [key]


@pytest.mark.parametrize("suffix", SIDE_FILES)
def test_a_backup_fails_if_a_side_file_exists(
    here: Installation, backup: Path, suffix: str
) -> None:
    """A backup fails if a file such as `-wal` exists, which SQLite would apply to the backup."""
    here.create_key()
    other = backup.with_name(f"{backup.name}{suffix}")
    other.touch()
    done = here.storage("backup", backup)

    assert done.exit_code == 2
    assert f"{other} exists already: choose another name" in done.output
    assert names(backup.parent) == {other.name}


@pytest.mark.parametrize("is_there", [True, False], ids=["other", "missing"])
def test_a_store_that_cannot_be_replaced_keeps_its_pepper(
    here: Installation, there: Installation, backup: Path, is_there: bool
) -> None:
    """If the old store cannot be moved, store and pepper stay unchanged."""
    there.create_key()
    there.storage("backup", backup)
    here.create_key()
    if not is_there:
        here.pepper.unlink()
    before = [here.files(), is_there and here.pepper.read_bytes(), here.records()]
    taken = here.folder / f"keys.db.replaced-{NOW:%Y%m%dT%H%M%SZ}"
    taken.touch()
    access = AccessSettings(database=here.database)
    with pytest.raises(ConfigError, match=f"{here.database} cannot be replaced: File exists"):
        restore(access, backup, replaces=True, now=NOW)
    taken.unlink()
    (here.folder / "keys.db.lock").unlink()

    assert [here.files(), is_there and here.pepper.read_bytes(), here.records()] == before


def test_a_pepper_in_another_folder_stays_there(
    here: Installation, there: Installation, backup: Path
) -> None:
    """An old pepper is renamed within its folder, which can be on another file system."""
    there.create_key()
    there.storage("backup", backup)
    folder = here.folder / "elsewhere"
    folder.mkdir()
    (here.folder / "config.toml").write_text('[access]\npepper_file = "elsewhere/pepper"\n')
    here.create_key()
    before = (folder / "pepper").read_bytes()
    done = here.storage("restore", backup, "--replace")

    assert done.exit_code == 0
    (aside,) = folder.glob("keys.db.replaced-*.pepper")
    assert f"{aside} is the previous pepper" in done.stdout
    assert aside.read_bytes() == before
    assert (folder / "pepper").read_bytes() == there.pepper.read_bytes()


def test_a_pepper_that_is_a_link_is_restored_at_its_target(
    here: Installation, there: Installation, backup: Path
) -> None:
    """A restore follows a symbolic link of the pepper; an error names the target file."""
    there.create_key()
    there.storage("backup", backup)
    here.pepper.symlink_to(here.folder / "secret" / "pepper")
    refused = here.storage("restore", backup)
    (here.folder / "secret").mkdir()
    done = here.storage("restore", backup)

    assert refused.exit_code == 2
    problem = f"{here.folder / 'secret' / 'pepper'} cannot be created: No such file or directory"
    assert problem in refused.output
    assert done.exit_code == 0
    assert here.pepper.read_bytes() == there.pepper.read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("is_there", [True, False], ids=["replaced", "new"])
def test_a_restore_by_root_keeps_the_owner(
    here: Installation, there: Installation, backup: Path, is_there: bool
) -> None:
    """After a restore by root, store, pepper and lock belong to the user of the folder."""
    there.create_key()
    there.storage("backup", backup)
    if is_there:
        here.create_key()
    for each in (here.folder, *here.folder.iterdir()):
        os.chown(each, 12345, 54321)
    done = here.storage("restore", backup, "--replace")

    assert done.exit_code == 0
    owners = {each.name: each.stat() for each in here.folder.iterdir()}
    assert {"keys.db", "keys.db.lock", "keys.db.pepper"} <= owners.keys()
    assert {(each.st_uid, each.st_gid) for each in owners.values()} == {(12345, 54321)}


def test_a_store_is_replaced_without_hard_links(tmp_path: Path) -> None:
    """Replacing a store works on a file system without hard links."""

    def refuse(_file: Path, _name: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    copy, store, aside = (tmp_path / name for name in ("copy", "store", "aside"))
    copy.write_text("new")
    store.write_text("old")
    moved = replace_store(copy, store, aside, link=refuse)

    assert moved == [aside]
    assert (store.read_text(), aside.read_text()) == ("new", "old")


def test_a_full_disk_is_reported_for_the_backup(here: Installation, backup: Path) -> None:
    """A full disk gives an error about the backup file, and no file remains."""
    here.create_key()
    execute(here.database, "CREATE TABLE filler AS SELECT zeroblob(200000) AS filler")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        done = here.storage("backup", backup)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert done.exit_code == 2
    assert f"{backup} cannot be written: the disk may be full" in done.output
    assert names(backup.parent) == set()


def test_a_damaged_store_can_be_replaced(here: Installation, backup: Path) -> None:
    """With `--replace` a damaged store is moved away, and the backup is restored."""
    key = here.create_key()
    here.storage("backup", backup)
    here.database.write_bytes(b"damaged")
    done = here.storage("restore", backup, "--replace")

    assert done.exit_code == 0
    assert [record.id for record in here.records()] == [key]
    (aside,) = here.folder.glob("keys.db.replaced-*")
    assert aside.read_bytes() == b"damaged"


def test_a_store_that_is_served_is_not_replaced(here: Installation, backup: Path) -> None:
    """A restore while a gateway uses the store fails with a message that names the store."""
    here.create_key()
    here.storage("backup", backup)
    with exclusive_lock(here.database):
        done = here.storage("restore", backup, "--replace")

    assert done.exit_code == 1
    assert f"already uses the key store {here.database}" in done.output
    assert here.files() == {"keys.db", "keys.db.lock", "keys.db.pepper"}


def test_a_store_that_another_program_reads_is_not_replaced(
    here: Installation, backup: Path
) -> None:
    """A restore fails while another program has the store open, because it would continue
    with the old file.
    """
    here.create_key()
    here.storage("backup", backup)
    with closing(sqlite3.connect(here.database)) as connection:
        connection.execute("SELECT count(*) FROM api_keys").fetchone()
        done = here.storage("restore", backup, "--replace")

    assert done.exit_code == 2
    assert f"{here.database} is in use by another program" in done.output
    assert here.files() == {"keys.db", "keys.db.lock", "keys.db.pepper"}


def test_a_backup_of_an_earlier_schema_is_upgraded(
    here: Installation, there: Installation, backup: Path, tmp_path: Path
) -> None:
    """A newer version restores a backup with its own schema; the backup itself is unchanged."""
    key = here.create_key()
    saved = here.storage("backup", backup)
    before = backup.read_bytes()
    config = ("--config", str(there.folder / "config.toml"))
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "gateway", "storage", "restore", str(backup), *config],
        cwd=make_next_version(tmp_path / "next"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (saved.exit_code, done.returncode) == (0, 0), saved.output + done.stderr
    assert {record.id for record in there.records()} == {key}
    assert execute(there.database, "SELECT version_num FROM alembic_version") == [(NEXT_SCHEMA,)]
    assert backup.read_bytes() == before
    assert names(backup.parent) == {"monday.db", "monday.db.pepper"}


def spoil_pepper(file: Path) -> None:
    file.write_bytes(b"y" * 32)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        pytest.param(spoil_pepper, "is not the pepper of these keys", id="other"),
        pytest.param(Path.unlink, "does not exist, and no key works", id="missing"),
    ],
)
def test_keys_without_their_pepper_are_rejected(
    here: Installation,
    there: Installation,
    backup: Path,
    spoil: Callable[[Path], None],
    words: str,
) -> None:
    """Backup and restore fail without the right pepper, because no key would work."""
    here.create_key()
    here.storage("backup", backup)
    spoil(here.pepper)
    saved = here.storage("backup", backup.with_name("tuesday.db"))
    spoil(backup.with_name("monday.db.pepper"))
    restored = there.storage("restore", backup)

    assert (saved.exit_code, restored.exit_code) == (2, 2)
    assert words in saved.output
    assert words in restored.output
    assert ("monday.db.pepper is not" in restored.output) is (spoil is spoil_pepper)
    assert {each for each in names(backup.parent) if "tuesday" in each} == set()
    assert there.files() == {"keys.db.lock"}


def test_a_pepper_in_the_settings_is_not_copied(here: Installation, backup: Path) -> None:
    """If the pepper is a setting, the output says to keep the setting, and no pepper file
    is written.
    """
    pepper = "a pepper of sixteen characters"
    asyncio.run(create_keys(here.database, {"n": A_KEY}, pepper=pepper))
    (here.folder / "config.toml").chmod(0o600)
    (here.folder / "config.toml").write_text(f"[access]\npepper = {json.dumps(pepper)}\n")
    saved = here.storage("backup", backup)
    restored = here.storage("restore", backup, "--replace")

    assert (saved.exit_code, restored.exit_code) == (0, 0)
    assert "keep the setting access.pepper too" in saved.output
    assert pepper not in saved.output + restored.output
    assert names(backup.parent) == {"monday.db"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(None, "does not exist", id="missing"),
        pytest.param(b"", "cannot be copied: no such table: api_keys", id="empty"),
        pytest.param(b"no database" * 99, "cannot be copied: file is not a database", id="other"),
    ],
)
def test_a_file_that_is_not_a_backup_is_rejected(
    there: Installation, backup: Path, content: bytes | None, words: str
) -> None:
    """A missing, empty or other file gives an error, and no store is created."""
    if content is not None:
        backup.write_bytes(content)
    done = there.storage("restore", backup)

    assert done.exit_code == 2
    assert f"{backup} {words}" in done.output
    assert there.files() <= {"keys.db.lock"}


def test_a_damaged_backup_is_rejected(
    here: Installation, there: Installation, backup: Path
) -> None:
    """A backup with a damaged page gives an error, and no store is created."""
    here.create_key()
    here.storage("backup", backup)
    ((page,),) = execute(backup, "SELECT rootpage FROM sqlite_master WHERE name = 'worksheets'")
    content = bytearray(backup.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    backup.write_bytes(content)
    done = there.storage("restore", backup)

    assert done.exit_code == 2
    assert f"{backup} is damaged" in done.output
    assert there.files() == {"keys.db.lock"}


def test_a_missing_store_is_not_backed_up(here: Installation, backup: Path) -> None:
    """A backup without a store gives an error that names the setting, and creates no file."""
    done = here.storage("backup", backup)

    assert done.exit_code == 2
    assert f"access.database: {here.database} does not exist" in done.output
    assert here.files() | names(backup.parent) == set()


def test_a_store_is_not_restored_from_itself(here: Installation) -> None:
    """Restoring the store's own file gives an error."""
    here.create_key()
    done = here.storage("restore", here.database, "--replace")

    assert done.exit_code == 2
    assert f"{here.database} is the key store itself" in done.output


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_postgresql_uses_pg_dump(here: Installation, backup: Path, command: str) -> None:
    """With PostgreSQL, backup and restore name pg_dump and the pepper, without a connection."""
    config = here.folder / "config.toml"
    config.chmod(0o600)
    config.write_text(
        '[access]\ndatabase = "postgresql+asyncpg://u:secret@127.0.0.1:1/gateway"\n'
        'pepper_file = "pepper"\n'
    )
    done = here.storage(command, backup)

    assert done.exit_code == 2
    assert "pg_dump backs it up while gateways serve" in done.output
    assert str(here.folder / "pepper") in done.output
    assert "secret" not in done.output
