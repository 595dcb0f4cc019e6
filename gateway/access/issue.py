"""Creation and edits of API keys: checks of an operator's request, stored with their author."""

import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec

from gateway.access.caller import normal_origin, web_url
from gateway.access.keys import RandomBytes, digest, mint_key, random_digits
from gateway.settings.model import ConfigError, PlanSettings
from gateway.storage.key_store import (
    RIGHTS,
    Grants,
    KeyEdit,
    KeyRecord,
    KeyRequest,
    KeyStore,
    Right,
)
from gateway.table.a1 import id_in, is_spreadsheet_id
from gateway.table.cells import composed, is_encodable
from gateway.table.header import ColumnGrant

ID_PREFIX = "key_"
ID_DIGITS = 8
MAX_NAME_CHARACTERS = 200
_MAX_CHARACTERS = 50_000
"""Maximum number of characters of all names in one list of a key, such as its worksheets."""
_MAX_URL_CHARACTERS = 2000


async def create_key(
    request: KeyRequest,
    *,
    store: KeyStore,
    pepper: bytes,
    plans: Mapping[str, PlanSettings],
    now: datetime,
    random_bytes: RandomBytes = secrets.token_bytes,
    by: str = "",
    key_id: str = "",
) -> tuple[KeyRecord, str]:
    """Create a key. Returns its stored record and the key itself. `by` is the author.

    The ID is random if `key_id` is "". Raises `ConfigError` with all problems of the request, and
    IntegrityError if a key with this ID exists. An error stores nothing.
    """
    check_request(request, plans, now)
    key = mint_key(random_bytes)
    record = KeyRecord(
        **vars(_normal(request)),
        id=key_id or new_id(random_bytes),
        last4=key[-4:],
        created_at=now.astimezone(UTC),
    )
    await store.add(record, digest(key, pepper), by=by)
    return record, key


def new_id(random_bytes: RandomBytes = secrets.token_bytes) -> str:
    return ID_PREFIX + random_digits(ID_DIGITS, random_bytes)


def check_request(
    request: KeyRequest,
    plans: Mapping[str, PlanSettings],
    now: datetime,
    *,
    before: KeyRecord | None = None,
) -> None:
    """Raise `ConfigError` with all problems of a request.

    `before` is the key to change, or None for a new key. An unchanged expiry can be in the past.
    """
    if before is not None and request.expires_at == before.expires_at:
        request = replace(request, expires_at=None)
    problems = list(_problems(request, plans, now))
    if problems:
        raise ConfigError(*problems)


async def update_key(
    before: KeyRecord,
    request: KeyRequest,
    *,
    store: KeyStore,
    plans: Mapping[str, PlanSettings],
    now: datetime,
    by: str = "",
) -> KeyEdit | None:
    """Change the name, plan, grants and expiry of a key. Returns the stored edit.

    Returns None if another edit changed one of these fields, or revoked the key, after `before` was
    read. Raises `ConfigError` as `check_request` does.
    """
    check_request(request, plans, now, before=before)
    after = replace(before, **vars(_normal(request)))
    old, new = editable(before), editable(after)
    changes = {name: (old[name], value) for name, value in new.items() if value != old[name]}
    edit = KeyEdit(key_id=before.id, at=now, by=by, action="updated", changes=changes)
    return edit if not changes or await store.update(before, after, edit) else None


async def rotate_key(
    record: KeyRecord,
    *,
    store: KeyStore,
    pepper: bytes,
    overlap: timedelta,
    now: datetime,
    by: str = "",
) -> str | None:
    """Give a key a second secret. The old secret stays valid for `overlap`.

    Returns the new key, or None if the key is revoked or already has two valid secrets.
    """
    key, ends_at = mint_key(), now + overlap
    changes = {"last4": (record.last4, key[-4:]), "oldSecretEndsAt": (None, ends_at.isoformat())}
    edit = KeyEdit(key_id=record.id, at=now, by=by, action="rotated", changes=changes)
    is_done = await store.rotate(edit, digest(key, pepper), key[-4:], ends_at)
    return key if is_done else None


def editable(record: KeyRecord) -> Mapping[str, object]:
    """Return the fields of a key that an operator can change, as members of a JSON object.

    None instead of a list, and empty `origins`, mean no restriction.
    """
    grants = record.grants
    return {
        "name": record.name,
        "plan": record.plan,
        "spreadsheets": _listed(grants.spreadsheets),
        "worksheets": _listed(grants.worksheets),
        "columns": _listed(grants.columns.readable),
        "writableColumns": _listed(grants.columns.writable),
        "may": [*grants.rights],
        "mayRefresh": grants.may_refresh,
        "origins": _listed(grants.origins),
        "next": grants.next_url or None,
        "turnstile": grants.needs_challenge,
        "expiresAt": _moment(record.expires_at),
    }


class KeyFields(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Editable fields of a key, in JSON in camelCase, with the defaults of a new key.

    None instead of a list, and empty `origins`, mean no restriction. `spreadsheets` can contain
    URLs instead of IDs.
    """

    name: str = ""
    plan: str = "paid"
    spreadsheets: frozenset[str] | None = frozenset()
    worksheets: frozenset[str] | None = None
    columns: frozenset[str] | None = None
    writable_columns: frozenset[str] | None = None
    may: frozenset[Right] = frozenset({"read", "create", "update"})
    may_refresh: bool = False
    """True if the key can report changes of worksheets, so that their rows are read again."""
    origins: frozenset[str] = frozenset()
    next: str | None = None
    """URL to which a browser goes after it sent a form."""
    turnstile: bool = False
    """True if forms need a token of Cloudflare Turnstile."""
    expires_at: str | None = None
    """Expiry in ISO 8601. A time without an offset is in UTC."""


def request_with(given: Mapping[str, object], before: KeyRecord | None = None) -> KeyRequest:
    """Create the request for a new key from members of `KeyFields`, or for a change of `before`.

    The members `given` replace fields of `before`. Raises ConfigError for an invalid expiry.
    """
    present = {} if before is None else editable(before)
    fields = msgspec.convert({**present, **given}, KeyFields)
    try:
        ends = datetime.fromisoformat(fields.expires_at) if fields.expires_at else None
        ends = ends and (ends if ends.tzinfo else ends.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ConfigError("--expires: must be a time such as 2099-12-31T18:00:00Z") from error
    sheets = fields.spreadsheets
    if sheets is not None:  # a URL stands for the ID in it
        sheets = frozenset(id_in(each) or each for each in sheets)
    grants = Grants(
        spreadsheets=sheets,
        worksheets=fields.worksheets,
        columns=ColumnGrant(fields.columns, fields.writable_columns),
        may_refresh=fields.may_refresh,
        origins=fields.origins,
        next_url=fields.next or "",
        needs_challenge=fields.turnstile,
        **{f"may_{right}": right in fields.may for right in RIGHTS},
    )
    return KeyRequest(name=fields.name, plan=fields.plan, grants=grants, expires_at=ends)


def member_of(problem: str) -> tuple[str, str]:
    """Split a problem such as `--plan: text` into the name in `editable`, `plan`, and the text."""
    option, _, text = problem.partition(": ")
    return _MEMBERS.get(option, option.removeprefix("--")), text


_MEMBERS = {
    "--spreadsheet": "spreadsheets",
    "--worksheet": "worksheets",
    "--column": "columns",
    "--writable-column": "writableColumns",
    "--origin": "origins",
    "--expires": "expiresAt",
}


def warnings_of(
    key: KeyRequest, plans: Mapping[str, PlanSettings], before: KeyRecord | None = None
) -> Iterator[str]:
    """Yield warnings about the grants of a key.

    `before` is the key before a change: its grant of every spreadsheet is not reported again.
    """
    plan = plans.get(key.plan)
    is_any = key.grants.spreadsheets is None
    if is_any and (before is None or before.grants.spreadsheets is not None):
        yield "this key can use every spreadsheet shared with the account."
    if key.grants.may_delete and plan is not None and not plan.deletes:
        yield f"this key cannot delete rows yet: set plans.{key.plan}.deletes to true."


def key_members(record: KeyRecord, now: datetime) -> Mapping[str, object]:
    """Return a key as a JSON object, without its secret."""
    found, grants = editable(record), record.grants
    return {
        "id": record.id,
        "name": found["name"],
        "last4": record.last4,
        **{name: value for name, value in found.items() if name not in ("name", "expiresAt")},
        "readOnly": grants.rights == ["read"],
        "mayDelete": grants.may_delete,
        "createdAt": _moment(record.created_at),
        "expiresAt": found["expiresAt"],
        "revokedAt": _moment(record.revoked_at),
        "lastUsedAt": _moment(record.last_used_at),
        "oldSecretEndsAt": _moment(record.old_secret_until(now)),
        "state": record.state(now),
    }


def restrictions(record: KeyRecord, now: datetime) -> Iterator[str]:
    """Yield texts about the limits of a key except its rights and plan, and about its old secret.

    Without a text about worksheets, columns, writes or origins, all of them are allowed.
    """
    grants: Grants = record.grants
    named = grants.spreadsheets
    yield "any spreadsheet" if named is None else f"spreadsheets: {', '.join(sorted(named))}"
    for title, names in (
        ("worksheets", grants.worksheets),
        ("columns", grants.columns.readable),
        ("writes", grants.columns.writable),
    ):
        if names is not None:  # as JSON, because names can contain blanks, commas and line breaks
            texts = (json.dumps(name, ensure_ascii=False) for name in sorted(names))
            yield f"{title}: {', '.join(texts)}"
    if grants.origins:
        yield f"origins: {', '.join(sorted(grants.origins))}"
    if grants.next_url:
        yield f"forms go to {grants.next_url}"
    if grants.needs_challenge:
        yield "Turnstile"
    if until := record.old_secret_until(now):
        yield f"old secret until {until:%Y-%m-%d %H:%M}"


def _moment(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()


def _listed(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _normal(request: KeyRequest) -> KeyRequest:
    """Return a request as it is stored: with normal URLs, and its expiry in UTC."""
    grants, ends = request.grants, request.expires_at
    origins, following = map(normal_origin, grants.origins), web_url(grants.next_url)
    next_url = "" if following is None else following[1]
    grants = replace(grants, origins=frozenset(filter(None, origins)), next_url=next_url)
    return replace(request, grants=grants, expires_at=ends and ends.astimezone(UTC))


def _problems(
    request: KeyRequest, plans: Mapping[str, PlanSettings], now: datetime
) -> Iterator[str]:
    name, grants, columns = request.name, request.grants, request.grants.columns
    too_long = [
        f"{option}: must have at most {most} characters in total"
        for option, texts, most in (
            ("--plan", (request.plan,), MAX_NAME_CHARACTERS),
            ("--spreadsheet", grants.spreadsheets, _MAX_CHARACTERS),
            ("--worksheet", grants.worksheets, _MAX_CHARACTERS),
            ("--column", columns.readable, _MAX_CHARACTERS),
            ("--writable-column", columns.writable, _MAX_CHARACTERS),
            ("--origin", grants.origins, _MAX_CHARACTERS),
            ("--next", (grants.next_url,), _MAX_URL_CHARACTERS),
        )
        if sum(map(len, texts or ())) > most
    ]
    if too_long:
        yield from too_long
        return
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        yield f"--name: must be 1 to {MAX_NAME_CHARACTERS} printable characters"
    if request.plan not in plans:
        yield f"--plan: {request.plan!r} is not configured; there are {', '.join(sorted(plans))}"
    if grants.spreadsheets is not None and not grants.spreadsheets:
        yield "--spreadsheet: name at least one, or allow every spreadsheet"
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
            if is_blank or not is_encodable(each):
                yield f"{option}: {each!r} cannot be the name of a {noun}"
    yield from _right_problems(grants)
    for origin in sorted(grants.origins):
        if normal_origin(origin) is None:
            yield f"--origin: {origin!r} is not scheme://host[:port], as in https://example.org"
    if grants.next_url and web_url(grants.next_url) is None:
        yield (
            f"--next: {grants.next_url!r} is not an absolute URL, as in "
            "https://example.org/thanks; percent-encode characters outside ASCII"
        )
    expires_at = request.expires_at
    if expires_at is not None and expires_at.tzinfo is None:
        yield "--expires: must have a time zone, as in 2099-12-31T18:00:00Z"
    elif expires_at is not None and expires_at <= now:
        yield "--expires: must be in the future"


def _right_problems(grants: Grants) -> Iterator[str]:
    """Yield problems of rights that do not fit each other or other fields."""
    columns = grants.columns
    may_write = grants.may_create or grants.may_update
    if not (grants.may_read or may_write or grants.may_delete):
        yield "--may: name at least one of read, create, update, delete"
    elif not grants.may_read and (grants.may_update or grants.may_delete or grants.may_refresh):
        yield '--may: a key without read can only create; add "read", or name "create" alone'
    for option, given in (("--next", grants.next_url), ("--turnstile", grants.needs_challenge)):
        if given and grants.may_read:
            yield (
                f"{option}: only for forms, whose key can only create; omit it, or allow create "
                "alone"
            )
    if columns.writable and not may_write:
        yield "--writable-column: a read-only key cannot write fields"
    if columns.readable is not None:
        seen = {*map(composed, columns.readable)}
        for name in sorted(columns.writable or ()):
            if composed(name) not in seen:
                yield f"--writable-column: {name!r} is not among the columns; add it to the columns"
