"""Operations on API keys for the admin API and the console, as in `sheets-gateway keys`.

Rules
- Requests are checked by the functions of the command line, but with the accounts of the gateway.
  So a check of spreadsheets, worksheets and fields counts against the gateway's quota.
- This process uses a change before it sends the answer.
- Only the answers to a create and to a rotation contain the key itself.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from gateway import errors
from gateway.access import issue
from gateway.access.grant_check import Looked, check_grants, find_names
from gateway.admin.pages import AdminRequest, Json
from gateway.google.sheets import CallContext, in_call_context
from gateway.settings.model import ConfigError
from gateway.storage.damaged_rows import DamagedRow
from gateway.storage.key_store import Grants, KeyEdit, KeyRecord, KeyRequest
from gateway.table.header import opaque_tag
from gateway.web.head import read_condition
from gateway.web.parsing import unstorable
from gateway.worksheets.access import Layouts

MOST_LISTED = 500
"""Maximum number of keys in one answer. Decoding more keys would delay other requests."""
MOST_SKIPPED = 999_999_999
_DIGITS = re.compile("[0-9]{1,9}")
_MOST_LOOKED_AT = 20
"""Maximum number of spreadsheets that one request checks. Each one costs 1 to 3 reads."""
_LOOK_SECONDS = 20.0
_MOST_SECONDS = 9999 * 86_400
"""Maximum seconds that an old secret stays valid, the same as in the command line."""


class KeyBody(issue.KeyFields):
    """JSON body that creates or changes a key. A change keeps the fields that the body lacks."""

    check: bool = True
    """True to check that spreadsheets, worksheets and columns exist."""


class Rotation(msgspec.Struct, forbid_unknown_fields=True):
    overlap_seconds: Annotated[float, msgspec.Meta(ge=0, le=_MOST_SECONDS)] = 86_400


async def list_keys(asked: AdminRequest) -> dict[str, Any]:
    """Return `keys` (the oldest first), IDs of `damaged` keys, and `hasNextPage`, as JSON."""
    now, damaged = asked.now(), list[DamagedRow]()
    found, has_next = await asked.store.page(
        damaged.append,
        skip=number_asked(asked, "skip", 0, most=MOST_SKIPPED),
        limit=number_asked(asked, "limit", MOST_LISTED, most=MOST_LISTED),
        text=asked.asked("find"),
    )
    return {
        "keys": [issue.key_members(record, now) for record in found],
        "damaged": [each.row for each in damaged],
        "hasNextPage": has_next,
    }


def number_asked(asked: AdminRequest, name: str, default: int, *, most: int) -> int:
    """Return a query parameter as a number from 0 to `most`, or `default`. Raises InvalidQuery."""
    text = asked.asked(name)
    if text and not (_DIGITS.fullmatch(text) and int(text) <= most):
        raise errors.InvalidQuery(f"{name} must be a number from 0 to {most}.")
    return int(text) if text else default


async def post_key(asked: AdminRequest) -> Json:
    record, key, warnings = await make_key(asked, asked.members)
    location = {"Location": f"/admin/v1/keys/{record.id}"}
    return _answer(asked, record, 201, location, key=key, warnings=warnings)


async def get_key(asked: AdminRequest) -> Json:
    return _answer(asked, await find_key(asked))


async def patch_key(asked: AdminRequest) -> Json:
    record, condition = await find_key(asked, is_open=True), read_condition(asked.request.head)
    if condition is None:
        raise errors.PreconditionRequired(
            "Send If-Match with the ETag of the key, or 'If-Match: *'."
        )
    if not condition.holds(tag_of(record)):
        raise other_state(asked, record, has_tags=condition.tags != frozenset())
    record, warnings = await change_key(asked, record, asked.members)
    return _answer(asked, record, warnings=warnings)


async def delete_key(asked: AdminRequest) -> dict[str, Any]:
    await revoke_key(asked)
    return {"id": asked.id, "state": "revoked"}


async def post_rotation(asked: AdminRequest) -> Json:
    overlap = msgspec.convert(asked.members, Rotation).overlap_seconds
    record, key = await give_secret(asked, overlap)
    return _answer(asked, record, 201, key=key)


async def delete_rotation(asked: AdminRequest) -> Json:
    return _answer(asked, await end_old_secret(asked))


def _answer(
    asked: AdminRequest,
    record: KeyRecord,
    status: int = 200,
    headers: Mapping[str, str] = MappingProxyType({}),
    **more: object,
) -> Json:
    members = {**issue.key_members(record, asked.now()), **more}
    return Json(content=members, status=status, headers={"ETag": tag_of(record), **headers})


async def find_key(asked: AdminRequest, *, is_open: bool = False) -> KeyRecord:
    """Find the key of the path. Raises RouteNotFound.

    With `is_open`, a revoked key is an error too.
    """
    found = await asked.store.find(asked.id)
    if found is None:
        raise errors.RouteNotFound(
            "There is no key with this ID. Use the ID of a key, not its name."
        )
    if is_open and found.revoked_at:
        raise errors.RouteNotFound(
            "This key is revoked, so it cannot be changed. Create another key if you need one."
        )
    return found


async def make_key(
    asked: AdminRequest, given: Mapping[str, object], key_id: str = ""
) -> tuple[KeyRecord, str, Sequence[str]]:
    """Create a key from members of `KeyBody`. Returns its record, the key itself, and warnings.

    Cost: 1 to 3 reads of Google for each granted spreadsheet. Raises InvalidBody with a problem for
    each invalid member, and IntegrityError if a key with this `key_id` (random if "") exists.
    """
    plans = asked.settings.plans
    with _invalid_members():
        request, unchecked = await _checked(asked, given)
        record, key = await issue.create_key(
            request, **_edit(asked), plans=plans, pepper=asked.pepper, key_id=key_id
        )
    await asked.request.state["reread_keys"]()
    return record, key, [*issue.warnings_of(record, plans), *unchecked]


async def change_key(
    asked: AdminRequest, before: KeyRecord, given: Mapping[str, object]
) -> tuple[KeyRecord, Sequence[str]]:
    """Change a key by members of `KeyBody`. Returns its new record, and warnings.

    Cost: 1 to 3 reads of Google for each granted spreadsheet if granted names change. Raises
    InvalidBody, and PreconditionFailed if another edit changed the key meanwhile.
    """
    plans = asked.settings.plans
    with _invalid_members():
        request, unchecked = await _checked(asked, given, before)
        edit = await issue.update_key(before, request, **_edit(asked), plans=plans)
    record = await find_key(asked, is_open=True)
    if edit is None:
        raise other_state(asked, record)
    await asked.request.state["reread_keys"]()
    return record, [*issue.warnings_of(record, plans, before), *unchecked]


async def give_secret(asked: AdminRequest, overlap_seconds: float) -> tuple[KeyRecord, str]:
    """Give the key a second secret. Returns its record and the new key.

    The old secret stays valid for `overlap_seconds`. Raises InvalidRequest if the key already has
    two valid secrets.
    """
    record, overlap = await find_key(asked, is_open=True), timedelta(seconds=overlap_seconds)
    edit = _edit(asked)
    key = await issue.rotate_key(record, **edit, pepper=asked.pepper, overlap=overlap)
    if key is None:
        raise errors.InvalidRequest(
            "This key already has two valid secrets, the most that a key can have. End the old "
            "secret first, or wait until it ends."
        )
    await asked.request.state["reread_keys"]()
    # The key is not read again: if the store failed now, the secret would be lost.
    return replace(record, last4=key[-4:], old_ends_at=edit["now"] + overlap), key


async def end_old_secret(asked: AdminRequest) -> KeyRecord:
    """End the old secret of the key. Raises RouteNotFound if the key has no old secret."""
    edit = KeyEdit(key_id=asked.id, at=asked.now(), by=asked.author, action="ended")
    if not await asked.store.end_rotation(edit):
        await find_key(asked, is_open=True)
        raise errors.RouteNotFound("This key has no old secret, so there is nothing to end.")
    await asked.request.state["reread_keys"]()
    return await find_key(asked)


async def revoke_key(asked: AdminRequest) -> None:
    """Revoke the key, even if its row is damaged. Raises RouteNotFound."""
    if not await asked.store.revoke(asked.id, asked.now(), by=asked.author):
        await find_key(asked, is_open=True)
    await asked.request.state["reread_keys"]()


def _edit(asked: AdminRequest) -> dict[str, Any]:
    """Return keyword arguments for functions of `issue`: store, author and time of an edit."""
    return {"store": asked.store, "by": asked.author, "now": asked.now()}


def tag_of(record: KeyRecord) -> str:
    """Return the ETag of a key's editable fields. Use and rotation do not change the ETag."""
    state = (record.id, issue.editable(record), record.revoked_at is not None)
    return opaque_tag(msgspec.json.encode(state))


def other_state(
    asked: AdminRequest, record: KeyRecord, *, has_tags: bool = True
) -> errors.PreconditionFailed:
    """Return the error for a key that another edit changed, with the key's current fields.

    `has_tags` is False if the request's `If-Match` contains no ETag that can match.
    """
    existing = issue.key_members(record, asked.now())
    return errors.PreconditionFailed(existing, tag=tag_of(record), has_tags=has_tags, noun="key")


async def _checked(
    asked: AdminRequest, given: Mapping[str, object], before: KeyRecord | None = None
) -> tuple[KeyRequest, Sequence[str]]:
    """Convert members to a request, and check the request. Returns the request, and warnings.

    A warning names a spreadsheet that could not be checked. Raises ConfigError.
    """
    members = {name: each for name, each in given.items() if name != "check"}
    request = issue.request_with(members, before)
    issue.check_request(request, asked.settings.plans, asked.now(), before=before)
    is_same = before is not None and request.grants.names == before.grants.names
    if is_same or not given.get("check", True):
        return request, ()
    looked = await _look(asked, request.grants)
    if looked.problems:
        raise ConfigError(*looked.problems)
    return request, [f"not checked: {each}" for each in looked.unchecked]


@contextmanager
def _invalid_members() -> Iterator[None]:
    """Raise InvalidBody for a ConfigError in the block, with a problem for each invalid member."""
    try:
        yield
    except ConfigError as error:
        found = map(issue.member_of, error.problems)
        raise unstorable([errors.Problem(f"#/{name}", text) for name, text in found]) from error


async def _look(asked: AdminRequest, grants: Grants) -> Looked:
    """Check that the names in the grants exist. Cost: 1 to 3 reads for each spreadsheet."""
    if len(grants.spreadsheets or ()) > _MOST_LOOKED_AT:
        text = (
            f"at most {_MOST_LOOKED_AT} spreadsheets can be checked; save without the check "
            '("check": false)'
        )
        return Looked(problems=[f"--spreadsheet: {text}"])
    sheets, layouts = asked.request.state["sheets"], Layouts(asked.settings.worksheets)
    with in_call_context(CallContext(asked.admin.key_id)):
        names_in = partial(find_names, sheets, layouts, grants)
        return await check_grants(grants, names_in, seconds=_LOOK_SECONDS)
