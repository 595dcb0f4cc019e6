"""Row operations of the document, limited to those of the key."""

from collections.abc import Iterator, Mapping

from gateway.access.rates import FRESH_PRICE
from gateway.web.media_types import FORM
from gateway.web.openapi.error_answers import error_references
from gateway.web.openapi.failures import WRITES, OperationKind
from gateway.web.openapi.headers import (
    OF_CREATES,
    OF_MANY,
    OF_READS,
    OF_UPDATES,
    header_references,
)
from gateway.web.openapi.node import Node, json_content, schema_reference
from gateway.web.openapi.parameters import (
    change_parameters,
    create_parameters,
    filter_parameters,
    list_parameters,
    path_parameters,
    read_parameters,
    update_parameters,
)
from gateway.web.openapi.place import Place, writes_to
from gateway.web.openapi.reach import Reach
from gateway.web.openapi.row_schemas import (
    MATCHES,
    change_body,
    change_example,
    changed_schema,
    create_body,
    create_example,
    created_schema,
    update_example,
)
from gateway.web.openapi.security import security
from gateway.web.prefer import PREFERENCE_APPLIED

ANY_TAG = "Rows"

_UPDATES: Mapping[str, str] = {"post": "update", "put": "put", "patch": "patch"}
"""Methods of the same operation, and the prefixes of their names."""


def paths_of(place: Place, reach: Reach) -> Iterator[tuple[str, Node]]:
    """The paths of a place: its rows, one row, and reports of changes."""
    rows: dict[str, object] = {
        "parameters": path_parameters(place, reach, has_row=False),
        "get": _list(place, reach),
    }
    row: dict[str, object] = {
        "parameters": path_parameters(place, reach, has_row=True),
        "get": _read(place),
    }
    if writes_to(place, reach):
        rows["post"] = _create(place, reach)
        update = _update(place, reach)
        row |= {
            method: {**update, "operationId": f"{verb}{_noun(place)}"}
            for method, verb in _UPDATES.items()
        }
        if reach.may_write_many:
            rows["patch"] = _change(place, reach)
    if reach.may_delete:
        row["delete"] = _delete(place)
        if reach.may_write_where:
            rows["delete"] = _delete_where(place)
    yield place.path, rows
    yield f"{place.path}/{{rowIndex}}", row
    if reach.may_refresh:
        parameters = path_parameters(place, reach, has_row=False)
        yield f"{place.path}/refresh", {"parameters": parameters, "post": _refresh(place)}


def _refresh(place: Place) -> Node:
    return {
        "operationId": f"refresh{place.stem or 'Rows'}",
        "summary": f"Report a change{_of(place)}",
        "description": (
            "For a script in the spreadsheet: the next request reads the rows anew. At most one "
            f"report in 2 seconds has an effect at once. It counts as {FRESH_PRICE} requests."
        ),
        **_common(place, "refresh"),
        "responses": {
            "202": {"description": "The next request looks at the sheet."},
            **error_references("refresh"),
        },
    }


def _list(place: Place, reach: Reach) -> Node:
    return {
        "operationId": f"list{place.stem or 'Rows'}",
        "summary": f"List rows{_of(place)}",
        "description": "Rows in the order of the worksheet, or as `order` says, page by page.",
        **_common(place, "list"),
        "parameters": list_parameters(place, reach),
        "responses": {
            "200": _answer("The rows.", OF_READS, schema_reference(f"{place.stem}Page")),
            "304": _UNCHANGED,
            **error_references("list"),
        },
    }


def _read(place: Place) -> Node:
    return {
        "operationId": f"read{_noun(place)}",
        "summary": f"Read a row{_of(place)}",
        **_common(place, "read"),
        "parameters": read_parameters(place),
        "responses": {
            "200": _answer("The row.", OF_READS, _row(place)),
            "304": _UNCHANGED,
            **error_references("read"),
        },
    }


def _create(place: Place, reach: Reach) -> Node:
    # Without the form: openapi-python-client fails at run time if a list is one of several types.
    body = json_content(create_body(place), example=create_example(place))
    told = "The new row, or the new rows in their order."
    upserted = "The rows of an upsert in their order; not all are new."
    upsert = {
        "200": _answer(
            upserted,
            _of_write(OF_MANY, reach),
            schema_reference(f"{place.stem}Upserts"),
            has_preference=True,
        )
    }
    return {
        "operationId": f"create{place.stem or 'Rows'}",
        "summary": f"Create rows{_of(place)}",
        "description": (
            "Appends a row after the last one, or several at once, all or none: send an object, a "
            "list of objects, or a form." + (_UPSERT if reach.may_write_many else "")
        ),
        **_common(place, "create"),
        "parameters": create_parameters(place, reach),
        "requestBody": {"required": True, "content": body},
        "responses": {
            **(upsert if reach.may_write_many else {}),
            "201": _answer(
                told,
                _of_write(OF_CREATES, reach),
                created_schema(place, reach),
                has_preference=reach.may_write_many,
            ),
            **error_references("create"),
        },
    }


def _update(place: Place, reach: Reach) -> Node:
    body = json_content(schema_reference(f"{place.stem}Fields"), example=update_example(place))
    form = {FORM: {"schema": schema_reference(f"{place.stem}Form")}}
    return {
        "summary": f"Update a row{_of(place)}",
        "description": (
            "Writes the fields that are sent; all others stay. A text that its cell displays "
            "already is not written, so that a row can be sent back as it was read. POST, PUT and "
            "PATCH do the same."
        ),
        **_common(place, "update"),
        "parameters": update_parameters(),
        "requestBody": {"required": True, "content": {**body, **form}},
        "responses": {
            "200": _answer(
                "The fields that were sent, as they are displayed now.",
                _of_write(OF_UPDATES, reach),
                _row(place),
            ),
            **error_references("update"),
        },
    }


def _change(place: Place, reach: Reach) -> Node:
    body = json_content(change_body(place, reach), example=change_example(place))
    return {
        "operationId": f"change{place.stem or 'Rows'}",
        "summary": f"Update several rows{_of(place)}",
        "description": (
            "Updates the rows of a list, all or none."
            + (_BY_FILTER if reach.may_write_where else "")
        ),
        **_common(place, "change"),
        "parameters": change_parameters(place, reach),
        "requestBody": {"required": True, "content": body},
        "responses": {
            "200": _answer(
                "The rows of the list in its order, or the numbers of those that matched.",
                _of_write(OF_MANY, reach),
                changed_schema(place, reach),
                has_preference=reach.may_write_where,
            ),
            **error_references("change"),
        },
    }


def _delete(place: Place) -> Node:
    return {
        "operationId": f"delete{_noun(place)}",
        "summary": f"Delete a row{_of(place)}",
        "description": (
            "The rows below move up, so that numbers which you hold mean other rows: send "
            "`If-Match`. Sent again, it deletes the next row, unless it has the same "
            "`Idempotency-Key`. The operator may have rows emptied instead, which keeps numbers."
        ),
        **_common(place, "delete"),
        "parameters": update_parameters(),
        "responses": {
            "204": {"description": "It is gone; no body.", "headers": header_references(OF_MANY)},
            **error_references("delete"),
        },
    }


def _delete_where(place: Place) -> Node:
    return {
        "operationId": f"remove{place.stem or 'Rows'}",
        "summary": f"Delete rows by filter{_of(place)}",
        "description": (
            "Deletes all rows that match, or none. The rows below move up. It counts as "
            f"{FRESH_PRICE} requests."
        ),
        **_common(place, "delete_where"),
        "parameters": filter_parameters(place, is_required=True),
        "responses": {
            "200": _answer(
                "How many rows matched, and which.",
                OF_MANY,
                schema_reference(MATCHES),
                has_preference=True,
            ),
            **error_references("delete_where"),
        },
    }


def _common(place: Place, kind: OperationKind) -> Node:
    return {"tags": [place.title or ANY_TAG], "security": security(is_write=kind in WRITES)}


def _answer(
    told: str, headers: tuple[str, ...], schema: Node, *, has_preference: bool = False
) -> Node:
    preference = {PREFERENCE_APPLIED: _PREFERENCE} if has_preference else {}
    return {
        "description": told,
        "headers": {**header_references(headers), **preference},
        "content": json_content(schema),
    }


def _of_write(headers: tuple[str, ...], reach: Reach) -> tuple[str, ...]:
    return (*headers, "X-Ignored-Fields") if reach.ignores_unknown else headers


def _row(place: Place) -> Node:
    return schema_reference(f"{place.stem}Row")


def _noun(place: Place) -> str:
    return place.stem or "Row"


def _of(place: Place) -> str:
    return "" if place.title is None else f" of {place.title}"


_UPSERT = (
    "\n\nWith `on_conflict` it is an upsert: rows that there are with the same values in these "
    f"fields are updated, the others are created. It counts as {FRESH_PRICE} requests."
)
_BY_FILTER = (
    "\n\nWith `where` it writes the fields of one object to all rows that match, or to none. "
    f"That counts as {FRESH_PRICE} requests."
)
_PREFERENCE: Node = {
    "description": "The preference of the request that had an effect.",
    "schema": {"type": "string"},
}
_UNCHANGED: Node = {
    "description": "Nothing has changed since the answer that `If-None-Match` names; no body.",
    "headers": header_references(OF_READS),
}
