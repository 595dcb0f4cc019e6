"""A gateway as a process that is killed and started again, always at the same address."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from gateway.server.sockets import bind
from tests.journeys.process import Process, running


@dataclass(kw_only=True)
class Mortal:
    """A gateway that `start` starts and `kill` ends by SIGKILL; `folder` has its configuration."""

    folder: Path
    port: int
    kills: int = 0
    is_up: asyncio.Event = field(default_factory=asyncio.Event)
    incarnation: ExitStack = field(default_factory=ExitStack)
    process: Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self.process = await asyncio.to_thread(self._start)
        self.is_up.set()

    async def kill(self) -> None:
        """End the process at once."""
        self.is_up.clear()
        self.kills += 1
        await asyncio.to_thread(self.incarnation.close)

    def log(self) -> str:
        """Logs of all processes."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("log-*")))

    def _start(self) -> Process:
        config = str(self.folder / "config.toml")
        log = self.folder / f"log-{self.kills:04}"
        command = ("serve", "--port", str(self.port), "--config", config)
        return self.incarnation.enter_context(running(log, *command))


def prepare(folder: Path, settings: Mapping[str, Mapping[str, object]]) -> Mortal:
    """A gateway of these settings, by their tables, that has yet to be started."""
    lines = [
        line
        for table, values in settings.items()
        for line in (f"[{table}]", *(f"{key} = {json.dumps(it)}" for key, it in values.items()))
    ]
    (folder / "config.toml").write_text("\n".join(lines) + "\n")
    with bind("127.0.0.1", 0) as free:
        port: int = free.getsockname()[1]
    return Mortal(folder=folder, port=port)
