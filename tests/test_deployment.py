"""The systemd units, the compose file and the deployment page match the code."""

import configparser
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]  # has no types

from gateway.commands.cli import main
from gateway.commands.serve import TAKEOVER_SECONDS
from gateway.server.limits import DRAIN_SECONDS
from gateway.server.running import EXIT_GRACE_SECONDS
from gateway.server.unread import MAX_UNREAD_BYTES
from gateway.settings.model import GoogleSettings, ServerSettings, Settings, load_settings
from tests.docs.dockerfile import instructions, the, variables

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "how-to" / "deployment.md").read_text("utf-8")
PROXY = (DOCS / "how-to" / "reverse-proxy.md").read_text("utf-8")
UNITS = ("sheets-gateway.socket", "sheets-gateway.service")
TEMPLATES = ("sheets-gateway@.socket", "sheets-gateway@.service")
COMPOSE: Any = yaml.safe_load((DOCS / "deployment" / "compose.yaml").read_text("utf-8"))
IMAGE = instructions((DOCS / "deployment" / "Dockerfile").read_text("utf-8"))


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(delimiters=("=",), strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DOCS / "deployment" / name)
    return parser


def test_the_service_has_valid_options() -> None:
    """The unit runs `serve` with existing options and the first socket of systemd."""
    words = shlex.split(unit("sheets-gateway.service")["Service"]["ExecStart"])
    serve = typer.main.get_command(main).commands["serve"]  # type: ignore[attr-defined]
    known = {name for parameter in serve.params for name in parameter.opts}

    assert words[1] == "serve"
    assert {word for word in words if word.startswith("--")} <= known
    assert words[words.index("--fd") + 1] == "3"


def test_the_service_has_enough_time_and_files() -> None:
    """The unit's stop timeout exceeds the gateway's shutdown, and its file limit the
    connections.
    """
    service, server = unit("sheets-gateway.service")["Service"], ServerSettings()

    assert int(service["TimeoutStopSec"]) > server.shutdown_seconds + EXIT_GRACE_SECONDS
    assert int(service["LimitNOFILE"]) > server.max_connections


def test_the_page_has_the_times_of_the_code() -> None:
    """The times on the deployment page equal those of the code."""
    server, page = ServerSettings(), " ".join(PAGE.split())

    assert f"`server.shutdown_seconds` ({server.shutdown_seconds:.0f})" in page
    assert f"can still send one for {DRAIN_SECONDS:.0f} seconds" in page
    assert f"at the latest {EXIT_GRACE_SECONDS} seconds after" in page
    assert f"`server.shutdown_seconds` and {TAKEOVER_SECONDS:.0f} more" in page


def test_the_page_names_existing_settings() -> None:
    """Each setting in the table of limits exists in `[server]`."""
    table = PROXY.partition("| a client that")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([a-z_]+)`", table)) - {"[server]"}

    assert len(named) >= 8
    assert named <= ServerSettings.model_fields.keys()


def instance_of(name: str) -> str:
    """Return the name of a unit. A template gets the instance 8001."""
    return name.replace("@.", "@8001.")


def verified(folder: Path, names: Sequence[str], old: str = "", new: str = "") -> str:
    """Return the messages of systemd about units with one replaced text, or "" if they
    are valid.
    """
    command = "/opt/sheets-gateway/bin/sheets-gateway"
    for name in names:
        text = (DOCS / "deployment" / name).read_text("utf-8")
        written = text.replace(command, "/bin/true").replace(old, new)
        (folder / instance_of(name)).write_text(written)
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("there is no systemd-analyze")
    done = subprocess.run(  # noqa: S603 - a program of the machine
        [program, "verify", "--man=no", *(str(folder / instance_of(name)) for name in names)],
        capture_output=True,
        text=True,
        check=False,
    )
    return "\n".join(line for line in done.stderr.splitlines() if str(folder) in line)


@pytest.mark.parametrize("names", [UNITS, TEMPLATES], ids=["units", "templates"])
def test_systemd_accepts_the_units(names: Sequence[str], tmp_path: Path) -> None:
    """systemd-analyze finds no unknown section, setting or value."""
    assert verified(tmp_path, names) == ""


@pytest.mark.parametrize("names", [UNITS, TEMPLATES], ids=["units", "templates"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("NoNewPrivileges", "NoNewPrivilege", id="setting"),
        pytest.param("TimeoutStopSec=35", "TimeoutStopSec=soon", id="value"),
        pytest.param("[Socket]", "[Sockets]", id="section"),
    ],
)
def test_a_mistake_in_a_unit_is_found(
    names: Sequence[str], old: str, new: str, tmp_path: Path
) -> None:
    """A mistake that systemd would only warn about is reported."""
    assert verified(tmp_path, names, old, new) != ""


def test_the_compose_file_builds_the_checkout() -> None:
    """The compose file's build context is the checkout, which contains its Dockerfile."""
    build = COMPOSE["services"]["gateway"]["build"]
    context = (DOCS / "deployment" / build["context"]).resolve()

    assert context == DOCS.parent
    assert (context / build["dockerfile"]).is_file()


def test_the_compose_file_gives_time_to_stop() -> None:
    """The compose file's grace period exceeds the gateway's longest shutdown."""
    seconds = COMPOSE["services"]["gateway"]["stop_grace_period"]

    assert int(seconds.removesuffix("s")) > ServerSettings().shutdown_seconds + EXIT_GRACE_SECONDS


def test_the_compose_file_matches_the_image() -> None:
    """Volumes, port and environment of the compose file match the Dockerfile and the settings."""
    service = COMPOSE["services"]["gateway"]
    settings = load_settings(None, {**variables(IMAGE), **service["environment"]})
    inside = dict(mount.split(":")[1::-1] for mount in service["volumes"])

    assert settings.access.trusted_proxies
    assert inside[the(IMAGE, "VOLUME").rest] in COMPOSE["volumes"]
    assert inside[str(settings.google.credentials)] == "../../service-account.json"
    assert service["ports"] == [f"127.0.0.1:8000:{the(IMAGE, 'EXPOSE').rest}"]
    assert "command" not in service


def bytes_of(size: str) -> int:
    """Parse a size of systemd or Docker, whose K, M and G are powers of 1024."""
    return int(size[:-1]) << 10 * ("KMG".index(size[-1].upper()) + 1)


def memory_needed() -> int:
    """Return the maximum memory in bytes under the default settings, without reads in progress."""
    settings = Settings()
    return settings.cache.max_bytes + settings.writes.max_waiting_bytes + MAX_UNREAD_BYTES


@pytest.mark.parametrize(
    "limit",
    [
        pytest.param(unit("sheets-gateway.service")["Service"]["MemoryHigh"], id="systemd high"),
        pytest.param(unit("sheets-gateway.service")["Service"]["MemoryMax"], id="systemd"),
        pytest.param(COMPOSE["services"]["gateway"]["mem_limit"], id="compose"),
        pytest.param(re.findall(r"--memory (\w+)", PAGE)[0], id="docker run"),
    ],
)
def test_the_memory_limit_fits_the_defaults(limit: str) -> None:
    """Each memory limit fits cache, unread answers and waiting writes plus 512 MiB."""
    assert bytes_of(limit) >= memory_needed() + 512 * 1024**2


def test_the_page_explains_the_memory() -> None:
    """The table of memory on the page has the numbers of the code."""
    settings = Settings()
    table = PAGE.partition("## Memory and log")[2].partition("\n\nWith a full")[0]

    assert f"| {settings.cache.max_bytes // 1024**2} MiB | `cache.max_bytes`" in table
    assert f"| {settings.writes.max_waiting_bytes // 1024**2} MiB | `writes.max_wait" in table
    assert (
        f"`google.max_answer_bytes` for each, {settings.google.max_answer_bytes >> 20} MiB" in table
    )
    assert f"not read yet | {MAX_UNREAD_BYTES // 1024**2} MiB |" in table


@pytest.mark.parametrize(
    "limit",
    [
        unit("sheets-gateway.service")["Service"]["TasksMax"],
        str(COMPOSE["services"]["gateway"]["pids_limit"]),
        re.findall(r"--pids-limit (\w+)", PAGE)[0],
    ],
    ids=["systemd", "compose", "docker run"],
)
def test_there_are_enough_threads(limit: str) -> None:
    """Each limit of threads is at least twice `google.max_connections`."""
    assert int(limit) >= 2 * GoogleSettings().max_connections


def test_the_log_of_a_container_is_bounded() -> None:
    """The compose file and the page have the same log driver and limits, at most 1 GiB."""
    logging = COMPOSE["services"]["gateway"]["logging"]
    options = dict(re.findall(r"--log-opt ([a-z-]+)=(\w+)", PAGE))

    assert re.findall(r"--log-driver (\w+)", PAGE) == [logging["driver"]] == ["local"]
    assert options == logging["options"]
    assert bytes_of(options["max-size"]) * int(options["max-file"]) <= 1024**3


def test_the_log_of_the_service_is_bounded() -> None:
    """The page has the unit's limit of log lines."""
    service = unit("sheets-gateway.service")["Service"]
    seconds = int(service["LogRateLimitIntervalSec"].removesuffix("s"))

    assert f"accepts {int(service['LogRateLimitBurst']):,} lines in {seconds} seconds" in PAGE


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *((name, "true") for name in ("NoNewPrivileges", "ProtectKernelModules", "ProtectClock")),
        *((name, "true") for name in ("ProtectKernelLogs", "ProtectHostname", "RestrictRealtime")),
        *((name, "true") for name in ("RestrictSUIDSGID", "RemoveIPC", "MemoryDenyWriteExecute")),
        ("ProtectProc", "invisible"),
        ("SystemCallArchitectures", "native"),
        ("SystemCallErrorNumber", "EPERM"),
        ("UMask", "0077"),
    ],
)
def test_the_service_is_restricted(setting: str, value: str) -> None:
    """The unit has each of these restrictions."""
    assert unit("sheets-gateway.service")["Service"][setting] == value


def test_process_metrics_are_not_hidden() -> None:
    """The unit does not set `ProcSubset`, because metrics need /proc/stat."""
    assert "ProcSubset" not in unit("sheets-gateway.service")["Service"]
