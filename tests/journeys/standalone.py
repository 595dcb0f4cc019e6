"""A gateway as a process of its own in front of an emulator, and how much memory it takes."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from tests.journeys.conftest import Api, EmulatorControl, KeysOnDisk
from tests.journeys.process import Process, running

TIMEOUT_SECONDS = 30.0
_FORGET_PEAK = "5"
"""Value for proc(5) clear_refs that resets the peak memory to the current memory."""


@dataclass(frozen=True, kw_only=True)
class Standalone:
    """A gateway in a process of its own, and a client of it."""

    api: Api
    process: Process

    def forget_peak(self) -> None:
        """Reset the peak, so that `peak_bytes` counts from now on."""
        self._file("clear_refs").write_text(_FORGET_PEAK)

    def peak_bytes(self) -> int:
        """The most memory that the process held."""
        return self._memory("VmHWM")

    def resident_bytes(self) -> int:
        """The memory that the process holds."""
        return self._memory("VmRSS")

    def _memory(self, name: str) -> int:
        found = re.search(rf"{name}:\s+(\d+) kB", self._file("status").read_text("ascii"))
        assert found is not None
        return int(found[1]) * 1024

    def _file(self, name: str) -> Path:
        return Path(f"/proc/{self.process.process.pid}/{name}")


@contextmanager
def standing_alone(
    folder: Path,
    emulator: EmulatorControl,
    access: KeysOnDisk,
    settings: Mapping[str, object] | None = None,
) -> Iterator[Standalone]:
    """Start it with settings of the test's choice, named by key path; it has seen nothing yet."""
    database, keys = access
    given = {
        "google.endpoint": emulator.url,
        "google.credentials": str(emulator.credentials),
        "access.database": str(database),
        **(settings or {}),
    }
    config = folder / "config.toml"
    config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items()))
    with (
        running(folder / "log", "serve", "--port", "0", "--config", str(config)) as process,
        httpx2.Client(base_url=process.url, timeout=TIMEOUT_SECONDS) as client,
    ):
        api = Api(url=process.url, emulator=emulator, keys=keys, client=client)
        yield Standalone(api=api, process=process)
