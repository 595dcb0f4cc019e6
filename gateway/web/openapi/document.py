"""`/openapi.json`: the OpenAPI document of the API in general, or of a key's worksheets."""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from gateway.access.caller import granted_spreadsheet
from gateway.errors import InvalidQuery
from gateway.web.admission import find_credentials
from gateway.web.answers import Answer, read_answer, weakly_tagged
from gateway.web.openapi import operations
from gateway.web.openapi.parameters import shared_parameters, spreadsheet_schemas
from gateway.web.openapi.reach import Place, Reach, places_of, reach_of, reach_of_all
from gateway.web.openapi.schemas import Node, shared_schemas, worksheet_schemas
from gateway.web.parameters import asks_for_types, sift
from gateway.web.request import Request
from gateway.web.signature import DESCRIPTION
from gateway.worksheets.answers import Encoded, Served
from gateway.worksheets.catalogue import KEPT_SECONDS, Contents, Listed

_KEPT_GENERAL = 16

_ABOUT = (
    "The rows of Google Sheets worksheets as JSON. Each worksheet is a resource. Its first row "
    "names the fields, and each row below is a record.\n\n"
    "HEAD works wherever GET does. CORS is open unless the key limits origins. A request is "
    "refused if it has a parameter of another operation or service, or a field name as a "
    "parameter. Other unknown parameters are ignored."
)
_OF_ANY = (
    "\n\nThis document describes the API in general. Request it with an API key to see the "
    "worksheets and fields of that key."
)
_OF_KEY = (
    "\n\nThis document describes the worksheets that your key can use in this spreadsheet. It is "
    f"at most {KEPT_SECONDS:.0f} seconds old. Worksheets without field names in the first row are "
    "left out, and so are the last worksheets of a very large spreadsheet."
)


async def describe(request: Request) -> Answer:
    """Answer with the document for the request's key, or without a key with the general document.

    Cost with a key: 2 reads of Google, at most once a minute.
    """
    state = request.state
    parameters = sift(request.scope["query_string"], DESCRIPTION)
    caller = None
    key, _ = find_credentials(request.head, parameters.credentials)
    if key is not None:
        caller, named, _ = await state["admission"].recognise(request, parameters, DESCRIPTION)
    elif parameters.refusal:
        raise InvalidQuery(parameters.refusal)
    if caller is None or not caller.key.grants.may_read:
        reach = reach_of_all(state["api"], is_typed=asks_for_types(parameters.asked))
        return read_answer(request, general_document(reach))
    spreadsheet = request.event.spreadsheet = granted_spreadsheet(caller.key.grants, named)
    reach = reach_of(caller, named, state["api"], is_typed=asks_for_types(parameters.asked))
    catalogue = state["catalogue"]
    contents, freshness = await catalogue.read(spreadsheet, key_id=caller.key.id)

    def make(contents: Contents) -> Encoded:
        return document_of(reach, contents.worksheets)

    encoded = await catalogue.answer(contents, reach, make)
    return read_answer(request, Served(encoded, freshness))


def document_of(reach: Reach, listed: Sequence[Listed] = ()) -> Encoded:
    """Return the document with this scope as JSON, with its ETag.

    `listed` are the worksheets of a key's spreadsheet. The general document has no worksheets.
    """
    places = [*places_of(listed, reach)] if reach.is_for_key else [Place(reach=reach)]
    kinds = ("health", *operations.operations_of(reach))
    errors = operations.error_components(kinds, has_pages=not reach.is_for_key)
    schemas = {
        **shared_schemas(reach),
        **errors["schemas"],
        **spreadsheet_schemas(reach),
        **operations.HEALTH_SCHEMAS,
    }
    paths: dict[str, Node] = {}
    for place in places:
        paths |= operations.paths_of(place)
        schemas |= worksheet_schemas(place)
    tags = [
        *(place.title or operations.ANY_TAG for place in places),
        operations.WORKSHEETS_TAG,
        operations.HEALTH_TAG,
    ]
    document: Node = {
        "openapi": "3.1.0",
        "info": {
            "title": "Sheets gateway",
            "version": "2",
            "description": _ABOUT + (_OF_KEY if reach.is_for_key else _OF_ANY),
        },
        "servers": [{"url": "./"}],
        "tags": [{"name": name} for name in dict.fromkeys(tags)],
        "paths": paths | operations.spreadsheet_paths(reach) | operations.health_paths(),
        "components": {
            "schemas": schemas,
            "parameters": shared_parameters(reach),
            "responses": errors["responses"],
            "examples": errors["examples"],
            "headers": operations.HEADERS,
            "securitySchemes": operations.SECURITY_SCHEMES,
        },
    }
    return weakly_tagged(msgspec.json.encode(document))


general_document = lru_cache(_KEPT_GENERAL)(document_of)
"""Cached `document_of` for requests without a key."""
