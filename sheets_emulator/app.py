"""Emulator of the Google Sheets API for demos and tests, used over HTTP only.

docs/reference/emulator.md lists supported features, assumptions about Google without a recording,
and missing features.
"""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount

from sheets_emulator.control import control_routes
from sheets_emulator.http.credentials import KEY_BITS, PROJECT, open_accounts, write_file
from sheets_emulator.http.tokens import Tokens
from sheets_emulator.quota import Quota
from sheets_emulator.seed_edits import edited
from sheets_emulator.service import Service, Timing
from sheets_emulator.state.disk import Disk, open_disk
from sheets_emulator.state.seed import Seed, read_seed
from sheets_emulator.state.store import open_store
from sheets_emulator.wire import TOKEN_PATH, Wire


@dataclass(frozen=True, kw_only=True)
class EmulatorOptions:
    """Options of an emulator: data, latency and Google's limits.

    `projects` has the project of each service account. `seed` is a directory or loaded data. `db`
    is an SQLite file for all spreadsheets and the accounts' keys. The emulator creates a missing
    file, and adds missing spreadsheets of the seed. A reset also restores this file. With
    `repeatable_metadata_ids`, developer metadata can get the ID of other metadata. Limits count per
    account, or per project if the option's name says so. A limit of 0 means no limit. `key_bits` is
    the size of the accounts' RSA keys, which is 2,048 at Google.
    """

    projects: tuple[str, ...] = (PROJECT,)
    seed: Path | Seed | None = None
    db: Path | None = None
    latency_ms: int = 0
    latency_jitter_ms: int = 0
    racing_inserts: bool = False
    repeatable_metadata_ids: bool = False
    reads_per_minute: int = 0
    writes_per_minute: int = 0
    reads_per_minute_per_project: int = 0
    writes_per_minute_per_project: int = 0
    key_bits: int = KEY_BITS


@dataclass(frozen=True, kw_only=True)
class Emulator:
    """Emulator with its ASGI application, for a server on a loopback address.

    The end of the application's lifespan closes the emulator. Call `close` only if no server ran
    the application.
    """

    app: Starlette
    service: Service
    notes: Sequence[str]
    """Messages for the user about guesses and differences when the seed files were read."""

    def serve_at(self, base_url: str) -> str:
        """Register the address of the emulator, and return the URI of its token endpoint."""
        token_uri = base_url.rstrip("/") + TOKEN_PATH
        self.service.tokens.audiences.add(token_uri)
        return token_uri

    def write_credentials(self, path: Path, base_url: str, *, number: int = 1) -> None:
        """Write the key file (mode 0600) of service account `number`, counted from 1.

        `base_url` is the address of the emulator.
        """
        account = list(self.service.tokens.accounts.values())[number - 1]
        write_file(account, path, self.serve_at(base_url))

    def close(self) -> None:
        """Close the database file, if there is one. Later writes fail."""
        if self.service.store.disk is not None:
            self.service.store.disk.close()


DEFAULT_OPTIONS = EmulatorOptions()
REAL_TIME = Timing()


def create_emulator(
    options: EmulatorOptions = DEFAULT_OPTIONS, *, timing: Timing = REAL_TIME
) -> Emulator:
    """Create an emulator and load its data.

    Raises SeedError or DiskError if the data cannot be read.
    """
    seed = read_seed(options.seed) if isinstance(options.seed, Path) else options.seed or Seed()
    seed = edited(seed)
    if options.db is None:
        return _emulator(options, timing, seed, disk=None)
    with ExitStack() as opened:
        disk = open_disk(options.db)
        opened.callback(disk.close)
        emulator = _emulator(options, timing, seed, disk=disk)
        opened.pop_all()  # the emulator closes the file from now on
    return emulator


def _emulator(
    options: EmulatorOptions, timing: Timing, seed: Seed, *, disk: Disk | None
) -> Emulator:
    accounts = open_accounts(options.projects, disk, options.key_bits)
    store = open_store(seed.workbooks, unshared=seed.unshared, disk=disk)
    store.repeatable_metadata_ids = options.repeatable_metadata_ids
    service = Service(
        seed=seed,
        store=store,
        tokens=Tokens(accounts={each.email: each for each in accounts}, now=timing.now),
        quota=Quota(
            limits={
                "user": {"read": options.reads_per_minute, "write": options.writes_per_minute},
                "project": {
                    "read": options.reads_per_minute_per_project,
                    "write": options.writes_per_minute_per_project,
                },
            },
            now=timing.now,
        ),
        timing=timing,
        latency_seconds=options.latency_ms / 1000,
        jitter_seconds=options.latency_jitter_ms / 1000,
        racing_inserts=options.racing_inserts,
    )
    service.file_times.note(service.store.workbooks, timing.now())
    wire = Mount("", app=Wire(service=service))
    # A title in the path can contain line breaks.
    wire.path_regex = re.compile(wire.path_regex.pattern, re.DOTALL)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        emulator.close()

    app = Starlette(routes=[control_routes(service), wire], lifespan=lifespan)
    emulator = Emulator(app=app, service=service, notes=seed.notes)
    return emulator
