"""Checks of the Google accounts, of the Sheets API, and of the names in a key's grants (rights)."""

import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import httpx2

from gateway.access.grant_check import MISSING, Looked, Names, check_grants, find_names
from gateway.commands.doctor.reasons import (
    SYNCHRONISE,
    TOLERATED_SECONDS,
    CheckContext,
    Finding,
    clock_words,
    find_cause,
    ok,
    problem,
    refusal_words,
    warning,
)
from gateway.commands.doctor.spreadsheet import check_metadata, check_spreadsheet, check_writing
from gateway.errors import GatewayError, SpreadsheetNotFound, SpreadsheetNotShared
from gateway.google.calls import GoogleSheets, Send
from gateway.google.client import Client, open_accounts
from gateway.google.credentials import check_credentials
from gateway.google.translation import GoogleRefusal
from gateway.settings.address import is_allowed_endpoint
from gateway.settings.model import ConfigError, GoogleSettings, Settings
from gateway.storage.key_store import Grants
from gateway.telemetry.redaction import redacted
from gateway.worksheets.access import Layouts

NO_SPREADSHEET = "sheets-gateway-check"
"""ID that no spreadsheet has. The error "not found" proves that the API answers."""

Now = Callable[[], float]
"""Clock that returns seconds since 1970 (Unix time)."""

# Errors are not quoted, because they might contain a proxy URL with its password.
_NO_CLIENT: Mapping[type[Exception], str] = {
    ImportError: "the environment names a SOCKS proxy, which is not supported. Set HTTPS_PROXY to "
    "an http:// proxy, and unset ALL_PROXY",
    OSError: "the CA certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read. Correct "
    "or unset the variable",
    ValueError: "the environment names an invalid proxy. Correct HTTPS_PROXY, HTTP_PROXY and "
    "ALL_PROXY to http://HOST:PORT, or unset them",
    httpx2.InvalidURL: "the environment names a proxy whose URL cannot be read. Correct "
    "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY to http://HOST:PORT, or unset them",
}
"""Messages by type of error, for failures to create the HTTP client."""


async def check_accounts(
    settings: Settings,
    spreadsheet: str | None,
    *,
    now: Now = time.time,
    writes: bool = False,
    sends: Mapping[str, Send] = MappingProxyType({}),
) -> AsyncIterator[list[Finding]]:
    """Sign in as each account, then check `spreadsheet`. If it is None, check the Sheets API.

    Yields the findings of each step as soon as Google has answered. `sends` has functions that call
    Google, by account name; a running gateway passes functions that respect its quota. Other
    accounts are called directly. Cost: at most 6 reads, 1 more for each account if there are
    several, and 3 writes if `writes` is true.
    """
    accounts = settings.google.by_account()
    try:
        async with opened_accounts(accounts, now) as opened:
            sheets = {
                name: GoogleSheets(sends.get(name, client.make)) for name, client in opened.items()
            }

            def of(name: str, findings: Iterable[Finding]) -> list[Finding]:
                prefix = f"account {name}: " if len(opened) > 1 else ""
                return [replace(each, text=f"{prefix}{each.text}") for each in findings]

            contexts: dict[str, CheckContext] = {}
            for name, client in opened.items():
                findings = await check_sign_in(accounts[name], client)
                yield of(name, findings)
                if all(finding.level != "problem" for finding in findings):
                    contexts[name] = context_of(accounts[name], client)
            if spreadsheet is None:
                for name, context in contexts.items():
                    yield of(name, await _check_sheets(sheets[name], context))
                return
            reaching = [*contexts]
            if len(opened) > 1:
                known = {name: await _reaches(sheets[name], spreadsheet) for name in contexts}
                reaching = [name for name in contexts if known[name]]
                place = f"spreadsheet {spreadsheet}:"
                for name, context in contexts.items() if reaching else ():
                    if known[name] is None:
                        yield of(name, [warning(f"{place} {context.who} could not be checked")])
                    elif known[name]:
                        yield of(name, [ok(f"{place} {context.who} can read it")])
                    else:
                        share = f"{place} share it with {context.who} as Editor for more quota"
                        yield of(name, [warning(share)])
            for name in (reaching or [*contexts])[:1]:
                own, context = sheets[name], contexts[name]
                findings = await check_spreadsheet(own, spreadsheet, context, settings.worksheets)
                yield findings
                if all(finding.level != "problem" for finding in findings):
                    yield await check_metadata(own, spreadsheet, context)
                    if writes:
                        yield await check_writing(own, spreadsheet, context)
    except ConfigError as error:
        yield [*map(problem, error.problems)]


@asynccontextmanager
async def opened_accounts(
    accounts: Mapping[str, GoogleSettings], now: Now = time.time
) -> AsyncIterator[Mapping[str, Client]]:
    """Open a client for each account during the block. Yields the clients by account name.

    Raises ConfigError for an unusable credentials file, proxy variable or CA certificate.
    """
    for account in accounts.values():
        check_credentials(account, os.environ)
    async with AsyncExitStack() as stack:
        try:
            opened = await stack.enter_async_context(open_accounts(accounts, now=now))
        except tuple(_NO_CLIENT) as error:
            words = next(text for kind, text in _NO_CLIENT.items() if isinstance(error, kind))
            raise ConfigError(f"network: {words}") from error
        yield opened


async def check_sign_in(settings: GoogleSettings, client: Client) -> list[Finding]:
    """Check that Google issues a token for an account, and compare the clocks. No Sheets calls."""
    try:
        await client.sign_in()
    except GatewayError as error:
        return [problem(f"credentials: {refusal_words(error, context_of(settings, client))}")]
    found = [ok(f"credentials: Google accepts {context_of(settings, client).who}")]
    offset_seconds = client.tokens.clock_offset_seconds or 0.0
    if abs(offset_seconds) > TOLERATED_SECONDS:
        found += [
            warning(
                f"clock: this machine's clock is {clock_words(offset_seconds)} Google's. "
                f"Google refuses sign-ins from a difference of about 5 minutes. {SYNCHRONISE}"
            )
        ]
    return found


async def _reaches(sheets: GoogleSheets, spreadsheet: str) -> bool | None:
    """True if the account can read the spreadsheet, None if Google failed. Cost: 1 read."""
    try:
        await sheets.list_worksheets(spreadsheet)
    except (SpreadsheetNotFound, SpreadsheetNotShared):
        return False
    except GatewayError:
        return None
    return True


def context_of(settings: GoogleSettings, client: Client) -> CheckContext:
    """Return account, project, key file and endpoint of a client, for messages."""
    return CheckContext(
        account=client.tokens.account,
        project=client.tokens.project,
        key_file=settings.credentials,
        endpoint=settings.endpoint,
    )


async def _check_sheets(sheets: GoogleSheets, context: CheckContext) -> list[Finding]:
    """Check that the Sheets API is enabled. Cost: 1 read, or none without Google's endpoint."""
    if not is_allowed_endpoint(context.endpoint, allow_insecure=False):
        return []
    try:
        await sheets.list_worksheets(NO_SPREADSHEET)
    except GatewayError as error:
        refusal = find_cause(error, GoogleRefusal)
        if not isinstance(error, SpreadsheetNotFound) or (refusal and refusal.is_page):
            return [problem(f"Sheets API: {refusal_words(error, context)}")]
    return [ok("Sheets API: enabled; check a spreadsheet with --spreadsheet ID")]


async def look_for(settings: Settings, grants: Grants) -> Looked:
    """Check in Google that the spreadsheets, worksheets and fields of a key exist.

    Cost for each spreadsheet: 1 to 3 reads, and 1 read for each account without access.
    """
    try:
        async with opened_accounts(settings.google.by_account()) as opened:
            return await check_grants(grants, partial(_names_in, settings, opened, grants))
    except ConfigError as error:
        return Looked(unchecked=error.problems)


async def _names_in(
    settings: Settings, opened: Mapping[str, Client], grants: Grants, spreadsheet: str
) -> Names:
    """Return the names in a spreadsheet, read with the first account that has access.

    Raises GatewayError if no account can read the spreadsheet. A failure for another reason than
    missing access takes precedence.
    """
    layouts, failures = Layouts(settings.worksheets), list[GatewayError]()
    for name, client in opened.items():
        try:
            return await find_names(GoogleSheets(client.make), layouts, grants, spreadsheet)
        except GatewayError as error:
            context = context_of(settings.google.by_account()[name], client)
            failures.append(error.without_sheet(redacted(refusal_words(error, context)), ()))
    raise next((each for each in failures if not isinstance(each, MISSING)), failures[0])
