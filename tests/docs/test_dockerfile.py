"""The Dockerfile of the documentation installs a gateway that starts, reports its health
and stops.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from gateway.commands.demo import Demo
from gateway.settings.model import ServerSettings, load_settings
from tests.docs.blocks import TOP
from tests.docs.command_line import problems_of
from tests.docs.dockerfile import copy, instructions, problems, the, variables

TEXT = (TOP / "docs" / "deployment" / "Dockerfile").read_text("utf-8")
FOUND = instructions(TEXT)
PATIENCE_SECONDS = 300.0
MADE = "/opt/venv"
"""Virtual environment that the first stage creates and the second stage copies."""


def run(
    *command: str, cwd: Path | None = None, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command. The PATH of `environ` is searched for the program, if `environ` is given."""
    program = shutil.which(command[0], path=(environ or os.environ)["PATH"]) or command[0]
    return subprocess.run(  # noqa: S603 - the lines of our own Dockerfile
        [program, *command[1:]],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_the_dockerfile_is_valid() -> None:
    """Each instruction of the Dockerfile has valid arguments, and the copied files exist."""
    assert problems(FOUND, TOP) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("COPY gateway gateway", "COPY gatway gateway", id="no such file"),
        pytest.param("WORKDIR", "WORKDIRR", id="no such instruction"),
        pytest.param('ENTRYPOINT ["sheets-gateway"]', "ENTRYPOINT sheets-gateway", id="shell form"),
        pytest.param("EXPOSE 8000", "EXPOSE http", id="no port"),
        pytest.param("BASE=python:3.13-slim", "BASE=python:3.9-slim", id="old Python"),
    ],
)
def test_a_mistake_in_the_dockerfile_is_found(old: str, new: str) -> None:
    """A missing file, a misspelt instruction or a command in shell form is reported."""
    assert old in TEXT
    assert problems(instructions(TEXT.replace(old, new)), TOP) != []


def test_the_container_runs_serve() -> None:
    """ENTRYPOINT and CMD start `sheets-gateway serve` with valid options."""
    entrypoint, command = the(FOUND, "ENTRYPOINT").words(), the(FOUND, "CMD").words()

    assert entrypoint == ["sheets-gateway"]
    assert problems_of(command) == []
    assert command[0] == "serve"


def test_variables_of_the_image_are_settings() -> None:
    """ENV makes the gateway listen on the exposed port, with its database in the volume."""
    settings = load_settings(None, variables(FOUND))
    database = Path(str(settings.access.database))

    assert settings.server.host == "0.0.0.0"  # noqa: S104 - in a container
    assert str(settings.server.port) == the(FOUND, "EXPOSE").rest
    assert str(database.parent) == the(FOUND, "VOLUME").rest == the(FOUND, "WORKDIR").rest
    assert settings.google.credentials is not None


def test_the_image_does_not_run_as_root() -> None:
    """The image runs as a user with the user ID that the deployment page names."""
    (user,) = [each.rest for each in FOUND if each.name == "USER"]
    (making,) = [each for each in FOUND if each.name == "RUN" and "useradd" in each.rest]
    page = (TOP / "docs" / "how-to" / "deployment.md").read_text("utf-8")

    assert making.rest.split()[-1] == user != "root"
    assert "--uid 10001 " in making.rest
    assert "chown 10001 " in page
    assert run("/bin/bash", "-n", "-c", making.rest).returncode == 0
    last_root = max(each.line for each in FOUND if each.name == "RUN")
    assert last_root < the(FOUND, "USER").line < the(FOUND, "ENTRYPOINT").line


def test_stages_share_the_environment_only() -> None:
    """The final image has the installed environment, but neither sources nor a compiler."""
    (shared,) = [each for each in FOUND if each.rest.startswith("--from=")]
    first, second = [each for each in FOUND if each.name == "FROM"]

    assert shared.rest == f"--from=build {MADE} {MADE}"
    assert first.rest.endswith(" AS build")
    assert [each.name for each in FOUND if each.line > second.line].count("COPY") == 1
    assert variables(FOUND)["PATH"] == f"{MADE}/bin:$PATH"


def test_the_container_stops_with_sigterm() -> None:
    """The image stops with SIGTERM, and the page's stop timeout exceeds the gateway's
    shutdown time.
    """
    page = (TOP / "docs" / "how-to" / "deployment.md").read_text("utf-8")

    assert the(FOUND, "STOPSIGNAL").rest == "SIGTERM"
    assert "--stop-timeout 35 " in page
    assert ServerSettings().shutdown_seconds < 30


@pytest.mark.parametrize("is_up", [True, False], ids=["up", "down"])
def test_the_health_check_detects_a_stopped_gateway(is_up: bool, demo: Demo) -> None:
    """The HEALTHCHECK command succeeds with a running gateway, and fails without one."""
    python, *arguments = the(FOUND, "HEALTHCHECK").words()
    address = "http://127.0.0.1:8000"
    url = demo.url if is_up else "http://127.0.0.1:1"

    assert python == "python"
    assert sum(word.count(f"{address}/livez") for word in arguments) == 1
    done = run(sys.executable, *(word.replace(address, url) for word in arguments))
    assert (done.returncode == 0) == is_up


def test_copied_files_suffice_to_install_and_serve(tmp_path: Path) -> None:
    """The first stage's steps create an environment whose commands run without the sources."""
    image, fresh = tmp_path / "image", tmp_path / "venv"
    copy(FOUND, TOP, image)
    steps = [each.rest for each in FOUND if each.name == "RUN" and MADE in each.rest]
    making, *installing = [each.replace(MADE, str(fresh)) for each in steps]
    made = run(sys.executable, *making.split()[1:])
    assert made.returncode == 0, made.stderr
    _lend_what_is_needed(fresh, tmp_path / "needed")
    environ = {**os.environ, "PATH": f"{fresh / 'bin'}:/usr/bin:/bin"}
    environ.pop("PYTHONPATH", None)

    done = run("/bin/sh", "-c", " && ".join(installing), cwd=image, environ=environ)

    assert done.returncode == 0, done.stderr
    shutil.rmtree(image)
    for command in ("serve", "emulator"):
        told = run("sheets-gateway", command, "--help", cwd=tmp_path, environ=environ)
        assert told.returncode == 0, told.stderr
    where = run(
        "python", "-c", "import gateway; print(gateway.__file__)", cwd=tmp_path, environ=environ
    )
    assert where.stdout.startswith(str(fresh))


def _lend_what_is_needed(fresh: Path, lent: Path) -> None:
    """Give an environment access to all installed packages except the gateway, so that
    pip downloads nothing.
    """
    lent.mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if "sheets_gateway" not in each.name and each.suffix != ".pth":
            (lent / each.name).symlink_to(each)
    (site,) = (fresh / "lib").glob("python*/site-packages")
    (site / "lent.pth").write_text(str(lent))
