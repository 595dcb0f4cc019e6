"""Reports of changes: `POST /v2/sheets/{sheet}/refresh`, after which rows are read anew.

Without the right, the path means the row of this name, as it does without this operation.
"""

from starlette.requests import Request
from starlette.responses import Response

from gateway.access.caller import may_refresh
from gateway.access.rates import FRESH_PRICE
from gateway.web.answers import json_answer
from gateway.web.head import decode_title
from gateway.web.rows import Attempt, update_row
from gateway.web.state import State

REFRESH = "refresh"


async def post_row(request: Request[State]) -> Response:
    """An update, or the report of a change."""
    admission = request.scope["state"]["admission"]
    if request.path_params["row"] == REFRESH and await admission.has_right(request, may_refresh):
        return await refresh(request)
    return await update_row(request)


async def refresh(request: Request[State]) -> Response:
    state: State = request.scope["state"]
    admitted = await state["admission"].admit(request, "refresh")
    await admitted.lease.raise_to(FRESH_PRICE)
    attempt = Attempt(state["title_aliases"], admitted.target, None)
    state["rows"].report_change(attempt.target, decode_title(request.path_params["title"]))
    return json_answer({"status": "accepted"}, status=202)
