"""Row operations of the document, limited to those of the key."""

from collections.abc import Iterator, Mapping

from gateway.web.media_types import FORM
from gateway.web.openapi.error_answers import error_references
from gateway.web.openapi.failures import WRITES, Kind
from gateway.web.openapi.headers import OF_CREATES, OF_READS, OF_UPDATES, header_references
from gateway.web.openapi.node import Node, json_content, schema_reference
from gateway.web.openapi.parameters import (
    create_parameters,
    list_parameters,
    path_parameters,
    read_parameters,
    update_parameters,
)
from gateway.web.openapi.place import Place, writes_to
from gateway.web.openapi.reach import Reach
from gateway.web.openapi.row_schemas import (
    create_body,
    create_example,
    created_schema,
    form_body,
    page_schema,
    update_example,
)
from gateway.web.openapi.security import security

ANY_TAG = "Rows"

_UPDATES: Mapping[str, str] = {"post": "update", "put": "put", "patch": "patch"}
"""Methods of the same operation, and the prefixes of their names."""


def paths_of(place: Place, reach: Reach) -> Iterator[tuple[str, Node]]:
    """The two paths of a place: its rows, and one row."""
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
    yield place.path, rows
    yield f"{place.path}/{{rowIndex}}", row


def _list(place: Place, reach: Reach) -> Node:
    return {
        "operationId": f"list{place.stem or 'Rows'}",
        "summary": f"List rows{_of(place)}",
        "description": "Rows in the order of the worksheet, or as `order` says, page by page.",
        **_common(place, "list"),
        "parameters": list_parameters(place, reach),
        "responses": {
            "200": _answer("The rows.", OF_READS, page_schema(place)),
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
    told = "The new row, or the new rows in their order."
    return {
        "operationId": f"create{place.stem or 'Rows'}",
        "summary": f"Create rows{_of(place)}",
        "description": (
            "Appends a row after the last one, or several at once, all or none: send an object, a "
            "list of objects, or a form."
        ),
        **_common(place, "create"),
        "parameters": create_parameters(),
        "requestBody": _body(create_body(place), create_example(place), place),
        "responses": {
            "201": _answer(told, _of_write(OF_CREATES, reach), created_schema(place)),
            **error_references("create"),
        },
    }


def _update(place: Place, reach: Reach) -> Node:
    return {
        "summary": f"Update a row{_of(place)}",
        "description": (
            "Writes the fields that are sent; all others stay. A text that its cell displays "
            "already is not written, so that a row can be sent back as it was read. POST, PUT and "
            "PATCH do the same."
        ),
        **_common(place, "update"),
        "parameters": update_parameters(),
        "requestBody": _body(schema_reference(f"{place.stem}Fields"), update_example(place), place),
        "responses": {
            "200": _answer(
                "The fields that were sent, as they are displayed now.",
                _of_write(OF_UPDATES, reach),
                _row(place),
            ),
            **error_references("update"),
        },
    }


def _common(place: Place, kind: Kind) -> Node:
    return {"tags": [place.title or ANY_TAG], "security": security(is_write=kind in WRITES)}


def _body(schema: Node, example: Node, place: Place) -> Node:
    return {
        "required": True,
        "content": {**json_content(schema, example=example), FORM: {"schema": form_body(place)}},
    }


def _answer(told: str, headers: tuple[str, ...], schema: Node) -> Node:
    return {
        "description": told,
        "headers": header_references(headers),
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


_UNCHANGED: Node = {
    "description": "Nothing has changed since the answer that `If-None-Match` names; no body.",
    "headers": header_references(OF_READS),
}
