"""Access token of a Google account, and the reason if there is no token.

Rules:
- google-auth refreshes the token in a thread. Its `before_request` is not used, because it has no
  lock (16 threads made 16 token requests) and starts a background call to another service.
- One refresh runs at a time. A call waits for the refresh until the call's own deadline.
- google-auth repeats a request that fails with `TransportError`, after a pause. After the deadline
  of a call, google-auth gets `DeadlinePassed` instead, so that it stops.
- Exception texts contain no token, key or assertion.
- Requests go only to Google, this machine and the metadata server, even if a credentials file names
  other URLs.
- The Date header of each answer gives the offset of this machine's clock.
- The error code of RFC 6749 decides the reason where it can. Google uses `invalid_grant` for a
  dozen causes, so the gateway also matches Google's English descriptions, reported since 2016:
  googleapis/google-cloud-php#3622 (account not found: disabled or deleted),
  googleapis/google-api-ruby-client#720 (Robot is disabled), googleapis/google-cloud-python#10004
  (Invalid JWT Signature: the key was deleted), googleapis/google-api-php-client#1501 and
  DataBiosphere/dsub#194 (short-lived token: the clock). An unknown description is `REFUSED`, or
  `CLOCK` if the clock is far off.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum, auto

import anyio.from_thread
import anyio.to_thread
import httpx2
from google.auth.credentials import Credentials, TokenState
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError
from google.auth.transport import DEFAULT_RETRYABLE_STATUS_CODES

from gateway.google.wire import Answer, AnswerTooLarge, Message, Wire
from gateway.settings.address import is_allowed_endpoint

SCOPES = ("https://www.googleapis.com/auth/spreadsheets",)

MAX_TOKEN_ANSWER_BYTES = 1_048_576

CLOCK_SKEW_SECONDS = 300.0
"""Clock offset from which Google refuses signed token requests (DataBiosphere/dsub#194)."""

MAX_WORDS = 160

_METADATA = re.compile(
    r"https?://(169\.254\.169\.254|metadata\.google\.internal)(:[0-9]+)?([/?][\x21-\x7e]*)?"
)
"""URLs of the cloud metadata server, which gives virtual machines their credentials.

The server supports plain HTTP only: docs.cloud.google.com/compute/docs/metadata/querying-metadata.
Other clouds use the same address.
"""

FindCredentials = Callable[..., tuple[Credentials, str | None]]
"""Function that finds credentials and their project, such as `google.auth.default`."""


class TokenFailure(Enum):
    NO_CREDENTIALS = auto()
    """No key file is configured, and there are no default credentials."""
    UNREADABLE = auto()
    """The file of the default credentials cannot be read."""
    FOREIGN = auto()
    """The credentials file names a URL that is not allowed to receive credentials."""
    CLOCK = auto()
    """The clock of this machine is wrong."""
    KEY = auto()
    """The account does not have this key. The key was deleted, or never existed."""
    ACCOUNT = auto()
    """The account was deleted or disabled."""
    SESSION = auto()
    """The sign-in of a user account has expired."""
    REFUSED = auto()
    """Google refused the token request for a reason that is not in this list."""
    FAILED = auto()
    """The token endpoint failed with 429 or 5xx."""
    INVALID_ANSWER = auto()
    """The answer of the token endpoint has neither a token nor an error."""
    UNREACHABLE = auto()
    """The token endpoint did not answer."""
    BUSY = auto()
    """The deadline passed while another call was waiting for a token."""


class ForeignEndpoint(GoogleAuthError):
    """The host of a URL is not allowed to receive credentials. The message is the host."""


class EndpointFailed(TransportError):
    """The token endpoint answered with 429 or 5xx."""


class DeadlinePassed(GoogleAuthError):
    """The token endpoint did not answer before the deadline of the call."""


class TokenUnavailable(Exception):
    """No access token is available. `retryable` is True if a later attempt can succeed.

    `failure` is the reason, and `google_words` is Google's error text, for the operator.
    `clock_offset_seconds` is the offset of this machine's clock to Google's, positive if this
    machine's clock is ahead, or None if the offset is unknown.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool,
        failure: TokenFailure,
        google_words: str = "",
        clock_offset_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.failure = failure
        self.google_words = google_words
        self.clock_offset_seconds = clock_offset_seconds


@dataclass(frozen=True, kw_only=True)
class TokenAnswer:
    """HTTP response for google-auth, with the used attributes of its `transport.Response`."""

    status: int
    headers: Mapping[str, str]
    data: bytes


@dataclass(frozen=True, kw_only=True)
class TokenRequest:
    """HTTP transport for google-auth (`google.auth.transport.Request`) over the gateway's `Wire`.

    google-auth calls it in a worker thread of anyio. The request itself runs in the event loop,
    until `deadline` on the event loop's clock. `on_answer` receives every answer, and the time of
    its request in seconds since the epoch. Raises `ForeignEndpoint` for a URL that is not allowed
    to receive credentials. `allow_insecure_endpoint` allows every host.
    """

    wire: Wire
    allow_insecure_endpoint: bool
    deadline: float
    now: Callable[[], float]
    on_answer: Callable[[Answer, float], None]

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
        # Requests to the metadata server never have a body.
        is_metadata = not content and _METADATA.fullmatch(url) is not None
        if not is_metadata and not is_allowed_endpoint(
            url, allow_insecure=self.allow_insecure_endpoint
        ):
            host = re.match(r"[a-z]+://(?:[^/?#]*@)?([^/?#@]{1,100})", url, re.IGNORECASE)
            raise ForeignEndpoint(host[1] if host else "a URL without a host")  # type: ignore[no-untyped-call]
        message = Message(method=method, url=url, headers=headers or {}, content=content)
        sent = self.now()
        answer = anyio.from_thread.run(self._exchange, message, timeout)
        self.on_answer(answer, sent)
        if answer.status in DEFAULT_RETRYABLE_STATUS_CODES or answer.status >= 500:
            # google-auth would sleep and retry after such an answer, beyond our deadline.
            raise EndpointFailed(f"HTTP {answer.status}")  # type: ignore[no-untyped-call]
        return TokenAnswer(status=answer.status, headers=answer.headers, data=answer.body)

    async def _exchange(self, message: Message, seconds: float | None) -> Answer:
        now = asyncio.get_running_loop().time
        deadline = self.deadline if seconds is None else min(self.deadline, now() + seconds)
        try:
            return await self.wire.exchange(message, deadline, max_bytes=MAX_TOKEN_ANSWER_BYTES)
        except (httpx2.HTTPError, httpx2.InvalidURL, AnswerTooLarge) as error:
            # Timers may be early by the resolution of the clock.
            kind = DeadlinePassed if now() > self.deadline - 0.01 else TransportError
            raise kind(str(error)) from error


class TokenSource:
    """Access token of one account, cached for all calls, as HTTP headers.

    If `credentials` is None, the first call finds credentials with `find_credentials`, which can
    need HTTP requests. `allow_insecure_endpoint` allows token requests to every host. `now` returns
    seconds since the epoch.
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
        self.clock_offset_seconds: float | None = None
        """Seconds that this machine's clock is ahead of Google's, or negative seconds if behind."""

    @property
    def account(self) -> str | None:
        """E-mail address of the service account, or None for other accounts or if not known yet."""
        email = getattr(self._credentials, "service_account_email", None)
        # Compute Engine's account is named "default" until its first token.
        return email if isinstance(email, str) and "@" in email else None

    @property
    def project(self) -> str | None:
        project = getattr(self._credentials, "project_id", None)
        return project if isinstance(project, str) else None

    @property
    def has_credentials(self) -> bool:
        """True if credentials are configured or have been found."""
        return self._credentials is not None

    async def authorization(
        self, deadline: float, *, refused: Mapping[str, str] | None = None
    ) -> Mapping[str, str]:
        """Return the HTTP headers with an access token. Raises `TokenUnavailable`.

        `deadline` is on the event loop's clock. `refused` are headers that Google answered with
        401, after which a new token is requested. A token is renewed some minutes before it
        expires. While the renewal runs, or if it fails, the old token is used until it expires.
        """
        state, headers = self._held(refused)
        if state is TokenState.FRESH or (state is TokenState.STALE and self._lock.locked()):
            return headers
        try:
            async with asyncio.timeout_at(deadline):
                await self._lock.acquire()
        except TimeoutError:
            raise TokenUnavailable(
                "the deadline passed while another call waited for a token",
                retryable=True,
                failure=TokenFailure.BUSY,
            ) from None
        try:
            state, headers = self._held(refused)
            if state is TokenState.FRESH:
                return headers  # renewed by the previous holder of the lock
            request = TokenRequest(
                wire=self._wire,
                allow_insecure_endpoint=self._allow_insecure_endpoint,
                deadline=deadline,
                now=self._now,
                on_answer=self._note_clock,
            )
            return await anyio.to_thread.run_sync(self._refresh, request)
        except TokenUnavailable as error:
            if state is TokenState.STALE and error.retryable:
                return headers
            raise
        finally:
            self._lock.release()

    def _held(self, refused: Mapping[str, str] | None) -> tuple[TokenState, Mapping[str, str]]:
        """Return the state of the cached token, and its HTTP headers.

        The headers are empty without a token, if they are `refused`, or if the token has characters
        that an HTTP header cannot have.
        """
        credentials = self._credentials
        if credentials is None:
            return TokenState.INVALID, {}
        # Read the state first: a token refreshed meanwhile is then newer than it, never older.
        state, token = credentials.token_state, credentials.token
        if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
            return TokenState.INVALID, {}
        headers = {"authorization": f"Bearer {token}"}
        if credentials.quota_project_id:
            headers["x-goog-user-project"] = credentials.quota_project_id
        return (TokenState.INVALID, {}) if headers == refused else (state, headers)

    def _note_clock(self, answer: Answer, sent: float) -> None:
        date = answer.headers.get("date")
        self.clock_offset_seconds = clock_offset_seconds(date, sent=sent, received=self._now())

    def _refresh(self, request: TokenRequest) -> Mapping[str, str]:
        try:
            if self._credentials is None:
                self._credentials, _ = self._find_credentials(scopes=SCOPES, request=request)
            self._credentials.refresh(request)  # type: ignore[no-untyped-call]  # has no types
        except GoogleAuthError as error:
            words = google_words(error)
            # The connection to the token endpoint failed, rather than the account.
            kinds = (TransportError, DeadlinePassed)
            is_transport = isinstance(error, kinds) or isinstance(error.__cause__, kinds)
            raise TokenUnavailable(
                f"the token endpoint gave no token{f': {words}' if words else ''}",
                retryable=is_transport or bool(error.retryable),
                failure=token_failure(error, self.clock_offset_seconds),
                google_words=words,
                clock_offset_seconds=self.clock_offset_seconds,
            ) from error
        except OSError as error:
            raise TokenUnavailable(
                "the credentials of the account cannot be read",
                retryable=False,
                failure=TokenFailure.UNREADABLE,
            ) from error
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            # google-auth does not validate the endpoint's answer, so an HTML page with status 200
            # ends here. Not chained: the errors' texts may quote the answer.
            raise _invalid_answer(type(error).__name__) from None
        _, headers = self._held(None)
        if not headers:
            raise _invalid_answer("the token has characters that no HTTP header can have")
        return headers


def _invalid_answer(what: str) -> TokenUnavailable:
    return TokenUnavailable(
        f"the token endpoint sent an unexpected answer: {what}",
        retryable=True,
        failure=TokenFailure.INVALID_ANSWER,
    )


_BY_WORDS: Sequence[tuple[re.Pattern[str], TokenFailure]] = tuple(
    (re.compile(pattern, re.IGNORECASE), failure)
    for pattern, failure in (
        (r"short-lived token|reasonable timeframe|iat and exp", TokenFailure.CLOCK),
        (r"invalid jwt signature|no valid verifier", TokenFailure.KEY),
        (
            r"^(disabled|deleted)_client|account not found|robot is disabled"
            r"|account has been (deleted|disabled)",
            TokenFailure.ACCOUNT,
        ),
        (r"expired or revoked|invalid_rapt|reauthentication", TokenFailure.SESSION),
        (r"^no access token", TokenFailure.INVALID_ANSWER),
    )
)


def token_failure(error: GoogleAuthError, clock_offset_seconds: float | None) -> TokenFailure:
    """Return the `TokenFailure` that describes an error of google-auth."""
    if isinstance(error, DefaultCredentialsError):
        return TokenFailure.NO_CREDENTIALS
    if isinstance(error, ForeignEndpoint):
        return TokenFailure.FOREIGN
    # Compute Engine's credentials wrap a TransportError into a RefreshError.
    for each in (error, error.__cause__):
        if isinstance(each, EndpointFailed):
            return TokenFailure.FAILED
        if isinstance(each, TransportError | DeadlinePassed):
            return TokenFailure.UNREACHABLE
    if error.retryable:
        return TokenFailure.FAILED
    words = google_words(error)
    if not words:
        return TokenFailure.INVALID_ANSWER
    found = next((t for pattern, t in _BY_WORDS if pattern.search(words)), TokenFailure.REFUSED)
    is_far_off = abs(clock_offset_seconds or 0.0) > CLOCK_SKEW_SECONDS
    return TokenFailure.CLOCK if found is TokenFailure.REFUSED and is_far_off else found


def google_words(error: GoogleAuthError) -> str:
    """Return the token endpoint's `error: error_description`, or "" if the error has neither.

    The text ends without a full stop. Only the error's first argument is used, because the other
    arguments can contain the whole answer.
    """
    first = error.args[0] if error.args else ""
    words = " ".join(first.split()) if isinstance(first, str) else ""
    return "" if words.startswith(("<", "{", "[")) else words[:MAX_WORDS].removesuffix(".")


def clock_offset_seconds(date: str | None, *, sent: float, received: float) -> float | None:
    """Return the minimum seconds by which this machine's clock is ahead of an HTTP Date header.

    The result is negative if this machine's clock is behind, 0 if it can be right, and None for an
    invalid header. `sent` and `received` are the times of the request and the answer, in seconds
    since the epoch by this machine's clock.
    """
    try:
        server_time = parsedate_to_datetime(date or "").timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    # The answer was made between these times, and Date has no fractions of a second.
    ahead, behind = sent - server_time - 1.0, server_time - received
    return max(ahead, 0.0) - max(behind, 0.0)
