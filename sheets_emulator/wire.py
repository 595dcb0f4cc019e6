"""ASGI application: converts HTTP requests to API calls, and results to HTTP answers."""

from dataclasses import dataclass
from html import escape

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from sheets_emulator.drive import ROOTS, DriveRequest
from sheets_emulator.http.answer import HTML_TYPE, Answer, refusal_answer, send_answer
from sheets_emulator.http.body import whole_body
from sheets_emulator.http.connection import close_connection
from sheets_emulator.http.routes import find_route
from sheets_emulator.http.tokens import Grant
from sheets_emulator.operations import Call
from sheets_emulator.protocol.query import is_pretty
from sheets_emulator.refusal import Refusal, of_code
from sheets_emulator.service import Outcome, Service

TOKEN_PATH = "/token"  # noqa: S105 - a path


@dataclass(frozen=True, kw_only=True)
class Wire:
    """Application for `POST /token`, paths under `/v4/spreadsheets`, and some routes of Drive."""

    service: Service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            outcome = await self._outcome(scope, await whole_body(Request(scope, receive)))
        except Refusal as refusal:
            pretty = is_pretty(scope["query_string"])
            outcome = Outcome(answer=refusal_answer(refusal, is_pretty=pretty))
        if outcome.answer is None:
            await close_connection(receive)
        else:
            await send_answer(outcome.answer, scope, receive, send, truncate=outcome.truncate)

    async def _outcome(self, scope: Scope, body: bytes) -> Outcome:
        if scope["path"] == TOKEN_PATH and scope["method"] == "POST":
            return await self.service.token(body)
        if scope["path"].startswith(ROOTS):
            return await self.service.drive(
                DriveRequest(
                    method=scope["method"],
                    raw_path=_raw_path(scope).decode("latin-1"),
                    query_string=scope["query_string"],
                    body=body,
                    account=self._grant(scope).account,
                )
            )
        route = find_route(scope["method"], _raw_path(scope))
        if route is None:
            return Outcome(answer=_no_such_page(scope["path"]))
        grant = self._grant(scope)
        return await self.service.call(
            Call(
                name=route.name,
                spreadsheet_id=route.spreadsheet_id,
                range_text=route.range_text,
                number=route.number,
                query_string=scope["query_string"],
                body=body,
                account=grant.account,
                project=grant.project,
            )
        )

    def _grant(self, scope: Scope) -> Grant:
        """Return the rights of the request's token. Raises a 401 without a valid token."""
        grant = self.service.tokens.grant_of(Headers(scope=scope).get("authorization"))
        if grant is None:
            raise of_code(401)
        return grant


def _raw_path(scope: Scope) -> bytes:
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw_path.partition(b"?")[0]


def _no_such_page(path: str) -> Answer:
    """Return a 404 with an HTML page, as Google does for an unknown path."""
    page = f"<!DOCTYPE html><title>Error 404 (Not Found)</title><p>{escape(path)} was not found."
    return Answer(status=404, body=page.encode(), content_type=HTML_TYPE)
