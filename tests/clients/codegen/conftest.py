"""The gateway whose /openapi.json the code generators read."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.conftest import Api


@pytest.fixture
def api(gateway_of_package: Api) -> Api:
    """Return the gateway, with a newly seeded emulator."""
    gateway_of_package.emulator.reset()
    return gateway_of_package


TYPED = "?values=typed"


def described(api: Api, key: str | None, folder: Path, query: str = "") -> Path:
    """Save the OpenAPI document for a key, or without a key, and return its file."""
    answer = api.get(f"/openapi.json{query}", key=key, spreadsheet=key and "demo")
    return written(answer.json(), folder)


def written(document: Any, folder: Path) -> Path:
    file = folder / "openapi.json"
    file.write_text(json.dumps(document))
    return file
