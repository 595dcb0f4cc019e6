"""The program `sheets-gateway`: its commands and their options."""

import asyncio
import dataclasses
import gc
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway import __version__
from gateway.commands.admin import admin
from gateway.commands.command_line import CommandLine
from gateway.commands.keys import keys
from gateway.commands.options import (
    DEMO_SPREADSHEET,
    ConfigOption,
    configuration_words,
    fail,
    flag,
    number,
    reported,
    say_finding,
    settings_of,
)
from gateway.commands.storage import storage
from gateway.commands.terminal import say, say_labelled, say_status

if TYPE_CHECKING:
    from gateway.commands.demo import Demo

_HOST = typer.Option(metavar="ADDRESS", help="Address to listen on.")
_PORT = typer.Option(metavar="PORT", help="Port to listen on.")

main = CommandLine("Rows of Google Sheets worksheets as a JSON API.")
main.add_typer(admin, name="admin")
main.add_typer(keys, name="keys")
main.add_typer(storage, name="storage")


def _print_version(is_set: bool) -> None:
    if is_set:
        say(f"sheets-gateway {__version__}")
        raise typer.Exit


@main.callback()
def start(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    check_system(os.name)


def check_system(name: str) -> None:
    """Exit with a message if the system is not POSIX. `name` is `os.name`."""
    if name != "posix":
        fail("Windows is not supported: run the gateway in WSL or Docker", status=1)


@main.command(
    examples=[
        "sheets-gateway serve",
        "sheets-gateway serve --config /etc/sheets-gateway/config.toml --host 0.0.0.0",
    ]
)
def serve(
    config: ConfigOption = None,
    host: Annotated[str | None, _HOST] = None,
    port: Annotated[int | None, _PORT] = None,
    fd: Annotated[
        int | None,
        number("Inherited listening socket instead of host and port; systemd passes 3.", "NUMBER"),
    ] = None,
    workers: Annotated[
        int, number("Number of processes; several need PostgreSQL and [cluster].", least=1)
    ] = 1,
) -> None:
    """Serve the JSON API until a signal."""
    if fd is not None and (host is not None or port is not None):
        fail("--fd names a listening socket: omit --host and --port")
    overrides = {"server.host": host, "server.port": port}
    settings = settings_of(config, overrides)
    with reported():
        if workers > 1:
            from gateway.commands.workers import serve_workers

            serve_workers(settings, workers, config=config, overrides=overrides, fd=fd)
        gc.disable()  # garbage collections during the imports take a fifth of the start
        from gateway.commands.serve import serve_gateway

        gc.freeze()
        gc.enable()
        serve_gateway(settings, config=config, fd=fd)


@main.command(examples=["sheets-gateway demo", "sheets-gateway demo prices.csv"])
def demo(
    source: Annotated[Path | None, typer.Argument(metavar="FILE|FOLDER", hidden=True)] = None,
    host: Annotated[str, _HOST] = "127.0.0.1",
    port: Annotated[int, _PORT] = 8000,
) -> None:
    """Serve a sample workbook, or your own file, on an emulator of Google Sheets.

    Your own file is an .xlsx or .csv file, or a folder of .csv files. The demo does not change it.
    """
    from sheets_emulator.state.seed import SeedError, read_spreadsheet

    seed = None
    if source is not None:
        say(f"Reading {source} ...")
        try:
            seed = read_spreadsheet(source, DEMO_SPREADSHEET)
        except SeedError as error:
            fail(str(error), status=1)
    from gateway.commands.demo import NoExample, log_in_file, running_demo, stop_at_signal
    from gateway.server.sockets import bind

    signals = stop_at_signal()
    try:
        with (
            reported(),
            log_in_file() as log,
            running_demo(bind(host, port), os.environ, seed) as running,
        ):
            _greet(running, log)
            signals.get()
    except NoExample as error:
        fail(f"{source}: {error}", status=1)


def _greet(running: "Demo", log: Path) -> None:
    say(f"Sheets gateway on {running.url}, emulator on {running.emulator_url}")
    for label, value in (
        ("Spreadsheet id:  ", DEMO_SPREADSHEET),
        ("Full-access key: ", running.full_key),
        ("No-filters key:  ", running.unfiltered_key),
        ("Read-only key:   ", running.read_only_key),
        ("Try it:          ", f"{running.url}/docs"),
        ("Console:         ", running.sign_in_url),
        ("Keys:            ", f"sheets-gateway keys list --config {running.config}"),
        ("Log:             ", str(log)),
    ):
        say_labelled(label, value)
    for path, fields in running.fields.items():
        say("")
        say_labelled(path, f" has the fields {', '.join(fields)}")
    if running.findings:
        say("")
    for each in running.findings:
        say_finding(each.level, each.text)
    for title, line in running.curl_lines():
        say("")
        say_labelled(f"# {title}", "")
        say(line)
    say("", "Paste these commands into another terminal.")
    say("Ctrl-C ends the demo and deletes its data.")


@main.command(
    examples=[
        "sheets-gateway init",
        "sheets-gateway init --credentials key.json --spreadsheet SPREADSHEET_ID",
    ]
)
def init(
    credentials: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Key file of the service account; asked for by default."),
    ] = None,
    spreadsheet: Annotated[
        str | None, typer.Option(metavar="ID", help="ID or URL; asked for by default.")
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the key.")] = "first",
    wait: Annotated[
        int, number("Maximum time to wait until the spreadsheet is shared.", "SECONDS")
    ] = 900,
    config: ConfigOption = None,
) -> None:
    """Set up the Google account, a spreadsheet and the first API key, step by step."""
    from gateway.commands.init import initialise

    initialise(credentials, spreadsheet, name=name, wait_seconds=wait, config=config)


@main.command(examples=["sheets-gateway emulator --seed seed --credentials emulator-key.json"])
def emulator(
    context: typer.Context,
    host: Annotated[str, _HOST] = "127.0.0.1",
    port: Annotated[int, _PORT] = 9099,
    seed: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory of SPREADSHEET-ID/WORKSHEET.csv and SPREADSHEET-ID.xlsx, and "
            "SPREADSHEET-ID.json with edits.",
        ),
    ] = None,
    db: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File that stores all data between runs, created if it does not exist. Missing "
            "parts of the seed are added; a reset restores the seed.",
        ),
    ] = None,
    credentials: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[PROJECT=]FILE",
            help="Write a service account's key file for this emulator here; repeat for more "
            "accounts. Accounts without PROJECT share a project.",
        ),
    ] = None,
    latency_ms: Annotated[int, number("Latency of every call.", "MS")] = 0,
    latency_jitter_ms: Annotated[int, number("Maximum random additional latency.", "MS")] = 0,
    racing_inserts: Annotated[
        bool,
        flag(
            "--racing-inserts",
            "Let appends with INSERT_ROWS race too. Calls overlap only with --latency-ms.",
        ),
    ] = False,
    repeatable_metadata_ids: Annotated[
        bool,
        flag(
            "--repeatable-metadata-ids",
            "Accept a used ID for new developer metadata instead of refusing it.",
        ),
    ] = False,
    reads_per_minute: Annotated[int, number("Read quota of each account; 0: no limit.")] = 0,
    writes_per_minute: Annotated[int, number("Write quota of each account; 0: no limit.")] = 0,
    reads_per_minute_per_project: Annotated[
        int, number("Read quota of a project's accounts together; 0: no limit.")
    ] = 0,
    writes_per_minute_per_project: Annotated[
        int, number("Write quota of a project's accounts together; 0: no limit.")
    ] = 0,
) -> None:
    """Serve the emulator of the Google Sheets API."""
    from gateway.server.running import make_server, run
    from gateway.server.sockets import base_url, bind
    from sheets_emulator.app import EmulatorOptions, create_emulator
    from sheets_emulator.http.credentials import PROJECT
    from sheets_emulator.state.disk import DiskError
    from sheets_emulator.state.seed import SeedError

    key_files = [_key_file(text, PROJECT) for text in credentials or ()]
    names = {each.name for each in dataclasses.fields(EmulatorOptions)}
    others = (names & context.params.keys()) - {"seed"}
    options = EmulatorOptions(
        projects=tuple(project for project, _ in key_files) or (PROJECT,),
        seed=seed,
        **{name: context.params[name] for name in others},
    )
    try:
        running = create_emulator(options)
    except (OSError, SeedError) as error:
        fail(f"--seed: {error}", status=1)
    except DiskError as error:
        fail(f"--db: {error}")
    with reported():
        listening = bind(host, port)
    running.serve_at(base_url(listening))
    for account, (_, path) in enumerate(key_files, start=1):
        try:
            running.write_credentials(path, base_url(listening), number=account)
        except OSError as error:
            fail(f"--credentials: {path}: {error.strerror}")
    for note in running.notes:
        say_status("warning", note, plain=f"warning  {note}", err=True)
    server = make_server(running.app, shutdown_seconds=1)
    run(server, [listening], f"Sheets emulator on {base_url(listening)}")


def _key_file(text: str, default_project: str) -> tuple[str, Path]:
    """Split a value of `--credentials` into project and path. `./a=b` is a path."""
    match = re.fullmatch(r"([a-z][a-z0-9-]*)=(.+)", text, re.DOTALL)
    return (match[1], Path(match[2])) if match else (default_project, Path(text))


@main.command(
    examples=["sheets-gateway check", "sheets-gateway check --spreadsheet SPREADSHEET_ID --write"]
)
def check(
    config: ConfigOption = None,
    spreadsheet: Annotated[
        str | None, typer.Option(metavar="ID", help="Also check this spreadsheet.")
    ] = None,
    write: Annotated[
        bool, flag("--write", "Also create and delete metadata in the spreadsheet, to test writes.")
    ] = False,
) -> None:
    """Check the settings, the API keys, the Google accounts and a spreadsheet."""
    from gateway.commands.check import check_setup

    settings = settings_of(config)
    if config is None:
        say_finding("ok", f"configuration: {configuration_words(config)}")

    async def report() -> bool:
        is_fine = True
        async for finding in check_setup(settings, spreadsheet, writes=write):
            say_finding(finding.level, finding.text)
            is_fine = is_fine and finding.level != "problem"
        return is_fine

    if not asyncio.run(report()):
        raise typer.Exit(1)
