"""The documented nginx for several gateways repeats only safe requests."""

import shutil
import ssl
from collections.abc import Sequence
from pathlib import Path

import httpx2
import pytest

from tests.docs.proxies import (
    HOST,
    NGINX_CLUSTER,
    nginx_problems,
    nginx_text,
    running_nginx,
    write_certificate,
)
from tests.docs.stand_ins import stand_ins

DEAD_PORT = 9
KEY = {"Idempotency-Key": "order-7"}

pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx to run")


def ask(
    folder: Path, ports: Sequence[int], method: str, headers: dict[str, str], count: int = 1
) -> list[int]:
    """Return the statuses of requests to a new nginx in front of gateways at these ports."""
    block = NGINX_CLUSTER
    for number, port in enumerate(ports, start=1):
        block = block.replaced(f"gateway-{number}:8000", f"127.0.0.1:{port}")
    with (
        running_nginx(block, folder, gateway="") as proxy,
        httpx2.Client(
            verify=ssl.create_default_context(cafile=str(proxy.certificate)),
            headers={"Host": HOST, **headers},
        ) as client,
    ):
        body = None if method == "GET" else b"{}"
        return [
            client.request(method, f"{proxy.url}/v2/sheets/Cities/2", content=body).status_code
            for _ in range(count)
        ]


@pytest.mark.parametrize(
    ("method", "headers", "times"),
    [
        pytest.param("GET", {}, 3, id="read"),
        pytest.param("POST", {}, 1, id="POST"),
        pytest.param("PUT", {}, 1, id="PUT"),
        pytest.param("PATCH", {}, 1, id="PATCH"),
        pytest.param("DELETE", {}, 1, id="DELETE"),
        *(
            pytest.param(method, KEY, 3, id=f"{method} with a key")
            for method in ("POST", "PUT", "PATCH", "DELETE")
        ),
    ],
)
def test_a_sent_request_is_repeated_only_if_safe(
    method: str, headers: dict[str, str], times: int, tmp_path: Path
) -> None:
    """If a gateway closes the connection, nginx repeats reads, and writes with an
    Idempotency-Key.
    """
    with stand_ins([False] * 3) as gateways:
        statuses = ask(tmp_path, gateways.ports, method, headers)

    assert statuses == [502]
    assert gateways.seen == [method] * times


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        pytest.param("GET", {}, id="read"),
        pytest.param("POST", {}, id="POST"),
        pytest.param("DELETE", KEY, id="DELETE with a key"),
    ],
)
def test_an_unsent_request_goes_to_another_gateway(
    method: str, headers: dict[str, str], tmp_path: Path
) -> None:
    """A request goes to the gateway that accepts connections if other gateways refuse them."""
    with stand_ins([True]) as gateways:
        ports = [DEAD_PORT, *gateways.ports, DEAD_PORT]
        statuses = ask(tmp_path, ports, method, headers, count=6)

    assert statuses == [200] * 6
    assert gateways.seen == [method] * 6


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        pytest.param("listen 443 ssl", "listen 443 ssl", "", id="right"),
        pytest.param("least_conn;", "least_con;", 'unknown directive "least_con"', id="directive"),
        pytest.param("non_idempotent", "non_idempotant", "invalid value", id="value"),
    ],
)
def test_a_mistake_for_nginx_is_found(old: str, new: str, word: str, tmp_path: Path) -> None:
    """A mistake in the configuration for several gateways is reported."""
    write_certificate(tmp_path)
    block = NGINX_CLUSTER.replaced(old, new)
    for number in (1, 2, 3):
        block = block.replaced(f"gateway-{number}:8000", f"127.0.0.1:{number}")
    problems = nginx_problems(nginx_text(block, tmp_path, port=1, gateway=""), tmp_path)

    assert word in problems
    assert bool(problems) == bool(word)
