"""nginx and Caddy of the documentation ignore a client's claimed address and log no key."""

import re
import shutil
import ssl
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from tests.docs.blocks import Block, blocks_of
from tests.docs.proxies import HOST, NGINX_CLUSTER, caddy_problems, running_nginx
from tests.docs.stand_ins import stand_ins

(NGINX,) = blocks_of("nginx")
(CADDY,) = blocks_of("caddyfile")
NOWHERE = "127.0.0.1:9"
KEY = "sgw_SecretOfTheTest"
CLAIMS = {"X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.1"}

both = pytest.mark.parametrize(
    "block", [pytest.param(NGINX, id="one"), pytest.param(NGINX_CLUSTER, id="several")]
)
needs_nginx = pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx to run")


def ask(block: Block, folder: Path, gateway: str) -> int:
    """Return the status of a read with a key in its URL and forged addresses, through a
    new nginx.
    """
    text = re.sub(r"(gateway-\d|127\.0\.0\.1):8000", gateway, block.text)
    block = replace(block, text=text)
    with (
        running_nginx(block, folder, gateway="") as proxy,
        httpx2.Client(
            verify=ssl.create_default_context(cafile=str(proxy.certificate)),
            headers={"Host": HOST, **CLAIMS},
        ) as client,
    ):
        return client.get(f"{proxy.url}/v2/sheets/Cities", params={"apiKey": KEY}).status_code


@needs_nginx
@both
def test_nginx_replaces_a_clients_own_addresses(block: Block, tmp_path: Path) -> None:
    """The gateway receives one address header, with the address of the connection to nginx."""
    with stand_ins([True]) as gateways:
        status = ask(block, tmp_path, f"127.0.0.1:{gateways.ports[0]}")
    (headers,) = gateways.headers

    assert status == 200
    assert headers.get("X-Forwarded-For") == "127.0.0.1"
    assert headers.get("Forwarded") is None


@needs_nginx
@both
@pytest.mark.parametrize("gateway", [NOWHERE, "unix:{folder}/missing"], ids=["port", "socket"])
def test_nginx_logs_no_key(block: Block, gateway: str, tmp_path: Path) -> None:
    """nginx logs no key, even if the gateway is down and nginx logs an error."""
    status = ask(block, tmp_path, gateway.format(folder=tmp_path))
    log = (tmp_path / "error.log").read_text("utf-8")

    assert status == 502
    assert KEY not in log


def test_caddy_removes_addresses_and_keys() -> None:
    """The Caddyfile removes `Forwarded`, and logs neither query nor headers."""
    words = [line.split("#")[0].split() for line in CADDY.text.splitlines()]

    assert caddy_problems(CADDY) == []
    assert ["header_up", "-Forwarded"] in words
    assert ["request>headers", "delete"] in words
    assert ["request>uri", "regexp", '"\\?.*"', '""'] in words
