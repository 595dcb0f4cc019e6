"""Serve the OpenAPI document, in general or for a key's worksheets."""

from functools import partial

from gateway.access.caller import granted_spreadsheet
from gateway.errors import InvalidQuery
from gateway.web.admission import find_credentials
from gateway.web.answers import Answer, encoded_answer, read_answer
from gateway.web.openapi.assembly import document_of, general_document
from gateway.web.openapi.reach import reach_of, reach_of_all
from gateway.web.parameters import sift
from gateway.web.request import Request
from gateway.web.signature import DESCRIPTION


async def describe(request: Request) -> Answer:
    """Without a key no call to Google; with one those of `Catalogue`, at most once a minute."""
    state = request.state
    parameters = sift(request.scope["query_string"], DESCRIPTION)
    if find_credentials(request.head, parameters.credentials, is_write=False).key is None:
        if parameters.refusal:
            raise InvalidQuery(parameters.refusal)
        return encoded_answer(request, general_document(reach_of_all(state["api"])), ())
    caller, named, _ = await state["admission"].recognise(request, parameters, DESCRIPTION)
    spreadsheet = granted_spreadsheet(caller.grants, named)
    request.event.spreadsheet = spreadsheet
    reach = reach_of(caller, named, state["api"])
    served = await state["catalogue"].describe(
        spreadsheet, reach, partial(document_of, reach), key_id=caller.key_id
    )
    return read_answer(request, served, no_cache=False)
