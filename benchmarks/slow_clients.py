"""Clients that are slow on purpose, and how long a server keeps their sockets.

A crowd is one process of its own, so that it takes no time of those who are measured. Each client
goes on with its bits until its connection is cut: it never closes it of its own will. How long a
socket was kept is looked up in the system's table, where an inode says that a process holds it;
what the client notices would come later.
"""

import asyncio
import contextlib
import resource
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
BIT_SECONDS = 1.0
"""Between two bits of a client."""
LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 90.0
"""For how long a crowd stays at most."""
RECEIVE_BYTES = 4_096
"""The receiving buffer of a client: answers stay with the server."""
_SPARE_FILES = 256
_TABLE = Path("/proc/net/tcp")


@dataclass(frozen=True, kw_only=True)
class Habit:
    """What a client sends at first, and what it sends each second after that."""

    name: str
    opening: bytes
    bit: bytes


@dataclass(frozen=True, kw_only=True)
class Fate:
    """How long the socket of a client was kept; None if the crowd left before its end."""

    habit: str
    held_seconds: float | None


@dataclass(kw_only=True)
class Watch:
    """When each client's connection began, and when it was last held, by the client's port."""

    port: int
    began: dict[int, tuple[str, float]] = field(default_factory=dict)
    held: dict[int, float] = field(default_factory=dict)
    present: set[int] = field(default_factory=set)
    """Those that were held when it looked last."""
    are_gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def look(self, count: int) -> None:
        """Look until each of so many connections has been held and is held no more."""
        ends = time.monotonic() + PATIENCE_SECONDS
        while (len(self.held) < count or self.present) and time.monotonic() < ends:
            await asyncio.sleep(LOOK_SECONDS)
            self.present = held_ports(self.port) & self.began.keys()
            self.held.update(dict.fromkeys(self.present, time.monotonic()))
        self.are_gone.set()

    def fates(self) -> Sequence[Fate]:
        """What became of all, once the look is over."""
        return [
            Fate(habit=name, held_seconds=self._held_seconds(port, began))
            for port, (name, began) in self.began.items()
        ]

    def _held_seconds(self, port: int, began: float) -> float | None:
        if port in self.present or port not in self.held:
            return None
        return self.held[port] + LOOK_SECONDS - began


def crowd(port: int, habits: Mapping[str, Habit], count: int) -> Sequence[Fate]:
    """So many clients at once, each habit as often as the others, until all are cut off."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + _SPARE_FILES, hard), hard))
    return asyncio.run(_crowd(port, [*habits.values()], count))


async def _crowd(port: int, habits: Sequence[Habit], count: int) -> Sequence[Fate]:
    watch = Watch(port=port)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch.look(count))
        for number in range(count):
            tasks.create_task(_be_slow(habits[number % len(habits)], watch))
    return watch.fates()


async def _be_slow(habit: Habit, watch: Watch) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
        client.setblocking(False)
        await loop.sock_connect(client, (HOST, watch.port))
        watch.began[client.getsockname()[1]] = (habit.name, time.monotonic())
        with contextlib.suppress(ConnectionError):  # it was cut off
            await loop.sock_sendall(client, habit.opening)
            while not watch.are_gone.is_set():
                await asyncio.sleep(BIT_SECONDS)
                await loop.sock_sendall(client, habit.bit)
        await watch.are_gone.wait()


def held_ports(port: int) -> set[int]:
    """The clients' ports of the connections that a process on this port of the loopback holds."""
    local = f"{socket.inet_aton(HOST)[::-1].hex().upper()}:{port:04X}"
    rows = (line.split() for line in _TABLE.read_text("ascii").splitlines())
    return {
        int(remote.rpartition(":")[2], 16)
        for _, here, remote, *_, inode in (row[:10] for row in rows)
        if here == local and inode != "0"
    }
