"""Check of the Google account and the Sheets API."""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import httpx2

from gateway.commands.doctor.context import CheckContext
from gateway.commands.doctor.finding import Finding, ok, problem, warning
from gateway.commands.doctor.reach import find_cause
from gateway.commands.doctor.refusal import refusal_words
from gateway.commands.doctor.sign_in import SYNCHRONISE, TOLERATED_SECONDS, clock_words
from gateway.commands.doctor.spreadsheet import check_spreadsheet
from gateway.commands.doctor.writing import check_writing
from gateway.errors import GatewayError, SpreadsheetNotFound
from gateway.google.adapter import GoogleSheets, open_google
from gateway.google.credentials import check_credentials
from gateway.google.token import TokenSource
from gateway.google.translation import GoogleRefusal
from gateway.settings.address import is_allowed_endpoint
from gateway.settings.model import ConfigError, GoogleSettings

NO_SPREADSHEET = "sheets-gateway-check"
"""An ID of no spreadsheet: a "not found" proves that the API answers."""

Now = Callable[[], float]


class _NoClient(Exception):
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


async def check_account(
    settings: GoogleSettings, spreadsheet: str | None, now: Now, *, writes: bool = False
) -> AsyncIterator[Finding]:
    """Sign in, then check the spreadsheet or whether Sheets answers.

    Cost: 0-2 reads; 3 writes more with `writes`.
    """
    try:
        check_credentials(settings, os.environ)
        async with _opened(settings, now) as sheets:
            async for finding in _check_signed_in(settings, sheets, spreadsheet, writes=writes):
                yield finding
    except ConfigError as error:
        for each in error.problems:
            yield problem(each)
    except _NoClient as error:
        yield problem(f"network: {error}")


@asynccontextmanager
async def _opened(settings: GoogleSettings, now: Now) -> AsyncIterator[GoogleSheets]:
    async with AsyncExitStack() as stack:
        try:
            sheets = await stack.enter_async_context(open_google(settings, now=now))
        except tuple(_ENVIRONMENT) as error:
            raise _NoClient(
                next(words for kind, words in _ENVIRONMENT.items() if isinstance(error, kind))
            ) from error
        yield sheets


async def _check_signed_in(
    settings: GoogleSettings, sheets: GoogleSheets, spreadsheet: str | None, *, writes: bool
) -> AsyncIterator[Finding]:
    try:
        await sheets.sign_in()
    except GatewayError as error:
        yield problem(f"credentials: {refusal_words(error, _context(settings, sheets.tokens))}")
        return
    context = _context(settings, sheets.tokens)
    yield ok(f"credentials: Google accepts {context.who}")
    for finding in _check_clock(sheets.tokens.clock_offset_seconds):
        yield finding
    looks = (
        check_spreadsheet(sheets, spreadsheet, context)
        if spreadsheet is not None
        else _check_sheets(settings, sheets, context)
    )
    can_be_read = True
    async for finding in looks:
        can_be_read = can_be_read and finding.level != "problem"
        yield finding
    if writes and spreadsheet is not None and can_be_read:
        async for finding in check_writing(sheets, spreadsheet, context):
            yield finding


def _context(settings: GoogleSettings, tokens: TokenSource) -> CheckContext:
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
