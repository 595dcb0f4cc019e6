"""The command `sheets-gateway init`: write a configuration file and create the first API key.

Rules:
- The command uses an existing configuration file, and never changes it.
- The command prompts for missing options. Without a terminal, a missing option is an error.
- Cost: 1 read for each attempt until the spreadsheet is shared, 1 to 4 reads of worksheets, and
  3 writes of temporary metadata.
"""

import json
import os
import secrets
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import anyio
import typer

from gateway import errors
from gateway.commands.doctor.account import check_sign_in, context_of, opened_accounts
from gateway.commands.doctor.reasons import CheckContext, Finding, refusal_words
from gateway.commands.doctor.spreadsheet import check_writing, id_words
from gateway.commands.doctor.worksheet import check_worksheet, read_worksheets
from gateway.commands.options import fail, new_key, run, say_done, say_finding, settings_of, warn
from gateway.commands.terminal import say, say_labelled, say_status, waiting
from gateway.google.calls import GoogleSheets
from gateway.google.credentials import ACCOUNTS_PAGE, MAX_FILE_BYTES, load_service_account
from gateway.google.sheets import Sheets, WorksheetProperties
from gateway.settings.model import ConfigError, GoogleSettings, Settings, WorksheetSettings
from gateway.settings.private_file import is_open_to_others, open_regular
from gateway.storage.key_store import Grants, KeyRequest, KeyStore
from gateway.table import a1
from gateway.table.quoting import printable
from gateway.telemetry.redaction import redacted
from gateway.worksheets.access import Layouts

VARIABLE = "GATEWAY_GOOGLE__CREDENTIALS"
KEY_FILE = Path("service-account.json")
WAITED_FOR = (errors.SpreadsheetNotShared, errors.UpstreamAuth)
"""Errors that end when the user shares the spreadsheet, or enables the Sheets API."""
FINAL = (errors.SpreadsheetNotFound, errors.UnsupportedDocument)
"""Errors that waiting cannot solve."""
OFTEN_SECONDS, OFTEN_EVERY_SECONDS, LATER_EVERY_SECONDS = 60.0, 5.0, 15.0
"""Read an unshared spreadsheet every 5 seconds for the first 60 seconds, then every 15."""

_GCLOUD = """\
Create a service account and its key, here with gcloud (https://cloud.google.com/sdk/docs/install):

  gcloud auth login
  gcloud projects create {project}
  gcloud services enable sheets.googleapis.com --project {project}
  gcloud iam service-accounts create sheets-gateway --project {project}
  gcloud iam service-accounts keys create {file} \\
      --iam-account sheets-gateway@{project}.iam.gserviceaccount.com

or in the console: {page}
"""


class UnknownSpreadsheet(Exception):
    """Google does not know the spreadsheet ID. The text explains how to find the correct ID."""


def initialise(
    credentials: Path | None,
    spreadsheet: str | None,
    *,
    name: str,
    wait_seconds: float,
    config: Path | None,
) -> None:
    """Write the configuration file, wait until the spreadsheet is shared, and create a key.

    `credentials` is the path of a key file, and `spreadsheet` an ID or a URL. If one is None, the
    command asks the user for it. `name` is the name of the key. Exits after any error, and if the
    spreadsheet is not shared after `wait_seconds`.
    """
    file = config or Path("config.toml")
    is_new = not file.exists() and VARIABLE not in os.environ
    if is_new:
        _write_config(file, _key_file(credentials))
    settings = settings_of(config)
    account = next(iter(settings.google.by_account().values()))
    used = account.credentials
    if credentials is not None and (used is None or credentials.resolve() != used.resolve()):
        place = used or "no key file"
        fail(f"--credentials: the settings name {place}, and init does not change them")
    try:
        context = run(_sign_in(account), waits_for="Google")
    except typer.Exit:
        if is_new:  # so that the next `init` asks for a key file again
            file.unlink()
        raise
    say_done(f"{file} is written." if is_new else f"The settings are used unchanged: {used}")
    say("", "Share the spreadsheet with this address, as Editor:", "")
    say_labelled(f"  {context.who}", "")
    say("")
    worksheet = None
    while worksheet is None:
        found = _spreadsheet_id(spreadsheet)
        try:
            worksheet = run(
                _find_worksheet(account, settings.worksheets, found, wait_seconds),
                waits_for="Google",
            )
        except UnknownSpreadsheet as error:
            _complain(str(error), ends=spreadsheet is not None)
    key = run(_first_key(settings, found, worksheet, name))
    _say_next_steps(settings, config, found, worksheet, key)


def _key_file(given: Path | None) -> Path:
    """Return `given`, or a path that the user enters. Exits if `given` is not a usable key file."""
    if given is None:
        _require_terminal("--credentials FILE")
    while True:
        path = given or _asked_key_file()
        _protect(path)
        try:
            load_service_account(path, allow_insecure_endpoint=False)
        except ConfigError as error:
            _complain(*error.problems, ends=given is not None)
        else:
            return path


def _asked_key_file() -> Path:
    default = str(KEY_FILE) if KEY_FILE.exists() else ""
    question = "Key file of a service account" + ("" if default else " (Enter: how to create one)")
    while True:
        text = typer.prompt(question, default=default, show_default=bool(default)).strip()
        if not text:
            project = f"sheets-gateway-{secrets.randbelow(900_000) + 100_000}"
            text = _GCLOUD.format(project=project, file=KEY_FILE, page=ACCOUNTS_PAGE)
            say(*text.split("\n"))
            continue
        try:
            path = Path(text).expanduser()
            path.exists()
        except (OSError, RuntimeError, ValueError):  # not quoted: the text can be the key itself
            _complain("This is not the path of a file. Enter the path of the key file.")
            continue
        return path


def _protect(path: Path) -> None:
    """Offer to make a key file unreadable for other users. Ignores files that are not key files."""
    is_open = False
    with suppress(OSError), open_regular(path) as file:
        is_open = is_open_to_others(os.fstat(file.fileno()).st_mode)
        is_open = is_open and b'"private_key"' in file.read(MAX_FILE_BYTES)
    question = f"Other users can read {printable(str(path))}. Let only you read it?"
    if is_open and _is_asking() and typer.confirm(question, default=True):
        with suppress(OSError):  # a file of another user, which loading rejects later
            path.chmod(0o600)


def _write_config(config: Path, key_file: Path) -> None:
    path, folder = key_file.resolve(), config.resolve().parent
    name = str(path.relative_to(folder) if path.is_relative_to(folder) else path)
    try:
        with config.open("x", encoding="utf-8") as file:
            file.write(
                "# Written by sheets-gateway init. config.example.toml has all settings.\n"
                f"[google]\ncredentials = {json.dumps(name, ensure_ascii=False)}\n"
            )
    except OSError as error:
        fail(f"{config}: {error.strerror}")


async def _sign_in(account: GoogleSettings) -> CheckContext:
    async with opened_accounts({"": account}) as opened:
        findings = await check_sign_in(account, opened[""])
        context = context_of(account, opened[""])
    problems = [redacted(each.text) for each in findings if each.level == "problem"]
    if problems:
        raise ConfigError(*problems)
    _show(findings)
    return context


def _spreadsheet_id(given: str | None) -> str:
    while True:
        if given is None:
            _require_terminal("--spreadsheet ID")
        text = given or typer.prompt("URL or ID of the spreadsheet")
        found = text.strip() if a1.is_spreadsheet_id(text.strip()) else a1.id_in(text)
        if found:
            return found
        option = "" if given is None else "--spreadsheet: "
        _complain(f"{option}{id_words(text)}", ends=given is not None)


async def _find_worksheet(
    account: GoogleSettings,
    worksheets: Sequence[WorksheetSettings],
    spreadsheet: str,
    wait_seconds: float,
) -> str:
    """Wait until Google allows reads. Returns the title of the first worksheet with field names.

    Raises UnknownSpreadsheet if Google does not know the ID, and ConfigError for other errors.
    """
    async with opened_accounts({"": account}) as opened:
        context, sheets = context_of(account, opened[""]), GoogleSheets(opened[""].make)
        try:
            listed = await _wait_until_shared(sheets, spreadsheet, context, wait_seconds)
            seen = await read_worksheets(sheets, spreadsheet, listed, Layouts(worksheets))
        except errors.GatewayError as error:
            words = redacted(refusal_words(error, context))
            if isinstance(error, errors.SpreadsheetNotFound):
                raise UnknownSpreadsheet(words) from error
            raise ConfigError(words) from error
        for each in seen:
            _show(check_worksheet(each, context.who))
        _show(await check_writing(sheets, spreadsheet, context))
    served = [each.view.title for each in seen if each.header.columns]
    if not served:
        raise ConfigError(
            "no worksheet has field names. Write them into row 1, and run "
            "`sheets-gateway init` again"
        )
    return served[0]


async def _wait_until_shared(
    sheets: Sheets, spreadsheet: str, context: CheckContext, wait_seconds: float
) -> list[WorksheetProperties]:
    """Repeat a read until the spreadsheet is shared. Returns its worksheets.

    Raises the last GatewayError after `wait_seconds`, or at once if waiting cannot help.
    """
    started, said = anyio.current_time(), ""
    while True:
        try:
            listed = await sheets.list_worksheets(spreadsheet)
        except errors.GatewayError as error:
            waited = anyio.current_time() - started
            can_help = isinstance(error, WAITED_FOR) or bool(said and not isinstance(error, FINAL))
            if waited >= wait_seconds or not can_help:
                raise
            if (words := redacted(refusal_words(error, context))) != said:
                said = words
                say(f"Not yet: {words}")
            every = OFTEN_EVERY_SECONDS if waited < OFTEN_SECONDS else LATER_EVERY_SECONDS
            with waiting("Waiting until it is shared (Ctrl-C ends)", waited):
                await anyio.sleep(min(every, wait_seconds - waited))
        else:
            say_done(f"The spreadsheet {spreadsheet} is shared.")
            return listed


async def _first_key(settings: Settings, spreadsheet: str, worksheet: str, name: str) -> str | None:
    """Create and return a key for the spreadsheet; None if a key for the worksheet is valid."""
    now = datetime.now(UTC)
    async with KeyStore.open(settings.access.database) as store:
        for record in await store.list(lambda damaged: warn(str(damaged))):
            grants = record.grants
            is_for_it = spreadsheet in (grants.spreadsheets or ()) and (
                grants.worksheets is None or worksheet in grants.worksheets
            )
            if is_for_it and record.is_active(now):
                say(
                    f"The key {record.id} already has access to this spreadsheet. "
                    "For another key, run: sheets-gateway keys create"
                )
                return None
    grants = Grants(spreadsheets=frozenset({spreadsheet}))
    return (await new_key(settings, KeyRequest(name=name, grants=grants)))[1]


def _say_next_steps(
    settings: Settings, config: Path | None, spreadsheet: str, worksheet: str, key: str | None
) -> None:
    is_any = settings.server.host in ("0.0.0.0", "::")  # noqa: S104 - compared only
    host = "127.0.0.1" if is_any else settings.server.host
    host = f"[{host}]" if ":" in host else host
    rows = f"http://{host}:{settings.server.port}/v2/sheets/{quote(worksheet, safe='')}?limit=1"
    option = f" --config {shlex.quote(str(config))}" if config else ""
    if key is not None:
        say("")
        say_labelled("Key, shown only once:  ", key)
    say_labelled("Start the gateway:     ", f"sheets-gateway serve{option}")
    say("")
    say_labelled("The first row, in another terminal:", "")
    say("")
    headers = f"-H 'Authorization: Bearer {key or 'sgw_…'}'"
    if key is None:  # the existing key might allow several spreadsheets
        headers += f" -H 'X-Spreadsheet-Id: {spreadsheet}'"
    say(f"curl -s -w '\\n' {headers} '{rows}'")


def _require_terminal(option: str) -> None:
    if not _is_asking():
        fail(f"{option} is missing, and there is no terminal to ask for it")


def _is_asking() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()  # None if standard input is closed


def _complain(*problems: str, ends: bool = False) -> None:
    """Print mistakes. With `ends`, exit; otherwise the caller asks the user again."""
    if ends:
        fail(*problems)
    for each in problems:
        say_status("problem", each, plain=each, err=True)


def _show(findings: Iterable[Finding]) -> None:
    for finding in findings:
        say_finding(finding.level, redacted(finding.text))
