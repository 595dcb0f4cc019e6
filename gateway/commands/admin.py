"""The commands `sheets-gateway admin`, which manage the keys of the admin console."""

# ruff: noqa: PLC0415 - heavy imports stay inside the commands, so that --help is quick

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.commands.command_line import CommandLine
from gateway.commands.keys import created_lines
from gateway.commands.options import ConfigOption, fail, missing_store, run_in, settings_of
from gateway.commands.terminal import say

if TYPE_CHECKING:
    from gateway.access.admins import Admins
    from gateway.settings.model import Settings

admin = CommandLine("Create, list and revoke admin keys, which open the console.")


@asynccontextmanager
async def opened_admins(settings: "Settings") -> AsyncIterator["Admins"]:
    """Open the admin keys in the database of the settings.

    Raises ConfigError if the pepper is missing, unusable or not the pepper of the stored keys.
    """
    from gateway.access.admins import Admins
    from gateway.access.pepper import pepper_of
    from gateway.storage.key_store import KeyStore

    async with KeyStore.open(settings.access.database) as store:
        pepper = await pepper_of(store, settings.access)
        yield Admins(store.admin_secrets, pepper, partial(datetime.now, UTC))


@admin.command("create", examples=["sheets-gateway admin create --name ada"])
def create(
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the key's owner.")],
    config: ConfigOption = None,
) -> None:
    """Create an admin key and print it. The key is shown only once."""
    from gateway.access.issue import MAX_NAME_CHARACTERS

    if not name.strip() or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        fail(f"--name: must be 1 to {MAX_NAME_CHARACTERS} printable characters")
    record, key = run_in(opened_admins(settings_of(config)), lambda admins: admins.create(name))
    lost = f"The new key was not shown. Revoke it: sheets-gateway admin revoke {record.key_id}"
    say(*created_lines(record.key_id, key), done=lost)


@admin.command("list", examples=["sheets-gateway admin list"])
def list_keys(config: ConfigOption = None) -> None:
    """List the IDs, last characters and names of all admin keys."""
    settings = settings_of(config)
    missing = missing_store(settings.access.database)
    found = [] if missing else run_in(opened_admins(settings), lambda admins: admins.secrets.keys())
    for each in found:
        say(f"{each.key_id}  …{each.last4}  {each.created_at:%Y-%m-%d}  {each.name}")
    if not found:
        say(missing or "No admin keys yet; create one: sheets-gateway admin create", err=True)


@admin.command("revoke", examples=["sheets-gateway admin revoke ID"])
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID")], config: ConfigOption = None
) -> None:
    """Revoke an admin key, and end its console sessions at once."""
    settings = settings_of(config)
    missing = missing_store(settings.access.database)
    if missing:
        fail(f"there is no admin key {key_id}: {missing}")
    if not run_in(opened_admins(settings), lambda admins: admins.secrets.revoke(key_id)):
        fail(f"there is no admin key {key_id}; to list them: sheets-gateway admin list")
    say(text := f"{key_id} is revoked", done=text)
