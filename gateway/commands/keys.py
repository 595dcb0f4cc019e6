"""The commands `sheets-gateway keys`, which create, list, change and revoke API keys."""

# ruff: noqa: ARG001, PLC0415 - options are read from the context; heavy imports are in commands

import getpass
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gateway.commands.command_line import CommandLine
from gateway.commands.options import (
    ConfigOption,
    fail,
    flag,
    missing_store,
    new_key,
    read_duration,
    repeatable,
    run,
    run_in,
    say_done,
    settings_of,
    warn,
    warn_or_fail,
)
from gateway.commands.terminal import is_styled, print_table, say

if TYPE_CHECKING:
    from gateway.settings.model import Settings
    from gateway.storage.damaged_rows import DamagedRow
    from gateway.storage.key_store import KeyRecord, KeyStore

T = TypeVar("T")

keys = CommandLine("Create, list, change and revoke API keys.")

KeyId = Annotated[str, typer.Argument(metavar="ID")]
OnlyKey = Annotated[
    str | None, typer.Option("--key", metavar="ID", help="Only this key, by default all.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PlanOption = typer.Option(metavar="PLAN", help="Plan in the configuration.")
Texts = list[str] | None
Spreadsheets = Annotated[Texts, repeatable("ID", "ID or URL of a spreadsheet that the key can use")]
AnySpreadsheet = Annotated[
    bool, flag("--any-spreadsheet", "Allow every spreadsheet shared with the account.")
]
Worksheets = Annotated[Texts, repeatable("TITLE", "Worksheet that the key can use, by default all")]
Columns = Annotated[Texts, repeatable("NAME", "Field that the key can see, by default all")]
WritableColumns = Annotated[
    Texts, repeatable("NAME", "Field that the key can write, by default all visible ones")
]
May = Annotated[
    str | None,
    typer.Option(
        metavar="RIGHTS",
        help="All rights, comma-separated: read, create, update, delete. A new key has the first "
        "three by default; with create alone, it can only create single rows.",
    ),
]
Origins = Annotated[Texts, repeatable("ORIGIN", "Origin whose pages can use the key")]
NextPage = Annotated[
    str | None,
    typer.Option(
        "--next",
        metavar="URL",
        help="Page to which a browser goes after a form; only with --may create. By default, or "
        'with "", a page of the gateway.',
    ),
]
Expires = Annotated[
    datetime | None,
    typer.Option(
        metavar="DATE",
        formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"],
        help="End of validity in UTC, such as 2099-12-31 or 2099-12-31T18:00:00; by default never.",
    ),
]
NoCheck = Annotated[
    bool, flag("--no-check", "Do not check whether spreadsheets, worksheets and fields exist.")
]
Since = Annotated[
    str,
    typer.Option(
        metavar="TIME", help="Time up to now, such as 24h, 90m or 30d. Counts are kept for 30 days."
    ),
]

_MEMBERS = (
    ("name", "name", ""),
    ("plan", "plan", ""),
    ("spreadsheets", "spreadsheet", "any_spreadsheet"),
    ("worksheets", "worksheet", "all_worksheets"),
    ("columns", "column", "all_columns"),
    ("writableColumns", "writable_column", "all_writable_columns"),
    ("mayRefresh", "refresh", "no_refresh"),
    ("origins", "origin", "any_origin"),
    ("next", "next_page", ""),
    ("turnstile", "turnstile", "no_turnstile"),
    ("expiresAt", "expires", "never_expires"),
)
"""Members of `KeyFields` except `may`: name, option that sets it, and option that resets it."""


@keys.command(
    "create",
    examples=[
        "sheets-gateway keys create --name website --spreadsheet SPREADSHEET_ID \\",
        "    --worksheet Cities --read-only --origin https://www.example.org",
        "sheets-gateway keys create --name import --spreadsheet SPREADSHEET_ID --json",
    ],
)
def create(
    context: typer.Context,
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the key.")],
    plan: Annotated[str, PlanOption] = "paid",
    spreadsheet: Spreadsheets = None,
    any_spreadsheet: AnySpreadsheet = False,
    worksheet: Worksheets = None,
    column: Columns = None,
    writable_column: WritableColumns = None,
    may: May = None,
    read_only: Annotated[
        bool, flag("--read-only", "Do not allow writes; same as --may read.")
    ] = False,
    delete: Annotated[
        bool, flag("--delete", "Allow deleting whole rows, if the plan has `deletes = true`.")
    ] = False,
    refresh: Annotated[
        bool, flag("--refresh", "Allow reporting changes; the next request then rereads the rows.")
    ] = False,
    origin: Origins = None,
    next_page: NextPage = None,
    turnstile: Annotated[
        bool, flag("--turnstile", "Check with Cloudflare Turnstile that a person sends a form.")
    ] = False,
    expires: Expires = None,
    no_check: NoCheck = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a key and print it. The key is shown only once."""
    from gateway.access.issue import request_with, warnings_of
    from gateway.commands import key_tables as tables

    if any_spreadsheet == bool(spreadsheet):
        fail("give either --spreadsheet ID, once or more, or --any-spreadsheet")
    settings = settings_of(config)
    rights = _rights(may, read_only=read_only, delete=delete)
    request = request_with({**_members(context.params), "may": rights})
    database = settings.access.database
    new_store = isinstance(database, Path) and not database.exists() and database.absolute()
    record, key = run(
        new_key(settings, request, replaced=_warn_of_pepper, by=operator(), check=not no_check)
    )
    if new_store and is_styled(err=True):
        say(
            f"{new_store} is a new key store. The key works only on a gateway that uses it",
            err=True,
        )
    for text in warnings_of(record, settings.plans):
        warn(text)
    lines = created_lines(record.id, key)
    if as_json:
        lines = [tables.printed_json({"id": record.id, "key": key})]
    lost = f"The new key was not shown. Revoke it: sheets-gateway keys revoke {record.id}"
    say(*lines, done=lost)


@keys.command("list", examples=["sheets-gateway keys list", "sheets-gateway keys list --json"])
def list_keys(
    active: Annotated[bool, flag("--active", "Leave out revoked and expired keys.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List all keys by ID, with their rights and their last use."""
    from gateway.access.issue import key_members
    from gateway.commands import key_tables as tables

    settings = settings_of(config)
    damaged: list[Exception] = []
    missing, now = missing_store(settings.access.database), datetime.now(UTC)
    listed = [] if missing else _in_store(settings, lambda store: store.list(damaged.append))
    records = [record for record in listed if not active or record.is_active(now)]
    if as_json:
        say(tables.printed_json([key_members(record, now) for record in records]))
    elif records and is_styled():
        print_table(("KEY", "STATE", "MAY"), [tables.key_cells(record) for record in records])
    else:
        say(*tables.aligned(tables.KEY_HEADER, [tables.key_row(record) for record in records]))
        if not records:
            say("No keys yet; create one: sheets-gateway keys create")
    if missing:
        say(missing, err=True)
    if damaged:
        fail(*(f"access.database: {each}" for each in damaged), status=1)


@keys.command("update", examples=["sheets-gateway keys update KEY_ID --may read,create"])
def update(
    context: typer.Context,
    key_id: KeyId,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the key.")] = None,
    plan: Annotated[str | None, PlanOption] = None,
    spreadsheet: Spreadsheets = None,
    any_spreadsheet: AnySpreadsheet = False,
    worksheet: Worksheets = None,
    all_worksheets: Annotated[bool, flag("--all-worksheets", "Allow all worksheets.")] = False,
    column: Columns = None,
    all_columns: Annotated[bool, flag("--all-columns", "Allow reading all fields.")] = False,
    writable_column: WritableColumns = None,
    all_writable_columns: Annotated[
        bool, flag("--all-writable-columns", "Allow writing all visible fields.")
    ] = False,
    may: May = None,
    refresh: Annotated[bool, flag("--refresh", "Allow reporting changes.")] = False,
    no_refresh: Annotated[bool, flag("--no-refresh", "Do not allow reporting changes.")] = False,
    origin: Origins = None,
    any_origin: Annotated[bool, flag("--any-origin", "Allow pages of all origins.")] = False,
    next_page: NextPage = None,
    turnstile: Annotated[bool, flag("--turnstile", "Check that a person sends a form.")] = False,
    no_turnstile: Annotated[
        bool, flag("--no-turnstile", "Do not check that a person sends a form.")
    ] = False,
    expires: Expires = None,
    never_expires: Annotated[bool, flag("--never-expires", "Let the key never expire.")] = False,
    no_check: NoCheck = False,
    config: ConfigOption = None,
) -> None:
    """Change the settings of a key. A repeatable option replaces all of its values."""
    from gateway.access.issue import check_request, request_with, update_key, warnings_of
    from gateway.commands import key_tables as tables

    both = [pair for _, *pair in _MEMBERS if all(map(context.params.get, pair))]
    if both:
        pairs = [" or --".join(pair).replace("_", "-") for pair in both]
        fail(*(f"give either --{pair}" for pair in pairs))
    settings, now = settings_of(config), datetime.now(UTC)
    members = _members(context.params)
    if may is not None:
        members["may"] = _rights(may)

    async def change(store: "KeyStore") -> str:
        record = await _active_key(store, key_id)
        request = request_with(members, record)
        check_request(request, settings.plans, now, before=record)
        if not no_check and request.grants.names != record.grants.names:
            await warn_or_fail(settings, request.grants)
        edit = await update_key(
            record, request, store=store, plans=settings.plans, now=now, by=operator()
        )
        if edit is None:
            fail(
                f"{key_id} was changed by another administrator at the same time: try again",
                status=1,
            )
        for text in warnings_of(request, settings.plans, record):
            warn(text)
        return f"{key_id} is changed: {tables.edit_row(edit)[-1]}" if edit.changes else ""

    changed = _in_store(settings, change, key_id)
    say_done(changed or "nothing changed")
    if changed:
        _say_when(settings)


@keys.command("rotate", examples=["sheets-gateway keys rotate KEY_ID --overlap 7d"])
def rotate(
    key_id: KeyId,
    overlap: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time until the old secret ends, such as 90m or 7d; by default 24h.",
        ),
    ] = None,
    end: Annotated[bool, flag("--end", "End the old secret now; make no new secret.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a key a new secret, and print it. For a time, both secrets are valid."""
    from gateway.access.issue import rotate_key
    from gateway.access.pepper import pepper_of
    from gateway.commands import key_tables as tables
    from gateway.storage.key_store import KeyEdit

    if end and overlap is not None:
        fail("give either --overlap or --end, which ends the old secret at once")
    seconds = read_duration("24h" if overlap is None else overlap)
    settings, now = settings_of(config), datetime.now(UTC)

    async def end_old(store: "KeyStore") -> Sequence[str]:
        edit = KeyEdit(key_id=key_id, at=now, by=operator(), action="ended")
        if not await store.end_rotation(edit):
            await _active_key(store, key_id)
            fail(f"{key_id} has no old secret; `sheets-gateway keys list` marks keys with one")
        return [f"the old secret of {key_id} is no longer valid"]

    async def make(store: "KeyStore") -> Sequence[str]:
        record = await _active_key(store, key_id)
        pepper = await pepper_of(store, settings.access, replaced=_warn_of_pepper)
        ends = timedelta(seconds=seconds)
        key = await rotate_key(
            record, store=store, pepper=pepper, overlap=ends, now=now, by=operator()
        )
        if key is None:
            fail(
                f"the old secret of {key_id} is still valid. End it first: sheets-gateway "
                f"keys rotate {key_id} --end"
            )
        if as_json:
            until = (now + ends).isoformat()
            return [tables.printed_json({"id": key_id, "key": key, "oldSecretEndsAt": until})]
        say(f"The old secret is valid until {now + ends:%Y-%m-%d %H:%M:%S} UTC.", err=True)
        return created_lines(key_id, key)

    lines = _in_store(settings, end_old if end else make, key_id)
    lost = (
        "The new secret was not shown. Create another key, or rotate again after the old secret's "
        f"end; to end it now: sheets-gateway keys rotate {key_id} --end"
    )
    say(*lines, done=lines[0] if end else lost)
    if end:
        _say_when(settings)


@keys.command("revoke", examples=["sheets-gateway keys revoke KEY_ID"])
def revoke(key_id: KeyId, config: ConfigOption = None) -> None:
    """Revoke a key permanently."""
    settings = settings_of(config)

    async def end(store: "KeyStore") -> str:
        if not await store.revoke(key_id, datetime.now(UTC), by=operator()):  # also a damaged key
            await _active_key(store, key_id)
        return f"{key_id} is revoked"

    say_done(_in_store(settings, end, key_id))
    _say_when(settings)


@keys.command("report", examples=["sheets-gateway keys report --since 7d"])
def report(
    key_id: OnlyKey = None,
    since: Since = "24h",
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the requests of each key by the hour. The counts are up to 10 seconds old."""
    from gateway.commands import key_tables as tables

    begin = datetime.now(UTC) - timedelta(seconds=read_duration(since, "--since"))
    found, names = _fetched(
        settings_of(config), key_id, lambda store: store.usage(tables.USE_PLACE, begin, key_id)
    )
    members = tables.use_members(found, names)
    if as_json:
        say(tables.printed_json(members))
    else:
        say(*tables.aligned(tables.USE_HEADER, tables.use_rows(members)))


@keys.command("log", examples=["sheets-gateway keys log --key KEY_ID"])
def log(key_id: OnlyKey = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print who created, changed, rotated and revoked keys, and what changed."""
    from gateway.commands import key_tables as tables

    edits, _ = _fetched(settings_of(config), key_id, lambda store: store.edits(key_id))
    if as_json:
        say(tables.printed_json([tables.edit_members(edit) for edit in edits]))
    else:
        say(*tables.aligned(tables.EDIT_HEADER, [tables.edit_row(edit) for edit in edits]))


def operator() -> str:
    """Return the name of the user who runs the command, or who called sudo to run it."""
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return f"user {os.getuid()}"


def created_lines(key_id: str, key: str) -> Sequence[str]:
    """Return lines with a new key and its ID: two with labels on a terminal, else one."""
    if not sys.stdout.isatty():
        return [f"{key_id}  {key}"]
    return [f"id   {key_id}", f"key  {key}  (shown only once)"]


def _in_store(
    settings: "Settings", work: Callable[["KeyStore"], Awaitable[T]], key_id: str = ""
) -> T:
    """Run `work` with the key store, and return its result.

    With `key_id`, exits if the key store does not exist.
    """
    from gateway.storage.key_store import KeyStore

    if key_id and (missing := missing_store(settings.access.database)):
        fail(f"there is no active key {key_id}: {missing}")
    return run_in(KeyStore.open(settings.access.database), work)


async def _active_key(store: "KeyStore", key_id: str) -> "KeyRecord":
    """Return the key with this ID. Exits if the key is revoked, damaged or missing."""
    found = await store.find(key_id)
    if found is None:
        listed = await store.list(lambda _: None)
        records = [each for each in listed if each.revoked_at is None]
        fail(f"there is no active key {key_id}{_hint(records, key_id)}")
    if found.revoked_at is not None:
        fail(f"{key_id} is revoked, which is permanent: create another key")
    return found


def _say_when(settings: "Settings") -> None:
    """Print how soon a running gateway applies the change of a key."""
    seconds = 5 if isinstance(settings.access.database, Path) else 1
    say(f"A running gateway applies the change within {seconds} s.", err=True)


def _hint(records: Sequence["KeyRecord"], key_id: str) -> str:
    """Return a hint with the IDs of the keys that are named `key_id`, or "" without such keys."""
    named = ", ".join(each.id for each in records if each.name == key_id)
    return f": give the ID of a key, not its name; {key_id} is the name of {named}" if named else ""


def _fetched(
    settings: "Settings", key_id: str | None, fetch: Callable[["KeyStore"], Awaitable[Sequence[T]]]
) -> tuple[Sequence[T], Mapping[str, str]]:
    """Return the result of `fetch`, and the names of all keys by ID.

    Both are empty if the store does not exist. Exits if the key `key_id` does not exist.
    """
    missing = missing_store(settings.access.database)
    if missing:
        say(missing, err=True)
        return [], {}

    async def fetch_it(store: "KeyStore") -> tuple[Sequence[T], Mapping[str, str]]:
        damaged: list[DamagedRow] = []
        found, records = await fetch(store), await store.list(damaged.append)
        names = {each.id: each.name for each in records}
        if key_id is not None and not found and key_id not in {*names, *(r.row for r in damaged)}:
            fail(f"there is no key {key_id}{_hint(records, key_id)}")
        return found, names

    return _in_store(settings, fetch_it)


def _members(given: Mapping[str, Any]) -> dict[str, object]:
    """Convert the given options to members of `KeyFields`, without the member `may`."""
    members: dict[str, object] = {}
    for member, name, other in _MEMBERS:
        value = given[name]
        if given.get(other) or value not in (None, False, ()):
            members[member] = None if value == () else value
    if "expiresAt" in members:
        members["expiresAt"] = given["expires"] and given["expires"].isoformat()
    if "origins" in members:
        members["origins"] = given["origin"] or []
    return members


def _rights(may: str | None, *, read_only: bool = False, delete: bool = False) -> Sequence[str]:
    """Return the rights that the options name. Exits for unknown rights."""
    from gateway.storage.key_store import RIGHTS

    if may is None:
        if delete and read_only:
            fail("--delete: a --read-only key cannot delete rows; see --may")
        may = "read" if read_only else f"read,create,update{',delete' if delete else ''}"
    elif read_only or delete:
        fail("--may names all rights of the key: omit --read-only and --delete")
    named = {right.strip() for right in may.split(",")} - {""}
    unknown = sorted(named - {*RIGHTS})
    if unknown:
        fail(f"--may: {', '.join(unknown)} is not among {', '.join(RIGHTS)}")
    return [*named]


def _warn_of_pepper() -> None:
    warn(
        "the pepper differs from the pepper last used with this key store; a gateway with the "
        "earlier pepper will not accept this key."
    )
