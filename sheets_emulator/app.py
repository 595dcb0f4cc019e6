"""An emulator of the Google Sheets API, for demos and tests: built here, met only over HTTP.

What it covers, what it assumes of Google where nothing is recorded, and what it lacks is in
docs/emulator.md.
"""

import re
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount

from sheets_emulator.control import control_routes
from sheets_emulator.http.credentials import kept_account, service_account, write_file
from sheets_emulator.http.tokens import Tokens
from sheets_emulator.quota import Quota
from sheets_emulator.service import Service, Timing
from sheets_emulator.state.disk import Disk, open_disk
from sheets_emulator.state.seed import Seed, read_seed
from sheets_emulator.state.store import open_store
from sheets_emulator.wire import TOKEN_PATH, Wire


@dataclass(frozen=True, kw_only=True)
class EmulatorOptions:
    """How an emulator starts: its data, the time of every call, and Google's limits (0: none).

    `db` is a file that keeps all spreadsheets and the account's key, made if there is none. Of the
    seed it takes in what it does not have. A reset is one of the file, too: back to the seed.
    """

    seed: Path | None = None
    db: Path | None = None
    latency_ms: int = 0
    latency_jitter_ms: int = 0
    racing_inserts: bool = False
    reads_per_minute: int = 0
    writes_per_minute: int = 0


@dataclass(frozen=True, kw_only=True)
class Emulator:
    """A running emulator's application, to be served by an ASGI server on the loopback.

    The end of the application's lifespan closes the emulator; `close` is for one never served.
    """

    app: Starlette
    service: Service

    def serve_at(self, base_url: str) -> str:
        """Give tokens to who asks them of this address; its token URI."""
        token_uri = base_url.rstrip("/") + TOKEN_PATH
        self.service.tokens.audiences.add(token_uri)
        return token_uri

    def write_credentials(self, path: Path, base_url: str) -> None:
        """Write the service-account file (mode 0600) for an emulator served at `base_url`."""
        write_file(self.service.tokens.account, path, self.serve_at(base_url))

    def close(self) -> None:
        """Give the file back, where there is one; writes are refused from now on."""
        if self.service.store.disk is not None:
            self.service.store.disk.close()


DEFAULT_OPTIONS = EmulatorOptions()
REAL_TIME = Timing()


def create_emulator(
    options: EmulatorOptions = DEFAULT_OPTIONS, *, timing: Timing = REAL_TIME
) -> Emulator:
    """An emulator with its data read; SeedError or DiskError where it cannot be used."""
    seed = read_seed(options.seed) if options.seed is not None else Seed()
    if options.db is None:
        return _emulator(options, timing, seed, disk=None)
    with ExitStack() as opened:
        disk = open_disk(options.db)
        opened.callback(disk.close)
        emulator = _emulator(options, timing, seed, disk=disk)
        opened.pop_all()  # it is the emulator now that closes the file
    return emulator


def _emulator(
    options: EmulatorOptions, timing: Timing, seed: Seed, *, disk: Disk | None
) -> Emulator:
    account = service_account() if disk is None else kept_account(disk)
    service = Service(
        seed=seed,
        store=open_store(seed.workbooks, unshared=seed.unshared, disk=disk),
        tokens=Tokens(account=account, now=timing.now),
        quota=Quota(
            limits={"read": options.reads_per_minute, "write": options.writes_per_minute},
            now=timing.now,
        ),
        timing=timing,
        latency_seconds=options.latency_ms / 1000,
        jitter_seconds=options.latency_jitter_ms / 1000,
        racing_inserts=options.racing_inserts,
    )
    service.file_times.note(service.store.workbooks, timing.now())
    wire = Mount("", app=Wire(service=service))
    # A title in the path may hold line breaks.
    wire.path_regex = re.compile(wire.path_regex.pattern, re.DOTALL)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        emulator.close()

    app = Starlette(routes=[control_routes(service), wire], lifespan=lifespan)
    emulator = Emulator(app=app, service=service)
    return emulator
