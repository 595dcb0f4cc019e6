"""The units of systemd, and the page about them, fit the code."""

import configparser
import re
import shlex
from pathlib import Path

import typer

from gateway.cli import main
from gateway.cli_serve import TAKEOVER_SECONDS
from gateway.config import ServerSettings
from gateway.edge.limits import DRAIN_SECONDS
from gateway.edge.server import LAST_SECONDS

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "deployment.md").read_text("utf-8")


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(delimiters=("=",), strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DOCS / "deployment" / name)
    return parser


def test_the_service_is_started_with_options_that_there_are() -> None:
    """`serve` knows each option of the unit, and takes the first socket of systemd."""
    words = shlex.split(unit("sheets-gateway.service")["Service"]["ExecStart"])
    serve = typer.main.get_command(main).commands["serve"]  # type: ignore[attr-defined]
    known = {name for parameter in serve.params for name in parameter.opts}

    assert words[1] == "serve"
    assert {word for word in words if word.startswith("--")} <= known
    assert words[words.index("--fd") + 1] == "3"


def test_the_service_has_time_and_files_enough() -> None:
    """It is not killed before it ends by itself, and may open a file for each connection."""
    service, server = unit("sheets-gateway.service")["Service"], ServerSettings()

    assert int(service["TimeoutStopSec"]) > server.shutdown_seconds + LAST_SECONDS
    assert int(service["LimitNOFILE"]) > server.max_connections


def test_the_page_says_the_times() -> None:
    """The numbers of the page are those of the code."""
    server = ServerSettings()

    assert f"`server.shutdown_seconds` ({server.shutdown_seconds:.0f})" in PAGE
    assert f"readable for {DRAIN_SECONDS:.0f} seconds" in PAGE
    assert f"ends, {LAST_SECONDS} seconds after" in PAGE
    assert f"`server.shutdown_seconds`\nand {TAKEOVER_SECONDS:.0f} more" in PAGE


def test_the_page_names_settings_that_there_are() -> None:
    """Each setting in the table of limits is one of `[server]`."""
    table = PAGE.partition("| a client that")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([a-z_]+)`", table)) - {"[server]"}

    assert len(named) >= 8
    assert named <= ServerSettings.model_fields.keys()
