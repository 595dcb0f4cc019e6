"""Serve the OpenAPI document, in general or for a key's worksheets."""

from functools import partial

from starlette.requests import Request

from gateway.access.caller import Operation, granted_spreadsheet
from gateway.errors import InvalidQuery
from gateway.telemetry.events import current_event
from gateway.web.admission import find_credentials
from gateway.web.answers import CachedResponse, encoded_answer, read_answer
from gateway.web.head import head_of
from gateway.web.openapi.assembly import document_of, general_document
from gateway.web.openapi.reach import reach_of, reach_of_all
from gateway.web.operations import DESCRIPTION
from gateway.web.parameters import sift
from gateway.web.state import State


async def describe(request: Request[State]) -> CachedResponse:
    """Without a key no call to Google; with one those of `Catalogue`, at most once a minute."""
    scope, state = request.scope, request.state
    head, parameters = head_of(scope), sift(scope["query_string"], DESCRIPTION)
    if find_credentials(head, parameters.credentials, is_write=False).key is None:
        if parameters.refusal:
            raise InvalidQuery(parameters.refusal)
        return encoded_answer(head, general_document(reach_of_all(state["api"])), ())
    caller, named, _ = await state["admission"].recognise(scope, head, parameters, Operation.READ)
    spreadsheet = granted_spreadsheet(caller.grants, named)
    event = current_event()
    if event is not None:
        event.spreadsheet = spreadsheet
    reach = reach_of(caller, named, state["api"])
    served = await state["catalogue"].describe(
        spreadsheet, reach, partial(document_of, reach), key_id=caller.key_id
    )
    return read_answer(head, served, no_cache=False)
