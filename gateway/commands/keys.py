"""The commands `sheets-gateway keys`."""

# ruff: noqa: PLC0415 - heavy imports stay inside the commands, so that --help is quick

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.commands.key_listing import created_lines, described, listing
from gateway.commands.options import ConfigOption, fail, run, settings_of

if TYPE_CHECKING:
    from gateway.storage.key_store import KeyRecord

keys = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Make, list and revoke API keys."
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@keys.command("create")
def create(
    name: Annotated[str, typer.Option(metavar="NAME", help="What the key is for.")],
    plan: Annotated[str, typer.Option(metavar="PLAN", help="Plan of the configuration.")] = "paid",
    spreadsheet: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Id of a spreadsheet it may use; repeatable."),
    ] = None,
    any_spreadsheet: Annotated[
        bool, typer.Option("--any-spreadsheet", help="Every one shared with the account.")
    ] = False,
    worksheet: Annotated[
        list[str] | None,
        typer.Option(metavar="TITLE", help="Worksheet it may use; all if none; repeatable."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Field it may see, by its name; all if none; repeatable."
        ),
    ] = None,
    writable_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Field it may write; all that it sees if none; repeatable."
        ),
    ] = None,
    formulas: Annotated[
        bool,
        typer.Option(
            "--formulas", help="It may write formulas, where google.value_input is user_entered."
        ),
    ] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="It may not write.")] = False,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Origin whose pages may use it; repeatable."),
    ] = None,
    expires: Annotated[
        datetime | None,
        typer.Option(
            metavar="DATE",
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"],
            help="Until when it may be used, in UTC, as 2099-12-31 or 2099-12-31T18:00:00; for "
            "ever if left out.",
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key and print it; it is shown this once."""
    from gateway.access.issue import KeyRequest, create_key
    from gateway.access.pepper import pepper_of
    from gateway.storage.key_store import KeyStore
    from gateway.table.view import ColumnGrant

    if any_spreadsheet == bool(spreadsheet):
        fail(["name either --spreadsheet ID, once or more, or --any-spreadsheet"])
    settings = settings_of(config)
    request = KeyRequest(
        name=name,
        plan=plan,
        spreadsheets=None if any_spreadsheet else frozenset(spreadsheet or ()),
        worksheets=_named(worksheet),
        columns=ColumnGrant(readable=_named(column), writable=_named(writable_column)),
        formulas=formulas,
        read_only=read_only,
        origins=frozenset(origin or ()),
        expires_at=expires and expires.replace(tzinfo=UTC),
    )

    async def make() -> tuple["KeyRecord", str]:
        async with KeyStore.open(settings.access.database) as store:
            return await create_key(
                request,
                store=store,
                pepper=await pepper_of(store, settings.access, replaced=_warn_of_pepper),
                plans=settings.plans,
                now=datetime.now(UTC),
            )

    record, key = run(make())
    if any_spreadsheet:
        typer.echo("Warning: this key may use every spreadsheet shared with the account.", err=True)
    made = json.dumps({"id": record.id, "key": key})
    is_terminal = sys.stdout.isatty()
    typer.echo(made if as_json else created_lines(record.id, key, is_terminal=is_terminal))


@keys.command("list")
def list_keys(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List all keys with what they may do and their last use, without the keys themselves."""
    from gateway.storage.key_store import KeyStore

    settings = settings_of(config)

    async def fetch() -> Sequence["KeyRecord"]:
        async with KeyStore.open(settings.access.database) as store:
            return await store.list()

    records = run(fetch())
    if as_json:
        typer.echo(json.dumps([described(record) for record in records]))
        return
    for line in listing(records):
        typer.echo(line)


@keys.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID")], config: ConfigOption = None
) -> None:
    """Revoke a key for good."""
    from gateway.storage.key_store import KeyStore

    settings = settings_of(config)

    async def end() -> bool:
        async with KeyStore.open(settings.access.database) as store:
            return await store.revoke(key_id, datetime.now(UTC))

    if not run(end()):
        fail([f"there is no key {key_id} that is not revoked yet"])
    typer.echo(f"{key_id} is revoked")


def _warn_of_pepper() -> None:
    typer.echo(
        "Warning: the pepper is not the one that this key store was last used with; a gateway that "
        "runs with another pepper will not know this key.",
        err=True,
    )


def _named(names: list[str] | None) -> frozenset[str] | None:
    """The names of a repeatable option; None for all if it is not given."""
    return frozenset(names) if names else None
