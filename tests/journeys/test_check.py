"""Findings of `check` about settings and keys that work but are risky."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway.access.issue import create_key
from gateway.access.pepper import pepper_of
from gateway.app import create_app
from gateway.commands.check import check_setup
from gateway.commands.doctor.reasons import Finding
from gateway.settings.model import ConfigError, Settings, load_settings
from gateway.storage.key_store import Grants, KeyRequest, KeyStore
from tests.journeys.conftest import DEMO, EmulatorControl

Check = Callable[..., list[tuple[str, str]]]
FORM = frozenset({"https://a.example"})

ODD = [
    pytest.param({"access.trusted_proxies": "0.0.0.0/0"}, "problem", "0.0.0.0/0", id="proxies"),
    pytest.param({"access.trusted_proxies": "::/0"}, "problem", "::/0", id="proxies, IPv6"),
    pytest.param(
        {"plans.paid.requests_per_minute": 0},
        "warning",
        "plans.paid: requests_per_minute",
        id="rate",
    ),
    pytest.param(
        {"plans.free.max_concurrent": 0}, "warning", "plans.free: max_concurrent", id="concurrency"
    ),
    pytest.param(
        {"google.allow_insecure_endpoint": True},
        "warning",
        "google.allow_insecure_endpoint",
        id="needless flag",
    ),
    pytest.param({"metrics.listen": "0.0.0.0:9100"}, "warning", "metrics.listen", id="metrics"),
]


@pytest.fixture
def settings_of(emulator: EmulatorControl, tmp_path: Path) -> Callable[..., Settings]:
    """Settings with a key store of this test."""

    def load(overrides: Mapping[str, object] | None = None) -> Settings:
        return load_settings(
            None,
            {},
            {
                "google.endpoint": emulator.url,
                "google.credentials": str(emulator.credentials),
                "access.database": str(tmp_path / "keys.db"),
                **(overrides or {}),
            },
        )

    return load


async def _found(settings: Settings) -> list[Finding]:
    return [finding async for finding in check_setup(settings, None)]


async def _create(settings: Settings, request: KeyRequest, now: datetime) -> str:
    async with KeyStore.open(settings.access.database) as store:
        record, _ = await create_key(
            request,
            store=store,
            pepper=await pepper_of(store, settings.access),
            plans=settings.plans,
            now=now,
        )
    return record.id


def check(settings: Settings) -> list[Finding]:
    return asyncio.run(_found(settings))


def create(settings: Settings, request: KeyRequest, now: datetime | None = None) -> str:
    return asyncio.run(_create(settings, request, now or datetime.now(UTC)))


def test_a_safe_configuration_has_no_findings(settings_of: Callable[..., Settings]) -> None:
    """`check` has no warning for limits, private files and a key for one spreadsheet."""
    settings = settings_of()
    create(settings, KeyRequest(name="narrow", grants=Grants(spreadsheets=DEMO)))

    assert {finding.level for finding in check(settings)} == {"ok"}


@pytest.mark.parametrize(("overrides", "level", "words"), ODD)
def test_a_risky_setting_is_the_only_finding(
    settings_of: Callable[..., Settings],
    overrides: Mapping[str, object],
    level: str,
    words: str,
) -> None:
    """`check` reports a risky setting by name and nothing else."""
    odd = [finding for finding in check(settings_of(overrides)) if finding.level != "ok"]

    assert [finding.level for finding in odd] == [level]
    assert words in odd[0].text


def test_an_endpoint_that_is_not_googles(settings_of: Callable[..., Settings]) -> None:
    """`check` names the host of an endpoint that is not Google's, and sends no request to
    this host.
    """
    overrides = {
        "google.allow_insecure_endpoint": True,
        "google.endpoint": "http://sheets.invalid:1",
    }
    texts = [each.text for each in check(settings_of(overrides)) if each.level == "warning"]

    assert any("sheets.invalid:1 is neither Google" in text for text in texts)


def test_a_trusted_proxy_that_is_not_a_network(settings_of: Callable[..., Settings]) -> None:
    """`*` as trusted proxy is a ConfigError in every command."""
    with pytest.raises(ConfigError, match=r"access\.trusted_proxies"):
        settings_of({"access.trusted_proxies": "*"})


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602])
@pytest.mark.parametrize("name", ["account.json", "keys.db", "keys.db.pepper"])
def test_a_file_that_others_can_open(
    settings_of: Callable[..., Settings],
    emulator: EmulatorControl,
    tmp_path: Path,
    name: str,
    mode: int,
) -> None:
    """`check` names a file that other users can open, and the gateway does not start with
    this file.
    """
    account = tmp_path / "account.json"
    account.write_bytes(emulator.credentials.read_bytes())
    account.chmod(0o600)
    settings = settings_of({"google.credentials": str(account)})
    create(settings, KeyRequest(name="narrow", grants=Grants(spreadsheets=DEMO)))
    (tmp_path / name).chmod(mode)

    problems = [finding.text for finding in check(settings) if finding.level == "problem"]

    assert len(problems) == 1
    assert str(tmp_path / name) in problems[0]
    assert "chmod 600" in problems[0]
    with pytest.raises(ConfigError, match="chmod 600"):
        asyncio.run(_start(settings))


async def _start(settings: Settings) -> None:
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        pass


def test_a_key_for_every_spreadsheet(settings_of: Callable[..., Settings]) -> None:
    """`check` warns about a key for every spreadsheet with the id of the key."""
    settings = settings_of()
    any_id = create(settings, KeyRequest(name="any", grants=Grants(spreadsheets=None)))

    odd = [finding for finding in check(settings) if finding.level != "ok"]

    assert [finding.level for finding in odd] == ["warning"]
    assert any_id in odd[0].text
    assert "every spreadsheet" in odd[0].text


@pytest.mark.parametrize(
    ("request_", "levels"),
    [
        pytest.param(
            KeyRequest(name="n", grants=Grants(spreadsheets=None, may_delete=True)), 2, id="any"
        ),
        pytest.param(
            KeyRequest(name="n", grants=Grants(spreadsheets=DEMO, may_delete=True)), 0, id="one"
        ),
    ],
)
def test_a_key_that_may_delete_everywhere(
    settings_of: Callable[..., Settings], request_: KeyRequest, levels: int
) -> None:
    """`check` adds a second warning for a key that can delete rows in every spreadsheet."""
    settings = settings_of()
    key_id = create(settings, request_)

    odd = [finding for finding in check(settings) if finding.level != "ok"]

    assert [finding.level for finding in odd] == ["warning"] * levels
    assert all(key_id in finding.text for finding in odd)
    assert [f for f in odd if "can delete rows in every spreadsheet" in f.text] == odd[1:]


def test_a_key_whose_plan_does_not_exist(settings_of: Callable[..., Settings]) -> None:
    """`check` reports a key whose plan is not configured as a problem."""
    with_plan = settings_of({"plans.gold.max_limit": 10})
    key_id = create(
        with_plan, KeyRequest(name="gold", plan="gold", grants=Grants(spreadsheets=DEMO))
    )

    problems = [each.text for each in check(settings_of()) if each.level == "problem"]

    assert len(problems) == 1
    assert f"key {key_id} has the plan gold, which does not exist" in problems[0]
    assert "Add [plans.gold]" in problems[0]


def test_a_missing_pepper(settings_of: Callable[..., Settings], tmp_path: Path) -> None:
    """If keys exist, `check` says how to restore a missing pepper and creates no other pepper."""
    settings = settings_of()
    create(settings, KeyRequest(name="narrow", grants=Grants(spreadsheets=DEMO)))
    (tmp_path / "keys.db.pepper").unlink()

    problems = [finding.text for finding in check(settings) if finding.level == "problem"]

    assert len(problems) == 1
    assert "keys.db.pepper is missing, and no key works without it" in problems[0]
    assert "Restore it from a backup" in problems[0]
    assert not (tmp_path / "keys.db.pepper").exists()


def test_the_spreadsheets_of_the_keys_are_named(settings_of: Callable[..., Settings]) -> None:
    """`check` without a spreadsheet ID lists the spreadsheets of all active keys."""
    settings = settings_of()
    create(settings, KeyRequest(name="any", grants=Grants(spreadsheets=None)))
    create(
        settings, KeyRequest(name="two", grants=Grants(spreadsheets=frozenset({"other", "demo"})))
    )
    create(settings, KeyRequest(name="one", grants=Grants(spreadsheets=frozenset({"demo"}))))

    texts = [finding.text for finding in check(settings) if finding.level == "ok"]

    assert texts[:2] == [
        "keys: 3 not revoked",
        "keys: they have access to spreadsheets demo and other; to check one, add "
        "--spreadsheet demo",
    ]


@pytest.mark.parametrize(
    ("grants", "overrides", "words"),
    [
        pytest.param(
            {},
            {},
            ["pages of every origin can use it", "forms: access.trusted_proxies is empty"],
            id="as by default",
        ),
        pytest.param({"origins": FORM}, {"access.trusted_proxies": "10.0.0.1"}, [], id="all right"),
        pytest.param({"origins": FORM}, {"forms.per_address_per_minute": 0}, [], id="no limit"),
        pytest.param({"may_read": True, "may_update": True}, {}, [], id="no form"),
        pytest.param(
            {"origins": FORM, "needs_challenge": True},
            {"access.trusted_proxies": "10.0.0.1"},
            ["turnstile.secret is not set: its forms get 503"],
            id="no secret",
        ),
        pytest.param(
            {"origins": FORM, "needs_challenge": True},
            {"access.trusted_proxies": "10.0.0.1", "turnstile.secret": "x"},
            [],
            id="a secret",
        ),
    ],
)
def test_forms(
    settings_of: Callable[..., Settings],
    grants: dict[str, Any],
    overrides: dict[str, object],
    words: list[str],
) -> None:
    """`check` warns about create-only keys whose limits or challenges cannot work."""
    settings = settings_of(overrides)
    form = {"may_read": False, "may_update": False, **grants}
    create(settings, KeyRequest(name="form", grants=Grants(spreadsheets=DEMO, **form)))

    texts = [each.text for each in check(settings) if each.level != "ok"]

    assert [word in text for word, text in zip(words, texts, strict=True)] == [True] * len(words)


def test_expired_keys_are_no_problem(settings_of: Callable[..., Settings]) -> None:
    """`check` has no findings about an expired create-only key."""
    settings, made = settings_of(), datetime(2026, 1, 1, tzinfo=UTC)
    form = Grants(spreadsheets=DEMO, may_read=False, may_update=False, needs_challenge=True)
    create(settings, KeyRequest(name="f", grants=form, expires_at=made + timedelta(days=1)), made)

    assert {finding.level for finding in check(settings)} == {"ok"}


def test_a_pepper_that_does_not_match_the_keys(
    settings_of: Callable[..., Settings], tmp_path: Path
) -> None:
    """`check` reports a pepper that the keys were not made with as a problem."""
    settings = settings_of()
    create(settings, KeyRequest(name="narrow", grants=Grants(spreadsheets=DEMO)))
    (tmp_path / "keys.db.pepper").write_bytes(bytes(32))

    problems = [finding.text for finding in check(settings) if finding.level == "problem"]

    assert len(problems) == 1
    assert "keys.db.pepper is not the pepper that" in problems[0]
    assert "Restore the earlier pepper" in problems[0]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        pytest.param("keys.db", b"x" * 5000, "cannot be used as the key store", id="key store"),
        pytest.param("keys.db.pepper", b"short", "is damaged: it must have 32", id="pepper"),
    ],
)
def test_a_damaged_file_of_the_keys(
    settings_of: Callable[..., Settings], tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    """`check` names a damaged key store or pepper file and the kind of damage."""
    settings = settings_of()
    create(settings, KeyRequest(name="narrow", grants=Grants(spreadsheets=DEMO)))
    path = tmp_path / name
    path.write_bytes(content)
    path.chmod(0o600)

    problems = [each.text for each in check(settings) if each.level == "problem"]

    assert len(problems) == 1
    assert str(path) in problems[0]
    assert words in problems[0]


def test_check_creates_no_key_store(settings_of: Callable[..., Settings], tmp_path: Path) -> None:
    """`check` reports that the key store does not exist and creates no file."""
    texts = [finding.text for finding in check(settings_of()) if finding.level == "ok"]

    assert any("keys.db does not exist" in text for text in texts)
    assert not list(tmp_path.glob("keys.db*"))
