"""Clients of the Google accounts, and the pipeline that sends calls through them.

Rules:
- gspread builds the HTTP requests and sends nothing. The gateway uses only the methods of gspread's
  `HTTPClient`, which know Google's paths and percent-encode ranges. No call is sent in a thread.
- A client does not retry, with one exception: it repeats a call once with a new token if Google
  answered 401.
- The spreadsheet ID is part of the URL path, where `..` would lead to another API. A client checks
  each ID before it sends a call.
- A client decodes a large answer in steps. The event loop runs between two steps.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, TypeVar

import google.auth
import msgspec
from gspread.http_client import FileType, HTTPClient, ParamsType
from gspread.urls import SPREADSHEETS_API_V4_BASE_URL

from gateway.errors import GatewayError, InvalidSpreadsheetId, LookOutdated
from gateway.google.calls import Apply, GoogleSheets, JoinedRead
from gateway.google.cells import PIECE_BYTES
from gateway.google.credentials import load_service_account
from gateway.google.pipeline import Account, Accounts, Breaker, Call, Pipeline, Retries
from gateway.google.quota import Budget, Quota, Share, SpentQuota, open_budget, open_quota
from gateway.google.rendering import KnownColumns, Limits
from gateway.google.token import FindCredentials, TokenSource
from gateway.google.translation import FAILURES, Attempt, GoogleRefusal, translated
from gateway.google.wire import Message, Wire, open_wire
from gateway.settings.model import GoogleSettings, Settings
from gateway.table.a1 import is_spreadsheet_id
from gateway.telemetry.events import account_rested, breaker_changed, upstream_failed

T = TypeVar("T")

GOOGLE = SPREADSHEETS_API_V4_BASE_URL.removesuffix("/v4/spreadsheets")
"""Origin of gspread's URLs, which the configured endpoint replaces."""

_JSON = {"content-type": "application/json"}

MAX_RENDERING_BYTES = 256 * 1024 * 1024


@asynccontextmanager
async def open_accounts(
    settings: Mapping[str, GoogleSettings],
    *,
    max_rendering_bytes: int = MAX_RENDERING_BYTES,
    find_credentials: FindCredentials = google.auth.default,
    now: Callable[[], float] = time.time,
) -> AsyncIterator[Mapping[str, "Client"]]:
    """Open a client for each account, by name, over one connection pool.

    An account without a key file gets its credentials from `find_credentials`.
    `max_rendering_bytes` limits the memory of all texts or all values of a worksheet. `now` returns
    seconds since the epoch. Raises `ConfigError` for an unusable key file. Opens no connection
    before the first call, and closes all connections at the end.
    """
    any_settings, columns = next(iter(settings.values())), KnownColumns()
    async with open_wire(
        max_connections=any_settings.max_connections,
        connect_timeout_seconds=any_settings.connect_timeout_seconds,
    ) as wire:
        yield {
            name: Client(
                each,
                wire=wire,
                tokens=TokenSource(
                    wire,
                    credentials=None
                    if each.credentials is None
                    else load_service_account(
                        each.credentials,
                        allow_insecure_endpoint=each.allow_insecure_endpoint,
                        subject=each.subject,
                    ),
                    find_credentials=find_credentials,
                    allow_insecure_endpoint=each.allow_insecure_endpoint,
                    now=now,
                ),
                columns=columns,  # two accounts may read the renderings of one worksheet
                max_rendering_bytes=max_rendering_bytes,
            )
            for name, each in settings.items()
        }


class Client:
    """Client of Google Sheets for one account. `clock` returns monotonic seconds."""

    def __init__(
        self,
        settings: GoogleSettings,
        *,
        wire: Wire,
        tokens: TokenSource,
        columns: KnownColumns,
        max_rendering_bytes: int = MAX_RENDERING_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._wire = wire
        self.tokens = tokens
        self._gspread = Gspread(endpoint=settings.endpoint)
        self._limits = Limits(settings.max_answer_bytes, max_rendering_bytes, columns)

    @property
    def project(self) -> str | None:
        """Google Cloud project whose quota the account uses, or None if the project is unknown."""
        return self._settings.project or self.tokens.project

    @property
    def account(self) -> str | None:
        """E-mail address to share spreadsheets with, or None if the address is unknown."""
        return self.tokens.account

    async def sign_in(self, within_seconds: float = math.inf) -> None:
        """Check the account by getting an access token. Costs no read and no write of the quota.

        Raises `UpstreamAuth` if the credentials are refused or unusable. Raises
        `UpstreamUnreachable` if the token endpoint fails, or does not answer within
        `within_seconds` or the read timeout of the settings.
        """
        seconds = min(self._settings.read_timeout_seconds, within_seconds)
        try:
            await self.tokens.authorization(asyncio.get_running_loop().time() + seconds)
        except FAILURES as error:
            raise translated(error, Attempt(is_write=False, account=self.account)) from error

    async def make(self, call: Call[T]) -> T:
        """Send a call as this account, without a wait for the quota. Returns the decoded answer.

        Raises the errors that `gateway.google.sheets` lists, and `LookOutdated` if the time is past
        the `send_until` of a batch.
        """
        if isinstance(call, JoinedRead):
            call = call.close()
        settings, is_write = self._settings, call.is_write
        if not is_spreadsheet_id(call.spreadsheet):
            raise InvalidSpreadsheetId(
                "Invalid spreadsheet ID. Take it from the URL of the spreadsheet, between /d/ and "
                "/edit.",
                outcome="not_applied" if is_write else None,
            )
        seconds = settings.write_timeout_seconds if is_write else settings.read_timeout_seconds
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            message = call.message(self._gspread)
            parameters = {**message.parameters, "fields": call.fields, "prettyPrint": "false"}
            refused = None
            while True:
                # A token request takes time, so the rows that a batch relies on can be too old now.
                authorization = await self.tokens.authorization(deadline, refused=refused)
                if isinstance(call, Apply) and self._clock() > call.batch.send_until:
                    raise LookOutdated
                signed = replace(
                    message, parameters=parameters, headers={**message.headers, **authorization}
                )
                answer = await self._wire.exchange(
                    signed, deadline, max_bytes=settings.max_answer_bytes
                )
                if answer.status != 401 or refused is not None:
                    break
                refused = authorization  # Google did not execute it: a second attempt is safe
            if answer.status != 200:
                raise GoogleRefusal(answer)
            work, step_bytes = call.decode(answer, self._limits), 0
            del answer  # the traceback's frame would keep it in memory
            while True:
                try:
                    step_bytes += next(work)
                except StopIteration as done:
                    result: T = done.value
                    return result
                if step_bytes >= PIECE_BYTES:  # other requests run
                    step_bytes = 0
                    await asyncio.sleep(0)
        except FAILURES as error:
            raise translated(error, Attempt(is_write=is_write, account=self.account)) from error


class Gspread(HTTPClient):
    """gspread's `HTTPClient` without network: each method returns the HTTP request as `Message`."""

    def __init__(self, *, endpoint: str) -> None:
        # super().__init__ would open a session of requests.
        self._endpoint = endpoint

    def request(
        self,
        method: str,
        endpoint: str,
        params: ParamsType | None = None,
        data: bytes | None = None,
        json: Mapping[str, Any] | None = None,
        files: FileType = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        if not endpoint.startswith(f"{SPREADSHEETS_API_V4_BASE_URL}/") or files is not None:
            raise ValueError("only URLs of the Sheets API are allowed")
        message = Message(
            method=method.upper(),
            url=self._endpoint + endpoint.removeprefix(GOOGLE),
            parameters=params or {},
            content=data if json is None else msgspec.json.encode(json),
            headers={**(headers or {}), **({} if json is None else _JSON)},
        )
        # gspread's methods return the value of `json()`.
        return SimpleNamespace(json=lambda: message)


SIGN_IN_SECONDS = 5.0
SIGN_IN_EVERY_SECONDS = 10.0


class Acceptance:
    """Readiness check: whether Google has accepted a call or a sign-in of any account.

    Until then, `found` signs in with each account, at most once per `SIGN_IN_EVERY_SECONDS`, and
    returns the result.
    """

    def __init__(
        self,
        clients: Sequence[Client],
        accounts: Accounts,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._clients = clients
        self._accounts = accounts
        self._signing_in: asyncio.Task[None] | None = None
        self._next_at = -math.inf

    async def found(self) -> bool:
        if self._accounts.was_accepted:
            return True
        if self._signing_in is None or self._clock() >= self._next_at:
            self._next_at = self._clock() + SIGN_IN_EVERY_SECONDS
            self._signing_in = asyncio.create_task(self._sign_in())
        await asyncio.wait([self._signing_in])  # unlike a cancelled caller, the sign-in goes on
        return self._accounts.was_accepted

    async def aclose(self) -> None:
        if self._signing_in is not None:
            self._signing_in.cancel()
            await asyncio.wait([self._signing_in])

    async def _sign_in(self) -> None:
        await asyncio.gather(*map(self._sign_in_as, self._clients))

    async def _sign_in_as(self, client: Client) -> None:
        try:
            await client.sign_in(SIGN_IN_SECONDS)
        except GatewayError as error:
            upstream_failed(error)
        else:
            self._accounts.was_accepted = True


@dataclass(frozen=True, kw_only=True)
class Google:
    """Objects for calls to Google. `sheets` sends its calls through `pipeline`."""

    sheets: GoogleSheets
    pipeline: Pipeline
    acceptance: Acceptance


OpenSpent = Callable[[str], AbstractAsyncContextManager[SpentQuota]]
"""Function that opens the stored quota use of an account or a project, by name."""


@asynccontextmanager
async def open_budgets(
    settings: Settings,
    clients: Mapping[str, Client],
    open_spent: OpenSpent,
    share: Share | None = None,
) -> AsyncIterator[Mapping[str, Budget]]:
    """Open the quota of each account, by account name.

    With `share`, the quota is shared with other processes. Otherwise `open_spent` opens the stored
    quota that was used before the start.
    """
    google = settings.google
    # An account without a project shares no quota.
    projects = {name: each.project or f"of-{name}" for name, each in clients.items()}
    shared = {project for project, count in Counter(projects.values()).items() if count > 1}
    by_account = google.by_account()
    async with AsyncExitStack() as stack:

        async def spent(name: str) -> SpentQuota | None:
            return None if share else await stack.enter_async_context(open_spent(name))

        quotas: Mapping[str, Quota] = {
            project: open_quota(
                google.project_reads_per_minute,
                google.project_writes_per_minute,
                spent=await spent(f"project-{project}"),
            )
            for project in shared
        }
        yield {
            name: open_budget(
                by_account.get(name, google),
                spent=await spent(name),
                project=quotas.get(project),
                share=share,
                names=[f"account:{name}", *([f"project:{project}"] if project in shared else [])],
            )
            for name, project in projects.items()
        }


def assemble(
    clients: Mapping[str, Client], budgets: Mapping[str, Budget], *, turn_seconds: float | None
) -> Google:
    """Build the accounts and the pipeline from clients and budgets, by account name.

    `turn_seconds` is the maximum wait of a write for the quota before its read
    (`Pipeline.write_turn`). None means the maximum of other calls.
    """
    accounts = Accounts(
        [
            Account(name=name, make=client.make, budget=budgets[name])
            for name, client in clients.items()
        ],
        clock=time.monotonic,
        rested=account_rested,
    )
    pipeline = Pipeline(
        accounts,
        breaker=Breaker(changed=breaker_changed),
        retries=Retries(),
        turn_seconds=turn_seconds,
    )
    return Google(
        sheets=GoogleSheets(pipeline.send),
        pipeline=pipeline,
        acceptance=Acceptance([*clients.values()], accounts),
    )
