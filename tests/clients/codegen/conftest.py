"""The gateway whose /openapi.json generators read."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.conftest import Api


@pytest.fixture
def api(gateway_of_package: Api) -> Api:
    """The gateway on a freshly seeded emulator."""
    gateway_of_package.emulator.reset()
    return gateway_of_package


TYPED = "?values=typed"


def described(api: Api, key: str | None, folder: Path, query: str = "") -> Path:
    """The file of the document that a key gets, or that in general."""
    answer = api.get(f"/openapi.json{query}", key=key, spreadsheet=key and "demo")
    return written(answer.json(), folder)


def written(document: Any, folder: Path) -> Path:
    file = folder / "openapi.json"
    file.write_text(json.dumps(document))
    return file
