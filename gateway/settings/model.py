"""Configuration: defaults, a TOML file, the environment and the command line become `Settings`.

Rules:
- What comes later wins: defaults < file < environment `GATEWAY_SECTION__KEY` < overrides.
- All mistakes are told at once, each with its key path; a value is never told, it may be a secret.
- Every setting has a sentence (the string below it), and a line in `config.example.toml`.
- Nothing here reads `os.environ`: the caller hands the environment in.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from gateway.settings.address import Address, Proxy, parse_address, parse_host_names, parse_proxies
from gateway.settings.endpoint import is_allowed_endpoint
from gateway.settings.layers import (
    KeyPath,
    environment_layer,
    file_layer,
    merged,
    override_layer,
)
from gateway.settings.plans import BUILT_IN_PLANS, PlanSettings
from gateway.settings.problems import in_words
from gateway.settings.section import Count, CountOrZero, Port, Seconds, SecondsOrZero, Section


def _not_blank(name: object) -> object:
    # Path("") is the working directory, which is never what was meant.
    if name == "":
        raise ValueError("may not be blank; leave it out for the default")
    return name


FileName = Annotated[Path, BeforeValidator(_not_blank)]
PlanName = Annotated[str, Field(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=32)]


class ConfigError(Exception):
    """The configuration cannot be used; `problems` has one line for each mistake."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


class ServerSettings(Section):
    """`[server]`: where the gateway listens, and how much it takes from a client."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    """Address to listen on; 0.0.0.0 is every address of the machine."""
    port: Port = 8000
    """Port to listen on; 0 takes any free one."""
    shutdown_seconds: Seconds = 25.0
    """How long requests in flight and queued writes may take to end after SIGTERM."""
    max_body_bytes: Count = 1_048_576
    """Largest request body; larger ones are answered 413."""
    max_url_bytes: Count = 8_192
    """Longest request URL; longer ones are answered 414."""
    max_head_bytes: Count = 16_384
    """Largest head of a request, its line and headers; larger ones are answered 431."""
    body_timeout_seconds: Seconds = 30.0
    """How long a request body may take to arrive; slower ones are answered 408."""
    head_timeout_seconds: Seconds = 10.0
    """How long the head of a request may take to arrive; slower ones are answered 408."""
    answer_timeout_seconds: Seconds = 30.0
    """How long a client may take for 64 KiB of its answer; slower ones are cut off."""
    idle_timeout_seconds: Seconds = 75.0
    """How long a connection stays open without a request; longer than a proxy in front keeps it."""
    max_connections: Count = 4096
    """Most connections at once; one more ends an idle one, or is answered 503."""
    max_connections_per_address: CountOrZero | None = None
    """Most of them from one address or IPv6 /64; left out, a quarter; 0: no limit."""


class GoogleSettings(Section):
    """`[google]`: the Sheets API, and what is asked of it."""

    credentials: FileName | None = None
    """Service account's key file; left out, Google's Application Default Credentials are used."""
    allow_insecure_endpoint: bool = False
    """Lets endpoint and token URL lie outside Google and this machine: they see the rows."""
    endpoint: str = "https://sheets.googleapis.com"
    """Base URL of the Sheets API, or of an emulator on this machine."""
    connect_timeout_seconds: Seconds = 5.0
    """Longest wait for a connection to Google."""
    read_timeout_seconds: Seconds = 20.0
    """Deadline of a whole reading call."""
    write_timeout_seconds: Seconds = 60.0
    """Deadline of a whole writing call."""
    max_connections: Count = 32
    """Most connections to Google at once."""
    max_answer_bytes: Count = 33_554_432
    """Largest answer of Google, decoded; a larger worksheet is answered 413."""
    reads_per_minute: Count = 54
    """Reads a minute at Google, and a ninth as many at once; its own limit is 60 for both."""
    writes_per_minute: Count = 54
    """Writes a minute at Google, and a ninth as many at once; its own limit is 60 for both."""
    value_input: Literal["raw", "user_entered"] = "raw"
    """What becomes of a written text: "raw" keeps it, "user_entered" has it read as if typed in."""
    max_waiting_seconds: SecondsOrZero = 10.0
    """Longest wait of a call for its turn at Google; one that would take longer is not made."""

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, url: str, info: ValidationInfo) -> str:
        # Where the flag itself is wrong that is mistake enough: it is not in info.data then.
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


class CacheSettings(Section):
    """`[cache]`: what is remembered of worksheets."""

    header_ttl_seconds: SecondsOrZero = 10.0
    """How long a header row is trusted by reads and creates; 0 reads it each time."""
    max_worksheets: Count = 1000
    """How many worksheets are remembered at once."""
    rows_ttl_seconds: SecondsOrZero = 5.0
    """How long the rows of a worksheet are served again; 0 reads them each time."""
    max_stale_seconds: SecondsOrZero = 3600.0
    """How old rows may be that are served while Google cannot be asked."""
    max_bytes: Count = 536_870_912
    """Most memory for the rows of all worksheets, with the indexes that queries make of them."""
    max_worksheet_bytes: Count = 268_435_456
    """Most memory for the rows of one worksheet; a larger one is answered 413."""
    window_above_cells: Count = 500_000
    """Worksheets with more cells than this are read in windows, not whole."""


class WriteSettings(Section):
    """`[writes]`: the queue in front of each worksheet."""

    max_waiting_rows: Count = 5000
    """Most rows that wait for one worksheet; a key with more than one write there gets 503 then."""
    max_waiting_rows_per_key: Count = 500
    """Most rows of one key that wait for one worksheet; more are answered 503."""
    max_waiting_bytes_per_worksheet: Count = 33_554_432
    """Most memory for what waits for one worksheet, a quarter of it for one key; then 503."""
    max_waiting_bytes: Count = 134_217_728
    """Most memory for what waits for all worksheets, a quarter of it for one key; then 503."""
    max_waiting_seconds: Seconds = 30.0
    """Longest wait of a write in the queue, then it is answered 503."""
    look_again_seconds: Seconds = 2.0
    """Pause between the two looks for a write that Google gave no clear answer to."""
    max_record_bytes: Count = 1_073_741_824
    """Most disk for Idempotency-Keys, a quarter for one key; the oldest end before their 24 h."""


class ApiSettings(Section):
    """`[api]`: how rows look to clients."""

    empty_cell: Literal["null", "", "omit"] = "null"
    """An empty cell in an answer: "null" gives null, "" an empty string, "omit" leaves it out."""
    unknown_fields: Literal["reject", "ignore"] = "reject"
    """A field that is no header: "reject" answers 400, "ignore" drops and names it in a header."""
    max_query_steps: Count = 50_000_000
    """Most steps of one query, of about 50 ns each; one that takes more is answered 400."""


class AccessSettings(Section):
    """`[access]`: where the keys are, and whose word counts for a client's address."""

    database: FileName = Path("keys.db")
    """SQLite file of the keys; made when it is not there."""
    pepper: Annotated[SecretStr, Field(min_length=16)] | None = None
    """Secret mixed into stored keys, 16 characters or more; left out, DATABASE.pepper holds one."""
    failures_per_minute: CountOrZero = 20
    """Wrong keys a minute that one address may send, and as many at once; 0: no limit."""
    trusted_proxies: Annotated[tuple[Proxy, ...], BeforeValidator(parse_proxies)] = ()
    """Proxies whose X-Forwarded-For or Forwarded is believed: addresses, networks, "unix"."""


class MetricsSettings(Section):
    """`[metrics]`: counts for Prometheus."""

    listen: Annotated[Address | None, BeforeValidator(parse_address)] = None
    """HOST:PORT that serves /metrics, or a PORT of the loopback; left out, it is not served."""
    hosts: Annotated[tuple[str, ...], BeforeValidator(parse_host_names)] = ()
    """Host names for /metrics, besides IP addresses, localhost and the host of `listen`."""


class Settings(Section):
    """All of the configuration."""

    server: ServerSettings = ServerSettings()
    """Where the gateway listens, and how much it takes from a client."""
    google: GoogleSettings = GoogleSettings()
    """The Sheets API, and what is asked of it."""
    cache: CacheSettings = CacheSettings()
    """What is remembered of worksheets."""
    writes: WriteSettings = WriteSettings()
    """The queue in front of each worksheet."""
    api: ApiSettings = ApiSettings()
    """How rows look to clients."""
    access: AccessSettings = AccessSettings()
    """Where the keys are, and whose word counts for a client's address."""
    metrics: MetricsSettings = MetricsSettings()
    """Counts for Prometheus."""
    plans: Annotated[Mapping[PlanName, PlanSettings], Field(validate_default=True)] = {}
    """What the keys of each plan may do; `free` and `paid` are always there."""

    @field_validator("metrics")
    @classmethod
    def _check_ports(cls, metrics: MetricsSettings, info: ValidationInfo) -> MetricsSettings:
        server = info.data.get("server")
        if metrics.listen and server and metrics.listen.port == server.port != 0:
            raise ValueError("listen must have another port than server.port")
        return metrics

    @field_validator("plans", mode="before")
    @classmethod
    def _add_built_in_plans(cls, given: object) -> object:
        return merged(BUILT_IN_PLANS, given) if isinstance(given, Mapping) else given


def load_settings(
    path: Path | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, object] = MappingProxyType({}),
) -> Settings:
    """Settings from the file, then the environment, then the overrides, or `ConfigError`.

    Without `path`, `config.toml` of the working directory is read if it is there. Overrides are
    named by key path (`{"server.port": 9000}`); None is an option that was not given. Relative
    paths of the file start at its directory, others at the working directory.
    """
    known = list(setting_paths())
    file = file_layer(path, _FILE_SETTINGS, _SECRETS)
    environment = environment_layer(environ, known)
    layers = [file, environment, override_layer(overrides)]

    problems = [problem for layer in layers for problem in layer.problems]
    try:
        settings = Settings.model_validate(reduce(merged, [layer.tables for layer in layers]))
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        problems += [in_words(detail, environment.sources, known) for detail in details]
    else:
        if not problems:
            return settings
    raise ConfigError(problems)  # out here, for an error's context would hold the values


def setting_paths() -> Iterator[KeyPath]:
    """The key path of every setting, with `*` for the name of a plan."""
    for section, field in Settings.model_fields.items():
        if section == "plans":
            yield from ((section, "*", key) for key in PlanSettings.model_fields)
        else:
            yield from ((section, key) for key in type(field.default).model_fields)


_FILE_SETTINGS: Mapping[KeyPath, Path | None] = {
    ("google", "credentials"): None,
    ("access", "database"): AccessSettings().database,
}
_SECRETS: Sequence[KeyPath] = [("access", "pepper")]
