"""What is wrong with a set-up, in words that say how to mend it."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from gateway.access.pepper import load_pepper
from gateway.access.store import KeyRecord, KeyStore
from gateway.config import (
    AccessSettings,
    ConfigError,
    GoogleSettings,
    Settings,
    is_allowed_endpoint,
)
from gateway.endpoint import is_loopback
from gateway.errors import GatewayError, SpreadsheetNotFound
from gateway.observe import causes
from gateway.plan_settings import missing_limits
from gateway.rows import a1
from gateway.rows.header import Header, parse_header
from gateway.upstream.base import Sheets
from gateway.upstream.google import open_google


@dataclass(frozen=True)
class Finding:
    """One line of the report; a `problem` makes the command fail."""

    level: Literal["ok", "warning", "problem"]
    text: str


async def check_setup(settings: Settings, spreadsheet: str | None) -> AsyncIterator[Finding]:
    """Look at the settings, the key store, the account and a spreadsheet if named. 0-2 reads."""
    for finding in check_settings(settings):
        yield finding
    async for finding in _check_keys(settings):
        yield finding
    try:
        async with open_google(settings.google) as sheets:
            try:
                await sheets.sign_in()
            except GatewayError as error:
                yield _failed("the Google account", error)
                return
            account = sheets.account or "Application Default Credentials"
            yield Finding("ok", f"credentials: Google accepts {account}")
            if spreadsheet is not None:
                async for finding in _check_spreadsheet(sheets, spreadsheet):
                    yield finding
    except ConfigError as error:
        for problem in error.problems:
            yield Finding("problem", problem)


def check_settings(settings: Settings) -> Iterator[Finding]:
    """What is allowed, and yet seldom meant."""
    yield from _check_proxies(settings.access)
    for name, plan in settings.plans.items():
        for missing in missing_limits(plan):
            yield Finding("warning", f"plans.{name}: {missing} is 0, which is no limit")
    yield from _check_endpoint(settings.google)
    listen = settings.metrics.listen
    if listen is not None and not is_loopback(listen.host):
        text = f"{listen.host} is not this machine's loopback; who reaches it sees all counts"
        yield Finding("warning", f"metrics.listen: {text}")


def _check_proxies(settings: AccessSettings) -> Iterator[Finding]:
    for network in settings.trusted_proxies:
        if network.prefixlen == 0:
            yield Finding(
                "problem",
                f"access.trusted_proxies: {network} is everybody, so every client may give any "
                "address for its own. Name the addresses of your proxies",
            )


def _check_endpoint(settings: GoogleSettings) -> Iterator[Finding]:
    if not is_allowed_endpoint(settings.endpoint, allow_insecure=False):
        yield Finding(
            "warning",
            f"google.endpoint: {urlsplit(settings.endpoint).netloc} is neither Google nor this "
            "machine; it sees all rows, and tokens of the account",
        )
    elif settings.allow_insecure_endpoint:
        yield Finding(
            "warning",
            "google.allow_insecure_endpoint: the endpoint does not need it; with it a key file "
            "may send tokens anywhere",
        )


async def _check_keys(settings: Settings) -> AsyncIterator[Finding]:
    try:
        async with KeyStore.open(settings.access.database) as store:
            records = [record for record in await store.list() if record.revoked_at is None]
            load_pepper(settings.access)
    except ConfigError as error:
        for problem in error.problems:
            yield Finding("problem", problem)
        return
    yield Finding("ok", f"keys: {len(records)} not revoked")
    for record in records:
        for finding in _check_key(record, settings):
            yield finding


def _check_key(record: KeyRecord, settings: Settings) -> Iterator[Finding]:
    if record.spreadsheets is None:
        yield Finding(
            "warning",
            f"key {record.id} may use every spreadsheet shared with the service account",
        )
    if record.formulas and settings.google.value_input == "user_entered":
        yield Finding(
            "warning", f"key {record.id} may write formulas, which reach all of their spreadsheet"
        )
    if record.plan not in settings.plans:
        yield Finding("problem", f"key {record.id} is on the plan {record.plan}, which is gone")


async def _check_spreadsheet(sheets: Sheets, spreadsheet: str) -> AsyncIterator[Finding]:
    try:
        worksheets = await sheets.list_worksheets(spreadsheet)
        titles = [worksheet.title for worksheet in worksheets]
        tops = await sheets.read_ranges(spreadsheet, [a1.header_range(title) for title in titles])
    except GatewayError as error:
        yield _failed(f"spreadsheet {spreadsheet}", error)
        return
    yield Finding("ok", f"spreadsheet {spreadsheet}: {len(titles)} worksheets")
    for title, top in zip(titles, tops, strict=True):
        for finding in _check_header(title, parse_header(top.cells[0] if top.cells else ())):
            yield finding


def _failed(what: str, error: GatewayError) -> Finding:
    """An error in Google's own words as well: who runs this command has no log to look into."""
    if isinstance(error, SpreadsheetNotFound):
        return Finding(
            "problem",
            f"{what}: Google knows none of this id. Take it from the spreadsheet's URL, between "
            "/d/ and /edit",
        )
    return Finding("problem", " - ".join([f"{what}: {error.message}", *causes(error)]))


def _check_header(title: str, header: Header) -> list[Finding]:
    place = f'worksheet "{title}":'
    if not header.columns:
        return [Finding("warning", f"{place} row 1 is blank, so it cannot be served")]
    findings = [Finding("ok", f"{place} {len(header.columns)} fields")]
    blanks = [a1.column_letters(i) for i, cell in enumerate(header.cells) if not cell.strip()]
    strays = [name for name in header.columns if name != name.strip()]
    if blanks:
        columns = ", ".join(blanks)
        findings.append(Finding("warning", f"{place} no header in column {columns}; not served"))
    for name in header.duplicates():
        findings.append(
            Finding("warning", f'{place} "{name}" stands twice; only its first column is served')
        )
    for name in strays:
        findings.append(Finding("warning", f'{place} blanks around the header "{name}"'))
    return findings
