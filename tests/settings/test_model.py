"""Configuration: defaults, precedence, and hosts that credentials can be sent to."""

from contextlib import chdir
from pathlib import Path

import pytest
from pydantic import SecretStr

from gateway.settings.address import is_allowed_endpoint
from gateway.settings.model import (
    AccessSettings,
    GoogleSettings,
    PlanSettings,
    Settings,
    load_settings,
)
from tests.settings.files import written

SECRET = "hunter2-hunter2-hunter2"


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    """An empty file gives the defaults, with the key store in the directory of the file."""
    settings = load_settings(written(tmp_path, ""), {"PATH": "/bin", "OTHER_SERVER__PORT": "1"})

    assert settings == Settings(access=AccessSettings(database=tmp_path / "keys.db"))


def test_the_default_plans() -> None:
    """The default plans are `free`, without filters and sorting, and `paid`."""
    plans = Settings().plans

    assert plans == {"free": PlanSettings(where_and_order=False), "paid": PlanSettings()}


def test_settings_are_frozen() -> None:
    """Setting an attribute of the settings raises an error."""
    with pytest.raises(ValueError, match="frozen"):
        Settings().server.port = 1


def test_the_default_configuration_file(tmp_path: Path) -> None:
    """Without a path, `config.toml` of the working directory is read if the file exists."""
    (tmp_path / "config.toml").write_text("[server]\nport = 1")
    (tmp_path / "empty").mkdir()
    with chdir(tmp_path):
        found = load_settings(None, {})
    with chdir(tmp_path / "empty"):
        missing = load_settings(None, {})

    assert found.server.port == 1
    assert found.access.database == Path("keys.db")
    assert missing == Settings()


def test_google_accounts(tmp_path: Path) -> None:
    """Each Google account has its own settings; `[google]` is an account if it has credentials."""
    second = '[[google.accounts]]\nname = "second"\ncredentials = "b.json"\nreads_per_minute = 9\n'
    main = '[google]\ncredentials = "a.json"\n'
    one, other, both = (
        load_settings(written(tmp_path, text), {}).google.by_account()
        for text in ("", second, main + second)
    )

    assert [[*one], [*other], [*both]] == [["main"], ["second"], ["main", "second"]]
    assert [each.credentials for each in both.values()] == [
        tmp_path / "a.json",
        tmp_path / "b.json",
    ]
    assert [each.reads_per_minute for each in both.values()] == [54, 9]


@pytest.mark.parametrize(
    ("environ", "overrides", "port"),
    [
        pytest.param({}, {}, 1, id="file"),
        pytest.param({"GATEWAY_SERVER__PORT": "2"}, {}, 2, id="environment over file"),
        pytest.param(
            {"GATEWAY_SERVER__PORT": "2"}, {"server.port": 3}, 3, id="overrides over environment"
        ),
        pytest.param({}, {"server.port": 3}, 3, id="overrides over file"),
        pytest.param({}, {"server.port": 0}, 0, id="an override that is false"),
        pytest.param({}, {"server.port": None}, 1, id="an option that was not given"),
    ],
)
def test_precedence_of_flags_environment_and_file(
    tmp_path: Path, environ: dict[str, str], overrides: dict[str, object], port: int
) -> None:
    """Command-line flags override the environment, and the environment overrides the file."""
    path = written(tmp_path, '[server]\nhost = "::1"\nport = 1')
    settings = load_settings(path, environ, overrides)

    assert settings.server.port == port
    assert settings.server.host == "::1"


def test_the_environment_sets_every_kind_of_value(tmp_path: Path) -> None:
    """The text of an environment variable is converted to the type of the setting."""
    environ = {
        "GATEWAY_SERVER__SHUTDOWN_SECONDS": "1.5",
        "GATEWAY_GOOGLE__CREDENTIALS": "sa.json",
        "GATEWAY_GOOGLE__ALLOW_INSECURE_ENDPOINT": "true",
        "GATEWAY_GOOGLE__ENDPOINT": "http://emulator:9099/",
        "GATEWAY_API__EMPTY_CELL": "",
        "GATEWAY_ACCESS__PEPPER": SECRET,
        "GATEWAY_PLANS__GOLD_2__MAX_LIMIT": "1000",
    }
    settings = load_settings(written(tmp_path, ""), environ)

    assert settings.server.shutdown_seconds == 1.5
    assert settings.google == GoogleSettings(
        credentials=Path("sa.json"),
        allow_insecure_endpoint=True,
        endpoint="http://emulator:9099",
    )
    assert settings.api.empty_cell == ""
    assert settings.access.pepper == SecretStr(SECRET)
    assert settings.plans["gold_2"] == PlanSettings(max_limit=1000)


@pytest.mark.parametrize(
    "name",
    [
        "GATEWAY_SERVICE_HOST",
        "GATEWAY_SERVICE_PORT",
        "GATEWAY_SERVICE_PORT_HTTP",
        "GATEWAY_PORT",
        "GATEWAY_PORT_8000_TCP",
        "GATEWAY_PORT_8000_TCP_ADDR",
    ],
)
def test_variables_of_a_kubernetes_service_are_ignored(name: str, tmp_path: Path) -> None:
    """Variables that Kubernetes sets for a Service named gateway are no settings."""
    path = written(tmp_path, "")

    assert load_settings(path, {name: "tcp://10.0.0.1:8000"}) == load_settings(path, {})


def test_plans_are_merged_key_by_key(tmp_path: Path) -> None:
    """A plan's table changes single settings; all other settings keep the plan's defaults."""
    path = written(
        tmp_path, "[plans.free]\nmax_limit = 10\n[plans.gold]\nrequests_per_minute = 9000"
    )
    environ = {
        "GATEWAY_PLANS__FREE__REQUESTS_PER_MINUTE": "7",
        "GATEWAY_PLANS__PAID__MAX_LIMIT": "500",
    }
    settings = load_settings(path, environ)

    assert settings.plans == {
        "free": PlanSettings(where_and_order=False, max_limit=10, requests_per_minute=7),
        "paid": PlanSettings(max_limit=500),
        "gold": PlanSettings(requests_per_minute=9000),
    }


def test_relative_paths(tmp_path: Path) -> None:
    """Relative paths in the file start at its directory, all others at the working directory."""
    path = written(tmp_path, '[google]\ncredentials = "sa.json"\n[access]\ndatabase = "/var/k.db"')
    of_file = load_settings(path, {})
    of_environment = load_settings(path, {"GATEWAY_GOOGLE__CREDENTIALS": "other/sa.json"})
    of_override = load_settings(path, {}, {"access.database": Path("k.db")})

    assert of_file.google.credentials == tmp_path / "sa.json"
    assert of_file.access.database == Path("/var/k.db")
    assert of_environment.google.credentials == Path("other/sa.json")
    assert of_override.access.database == Path("k.db")


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    """A byte order mark at the start of the file is ignored."""
    assert load_settings(written(tmp_path, "\ufeff[server]\nport = 1"), {}).server.port == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://sheets.googleapis.com",
        "https://SHEETS.googleapis.com",
        "https://googleapis.com",
        "https://oauth2.googleapis.com/token",
        "https://www.googleapis.com/oauth2/v4/token",
        "https://accounts.google.com/o/oauth2/token",
        "https://sheets.googleapis.com:443",
        "http://127.0.0.1:9099",
        "http://127.255.255.254:1",
        "http://localhost",
        "https://localhost:1",
        "http://[::1]:9099/token",
    ],
)
def test_google_and_loopback_are_allowed(url: str) -> None:
    """Credentials can be sent to Google over HTTPS and to any port of this machine."""
    assert is_allowed_endpoint(url, allow_insecure=False)


@pytest.mark.parametrize(
    "url",
    [
        "http://sheets.googleapis.com",
        "https://evil.org",
        "https://googleapis.com.evil.org",
        "https://evilgoogleapis.com",
        "https://google.com",
        "https://x.accounts.google.com",
        "http://emulator:9099",
        "http://10.0.0.1",
        "http://0.0.0.0",
        "http://127.0.0.1.evil.org",
        "http://169.254.169.254",
        "http://[::2]",
    ],
)
def test_other_hosts_need_the_flag(url: str) -> None:
    """Another host, or Google without TLS, is only allowed with `allow_insecure`."""
    assert not is_allowed_endpoint(url, allow_insecure=False)
    assert is_allowed_endpoint(url, allow_insecure=True)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sheets.googleapis.com",
        "//sheets.googleapis.com",
        "https://",
        "https:/sheets.googleapis.com",
        "ftp://sheets.googleapis.com",
        "file:///etc/passwd",
        "https://user@sheets.googleapis.com",
        "https://sheets.googleapis.com:x",
        "https://sheets.googleapis.com:65536",
        "https://evil.org\\@sheets.googleapis.com",
        "https://evil.org#@sheets.googleapis.com",
        "https://evil.org／.googleapis.com",
        "https://evil.org%2f.googleapis.com",
        "https://sheets.googleapis.com\n",
        " https://sheets.googleapis.com",
        "https://[::1",
        "https://[::1%25lo]",
    ],
)
def test_a_malformed_url_is_never_allowed(url: str) -> None:
    """A URL that is not HTTP or HTTPS with a host is refused even with `allow_insecure`."""
    assert not is_allowed_endpoint(url, allow_insecure=True)
