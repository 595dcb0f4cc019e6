"""Tests of the pepper and its file."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from pydantic import SecretStr

from gateway.access.pepper import MARK_LENGTH, load_pepper, pepper_mark, pepper_of
from gateway.settings.model import AccessSettings, ConfigError
from gateway.storage.key_store import KeyStore
from tests.storage.test_key_store import RECORD


def pepper_file(database: Path) -> Path:
    """Path of the pepper file of this database."""
    return database.with_name("keys.db.pepper")


def test_a_configured_pepper_is_used_and_no_file_is_made(database: Path) -> None:
    """With a pepper from the configuration, no file is written."""
    settings = AccessSettings(database=database, pepper=SecretStr("sixteen or more é"))
    pepper = load_pepper(settings)

    assert pepper == "sixteen or more é".encode()
    assert not list(database.parent.iterdir())


def test_the_first_start_creates_a_pepper(database: Path) -> None:
    """The first start creates a file of 32 bytes with mode 600, and later starts read that file."""
    first = load_pepper(AccessSettings(database=database))
    second = load_pepper(AccessSettings(database=database))

    assert first == second
    assert len(first) == 32
    assert stat.S_IMODE(pepper_file(database).stat().st_mode) == 0o600
    assert list(database.parent.iterdir()) == [pepper_file(database)]


def test_peppers_of_two_databases_differ(tmp_path: Path) -> None:
    """Each database gets its own random pepper."""
    peppers = {load_pepper(AccessSettings(database=tmp_path / name)) for name in ("a", "b")}

    assert len(peppers) == 2


def test_starts_at_the_same_time_agree_on_one_pepper(database: Path) -> None:
    """If several processes create the pepper file at once, one succeeds and the others
    read its file.
    """
    racers = 8
    barrier = Barrier(racers)

    def start(_: int) -> bytes:
        barrier.wait(timeout=10)
        return load_pepper(AccessSettings(database=database))

    with ThreadPoolExecutor(racers) as pool:
        peppers = set(pool.map(start, range(racers)))

    assert len(peppers) == 1
    assert peppers == {pepper_file(database).read_bytes()}
    assert list(database.parent.iterdir()) == [pepper_file(database)]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602, 0o644], ids=oct)
def test_a_pepper_file_open_to_other_users(database: Path, mode: int) -> None:
    """A pepper file that other users can read or write is an error, and the message says
    how to fix it.
    """
    load_pepper(AccessSettings(database=database))
    pepper_file(database).chmod(mode)

    with pytest.raises(ConfigError, match=r"^access\.pepper: .*chmod 600"):
        load_pepper(AccessSettings(database=database))


@pytest.mark.parametrize("content", [b"", b"short", bytes(33)], ids=["empty", "short", "long"])
def test_a_damaged_pepper_file_is_not_replaced(database: Path, content: bytes) -> None:
    """A damaged pepper file is an error and is never replaced, because a new pepper would
    invalidate all keys.
    """
    pepper_file(database).touch(0o600)
    pepper_file(database).write_bytes(content)

    with pytest.raises(ConfigError, match="damaged"):
        load_pepper(AccessSettings(database=database))
    assert pepper_file(database).read_bytes() == content


def test_a_missing_directory_is_reported(tmp_path: Path) -> None:
    """If the directory is missing, the error names the pepper file and the reason."""
    settings = AccessSettings(database=tmp_path / "missing" / "keys.db")

    with pytest.raises(ConfigError, match=r"missing/keys\.db\.pepper .*: No such file"):
        load_pepper(settings)


def test_a_dangling_link_is_reported(database: Path) -> None:
    """A dangling link as pepper file is an error, and no file is written at its target."""
    os.symlink("nowhere", pepper_file(database))

    with pytest.raises(ConfigError, match="cannot be read or created"):
        load_pepper(AccessSettings(database=database))


def test_a_link_of_the_same_user_is_followed(tmp_path: Path, database: Path) -> None:
    """A link to a pepper file, as Kubernetes creates for secrets, is followed."""
    made = load_pepper(AccessSettings(database=tmp_path / "other"))
    pepper_file(database).symlink_to(tmp_path / "other.pepper")

    assert load_pepper(AccessSettings(database=database)) == made


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")
def test_a_link_of_another_user_is_not_followed(tmp_path: Path, database: Path) -> None:
    """A link that another user of the machine owns is an error."""
    load_pepper(AccessSettings(database=tmp_path / "other"))
    pepper_file(database).symlink_to(tmp_path / "other.pepper")
    os.chown(pepper_file(database), 12345, 12345, follow_symlinks=False)

    with pytest.raises(ConfigError, match="it is a symbolic link of another user: delete it"):
        load_pepper(AccessSettings(database=database))


def test_a_pipe_or_device_as_pepper_file(database: Path) -> None:
    """A pipe or an endless file as pepper file is an error, without waiting or reading to
    the end.
    """
    os.mkfifo(pepper_file(database), 0o600)
    with pytest.raises(ConfigError, match="not a regular file"):
        load_pepper(AccessSettings(database=database))
    with pytest.raises(ConfigError, match="not a regular file"):
        load_pepper(AccessSettings(database=database, pepper_file=Path("/dev/zero")))


async def test_a_new_store_records_a_mark_of_its_pepper(store: KeyStore, database: Path) -> None:
    """The store keeps a short digest of the pepper, too short to find the pepper from it."""
    settings = AccessSettings(database=database)
    made = await pepper_of(store, settings)
    await store.add(RECORD, b"digest")

    assert await pepper_of(store, settings) == made == pepper_file(database).read_bytes()
    assert await store.pepper_mark() == pepper_mark(made)
    assert len(pepper_mark(made)) == MARK_LENGTH == 4
    assert pepper_mark(made) not in made


async def test_a_missing_pepper_is_not_created_again(store: KeyStore, database: Path) -> None:
    """If the store has keys and the pepper file is missing, the gateway does not start
    and says what to do.
    """
    settings = AccessSettings(database=database)
    await pepper_of(store, settings)
    await store.add(RECORD, b"digest")
    pepper_file(database).unlink()

    with pytest.raises(ConfigError) as refusal:
        await pepper_of(store, settings)
    (problem,) = refusal.value.problems
    assert "keys.db.pepper is missing, and no key works without it" in problem
    assert "Restore it from a backup" in problem
    assert not pepper_file(database).exists()


@pytest.mark.parametrize("is_setting", [True, False], ids=["setting", "file"])
async def test_a_wrong_pepper_is_refused(store: KeyStore, database: Path, is_setting: bool) -> None:
    """If the pepper does not match the keys, the message names the setting or the file,
    and quotes no pepper.
    """
    settings = AccessSettings(database=database)
    await pepper_of(store, settings)
    await store.add(RECORD, b"digest")
    pepper_file(database).write_bytes(b"hunter2" + bytes(25))
    if is_setting:
        settings = AccessSettings(database=database, pepper=SecretStr("hunter2-hunter2-hunter2"))

    with pytest.raises(ConfigError) as refusal:
        await pepper_of(store, settings)
    (problem,) = refusal.value.problems
    assert (
        f"{'the setting' if is_setting else pepper_file(database)} is not the pepper that"
        in problem
    )
    assert "none of its keys works" in problem
    assert "hunter2" not in problem


async def test_a_store_without_keys_takes_any_pepper(store: KeyStore, database: Path) -> None:
    """A store without active keys accepts any pepper, and from then on only this one."""
    settings = AccessSettings(database=database)
    first = await pepper_of(store, settings)
    await store.add(RECORD, b"digest")
    await store.revoke(RECORD.id, RECORD.created_at)
    pepper_file(database).unlink()
    second = await pepper_of(store, settings)

    assert second != first
    assert await store.pepper_mark() == pepper_mark(second)


async def test_a_store_without_a_mark_accepts_any_pepper(store: KeyStore, database: Path) -> None:
    """A store with keys and no mark accepts any pepper and records no mark
    for an unverified pepper."""
    settings = AccessSettings(database=database)
    right = load_pepper(settings)
    await store.add(RECORD, b"digest")
    pepper_file(database).write_bytes(b"w" * 32)
    wrong = await pepper_of(store, settings)
    mark = await store.pepper_mark()
    pepper_file(database).write_bytes(right)

    assert (wrong, mark) == (b"w" * 32, None)
    assert await pepper_of(store, settings) == right


async def test_replaced_pepper_is_reported(store: KeyStore, database: Path) -> None:
    """A pepper that was replaced before the first key was created is reported once."""
    running = AccessSettings(database=database, pepper=SecretStr("that of the gateway"))
    here = AccessSettings(database=database, pepper=SecretStr("that of the command"))
    told: list[bytes | None] = []
    marks: list[bytes | None] = []
    for settings in (running, running, here, here):
        await pepper_of(store, settings, replaced=lambda: told.append(b"told"))
        marks.append(await store.pepper_mark())

    assert told == [b"told"]
    assert marks[0] == marks[1] != marks[2] == marks[3]
