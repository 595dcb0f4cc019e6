"""`sheets-gateway check`: find what is wrong with a set-up, and say how to mend it."""

import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from urllib.parse import urlsplit

from gateway.access.pepper import pepper_of
from gateway.commands.doctor.account import Now, check_account
from gateway.commands.doctor.finding import Finding, listed, ok, problem, warning
from gateway.settings.address import is_allowed_endpoint, is_loopback
from gateway.settings.model import AccessSettings, ConfigError, GoogleSettings, Settings
from gateway.settings.plans import missing_limits
from gateway.storage.key_store import KeyRecord, KeyStore
from gateway.telemetry.redaction import redacted


async def check_setup(
    settings: Settings, spreadsheet: str | None, *, now: Now = time.time
) -> AsyncIterator[Finding]:
    """Look at the settings, the key store, the account and a spreadsheet if named. 0-2 reads.

    `now` gives seconds since the epoch, which are compared with Google's.
    """
    for finding in check_settings(settings):
        yield finding
    async for finding in _check_keys(settings, spreadsheet):
        yield finding
    async for finding in check_account(settings.google, spreadsheet, now):
        # The words of others are in these; nobody puts a secret there on purpose.
        yield replace(finding, text=redacted(finding.text))


def check_settings(settings: Settings) -> Iterator[Finding]:
    """What is allowed, and yet seldom meant."""
    yield from _check_proxies(settings.access)
    for name, plan in settings.plans.items():
        for missing in missing_limits(plan):
            yield warning(f"plans.{name}: {missing} is 0, which is no limit")
    yield from _check_endpoint(settings.google)
    listen = settings.metrics.listen
    if listen is not None and not is_loopback(listen.host):
        text = f"{listen.host} is not this machine's loopback; who reaches it sees all counts"
        yield warning(f"metrics.listen: {text}")


def _check_proxies(settings: AccessSettings) -> Iterator[Finding]:
    for proxy in settings.trusted_proxies:
        if not isinstance(proxy, str) and proxy.prefixlen == 0:
            yield problem(
                f"access.trusted_proxies: {proxy} is everybody, so every client may give any "
                "address for its own. Name the addresses of your proxies",
            )


def _check_endpoint(settings: GoogleSettings) -> Iterator[Finding]:
    if not is_allowed_endpoint(settings.endpoint, allow_insecure=False):
        yield warning(
            f"google.endpoint: {urlsplit(settings.endpoint).netloc} is neither Google nor this "
            "machine; it sees all rows, and tokens of the account",
        )
    elif settings.allow_insecure_endpoint:
        yield warning(
            "google.allow_insecure_endpoint: the endpoint does not need it; with it a key file "
            "may send tokens anywhere",
        )


async def _check_keys(settings: Settings, spreadsheet: str | None) -> AsyncIterator[Finding]:
    database = settings.access.database
    if not database.exists():
        yield ok(
            f"keys: {database} is not there; sheets-gateway keys create makes it. If there are "
            "keys, correct access.database"
        )
        return
    try:
        async with KeyStore.open(database) as store:
            records = [record for record in await store.list() if record.revoked_at is None]
            await pepper_of(store, settings.access)
    except ConfigError as error:
        for each in error.problems:
            yield problem(each)
        return
    how = "" if records else "; make one: sheets-gateway keys create"
    yield ok(f"keys: {len(records)} not revoked{how}")
    named = sorted({each for record in records for each in record.spreadsheets or ()})
    if named and spreadsheet is None:
        place = f"spreadsheet{'s' if len(named) > 1 else ''} {listed(named)}"
        yield ok(f"keys: they name the {place}; look at one with --spreadsheet {named[0]}")
    for record in records:
        for finding in _check_key(record, settings):
            yield finding


def _check_key(record: KeyRecord, settings: Settings) -> Iterator[Finding]:
    if record.spreadsheets is None:
        yield warning(f"key {record.id} may use every spreadsheet shared with the service account")
    if record.formulas and settings.google.value_input == "user_entered":
        yield warning(f"key {record.id} may write formulas, which reach all of their spreadsheet")
    if record.plan not in settings.plans:
        yield problem(
            f"key {record.id} is on the plan {record.plan}, which is gone. Put "
            f"[plans.{record.plan}] back into the configuration, or revoke the key and make another"
        )
