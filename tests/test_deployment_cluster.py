"""The deployment files for several gateways match each other, the page and the code."""

import copy
import re
import shlex
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]  # has no types
from starlette.testclient import TestClient

from gateway.commands.cli import main
from gateway.commands.workers import EXIT_SECONDS, LONGEST_PAUSE_SECONDS, MAX_FAILED_STARTS
from gateway.server.running import EXIT_GRACE_SECONDS
from gateway.settings.address import parse_proxies
from gateway.settings.model import ServerSettings, Settings, load_settings
from gateway.telemetry.events import Tallies
from gateway.telemetry.metrics import create_metrics
from tests.docs.command_line import problems_of
from tests.docs.dockerfile import instructions, the, variables
from tests.docs.kubernetes import manifest_problems

DOCS = Path(__file__).parents[1] / "docs"
FILES = DOCS / "deployment" / "cluster"
PAGE = (DOCS / "how-to" / "several-processes.md").read_text("utf-8")
UPGRADE = (DOCS / "how-to" / "rolling-upgrade.md").read_text("utf-8")
IMAGE = instructions((DOCS / "deployment" / "Dockerfile").read_text("utf-8"))
NGINX = (FILES / "nginx.conf").read_text("utf-8")
COMPOSE: Any = yaml.safe_load((FILES / "compose.yaml").read_text("utf-8"))
ONE: Any = yaml.safe_load((DOCS / "deployment" / "compose.yaml").read_text("utf-8"))
SERVICES: Any = COMPOSE["services"]
GATEWAYS = ("gateway-1", "gateway-2", "gateway-3")
MANIFESTS: Any = list(yaml.safe_load_all((FILES / "kubernetes.yaml").read_text("utf-8")))
JOB, DEPLOYMENT, SERVICE, POLICY = MANIFESTS
POD: Any = DEPLOYMENT["spec"]["template"]["spec"]
SECRET = {
    "GATEWAY_ACCESS__DATABASE": "postgresql://gateway:x@host/gateway",
    "GATEWAY_ACCESS__PEPPER": "0123456789abcdef",
    "GATEWAY_CLUSTER__REDIS": "redis://host",
}
LONGEST_STOP_SECONDS = ServerSettings().shutdown_seconds + EXIT_GRACE_SECONDS


def substituted(value: str) -> str:
    """Replace variables of the compose file by secrets."""
    return re.sub(r"\$\{(\w+):\?\}", "0123456789abcdef", value)


def settings_of_compose() -> Settings:
    environment = {
        name: substituted(value) for name, value in SERVICES["gateway-1"]["environment"].items()
    }
    return load_settings(None, {**variables(IMAGE), **environment})


def test_the_gateways_are_alike() -> None:
    """The services of the gateways differ only in their addresses."""
    others = [{**SERVICES[name], "networks": None} for name in GATEWAYS]

    assert others[0] == others[1] == others[2]
    assert len({str(SERVICES[name]["networks"]) for name in GATEWAYS}) == len(GATEWAYS)


def test_the_gateways_form_a_cluster() -> None:
    """The environment of the gateways is a valid configuration of a cluster that trusts
    nginx only.
    """
    settings = settings_of_compose()
    nginx = SERVICES["nginx"]["networks"]["default"]["ipv4_address"]

    assert settings.is_cluster
    assert [str(each) for each in settings.access.trusted_proxies] == [f"{nginx}/32"]
    assert "//postgres:5432/" in str(settings.access.database)
    assert "postgres" in SERVICES
    assert "redis" in SERVICES
    assert settings.metrics.listen is not None


def test_the_gateways_have_the_limits_of_a_single_gateway() -> None:
    """Build, limits and log equal those of the compose file for one gateway."""
    one, several = ONE["services"]["gateway"], SERVICES["gateway-1"]
    same = ("image", "restart", "stop_grace_period", "logging", "mem_limit", "pids_limit")
    confinement = ("read_only", "cap_drop", "security_opt")

    for name in (*same, *confinement):
        assert several[name] == one[name]
    assert several["build"]["dockerfile"] == one["build"]["dockerfile"]
    assert (FILES / several["build"]["context"]).resolve() == DOCS.parent
    (mount,) = several["volumes"]
    assert (FILES / mount.split(":")[0]).resolve() == DOCS.parent / "service-account.json"


def test_tables_exist_before_the_gateways_start() -> None:
    """Gateways wait for the migration, which waits for the database."""
    needed, migrate = SERVICES["gateway-1"]["depends_on"], SERVICES["migrate"]

    assert needed["migrate"] == {"condition": "service_completed_successfully"}
    assert migrate["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert migrate["restart"] == "no"
    assert problems_of(migrate["command"]) == []
    assert "healthcheck" in SERVICES["postgres"]


def test_the_page_creates_each_secret() -> None:
    """The page's command for `.env` creates each variable of the compose file."""
    text = (FILES / "compose.yaml").read_text("utf-8")
    (names,) = re.findall(r"for NAME in ([A-Z_ ]+);", PAGE)

    assert set(re.findall(r"\$\{(\w+)", text)) == set(names.split())


def test_nginx_uses_the_gateways() -> None:
    """nginx forwards to the gateway services and their port, and all its files are mounted."""
    servers = re.findall(r"server (\S+?):(\d+) ", NGINX)
    port = the(IMAGE, "EXPOSE").rest

    assert servers == [(name, port) for name in GATEWAYS]
    assert set(SERVICES["nginx"]["depends_on"]) == set(GATEWAYS)
    assert "./nginx.conf:/etc/nginx/conf.d/default.conf:ro" in SERVICES["nginx"]["volumes"]
    for path in re.findall(r"ssl_certificate(?:_key)? (\S+);", NGINX):
        assert f"{path}:{path}:ro" in SERVICES["nginx"]["volumes"]


def test_redis_does_not_persist() -> None:
    """Redis runs without persistence and eviction, and with a password."""
    words = SERVICES["redis"]["command"]
    options = dict(zip(words[1::2], words[2::2], strict=True))

    assert (options["--save"], options["--appendonly"]) == ("", "no")
    assert options["--maxmemory-policy"] == "noeviction"
    assert options["--requirepass"] == "${REDIS_PASSWORD:?}"
    assert "`maxmemory-policy` to `noeviction`" in PAGE


def test_the_manifest_is_valid() -> None:
    """The Kubernetes manifest has valid fields and the four expected objects."""
    assert manifest_problems(MANIFESTS) == []
    assert [each["kind"] for each in MANIFESTS] == [
        "Job",
        "Deployment",
        "Service",
        "NetworkPolicy",
    ]


def changed(path: str, value: object) -> Any:
    """Return the Deployment with another value at a path; `-` removes the value."""
    manifest = copy.deepcopy(DEPLOYMENT)
    *parents, name = path.split(".")
    at = manifest
    for each in parents:
        at = at[int(each)] if each.isdigit() else at[each]
    at.pop(name, None)
    if value != "-":
        at[name] = value
    return manifest


CONTAINER = "spec.template.spec.containers.0"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("kind", "Deploymnet", id="kind"),
        pytest.param("apiVersion", "apps/v2", id="version"),
        pytest.param("spec.replicas", "3", id="type"),
        pytest.param("spec.template.spec.terminationGracePeriod", 45, id="misspelt"),
        pytest.param("spec.selector", "-", id="missing"),
        pytest.param(f"{CONTAINER}.livenessProbe", {"path": "/livez"}, id="probe"),
        pytest.param(f"{CONTAINER}.image", "", id="empty"),
    ],
)
def test_a_mistake_in_the_manifest_is_found(path: str, value: object) -> None:
    """An unknown field or kind, a wrong type and a missing field are reported."""
    assert len(manifest_problems([changed(path, value)])) >= 1


def containers() -> Iterator[Any]:
    yield from JOB["spec"]["template"]["spec"]["containers"]
    yield from POD["initContainers"]
    yield from POD["containers"]


def test_the_pods_form_a_cluster() -> None:
    """The environment of the pods, with the page's Secret, is a valid configuration of a
    cluster.
    """
    (gateway,) = POD["containers"]
    (migrate,) = JOB["spec"]["template"]["spec"]["containers"]
    environment = {each["name"]: each["value"] for each in gateway["env"]}
    settings = load_settings(None, {**variables(IMAGE), **SECRET, **environment})
    mounts = {each["name"]: each["mountPath"] for each in gateway["volumeMounts"]}

    assert settings.is_cluster
    assert str(settings.google.credentials).startswith(f"{mounts['account']}/")
    assert {each["name"]: each["containerPort"] for each in gateway["ports"]} == {
        "http": int(the(IMAGE, "EXPOSE").rest),
        "metrics": settings.metrics.listen and settings.metrics.listen.port,
    }
    assert gateway["envFrom"] == migrate["envFrom"] == [{"secretRef": {"name": "sheets-gateway"}}]
    assert all(f"`{name}`" in PAGE for name in SECRET)
    assert problems_of(migrate["args"]) == []
    assert len({each["image"] for each in containers()}) == 1


def test_names_in_the_manifest_match() -> None:
    """Labels, ports, volumes and secrets of the manifest refer to existing names."""
    labels = DEPLOYMENT["spec"]["template"]["metadata"]["labels"]
    (gateway,) = POD["containers"]
    mounted = {mount["name"] for each in containers() for mount in each.get("volumeMounts", ())}
    secrets = set(re.findall(r"kubectl create secret generic (\S+)", PAGE))

    assert DEPLOYMENT["spec"]["selector"]["matchLabels"] == SERVICE["spec"]["selector"] == labels
    assert SERVICE["spec"]["ports"][0]["targetPort"] in {each["name"] for each in gateway["ports"]}
    assert mounted == {each["name"] for each in POD["volumes"]}
    assert secrets == {"sheets-gateway", POD["volumes"][0]["secret"]["secretName"]}
    assert POD["securityContext"]["runAsUser"] == 10001


def test_only_the_ingress_controller_reaches_the_pods() -> None:
    """The NetworkPolicy admits one namespace per port, because trusted addresses can
    claim any client address.
    """
    (gateway,) = POD["containers"]
    variables = {each["name"]: each.get("value") for each in gateway["env"]}
    ports = {each["name"] for each in gateway["ports"]}
    admitted = {
        port["port"]: each["from"] for each in POLICY["spec"]["ingress"] for port in each["ports"]
    }
    (network,) = parse_proxies(variables["GATEWAY_ACCESS__TRUSTED_PROXIES"])

    assert POLICY["spec"]["podSelector"]["matchLabels"] == SERVICE["spec"]["selector"]
    assert admitted.keys() == ports
    assert all(len(each) == 1 for each in admitted.values())
    assert isinstance(network, IPv4Network)
    assert network.prefixlen >= 16
    assert f"`{network}`" in PAGE


def test_the_pods_have_probes_and_time_to_stop() -> None:
    """The pods have all probes, and their grace period exceeds pause and longest shutdown."""
    (gateway,) = POD["containers"]
    command = gateway["lifecycle"]["preStop"]["exec"]["command"]
    paths = {name: gateway[name]["httpGet"]["path"] for name in gateway if name.endswith("Probe")}

    assert command[0] == "sleep"
    assert POD["terminationGracePeriodSeconds"] > int(command[1]) + LONGEST_STOP_SECONDS
    assert paths == {
        "startupProbe": "/livez",
        "livenessProbe": "/livez",
        "readinessProbe": "/readyz",
    }
    assert f"for {command[1]} more seconds (`preStop`)" in PAGE


def test_the_page_has_the_numbers_of_the_workers() -> None:
    """The page has the restart pauses and attempts of the code, and `serve` has `--workers`."""
    serve = typer.main.get_command(main).commands["serve"]  # type: ignore[attr-defined]

    assert f"before a new start grow to {LONGEST_PAUSE_SECONDS:.0f} seconds" in PAGE
    assert MAX_FAILED_STARTS == 5
    assert EXIT_SECONDS > EXIT_GRACE_SECONDS
    assert "If five\n  starts in a row fail" in PAGE
    assert "--workers" in {name for each in serve.params for name in each.opts}


def test_metrics_and_events_to_watch_exist() -> None:
    """Each metric and log event in the table on upgrades exists."""
    tallies = Tallies()
    tallies.is_store_available = True
    text = TestClient(create_metrics(tallies), base_url="http://127.0.0.1").get("/metrics").text
    served = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    table = UPGRADE.partition("| metric or event |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(gateway_\w+)`", table))
    files = sorted((DOCS.parent / "gateway" / "telemetry").glob("*.py"))
    events = "".join(file.read_text("utf-8") for file in files)

    assert len(named) >= 7
    assert {name.removesuffix("_total") for name in named} <= {
        name.removesuffix("_total") for name in served
    }
    for event in re.findall(r"`([a-z-]+)`(?=[^|]*in the log)", table):
        assert f'"{event}"' in events


TEMPLATES: Mapping[str, str] = {
    name: (DOCS / "deployment" / name).read_text("utf-8")
    for name in ("sheets-gateway@.socket", "sheets-gateway@.service")
}


def test_the_template_differs_from_the_unit_in_names_only() -> None:
    """The template unit differs only in description, socket, metrics port and pepper."""
    unit = (DOCS / "deployment" / "sheets-gateway.service").read_text("utf-8").splitlines()
    template = TEMPLATES["sheets-gateway@.service"].splitlines()
    added = [line for line in template if line not in unit and not line.startswith("#")]

    assert [line.partition("=")[0] for line in added] == [
        *("Description", "Requires", "After", "Environment")
    ]
    assert len([line for line in unit if line not in template]) <= 5


def test_each_instance_has_a_metrics_port() -> None:
    """An instance with a port as its name has its own metrics address, and a valid
    `serve` command.
    """
    text = TEMPLATES["sheets-gateway@.service"].replace("%i", "8001")
    (variable,) = re.findall(r"^Environment=(\S+)", text, re.MULTILINE)
    (command,) = re.findall(r"^ExecStart=(.+)", text, re.MULTILINE)
    name, _, value = variable.partition("=")
    settings = load_settings(None, {name: value})

    assert settings.metrics.listen == ("127.0.0.1", 18001)
    assert "ports 18001, 18002 and 18003" in PAGE
    assert problems_of(shlex.split(command)[1:]) == []
    assert "ListenStream=127.0.0.1:%i" in TEMPLATES["sheets-gateway@.socket"]
