"""Creation of keys: validate the operator's request, create a key, store its record."""

import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gateway.access.keys import RandomBytes, digest, mint_key, random_digits
from gateway.access.origin import normal_origin
from gateway.settings.model import ConfigError
from gateway.settings.plans import PlanSettings
from gateway.storage.key_store import Grants, KeyRecord, KeyStore
from gateway.table.a1 import is_spreadsheet_id
from gateway.table.texts import composed

ID_PREFIX = "key_"
ID_DIGITS = 8
MAX_NAME_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True)
class KeyRequest:
    """An operator's request, with origins as they were typed; `None` means no expiry."""

    name: str
    plan: str = "paid"
    grants: Grants
    expires_at: datetime | None = None


async def create_key(
    request: KeyRequest,
    *,
    store: KeyStore,
    pepper: bytes,
    plans: Mapping[str, PlanSettings],
    now: datetime,
    random_bytes: RandomBytes = secrets.token_bytes,
) -> tuple[KeyRecord, str]:
    """The stored record and the key, which is stored nowhere.

    Raises `ConfigError` with all problems of the request; nothing is stored then.
    """
    problems = list(_problems(request, plans, now))
    if problems:
        raise ConfigError(problems)
    key, origins = mint_key(random_bytes), map(normal_origin, request.grants.origins)
    record = KeyRecord(
        id=ID_PREFIX + random_digits(ID_DIGITS, random_bytes),
        name=request.name,
        last4=key[-4:],
        plan=request.plan,
        grants=replace(request.grants, origins=frozenset(filter(None, origins))),
        created_at=now.astimezone(UTC),
        expires_at=request.expires_at and request.expires_at.astimezone(UTC),
    )
    await store.add(record, digest(key, pepper))
    return record, key


def _problems(
    request: KeyRequest, plans: Mapping[str, PlanSettings], now: datetime
) -> Iterator[str]:
    yield from _name_problems(request.name)
    yield from _plan_problems(request.plan, plans)
    yield from _spreadsheet_problems(request.grants.spreadsheets)
    yield from _worksheet_problems(request.grants.worksheets)
    yield from _column_problems(request.grants)
    if request.grants.may_delete and request.grants.read_only:
        yield "--delete: a key that is --read-only deletes nothing"
    yield from _origin_problems(request.grants.origins)
    yield from _expiry_problems(request.expires_at, now)


def _name_problems(name: str) -> Iterator[str]:
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        yield f"--name: must be 1 to {MAX_NAME_CHARACTERS} printable characters"


def _plan_problems(plan: str, plans: Collection[str]) -> Iterator[str]:
    if plan not in plans:
        yield f"--plan: {plan!r} is not configured; there are {', '.join(sorted(plans))}"


def _spreadsheet_problems(spreadsheets: frozenset[str] | None) -> Iterator[str]:
    if spreadsheets is not None and not spreadsheets:
        yield "--spreadsheet: name at least one, or ask for any explicitly"
    for spreadsheet in sorted(spreadsheets or ()):
        if not is_spreadsheet_id(spreadsheet):
            yield (
                f"--spreadsheet: {spreadsheet!r} is not an id; take the part of the spreadsheet's "
                "URL between /d/ and /edit"
            )


def _worksheet_problems(worksheets: frozenset[str] | None) -> Iterator[str]:
    if worksheets is not None and not worksheets:
        yield "--worksheet: name at least one, or leave them out for all"
    for title in sorted(worksheets or ()):
        if not title or not _is_encodable(title):
            yield f"--worksheet: {title!r} cannot be the name of a worksheet"


def _column_problems(grants: Grants) -> Iterator[str]:
    columns = grants.columns
    for option, names in (
        ("--column", columns.readable),
        ("--writable-column", columns.writable),
    ):
        if names is not None and not names:
            yield f"{option}: name at least one, or leave them out for all"
        for name in sorted(names or ()):
            if not name.strip() or not _is_encodable(name):
                yield f"{option}: {name!r} cannot be the name of a field"
    if columns.writable and grants.read_only:
        yield "--writable-column: a key that is --read-only writes none"
    if columns.readable is not None:
        seen = {*map(composed, columns.readable)}
        for name in sorted(columns.writable or ()):
            if composed(name) not in seen:
                yield f"--writable-column: {name!r} is not among --column; what is written is seen"


def _origin_problems(origins: frozenset[str]) -> Iterator[str]:
    for origin in sorted(origins):
        if normal_origin(origin) is None:
            yield f"--origin: {origin!r} is not scheme://host[:port], as in https://example.org"


def _expiry_problems(expires_at: datetime | None, now: datetime) -> Iterator[str]:
    if expires_at is None:
        return
    if expires_at.tzinfo is None:
        yield "--expires: has no time zone"
    elif expires_at <= now:
        yield "--expires: lies in the past"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
