"""The database in the configuration: a file, or a URL that may contain a password."""

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
    """Texts have the address only; the URL itself stays complete."""
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
def test_urls_of_other_programs_are_taken(written_url: str, used: str) -> None:
    """Providers show URLs in libpq's form: the driver gets them with its own names."""
    database = parse_database(written_url)

    assert isinstance(database, PostgresUrl)
    assert database.url.get_secret_value() == f"postgresql+asyncpg://{used}"


@pytest.mark.parametrize(
    "options", ["channel_binding=require", "pgbouncer=true", "sslmode=require&ssl=prefer", "ssl2"]
)
def test_an_option_that_the_driver_does_not_take_is_refused(options: str, tmp_path: Path) -> None:
    """The driver would end the start with a traceback; the problem names known options only."""
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
def test_a_value_that_the_driver_does_not_take_is_refused(
    option: str, words: str, tmp_path: Path
) -> None:
    """The problem names the option and its values, and not what was written."""
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
def test_options_of_the_driver_are_taken(options: str) -> None:
    """A pooler such as PgBouncer needs no prepared statements."""
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
    """A password that was not encoded appears neither in the problem nor as a part of another."""
    (problem,) = problems(written(tmp_path, table(f'database = "{url}"', f'pepper = "{PEPPER}"')))

    assert problem.startswith("access.database: must be the name of a file, or postgresql://")
    assert "hunter2" not in problem


def test_a_url_is_not_a_file_beside_the_configuration(tmp_path: Path) -> None:
    """It stays as it is written, and the file of the pepper starts at the directory as others."""
    path = written(tmp_path, table(f'database = "{URL}"', 'pepper_file = "pepper"'))
    access = load_settings(path, {}).access

    assert access.database == parse_database(URL)
    assert access.pepper_file == tmp_path / "pepper"


def test_a_file_with_a_password_is_private(tmp_path: Path) -> None:
    """A URL without password may be read by everyone."""
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


def test_a_server_needs_a_pepper(tmp_path: Path) -> None:
    """Beside a URL no file can be made."""
    path = written(tmp_path, table(f'database = "{URL}"'))

    assert problems(path) == ["access.pepper_file: PostgreSQL needs this setting or access.pepper"]


def test_a_pepper_is_in_one_place(tmp_path: Path) -> None:
    """The setting and a file at once would leave open which one counts."""
    path = written(tmp_path, table(f'pepper = "{PEPPER}"', 'pepper_file = "pepper"'))

    assert problems(path) == ["access.pepper_file: set either this or access.pepper, not both"]
