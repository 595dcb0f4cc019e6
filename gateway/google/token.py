"""Access token of the gateway's Google account.

Rules:
- google-auth makes the token in a thread, we decide when: its own `before_request` has no lock (16
  threads made 16 token calls) and starts a background call to another service.
- One refresh runs at a time; who waits for it waits no longer than its own call may last.
- No token, key or assertion is part of an exception's text.
- No URL is asked but Google's, this machine's and the metadata server's, whatever file named it.
- Each answer of the endpoint tells what time it is; how far our clock is off is kept.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio.from_thread
import anyio.to_thread
import httpx2
from google.auth.credentials import Credentials, TokenState
from google.auth.exceptions import GoogleAuthError, TransportError
from google.auth.transport import DEFAULT_RETRYABLE_STATUS_CODES

from gateway.google.token_trouble import (
    EndpointFailed,
    ForeignEndpoint,
    TokenTrouble,
    clock_offset_seconds,
    google_words,
    trouble_of,
)
from gateway.google.wire import Answer, AnswerTooLarge, Message, Wire
from gateway.settings.endpoint import is_allowed_endpoint

SCOPES = ("https://www.googleapis.com/auth/spreadsheets",)

MAX_TOKEN_ANSWER_BYTES = 1_048_576

_METADATA = re.compile(
    r"https?://(169\.254\.169\.254|metadata\.google\.internal)(:[0-9]+)?([/?][\x21-\x7e]*)?"
)
"""The server of a cloud's machines that gives them credentials; plain HTTP is its only way.

docs.cloud.google.com/compute/docs/metadata/querying-metadata; other clouds have the same address.
"""

FindCredentials = Callable[..., tuple[Credentials, str | None]]
"""`google.auth.default`, or something in its place."""


class TokenUnavailable(Exception):
    """There is no token to send a call with; `retryable` tells whether waiting may help.

    `trouble` and `google_words` say why, for the operator. `clock_offset_seconds`: how far this
    machine's clock is ahead of Google's, where an answer told it.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool,
        trouble: TokenTrouble,
        google_words: str = "",
        clock_offset_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.trouble = trouble
        self.google_words = google_words
        self.clock_offset_seconds = clock_offset_seconds


@dataclass(frozen=True, kw_only=True)
class TokenAnswer:
    """`google.auth.transport.Response`, as far as google-auth looks at it."""

    status: int
    headers: Mapping[str, str]
    data: bytes


@dataclass(frozen=True, kw_only=True)
class TokenRequest:
    """`google.auth.transport.Request` over our wire, within the deadline of the call it is for.

    google-auth calls it in a worker thread of anyio; the event loop makes the exchange. `hear` is
    told of every answer, with the seconds since the epoch when it was asked for. Raises
    `ForeignEndpoint` for a URL that may not see credentials.
    """

    wire: Wire
    allow_insecure_endpoint: bool
    deadline: float
    now: Callable[[], float]
    hear: Callable[[Answer, float], None]

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_ignored: object,
    ) -> TokenAnswer:
        content = body.encode() if isinstance(body, str) else body
        if not self._may_ask(url, content):
            raise ForeignEndpoint(_host_of(url))  # type: ignore[no-untyped-call]
        message = Message(method=method, url=url, headers=headers or {}, content=content)
        sent = self.now()
        try:
            answer = anyio.from_thread.run(self._exchange, message, timeout)
        except (httpx2.HTTPError, httpx2.InvalidURL, AnswerTooLarge) as error:
            raise TransportError(str(error)) from error  # type: ignore[no-untyped-call]
        self.hear(answer, sent)
        if answer.status in DEFAULT_RETRYABLE_STATUS_CODES or answer.status >= 500:
            # Given such an answer google-auth would sleep and ask again, for longer than we may.
            raise EndpointFailed(f"HTTP {answer.status}")  # type: ignore[no-untyped-call]
        return TokenAnswer(status=answer.status, headers=answer.headers, data=answer.body)

    async def _exchange(self, message: Message, seconds: float | None) -> Answer:
        deadline = self.deadline
        if seconds is not None:
            deadline = min(deadline, asyncio.get_running_loop().time() + seconds)
        return await self.wire.exchange(message, deadline, max_bytes=MAX_TOKEN_ANSWER_BYTES)

    def _may_ask(self, url: str, content: bytes | None) -> bool:
        # The metadata server is asked, never told.
        is_metadata = not content and _METADATA.fullmatch(url) is not None
        return is_metadata or is_allowed_endpoint(url, allow_insecure=self.allow_insecure_endpoint)


def _host_of(url: str) -> str:
    """The host of any text that should be a URL, without what else it may hold."""
    found = re.match(r"[a-z]+://(?:[^/?#]*@)?([^/?#@]{1,100})", url, re.IGNORECASE)
    return found[1] if found else "a URL without a host"


class TokenSource:
    """Authorization headers of one account, for any number of calls.

    Without `credentials` they are looked for at the first call, as that may take requests.
    `now` gives seconds since the epoch.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        credentials: Credentials | None,
        find_credentials: FindCredentials,
        allow_insecure_endpoint: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._wire = wire
        self._lock = asyncio.Lock()
        self._credentials = credentials
        self._find_credentials = find_credentials
        self._allow_insecure_endpoint = allow_insecure_endpoint
        self._now = now
        self._clock_offset_seconds: float | None = None

    @property
    def account(self) -> str | None:
        """E-mail of the service account; None for other accounts, and until it was looked for."""
        email = getattr(self._credentials, "service_account_email", None)
        # Compute Engine calls its account "default" until its first token.
        return email if isinstance(email, str) and "@" in email else None

    @property
    def project(self) -> str | None:
        """The project that the credentials name as theirs."""
        project = getattr(self._credentials, "project_id", None)
        return project if isinstance(project, str) else None

    @property
    def clock_offset_seconds(self) -> float | None:
        """How far this machine's clock is ahead of the token endpoint's; behind: below 0."""
        return self._clock_offset_seconds

    async def authorization(
        self, deadline: float, *, refused: Mapping[str, str] | None = None
    ) -> Mapping[str, str]:
        """Headers that Google did not refuse yet, by a deadline on the clock of the event loop.

        A token is renewed some minutes before it expires; while that fails, or is under way, the
        old one serves as long as it lasts. Raises `TokenUnavailable`.
        """
        state, headers = self._held(refused)
        if state is TokenState.FRESH or (state is TokenState.STALE and self._lock.locked()):
            return headers
        try:
            async with asyncio.timeout_at(deadline):
                await self._lock.acquire()
        except TimeoutError:
            raise TokenUnavailable(
                "another call still waits for a token", retryable=True, trouble=TokenTrouble.BUSY
            ) from None
        try:
            return await self._renewed(deadline, refused)
        finally:
            self._lock.release()

    async def _renewed(
        self, deadline: float, refused: Mapping[str, str] | None
    ) -> Mapping[str, str]:
        state, headers = self._held(refused)
        if state is TokenState.FRESH:
            return headers  # by the call that had the lock before
        try:
            return await anyio.to_thread.run_sync(self._refresh, self._request(deadline))
        except TokenUnavailable as error:
            if state is TokenState.STALE and error.retryable:
                return headers
            raise

    def _request(self, deadline: float) -> TokenRequest:
        return TokenRequest(
            wire=self._wire,
            allow_insecure_endpoint=self._allow_insecure_endpoint,
            deadline=deadline,
            now=self._now,
            hear=self._hear,
        )

    def _held(self, refused: Mapping[str, str] | None) -> tuple[TokenState, Mapping[str, str]]:
        """The headers there are; those that Google refused are as good as none."""
        if self._credentials is None:
            return TokenState.INVALID, {}
        state, headers = self._credentials.token_state, _headers(self._credentials)
        return (TokenState.INVALID, {}) if headers in ({}, refused) else (state, headers)

    def _hear(self, answer: Answer, sent: float) -> None:
        date = answer.headers.get("date")
        offset_seconds = clock_offset_seconds(date, sent=sent, received=self._now())
        self._clock_offset_seconds = offset_seconds

    def _refresh(self, request: TokenRequest) -> Mapping[str, str]:
        try:
            if self._credentials is None:
                self._credentials, _ = self._find_credentials(scopes=SCOPES, request=request)
            self._credentials.refresh(request)  # type: ignore[no-untyped-call]  # has no types
        except GoogleAuthError as error:
            raise self._refused(error) from error
        except OSError as error:
            raise TokenUnavailable(
                "the account's credentials cannot be read",
                retryable=False,
                trouble=TokenTrouble.UNREADABLE,
            ) from error
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            # google-auth takes the endpoint's answer apart without looking, so a page of HTML
            # with status 200 ends here. The errors' texts may quote it: not chained.
            raise _senseless(type(error).__name__) from None
        headers = _headers(self._credentials)
        if not headers:
            raise _senseless("a token that fits no header")
        return headers

    def _refused(self, error: GoogleAuthError) -> TokenUnavailable:
        return TokenUnavailable(
            "Google's token endpoint gave no token",
            retryable=_is_retryable(error),
            trouble=trouble_of(error, self._clock_offset_seconds),
            google_words=google_words(error),
            clock_offset_seconds=self._clock_offset_seconds,
        )


def _senseless(what: str) -> TokenUnavailable:
    return TokenUnavailable(
        f"the token endpoint's answer makes no sense: {what}",
        retryable=True,
        trouble=TokenTrouble.SENSELESS,
    )


def _headers(credentials: Credentials) -> Mapping[str, str]:
    """The headers of its token, none if that is no text that fits a header."""
    token: Any = credentials.token
    if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
        return {}
    headers = {"authorization": f"Bearer {token}"}
    quota_project = credentials.quota_project_id
    return headers | ({"x-goog-user-project": quota_project} if quota_project else {})


def _is_retryable(error: GoogleAuthError) -> bool:
    """Whether the way to the token endpoint failed, rather than the account."""
    # Compute Engine's credentials wrap a TransportError into a RefreshError.
    is_transport = isinstance(error, TransportError) or isinstance(error.__cause__, TransportError)
    return is_transport or bool(error.retryable)
