"""The processes of a fleet: gateways with one store, each with its own proxies."""

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.journeys.mortal import Mortal, prepare
from tests.simulation.fleet.engines import Engines, Proxy, proxied
from tests.simulation.stage import CREDENTIALS, Tables

PEPPER = "pepper of a fleet of gateways"
AGAIN_SECONDS = 0.2
LAST_WORDS = 500
FAILED_START = "startup failed"
"""Log text of a process that announced its address but did not reach its database."""


@dataclass(kw_only=True)
class Member:
    """A gateway process that is restarted until it serves, and its proxies."""

    number: int
    gateway: Mortal
    to_postgres: Proxy
    to_redis: Proxy
    failed_starts: int = 0
    is_suspended: bool = False
    ends: list[str] = field(default_factory=list)
    """Exit status and last output of each process that ended by itself."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def url(self) -> str:
        return self.gateway.url

    @property
    def is_up(self) -> bool:
        return self.gateway.is_up.is_set() and not self.is_suspended

    @property
    def proxies(self) -> Sequence[Proxy]:
        return (self.to_postgres, self.to_redis)

    async def start(self) -> None:
        """Start the process, again after each failed start, as a supervisor does."""
        while True:
            try:
                return await self.gateway.start()
            except AssertionError:  # the process ended: the database might be down
                self.failed_starts += 1
                await asyncio.sleep(AGAIN_SECONDS)

    async def replace(self) -> None:
        """Kill the process and start another one."""
        async with self._turn:
            await self.gateway.kill()
            await self.start()

    async def replace_if_ended(self) -> None:
        process = self.gateway.process
        if not self.is_up or process is None or (status := process.process.poll()) is None:
            return
        words = process.log.read_text()[-LAST_WORDS:]
        if FAILED_START in words:
            self.failed_starts += 1
        else:
            self.ends.append(f"process {self.number} ended with {status}: {words}")
        await self.replace()

    def suspend(self) -> None:
        self._signal(signal.SIGSTOP)
        self.is_suspended = True

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self.is_suspended = False

    def _signal(self, number: signal.Signals) -> None:
        process = self.gateway.process
        if process is not None:
            process.process.send_signal(number)


@asynccontextmanager
async def running_fleet(
    folder: Path, google_url: str, engines: Engines, settings: Tables, *, processes: int
) -> AsyncIterator[Sequence[Member]]:
    """Run processes that serve during the block, and end all of them afterwards."""
    async with AsyncExitStack() as stack:
        members = []
        for number in range(processes):
            own = folder / f"process-{number}"
            own.mkdir()
            to_postgres = await stack.enter_async_context(proxied(engines.postgres.port))
            to_redis = await stack.enter_async_context(proxied(engines.redis.port))
            tables: Tables = {
                "google": {"endpoint": google_url, "credentials": str(folder / CREDENTIALS)},
                "access": {"database": _at(engines.database, to_postgres.port), "pepper": PEPPER},
                "cluster": {"redis": _at(engines.redis.url, to_redis.port)},
            }
            merged = {
                name: {**tables.get(name, {}), **settings.get(name, {})}
                for name in tables.keys() | settings.keys()
            }
            gateway = prepare(own, merged)
            (own / "config.toml").chmod(0o600)
            member = Member(
                number=number, gateway=gateway, to_postgres=to_postgres, to_redis=to_redis
            )
            stack.push_async_callback(asyncio.to_thread, member.gateway.incarnation.close)
            members.append(member)
        await asyncio.gather(*(member.start() for member in members))
        async with _supervised(members):
            yield members


@asynccontextmanager
async def _supervised(members: Sequence[Member]) -> AsyncIterator[None]:
    """Replace processes that end by themselves."""
    ended = asyncio.Event()

    async def supervise() -> None:
        while not ended.is_set():
            for member in members:
                await member.replace_if_ended()
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), AGAIN_SECONDS)

    task = asyncio.create_task(supervise())
    try:
        yield
    finally:
        ended.set()
        await task


def _at(url: str, port: int) -> str:
    """Return the URL with another port."""
    place = urlsplit(url)
    return url.replace(f":{place.port}/", f":{port}/", 1)
