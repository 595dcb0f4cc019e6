"""Creation of keys: validate the operator's request, create a key, store its record."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gateway.access.caller import normal_origin
from gateway.access.keys import RandomBytes, digest, mint_key, random_digits
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
        raise ConfigError(*problems)
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
    name, grants, columns = request.name, request.grants, request.grants.columns
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        yield f"--name: must be 1 to {MAX_NAME_CHARACTERS} printable characters"
    if request.plan not in plans:
        yield f"--plan: {request.plan!r} is not configured; there are {', '.join(sorted(plans))}"
    if grants.spreadsheets is not None and not grants.spreadsheets:
        yield "--spreadsheet: name at least one, or ask for any explicitly"
    for spreadsheet in sorted(grants.spreadsheets or ()):
        if not is_spreadsheet_id(spreadsheet):
            yield (
                f"--spreadsheet: {spreadsheet!r} is not an id; take the part of the spreadsheet's "
                "URL between /d/ and /edit"
            )
    for option, names, noun in (
        ("--worksheet", grants.worksheets, "worksheet"),
        ("--column", columns.readable, "field"),
        ("--writable-column", columns.writable, "field"),
    ):
        if names is not None and not names:
            yield f"{option}: name at least one, or leave them out for all"
        for each in sorted(names or ()):
            is_blank = not each or (noun == "field" and each.isspace())
            if is_blank or not _is_encodable(each):
                yield f"{option}: {each!r} cannot be the name of a {noun}"
    yield from _right_problems(grants)
    for origin in sorted(grants.origins):
        if normal_origin(origin) is None:
            yield f"--origin: {origin!r} is not scheme://host[:port], as in https://example.org"
    expires_at = request.expires_at
    if expires_at is not None and expires_at.tzinfo is None:
        yield "--expires: has no time zone"
    elif expires_at is not None and expires_at <= now:
        yield "--expires: lies in the past"


def _right_problems(grants: Grants) -> Iterator[str]:
    """Problems of rights that exclude or need each other."""
    columns = grants.columns
    if columns.writable and grants.read_only:
        yield "--writable-column: a key that is --read-only writes none"
    if columns.readable is not None:
        seen = {*map(composed, columns.readable)}
        for name in sorted(columns.writable or ()):
            if composed(name) not in seen:
                yield f"--writable-column: {name!r} is not among --column; what is written is seen"
    if grants.may_delete and grants.read_only:
        yield "--delete: a key that is --read-only deletes nothing"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
