"""`serve --workers N`: a parent process that keeps N workers serving one address.

Rules:
- Each worker has its own listening socket at the same address (SO_REUSEPORT), because the kernel
  distributes connections over these sockets by a hash. With one shared socket, the worker that
  wakes first accepts all waiting connections: one of two workers got all of 4 or 16 connections.
  Only an inherited socket (`--fd`) is shared, because there is no other.
- The parent keeps all sockets open. If a worker dies, the next worker accepts its waiting
  connections. If no next worker starts, the parent closes the socket, which resets the waiting
  connections, and the other workers get all new connections.
- At a signal the parent closes its sockets first. Each worker then accepts the connections that
  wait in its socket, and closes the socket, as a single process does.
- The parent serves no requests and does not import the application. Each worker is a new Python
  interpreter.
"""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

from gateway.commands.terminal import say
from gateway.server.sockets import base_url, bind, free_port, inherited
from gateway.settings.model import ConfigError, Settings
from gateway.telemetry.events import configure_logging, worker_ended

STEADY_SECONDS = 10.0
"""Minimum lifetime of a worker that is replaced without a pause."""
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 15.0
"""First and longest pause before another worker starts.

The pause doubles after each worker that lived for less than `STEADY_SECONDS`.
"""
MAX_FAILED_STARTS = 5
"""Number of consecutive failed starts after which the parent ends, if no worker serves."""
EXIT_SECONDS = 7.0
"""Seconds, added to `shutdown_seconds`, after which the parent kills workers that still run."""
_MAX_PORT = 65_535
_PROGRAM = (
    "import gc, sys; sys.path[:] = {path!r}; gc.disable(); "  # as `sheets-gateway serve` does
    "from gateway.commands.serve import serve_worker; gc.freeze(); gc.enable(); serve_worker()"
)


def serve_workers(
    settings: Settings,
    count: int,
    *,
    config: Path | None,
    overrides: Mapping[str, object],
    fd: int | None,
) -> NoReturn:
    """Serve with `count` worker processes until a signal, then exit with status 0.

    Each worker loads the settings again, from `config` and `overrides`. `fd` is the number of an
    inherited socket, or None. Raises ConfigError if the settings do not allow several processes, or
    if the address cannot be used. If workers cannot start, exits with the status of the last one.
    """
    _check(settings, count)
    configure_logging(form=settings.log.format)
    job = {"config": config and str(config), "overrides": overrides, "is_inherited": fd is not None}
    sockets = _Sockets(settings, count, fd)
    sys.exit(asyncio.run(_Parent(settings, count, job, sockets).run()))


def next_pause(pause_seconds: float, lived_seconds: float) -> float:
    """Return the seconds before a worker starts again, from its last pause and its lifetime."""
    if lived_seconds >= STEADY_SECONDS:
        return 0.0
    return min(max(2 * pause_seconds, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)


def _check(settings: Settings, count: int) -> None:
    if not settings.is_cluster:
        raise ConfigError(
            "--workers: several processes need cluster.redis and a PostgreSQL database as "
            "access.database. Set both, or omit --workers"
        )
    listen = settings.metrics.listen
    if listen is None or listen.port == 0:
        return
    last = listen.port + count - 1
    if last > _MAX_PORT or listen.port <= settings.server.port <= last:
        raise ConfigError(
            f"metrics.listen: {count} workers use the ports {listen.port} to {last}, which "
            f"must be free, different from server.port and at most {_MAX_PORT}. Choose another port"
        )


class _Sockets:
    """Listening sockets by worker number: one for each worker, or one inherited socket for all.

    Raises ConfigError if the address cannot be used.
    """

    def __init__(self, settings: Settings, count: int, fd: int | None) -> None:
        self._is_inherited = fd is not None
        host, port = settings.server.host, settings.server.port
        self._open: Callable[[], socket.socket]
        if fd is not None:
            shared = inherited(fd)
            self._open = lambda: shared
        else:
            self._open = partial(bind, host, free_port(host, port), is_shared=True)
        self._sockets = {number: self._open() for number in range(count)}
        self.url = base_url(self._sockets[0])

    def of(self, number: int) -> socket.socket:
        """Return the socket of a worker. Opens it again if `drop` closed it."""
        if number not in self._sockets:
            self._sockets[number] = self._open()
        return self._sockets[number]

    def drop(self, number: int) -> None:
        """Close the socket of a worker, unless it is the inherited socket of all workers."""
        if not self._is_inherited and number in self._sockets:
            self._sockets.pop(number).close()

    def close(self) -> None:
        for each in self._sockets.values():
            each.close()


class _Parent:
    """The parent process: starts workers, replaces those that end, and forwards signals."""

    def __init__(
        self, settings: Settings, count: int, job: Mapping[str, object], sockets: _Sockets
    ) -> None:
        self._job = job
        self._sockets = sockets
        self._stop_seconds = settings.server.shutdown_seconds + EXIT_SECONDS
        self._stopping = asyncio.Event()
        self._serving: dict[int, asyncio.Event] = {n: asyncio.Event() for n in range(count)}
        self._metrics: dict[int, str] = {}
        self._processes: dict[int, Process] = {}
        self._is_greeted = False
        self._failed_starts = 0
        self._status = 0
        """Exit status of this process."""

    async def run(self) -> int:
        """Keep all workers running until a signal. Returns the exit status."""
        loop = asyncio.get_running_loop()
        is_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        for each in (signal.SIGINT, signal.SIGTERM, *([] if is_nohup else [signal.SIGHUP])):
            loop.add_signal_handler(each, self._forward, each)
        first, *others = self._serving
        tasks = [asyncio.create_task(self._keep(first))]
        try:
            # The first worker starts alone, so that an error of all workers is reported once.
            await self._until([self._serving[first]], tasks)
            tasks += [asyncio.create_task(self._keep(number)) for number in others]
            await self._until(list(self._serving.values()), tasks)
            if not self._stopping.is_set():
                self._greet()
            await self._until([self._stopping], tasks)
        finally:
            await self._finish(tasks)
        return self._status

    async def _until(self, events: list[asyncio.Event], tasks: list[asyncio.Task[None]]) -> None:
        """Wait for all events, or until the parent stops. Raises the exception of a failed task."""
        happening = asyncio.create_task(_all(events))
        stopping = asyncio.create_task(self._stopping.wait())
        awaited = [happening, stopping, *tasks]
        try:
            done, _ = await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            happening.cancel()
            stopping.cancel()
        for task in tasks:
            if task in done:
                task.result()

    async def _keep(self, number: int) -> None:
        """Run a worker, and start another when it ends, until the parent stops.

        After too many failed starts, stops the parent with the exit status of the worker.
        """
        pause_seconds = 0.0
        while not self._stopping.is_set():
            begun = time.monotonic()
            status, has_served = await self._run(number)
            if self._stopping.is_set():
                return
            if not has_served:
                self._failed_starts += 1
                is_any_serving = any(each.is_set() for each in self._serving.values())
                is_hopeless = self._failed_starts >= MAX_FAILED_STARTS and not is_any_serving
                if is_hopeless or not self._is_greeted:
                    say("sheets-gateway: the workers do not start; the log says why", err=True)
                    self._status = status if status > 0 else 1
                    self._forward(signal.SIGTERM)
                    return
                self._sockets.drop(number)
            pause_seconds = next_pause(pause_seconds, time.monotonic() - begun)
            worker_ended(number, status, pause_seconds)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause_seconds)

    async def _run(self, number: int) -> tuple[int, bool]:
        """Start a worker and wait for its end. Returns its exit status, and whether it served."""
        try:
            fd = self._sockets.of(number).fileno()
        except ConfigError as error:
            say(f"sheets-gateway: {error}", err=True)
            return 1, False
        job = {**self._job, "fd": fd, "number": number, "parent": os.getpid()}
        # In a new session, the worker gets no signals from the terminal, only from its parent.
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _PROGRAM.format(path=sys.path),
            json.dumps(job),
            stdin=DEVNULL,
            stdout=PIPE,
            pass_fds=[fd],
            start_new_session=True,
        )
        self._processes[number] = process
        if self._stopping.is_set():
            process.terminate()
        said = await process.stdout.readline() if process.stdout else b""
        if said:
            self._metrics[number] = said.decode().strip()
            self._failed_starts = 0
            self._serving[number].set()
        status = await process.wait()
        self._serving[number].clear()
        del self._processes[number]
        return status, bool(said)

    def _greet(self) -> None:
        metrics = ", ".join(self._metrics[n] for n in self._serving if self._metrics[n])
        and_metrics = f", metrics on {metrics}" if metrics else ""
        count = len(self._serving)
        say(f"Sheets gateway on {self._sockets.url}, {count} workers{and_metrics}")
        self._is_greeted = True

    def _forward(self, number: signal.Signals) -> None:
        if not self._stopping.is_set():
            self._stopping.set()
            self._sockets.close()
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(number)

    async def _finish(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait until the workers have stopped, and kill workers that are too slow."""
        await asyncio.wait(tasks, timeout=self._stop_seconds)
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.kill()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _all(events: list[asyncio.Event]) -> None:
    # Not `asyncio.gather`, which logs an error if it is cancelled and not awaited.
    for event in events:
        await event.wait()
