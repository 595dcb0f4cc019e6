"""Console pages of API keys: the list, and forms to create, change, rotate and revoke a key.

Rules
- A page shows a key once, in the answer to the form that created the key. No URL contains a key,
  and `Cache-Control: no-store` keeps the page out of the browser's history.
- The form of a new key contains the ID of the key. So a form that is sent twice creates one key.
- A form contains a list as text, with one name per line. If the user does not change the text, the
  list stays unchanged, even if a name contains a line break.
- The form that changes a key sends two texts for each field: the text that the page was rendered
  with, and the text when the user sent the form. Only fields whose texts differ are saved.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy.exc import IntegrityError

from gateway.access import issue
from gateway.admin import keys
from gateway.admin.pages import AdminRequest, Page, Redirect, message_of, moment, url
from gateway.admin.snippets import first_request
from gateway.errors import GatewayError, InvalidBody, PreconditionFailed, Problem, RouteNotFound
from gateway.storage.damaged_rows import DamagedRow
from gateway.storage.key_store import RIGHTS, KeyRecord
from gateway.table.quoting import printable

_PAGE_KEYS = 100
_MOST_CHARACTERS = 300
_LISTS = ("spreadsheets", "worksheets", "columns", "writableColumns", "origins")
_ID = re.compile(rf"{issue.ID_PREFIX}[0-9A-Za-z]{{{issue.ID_DIGITS}}}")
_OVERLAPS = {"86400": "in a day", "604800": "in a week", "3600": "in an hour", "0": "now"}
"""Choices for the end of the old secret after a rotation: labels by the number of seconds."""
_USE = timedelta(hours=24)
_PATIENCE_SECONDS = 3.0
_ENDS = {"revoke": keys.revoke_key, "end": keys.end_old_secret}
_DONE = {
    "saved": "Saved. All processes use the change within 5 seconds.",
    "made": "This form has already made this key and shown its secret. If you did not copy the "
    "secret, make another secret below.",
    "rotated": "The key got another secret after you opened its page, so this form made none. If "
    "you do not have that secret, end the old secret when no program uses it, then make another.",
    "end": "The old secret is no longer valid.",
    "revoke": "The key is revoked.",
}


async def keys_page(asked: AdminRequest) -> Page:
    """Return the page with the list of keys: active keys first, then by age, the newest first."""
    now, damaged = asked.now(), list[DamagedRow]()
    skip, text = keys.number_asked(asked, "skip", 0, most=keys.MOST_SKIPPED), asked.asked("find")
    found, has_next = await asked.store.page(
        damaged.append,
        skip=skip,
        limit=_PAGE_KEYS,
        text=text,
        active_first_at=now,
        is_newest_first=True,
    )
    values = {
        "keys": [_shown(record, now) for record in found],
        "active": await asked.store.count(now),
        "damaged": [each.row for each in damaged],
        "find": text,
        "first": url("/keys", find=text) if skip else "",
        "next": url("/keys", find=text, skip=skip + _PAGE_KEYS) if has_next else "",
    }
    return Page(template="keys.html", values=values)


async def new_key_page(asked: AdminRequest) -> Page:
    return await _form(asked, issue.new_id(), _NEW)


async def save_new_key(asked: AdminRequest) -> Page | Redirect:
    """Create a key from a form, and return the page that shows the key.

    Cost: 1 to 3 reads of Google for each granted spreadsheet, and at most 2 reads for the page.
    """
    form = dict(asked.form)
    key_id, texts = form.get("id", ""), _typed(form)
    if _ID.fullmatch(key_id) is None:
        raise InvalidBody("The form lacks the ID of a key. Open the form again.")
    before = Redirect(url(f"/keys/{key_id}", done="made"))
    try:
        if await asked.store.find(key_id) is not None:
            return before
        _check_choice(texts)
        record, secret, warnings = await keys.make_key(asked, _members(texts), key_id)
    except IntegrityError:
        return before
    except GatewayError as error:
        return await _form(asked, key_id, texts, error=error)
    return await _made(asked, record, secret, warnings)


async def key_page(asked: AdminRequest) -> Page:
    record = await keys.find_key(asked)
    return await _form(asked, record.id, _texts(issue.editable(record)), record)


async def save_key(asked: AdminRequest) -> Page | Redirect:
    """Change, rotate or revoke a key, or end its old secret, as `action` in the form says."""
    form, path = dict(asked.form), f"/keys/{asked.id}"
    action = form.get("action", "")
    if action in _ENDS:
        with suppress(RouteNotFound):  # the form was sent before
            await _ENDS[action](asked)
        return Redirect(url(path, done=action))
    record = await keys.find_key(asked, is_open=True)
    if action == "rotate":
        if form.get("last4") != record.last4:
            return Redirect(url(path, done="rotated"))
        if form.get("overlap") not in _OVERLAPS:
            raise InvalidBody(
                "The form does not say when the old secret ends. Open the form again."
            )
        return await _made(asked, *await keys.give_secret(asked, float(form["overlap"])))
    texts, shown = _changed(form, record), _members(_texts(issue.editable(record)))
    try:
        given = {name: each for name, each in _members(texts).items() if each != shown[name]}
        if given and form.get("tag") != keys.tag_of(record):
            raise keys.other_state(asked, record)
        _check_choice(texts)
        record, warnings = await keys.change_key(asked, record, given)
    except GatewayError as error:
        if not isinstance(error, InvalidBody):  # another edit changed or revoked the key
            record = await keys.find_key(asked)
        return await _form(asked, record.id, _changed(form, record), record, error=error)
    if warnings:
        return await _form(asked, record.id, _texts(issue.editable(record)), record, warnings)
    return Redirect(url(path, done="saved"))


async def _form(
    asked: AdminRequest,
    key_id: str,
    texts: Mapping[str, str],
    record: KeyRecord | None = None,
    warnings: Sequence[str] = (),
    *,
    error: GatewayError | None = None,
) -> Page:
    """Return the page with a key's form. `texts` fill the fields; a new key has no `record`.

    The page shows `warnings`, and the problems of `error`, the error of an earlier attempt.
    """
    plans, now = asked.settings.plans, asked.now()
    errors: dict[str, str] = {}
    for each in error.problems if error is not None else ():
        name = each.pointer.removeprefix("#/")
        errors[name] = f"{errors[name]}; {each.detail}" if name in errors else each.detail
    if error is not None:
        asked.request.event.code = error.code
    is_conflict = isinstance(error, PreconditionFailed)
    values: dict[str, object] = {
        "key": None,
        "id": key_id,
        "texts": texts,
        "present": {},
        "originals": {},
        "errors": errors,
        "problem": message_of(error) if error is not None and not errors else "",
        "is_conflict": is_conflict,
        "warnings": warnings,
        "plans": sorted({*plans, texts["plan"]}),
        "rights": RIGHTS,
        "done": _DONE.get("saved" if warnings else asked.asked("done"), ""),
    }
    if record is not None:
        use = await asked.store.usage(["code"], now - _USE, record.id)
        originals = _texts(issue.editable(record))
        present = originals if is_conflict else texts
        values |= {
            "key": _shown(record, now),
            "requests": sum(each["requests"] for each in use),
            "refused": sum(each["refused"] for each in use),
            "old_ends": record.old_secret_until(now),
            "overlaps": _OVERLAPS,
            "originals": originals,
            "present": {name: text for name, text in present.items() if text != texts[name]},
            "warnings": dict.fromkeys([*issue.warnings_of(record, plans), *warnings]),
            "tag": keys.tag_of(record),
        }
    return Page(template="key.html", values=values, status=error.status if error else 200)


async def _made(
    asked: AdminRequest, record: KeyRecord, secret: str, warnings: Sequence[str] = ()
) -> Page:
    """Return the page with a new key, `secret`, and a curl command that tries the key.

    Cost: at most 2 reads of Google.
    """
    grants = record.grants
    spreadsheet, title = min(grants.spreadsheets or ("",)), min(grants.worksheets or ("",))
    if spreadsheet and not title and grants.may_read:
        # The page must reach the browser before its time-out, so this list has a time limit.
        with suppress(GatewayError, TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                caller = asked.caller(record)
                listed = await asked.run(caller, "GET", spreadsheet=spreadsheet)
            title = next((each["name"] for each in listed.body["sheets"]), "")
    curl, blanks = first_request(asked.api_url, secret, grants, title)
    values = {"key": _shown(record, asked.now()), "secret": secret, "warnings": warnings}
    return Page(template="secret.html", values=values | {"curl": curl, "blanks": blanks})


def _texts(members: Mapping[str, Any]) -> dict[str, str]:
    """Convert members of `issue.editable` to texts of form fields. A checkbox is "on" or ""."""
    lists = {name: "\n".join(members[name] or ()) for name in _LISTS}
    boxes = {f"may.{right}": right in members["may"] for right in RIGHTS}
    boxes |= {"any": members["spreadsheets"] is None, "unchecked": False}
    boxes |= {name: members[name] for name in ("mayRefresh", "turnstile")}
    return {
        **{name: members[name] or "" for name in ("name", "plan", "next")},
        # Browsers send these line ends.
        **{name: re.sub("\r\n?", "\n", text) for name, text in lists.items()},
        **{name: "on" if is_set else "" for name, is_set in boxes.items()},
        "expiresAt": (members["expiresAt"] or "")[: len("2099-12-31T18:00:00")],
    }


_NEW = _texts(msgspec.to_builtins(issue.KeyFields()))


def _typed(form: Mapping[str, str]) -> dict[str, str]:
    return {name: form.get(name, "") for name in _NEW}


def _changed(form: Mapping[str, str], record: KeyRecord) -> dict[str, str]:
    """Return the texts of the key's fields, with the texts that the user changed in the form.

    `form` has the text of a field by its name, and its text before the change as `o.NAME`. Browsers
    omit seconds that are zero.
    """
    texts = _texts(issue.editable(record))
    for name, text in _typed(form).items():
        kind = "date-time" if name == "expiresAt" else "text"
        if moment(kind, text) != moment(kind, form.get(f"o.{name}", texts[name])):
            texts[name] = text
    return texts


def _check_choice(texts: Mapping[str, str]) -> None:
    """Raise InvalidBody if the texts name spreadsheets and allow every spreadsheet."""
    if texts["any"] and texts["spreadsheets"].strip():
        detail = "name spreadsheets or allow every spreadsheet, not both"
        raise InvalidBody(detail, problems=[Problem("#/spreadsheets", detail)])


def _members(texts: Mapping[str, str]) -> dict[str, Any]:
    """Convert texts of form fields to members of `issue.KeyFields`."""
    lists = {name: sorted(filter(str.strip, texts[name].split("\n"))) or None for name in _LISTS}
    return {
        **lists,
        "spreadsheets": None if texts["any"] else lists["spreadsheets"] or [],
        "origins": lists["origins"] or [],
        "name": texts["name"],
        "plan": texts["plan"],
        "may": [right for right in RIGHTS if texts[f"may.{right}"]],
        "next": texts["next"] or None,
        "expiresAt": texts["expiresAt"] or None,
        "mayRefresh": bool(texts["mayRefresh"]),
        "turnstile": bool(texts["turnstile"]),
        "check": not texts["unchecked"],
    }


def _shown(record: KeyRecord, now: datetime) -> dict[str, Any]:
    """Return template values of a key. Cuts the text of its grants to `_MOST_CHARACTERS`."""
    limits = "; ".join(issue.restrictions(record, now))
    if len(limits) > _MOST_CHARACTERS:
        limits = f"{limits[:_MOST_CHARACTERS]}…"
    grants, state = record.grants, record.state(now)
    *others, last = grants.rights or ("nothing",)
    return {
        **vars(record),
        "state": state,
        "may": f"{', '.join(others)} and {last}" if others else f"{last} only",
        "limits": printable(limits),
        "created": f"{record.created_at:%Y-%m-%d}",
        "used": f"{record.last_used_at:%Y-%m-%d}" if record.last_used_at else "never",
        "expires": f"{record.expires_at:%Y-%m-%d}" if record.expires_at else "never",
        "data": url("/data", key=record.id) if state == "active" and grants.may_read else "",
    }
