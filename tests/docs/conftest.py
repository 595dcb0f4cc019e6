"""Fixtures for the blocks of pages: the demo, and an emulator with a key file."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gateway.commands.demo import SAMPLE, Demo, running_demo
from gateway.server.running import in_background, make_server
from gateway.server.sockets import base_url, bind
from gateway.telemetry.events import RequestEvent, encoded_lines
from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.docs.shell import Stage, make_stage


@dataclass(frozen=True, kw_only=True)
class Google:
    """Emulator in the role of Google. The key file's account can access its spreadsheet `demo`."""

    url: str
    key_file: Path


@pytest.fixture
def demo() -> Iterator[Demo]:
    """Start the demo as `sheets-gateway demo` does."""
    with running_demo(bind("127.0.0.1", 0), {}) as running:
        yield running


@pytest.fixture
def google(tmp_path: Path) -> Iterator[Google]:
    emulator = create_emulator(EmulatorOptions(seed=SAMPLE))
    listening = bind("127.0.0.1", 0)
    key_file = tmp_path / "google.json"
    emulator.write_credentials(key_file, base_url(listening))
    with in_background(make_server(emulator.app, shutdown_seconds=1), listening) as url:
        yield Google(url=url, key_file=key_file)


@pytest.fixture
def stage(tmp_path: Path, demo: Demo, google: Google) -> Stage:
    """Return a reader's checkout with the key file. The gateway at the documented URL is
    the demo.
    """
    stage = make_stage(
        tmp_path,
        environ={"GATEWAY_GOOGLE__ENDPOINT": google.url},
        noted={
            "gateway-url": demo.url,
            "emulator-url": demo.emulator_url,
            "key": demo.full_key,
            "admin-url": demo.sign_in_url.partition("/sign-in")[0],
            "admin-key": demo.admin_key,
        },
    )
    # With the mode of a browser's download; the pages restrict the mode.
    key_file = stage.checkout / "service-account.json"
    key_file.write_bytes(google.key_file.read_bytes())
    key_file.chmod(0o644)
    (stage.checkout / "gateway.log").write_bytes(encoded_lines([_line()]))
    return stage


def _line() -> RequestEvent:
    """Return a log line of a request that needed lenient decoding."""
    members: dict[str, Any] = dict.fromkeys(RequestEvent.__struct_fields__)
    members |= {"path": "/v2/sheets/Cities", "key": "key_7Hq2Lw9x", "reading": "where-twice"}
    return RequestEvent(**members)
