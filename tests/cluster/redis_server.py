"""A Redis server that a test can stop, suspend and empty."""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from redis import Redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

COMMAND = shutil.which("redis-server") or ""
REQUIRED = "CI"
"""Environment variable with which a missing redis-server fails tests instead of skipping them."""

DUMP = "dump.rdb"
PASSWORD = "not-to-be-logged"


class RedisServer:
    """A Redis server. `start` returns when the server answers; `url` contains a password."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = {
            "port": self.port,
            "bind": "127.0.0.1",
            "dir": self._folder,
            "requirepass": PASSWORD,
            "save": "",
            "appendonly": "no",
            "daemonize": "no",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        with (self._folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - found on the path, our own options
                [COMMAND, *words], stdout=log, stderr=log
            )
        self._wait()

    def kill(self) -> None:
        """Kill the server, which loses its data."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Replace the server by an empty one."""
        self.kill()
        (self._folder / DUMP).unlink(missing_ok=True)
        self.start()

    def restore(self) -> None:
        """Replace the server by one with the data of the last `SAVE`."""
        self.kill()
        if not (self._folder / DUMP).exists():
            raise RuntimeError("nothing was saved")
        self.start()

    def suspend(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def _wait(self) -> None:
        """Wait until the server accepts commands."""
        client = Redis.from_url(self.url, retry=Retry(ConstantBackoff(0.01), 500))
        client.ping()
        client.close()
