"""Prometheus alerts use metrics, labels and values that exist."""

import re
from collections.abc import Iterator, Mapping

import pytest
import yaml  # type: ignore[import-untyped]  # has no types
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from gateway.telemetry.events import Tallies
from gateway.telemetry.metrics import create_metrics
from tests.docs.blocks import TOP, blocks_of

RULES = (TOP / "docs" / "deployment" / "prometheus-rules.yaml").read_text("utf-8")
PAGE = (TOP / "docs" / "how-to" / "alerts.md").read_text("utf-8")
OF_PROMETHEUS = {"up": {"job", "instance"}}
OF_TARGET = {"job", "instance"}

_WORD = re.compile(r"(?<![\w\"$.])([a-z_]+)(?=\s*[{\[)\s]|$)(?!\s*\()")
_SELECTOR = re.compile(r"([a-z_]+)\{([^}]*)\}")
_MATCHER = re.compile(r'(\w+)(=~|=)"([^"]*)"')
_NO_METRICS = {"by", "sum", "rate", "increase", "max", "min", "instance"}


def served() -> Mapping[str, Mapping[str, set[str]]]:
    """Return the label values of each sample of `/metrics`, by sample name and label."""
    tallies = Tallies()
    tallies.is_store_available = True
    tallies.refused_accounts["main"] = False
    tallies.account_calls["main", "read"] += 1
    tallies.cache["hit"] += 1
    text = TestClient(create_metrics(tallies), base_url="http://127.0.0.1").get("/metrics").text
    found: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for name, value in sample.labels.items():
                labels.setdefault(name, set()).add(value)
    return found


def problems_of(expression: str) -> Iterator[str]:
    """Yield metrics, labels and values of an expression that the gateway does not have."""
    samples = served()
    for name in {*_WORD.findall(expression)} - _NO_METRICS:
        if name not in samples and name not in OF_PROMETHEUS:
            yield f"there is no metric {name}"
    for name, matchers in _SELECTOR.findall(expression):
        labels = samples.get(name, {})
        for label, operator, value in _MATCHER.findall(matchers):
            values = value.split("|") if operator == "=~" else [value]
            if label not in labels and label not in OF_TARGET:
                yield f"{name} has no label {label}"
            elif label in labels and not labels[label].issuperset(values):
                yield f"{label} of {name} is never {value}"


ALERTS = [rule for group in yaml.safe_load(RULES)["groups"] for rule in group["rules"]]
NAMES = [rule["alert"] for rule in ALERTS]


@pytest.mark.parametrize("rule", ALERTS, ids=NAMES)
def test_an_alert_uses_existing_metrics(rule: Mapping[str, object]) -> None:
    """Each alert rule uses existing metrics, labels and values; a misspelt rule would
    never alert.
    """
    assert [*problems_of(str(rule["expr"]))] == []
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"[0-9]+m", str(rule.get("for", "0m")))


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param("gateway_redis_avaliable == 0", "no metric gateway_redis_av", id="metric"),
        pytest.param("rate(gateway_requests[5m]) > 1", "no metric gateway_requests", id="suffix"),
        pytest.param('gateway_requests_total{code="5xx"}', "no label code", id="label"),
        pytest.param('gateway_requests_total{status="500"}', "is never 500", id="value"),
        pytest.param('gateway_requests_total{status=~"5xx|6xx"}', "is never 5xx|6xx", id="values"),
    ],
)
def test_a_mistake_in_an_alert_is_found(expression: str, problem: str) -> None:
    """A misspelt metric, label or value in an alert rule is reported."""
    assert problem in "".join(problems_of(expression))


def test_the_page_explains_each_alert() -> None:
    """The table of the page lists the alert rules in order, with their delays."""
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE, re.MULTILINE)
    delays = [str(rule.get("for", "at once")).replace("m", " min") for rule in ALERTS]

    assert rows == [*zip(NAMES, delays, strict=True)]


def test_the_page_scrapes_the_job_of_the_rules() -> None:
    """The scrape configuration of the page has the job name that the rules select."""
    (sample,) = [block for block in blocks_of("yaml") if block.page.endswith("alerts.md")]
    (scraped,) = yaml.safe_load(sample.text)["scrape_configs"]

    assert {*re.findall(r'job="([^"]+)"', RULES)} == {scraped["job_name"]}
