"""Problems in the configuration: all reported at once, each with its setting, none with a value."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from gateway.settings.model import (
    AccessSettings,
    ConfigError,
    PlanSettings,
    Settings,
    load_settings,
)
from tests.settings.files import written

SECRET = "hunter2-hunter2-hunter2"


def problems_of(path: Path, environ: dict[str, str] | None = None) -> list[str]:
    """Return the problems of a configuration."""
    with pytest.raises(ConfigError) as refusal:
        load_settings(path, environ or {})
    assert str(refusal.value) == "\n".join(refusal.value.problems)
    return refusal.value.problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("server = 5", "server: must be a table", id="no table"),
        pytest.param("[sever]", "sever: there is no such setting; did you mean server?", id="sec"),
        pytest.param(
            "[server]\nprot = 1",
            "server.prot: there is no such setting; did you mean port?",
            id="unknown key",
        ),
        pytest.param(
            'credentials = "x"',
            "credentials: there is no such setting; did you mean google.credentials?",
            id="setting outside of its table",
        ),
        pytest.param(
            "[cache]\nmax_connections = 1",
            "cache.max_connections: there is no such setting; did you mean server.max_connections "
            "or google.max_connections?",
            id="setting of other tables",
        ),
        pytest.param(
            "max_limit = 1",
            "max_limit: there is no such setting; did you mean plans.NAME.max_limit?",
            id="setting of a plan",
        ),
        pytest.param("zzz = 1", "zzz: there is no such setting", id="nothing near"),
        pytest.param(
            '[[google.accounts]]\nname = "main"',
            'google.accounts: names must be different, and not "main"',
            id="name of an account",
        ),
        pytest.param(
            '[[google.accounts]]\nname = "b"\nsubject = "c"',
            "google: subject needs credentials: its tokens are signed with a key file",
            id="subject without key",
        ),
        pytest.param(
            '[[google.accounts]]\nname = "b"\ncredential = "c"',
            "google.accounts.0.credential: there is no such setting",
            id="setting of an account",
        ),
        pytest.param(
            '[[worksheets]]\nspreadsheet = "a"\ntitle = "b"\n'
            'record_field = "c"\nfilled_down = false',
            "worksheets.0: record_field cannot be used with filled_down = false. Remove one",
            id="two rules for the end of the records",
        ),
        pytest.param('[server]\nport = "x"', "server.port: must be a whole number", id="text"),
        pytest.param("[server]\nport = 1.5", "server.port: must be a whole number", id="fraction"),
        pytest.param(
            "[server]\nport = 65536", "server.port: must be less than or equal to 65535", id="port"
        ),
        pytest.param(
            "[cache]\nrows_ttl_seconds = true",
            "cache.rows_ttl_seconds: must be a number, not true or false",
            id="true",
        ),
        pytest.param(
            '[worksheets]\nspreadsheet = "a"\ntitle = "b"',
            "worksheets: must be tables [[worksheets]] in the configuration file",
            id="one table",
        ),
        pytest.param('[server]\nhost = ""', "server.host: must not be blank", id="blank host"),
        pytest.param(
            "[google]\nread_timeout_seconds = 0",
            "google.read_timeout_seconds: must be greater than 0",
            id="no time",
        ),
        pytest.param(
            "[cache]\nheader_ttl_seconds = nan",
            "cache.header_ttl_seconds: must be a finite number",
            id="nan",
        ),
        pytest.param(
            "[google]\nallow_insecure_endpoint = 5",
            "google.allow_insecure_endpoint: must be true or false",
            id="flag",
        ),
        pytest.param(
            '[api]\nempty_cell = "nil"', "api.empty_cell: must be 'null', '' or 'omit'", id="choice"
        ),
        pytest.param(
            '[api]\ndocs_url = "docs.example.org"',
            "api.docs_url: must be a URL that begins with https:// or http://",
            id="no URL",
        ),
        pytest.param(
            '[google]\ncredentials = ""',
            "google.credentials: must not be blank; remove it to use the default",
            id="blank path",
        ),
        pytest.param(
            "[access]\ndatabase = 1",
            "access.database: must be the name of a file, or a URL",
            id="no path",
        ),
        pytest.param('[access]\npepper = "short"', "access.pepper: is too short", id="pepper"),
        pytest.param("plans = 1", "plans: must be a table", id="plans"),
        pytest.param("[plans]\ngold = 1", "plans.gold: must be a table", id="plan"),
        pytest.param(
            "[plans.paid]\nmax_limit = 1001",
            "plans.paid.max_limit: must be less than or equal to 1000",
            id="limit",
        ),
        pytest.param(
            "[plans.gold]\nlimit = 1",
            "plans.gold.limit: there is no such setting; did you mean max_limit?",
            id="unknown key of a plan",
        ),
        pytest.param(
            "[plans.Gold]",
            "plans.Gold: must be lower-case letters and digits, joined by _ or -",
            id="name of a plan",
        ),
    ],
)
def test_a_problem_in_the_file_has_the_path_of_the_setting(
    tmp_path: Path, text: str, problem: str
) -> None:
    """Each problem is one line with the path of the setting, and the reason."""
    assert problems_of(written(tmp_path, text)) == [problem]


def _numbers(section: type[BaseModel], path: str) -> Iterator[str]:
    """Yield the settings of a section whose values are numbers."""
    for name, field in section.model_fields.items():
        names = re.findall(r"\b(?:int|float)\b", repr(field.annotation))
        if names:
            yield f"{path}.{name}"


@pytest.mark.parametrize(
    "path",
    [
        *_numbers(PlanSettings, "plans.paid"),
        *(
            path
            for name, section in Settings()
            if isinstance(section, BaseModel)
            for path in _numbers(type(section), name)
        ),
    ],
)
def test_true_is_not_a_number(tmp_path: Path, path: str) -> None:
    """No setting accepts true as the number 1."""
    section, _, name = path.rpartition(".")

    assert problems_of(written(tmp_path, f"[{section}]\n{name} = true")) == [
        f"{path}: must be a number, not true or false"
    ]


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        (
            "GATEWAY_SERVER__PROT",
            "1",
            "GATEWAY_SERVER__PROT: there is no such setting; did you mean GATEWAY_SERVER__PORT?",
        ),
        ("GATEWAY_", "1", "GATEWAY_: there is no such setting"),
        (
            "GATEWAY_PLANS__GOLD__X",
            "1",
            "GATEWAY_PLANS__GOLD__X: there is no such setting",
        ),
        ("GATEWAY_PLANS__GOLD", "1", "GATEWAY_PLANS__GOLD: there is no such setting"),
        (
            "GATEWAY_PLANS__GOLD__MAX_LIMT",
            "1",
            "GATEWAY_PLANS__GOLD__MAX_LIMT: there is no such setting; "
            "did you mean GATEWAY_PLANS__GOLD__MAX_LIMIT?",
        ),
        (
            "GATEWAY_server__port",
            "1",
            "GATEWAY_server__port: there is no such setting",
        ),
        (
            "GATEWAY_SERVER__PORT",
            "many",
            "server.port: must be a whole number (set by GATEWAY_SERVER__PORT)",
        ),
        (
            "GATEWAY_ACCESS__TRUSTED_PROXIES",
            '["127.0.0.1"]',
            'access.trusted_proxies: must be a list of addresses and networks, as in ["127.0.0.1", '
            '"10.0.0.0/8"], or in a variable 127.0.0.1,10.0.0.0/8; ',
        ),
        (
            "GATEWAY_METRICS__HOSTS",
            '["a"]',
            "metrics.hosts: must be a list of host names without ports, as in "
            '["a.internal", "b.internal"], or in a variable a.internal,b.internal (set by ',
        ),
        (
            "GATEWAY_GOOGLE__ACCOUNTS",
            "b",
            "google.accounts: must be tables [[google.accounts]] in the configuration file (set by",
        ),
        (
            "GATEWAY_ACCESS__DATABASE",
            "",
            "access.database: must not be blank; remove it to use the default "
            "(set by GATEWAY_ACCESS__DATABASE)",
        ),
    ],
)
def test_a_problem_in_the_environment_has_the_variable(
    tmp_path: Path, name: str, value: str, problem: str
) -> None:
    """Each problem in the environment begins with the name of the variable."""
    assert problems_of(written(tmp_path, ""), {name: value})[0].startswith(problem)


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    """The problems of the file and of the environment are reported together."""
    path = written(
        tmp_path,
        '[server]\nport = -1\n[google]\nendpoint = "ftp://x"\n[cache]\nttl = 1\n[plans.a]\nb = 1',
    )
    problems = problems_of(path, {"GATEWAY_X__Y": "1", "GATEWAY_WRITES__MAX_WAITING_ROWS": "0"})

    assert [re.split(r": | \(", problem)[0] for problem in problems] == [
        "GATEWAY_X__Y",
        "server.port",
        "google.endpoint",
        "cache.ttl",
        "writes.max_waiting_rows",
        "plans.a.b",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"[server]\nport = \n", r"is not TOML: .*line 2", id="syntax"),
        pytest.param(b"[server]\n[server]\n", r"is not TOML: .*line 2", id="table twice"),
        pytest.param(b"# ok\n\xff", r"is not UTF-8 \(byte 5\)", id="encoding"),
    ],
)
def test_invalid_toml_is_reported_with_the_line(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    """A syntax error has file and line, and problems of the environment are reported too."""
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    problems = problems_of(path, {"GATEWAY_SERVER__PORT": "x"})

    assert re.match(rf"{re.escape(str(path))}: {problem}", problems[0])
    assert problems[1].startswith("server.port: ")


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    """A configuration file that was given by path must exist and be a file."""
    missing = tmp_path / "missing.toml"

    assert problems_of(missing) == [f"{missing}: there is no such file"]
    assert problems_of(tmp_path) == [f"{tmp_path}: cannot be read: Is a directory"]


@pytest.mark.parametrize(
    "text",
    [
        f'[access]\npepper = "{SECRET}"\nx = 1',
        f'[access]\npepper = ["{SECRET}"]',
        f'[access]\npepper = "{SECRET[:15]}"',
        f'[access]\npepper = "{SECRET}',
        f'[google]\nendpoint = "https://user:{SECRET}@sheets.googleapis.com"',
        f'[server]\nport = "{SECRET}"',
        f'[cluster]\nredis = "http://:{SECRET}@host"',
        f'[cluster]\nredis = "redis://:{SECRET}/x@host"',
    ],
    ids=["beside it", "list", "short", "syntax", "endpoint", "wrong place", "Redis", "Redis port"],
)
def test_problems_contain_no_value(tmp_path: Path, text: str) -> None:
    """No problem and no cause contains a configured value, which could be a secret."""
    with pytest.raises(ConfigError) as refusal:
        load_settings(written(tmp_path, text), {"GATEWAY_SERVER__PORTS": SECRET})

    assert "hunter2" not in str(refusal.value)
    assert "hunter2" not in repr(refusal.value)
    assert refusal.value.__context__ is None


def test_validation_errors_contain_no_secret() -> None:
    """The validation error of settings that are built in code does not contain the pepper."""
    with pytest.raises(ValueError, match="pepper") as refusal:
        AccessSettings.model_validate({"pepper": SECRET[:15]})

    assert "hunter2" not in str(refusal.value)


def test_settings_show_no_secret(tmp_path: Path) -> None:
    """The `repr` and the JSON of settings contain neither pepper nor Redis password."""
    text = f'[access]\npepper = "{SECRET}"\n[cluster]\nredis = "redis://:{SECRET}@host"'
    settings = load_settings(written(tmp_path, text), {})

    assert "hunter2" not in repr(settings)
    assert "hunter2" not in settings.model_dump_json()


@pytest.mark.parametrize(
    "tail", ["/v4", "//", "?", "?x=1", "#", "#x", "/?x"], ids=lambda tail: tail
)
def test_an_endpoint_has_no_path(tmp_path: Path, tail: str) -> None:
    """`google.endpoint` with a path, query or fragment is a problem."""
    environ = {"GATEWAY_GOOGLE__ENDPOINT": f"https://sheets.googleapis.com{tail}"}
    (problem,) = problems_of(written(tmp_path, ""), environ)

    assert problem.startswith("google.endpoint: must be scheme://host[:port] alone")


def test_error_of_a_foreign_endpoint_names_the_flag(tmp_path: Path) -> None:
    """The problem about a foreign endpoint names the setting that allows foreign endpoints."""
    environ = {"GATEWAY_GOOGLE__ENDPOINT": "http://emulator:9099"}
    (problem,) = problems_of(written(tmp_path, ""), environ)

    assert problem.startswith("google.endpoint: must be https")
    assert "google.allow_insecure_endpoint" in problem


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o666])
def test_a_pepper_in_a_file_that_others_can_open(tmp_path: Path, mode: int) -> None:
    """A configuration that other users can open must not contain a pepper."""
    path = written(tmp_path, f'[access]\npepper = "{SECRET}"')
    path.chmod(mode)
    with_pepper = problems_of(path)
    path.write_text('[access]\ndatabase = "keys.db"')

    assert with_pepper == [
        f"access.pepper: {path} has this secret and is open to other users of this machine: "
        "run 'chmod 600' on it"
    ]
    assert load_settings(path, {"GATEWAY_ACCESS__PEPPER": SECRET}).access.pepper is not None


@pytest.mark.parametrize(
    ("url", "is_secret"),
    [
        ("redis://127.0.0.1:6379/0", False),
        ("rediss://user@redis.internal:6379/0", False),
        (f"redis://:{SECRET}@redis.internal:6379/0", True),
        (f"redis://redis.internal:6379/0?password={SECRET}", True),
        (f"redis://:{SECRET}/x@redis.internal:6379/0", True),
    ],
    ids=["none", "user", "password", "option", "malformed"],
)
def test_an_address_of_redis_in_a_file_that_others_can_open(
    tmp_path: Path, url: str, is_secret: bool
) -> None:
    """Other users can open a file with the URL of Redis, unless the URL has a password."""
    path = written(tmp_path, f'[cluster]\nredis = "{url}"')
    path.chmod(0o644)
    problems = problems_of(path, {"GATEWAY_X": "1"})

    assert any(each.startswith("cluster.redis: ") and "secret" in each for each in problems) == (
        is_secret
    )


@pytest.mark.parametrize(
    "url",
    [
        *("", "host:6379", "redis://", "redis://host:x/0", "redis://host:0", "http://host"),
        *("unix://", "redis://host/one", "redis://host/0/1", "redis://:a/b@host/0"),
        *("redis://host/0#x", "redis://u#b@host/0", "redis://u?b@host/0", "unix://:1/b@/run/redis"),
    ],
)
def test_an_invalid_address_of_redis(tmp_path: Path, url: str) -> None:
    """The problem about an invalid Redis URL has the correct form of the URL."""
    (problem,) = problems_of(written(tmp_path, ""), {"GATEWAY_CLUSTER__REDIS": url})

    assert problem.startswith("cluster.redis: must be redis://HOST:PORT/DB")


@pytest.mark.parametrize(
    "url", ["redis://host", "redis://:p@host:6379/1", "rediss://u:p@[::1]:1/0", "unix:///run/redis"]
)
def test_valid_redis_urls(tmp_path: Path, url: str) -> None:
    """Redis URLs can use TCP, TLS or a Unix socket."""
    settings = load_settings(written(tmp_path, ""), {"GATEWAY_CLUSTER__REDIS": url})

    assert settings.cluster.redis is not None


POSTGRES = "postgresql+asyncpg://host/gateway"


@pytest.mark.parametrize(
    ("database", "redis", "is_cluster"),
    [
        pytest.param("keys.db", None, False, id="neither"),
        pytest.param(POSTGRES, None, False, id="PostgreSQL alone"),
        pytest.param("keys.db", "redis://host", False, id="Redis with SQLite"),
        pytest.param(POSTGRES, "redis://host", True, id="both"),
    ],
)
def test_a_cluster(tmp_path: Path, database: str, redis: str | None, is_cluster: bool) -> None:
    """The gateway runs as a cluster only with both PostgreSQL and Redis."""
    overrides = {"access.database": database, "cluster.redis": redis, "access.pepper": SECRET}
    settings = load_settings(written(tmp_path, ""), {}, overrides)

    assert settings.is_cluster == is_cluster


@pytest.mark.parametrize("value", ["raw", "user_entered"])
def test_a_removed_setting(tmp_path: Path, value: str) -> None:
    """A removed setting is one problem, whatever its value, in the file and in the environment."""
    told = "the setting was removed; delete it: cells are always stored as sent"
    path = written(tmp_path, f'[google]\nvalue_input = "{value}"\n')

    assert problems_of(path) == [f"google.value_input: {told}"]
    assert problems_of(written(tmp_path, ""), {"GATEWAY_GOOGLE__VALUE_INPUT": value}) == [
        f"GATEWAY_GOOGLE__VALUE_INPUT: {told}"
    ]
