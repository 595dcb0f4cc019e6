"""Assemble the OpenAPI document."""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from gateway.table.header import opaque_tag
from gateway.web.openapi.error_answers import (
    error_examples,
    error_responses,
    error_schemas,
)
from gateway.web.openapi.failures import DELETES, FAILURES, WRITES, OperationKind
from gateway.web.openapi.headers import HEADERS
from gateway.web.openapi.health import (
    HEALTH,
    HEALTH_SCHEMA,
    READINESS,
    READINESS_SCHEMA,
    health_paths,
)
from gateway.web.openapi.health import TAG as HEALTH_TAG
from gateway.web.openapi.node import Node
from gateway.web.openapi.operations import ANY_TAG, paths_of
from gateway.web.openapi.parameters import shared_parameters, spreadsheet_schemas
from gateway.web.openapi.place import ANY_WORKSHEET, Place, places_of
from gateway.web.openapi.query_schemas import query_schemas, shared_query_schemas
from gateway.web.openapi.reach import Reach
from gateway.web.openapi.row_schemas import row_schemas, shared_schemas
from gateway.web.openapi.security import SCHEMES
from gateway.worksheets.answers import Encoded
from gateway.worksheets.catalogue import KEPT_SECONDS, Listed

_KEPT_GENERAL = 16

_ABOUT = (
    "The rows of Google Sheets worksheets as JSON. Each worksheet is a resource, its first row "
    "names the fields, and each row below is a record.\n\n"
    "HEAD works wherever GET does. CORS is open unless the key limits origins. Parameters of other "
    "operations and services are refused, and so are names of fields as parameters; other unknown "
    "parameters are ignored."
)
_OF_ANY = (
    "\n\nThis is the API in general. Ask for this document with a key to see the worksheets that "
    "it may use, each with its fields."
)
_OF_KEY = (
    "\n\nThese are the worksheets that your key may use in this spreadsheet, as they were at most "
    f"{KEPT_SECONDS:.0f} seconds ago. A worksheet whose first row names no field is left out, and "
    "so are those at the end of a spreadsheet with very many or very wide ones."
)


def document_of(reach: Reach, listed: Sequence[Listed] = ()) -> Encoded:
    """The encoded document of a key's worksheets, with its strong tag."""
    body = msgspec.json.encode(assembled(reach, listed))
    return Encoded(body, opaque_tag(body))


@lru_cache(_KEPT_GENERAL)
def general_document(reach: Reach) -> Encoded:
    """The document without a key."""
    return document_of(reach)


def assembled(reach: Reach, listed: Sequence[Listed] = ()) -> Node:
    """The document as a JSON tree; with worksheets only for a key."""
    places = list(places_of(listed, reach)) if reach.is_for_key else [ANY_WORKSHEET]
    paths = dict(path for place in places for path in paths_of(place, reach))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sheets gateway",
            "version": "2",
            "description": _ABOUT + (_OF_KEY if reach.is_for_key else _OF_ANY),
        },
        "servers": [{"url": "./"}],
        "tags": [{"name": name} for name in _tags(places)],
        "paths": {**paths, **dict(health_paths())},
        "components": _components(places, reach),
    }


def _tags(places: Sequence[Place]) -> Sequence[str]:
    return [*dict.fromkeys([*(place.title or ANY_TAG for place in places), HEALTH_TAG])]


def _components(places: Sequence[Place], reach: Reach) -> Node:
    kinds = [kind for kind in FAILURES if _is_reached(kind, reach)]
    schemas = {
        **shared_schemas(reach),
        **shared_query_schemas(reach),
        **error_schemas(kinds),
        **spreadsheet_schemas(reach),
        HEALTH: HEALTH_SCHEMA,
        READINESS: READINESS_SCHEMA,
    }
    for place in places:
        schemas |= row_schemas(place, reach)
        schemas |= query_schemas(place, reach)
    return {
        "schemas": schemas,
        "parameters": shared_parameters(reach),
        "responses": error_responses(kinds),
        "examples": error_examples(kinds),
        "headers": HEADERS,
        "securitySchemes": SCHEMES,
    }


def _is_reached(kind: OperationKind, reach: Reach) -> bool:
    """True if some operation of the document has the errors of a kind."""
    if kind in DELETES and not reach.may_delete:
        return False
    if kind == "change" and not reach.may_write_many:
        return False
    if kind == "delete_where" and not reach.may_write_where:
        return False
    if kind == "refresh":
        return reach.may_refresh
    return reach.may_write or kind not in WRITES
