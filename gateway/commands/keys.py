"""The commands `sheets-gateway keys`."""

# ruff: noqa: PLC0415 - heavy imports stay inside the commands, so that --help is quick

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.commands.command_line import CommandLine
from gateway.commands.options import (
    ConfigOption,
    fail,
    flag,
    missing_store,
    new_key,
    repeatable,
    run,
    say,
    say_done,
    settings_of,
    warn,
)
from gateway.commands.terminal import is_styled, print_table
from gateway.table.quoting import printable

if TYPE_CHECKING:
    from gateway.storage.key_store import Grants, KeyRecord

_HEADER = ("ID", "ENDS IN", "STATE", "PLAN", "MAY", "LAST USED", "EXPIRES", "NAME", "LIMITED TO")

keys = CommandLine("Create, list and revoke API keys.")

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@keys.command(
    "create",
    examples=[
        "sheets-gateway keys create --name website --spreadsheet SPREADSHEET_ID \\",
        "    --worksheet Cities --read-only --origin https://www.example.org",
        "sheets-gateway keys create --name import --spreadsheet SPREADSHEET_ID --json",
    ],
)
def create(
    name: Annotated[str, typer.Option(metavar="NAME", help="What the key is for.")],
    plan: Annotated[str, typer.Option(metavar="PLAN", help="Plan in the configuration.")] = "paid",
    spreadsheet: Annotated[
        list[str] | None, repeatable("ID", "ID of a spreadsheet that the key may use")
    ] = None,
    any_spreadsheet: Annotated[
        bool, flag("--any-spreadsheet", "Allow every spreadsheet shared with the account.")
    ] = False,
    worksheet: Annotated[
        list[str] | None, repeatable("TITLE", "Worksheet that the key may use, by default all")
    ] = None,
    column: Annotated[
        list[str] | None, repeatable("NAME", "Field that the key may see, by default all")
    ] = None,
    writable_column: Annotated[
        list[str] | None,
        repeatable("NAME", "Field that the key may write, by default all visible ones"),
    ] = None,
    read_only: Annotated[bool, flag("--read-only", "Do not allow writes.")] = False,
    delete: Annotated[
        bool,
        flag("--delete", "Allow deleting whole rows, on a plan with deletes; by default none."),
    ] = False,
    refresh: Annotated[
        bool, flag("--refresh", "Allow reporting changes, after which rows are read anew.")
    ] = False,
    origin: Annotated[
        list[str] | None, repeatable("ORIGIN", "Origin whose pages may use the key")
    ] = None,
    expires: Annotated[
        datetime | None,
        typer.Option(
            metavar="DATE",
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"],
            help="End of validity in UTC, such as 2099-12-31 or 2099-12-31T18:00:00; by default "
            "never.",
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a key and print it; it is shown only once."""
    from gateway.access.issue import KeyRequest
    from gateway.storage.key_store import Grants
    from gateway.table.header import ColumnGrant

    if any_spreadsheet == bool(spreadsheet):
        fail(["give either --spreadsheet ID, once or more, or --any-spreadsheet"])
    settings = settings_of(config)
    request = KeyRequest(
        name=name,
        plan=plan,
        grants=Grants(
            spreadsheets=None if any_spreadsheet else frozenset(spreadsheet or ()),
            worksheets=_named(worksheet),
            columns=ColumnGrant(readable=_named(column), writable=_named(writable_column)),
            read_only=read_only,
            may_delete=delete,
            may_refresh=refresh,
            origins=frozenset(origin or ()),
        ),
        expires_at=expires and expires.replace(tzinfo=UTC),
    )

    record, key = run(new_key(settings, request, replaced=_warn_of_pepper))
    if any_spreadsheet:
        warn("this key may use every spreadsheet shared with the account.")
    if delete and not settings.plans[plan].deletes:
        warn(f"this key deletes nothing yet: set plans.{plan}.deletes to true.")
    if as_json:
        say(_json({"id": record.id, "key": key}))
    else:
        say(*created_lines(record.id, key, is_terminal=sys.stdout.isatty()))


@keys.command("list", examples=["sheets-gateway keys list", "sheets-gateway keys list --json"])
def list_keys(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the rights and the last use of all keys, without the keys themselves."""
    from gateway.storage.key_store import KeyStore

    settings = settings_of(config)
    damaged: list[Exception] = []
    missing = missing_store(settings.access.database)

    async def fetch() -> Sequence["KeyRecord"]:
        if missing:  # looking creates none
            return []
        async with KeyStore.open(settings.access.database) as store:
            return await store.list(damaged.append)

    records = run(fetch())
    if as_json:
        say(_json([described(record) for record in records]))
    elif records and is_styled():
        print_table(("KEY", "STATE", "MAY"), [_cells(record) for record in records])
    else:
        say(*listing(records))
    if missing:
        say(missing, err=True)
    if damaged:
        fail([f"access.database: {each}" for each in damaged], status=1)


@keys.command("revoke", examples=["sheets-gateway keys revoke KEY_ID"])
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID")], config: ConfigOption = None
) -> None:
    """Revoke a key permanently."""
    from gateway.storage.key_store import KeyStore

    settings = settings_of(config)
    missing = missing_store(settings.access.database)
    if missing:
        fail([f"there is no active key {key_id}: {missing}"])

    async def end() -> bool:
        async with KeyStore.open(settings.access.database) as store:
            return await store.revoke(key_id, datetime.now(UTC))

    if not run(end()):
        fail([f"there is no active key {key_id}"])
    say_done(f"{key_id} is revoked")


def _warn_of_pepper() -> None:
    warn(
        "the pepper differs from the one last used with this key store; a gateway with another "
        "pepper will not accept this key."
    )


def _named(names: list[str] | None) -> frozenset[str] | None:
    """The values of a repeatable option; None, meaning all, without it."""
    return frozenset(names) if names else None


def described(record: "KeyRecord") -> dict[str, object]:
    """A key as a JSON object, without the key itself."""
    grants = record.grants
    return {
        "id": record.id,
        "name": record.name,
        "last4": record.last4,
        "plan": record.plan,
        "spreadsheets": _listed(grants.spreadsheets),
        "worksheets": _listed(grants.worksheets),
        "columns": _listed(grants.columns.readable),
        "writableColumns": _listed(grants.columns.writable),
        "readOnly": grants.read_only,
        "mayDelete": grants.may_delete,
        "mayRefresh": grants.may_refresh,
        "origins": _listed(grants.origins),
        "createdAt": _moment(record.created_at),
        "expiresAt": _moment(record.expires_at),
        "revokedAt": _moment(record.revoked_at),
        "lastUsedAt": _moment(record.last_used_at),
        "state": _state(record),
    }


def created_lines(key_id: str, key: str, *, is_terminal: bool) -> Sequence[str]:
    """The new key and its ID: labelled on a terminal, in one line for a script."""
    if not is_terminal:
        return [f"{key_id}  {key}"]
    return [f"id   {key_id}", f"key  {key}  (shown only once)"]


def listing(records: Sequence["KeyRecord"]) -> Iterator[str]:
    """The keys as a table with rights and the hour of the last use, without the keys themselves."""
    rows = [_HEADER, *(tuple(map(printable, _row(record))) for record in records)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
    if not records:
        yield "No keys yet; create one: sheets-gateway keys create"


def _cells(record: "KeyRecord") -> Sequence[Sequence[str]]:
    """A key in three cells of lines, which fit into 80 columns."""
    key_id, ends_in, state, plan, rights, used, expires, name, _ = _row(record)
    return (
        (name, key_id, f"ends in {ends_in}"),
        (state, f"plan {plan}", f"used {used}", f"expires {expires}"),
        (rights, *_restrictions(record.grants)),
    )


def _row(record: "KeyRecord") -> Sequence[str]:
    return (
        record.id,
        f"…{record.last4}",
        _state(record),
        record.plan,
        _rights(record.grants),
        _hour(record.last_used_at),
        "never" if record.expires_at is None else f"{record.expires_at:%Y-%m-%d %H:%M}",
        record.name,
        "; ".join(_restrictions(record.grants)),
    )


def _rights(grants: "Grants") -> str:
    rights = {
        "read": True,
        "write": not grants.read_only,
        "delete": grants.may_delete,
        "refresh": grants.may_refresh,
    }
    return ", ".join(right for right, is_granted in rights.items() if is_granted)


def _hour(instant: datetime | None) -> str:
    return "never" if instant is None else f"{instant:%Y-%m-%d %Hh}"


def _restrictions(grants: "Grants") -> Iterator[str]:
    """The restrictions of a key; anything not listed is unrestricted."""
    named = grants.spreadsheets
    yield "any spreadsheet" if named is None else f"spreadsheets: {', '.join(sorted(named))}"
    for title, names in (
        ("worksheets", grants.worksheets),
        ("columns", grants.columns.readable),
        ("writes", grants.columns.writable),
    ):
        if names is not None:
            yield f"{title}: {_quoted(names)}"
    if grants.origins:
        yield f"origins: {', '.join(sorted(grants.origins))}"


def _quoted(names: frozenset[str]) -> str:
    """Quote names of worksheets and fields, which may contain blanks, commas and line breaks."""
    return ", ".join(json.dumps(name, ensure_ascii=False) for name in sorted(names))


def _json(value: object) -> str:
    """JSON in printable ASCII; `json` leaves the delete character as it is."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def _state(record: "KeyRecord") -> str:
    if record.revoked_at is not None:
        return "revoked"
    return "active" if record.is_active(datetime.now(UTC)) else "expired"


def _listed(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _moment(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()
