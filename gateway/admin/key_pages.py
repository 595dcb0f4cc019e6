"""Pages of keys: the list, and the forms to make, change, rotate and revoke one.

Rules
- A key is shown once, on the answer to the form that made it. No URL has it, and `no-store` keeps
  it out of the history.
- The form of a new key has the ID of the key, so that sending it again makes no second one.
- A form has texts. A list whose text did not change stays as it is, whatever its names contain.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.exc import IntegrityError

from gateway.access.issue import ID_DIGITS, ID_PREFIX, editable, new_id, warnings_of
from gateway.admin.keys import (
    NEW_KEY,
    Saved,
    change_key,
    end_old_secret,
    find_key,
    give_secret,
    make_key,
    other_state,
    revoke_key,
    tag_of,
)
from gateway.admin.pages import AdminRequest, Page, Redirect, url
from gateway.admin.snippets import first_request
from gateway.errors import GatewayError, InvalidBody, PreconditionFailed, Problem
from gateway.storage.damaged_rows import DamagedRow
from gateway.storage.key_store import RIGHTS, KeyRecord

_LISTS = ("spreadsheets", "worksheets", "columns", "writableColumns", "origins")
_ID = re.compile(rf"{ID_PREFIX}[0-9A-Za-z]{{{ID_DIGITS}}}")
_OVERLAPS = {"86400": "in a day", "604800": "in a week", "3600": "in an hour", "0": "now"}
"""Seconds for which a secret counts after a rotation."""
_USE = timedelta(hours=24)
_DONE = {
    "saved": "Saved. It counts within 5 seconds everywhere.",
    "made": "This form has made this key already, and showed its secret. If you did not copy it, "
    "make another secret below.",
    "rotated": "The form was sent before: no further secret was made.",
    "ended": "The old secret does not count any more.",
    "revoked": "The key is revoked.",
}


async def keys_page(asked: AdminRequest) -> Page:
    """All keys, active ones first, and the newest before others."""
    now, damaged = asked.acting.now(), list[DamagedRow]()
    rows = [_shown(record, now) for record in reversed(await asked.acting.keys(damaged.append))]
    rows.sort(key=lambda row: row["state"] != "active")
    active = sum(row["state"] == "active" for row in rows)
    values = {"keys": rows, "active": active, "damaged": [each.row for each in damaged]}
    return Page(template="keys.html", values=values)


async def new_key_page(asked: AdminRequest) -> Page:
    return _form(asked, new_id(), _texts(NEW_KEY))


async def save_new_key(asked: AdminRequest) -> Page | Redirect:
    """Make a key as its form says. Cost: that of `make_key` and `_made`."""
    form = dict(asked.form)
    key_id, texts = form.get("id", ""), _typed(form)
    if _ID.fullmatch(key_id) is None:
        raise InvalidBody("The form has no ID of a key. Open it again.")
    try:
        saved, secret = await make_key(asked, _members(texts), key_id)
    except IntegrityError:
        return Redirect(url(f"/keys/{key_id}", done="made"))
    except GatewayError as error:
        return _form(asked, key_id, texts, error)
    return await _made(asked, saved, secret)


async def key_page(asked: AdminRequest) -> Page:
    record = await find_key(asked)
    return await _of_key(asked, record, _texts(editable(record)))


async def save_key(asked: AdminRequest) -> Page | Redirect:
    """Change, rotate or revoke a key as its form says."""
    form, path = dict(asked.form), f"/keys/{asked.id}"
    action = form.get("action", "")
    if action == "revoke":
        await revoke_key(asked)
        return Redirect(url(path, done="revoked"))
    if action == "end":
        await end_old_secret(asked)
        return Redirect(url(path, done="ended"))
    record = await find_key(asked, is_open=True)
    if action == "rotate":
        if form.get("last4") != record.last4:
            return Redirect(url(path, done="rotated"))
        if form.get("overlap") not in _OVERLAPS:
            raise InvalidBody("The form does not say when the old secret ends. Open it again.")
        record, secret = await give_secret(asked, float(form["overlap"]))
        return await _made(asked, Saved(record, ()), secret)
    texts, shown = _typed(form), _members(_texts(editable(record)))
    try:
        if form.get("tag") != tag_of(record):
            raise other_state(asked, record)
        given = {name: each for name, each in _members(texts).items() if each != shown[name]}
        saved = await change_key(asked, record, given)
    except GatewayError as error:
        return await _of_key(asked, await find_key(asked), texts, error)
    if saved.warnings:
        return await _of_key(
            asked, saved.record, _texts(editable(saved.record)), warnings=saved.warnings
        )
    return Redirect(url(path, done="saved"))


async def _of_key(
    asked: AdminRequest,
    record: KeyRecord,
    texts: Mapping[str, str],
    error: GatewayError | None = None,
    warnings: Sequence[str] = (),
) -> Page:
    """The page of a key, with these texts in its form."""
    now, plans = asked.acting.now(), asked.settings.plans
    use = await asked.request.state["store"].usage(now - _USE, record.id)
    present = _texts(editable(record))
    is_conflict = isinstance(error, PreconditionFailed)
    facts = {
        "key": _shown(record, now),
        "requests": sum(each.requests for each in use),
        "refused": sum(each.requests for each in use if each.code),
        "old_ends": f"{record.old_ends_at:%Y-%m-%d %H:%M}" if record.has_old_secret(now) else "",
        "overlaps": _OVERLAPS,
        "warnings": dict.fromkeys([*warnings_of(record, plans), *warnings]),
        "present": {
            name: text for name, text in present.items() if is_conflict and text != texts[name]
        },
        "tag": tag_of(record),
        "done": _DONE.get(asked.asked("done"), ""),
    }
    return _form(asked, record.id, texts, error, facts)


def _form(
    asked: AdminRequest,
    key_id: str,
    texts: Mapping[str, str],
    error: GatewayError | None = None,
    facts: Mapping[str, object] | None = None,
) -> Page:
    """The form of a key; of a new one without facts. Errors stand beside the fields."""
    problems = error.problems if error is not None else ()
    errors: dict[str, str] = {}
    for each in problems:
        name = each.pointer.removeprefix("#/")
        errors[name] = f"{errors[name]}; {each.detail}" if name in errors else each.detail
    if error is not None:
        asked.request.event.code = error.code
    nothing: Mapping[str, object] = {"key": None, "present": {}, "warnings": (), "done": ""}
    values = {
        **(facts or nothing),
        "id": key_id,
        "texts": texts,
        "errors": errors,
        "problem": error.message if error is not None and not problems else "",
        "is_conflict": isinstance(error, PreconditionFailed),
        "plans": sorted({*asked.settings.plans, texts["plan"]}),
        "rights": RIGHTS,
    }
    return Page(template="key.html", values=values, status=error.status if error else 200)


async def _made(asked: AdminRequest, saved: Saved, secret: str) -> Page:
    """The page with a secret, and a request with it. Cost: that of the list of worksheets."""
    record, title = saved.record, min(saved.record.grants.worksheets or ("",))
    spreadsheet = min(record.grants.spreadsheets or ("",))
    if spreadsheet and not title and record.grants.may_read:
        try:
            caller = asked.acting.caller(record)
            listed = await asked.acting.run(caller, "GET", spreadsheet=spreadsheet)
            title = next((each["name"] for each in listed.body["sheets"]), "")
        except GatewayError as error:
            asked.request.event.code = error.code
    curl = first_request(asked.api_url, secret, spreadsheet, title, record.grants.may_read)
    shown = _shown(record, asked.acting.now())
    values = {"key": shown, "secret": secret, "curl": curl, "warnings": saved.warnings}
    return Page(template="secret.html", values=values)


def _texts(members: Mapping[str, Any]) -> dict[str, str]:
    """The members of `editable` as the texts of a form; a box is "on" or ""."""
    lists = {name: "\n".join(members[name] or ()) for name in _LISTS}
    boxes = {f"may.{right}": right in members["may"] for right in RIGHTS}
    boxes |= {"any": members["spreadsheets"] is None, "unchecked": False}
    boxes |= {name: members[name] for name in ("mayRefresh", "turnstile")}
    return {
        **{name: members[name] or "" for name in ("name", "plan", "next")},
        # As a browser sends them.
        **{name: re.sub("\r\n?", "\n", text) for name, text in lists.items()},
        **{name: "on" if is_set else "" for name, is_set in boxes.items()},
        "expiresAt": (members["expiresAt"] or "")[: len("2099-12-31T18:00:00")],
    }


def _typed(form: Mapping[str, str]) -> dict[str, str]:
    return {name: form.get(name, "") for name in _texts(NEW_KEY)}


def _members(texts: Mapping[str, str]) -> dict[str, Any]:
    """The members that texts of a form stand for, with the names of `KeyFields`."""
    lists = {name: [*filter(str.strip, texts[name].split("\n"))] or None for name in _LISTS}
    if texts["any"] and lists["spreadsheets"]:
        detail = "name spreadsheets, or allow every one; not both"
        raise InvalidBody(detail, problems=[Problem("#/spreadsheets", detail)])
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
    """A key as pages show it."""
    grants, state = record.grants, record.state(now)
    sheets = grants.spreadsheets
    limits = ["every spreadsheet" if sheets is None else _named("spreadsheet", sheets)]
    for noun, names in (
        ("worksheet", grants.worksheets),
        ("column", grants.columns.readable),
        ("writable column", grants.columns.writable),
        ("origin", grants.origins or None),
    ):
        if names is not None:
            limits.append(_named(noun, names))
    *others, last = grants.rights or ("nothing",)
    return {
        "id": record.id,
        "name": record.name,
        "last4": record.last4,
        "plan": record.plan,
        "state": state,
        "may": f"{', '.join(others)} and {last}" if others else f"{last} only",
        "limits": limits,
        "created": f"{record.created_at:%Y-%m-%d}",
        "used": f"{record.last_used_at:%Y-%m-%d}" if record.last_used_at else "never",
        "expires": f"{record.expires_at:%Y-%m-%d}" if record.expires_at else "never",
        "data": url("/data", key=record.id) if state == "active" and grants.may_read else "",
    }


def _named(noun: str, names: frozenset[str]) -> str:
    """A few names, else their number."""
    shown = ", ".join(sorted(names))
    return f"{noun} {shown}" if len(names) <= 3 and len(shown) <= 60 else f"{len(names)} {noun}s"
