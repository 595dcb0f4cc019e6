"""The setting `access.database`: a file, or a PostgreSQL URL that can contain a password."""

from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import create_async_engine

from gateway.settings.database import PostgresUrl, parse_database
from gateway.settings.model import ConfigError, load_settings
from tests.settings.files import written

PASSWORD = "hunter2%2Fhunter2"
URL = f"postgresql+asyncpg://gateway:{PASSWORD}@db.internal:5432/keys?ssl=require"
PEPPER = "a pepper of 16 and more"


def table(*lines: str) -> str:
    return "\n".join(("[access]", *lines))


def problems(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_settings(path, {})
    return caught.value.problems


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param(URL, "postgresql://db.internal:5432/keys", id="all parts"),
        pytest.param("postgresql+asyncpg://h/n?password=hunter2", "postgresql://h/n", id="options"),
        pytest.param("postgresql+asyncpg://u@[::1]:1/n", "postgresql://[::1]:1/n", id="IPv6"),
        pytest.param(
            "postgresql+asyncpg:///n?host=/run/postgresql", "postgresql:///n", id="socket"
        ),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    """The text of a database URL has only host, port and name; `url` has the password."""
    database = parse_database(url)

    assert isinstance(database, PostgresUrl)
    assert str(database) == shown
    assert "hunter2" not in f"{database!r}"
    assert database.url.get_secret_value() == url


@pytest.mark.parametrize(
    ("written_url", "used"),
    [
        pytest.param("postgresql://u:p%2F@h:5432/n", "u:p%2F@h:5432/n", id="libpq"),
        pytest.param("postgres://u:p%2F@h:5432/n", "u:p%2F@h:5432/n", id="short"),
        pytest.param(
            "postgresql://u@h/n?sslmode=require&user=x", "u@h/n?ssl=require&user=x", id="sslmode"
        ),
        pytest.param("postgres:///n?host=/run/db", "/n?host=/run/db", id="socket"),
    ],
)
def test_urls_of_libpq_are_converted(written_url: str, used: str) -> None:
    """A URL in the form of libpq is converted to the driver's scheme and options."""
    database = parse_database(written_url)

    assert isinstance(database, PostgresUrl)
    assert database.url.get_secret_value() == f"postgresql+asyncpg://{used}"


@pytest.mark.parametrize(
    "options", ["channel_binding=require", "pgbouncer=true", "sslmode=require&ssl=prefer", "ssl2"]
)
def test_an_unknown_option_of_a_url_is_refused(options: str, tmp_path: Path) -> None:
    """An unknown option in a database URL is a problem whose message does not quote the option."""
    line = f'database = "postgresql://u:hunter2@h/n?{options}"'
    (problem,) = problems(written(tmp_path, table(line, f'pepper = "{PEPPER}"')))

    assert problem.startswith("access.database: an option after the ? is unknown")
    assert "hunter2" not in problem
    assert options not in problem


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("port=hunter2", "the option port after the ? must be a port"),
        ("port=99999", "the option port after the ? must be a port"),
        ("port=1,", "the option port after the ? must be a port"),
        ("target_session_attrs=hunter2", "must be one of any, primary, standby"),
        ("sslmode=hunter2", "the option ssl after the ? must be one of disable, allow"),
        ("prepared_statement_cache_size=-1", "must be a number; 0 keeps no statements"),
    ],
)
def test_an_invalid_value_of_an_option_is_refused(option: str, words: str, tmp_path: Path) -> None:
    """The problem about an invalid option value names the option and does not quote the value."""
    line = f'database = "postgresql://u:hunter2@h/n?{option}"'
    (problem,) = problems(written(tmp_path, table(line, f'pepper = "{PEPPER}"')))

    assert problem.startswith("access.database: the option ")
    assert words in problem
    assert "hunter2" not in problem


@pytest.mark.parametrize(
    "options",
    [
        "port=5432",
        "host=a,b&port=5432,65535",
        "prepared_statement_cache_size=0",
        "target_session_attrs=read-write",
        "ssl=verify-full",
    ],
)
def test_options_of_the_driver_are_accepted(options: str) -> None:
    """A database URL can have options of asyncpg, such as no prepared statements for PgBouncer."""
    database = parse_database(f"postgresql://u@/n?{options}")

    assert isinstance(database, PostgresUrl)
    assert create_async_engine(database.url.get_secret_value()).dialect.driver == "asyncpg"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://u:hunter2@h/n",
        "mysql://u:hunter2@h/n",
        "sqlite:///keys.db",
        "postgresql+asyncpg://u:hunter2/x@h/n",
        "postgresql+asyncpg://u:22/hunter2@h/n",
        "postgresql+asyncpg://u:hunter2@@h/n",
        "postgresql+asyncpg://u:hunter2@h:port/n",
        "postgresql+asyncpg://u:hunter2@h",
        "postgresql+asyncpg://u:hunter2@h/",
        "postgresql+asyncpg://u:hunter2@h/n#x",
    ],
)
def test_a_malformed_url_is_refused_without_its_text(url: str, tmp_path: Path) -> None:
    """The problem about a malformed database URL does not contain the password."""
    (problem,) = problems(written(tmp_path, table(f'database = "{url}"', f'pepper = "{PEPPER}"')))

    assert problem.startswith("access.database: must be the name of a file, or postgresql://")
    assert "hunter2" not in problem


def test_a_url_is_not_resolved_as_a_path(tmp_path: Path) -> None:
    """A URL stays unchanged; a relative `pepper_file` starts at the configuration's directory."""
    path = written(tmp_path, table(f'database = "{URL}"', 'pepper_file = "pepper"'))
    access = load_settings(path, {}).access

    assert access.database == parse_database(URL)
    assert access.pepper_file == tmp_path / "pepper"


def test_a_configuration_with_a_password_must_be_private(tmp_path: Path) -> None:
    """A configuration that other users can read must not have a database URL with a password."""
    path = written(tmp_path, table(f'database = "{URL}"', 'pepper_file = "pepper"'))
    path.chmod(0o644)
    (problem,) = problems(path)
    named = 'database = "postgresql://u@h/n?%70assword=x"'
    hidden = written(tmp_path, table(named, 'pepper_file = "pepper"'))
    hidden.chmod(0o644)
    (as_option,) = problems(hidden)
    harmless = written(tmp_path, table(f'database = "{URL.replace(f":{PASSWORD}", "")}"'))
    harmless.chmod(0o644)

    assert problem.startswith(f"access.database: {path} has this secret and is open to other users")
    assert as_option.startswith(
        f"access.database: {path} has this secret and is open to other users"
    )
    assert load_settings(harmless, {"GATEWAY_ACCESS__PEPPER": PEPPER})


def test_postgresql_needs_a_pepper(tmp_path: Path) -> None:
    """With PostgreSQL, `pepper` or `pepper_file` is required, because no file is created."""
    path = written(tmp_path, table(f'database = "{URL}"'))

    assert problems(path) == ["access.pepper_file: PostgreSQL needs this setting or access.pepper"]


def test_pepper_and_pepper_file_exclude_each_other(tmp_path: Path) -> None:
    """It is a problem if both `pepper` and `pepper_file` are configured."""
    path = written(tmp_path, table(f'pepper = "{PEPPER}"', 'pepper_file = "pepper"'))

    assert problems(path) == ["access.pepper_file: set either this or access.pepper, not both"]
