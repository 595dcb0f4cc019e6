"""Settings from defaults, a TOML file, the environment and the command line.

Rules:
- Precedence: defaults < file < environment `GATEWAY_SECTION__KEY` < overrides.
- All mistakes are reported together, each with its key path, but without values, because a value
  can be a secret.
- Every setting has a description (the string below it), and a line in `config.example.toml`.
- This module does not read `os.environ`: the caller passes the environment.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, Self, TypeVar
from unicodedata import normalize
from urllib.parse import parse_qsl, urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from gateway.settings.address import (
    Address,
    Proxy,
    is_allowed_endpoint,
    is_loopback,
    parse_address,
    parse_host_names,
    parse_proxies,
)
from gateway.settings.database import Database, PostgresUrl, has_password, parse_database
from gateway.settings.layers import KeyPath, describe, environment_layer, file_layer, merged, nested


def _not_blank(name: object) -> object:
    # Path("") would be the working directory.
    if name == "":
        raise ValueError("must not be blank; remove it to use the default")
    return name


def _not_flag(number: object) -> object:
    # pydantic would read true as 1.
    if isinstance(number, bool):
        raise ValueError("must be a number, not true or false")
    return number


Whole = Annotated[int, BeforeValidator(_not_flag)]
Decimal = Annotated[float, BeforeValidator(_not_flag)]
FileName = Annotated[Path, BeforeValidator(_not_blank)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=32)]
Port = Annotated[Whole, Field(ge=0, le=65535)]
Count = Annotated[Whole, Field(ge=1)]
CountOrZero = Annotated[Whole, Field(ge=0)]
Seconds = Annotated[Decimal, Field(gt=0)]
SecondsOrZero = Annotated[Decimal, Field(ge=0)]


class ConfigError(Exception):
    """The settings, or files and services that the settings name, cannot be used.

    `problems` has one line for each mistake, for the operator.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


class Section(BaseModel):
    """Base class for a table of settings. The string below each setting describes it."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )


class ServerSettings(Section):
    """`[server]`: listening address and limits for clients."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    """Address to listen on; 0.0.0.0 means all addresses of the machine."""
    port: Port = 8000
    """Port to listen on; 0 means any free port."""
    shutdown_seconds: Seconds = 25.0
    """Maximum time for running requests and queued writes to finish after SIGTERM."""
    max_body_bytes: Count = 1_048_576
    """Maximum size of a request body; larger bodies get 413."""
    max_url_bytes: Count = 8_192
    """Maximum length of a request URL; longer URLs get 414."""
    max_head_bytes: Count = 16_384
    """Maximum size of a request's line and headers; larger heads get 431."""
    body_timeout_seconds: Seconds = 30.0
    """Maximum time for a request body to arrive; slower bodies get 408."""
    head_timeout_seconds: Seconds = 10.0
    """Maximum time for the head of a request to arrive; slower heads get 408."""
    answer_timeout_seconds: Seconds = 30.0
    """Maximum time for a client to read 64 KiB of its answer; then the connection is closed."""
    idle_timeout_seconds: Seconds = 75.0
    """Lifetime of an idle connection; must be longer than the lifetime at a proxy in front."""
    max_connections: Count = 4096
    """Maximum number of connections; at the limit, a new one closes an idle one or gets 503."""
    max_connections_per_address: CountOrZero | None = None
    """Maximum connections per address or IPv6 /64; 0: no limit. Default: max_connections / 4."""


MAIN_ACCOUNT = "main"
"""Name of the account whose credentials are in `[google]` itself."""


class AccountSettings(Section):
    """`[[google.accounts]]`: one more account, with its own quota."""

    name: Name
    """Name in log, metrics and `check`."""
    credentials: FileName | None = None
    """Key file of a service account; without one, Application Default Credentials are used."""
    subject: Annotated[str, Field(min_length=1)] | None = None
    """User that the account acts as, by domain-wide delegation; quota and access are the user's."""
    project: Annotated[str, Field(min_length=1)] | None = None
    """Google Cloud project whose quota the account uses; by default the project of the key file."""
    reads_per_minute: Count = 54
    """Maximum read calls per minute with this account."""
    writes_per_minute: Count = 54
    """Maximum write calls per minute with this account."""


class GoogleSettings(Section):
    """`[google]`: the Sheets API and its quota."""

    credentials: FileName | None = None
    """Key file of a service account; by default Application Default Credentials are used."""
    subject: Annotated[str, Field(min_length=1)] | None = None
    """User that the account acts as, by domain-wide delegation; quota and access are the user's."""
    project: Annotated[str, Field(min_length=1)] | None = None
    """Google Cloud project whose quota is used; by default the project of the key file."""
    allow_insecure_endpoint: bool = False
    """Allows endpoints and token URLs outside Google and this machine; these hosts see the rows."""
    endpoint: str = "https://sheets.googleapis.com"
    """Base URL of the Sheets API, or of an emulator on this machine."""
    connect_timeout_seconds: Seconds = 5.0
    """Timeout for connecting to Google."""
    read_timeout_seconds: Seconds = 20.0
    """Deadline of a read call, from start to end."""
    write_timeout_seconds: Seconds = 60.0
    """Deadline of a write call, from start to end."""
    max_connections: Count = 32
    """Maximum number of connections to Google."""
    max_answer_bytes: Count = 33_554_432
    """Maximum decoded size of an answer from Google; a larger worksheet gets 413."""
    reads_per_minute: Count = 54
    """Maximum read calls per minute, plus a burst of a ninth; Google's limit is 60 in total."""
    writes_per_minute: Count = 54
    """Maximum write calls per minute, plus a burst of a ninth; Google's limit is 60 in total."""
    project_reads_per_minute: Count = 270
    """Maximum read calls per minute of a project, plus a burst of a ninth; Google allows 300."""
    project_writes_per_minute: Count = 270
    """Maximum write calls per minute of a project, plus a burst of a ninth; Google allows 300."""
    accounts: tuple[AccountSettings, ...] = ()
    """More accounts. A spreadsheet shared with three accounts has three times the quota."""
    max_waiting_seconds: SecondsOrZero = 10.0
    """Maximum time that a call waits for the quota; calls that would wait longer fail at once."""

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, url: str, info: ValidationInfo) -> str:
        # An invalid flag is missing in info.data and is reported itself.
        allow_insecure = info.data.get("allow_insecure_endpoint", True)
        if not is_allowed_endpoint(url, allow_insecure=allow_insecure):
            raise ValueError(
                "must be https on a host of googleapis.com, or http(s) on this machine's loopback "
                "(anything else needs google.allow_insecure_endpoint), without user or password"
            )
        base = url.removesuffix("/")
        if urlsplit(base).path or "?" in base or "#" in base:
            raise ValueError("must be scheme://host[:port] alone, without path, query or fragment")
        return base

    @field_validator("accounts")
    @classmethod
    def _check_accounts(cls, accounts: tuple[AccountSettings, ...]) -> tuple[AccountSettings, ...]:
        names = [MAIN_ACCOUNT, *(account.name for account in accounts)]
        if len(set(names)) < len(names):
            raise ValueError(f'names must be different, and not "{MAIN_ACCOUNT}"')
        return accounts

    @model_validator(mode="after")
    def _check_subjects(self) -> Self:
        accounts: Sequence[GoogleSettings | AccountSettings] = (self, *self.accounts)
        if any(each.subject and each.credentials is None for each in accounts):
            raise ValueError("subject needs credentials: its tokens are signed with a key file")
        return self

    def by_account(self) -> Mapping[str, "GoogleSettings"]:
        """Return the settings of each account by name.

        `[google]` itself is an account if it has credentials, or without other accounts.
        """
        others = {
            account.name: self.model_copy(update=account.model_dump(exclude={"name"}))
            for account in self.accounts
        }
        has_main = self.credentials is not None or not others
        return {MAIN_ACCOUNT: self, **others} if has_main else others


class CacheSettings(Section):
    """`[cache]`: cached data of worksheets."""

    header_ttl_seconds: SecondsOrZero = 10.0
    """Lifetime of a cached header row for reads and creates; 0 reads it each time."""
    max_worksheets: Count = 1000
    """Maximum number of cached worksheets."""
    rows_ttl_seconds: SecondsOrZero = 5.0
    """Lifetime of the cached rows of a worksheet; 0 reads them each time."""
    max_stale_seconds: SecondsOrZero = 3600.0
    """Maximum age of rows that are served while Google does not answer."""
    max_bytes: Count = 536_870_912
    """Maximum memory for the rows of all worksheets and their query indexes."""
    max_worksheet_bytes: Count = 268_435_456
    """Maximum memory for the rows of one worksheet; a larger worksheet gets 413."""
    window_above_cells: Count = 500_000
    """Worksheets with more cells are read in windows (ranges of rows), not completely."""


class WriteSettings(Section):
    """`[writes]`: the write queue of each worksheet."""

    max_waiting_rows: Count = 5000
    """Maximum rows waiting for a worksheet; above it, keys with several writes waiting get 503."""
    max_waiting_rows_per_key: Count = 500
    """Maximum number of one key's rows waiting for a worksheet; more rows get 503."""
    max_waiting_bytes_per_worksheet: Count = 33_554_432
    """Maximum memory of writes waiting for a worksheet, a quarter per key; above it, 503."""
    max_waiting_bytes: Count = 134_217_728
    """Maximum memory of all waiting writes, a quarter per key; above it, 503."""
    max_waiting_seconds: Seconds = 30.0
    """Maximum time that a write waits in the queue; then it gets 503."""
    max_record_bytes: Count = 1_073_741_824
    """Maximum disk space for Idempotency-Keys, a quarter per API key. Old keys can expire early."""
    delete: Literal["shift", "clear"] = "shift"
    """"shift" removes a deleted row, so rows below move up; "clear" only empties the row."""


class ApiSettings(Section):
    """`[api]`: representation of rows and limits of queries."""

    empty_cell: Literal["null", "", "omit"] = "null"
    """Empty cells in answers: "null" returns null, "" an empty string, "omit" leaves them out."""
    values: Literal["displayed", "typed"] = "displayed"
    """Cells in answers: "displayed" as texts, "typed" as numbers, booleans, dates and texts."""
    unknown_fields: Literal["reject", "ignore"] = "reject"
    """Unknown fields: "reject" answers 400, "ignore" drops them and names them in a header."""
    max_query_steps: Count = 50_000_000
    """Maximum number of steps of a query, about 50 ns each; a query that needs more gets 400."""
    docs_url: str = ""
    """URL of a site of docs/, linked from /docs; "" for none."""

    @field_validator("docs_url")
    @classmethod
    def _check_docs_url(cls, url: str) -> str:
        if url and not url.startswith(("https://", "http://")):
            raise ValueError("must be a URL that begins with https:// or http://")
        return url


class AccessSettings(Section):
    """`[access]`: API keys and trusted proxies."""

    database: Annotated[Database, BeforeValidator(parse_database), BeforeValidator(_not_blank)] = (
        Path("keys.db")
    )
    """SQLite file of the keys, created if it does not exist, or URL of a PostgreSQL database."""
    pepper: Annotated[SecretStr, Field(min_length=16)] | None = None
    """Secret mixed into stored keys, at least 16 characters; by default in pepper_file."""
    pepper_file: Annotated[FileName | None, Field(validate_default=True)] = None
    """File of the pepper, created if needed; by default DATABASE.pepper beside a SQLite file."""
    grace_seconds: Annotated[Decimal, Field(ge=5.0)] = 300.0
    """Maximum time that known keys work while PostgreSQL is down; then requests get 503."""
    failures_per_minute: CountOrZero = 20
    """Wrong keys allowed per minute and address, and as many at once; 0: no limit."""
    trusted_proxies: Annotated[tuple[Proxy, ...], BeforeValidator(parse_proxies)] = ()
    """Proxies whose X-Forwarded-For or Forwarded is trusted: addresses, networks, "unix"."""

    @field_validator("pepper_file")
    @classmethod
    def _check_pepper(cls, file: Path | None, info: ValidationInfo) -> Path | None:
        pepper = info.data.get("pepper")
        if file is not None and pepper is not None:
            raise ValueError("set either this or access.pepper, not both")
        # An invalid setting is missing in info.data and is reported itself.
        is_missing = file is None and pepper is None and "pepper" in info.data
        if is_missing and isinstance(info.data.get("database"), PostgresUrl):
            raise ValueError("PostgreSQL needs this setting or access.pepper")
        return file


class FormSettings(Section):
    """`[forms]`: forms of static pages, which post with create-only keys."""

    per_address_per_minute: CountOrZero = 5
    """Submissions per minute and address or IPv6 /64, and as many at once; 0: no limit."""
    writes_per_minute: CountOrZero = 8
    """Writes per minute and worksheet for all submissions, plus a third at once; 0: no limit."""


class TurnstileSettings(Section):
    """`[turnstile]`: Cloudflare's check that a person sends a form, for keys with `--turnstile`."""

    secret: Annotated[SecretStr, Field(min_length=1)] | None = None
    """Secret key of the Turnstile widget; without one, forms of keys with `--turnstile` get 503."""
    url: str = "https://challenges.cloudflare.com/turnstile/v0/siteverify"
    """URL of Cloudflare's check of an answer, or of a substitute on this machine."""

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        is_secure = url.startswith("https://")
        if not is_allowed_endpoint(url, allow_insecure=is_secure):
            raise ValueError("must be https, or http on this machine's loopback, without a user")
        return url


class MetricsSettings(Section):
    """`[metrics]`: metrics for Prometheus."""

    listen: Annotated[Address | None, BeforeValidator(parse_address)] = None
    """HOST:PORT of /metrics, or a PORT of the loopback interface; by default no metrics."""
    hosts: Annotated[tuple[str, ...], BeforeValidator(parse_host_names)] = ()
    """Host names accepted by /metrics, besides IP addresses, localhost and the host of `listen`."""


class LogSettings(Section):
    """`[log]`: lines of the log on standard error."""

    format: Literal["auto", "json", "text"] = "auto"
    """Format of log lines: "json", "text", or "auto", which means "text" on a terminal only."""


class AdminSettings(Section):
    """`[admin]`: the console of administrators."""

    listen: Annotated[Address | None, BeforeValidator(parse_address)] = None
    """HOST:PORT of the console, or a PORT of the loopback interface; by default it is off."""
    public_url: str = ""
    """URL of the console for browsers, as https://HOST; needed if `listen` is not loopback."""

    @model_validator(mode="after")
    def _check_public_url(self) -> Self:
        url = self.public_url
        if self.listen and not url and not is_loopback(self.listen.host):
            raise ValueError("listen is not a loopback address, so public_url is required")
        parts = urlsplit(url)
        if url and (parts.scheme != "https" or f"https://{parts.netloc}" != url or "@" in url):
            raise ValueError("public_url must be https://HOST or https://HOST:PORT, without a path")
        return self


Listening = TypeVar("Listening", MetricsSettings, AdminSettings)

NO_REDIS_LIBRARY = "cluster.redis: install sheets-gateway[cluster], which includes Redis's library"


class ClusterSettings(Section):
    """`[cluster]`: several processes with one key store, which must be PostgreSQL."""

    redis: SecretStr | None = None
    """URL of the Redis that all processes share, as redis://HOST:6379/0; it needs no backup."""

    @field_validator("redis")
    @classmethod
    def _check_redis(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not _is_redis_url(url.get_secret_value()):
            raise ValueError(
                "must be redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix://PATH, with a number "
                "as DB. USER:PASSWORD@ can stand before HOST: write %2F for / in it, %23 for #"
            )
        return url


def _is_redis_url(url: str) -> bool:
    try:  # the error for an invalid port might contain a password
        parts = urlsplit(url)
        is_valid = parts.port != 0
    except ValueError:
        return False
    # With these characters in a password, parts of the password would be parsed as host, path or
    # option, and printed in messages.
    if "#" in url or "@" in url.partition("?")[2] or "@" in parts.path:
        return False
    if parts.scheme == "unix":
        return bool(parts.path)
    # The Redis library ignores a path that is not a number, and reads /0/1 as 1.
    is_valid = is_valid and re.fullmatch("/?[0-9]*", parts.path, re.ASCII) is not None
    return is_valid and parts.scheme in ("redis", "rediss") and bool(parts.hostname)


def _has_redis_password(url: object) -> bool:
    """True if a value of `cluster.redis` is a URL with a password, or a malformed URL."""
    if not isinstance(url, str):
        return False
    if not _is_redis_url(url):
        return True
    parts = urlsplit(url)
    return bool(parts.password) or "password" in dict(parse_qsl(parts.query))


class WorksheetSettings(Section):
    """`[[worksheets]]`: where the header of a worksheet is, and where its records end."""

    spreadsheet: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
    """ID of the spreadsheet."""
    title: Annotated[str, Field(min_length=1)]
    """Title of the worksheet, as on its tab."""
    header_row: Annotated[Whole, Field(ge=1, le=1000)] = 1
    """Row of the field names; rows above this row are never shown, counted or written."""
    record_field: str = ""
    """Field that every record has; rows at the end without a text in this field are not records."""
    filled_down: bool = True
    """True if rows at the end with only FALSE and blank cells are not records."""

    @model_validator(mode="after")
    def _check_ends(self) -> "WorksheetSettings":
        if self.record_field and not self.filled_down:
            raise ValueError("record_field cannot be used with filled_down = false. Remove one")
        return self


class PlanSettings(Section):
    """`[plans.NAME]`: rights and limits of the keys that have this plan."""

    where_and_order: bool = True
    """Allows filters and sorting in lists."""
    max_limit: Annotated[Whole, Field(ge=1, le=1000)] = 100
    """Maximum number of rows in one answer; a larger `limit` is reduced to it."""
    max_export_rows: CountOrZero = 50_000
    """Maximum number of rows of an export; 0: no exports."""
    writes: bool = True
    """Allows creating and updating rows."""
    deletes: bool = False
    """Allows deleting rows with keys that have the right to delete."""
    max_affected: CountOrZero = 100
    """Maximum number of rows that a write by filter can change; 0: no writes by filter."""
    require_if_match: bool = False
    """Requires If-Match with the ETag of the row for updates and deletes."""
    requests_per_minute: CountOrZero = 600
    """Requests per minute and key, plus a burst of a tenth (at least 10); 0: no limit."""
    max_concurrent: CountOrZero = 250
    """Maximum number of concurrent requests of one key; 0: no limit."""


BUILT_IN_PLANS: Mapping[str, Mapping[str, object]] = {
    "free": {"where_and_order": False},
    "paid": {},
}


def missing_limits(plan: PlanSettings) -> Sequence[str]:
    """Return the names of the rate limits that are 0, which means no limit."""
    limits = ("requests_per_minute", "max_concurrent")
    return [name for name in limits if getattr(plan, name) == 0]


class Settings(Section):
    """All settings; each section is described at its class."""

    server: ServerSettings = ServerSettings()
    google: GoogleSettings = GoogleSettings()
    cache: CacheSettings = CacheSettings()
    writes: WriteSettings = WriteSettings()
    api: ApiSettings = ApiSettings()
    access: AccessSettings = AccessSettings()
    forms: FormSettings = FormSettings()
    turnstile: TurnstileSettings = TurnstileSettings()
    metrics: MetricsSettings = MetricsSettings()
    log: LogSettings = LogSettings()
    admin: AdminSettings = AdminSettings()
    cluster: ClusterSettings = ClusterSettings()
    worksheets: tuple[WorksheetSettings, ...] = ()
    """Worksheets with a header below row 1, or with columns that are filled down in advance."""
    plans: Annotated[Mapping[Name, PlanSettings], Field(validate_default=True)] = {}
    """Rights and limits of the keys of each plan; `free` and `paid` always exist."""

    @field_validator("metrics", "admin")
    @classmethod
    def _check_ports(cls, section: Listening, info: ValidationInfo) -> Listening:
        server, metrics = info.data.get("server"), info.data.get("metrics")
        port = section.listen and section.listen.port
        if port and server and port == server.port:
            raise ValueError("listen and server.port must be different ports")
        if port and metrics and metrics.listen and port == metrics.listen.port:
            raise ValueError("listen and metrics.listen must be different ports")
        return section

    @field_validator("worksheets")
    @classmethod
    def _check_worksheets(
        cls, worksheets: tuple[WorksheetSettings, ...]
    ) -> tuple[WorksheetSettings, ...]:
        names = {(each.spreadsheet, normalize("NFC", each.title)) for each in worksheets}
        if len(names) < len(worksheets):
            raise ValueError("each worksheet can have only one table")
        return worksheets

    @field_validator("plans", mode="before")
    @classmethod
    def _add_built_in_plans(cls, given: object) -> object:
        return merged(BUILT_IN_PLANS, given) if isinstance(given, Mapping) else given

    @property
    def is_cluster(self) -> bool:
        """True if several processes can serve together, with PostgreSQL and Redis."""
        return self.cluster.redis is not None and isinstance(self.access.database, PostgresUrl)


def load_settings(
    path: Path | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, object] = MappingProxyType({}),
) -> Settings:
    """Load settings from the file, the environment and the overrides. Raises `ConfigError`.

    If `path` is None, reads `config.toml` in the working directory if it exists. `overrides` has
    values by key path, such as `{"server.port": 9000}`; None means no value. Relative file names in
    the file start at its directory, others at the working directory.
    """
    known = list(setting_paths())
    file = file_layer(path, _FILE_SETTINGS, _SECRETS)
    named = [path for path in known if path[0] != "worksheets"]  # they are an array
    environment = environment_layer(environ, named, _REMOVED)
    given = {tuple(at.split(".")): value for at, value in overrides.items() if value is not None}
    tables = reduce(merged, [file.tables, environment.tables, nested(given.items())])

    problems = [*file.problems, *environment.problems]
    try:
        settings = Settings.model_validate(tables)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        problems += [describe(detail, environment.sources, known, _REMOVED) for detail in details]
    else:
        if not problems:
            return settings
    # Raised outside the handler, because the context of the error would contain values.
    raise ConfigError(*problems)


def setting_paths() -> Iterator[KeyPath]:
    """Yield the key path of every setting. `*` stands for a plan's name or an array's index."""
    tables: Mapping[str, type[Section]]
    tables = {"plans": PlanSettings, "worksheets": WorksheetSettings}
    for section, field in Settings.model_fields.items():
        if section in tables:
            yield from ((section, "*", key) for key in tables[section].model_fields)
        else:
            yield from ((section, key) for key in type(field.default).model_fields)


_FILE_SETTINGS: Mapping[KeyPath, object] = {
    ("google", "credentials"): None,
    ("google", "accounts", "*", "credentials"): None,
    ("access", "database"): AccessSettings().database,
    ("access", "pepper_file"): None,
}
_REMOVED: Mapping[KeyPath, str] = {
    ("google", "value_input"): "the setting was removed; delete it: cells are always stored as sent"
}
_SECRETS: Mapping[KeyPath, Callable[[object], bool]] = {
    ("access", "pepper"): lambda pepper: pepper is not None,
    ("access", "database"): has_password,
    ("cluster", "redis"): _has_redis_password,
    ("turnstile", "secret"): lambda secret: secret is not None,
}
