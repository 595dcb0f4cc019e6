"""Console pages of rows as a key sees them: a table with filter and order, and the form of a row.

Rules
- A page depends only on its URL: the API's query parameters, the key and the worksheet.
- A form sends two texts for each field: the text that the page was rendered with, and the text when
  the user sent the form. The gateway writes only fields whose texts differ, with the row's ETag in
  If-Match. So a browser that normalises an unusual text changes no cell.
- The value of a cell decides which HTML input its field has. Only for an empty cell, the type of
  the column decides. So no input drops a text that it cannot show.
- If another client changed the row meanwhile, the form shows the current row, and keeps the texts
  that the user typed.
"""

import json
import re
import secrets
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from gateway.access.caller import Caller
from gateway.admin.pages import AdminRequest, Page, Redirect, Reply, message_of, moment, url
from gateway.admin.snippets import object_in, snippets
from gateway.errors import GatewayError, InvalidBody, PreconditionFailed, RouteNotFound
from gateway.storage.key_store import KeyRecord
from gateway.table.header import ROW_INDEX
from gateway.table.quoting import quoted

PAGE_ROWS = 50
_VIEW = ("key", "spreadsheet", "sheet", "where", "order", "cursor")
_CONDITIONS: Mapping[str, str] = {
    "$eq": "is",
    "$ne": "is not",
    "$gte": "at least",
    "$gt": "more than",
    "$lte": "at most",
    "$lt": "less than",
    "$text": "contains",
    "filled": "is filled",
    "empty": "is empty",
}
_NO_OPERAND: Mapping[str, object] = {"filled": {"$exists": True}, "empty": {"$exists": False}}
_DONE = ("created", "saved", "deleted")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,308})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_ZEROS = re.compile(r"^\+?(-?)0*(?=[0-9])")
_FORMS: Mapping[str, re.Pattern[str]] = {
    "number": _NUMBER,
    "boolean": re.compile("TRUE|FALSE"),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "date-time": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{5,8}(?:\.[0-9]{1,3})?"),
    "time": re.compile(r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,3})?)?"),
}
_INPUTS: Mapping[str, str] = {"date-time": "datetime-local", "boolean": "checkbox"}
_LONG = 60
"""Maximum number of characters of a text in an input of one line."""


@dataclass(frozen=True, kw_only=True)
class _View:
    """Worksheet of a page, and the caller, or None if no key can be used.

    `sheet` is the worksheet's item in the answer to `GET /v2/sheets`, or {} without a worksheet.
    """

    asked: AdminRequest
    keys: Sequence[KeyRecord]
    key_id: str
    caller: Caller | None
    spreadsheet: str
    sheets: Sequence[Mapping[str, Any]]
    sheet: Mapping[str, Any]
    problem: str = ""
    status: int = 200

    @property
    def parameters(self) -> dict[str, str]:
        """Query parameters of the page's URL, with the chosen key, spreadsheet and worksheet."""
        given = {name: self.asked.asked(name) for name in _VIEW}
        title = self.sheet.get("name", "")
        return {**given, "key": self.key_id, "spreadsheet": self.spreadsheet, "sheet": title}

    def check(self) -> Caller:
        """Return the caller. Raises RouteNotFound if the page has no caller or no worksheet."""
        if self.caller is None or not self.sheet:
            raise RouteNotFound(self.problem or "This worksheet does not exist. Open Data again.")
        return self.caller

    def run(self, method: str, *path: str, **more: Any) -> Awaitable[Reply]:
        """Run an API request to the worksheet as the caller. Raises GatewayError."""
        caller, title, spreadsheet = self.check(), self.sheet["name"], self.spreadsheet
        return self.asked.run(caller, method, title, *path, spreadsheet=spreadsheet, **more)

    def url(self, path: str = "/data", **changed: object) -> str:
        """Return the URL of the page with changed query parameters. None removes a parameter."""
        return url(path, **{**self.parameters, **changed})

    def values(self) -> dict[str, object]:
        """Return template values for the choice of key, spreadsheet and worksheet."""
        granted = () if self.caller is None else self.caller.key.grants.spreadsheets
        return {
            "view": self.parameters,
            "keys": self.keys,
            "spreadsheets": None if granted is None else sorted(granted),
            "tabs": [
                {**each, "url": self.url(sheet=each["name"], where=None, order=None, cursor=None)}
                for each in self.sheets
            ],
            "sheet": self.sheet,
            "problem": self.problem,
        }


async def _view(asked: AdminRequest) -> _View:
    """Find the key, spreadsheet and worksheet that the URL names, or by default the first ones.

    Cost: 2 reads of Google, at most once a minute for each spreadsheet. Raises RouteNotFound if the
    key is not active.
    """
    keys, key_id = [*await asked.keys()], asked.asked("key")
    record = next((each for each in keys if each.id == key_id or not key_id), None)
    if record is None and key_id:
        record = await asked.store.find(key_id)
        if record is None:
            raise RouteNotFound("There is no key with this ID. Open Data again.")
        if (state := record.state(asked.now())) != "active":
            raise RouteNotFound(
                f"The key {quoted(record.name)} is {state}, so it sees no rows. Open Data again, "
                "and choose another key."
            )
        keys.append(record)
    granted = record.grants.spreadsheets if record else None
    spreadsheet = asked.asked("spreadsheet") or min(granted or ("",))
    sheets: Sequence[Mapping[str, Any]] = ()
    caller, problem, status = None, "", 200
    if record is not None:
        try:
            caller = asked.caller(record)
            if spreadsheet:
                listed = await asked.run(caller, "GET", spreadsheet=spreadsheet)
                sheets = listed.body["sheets"]
        except GatewayError as error:
            problem, status = message_of(error), error.status
            asked.request.event.code = error.code
    title = asked.asked("sheet")
    sheet = next((each for each in sheets if each["name"] == title or not title), None)
    if sheet is None and title and caller is not None and not problem:
        problem = (
            "This key can see no worksheet with this name. A new worksheet appears within a minute."
        )
        status = 404
    return _View(
        asked=asked,
        keys=keys,
        key_id=record.id if record else "",
        caller=caller,
        spreadsheet=spreadsheet,
        sheets=sheets,
        sheet=sheet or {},
        problem=problem,
        status=status,
    )


async def data_page(asked: AdminRequest) -> Page | Redirect:
    """Return the page with rows. Costs the reads of `GET /v2/sheets/{sheetName}` and of `_view`."""
    view = await _view(asked)
    if view.caller is None or not view.sheet:
        values = {**view.values(), "rows": None, "done": ""}
        return Page(template="data.html", status=view.status, values=values)
    if asked.asked("condition") and asked.asked("field"):
        where = _with_condition(view)
        if where is not None:
            return Redirect(view.url(where=where, cursor=None))
    fields = view.sheet["fields"]
    shown = {name: asked.asked(name) for name in ("where", "order")}
    parameters = {
        "limit": str(min(PAGE_ROWS, view.caller.plan.max_limit)),
        "count": "true",
        "cursor": asked.asked("cursor"),
        **{name: text for name, text in shown.items() if text},
    }
    values, status = view.values(), 200
    try:
        reply = await view.run("GET", parameters=parameters)
    except GatewayError as error:
        asked.request.event.code = error.code
        values |= {"problem": message_of(error), "rows": None, "total": None, "next": ""}
        status = error.status
    else:
        body = reply.body
        rows = [
            {
                "number": row[ROW_INDEX],
                "url": view.url("/data/row", row=row[ROW_INDEX]),
                "cells": [row.get(each["name"]) for each in fields],
            }
            for row in body["results"]
        ]
        following = view.url(cursor=body["cursor"]) if body.get("cursor") else ""
        values |= {"rows": rows, "total": body.get("total"), "next": following}
    may_filter = view.caller.plan.where_and_order
    done, row = asked.asked("done"), asked.asked("row")
    values |= {
        "columns": [_column(view, each, may_order=may_filter) for each in fields],
        "conditions": _CONDITIONS,
        "may_filter": may_filter,
        "first": view.url(cursor=None) if asked.asked("cursor") else "",
        "clear": view.url(where=None, cursor=None),
        "new": view.url("/data/row"),
        "done": f"Row {row} {done}." if done in _DONE and row.isdecimal() else "",
        "snippets": snippets(asked.api_url, view.spreadsheet, view.sheet["name"], shown),
    }
    return Page(template="data.html", status=status, values=values)


def _column(view: _View, field: Mapping[str, str], *, may_order: bool) -> Mapping[str, object]:
    """Return template values of a column's header, whose link selects the next sort order.

    Without `may_order` the header has no link.
    """
    name, order = field["name"], view.asked.asked("order")
    state = {name: "ascending", f"-{name}": "descending"}.get(order, "")
    following = {"": name, "ascending": f"-{name}", "descending": None}[state]
    # In `order`, a comma separates names, and a minus sign before a name means descending.
    can_sort = "," not in name and not name.startswith("-")
    may_sort = can_sort and may_order
    link = view.url(order=following, cursor=None) if may_sort else ""
    return {**field, "sort": state, "url": link, "is_number": field["type"] == "number"}


def _with_condition(view: _View) -> str | None:
    """Return `where` with the filter form's condition, or None if `where` is not an object."""
    asked = view.asked
    field, condition, text = (asked.asked(each) for each in ("field", "condition", "value"))
    types = {each["name"]: each["type"] for each in view.sheet["fields"]}
    kind = {"number": "number", "boolean": "boolean"}.get(types.get(field, ""), "text")
    operand = _NO_OPERAND.get(condition)
    if operand is None:
        operand = {condition: text if condition == "$text" else _typed(kind, text)}
    added: dict[str, object] = {field: operand}
    known = object_in(asked.asked("where") or "{}")
    if known is None:
        return None
    where = {"$and": [known, added]} if field in known else {**known, **added}
    # UTF-8 cannot encode a lone surrogate, which stays an escape.
    return json.dumps(where, ensure_ascii=False).encode(errors="backslashreplace").decode()


async def row_page(asked: AdminRequest) -> Page:
    """Return the page with the form of a row, or of a new row if the URL has no `row`."""
    view, row = await _view(asked), asked.asked("row")
    record, tag = {}, ""
    if row:
        found = await view.run("GET", row, parameters={"values": "typed"})
        record, tag = found.body, found.headers["etag"]
    return await _row_form(view, row, record, tag)


async def _row_form(
    view: _View,
    row: str,
    record: Mapping[str, object],
    tag: str,
    *,
    error: GatewayError | None = None,
    given: Mapping[str, str] | None = None,
    write_id: str = "",
) -> Page:
    """Return the page with the form of the row number `row` (new: ""), whose ETag is `tag`.

    `given` has texts that the user typed, by field. `write_id` is the beginning of the
    form's Idempotency-Key; "" means a new random one.
    """
    schema = await view.run("GET", "schema")
    values = view.values() | {
        "row": row,
        "tag": tag,
        "write_id": write_id or secrets.token_hex(16),
        "fields": [
            _field(name, each, record.get(name), given or {})
            for name, each in schema.body["properties"].items()
        ],
        "problem": message_of(error) if error else "",
        "is_conflict": isinstance(error, PreconditionFailed),
        "back": view.url(),
        "action": view.url("/data/row", row=row),
        "may_save": ("update" if row else "create") in view.sheet["may"],
        "may_delete": bool(row) and "delete" in view.sheet["may"],
    }
    return Page(template="row.html", status=error.status if error else 200, values=values)


async def save_row(asked: AdminRequest) -> Page | Redirect:
    """Create, update or delete the row of a form. Cost: at most 2 reads, and the write."""
    view = await _view(asked)
    view.check()
    form = dict(asked.form)  # a checked box comes after a hidden field with the same name
    row, tag, write_id = asked.asked("row"), form.get("tag", ""), form.get("write_id", "")
    changes, texts = changed_values(form)
    is_delete = form.get("action") == "delete"
    # A form that is sent twice is one write. With other texts, after "Back", it is another write.
    text = msgspec.json.encode((is_delete, changes))
    write = f"{write_id}-{sha256(text).hexdigest()[:16]}" if write_id else ""
    headers = {"If-Match": tag, "Idempotency-Key": write}
    method = "POST" if not row else "DELETE" if is_delete else "PATCH"
    try:
        if not is_delete and not changes:
            if row:
                return Redirect(view.url())
            raise InvalidBody("A new row needs a value in at least one field.")
        if row and not tag:
            raise InvalidBody("The form lacks the ETag of the row. Open the row again.")
        reply = await view.run(
            method,
            *([row] if row else []),
            parameters={"values": "typed"},
            headers=headers,
            body=None if is_delete else changes,
        )
    except GatewayError as error:
        asked.request.event.code = error.code
        if isinstance(error, PreconditionFailed):
            return await _row_form(view, row, error.existing, error.tag, error=error, given=texts)
        shown = {name[2:]: text for name, text in form.items() if name.startswith("o.")}
        # If the write might have been applied, the next attempt has the same ID.
        same = write_id if error.status >= 500 else ""
        return await _row_form(view, row, shown, tag, error=error, given=texts, write_id=same)
    done = "deleted" if is_delete else "saved" if row else "created"
    number = row or reply.headers.get("location", "").rpartition("/")[2]
    return Redirect(view.url(done=done, row=number))


def _field(
    name: str, schema: Mapping[str, Any], value: object, given: Mapping[str, str]
) -> dict[str, object]:
    """Return template values of a form field. A text that the user typed replaces `value`."""
    column = schema.get("anyOf", [schema])[0]  # as with empty_cell = ""
    types, options = column.get("type", ()), column.get("enum", ())
    kind = column.get("format") or next((each for each in types if each in _FORMS), "text")
    original = _text(value)
    text = given.get(name, original)
    if not original and kind == "boolean":  # an unchecked box would mean FALSE
        options = [True, False]
    for each in (original, text):
        if each and kind in _FORMS and not _FORMS[kind].fullmatch(each):
            kind = "text"
    choices = [_text(each) for each in options if each is not None]
    control = _INPUTS.get(kind, kind)
    if choices:
        control = "select"
    elif kind == "text" and ("\n" in text or "\r" in text or len(text) > _LONG):
        control = "textarea"
    return {
        "name": name,
        "kind": kind,
        "control": control,
        "choices": choices if original in choices or not original else [original, *choices],
        "original": original,
        "text": text,
        "is_changed": name in given and text != original,
        "is_read_only": schema.get("readOnly", False),
        "type": "choice" if options and kind != "boolean" else kind,
    }


def _text(value: object) -> str:
    """Convert a JSON value to the text of an HTML input."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return value if isinstance(value, str) else json.dumps(value)


def changed_values(form: Mapping[str, str]) -> tuple[dict[str, object], dict[str, str]]:
    """Return the JSON values and the texts of the fields that the user changed, by field name.

    `form` has the text of a field as `f.NAME`, its text before the change as `o.NAME`, and its
    kind (see `_typed`) as `k.NAME`.
    """
    values: dict[str, object] = {}
    texts: dict[str, str] = {}
    for key, text in form.items():
        name = key[2:]
        if not key.startswith("f.") or f"o.{name}" not in form:
            continue
        kind, original = form.get(f"k.{name}", "text"), form[f"o.{name}"]
        if moment(kind, text) != moment(kind, original):
            # A number input accepts numbers that JSON does not, such as 007.
            plain = _ZEROS.sub(r"\1", text.strip()) if kind == "number" else text
            values[name], texts[name] = _typed(kind, plain), text
    return values, texts


def _typed(kind: str, text: str) -> object:
    """Convert a text to a JSON value. Returns a text unchanged if it does not fit `kind`.

    `kind` is `number`, `boolean`, `text`, or a date or time format of JSON Schema.
    """
    if kind == "number" and _NUMBER.fullmatch(text.strip()):
        return json.loads(text.strip())
    if kind == "boolean" and text.upper() in ("TRUE", "FALSE"):
        return text.upper() == "TRUE"
    return moment(kind, text)
