"""`/metrics` for Prometheus, on its own listener.

Rules: every name and label is in docs/reference/log-and-metrics.md, and none comes from a request.
This module only reads counters; `gateway.telemetry.events` updates them. Requests for a host name
that is not configured are refused: after DNS rebinding a page could read this address, but its
browser sends the page's name in `Host`.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate

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

_UNKNOWN_HOST = "Unknown host name. Ask under an IP address, or add the name to metrics.hosts.\n"


def create_metrics(tallies: Tallies = counted, *, hosts: Collection[str] = ()) -> Starlette:
    """An application that answers `/metrics` in the format of the Accept header.

    It answers requests for IP addresses, localhost and the names in `hosts`, at any port; others
    get 421.
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


class TallyCollector(Collector):
    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies

    def collect(self) -> Iterator[Metric]:
        yield from _requests(self._tallies)
        yield from _calls(self._tallies)
        yield from _state(self._tallies)


def _requests(tallies: Tallies) -> Iterator[Metric]:
    yield _counter(
        "gateway_requests",
        "Answered requests, by operation and class of the status.",
        ("kind", "status"),
        (
            ((kind, name), count)
            for kind, tally in tallies.requests.items()
            for name, count in zip(STATUS_CLASSES, tally.statuses, strict=True)
        ),
    )
    yield _histogram(
        "gateway_request_seconds",
        "Time from a request's head to the end of its answer.",
        ("kind",),
        (((kind,), tally.durations) for kind, tally in tallies.requests.items()),
    )
    yield _counter(
        "gateway_cache_results",
        "Reads, by the source of their rows: a snapshot, Google, or a stale snapshot.",
        ("result",),
        (((result,), count) for result, count in tallies.cache.items() if result),
    )
    yield CounterMetricFamily(
        "gateway_forms_discarded",
        "Forms that were not stored because _gotcha was filled.",
        tallies.discarded_forms,
    )


def _calls(tallies: Tallies) -> Iterator[Metric]:
    yield _counter(
        "gateway_google_calls",
        "Calls to Google, each attempt, by outcome.",
        ("kind", "outcome"),
        tallies.calls.items(),
    )
    yield _counter(
        "gateway_google_account_calls",
        "Calls to Google, each attempt, by account.",
        ("account", "kind"),
        tallies.account_calls.items(),
    )
    yield _histogram(
        "gateway_google_call_seconds",
        "Time that Google took for a call.",
        ("kind",),
        (((kind,), durations) for kind, durations in tallies.call_durations.items()),
    )
    yield _histogram(
        "gateway_budget_wait_seconds",
        "Time that calls to Google waited for quota, if they waited.",
        (),
        [((), tallies.budget_waits)],
    )


def _state(tallies: Tallies) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "gateway_breaker_open",
        "1 while the circuit breaker is open.",
        float(tallies.is_breaker_open),
    )
    yield CounterMetricFamily(
        "gateway_breaker_openings",
        "Times that the circuit breaker opened.",
        tallies.breaker_openings,
    )
    refused = GaugeMetricFamily(
        "gateway_google_account_refused", "1 while Google refuses the account.", labels=["account"]
    )
    for account, is_refused in tallies.refused_accounts.items():
        refused.add_metric([account], float(is_refused))
    yield refused
    if tallies.is_store_available is not None:
        yield GaugeMetricFamily(
            "gateway_redis_available", "1 while Redis answers.", float(tallies.is_store_available)
        )
        yield GaugeMetricFamily(
            "gateway_processes", "Processes that share this Redis, as last seen.", tallies.processes
        )
    yield GaugeMetricFamily("gateway_snapshots", "Worksheets in memory.", tallies.snapshots)
    yield GaugeMetricFamily(
        "gateway_snapshot_bytes", "Estimated memory of cached worksheets.", tallies.snapshot_bytes
    )


def _counter(
    name: str, help_: str, labels: Iterable[str], values: Iterable[tuple[Sequence[str], int]]
) -> Metric:
    family = CounterMetricFamily(name, help_, labels=list(labels))
    for names, count in values:
        family.add_metric(names, count)
    return family


def _histogram(
    name: str, help_: str, labels: Iterable[str], values: Iterable[tuple[Sequence[str], Durations]]
) -> Metric:
    family = HistogramMetricFamily(name, help_, labels=list(labels))
    bounds = [*(str(bound) for bound in BUCKET_SECONDS), "+Inf"]
    for names, durations in values:
        upwards = list(zip(bounds, accumulate(durations.counts), strict=True))
        family.add_metric(names, upwards, sum_value=durations.seconds)
    return family
