"""The command `sheets-gateway`."""

import asyncio
import json
import os
from collections.abc import Coroutine, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from gateway.cli_keys import described, line_of

if TYPE_CHECKING:
    import socket

    from gateway.access.store import KeyRecord
    from gateway.config import Settings

T = TypeVar("T")

main = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    help="Rows of Google Sheets worksheets as a JSON API.",
)
keys = typer.Typer(no_args_is_help=True, help="Make, list and revoke API keys.")
main.add_typer(keys, name="keys")

ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Configuration file; config.toml if it is there.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@main.command()
def serve(
    config: ConfigOption = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    fd: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Listening socket that was inherited, in place of host and port: 3 of systemd.",
        ),
    ] = None,
) -> None:
    """Serve the gateway."""
    from gateway.cli_serve import serve_gateway
    from gateway.config import ConfigError
    from gateway.lock import LockError

    if fd is not None and (host is not None or port is not None):
        _fail(["--fd names a socket that listens already: leave --host and --port out"])
    settings = _settings(config, {"server.host": host, "server.port": port})
    try:
        serve_gateway(settings, fd=fd)
    except ConfigError as error:
        _fail(error.problems)
    except LockError as error:
        _fail([str(error)], status=1)


@main.command()
def demo(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
) -> None:
    """Serve a sample workbook on the embedded emulator, with keys and curl lines to try."""
    from gateway.config import ConfigError
    from gateway.demo import SPREADSHEET, WORKSHEET, curl_lines, running_demo, stop_at_signal
    from gateway.observe import configure_logging

    configure_logging()
    stop = stop_at_signal()
    listening = _bind(host, port)
    try:
        with running_demo(listening, os.environ) as running:
            typer.echo(f"Sheets gateway on {running.url}, emulator on {running.emulator_url}")
            typer.echo(f"Spreadsheet id: {SPREADSHEET}, worksheet: {WORKSHEET}")
            typer.echo(f"Paid key:       {running.paid_key}")
            typer.echo(f"Free key:       {running.free_key}")
            typer.echo(f"Read-only key:  {running.read_only_key}")
            for title, line in curl_lines(running):
                typer.echo(f"\n# {title}\n{line}")
            typer.echo("\nCtrl-C ends the demo; what was written goes with it.")
            stop.wait()
    except ConfigError as error:
        _fail(error.problems)


@main.command()
def emulator(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 9099,
    seed: Annotated[
        Path | None,
        typer.Option(help="Directory of SPREADSHEET-ID/WORKSHEET.csv and SPREADSHEET-ID.xlsx."),
    ] = None,
    db: Annotated[
        Path | None,
        typer.Option(
            help="File that keeps all data from run to run, made if there is none. Of the seed it "
            "takes in what it lacks; a reset puts it back to the seed."
        ),
    ] = None,
    credentials: Annotated[
        Path | None, typer.Option(help="Write a service-account file for this emulator here.")
    ] = None,
    latency_ms: Annotated[int, typer.Option(min=0, help="Time that every call takes.")] = 0,
    latency_jitter_ms: Annotated[
        int, typer.Option(min=0, help="Random time that a call takes besides, at most.")
    ] = 0,
    racing_inserts: Annotated[
        bool,
        typer.Option(
            "--racing-inserts",
            help="Appends with INSERT_ROWS race, too; none overlap without --latency-ms.",
        ),
    ] = False,
    reads_per_minute: Annotated[int, typer.Option(min=0, help="Read quota; 0: none.")] = 0,
    writes_per_minute: Annotated[int, typer.Option(min=0, help="Write quota; 0: none.")] = 0,
) -> None:
    """Serve the emulator of the Google Sheets API."""
    from gateway.emulator.app import EmulatorOptions, create_emulator
    from gateway.emulator.state.disk import DiskError
    from gateway.emulator.state.seed import SeedError
    from gateway.serving import base_url, make_server, run

    options = EmulatorOptions(
        seed=seed,
        db=db,
        latency_ms=latency_ms,
        latency_jitter_ms=latency_jitter_ms,
        racing_inserts=racing_inserts,
        reads_per_minute=reads_per_minute,
        writes_per_minute=writes_per_minute,
    )
    try:
        running = create_emulator(options)
    except (OSError, SeedError) as error:
        _fail([f"--seed: {error}"])
    except DiskError as error:
        _fail([f"--db: {error}"])
    listening = _bind(host, port)
    running.serve_at(base_url(listening))
    if credentials is not None:
        try:
            running.write_credentials(credentials, base_url(listening))
        except OSError as error:
            _fail([f"--credentials: {credentials}: {error.strerror}"])
    server = make_server(running.app, shutdown_seconds=1)
    run(server, [listening], f"Sheets emulator on {base_url(listening)}")


@main.command()
def check(
    config: ConfigOption = None,
    spreadsheet: Annotated[str | None, typer.Option(help="Look at this spreadsheet too.")] = None,
) -> None:
    """Say what is wrong with the set-up, in words."""
    from gateway.checkup import check_setup

    settings = _settings(config)

    async def report() -> bool:
        is_fine = True
        async for finding in check_setup(settings, spreadsheet):
            typer.echo(f"{finding.level:8} {finding.text}")
            is_fine = is_fine and finding.level != "problem"
        return is_fine

    if not asyncio.run(report()):
        raise typer.Exit(1)


@keys.command("create")
def create(
    name: Annotated[str, typer.Option(help="What the key is for.")],
    plan: Annotated[str, typer.Option(help="Plan of the configuration.")] = "paid",
    spreadsheet: Annotated[
        list[str] | None, typer.Option(help="Id of a spreadsheet it may use; repeatable.")
    ] = None,
    any_spreadsheet: Annotated[
        bool, typer.Option("--any-spreadsheet", help="Every one shared with the account.")
    ] = False,
    worksheet: Annotated[
        list[str] | None, typer.Option(help="Worksheet it may use; all if none; repeatable.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="It may not write.")] = False,
    origin: Annotated[
        list[str] | None, typer.Option(help="Origin whose pages may use it; repeatable.")
    ] = None,
    expires: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="In UTC.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a key and print it; it is shown this once."""
    from gateway.access.issue import KeyRequest, create_key
    from gateway.access.pepper import load_pepper
    from gateway.access.store import KeyStore

    if any_spreadsheet == bool(spreadsheet):
        _fail(["name either --spreadsheet ID, once or more, or --any-spreadsheet"])
    settings = _settings(config)
    request = KeyRequest(
        name=name,
        plan=plan,
        spreadsheets=None if any_spreadsheet else frozenset(spreadsheet or ()),
        worksheets=frozenset(worksheet) if worksheet else None,
        read_only=read_only,
        origins=frozenset(origin or ()),
        expires_at=expires and expires.replace(tzinfo=UTC),
    )

    async def make() -> tuple["KeyRecord", str]:
        async with KeyStore.open(settings.access.database) as store:
            return await create_key(
                request,
                store=store,
                pepper=load_pepper(settings.access),
                plans=settings.plans,
                now=datetime.now(UTC),
            )

    record, key = _run(make())
    if any_spreadsheet:
        typer.echo("Warning: this key may use every spreadsheet shared with the account.", err=True)
    typer.echo(json.dumps({"id": record.id, "key": key}) if as_json else f"{record.id}  {key}")


@keys.command("list")
def list_keys(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List all keys, without the keys themselves."""
    from gateway.access.store import KeyStore

    settings = _settings(config)

    async def fetch() -> list[dict[str, object]]:
        async with KeyStore.open(settings.access.database) as store:
            return [described(record) for record in await store.list()]

    records = _run(fetch())
    if as_json:
        typer.echo(json.dumps(records))
        return
    for record in records:
        typer.echo(line_of(record))


@keys.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID")], config: ConfigOption = None
) -> None:
    """Revoke a key for good."""
    from gateway.access.store import KeyStore

    settings = _settings(config)

    async def end() -> bool:
        async with KeyStore.open(settings.access.database) as store:
            return await store.revoke(key_id, datetime.now(UTC))

    if not _run(end()):
        _fail([f"there is no key {key_id} that is not revoked yet"])
    typer.echo(f"{key_id} is revoked")


def _settings(config: Path | None, overrides: Mapping[str, object] | None = None) -> "Settings":
    from gateway.config import ConfigError, load_settings

    try:
        return load_settings(config, os.environ, overrides or {})
    except ConfigError as error:
        _fail(error.problems)


def _bind(host: str, port: int) -> "socket.socket":
    from gateway.cli_serve import listening_at
    from gateway.config import ConfigError

    try:
        return listening_at(host, port)
    except ConfigError as error:
        _fail(error.problems)


def _run(work: Coroutine[Any, Any, T]) -> T:
    from gateway.config import ConfigError

    try:
        return asyncio.run(work)
    except ConfigError as error:
        _fail(error.problems)


def _fail(problems: list[str], *, status: int = 2) -> NoReturn:
    for problem in problems:
        typer.echo(f"sheets-gateway: {problem}", err=True)
    raise typer.Exit(status)
