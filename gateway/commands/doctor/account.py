"""Check of the Google accounts and the Sheets API."""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

import httpx2

from gateway.commands.doctor.context import CheckContext
from gateway.commands.doctor.finding import Finding, ok, problem, warning
from gateway.commands.doctor.metadata import check_metadata
from gateway.commands.doctor.reach import find_cause
from gateway.commands.doctor.refusal import refusal_words
from gateway.commands.doctor.sign_in import SYNCHRONISE, TOLERATED_SECONDS, clock_words
from gateway.commands.doctor.spreadsheet import check_spreadsheet
from gateway.commands.doctor.writing import check_writing
from gateway.errors import GatewayError, SpreadsheetNotFound
from gateway.google.adapter import GoogleSheets
from gateway.google.client import Client, open_accounts
from gateway.google.credentials import check_credentials
from gateway.google.token import TokenSource
from gateway.google.translation import GoogleRefusal
from gateway.settings.address import is_allowed_endpoint
from gateway.settings.model import ConfigError, GoogleSettings

NO_SPREADSHEET = "sheets-gateway-check"
"""An ID of no spreadsheet: a "not found" proves that the API answers."""

Now = Callable[[], float]


class Signed(NamedTuple):
    """An account that Google accepts."""

    name: str
    settings: GoogleSettings
    sheets: GoogleSheets
    context: CheckContext


class NoClient(Exception):
    """No HTTP client can be created in this environment; the text gives the reason."""


# Not the errors' own texts: they may contain a proxy URL with its password.
_ENVIRONMENT: Mapping[type[Exception], str] = {
    ImportError: "the environment names a SOCKS proxy, which is not supported. Set HTTPS_PROXY to "
    "an http:// proxy, and unset ALL_PROXY",
    OSError: "the CA certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read. Correct "
    "or unset the variable",
    ValueError: "the environment names an invalid proxy. Correct HTTPS_PROXY, HTTP_PROXY and "
    "ALL_PROXY to http://HOST:PORT, or unset them",
    httpx2.InvalidURL: "the environment names a proxy whose URL cannot be read. Correct "
    "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY to http://HOST:PORT, or unset them",
}


async def check_accounts(
    settings: GoogleSettings, spreadsheet: str | None, now: Now, *, writes: bool = False
) -> AsyncIterator[Finding]:
    """Sign in as each account, then check the spreadsheet or whether Sheets answers.

    Cost: 0-3 reads, with several accounts 1 more for each; 3 writes more with `writes`.
    """
    accounts = settings.by_account()
    try:
        for account in accounts.values():
            check_credentials(account, os.environ)
        async with opened_accounts(accounts, now) as opened:
            async for finding in _check_opened(accounts, opened, spreadsheet, writes=writes):
                yield finding
    except ConfigError as error:
        for each in error.problems:
            yield problem(each)
    except NoClient as error:
        yield problem(f"network: {error}")


@asynccontextmanager
async def opened_accounts(
    accounts: Mapping[str, GoogleSettings], now: Now
) -> AsyncIterator[Mapping[str, Client]]:
    async with AsyncExitStack() as stack:
        try:
            opened = await stack.enter_async_context(open_accounts(accounts, now=now))
        except tuple(_ENVIRONMENT) as error:
            raise NoClient(
                next(words for kind, words in _ENVIRONMENT.items() if isinstance(error, kind))
            ) from error
        yield opened


async def _check_opened(
    settings: Mapping[str, GoogleSettings],
    opened: Mapping[str, Client],
    spreadsheet: str | None,
    *,
    writes: bool,
) -> AsyncIterator[Finding]:
    accepted: list[Signed] = []
    for name, client in opened.items():
        findings = [finding async for finding in check_sign_in(settings[name], client)]
        for finding in findings:
            yield finding if len(opened) == 1 else _of_account(name, finding)
        if all(finding.level != "problem" for finding in findings):
            context = context_of(settings[name], client.tokens)
            sheets = GoogleSheets(client.make)
            accepted.append(Signed(name, settings[name], sheets, context))
    if spreadsheet is None:
        for each in accepted:
            async for finding in _check_sheets(each.settings, each.sheets, each.context):
                yield finding if len(opened) == 1 else _of_account(each.name, finding)
        return
    if len(opened) > 1:
        reaching = [each for each in accepted if await _reaches(each, spreadsheet)]
        for each in accepted if reaching else ():
            yield _of_account(each.name, _reach(each, spreadsheet, is_reached=each in reaching))
        accepted = reaching or accepted
    if accepted:
        async for finding in _check_spreadsheet(accepted[0], spreadsheet, writes=writes):
            yield finding


async def check_sign_in(settings: GoogleSettings, client: Client) -> AsyncIterator[Finding]:
    try:
        await client.sign_in()
    except GatewayError as error:
        yield problem(f"credentials: {refusal_words(error, context_of(settings, client.tokens))}")
        return
    yield ok(f"credentials: Google accepts {context_of(settings, client.tokens).who}")
    for finding in _check_clock(client.tokens.clock_offset_seconds):
        yield finding


async def _check_spreadsheet(
    signed: Signed, spreadsheet: str, *, writes: bool
) -> AsyncIterator[Finding]:
    can_be_read = True
    async for finding in check_spreadsheet(signed.sheets, spreadsheet, signed.context):
        can_be_read = can_be_read and finding.level != "problem"
        yield finding
    if not can_be_read:
        return
    async for finding in check_metadata(signed.sheets, spreadsheet, signed.context):
        yield finding
    if writes:
        async for finding in check_writing(signed.sheets, spreadsheet, signed.context):
            yield finding


async def _reaches(signed: Signed, spreadsheet: str) -> bool:
    """True if the account reads the spreadsheet. 1 read."""
    try:
        await signed.sheets.list_worksheets(spreadsheet)
    except GatewayError:
        return False
    return True


def _reach(signed: Signed, spreadsheet: str, *, is_reached: bool) -> Finding:
    if is_reached:
        return ok(f"spreadsheet {spreadsheet}: {signed.context.who} reaches it")
    return warning(
        f"spreadsheet {spreadsheet}: share it with {signed.context.who} as Editor for more quota"
    )


def _of_account(name: str, finding: Finding) -> Finding:
    return replace(finding, text=f"account {name}: {finding.text}")


def context_of(settings: GoogleSettings, tokens: TokenSource) -> CheckContext:
    return CheckContext(
        account=tokens.account,
        project=tokens.project,
        key_file=settings.credentials,
        endpoint=settings.endpoint,
    )


def _check_clock(offset_seconds: float | None) -> Iterator[Finding]:
    if abs(offset_seconds or 0.0) > TOLERATED_SECONDS:
        yield warning(
            f"clock: this machine's clock is {clock_words(offset_seconds or 0.0)} Google's; from "
            f"about 5 minutes on, Google refuses the sign-in. {SYNCHRONISE}"
        )


async def _check_sheets(
    settings: GoogleSettings, sheets: GoogleSheets, context: CheckContext
) -> AsyncIterator[Finding]:
    """Any ID shows whether the API is enabled; other endpoints than Google's are not asked."""
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
