"""The documented proxies pass on requests of clients and answers of the gateway."""

import re
import shutil
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from gateway.commands.demo import running_demo
from gateway.server.sockets import bind
from gateway.settings.model import ServerSettings
from tests.docs.blocks import Block, blocks_of
from tests.docs.proxies import (
    HOST,
    caddy_problems,
    nginx_problems,
    nginx_text,
    port_of,
    running_nginx,
    write_certificate,
)
from tests.server.wire import connected

(NGINX,) = blocks_of("nginx")
(CADDY,) = blocks_of("caddyfile")
FEW_WRONG_KEYS = {
    "GATEWAY_ACCESS__TRUSTED_PROXIES": "127.0.0.1",
    "GATEWAY_ACCESS__FAILURES_PER_MINUTE": "1",
}

INCOMPLETE_HEAD = b"GET /livez HTTP/1.1\r\nHost: gateway\r\nX-Slow: "
LIVE = b"GET /livez HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n"
UPLOAD = b"POST /v2/sheets/Cities HTTP/1.1\r\nHost: gateway\r\nContent-Length: 9\r\n\r\n"

needs_nginx = pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx to run")


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[httpx2.Client]:
    """Return a client with a key that uses TLS to nginx in front of a gateway."""
    with (
        running_demo(bind("127.0.0.1", 0), FEW_WRONG_KEYS) as demo,
        running_nginx(NGINX, tmp_path, gateway=port_of(demo.url)) as proxy,
        httpx2.Client(
            base_url=proxy.url,
            verify=ssl.create_default_context(cafile=str(proxy.certificate)),
            headers={"Host": HOST, "Authorization": f"Bearer {demo.full_key}"},
        ) as client,
    ):
        yield client


@needs_nginx
def test_nginx_passes_requests_and_answers(proxied: httpx2.Client) -> None:
    """nginx passes on reads and creates, and sets a new request ID for each."""
    listed = proxied.get("/v2/sheets/Cities", params={"limit": "1"})
    created = proxied.post("/v2/sheets/Cities", json={"name": "Austin"})

    assert listed.json()["results"][0]["name"] == "New York"
    assert created.status_code == 201
    assert created.headers["location"] == "/v2/sheets/Cities/12"
    assert re.fullmatch("[0-9a-f]{32}", listed.headers["x-request-id"])
    assert listed.headers["x-request-id"] != created.headers["x-request-id"]


@needs_nginx
def test_a_large_body_gets_the_error_of_the_gateway(proxied: httpx2.Client) -> None:
    """nginx passes on a body of 1.1 MB, so that the client gets the gateway's code 4130."""
    answer = proxied.post("/v2/sheets/Cities", json={"name": "x" * 1_100_000})

    assert (answer.status_code, answer.json()["code"]) == (413, 4130)


@needs_nginx
def test_a_client_cannot_forge_its_address(proxied: httpx2.Client) -> None:
    """nginx replaces a client's `X-Forwarded-For`, so a new forged address does not avoid
    the limit.
    """
    codes = [
        proxied.get(
            "/v2/sheets/Cities",
            headers={"Authorization": "Bearer x", "X-Forwarded-For": f"192.0.2.{number}"},
        ).json()["code"]
        for number in range(3)
    ]

    assert codes == [4011, 4292, 4292]


@contextmanager
def tls(url: str, source: str, sent: bytes) -> Iterator[ssl.SSLSocket]:
    """Open a TLS connection from an address, and send some bytes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        connected(url.replace("https", "http"), source=source) as client,
        context.wrap_socket(client) as secure,
    ):
        secure.sendall(sent)
        yield secure


def is_open(client: ssl.SSLSocket) -> bool:
    """True if the connection is open and no bytes have arrived."""
    client.setblocking(False)
    try:
        client.recv(1)
    except ssl.SSLWantReadError:
        return True
    except ConnectionError:
        return False
    return False


@needs_nginx
def test_incomplete_heads_of_one_address_do_not_block_others(proxied: httpx2.Client) -> None:
    """While 600 connections of one address send no complete head, another address is served."""
    url, seen = str(proxied.base_url), []
    with ExitStack() as clients:
        held = []
        for _ in range(10):
            held += [
                clients.enter_context(tls(url, "127.0.0.2", INCOMPLETE_HEAD)) for _ in range(60)
            ]
            with tls(url, "127.0.0.3", LIVE) as other:
                seen.append(other.recv(13))
        are_open = [is_open(client) for client in held]

    assert seen == [b"HTTP/1.1 200 "] * 10
    assert are_open == [True] * 600


@needs_nginx
def test_incomplete_heads_are_ended_by_nginx(tmp_path: Path) -> None:
    """nginx closes a connection whose head is incomplete after the gateway's
    `head_timeout_seconds`.
    """
    seconds = f"{ServerSettings().head_timeout_seconds:.0f}s"
    block = NGINX.replaced(f"client_header_timeout {seconds}", "client_header_timeout 1s")
    with (
        running_nginx(block, tmp_path, gateway="127.0.0.1:9") as proxy,
        tls(proxy.url, "127.0.0.2", INCOMPLETE_HEAD) as client,
    ):
        rest = client.recv(65_536)

    assert rest == b""
    assert f"read_header {seconds}" in CADDY.text


@needs_nginx
def test_concurrent_requests_of_one_address_are_limited(proxied: httpx2.Client) -> None:
    """A request over the connection limit of an address gets 503; another address is served."""
    (most,) = re.findall(r"limit_conn sheets_gateway (\d+);", NGINX.text)
    url = str(proxied.base_url)
    with ExitStack() as clients:
        begun = [clients.enter_context(tls(url, "127.0.0.2", UPLOAD)) for _ in range(int(most))]
        refused, served = (
            clients.enter_context(tls(url, source, LIVE)).recv(13)
            for source in ("127.0.0.2", "127.0.0.3")
        )
        are_open = [is_open(client) for client in begun]

    assert (refused, served) == (b"HTTP/1.1 503 ", b"HTTP/1.1 200 ")
    assert all(are_open)


@needs_nginx
@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        pytest.param("listen 443 ssl", "listen 443 ssl", "", id="right"),
        pytest.param("proxy_pass ", "proxy_pas ", 'unknown directive "proxy_pas"', id="directive"),
        pytest.param("sheets_gateway {", "gateway {", "host not found", id="upstream"),
        pytest.param("\n}", "\n", "not terminated", id="brace"),
    ],
)
def test_a_mistake_for_nginx_is_found(old: str, new: str, word: str, tmp_path: Path) -> None:
    """A mistake in the nginx configuration is reported with nginx's message."""
    write_certificate(tmp_path)
    block = NGINX.replaced(old, new)
    text = nginx_text(block, tmp_path, port=1, gateway="127.0.0.1:9")

    assert word in nginx_problems(text, tmp_path)
    assert bool(nginx_problems(text, tmp_path)) == bool(word)


def test_the_caddyfile_is_well_formed() -> None:
    """The Caddyfile has balanced blocks with allowed directives. Caddy itself is not run."""
    assert caddy_problems(CADDY) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("reverse_proxy", "reverse_proxi", id="directive"),
        pytest.param("transport http", "http", id="place"),
        pytest.param("timeouts", "timeout", id="option"),
        pytest.param("\n}", "", id="open"),
        pytest.param("\n}", "\n}\n}", id="closed twice"),
    ],
)
def test_a_mistake_for_caddy_is_found(old: str, new: str) -> None:
    """A misspelt or misplaced directive, and an unbalanced brace, are reported."""
    assert caddy_problems(CADDY.replaced(old, new)) != []


def test_a_minimal_caddyfile_is_valid() -> None:
    """The check accepts a minimal Caddyfile and ignores comments."""
    text = f"{HOST} {{\n\treverse_proxy 127.0.0.1:8000  # {{\n}}"

    assert caddy_problems(Block(page="p", line=1, language="caddyfile", text=text)) == []
