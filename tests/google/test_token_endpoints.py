"""Token endpoints to which credentials are sent, whatever URL a credentials file has."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio.to_thread
import httpx
import httpx2
import pytest
from google.auth.exceptions import GoogleAuthError, TransportError
from google.oauth2.credentials import Credentials

from gateway.errors import UpstreamAuth
from gateway.google.token import (
    DeadlinePassed,
    ForeignEndpoint,
    TokenFailure,
    TokenRequest,
    TokenSource,
    TokenUnavailable,
)
from gateway.google.wire import Answer, open_wire
from gateway.settings.model import GoogleSettings
from tests.clock import ManualClock
from tests.google.google_fake import A_READ, A_WRITE, READ_ANSWER, FakeGoogle, failure
from tests.stand_in import open_google

Ask = Callable[..., Awaitable[Any]]
METADATA = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/"


def person(token_uri: str) -> Callable[..., tuple[Credentials, None]]:
    """Return a replacement of `google.auth.default` with the credentials of a user."""

    def find_credentials(**_given: object) -> tuple[Credentials, None]:
        found = Credentials(  # type: ignore[no-untyped-call]
            None,
            refresh_token="r",
            client_id="c",
            client_secret="s",
            token_uri=token_uri,
        )
        return found, None

    return find_credentials


def asking(*, allow_insecure_endpoint: bool = False, seconds: float = 60.0) -> Ask:
    """Return a function that sends a token request as google-auth does, over a new connection."""

    def hear(_answer: Answer, _sent: float) -> None:
        pass

    async def ask(url: str, **options: Any) -> Any:
        async with open_wire(max_connections=1, connect_timeout_seconds=1) as wire:
            request = TokenRequest(
                wire=wire,
                allow_insecure_endpoint=allow_insecure_endpoint,
                deadline=asyncio.get_running_loop().time() + seconds,
                now=ManualClock(),
                on_answer=hear,
            )
            return await anyio.to_thread.run_sync(partial(request, url, **options))

    return ask


@pytest.mark.parametrize(
    "url",
    [
        "https://sts.googleapis.com/v1/token",
        "https://accounts.google.com/o/oauth2/token",
        "http://127.0.0.1:9/token",
        "http://169.254.169.254",
        "http://169.254.169.254?x=1",
        f"{METADATA}?recursive=true",
        f"{METADATA}default/token?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fspreadsheets",
    ],
)
async def test_allowed_token_endpoints(url: str, google: FakeGoogle) -> None:
    """Token requests go to Google, to this machine, and over HTTP to the metadata server."""
    route = google.router.route(url=url).respond(200)

    assert (await asking()(url)).status == 200
    assert route.call_count == 1


@pytest.mark.parametrize(
    ("seconds", "kind"),
    [
        pytest.param(60.0, TransportError, id="before"),
        pytest.param(0.0, DeadlinePassed, id="after"),
    ],
)
async def test_nothing_is_repeated_after_the_deadline(
    google: FakeGoogle, seconds: float, kind: type[GoogleAuthError]
) -> None:
    """After the deadline, the error is not a TransportError, which google-auth would retry."""
    google.router.route(url="http://169.254.169.254").mock(side_effect=httpx2.ConnectError("away"))

    with pytest.raises(GoogleAuthError) as caught:
        await asking(seconds=seconds)("http://169.254.169.254")

    assert type(caught.value) is kind


@pytest.mark.parametrize(
    "url",
    [
        "http://oauth2.googleapis.com/token",
        "https://stranger.example/token",
        "http://169.254.169.254@stranger.example/",
        "http://169.254.169.254.stranger.example/",
        "http://169.254.169.254\\@stranger.example/",
        "http://metadata.google.internal.stranger.example/x",
        "http://metadata/computeMetadata",
        "ftp://169.254.169.254/",
        "no URL",
    ],
)
async def test_a_foreign_token_endpoint_gets_no_request(url: str, google: FakeGoogle) -> None:
    """No request is sent to any other host, and the error has only the name of the host."""
    everything = google.router.route().respond(200)

    with pytest.raises(ForeignEndpoint) as caught:
        await asking()(url, method="POST", body=b"assertion=secret")

    assert everything.call_count == 0
    assert not {"token", "secret", "computeMetadata"} & set(str(caught.value).split("/"))


async def test_the_metadata_server_gets_no_body(google: FakeGoogle) -> None:
    """A request with a body, which is a signed assertion, is not sent to the metadata server."""
    route = google.router.route(host="169.254.169.254").respond(200)

    with pytest.raises(GoogleAuthError):
        await asking()("http://169.254.169.254/token", method="POST", body=b"assertion=secret")

    assert route.call_count == 0


async def test_a_foreign_endpoint_is_allowed_by_a_setting(google: FakeGoogle) -> None:
    """With `allow_insecure_endpoint`, a token request goes to any host."""
    google.router.route(host="stranger.example").respond(200)

    ask = asking(allow_insecure_endpoint=True)

    assert (await ask("http://stranger.example/token")).status == 200


@pytest.mark.parametrize("verb", [A_READ, A_WRITE], ids=["read", "write"])
async def test_default_credentials_with_a_foreign_endpoint(verb: Any, google: FakeGoogle) -> None:
    """If a credentials file names a foreign endpoint, the call fails without a request."""
    stranger = google.router.route(host="stranger.example").respond(200)
    find_credentials = person("http://stranger.example/token")

    error = await failure(GoogleSettings(), verb, find_credentials=find_credentials)

    assert type(error) is UpstreamAuth
    assert (stranger.call_count, google.sheets.call_count) == (0, 0)


async def test_the_setting_holds_for_default_credentials(google: FakeGoogle) -> None:
    """With `allow_insecure_endpoint`, default credentials can use a foreign endpoint."""
    answer = {"access_token": "given", "expires_in": 3599}
    google.router.route(host="stranger.example").mock(return_value=httpx.Response(200, json=answer))
    google.sheets.respond(json=READ_ANSWER)
    settings = GoogleSettings(allow_insecure_endpoint=True)
    find_credentials = person("http://stranger.example/token")

    async with open_google(settings, find_credentials=find_credentials) as sheets:
        await A_READ(sheets)

    assert google.sent.headers["authorization"] == "Bearer given"


async def test_the_error_about_a_foreign_endpoint(google: FakeGoogle) -> None:
    """The error about a foreign token endpoint has the host and is not retryable."""
    async with open_wire(max_connections=1, connect_timeout_seconds=1) as wire:
        tokens = TokenSource(
            wire, credentials=None, find_credentials=person("https://stranger.example:7/token")
        )
        with pytest.raises(TokenUnavailable) as caught:
            await tokens.authorization(asyncio.get_running_loop().time() + 60)

    assert not caught.value.retryable
    assert caught.value.failure is TokenFailure.FOREIGN
    assert caught.value.google_words == "stranger.example:7"
