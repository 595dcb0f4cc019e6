"""One interface to call the client libraries: Python (sync and asyncio), and TypeScript in Node.

Rules: a call uses the names of the Python client. An outcome is JSON with the names of the
TypeScript client, without absent members. An error for a wrong argument has the kind Mistake.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import isgenerator
from pathlib import Path
from subprocess import PIPE, Popen
from types import ModuleType
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal

PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Call:
    method: str
    arguments: Sequence[Any]
    options: Mapping[str, Any]


@dataclass
class Waits:
    """Simulated time, which passes only while a client waits; `on_wait` runs at each wait."""

    now: float = 1000.0
    seconds: list[float] = field(default_factory=list)
    on_wait: Callable[[], None] = lambda: None
    is_real: bool = False
    """True if waits take real time."""

    def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.now += seconds
        threading.Event().wait(seconds if self.is_real else 0)
        self.on_wait()

    async def sleep_async(self, seconds: float) -> None:
        await asyncio.to_thread(self.sleep, seconds)


@dataclass(kw_only=True)
class PythonSender:
    """A client of this module; with a portal it runs in an event loop."""

    module: ModuleType
    portal: BlockingPortal | None = None
    client: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    waits: Waits = field(default_factory=Waits)
    is_typescript = False

    def open(self, options: Mapping[str, Any], waits: Waits) -> None:
        """Close the current client; the next call creates a client with these options."""
        self.close()
        self.options, self.waits = options, waits

    def close(self) -> None:
        if self.client is not None:
            self.client.close() if self.portal is None else self.portal.call(self.client.close)
        self.client = None

    def outcome(self, sheet: Any, of_sheet: Mapping[str, Any], call: Call) -> Mapping[str, Any]:
        """Return `{"value": …}`, or `{"error": …}` with the error's members."""
        try:
            self.client = self.client or self._made()
            is_of_client = hasattr(self.client, call.method)
            holder = self.client if is_of_client else self.client.sheet(sheet, **of_sheet)
            found = getattr(holder, call.method)(*call.arguments, **call.options)
            if self.portal is not None:
                found = self.portal.call(_finished, found)
            return {"value": _plain(list(found) if isgenerator(found) else found)}
        except self.module.SheetsFailure as error:
            names = ("message", "may_be_applied", *vars(error))
            members = {camel(name): _plain(getattr(error, name)) for name in names}
            return {"error": {**members, "kind": type(error).__name__}}
        except ValueError as error:
            return {"error": {"kind": "Mistake", "message": str(error)}}

    def _made(self) -> Any:
        own, has_loop = dict(self.options), self.portal is not None
        if "retry" in own:
            own["retry"] = self.module.RetryOptions(**own["retry"])
        waits, connection = self.waits, self.module.connection
        transport = httpx2.AsyncHTTPTransport if has_loop else httpx2.HTTPTransport
        return (self.module.AsyncSheets if has_loop else self.module.Sheets)(
            **own,
            transport=transport(verify=False),  # no certificates, which take 20 ms to load
            sleep=waits.sleep_async if has_loop else waits.sleep,
            timing=connection.Timing(clock=lambda: waits.now, chance=lambda: 1.0),
        )


@dataclass(kw_only=True)
class NodeSender:
    """A client of this module in a Node process that runs `run.mjs`."""

    process: Popen[str]
    module: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    waits: Waits = field(default_factory=Waits)
    is_typescript = True

    @classmethod
    def start(cls, command: Sequence[str], module: Path) -> "NodeSender":
        process = Popen(command, stdin=PIPE, stdout=PIPE, text=True, encoding="utf-8")  # noqa: S603
        return cls(process=process, module=module)

    def close(self) -> None:
        with self.process:
            if self.process.stdin is not None:
                self.process.stdin.close()

    def open(self, options: Mapping[str, Any], waits: Waits) -> None:
        """Use these options for the client of the next calls."""
        named = {camel(name): each for name, each in options.items() if name != "retry"}
        retry = {camel(name): each for name, each in options.get("retry", {}).items()}
        self.options, self.waits = {**named, **({"retry": retry} if retry else {})}, waits

    def outcome(self, sheet: Any, of_sheet: Mapping[str, Any], call: Call) -> Mapping[str, Any]:
        """Return `{"value": …}`, or `{"error": …}` with the error's members."""
        named = {camel(name): each for name, each in call.options.items()}
        arguments = [*call.arguments, *([named] if named else [])]
        found = self._asked(
            {
                "module": self.module.as_uri(),
                "options": self.options,
                "sheet": sheet,
                "ofSheet": of_sheet,
                "method": camel(call.method),
                "arguments": arguments,
            }
        )
        while "wait" in found:
            self.waits.sleep(found["wait"])
            found = self._asked({})  # any line ends the wait in Node
        return {name: _plain(each) for name, each in found.items()}

    def _asked(self, question: Mapping[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        guard = threading.Timer(PATIENCE_SECONDS, self.process.kill)
        guard.start()
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            found: dict[str, Any] = json.loads(self.process.stdout.readline())
        finally:
            guard.cancel()
        return found


Sender = PythonSender | NodeSender


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


async def _finished(found: Any) -> Any:
    return [each async for each in found] if hasattr(found, "__anext__") else await found


def _plain(value: Any) -> Any:
    """Return a client's value as JSON. None stays in fields of rows and in lists."""
    if is_dataclass(value):
        value = {camel(each.name): getattr(value, each.name) for each in fields(value)}
    if isinstance(value, Mapping):
        return {
            name: each if name == "fields" and isinstance(each, Mapping) else _plain(each)
            for name, each in value.items()
            if each is not None
        }
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
