"""Status of this process, and findings of the command `check`."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

import msgspec

from gateway import __version__
from gateway.admin.pages import AdminRequest, Page, Redirect
from gateway.admin.requests import ANY, requests
from gateway.admin.usage import chart, use_by_hour
from gateway.errors import InvalidQuery
from gateway.google.calls import Send
from gateway.google.quota import Bucket
from gateway.telemetry.events import CallKind, tallies

CHECK_EVERY = timedelta(minutes=1)
LAST_ERRORS = 5
SHOWN_WORKSHEETS = 20

Findings = Sequence[tuple[str, str]]
"""Findings of `check`: pairs of a level and a text."""
RunCheck = Callable[[str | None, Mapping[str, Send]], Awaitable[Findings]]
"""Function that runs `check` with a spreadsheet ID, or None to check no spreadsheet.

The mapping has the function that sends the reads of an account, by the account's name.
"""


class Checks:
    """Runs `check`, at most once in `CHECK_EVERY` to save quota, and caches the findings.

    The reads of `check` use the quota of the gateway's accounts, and wait for quota.
    """

    def __init__(self, run: RunCheck) -> None:
        self._run = run
        self._running = asyncio.Lock()
        self.at: datetime | None = None
        self.findings: Findings = ()

    async def run(self, asked: AdminRequest) -> None:
        """Run `check` with a spreadsheet of an active key, at most once in `CHECK_EVERY`."""
        async with self._running:
            now, accounts = asked.now(), asked.request.state["accounts"]
            if self.at is not None and now - self.at < CHECK_EVERY:
                return
            granted = [each.grants.spreadsheets for each in await asked.keys()]
            first = next((min(each) for each in granted if each), None)
            sends = {name: each.read for name, each in accounts.by_name.items()}
            self.findings = await self._run(first, sends)
            self.at = asked.now()


async def status(asked: AdminRequest) -> dict[str, Any]:
    """Return quota, accounts, worksheets and findings as JSON. Only `check=true` calls Google."""
    state, checks = asked.request.state, asked.checks
    if asked.asked("check") not in ("", "false", "true"):
        raise InvalidQuery("check must be true or false.")
    if asked.asked("check") == "true":
        await checks.run(asked)
    found = sorted(state["rows"].in_memory(), key=attrgetter("bytes"), reverse=True)
    return {
        "version": __version__,
        "process": f"{socket.gethostname()} {os.getpid()}",
        "processes": tallies.processes,
        "started": asked.started.isoformat(),
        "breaker": "open" if tallies.is_breaker_open else "closed",
        "redis": state["is_redis_available"](),
        "accounts": [
            {
                "name": each.name,
                "state": "refused" if each.is_refused else "ok",
                "reads": _use(each.name, "read", each.budget.reads),
                "writes": _use(each.name, "write", each.budget.writes),
            }
            for each in state["accounts"].by_name.values()
        ],
        "worksheets": [msgspec.to_builtins(each) for each in found],
        "checked": checks.at.isoformat() if checks.at else None,
        "findings": [{"level": level, "text": text} for level, text in checks.findings],
    }


def _use(account: str, kind: CallKind, bucket: Bucket) -> dict[str, int]:
    """Return `used` calls of this process in a minute, the `limit`, and `waiting` calls."""
    used = tallies.calls_of_minute(account, kind)
    return {"used": used, "limit": bucket.max_per_minute, "waiting": bucket.waiting_count}


async def overview_page(asked: AdminRequest) -> Page:
    plain, now = replace(asked, query=()), asked.now()
    found, used = await status(plain), await use_by_hour(plain)
    latest, store = await requests(replace(asked, query=[("code", ANY)]), LAST_ERRORS), asked.store
    refused = latest["requests"]
    names = await store.names([line["key"] for line in refused if line["key"]])
    values = {
        **found,
        "total": used["total"],
        "chart": chart(used, now),
        "worksheets": found["worksheets"][:SHOWN_WORKSHEETS],
        "more": len(found["worksheets"]) - SHOWN_WORKSHEETS,
        "errors": refused,
        "names": names,
        "keys": await store.count(now),
    }
    return Page(template="overview.html", values=values)


async def check_page(asked: AdminRequest) -> Redirect:
    """Run `check`, and redirect to the findings on the overview."""
    await asked.checks.run(asked)
    return Redirect("/#check")
