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
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NoReturn

from gateway.commands.terminal import OutputError, say
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
    sys.exit(asyncio.run(_Parent(settings, count, job, fd).run()))


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


@dataclass
class _Worker:
    """A worker process, and its socket, which the next process gets if the worker dies."""

    number: int
    listening: socket.socket | None
    """None after the parent closed the socket, until the next process starts."""
    process: Process | None = None
    metrics: str = ""
    """URL of its metrics, or "" without metrics."""
    is_serving: asyncio.Event = field(default_factory=asyncio.Event)


class _Parent:
    """The parent process: starts workers, replaces those that end, and forwards signals."""

    def __init__(
        self, settings: Settings, count: int, job: Mapping[str, object], fd: int | None
    ) -> None:
        """Raises ConfigError if the address cannot be used."""
        self._job = job
        host, port = settings.server.host, settings.server.port
        if fd is None:
            port = free_port(host, port)
        self._bind = partial(bind, host, port, is_shared=True)
        sockets = [self._bind() for _ in range(count)] if fd is None else [inherited(fd)] * count
        self._url = base_url(sockets[0])
        self._workers = [_Worker(number, each) for number, each in enumerate(sockets)]
        self._stop_seconds = settings.server.shutdown_seconds + EXIT_SECONDS
        self._stopping = asyncio.Event()
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
        first, *others = self._workers
        tasks = [asyncio.create_task(self._keep(first))]
        try:
            # The first worker starts alone, so that an error of all workers is reported once.
            await self._until([first.is_serving], tasks)
            tasks += [asyncio.create_task(self._keep(each)) for each in others]
            await self._until([each.is_serving for each in self._workers], tasks)
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

    async def _keep(self, worker: _Worker) -> None:
        """Run a worker, and start another when it ends, until the parent stops.

        After too many failed starts, stops the parent with the exit status of the worker.
        """
        pause_seconds = 0.0
        while not self._stopping.is_set():
            begun = time.monotonic()
            status, has_served = await self._run(worker)
            if self._stopping.is_set():
                return
            if not has_served:
                self._failed_starts += 1
                is_any_serving = any(each.is_serving.is_set() for each in self._workers)
                is_hopeless = self._failed_starts >= MAX_FAILED_STARTS and not is_any_serving
                if is_hopeless or not self._is_greeted:
                    say("sheets-gateway: the workers do not start; the log says why", err=True)
                    self._status = status if status > 0 else 1
                    self._forward(signal.SIGTERM)
                    return
                if worker.listening is not None and not self._job["is_inherited"]:
                    worker.listening.close()
                    worker.listening = None
            pause_seconds = next_pause(pause_seconds, time.monotonic() - begun)
            worker_ended(worker.number, status, pause_seconds)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause_seconds)

    async def _run(self, worker: _Worker) -> tuple[int, bool]:
        """Start a worker and wait for its end. Returns its exit status, and whether it served."""
        try:
            worker.listening = worker.listening or self._bind()
        except ConfigError as error:
            say(f"sheets-gateway: {error}", err=True)
            return 1, False
        fd = worker.listening.fileno()
        job = {**self._job, "fd": fd, "number": worker.number, "parent": os.getpid()}
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
        worker.process = process
        if self._stopping.is_set():
            process.terminate()
        said = await process.stdout.readline() if process.stdout else b""
        if said:
            worker.metrics = said.decode().strip()
            self._failed_starts = 0
            worker.is_serving.set()
        status = await process.wait()
        worker.is_serving.clear()
        worker.process = None
        return status, bool(said)

    def _greet(self) -> None:
        metrics = ", ".join(each.metrics for each in self._workers if each.metrics)
        and_metrics = f", metrics on {metrics}" if metrics else ""
        with suppress(OutputError, OSError):  # a full disk, or a pipe that nothing reads
            say(f"Sheets gateway on {self._url}, {len(self._workers)} workers{and_metrics}")
        self._is_greeted = True

    def _forward(self, number: signal.Signals) -> None:
        if not self._stopping.is_set():
            self._stopping.set()
            for each in self._workers:
                if each.listening is not None:
                    each.listening.close()
        self._send(number)

    def _send(self, number: signal.Signals) -> None:
        for each in self._workers:
            if each.process is not None:
                with suppress(ProcessLookupError):
                    each.process.send_signal(number)

    async def _finish(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait until the workers have stopped, and kill workers that are too slow."""
        await asyncio.wait(tasks, timeout=self._stop_seconds)
        self._send(signal.SIGKILL)
        await asyncio.gather(*tasks, return_exceptions=True)


async def _all(events: list[asyncio.Event]) -> None:
    # Not `asyncio.gather`, which logs an error if it is cancelled and not awaited.
    for event in events:
        await event.wait()
