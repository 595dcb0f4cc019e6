"""`/metrics` for Prometheus, on a separate listener.

Rules:
- Every name and label is in docs/reference/log-and-metrics.md. None comes from a request.
- This module only reads counters. `gateway.telemetry.events` updates the counters.
- Requests for an unknown host name are refused. Otherwise a web page could read this address with
  DNS rebinding. The browser of such a page sends the host name of the page in `Host`.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeVar

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gateway.settings.address import host_in, is_ip_address
from gateway.telemetry.events import BUCKET_SECONDS, STATUS_CLASSES, Durations, Tallies
from gateway.telemetry.events import tallies as counted

_UNKNOWN_HOST = "Unknown host name. Use an IP address, or add the name to metrics.hosts.\n"


def create_metrics(tallies: Tallies = counted, *, hosts: Collection[str] = ()) -> Starlette:
    """Return an application that answers `/metrics` in the format of the Accept header.

    The host in a request must be an IP address, localhost, or a name in `hosts`. Requests with
    another host get 421.
    """
    names = {"localhost", *hosts}
    registry = CollectorRegistry()
    registry.register(TallyCollector(tallies))
    ProcessCollector(registry=registry)

    async def metrics(request: Request) -> Response:
        host = host_in(request.headers.get("host", ""))
        if host not in names and not is_ip_address(host):
            return PlainTextResponse(_UNKNOWN_HOST, 421)
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(registry), headers={"Content-Type": content_type})

    return Starlette(routes=[Route("/metrics", metrics)])


_HELP = {
    "gateway_requests": "Requests by operation and class of the answer's status.",
    "gateway_request_seconds": "Seconds from a request's head to the end of its answer.",
    "gateway_cache_results": (
        "Reads by source of the rows: hit (cache), miss (Google), stale (cache, Google failed)."
    ),
    "gateway_forms_discarded": "Forms that were not stored because _gotcha was filled.",
    "gateway_google_calls": "Calls to Google by kind and outcome. Each attempt counts.",
    "gateway_google_account_calls": "Calls to Google by account and kind. Each attempt counts.",
    "gateway_google_call_seconds": "Seconds that Google took for a call.",
    "gateway_budget_wait_seconds": "Seconds that calls to Google waited for quota, mostly 0.",
    "gateway_breaker_open": "1 while the circuit breaker is open.",
    "gateway_breaker_openings": "Number of times that the circuit breaker opened.",
    "gateway_google_account_refused": "1 while Google refuses the account.",
    "gateway_redis_available": "1 while Redis answers.",
    "gateway_processes": "Number of processes that share this Redis, at the last contact.",
    "gateway_snapshots": "Number of cached worksheets.",
    "gateway_snapshot_bytes": "Estimated memory of cached worksheets in bytes.",
}


class TallyCollector(Collector):
    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies

    def collect(self) -> Iterator[Metric]:
        for name, labels, counts in _counters(self._tallies):
            counter = CounterMetricFamily(name, _HELP[name], labels=labels)
            for values, count in counts:
                counter.add_metric(values, count)
            yield counter
        bounds = [*(str(bound) for bound in BUCKET_SECONDS), "+Inf"]
        for name, labels, durations in _histograms(self._tallies):
            histogram = HistogramMetricFamily(name, _HELP[name], labels=labels)
            for values, each in durations:
                upwards = list(zip(bounds, accumulate(each.counts), strict=True))
                histogram.add_metric(values, upwards, sum_value=each.seconds)
            yield histogram
        for name, labels, present in _gauges(self._tallies):
            gauge = GaugeMetricFamily(name, _HELP[name], labels=labels)
            for values, value in present:
                gauge.add_metric(values, float(value))
            yield gauge


T = TypeVar("T")

Row = tuple[str, Sequence[str], Iterable[tuple[Sequence[str], T]]]
"""Name of a metric, names of its labels, and pairs of label values and metric value."""


def _counters(tallies: Tallies) -> Iterator[Row[int]]:
    statuses = (
        ((kind, name), count)
        for kind, tally in tallies.requests.items()
        for name, count in zip(STATUS_CLASSES, tally.statuses, strict=True)
    )
    results = (((result,), count) for result, count in tallies.cache.items() if result)
    yield "gateway_requests", ("kind", "status"), statuses
    yield "gateway_cache_results", ("result",), results
    yield "gateway_forms_discarded", (), [((), tallies.discarded_forms)]
    yield "gateway_google_calls", ("kind", "outcome"), tallies.calls.items()
    yield "gateway_google_account_calls", ("account", "kind"), tallies.account_calls.items()
    yield "gateway_breaker_openings", (), [((), tallies.breaker_openings)]


def _histograms(tallies: Tallies) -> Iterator[Row[Durations]]:
    requests = (((kind,), tally.durations) for kind, tally in tallies.requests.items())
    calls = (((kind,), durations) for kind, durations in tallies.call_durations.items())
    yield "gateway_request_seconds", ("kind",), requests
    yield "gateway_google_call_seconds", ("kind",), calls
    yield "gateway_budget_wait_seconds", (), [((), tallies.budget_waits)]


def _gauges(tallies: Tallies) -> Iterator[Row[float]]:
    refused = (((account,), is_so) for account, is_so in tallies.refused_accounts.items())
    yield "gateway_breaker_open", (), [((), tallies.is_breaker_open)]
    yield "gateway_google_account_refused", ("account",), refused
    if tallies.is_store_available is not None:
        yield "gateway_redis_available", (), [((), tallies.is_store_available)]
        yield "gateway_processes", (), [((), tallies.processes)]
    yield "gateway_snapshots", (), [((), tallies.snapshots)]
    yield "gateway_snapshot_bytes", (), [((), tallies.snapshot_bytes)]
