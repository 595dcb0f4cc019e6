"""Metrics in the Prometheus and OpenMetrics formats."""

import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from gateway.commands.serve import with_metrics
from gateway.server.running import in_background, make_server
from gateway.server.sockets import base_url, bind
from gateway.settings.model import ConfigError
from gateway.telemetry.events import REQUEST_KINDS, STATUS_CLASSES, Tallies
from gateway.telemetry.metrics import create_metrics

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "log-and-metrics.md").read_text("utf-8")


def samples(tallies: Tallies) -> Mapping[str, float]:
    """Return all samples by name and labels, without the samples of the process."""
    text = TestClient(create_metrics(tallies), "http://localhost").get("/metrics").text
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.startswith("process_")
    }


def test_requests_are_reported_by_kind_and_status() -> None:
    """Counters and histograms have exactly the requests and cache results that were counted."""
    tallies = Tallies()
    lists = tallies.requests["list"]
    lists.statuses[2] = lists.statuses[5] = 1
    lists.durations.add(0.002)
    lists.durations.add(0.2)
    tallies.cache |= {"hit": 1, "": 1}

    found = {name: value for name, value in samples(tallies).items() if value}
    assert found.pop("gateway_request_seconds_sum list") == pytest.approx(0.202)
    buckets = {name: found.pop(name) for name in list(found) if "_bucket" in name}
    assert found == {
        "gateway_requests_total list 2xx": 1,
        "gateway_requests_total list 5xx": 1,
        "gateway_request_seconds_count list": 2,
        "gateway_cache_results_total hit": 1,
    }
    assert [buckets[f"gateway_request_seconds_bucket list {le}"] for le in ("0.0025", "+Inf")] == [
        1,
        2,
    ]
    assert "gateway_request_seconds_bucket list 0.001" not in buckets


def test_calls_and_states_are_reported() -> None:
    """The metrics have Google calls, waits for quota, the breaker's state and the snapshots."""
    tallies = Tallies(snapshots=3, snapshot_bytes=4096)
    tallies.calls["write", "unknown"] += 1
    tallies.account_calls["main", "write"] += 1
    tallies.call_durations["write"].add(0.5)
    tallies.budget_waits.add(2.0)
    tallies.note_breaker(is_open=True)
    tallies.refused_accounts["second"] = True

    found = {name: value for name, value in samples(tallies).items() if "_bucket" not in name}
    assert {name: value for name, value in found.items() if value} == {
        "gateway_google_calls_total write unknown": 1,
        "gateway_google_account_calls_total main write": 1,
        "gateway_google_account_refused second": 1,
        "gateway_google_call_seconds_count write": 1,
        "gateway_google_call_seconds_sum write": 0.5,
        "gateway_budget_wait_seconds_count": 1,
        "gateway_budget_wait_seconds_sum": 2.0,
        "gateway_breaker_open": 1,
        "gateway_breaker_openings_total": 1,
        "gateway_snapshots": 3,
        "gateway_snapshot_bytes": 4096,
    }


def test_redis_is_reported_where_it_is_used() -> None:
    """Only in a cluster do the metrics have Redis's state and the number of processes."""
    with_redis = samples(Tallies(is_store_available=True, processes=3))
    names = with_redis.keys() - samples(Tallies()).keys()

    assert {name: with_redis[name] for name in names} == {
        "gateway_redis_available": 1,
        "gateway_processes": 3,
    }


def test_all_series_are_there_from_the_start() -> None:
    """All series exist from the start with the value 0, so that no series appears later."""
    found = samples(Tallies())

    assert set(found.values()) == {0.0}
    assert {
        f"gateway_requests_total {kind} {name}" for kind in REQUEST_KINDS for name in STATUS_CLASSES
    } < (set(found))


def test_accept_chooses_the_format() -> None:
    """The answer is OpenMetrics if `Accept` names OpenMetrics, else the Prometheus text format."""
    client = TestClient(create_metrics(Tallies()), "http://localhost")
    types = [
        client.get("/metrics", headers={"Accept": accept}).headers["content-type"].split("; ")
        for accept in ("*/*", "application/openmetrics-text; version=1.0.0")
    ]

    assert [each[0] for each in types] == ["text/plain", "application/openmetrics-text"]
    assert all("charset=utf-8" in each for each in types)


def test_every_metric_is_documented() -> None:
    """The page `log-and-metrics.md` names each metric."""
    text = TestClient(create_metrics(Tallies()), "http://localhost").get("/metrics").text
    names = {line.split(" ")[2] for line in text.splitlines() if line.startswith("# TYPE gateway_")}

    assert len(names) >= 10
    assert sorted(name for name in names if f"`{name}`" not in PAGE) == []


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1:9100", "192.0.2.7", "[::1]:9100", "[2001:db8::7]"),
        *("localhost", "LOCALHOST:9100", "metrics.internal", "Metrics.Internal.:80"),
    ],
)
def test_metrics_accept_known_hosts(host: str) -> None:
    """The `Host` can be an IP address, localhost or a configured name, with any port and case."""
    client = TestClient(create_metrics(Tallies(), hosts=["metrics.internal"]))
    answer = client.get("/metrics", headers={"Host": host})

    assert answer.status_code == 200
    assert "gateway_requests_total" in answer.text


@pytest.mark.parametrize(
    "host",
    [
        *("rebound.example", "rebound.example:9100", "localhost.rebound.example", "127.0.0.1.x"),
        *(
            "x.metrics.internal",
            "metrics",
            "",
            "[::1",
            "user@localhost",
            "localhost/",
            "2130706433",
        ),
    ],
)
def test_metrics_reject_unknown_hosts(host: str) -> None:
    """A `Host` that DNS rebinding could use gets 421 without metrics."""
    client = TestClient(create_metrics(Tallies(), hosts=["metrics.internal"]))
    answer = client.get("/metrics", headers={"Host": host})

    assert answer.status_code == 421
    assert answer.text.startswith("Unknown host name.")
    assert "gateway" not in answer.text


async def _gateway(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    await PlainTextResponse("the gateway")(scope, receive, send)


@pytest.fixture
def listening() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two sockets that listen on free ports of the loopback."""
    with bind("127.0.0.1", 0) as first, bind("127.0.0.1", 0) as second:
        yield first, second


def test_each_port_has_its_own_application(
    listening: tuple[socket.socket, socket.socket],
) -> None:
    """The port of the API has no metrics, and the port of the metrics has nothing else."""
    main, aside = listening
    with_both = with_metrics(_gateway, aside, beside=main, hosts=["metrics.internal"])
    server = make_server(with_both, shutdown_seconds=1)
    with in_background(server, main, aside) as url:
        host = {"Host": base_url(aside).removeprefix("http://")}
        answers = [
            httpx2.get(f"{url}/metrics", headers=host),
            httpx2.get(f"{base_url(aside)}/metrics"),
            httpx2.get(f"{base_url(aside)}/v2/sheets/Cities"),
            httpx2.get(f"{base_url(aside)}/metrics", headers={"Host": "metrics.internal:9100"}),
            httpx2.get(f"{base_url(aside)}/metrics", headers={"Host": "rebound.example:9100"}),
        ]

    assert [answer.status_code for answer in answers] == [200, 200, 404, 200, 421]
    assert answers[0].text == "the gateway"
    assert "gateway_requests_total{" in answers[1].text


def bound_at_two_addresses() -> tuple[socket.socket, socket.socket]:
    """Return sockets at two loopback addresses with the same port, or raise OSError."""
    for _ in range(20):
        main = bind("127.0.0.1", 0)
        try:
            return main, bind("127.0.0.2", main.getsockname()[1])
        except OSError:
            main.close()
    raise OSError("no port is free at both addresses")


def test_a_port_at_two_addresses_is_refused() -> None:
    """`metrics.listen` must not have the port of the API, not even at another address."""
    main, aside = bound_at_two_addresses()
    with main, aside, pytest.raises(ConfigError, match=r"metrics\.listen: must have another port"):
        with_metrics(_gateway, aside, beside=main)


def test_a_unix_socket_has_no_port() -> None:
    """If the API listens on a Unix socket, the metrics can have any port."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as main:
        main.bind(f"{folder}/gateway.sock")
        with bind("127.0.0.1", 0) as aside:
            with_metrics(_gateway, aside, beside=main)
