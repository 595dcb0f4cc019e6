"""Built packages work without the checkout, on each installed Python version."""

import json
import re
import shutil
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx2
import pytest

from gateway import __version__
from tests.journeys.waiting import PATIENCE_SECONDS
from tests.packages.bare import TOP, VERSIONS, Bare, build, install, interpreter, run

MOST_BYTES = 3_500_000


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    return build(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module", params=VERSIONS)
def bare(
    request: pytest.FixtureRequest,
    packages: Sequence[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Bare]:
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"this machine has no Python {request.param}")
    (wheel,) = [each for each in packages if each.suffix == ".whl"]
    folder = tmp_path_factory.mktemp("bare")
    yield install(wheel, python, folder)
    shutil.rmtree(folder)


def test_the_packages_pass_the_check_of_twine(packages: Sequence[Path]) -> None:
    """twine accepts wheel and source distribution, each below 3.5 MB and of the same version."""
    done = run(sys.executable, "-m", "twine", "check", "--strict", *map(str, packages), cwd=TOP)

    assert done.returncode == 0, done.stdout
    assert [each.name for each in packages] == [
        f"sheets_gateway-{__version__}-py3-none-any.whl",
        f"sheets_gateway-{__version__}.tar.gz",
    ]
    assert [each.name for each in packages if each.stat().st_size >= MOST_BYTES] == []


def test_a_missing_long_description_is_found(packages: Sequence[Path], tmp_path: Path) -> None:
    """twine reports a package whose metadata lack the README."""
    (made,) = [each for each in packages if each.suffix == ".gz"]
    with tarfile.open(made) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    info = folder / "PKG-INFO"
    info.write_text(info.read_text("utf-8").partition("\n\n")[0] + "\n\n")
    with tarfile.open(tmp_path / made.name, "w:gz") as archive:
        archive.add(folder, folder.name)
    planted = str(tmp_path / made.name)
    done = run(sys.executable, "-m", "twine", "check", "--strict", planted, cwd=TOP)

    assert done.returncode != 0


def test_the_wheel_has_all_dependencies(bare: Bare) -> None:
    """pip finds all dependencies of the wheel, and the modules come from site-packages."""
    checked = bare.run("-m", "pip", "check")
    found = bare.run("-c", "import gateway, sheets_emulator as e; print(gateway, e)")

    assert (checked.returncode, checked.stdout) == (0, "No broken requirements found.\n")
    assert str(TOP) not in found.stdout
    assert found.stdout.count("site-packages") == 2


def test_the_demo_and_its_page_work(bare: Bare) -> None:
    """The demo from the wheel serves rows, /docs with its files, and the API document."""
    with bare.serving("demo", last_words="Ctrl-C") as demo:
        said = dict(re.findall(r"^(.+?): +(\S+)$", "".join(demo.said), re.MULTILINE))
        with httpx2.Client(base_url=demo.url, timeout=PATIENCE_SECONDS) as client:
            rows = client.get("/v2/sheets/Cities", headers={"API-Key": said["Full-access key"]})
            page = client.get("/docs")
            files = re.findall(r'(?:src|href)="\./(docs/[^"]+)"', page.text)
            answers = [
                client.get(path).status_code
                for path in ["/", "/openapi.json", *(f"/{each}" for each in files)]
            ]

    assert (rows.status_code, page.status_code) == (200, 200)
    assert len(rows.json()["results"]) == 10
    assert len(files) >= 2
    assert set(answers) == {200}


def test_emulator_keys_check_and_serve_work(bare: Bare) -> None:
    """The commands emulator, keys, check and serve of the wheel work together, from a
    seed to a row.
    """
    seed = bare.folder / "seed" / "my-book"
    seed.mkdir(parents=True)
    (seed / "Cities.csv").write_text("name\nParis\n")
    key_file = bare.folder / "account.json"
    config = bare.folder / "config.toml"
    named = ("--config", str(config))
    book = ("--spreadsheet", "my-book")
    with bare.serving(
        "emulator", "--seed", str(seed.parent), "--credentials", str(key_file)
    ) as emulator:
        config.write_text(
            f'[google]\ncredentials = "account.json"\nendpoint = "{emulator.url}"\n'
            f'[access]\ndatabase = "{bare.folder / "keys.db"}"\n'
        )
        made = bare.run("-m", "gateway", "keys", "create", "--name", "x", *book, *named, "--json")
        checked = bare.run("-m", "gateway", "check", *book, *named)
        with bare.serving("serve", *named) as gateway:
            rows = httpx2.get(
                f"{gateway.url}/v2/sheets/Cities",
                headers={"API-Key": json.loads(made.stdout)["key"]},
                timeout=PATIENCE_SECONDS,
            )

    assert checked.returncode == 0, checked.stdout
    assert 'worksheet "Cities": 1 field' in checked.stdout
    assert [row["name"] for row in rows.json()["results"]] == ["Paris"]
