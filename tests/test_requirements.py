"""Requirement files of scripts/lock match pyproject.toml and each other."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

TOP = Path(__file__).parents[1]
PROJECT: Any = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
RUN_TIME, CLUSTER, TESTS = "requirements.txt", "requirements-cluster.txt", "requirements-dev.txt"
SITE = "requirements-docs.txt"
FILES = (RUN_TIME, CLUSTER, TESTS, SITE)
EXTRAS = {CLUSTER: "cluster", TESTS: "dev", SITE: "docs"}

_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")

Pins = Mapping[NormalizedName, Requirement]


def lines_of(name: str) -> Sequence[str]:
    """Return each requirement of a file with its hashes, in one line."""
    text = (TOP / "scripts" / name).read_text("utf-8").replace("\\\n", "")
    return [line for line in text.splitlines() if not line.startswith("#")]


def pins_of(name: str) -> Pins:
    found = [Requirement(_HASH.sub("", line)) for line in lines_of(name)]
    return {canonicalize_name(each.name): each for each in found}


def version_of(pin: Requirement) -> str:
    (found,) = pin.specifier
    return found.version if found.operator == "==" else ""


def direct(name: str) -> Sequence[Requirement]:
    """Return the requirements in pyproject.toml for a file."""
    project = PROJECT["project"]
    listed = [*PROJECT["build-system"]["requires"], *project["dependencies"]]
    if name in EXTRAS:
        listed += project["optional-dependencies"][EXTRAS[name]]
    return [Requirement(each) for each in listed]


def places() -> Iterator[dict[str, str]]:
    """Yield the platforms and Python versions that each file serves."""
    for platform, system, os_name in (
        ("linux", "Linux", "posix"),
        ("darwin", "Darwin", "posix"),
        ("win32", "Windows", "nt"),
    ):
        for version in ("3.11", "3.12", "3.13"):
            yield {
                "sys_platform": platform,
                "platform_system": system,
                "os_name": os_name,
                "python_version": version,
                "python_full_version": f"{version}.4",
                "extra": "",
            }


def applies(requirement: Requirement, place: Mapping[str, str], extras: Sequence[str] = ()) -> bool:
    """True if the requirement's marker applies there, with one of the extras or without."""
    marker = requirement.marker
    return marker is None or any(
        marker.evaluate({**place, "extra": extra}) for extra in ("", *extras)
    )


def gaps(name: str, pins: Pins, place: Mapping[str, str]) -> Iterator[str]:
    """Yield missing and wrong packages after an installation from the file."""
    wanted = list(direct(name))
    seen: set[str] = set()
    while wanted:
        each = wanted.pop()
        if str(each) in seen or not applies(each, place):
            continue
        seen.add(str(each))
        pin = pins.get(canonicalize_name(each.name))
        if pin is None or not applies(pin, place):
            yield f"{each} is not there"
        elif not each.specifier.contains(version_of(pin), prereleases=True):
            yield f"{pin} is not {each}"
        for line in _requires(each.name):
            needed = Requirement(line)
            if applies(needed, place, sorted(each.extras)):
                needed.marker = None
                wanted.append(needed)


def _requires(name: str) -> Sequence[str]:
    try:
        return requires(name) or ()
    except PackageNotFoundError:  # a package for another platform
        return ()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "place", list(places()), ids=lambda place: f"{place['sys_platform']}-{place['python_version']}"
)
def test_all_dependencies_are_in_the_file(name: str, place: Mapping[str, str]) -> None:
    """Each direct and indirect dependency has a version in its range, on all platforms."""
    assert list(gaps(name, pins_of(name), place)) == []


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        pytest.param("uvicorn==0.54.0", "uvicorn==0.49.0", "is not uvicorn", id="out of range"),
        pytest.param("hatchling", "other", "hatchling", id="build backend"),
        pytest.param("h11", "other", "h11", id="indirect"),
        pytest.param('sys_platform != "win32"', 'sys_platform == "x"', "uvloop", id="marker"),
    ],
)
def test_a_gap_is_found(old: str, new: str, word: str) -> None:
    """A version out of range, a missing package, and a wrong marker are reported."""
    changed = [Requirement(str(each).replace(old, new)) for each in pins_of(RUN_TIME).values()]
    pins = {canonicalize_name(each.name): each for each in changed}

    assert word in "".join(gaps(RUN_TIME, pins, next(places())))


@pytest.mark.parametrize("name", FILES)
def test_each_line_is_a_version_with_hashes(name: str) -> None:
    """Each line has one version, an optional marker and hashes, but no index or URL."""
    lines = lines_of(name)

    assert len(lines) > 30
    assert [line for line in lines if not _HASH.search(line)] == []
    assert all(version_of(pin) for pin in pins_of(name).values())
    assert len(pins_of(name)) == len(lines)
    assert "://" not in (TOP / "scripts" / name).read_text("utf-8")


@pytest.mark.parametrize("name", [CLUSTER, TESTS, SITE])
def test_the_tests_use_the_deployed_versions(name: str) -> None:
    """The files for cluster, tests and site contain all lines of the run-time file."""
    assert set(lines_of(RUN_TIME)) <= set(lines_of(name))


def test_the_tests_use_the_deployed_driver() -> None:
    """The files for cluster and tests have the same version of asyncpg."""
    cluster, tests = pins_of(CLUSTER), pins_of(TESTS)

    assert str(cluster[canonicalize_name("asyncpg")]) == str(tests[canonicalize_name("asyncpg")])


@pytest.mark.parametrize(
    "name", ["scripts/setup.sh", "docs/deployment/Dockerfile", "docs/how-to/deployment.md"]
)
def test_installations_require_hashes(name: str) -> None:
    """Setup, Dockerfile and page install with hashes, and then install the checkout
    without downloads.
    """
    text = (TOP / name).read_text("utf-8").replace("\\\n", " ")
    commands = [line for line in text.splitlines() if re.search(r"pip install", line)]
    packages, checkout = commands

    assert "--require-hashes" in packages
    assert re.search(r"scripts/requirements(-cluster)?\.txt|\$REQUIREMENTS", packages)
    assert {"--no-deps", "--no-build-isolation"} <= set(checkout.split())


def test_the_site_is_built_with_hashes() -> None:
    """scripts/docs installs its packages from requirements-docs.txt with hashes."""
    text = (TOP / "scripts" / "docs").read_text("utf-8").replace("\\\n", " ")
    (command,) = [line for line in text.splitlines() if "pip install" in line]

    assert "--require-hashes -r scripts/requirements-docs.txt" in command
