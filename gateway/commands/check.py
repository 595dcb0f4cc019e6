"""The command `sheets-gateway check`: problems of an installation, and their solutions."""

import importlib.util
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError

from gateway.access.pepper import pepper_of
from gateway.commands.doctor.account import Now, check_accounts
from gateway.commands.doctor.reasons import Finding, listed, ok, problem, warning
from gateway.commands.options import unusable_store
from gateway.commands.terminal import waiting
from gateway.google.calls import Send
from gateway.settings.address import is_allowed_endpoint, is_loopback
from gateway.settings.model import NO_REDIS_LIBRARY, ConfigError, Settings, missing_limits
from gateway.storage.database import reason_of
from gateway.storage.key_store import KeyRecord, KeyStore
from gateway.telemetry.redaction import redacted
from gateway.worksheets.access import Layouts


async def check_setup(
    settings: Settings,
    spreadsheet: str | None,
    *,
    writes: bool = False,
    now: Now = time.time,
    sends: Mapping[str, Send] = MappingProxyType({}),
) -> AsyncIterator[Finding]:
    """Check the settings, key store, Redis, Google accounts, and `spreadsheet` unless it is None.

    With `writes`, also creates and deletes metadata in the spreadsheet. `now` returns seconds since
    the Unix epoch, to compare with Google's clock. `sends` has functions that call Google, by
    account name. Cost: at most 6 reads, 1 more for each account if there are several, and 3 writes
    with `writes`.
    """
    for finding in check_settings(settings):
        yield finding
    async for finding in _check_keys(settings, spreadsheet):
        yield finding
    if settings.is_cluster and settings.cluster.redis is not None:
        # The library of Redis is an optional dependency.
        if importlib.util.find_spec("redis") is None:
            yield problem(NO_REDIS_LIBRARY)
        else:
            from gateway.commands.doctor.shared_store import check_redis  # noqa: PLC0415

            url = settings.cluster.redis.get_secret_value()
            with waiting("Waiting for Redis"):
                yield await check_redis(url, Layouts(settings.worksheets))
    with waiting("Waiting for Google"):
        async for found in check_accounts(
            settings, spreadsheet, now=now, writes=writes, sends=sends
        ):
            for finding in found:  # texts from other servers can contain secrets
                yield replace(finding, text=redacted(finding.text))


def check_settings(settings: Settings) -> Iterator[Finding]:
    """Report settings that are valid, but probably a mistake."""
    for proxy in settings.access.trusted_proxies:
        if not isinstance(proxy, str) and proxy.prefixlen == 0:
            yield problem(
                f"access.trusted_proxies: {proxy} includes all clients, so each client can "
                "claim any address. Give the addresses of your proxies only"
            )
    for name, plan in settings.plans.items():
        for missing in missing_limits(plan):
            yield warning(
                f"plans.{name}: {missing} is 0, which means no limit. Set a limit, unless all keys "
                "of the plan are your own"
            )
    google = settings.google
    if not is_allowed_endpoint(google.endpoint, allow_insecure=False):
        yield warning(
            f"google.endpoint: {urlsplit(google.endpoint).netloc} is neither Google nor this "
            "machine; that host gets all rows and the account's tokens. For Google, omit the "
            "setting"
        )
    elif google.allow_insecure_endpoint:
        yield warning(
            "google.allow_insecure_endpoint: the endpoint does not need this setting, which lets a "
            "key file name any server as the receiver of tokens. Remove the setting"
        )
    listen = settings.metrics.listen
    if listen is not None and not is_loopback(listen.host):
        yield warning(
            f"metrics.listen: {listen.host} is not a loopback address; everyone who reaches it "
            "sees all metrics. Listen on 127.0.0.1, unless the network is private"
        )
    if settings.cluster.redis is not None and not settings.is_cluster:
        yield warning(
            "cluster.redis: not used, because access.database is a SQLite file. Several processes "
            "need PostgreSQL; for one process, omit the setting"
        )


async def _check_keys(settings: Settings, spreadsheet: str | None) -> AsyncIterator[Finding]:
    database = settings.access.database
    if isinstance(database, Path) and not database.exists():
        yield ok(
            f"keys: {database.absolute()} does not exist; to create it, run "
            "`sheets-gateway keys create`. If you have keys, correct access.database"
        )
        return
    damaged: list[Exception] = []
    try:
        with waiting("Waiting for the key store"):
            async with KeyStore.open(database) as store:
                found = await store.list(damaged.append)
                await pepper_of(store, settings.access)
        records = [record for record in found if record.revoked_at is None]
    except ConfigError as error:
        for each in error.problems:
            yield problem(each)
        return
    except SQLAlchemyError as error:
        yield problem(unusable_store(reason_of(error)))
        return
    for row in damaged:
        yield problem(f"access.database: {row}")
    how = "" if records else "; create one: sheets-gateway keys create"
    yield ok(f"keys: {len(records)} not revoked{how}")
    named = sorted({each for record in records for each in record.grants.spreadsheets or ()})
    if named and spreadsheet is None:
        place = f"spreadsheet{'s' if len(named) > 1 else ''} {listed(named)}"
        yield ok(f"keys: they have access to {place}; to check one, add --spreadsheet {named[0]}")
    active = [record for record in records if record.is_active(datetime.now(UTC))]
    for record in active:
        for finding in _check_key(record, settings):
            yield finding
    # The limit of forms needs visitors' addresses, unless it is off.
    limit = settings.forms.per_address_per_minute
    has_forms = not all(record.grants.may_read for record in active)
    if has_forms and limit and not settings.access.trusted_proxies:
        yield warning(
            "forms: access.trusted_proxies is empty. Behind a proxy, all visitors together can "
            f"send {limit} forms a minute: set access.trusted_proxies to the proxy's address"
        )


def _check_key(record: KeyRecord, settings: Settings) -> Iterator[Finding]:
    if record.grants.spreadsheets is None:
        yield warning(
            f"key {record.id} can use every spreadsheet shared with the service account. To "
            f"limit it, run: sheets-gateway keys update {record.id} --spreadsheet SPREADSHEET_ID"
        )
        if record.grants.may_delete:
            yield warning(
                f"key {record.id} can delete rows in every spreadsheet. Limit its spreadsheets, or "
                f"remove this right: sheets-gateway keys update {record.id} --may RIGHTS"
            )
    grants = record.grants
    if grants.needs_challenge and settings.turnstile.secret is None:
        yield problem(
            f"key {record.id} needs Turnstile, and turnstile.secret is not set: its forms get 503. "
            "Set turnstile.secret, or update the key with --no-turnstile"
        )
    if not grants.may_read and not grants.origins:
        yield warning(
            f"key {record.id} can only create, and pages of every origin can use it. If a page "
            f"contains it, run: sheets-gateway keys update {record.id} --origin https://YOUR-SITE"
        )
    if record.plan not in settings.plans:
        yield problem(
            f"key {record.id} has the plan {record.plan}, which does not exist. Add "
            f"[plans.{record.plan}] to the configuration, or revoke the key and create another"
        )
