"""Several Google accounts: which account calls Google, and what follows if Google refuses one."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gateway.commands.check import check_setup
from gateway.errors import QuotaSpent
from gateway.settings.model import Settings, load_settings
from tests.journeys.conftest import (
    Api,
    EmulatorControl,
    OpenGateway,
    running_emulator,
)
from tests.journeys.workbook import WORKBOOK

NAMES = ("gateway", "gateway-2", "gateway-3")
ROW = {"name": "Reno", "state": "NV"}


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    """An emulator with three accounts."""
    folder = tmp_path_factory.mktemp("accounts")
    with running_emulator(folder, WORKBOOK, accounts=len(NAMES)) as control:
        yield control


@pytest.fixture
def api(open_gateway: OpenGateway, emulator: EmulatorControl) -> Api:
    """A gateway that uses all three accounts."""
    return open_gateway({"google.accounts": others(emulator)})


def others(emulator: EmulatorControl, **settings: object) -> list[dict[str, object]]:
    """The second and third account as entries of the configuration."""
    folder = emulator.credentials.parent
    return [
        {"name": f"a{number}", "credentials": str(folder / f"account-{number}.json"), **settings}
        for number in (2, 3)
    ]


def address(name: str) -> str:
    return f"{name}@emulator.iam.gserviceaccount.com"


def control(emulator: EmulatorControl, path: str, body: Mapping[str, object] | None = None) -> None:
    emulator.client.post(f"/_emulator/{path}", json=body).raise_for_status()


def give(emulator: EmulatorControl, name: str, role: str) -> None:
    """Set the access of an account to the demo spreadsheet."""
    control(emulator, "spreadsheets/demo/access", {"account": address(name), "role": role})


def called(emulator: EmulatorControl, kind: str = "reads") -> list[int]:
    """Number of calls by each account since the last reset."""
    found: Mapping[str, Any] = emulator.stats()["projects"].get("emulator", {}).get("accounts", {})
    return [found.get(address(name), {}).get(kind, 0) for name in NAMES]


def test_spreadsheet_shared_with_the_last_account(api: Api, emulator: EmulatorControl) -> None:
    """A spreadsheet that is shared with the last account only can be read and written."""
    for name in NAMES[:2]:
        give(emulator, name, "none")

    assert api.get("Cities").status_code == 200
    assert api.post("Cities", json=ROW).status_code == 201
    assert api.send("PATCH", "Cities/2", json={"state": "XX"}).status_code == 200

    assert called(emulator, "writes") == [0, 0, 2]
    assert emulator.texts("Cities")[-1][0] == "Reno"


def test_spreadsheet_shared_with_no_account(api: Api) -> None:
    """The error for a spreadsheet that no account can open always names the first account."""
    for _ in range(3):
        answer = api.get("Secret", key="any", spreadsheet="private")
        assert answer.status_code == 403
        assert address("gateway") in answer.json()["message"]


def test_an_account_that_may_only_read(api: Api, emulator: EmulatorControl) -> None:
    """An account with read access goes on reading; another account does the writes."""
    give(emulator, "gateway", "reader")
    assert api.get("Cities").status_code == 200

    assert api.post("Cities", json=ROW).status_code == 201
    assert called(emulator, "writes")[1:] == [1, 0]


@pytest.mark.parametrize("route", ["accounts/{}/revoke", "projects/emulator/disable"])
def test_an_account_is_refused(api: Api, emulator: EmulatorControl, route: str) -> None:
    """If Google revokes one account, the other accounts serve; a disabled project stops
    all three.
    """
    assert api.get("Cities").status_code == 200
    control(emulator, route.format(address("gateway")))
    is_one = route.startswith("accounts")

    statuses = [api.get("Cities").status_code for _ in range(5)]
    created = api.post("Cities", json=ROW)

    assert statuses == [200 if is_one else 502] * 5
    assert created.status_code == (201 if is_one else 502)
    ready = api.get("/readyz", key=None)
    assert ready.json() == {"status": "ready", "refused_accounts": 1 if is_one else 3}


@pytest.fixture
def settings(emulator: EmulatorControl, tmp_path: Path) -> Settings:
    """Settings of a gateway with all three accounts, for `check`."""
    own = {
        "google.endpoint": emulator.url,
        "google.credentials": str(emulator.credentials),
        "google.accounts": others(emulator),
        "access.database": str(tmp_path / "keys.db"),
    }
    return load_settings(None, {}, own)


async def test_check_asks_to_share_only_with_accounts_that_google_refuses(
    emulator: EmulatorControl, settings: Settings
) -> None:
    """`check` proposes sharing with a refused account, not with an account that has no quota."""
    give(emulator, "gateway-3", "none")

    async def spent(_call: object) -> Any:
        raise QuotaSpent

    found = check_setup(settings, "demo", sends={"a2": spent})
    texts = [each.text async for each in found if each.level == "warning"]

    assert [text for text in texts if "gateway-2@" in text and "could not be checked" in text]
    assert [text for text in texts if "share it with gateway-3@" in text]
    assert not [text for text in texts if "share it with gateway-2@" in text]


async def test_check_reports_each_step_before_the_next(settings: Settings) -> None:
    """`check` yields the findings of earlier steps before a step that waits for Google."""
    is_asked, found = asyncio.Event(), list[str]()

    async def hangs(_call: object) -> Any:
        is_asked.set()
        await asyncio.Event().wait()

    async def check() -> None:
        async for each in check_setup(settings, "demo", sends={"a2": hangs}):
            found.append(each.text)

    checking = asyncio.create_task(check())
    await is_asked.wait()
    checking.cancel()
    await asyncio.wait([checking])

    assert len([text for text in found if "credentials: Google accepts" in text]) == 3


def test_each_account_has_its_own_quota(
    open_gateway: OpenGateway, emulator: EmulatorControl
) -> None:
    """When the quota of one account is spent, the gateway reads with the next account."""
    slow = {"google.reads_per_minute": 1, "google.max_waiting_seconds": 0}
    api = open_gateway({**slow, "google.accounts": others(emulator, reads_per_minute=1)})

    statuses = [api.get(title).status_code for title in ("Cities", "Cities", "Cities", "Cities")]

    assert statuses == [200, 200, 200, 503]
    assert called(emulator) == [1, 1, 1]
