"""Check of the Google accounts and the Sheets API."""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from types import MappingProxyType

import httpx2

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
from gateway.google.adapter import GoogleSheets, Send
from gateway.google.client import Client, open_accounts
from gateway.google.credentials import check_credentials
from gateway.google.translation import GoogleRefusal
from gateway.settings.address import is_allowed_endpoint
from gateway.settings.model import ConfigError, GoogleSettings, WorksheetSettings

NO_SPREADSHEET = "sheets-gateway-check"
"""ID that no spreadsheet has: a "not found" proves that the API answers."""

Now = Callable[[], float]

# Not the errors' own texts: they may contain a proxy URL with its password.
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
"""Reasons why no HTTP client can be created in this environment."""


async def check_accounts(
    settings: GoogleSettings,
    spreadsheet: str | None,
    now: Now,
    *,
    writes: bool = False,
    worksheets: Sequence[WorksheetSettings] = (),
    sends: Mapping[str, Send] = MappingProxyType({}),
) -> AsyncIterator[Finding]:
    """Sign in as each account, then check the spreadsheet or whether Sheets answers.

    A running gateway gives `sends`, by account, to make the reads within its quota. Cost: 0-5
    reads, with several accounts 1 more for each; 3 writes more with `writes`.
    """
    accounts = settings.by_account()
    try:
        for account in accounts.values():
            check_credentials(account, os.environ)
        async with opened_accounts(accounts, now) as opened:
            sheets = {
                name: GoogleSheets(sends.get(name, client.make)) for name, client in opened.items()
            }
            async for finding in _check_opened(
                accounts, opened, sheets, spreadsheet, writes=writes, worksheets=worksheets
            ):
                yield finding
    except ConfigError as error:
        for each in error.problems:
            yield problem(each)


@asynccontextmanager
async def opened_accounts(
    accounts: Mapping[str, GoogleSettings], now: Now = time.time
) -> AsyncIterator[Mapping[str, Client]]:
    """Open the accounts as `open_accounts` does. Raises ConfigError for an unfit environment."""
    async with AsyncExitStack() as stack:
        try:
            opened = await stack.enter_async_context(open_accounts(accounts, now=now))
        except tuple(_NO_CLIENT) as error:
            words = next(text for kind, text in _NO_CLIENT.items() if isinstance(error, kind))
            raise ConfigError(f"network: {words}") from error
        yield opened


async def _check_opened(
    settings: Mapping[str, GoogleSettings],
    opened: Mapping[str, Client],
    accounts: Mapping[str, GoogleSheets],
    spreadsheet: str | None,
    *,
    writes: bool,
    worksheets: Sequence[WorksheetSettings],
) -> AsyncIterator[Finding]:
    def of_account(name: str, finding: Finding) -> Finding:
        if len(opened) == 1:
            return finding
        return replace(finding, text=f"account {name}: {finding.text}")

    contexts: dict[str, CheckContext] = {}
    for name, client in opened.items():
        findings = [finding async for finding in check_sign_in(settings[name], client)]
        for finding in findings:
            yield of_account(name, finding)
        if all(finding.level != "problem" for finding in findings):
            contexts[name] = context_of(settings[name], client)
    if spreadsheet is None:
        for name, context in contexts.items():
            async for finding in _check_sheets(settings[name], accounts[name], context):
                yield of_account(name, finding)
        return
    reaching = [*contexts]
    if len(opened) > 1:
        known = {name: await _reaches(accounts[name], spreadsheet) for name in contexts}
        reaching = [name for name in contexts if known[name]]
        for name, context in contexts.items() if reaching else ():
            if known[name] is None:
                found = warning(f"spreadsheet {spreadsheet}: {context.who} could not be checked")
            elif known[name]:
                found = ok(f"spreadsheet {spreadsheet}: {context.who} reaches it")
            else:
                found = warning(
                    f"spreadsheet {spreadsheet}: share it with {context.who} as Editor for more "
                    "quota"
                )
            yield of_account(name, found)
    for name in (reaching or [*contexts])[:1]:
        sheets, context, can_be_read = accounts[name], contexts[name], True
        async for finding in check_spreadsheet(sheets, spreadsheet, context, worksheets):
            can_be_read = can_be_read and finding.level != "problem"
            yield finding
        for check in (check_metadata, *([check_writing] if writes else [])) if can_be_read else ():
            async for finding in check(sheets, spreadsheet, context):
                yield finding


async def check_sign_in(settings: GoogleSettings, client: Client) -> AsyncIterator[Finding]:
    """Check that Google issues a token for an account, and that the clock is right."""
    try:
        await client.sign_in()
    except GatewayError as error:
        yield problem(f"credentials: {refusal_words(error, context_of(settings, client))}")
        return
    yield ok(f"credentials: Google accepts {context_of(settings, client).who}")
    offset_seconds = client.tokens.clock_offset_seconds or 0.0
    if abs(offset_seconds) > TOLERATED_SECONDS:
        yield warning(
            f"clock: this machine's clock is {clock_words(offset_seconds)} Google's; from about 5 "
            f"minutes on, Google refuses the sign-in. {SYNCHRONISE}"
        )


async def _reaches(sheets: GoogleSheets, spreadsheet: str) -> bool | None:
    """True if the account reads the spreadsheet; None if the read failed otherwise. 1 read."""
    try:
        await sheets.list_worksheets(spreadsheet)
    except (SpreadsheetNotFound, SpreadsheetNotShared):
        return False
    except GatewayError:
        return None
    return True


def context_of(settings: GoogleSettings, client: Client) -> CheckContext:
    """Account, endpoint and files of a client; the account is known after its sign-in."""
    return CheckContext(
        account=client.tokens.account,
        project=client.tokens.project,
        key_file=settings.credentials,
        endpoint=settings.endpoint,
    )


async def _check_sheets(
    settings: GoogleSettings, sheets: GoogleSheets, context: CheckContext
) -> AsyncIterator[Finding]:
    """Check with any ID that the API is enabled; only at Google's own endpoint."""
    if not is_allowed_endpoint(settings.endpoint, allow_insecure=False):
        return
    try:
        await sheets.list_worksheets(NO_SPREADSHEET)
    except GatewayError as error:
        refusal = find_cause(error, GoogleRefusal)
        if not isinstance(error, SpreadsheetNotFound) or (refusal and refusal.is_page):
            yield problem(f"Sheets API: {refusal_words(error, context)}")
            return
    yield ok("Sheets API: enabled; check a spreadsheet with --spreadsheet ID")
