"""The `Sheets` of the service: its accounts with their quota, behind one pipeline."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from gateway.errors import GatewayError
from gateway.google.adapter import GoogleSheets
from gateway.google.client import Client
from gateway.google.pipeline import Account, Accounts, Breaker, Pipeline, Retries
from gateway.google.quota import (
    Budget,
    Quota,
    Share,
    SpentQuota,
    open_budget,
    open_quota,
)
from gateway.settings.model import Settings
from gateway.telemetry.events import (
    account_rested,
    breaker_changed,
    upstream_failed,
)

SIGN_IN_SECONDS = 5.0
SIGN_IN_EVERY_SECONDS = 10.0


class Acceptance:
    """Test whether Google has accepted an account since the start, by a call or by a token.

    Until an account was accepted, `found` requests a token for each account, at most once per
    `SIGN_IN_EVERY_SECONDS`.
    """

    def __init__(
        self,
        clients: Sequence[Client],
        accounts: Accounts,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._clients = clients
        self._accounts = accounts
        self._signing_in: asyncio.Task[None] | None = None
        self._next_at = -math.inf

    async def found(self) -> bool:
        if self._accounts.was_accepted:
            return True
        if self._signing_in is None or self._clock() >= self._next_at:
            self._next_at = self._clock() + SIGN_IN_EVERY_SECONDS
            self._signing_in = asyncio.create_task(self._sign_in())
        await asyncio.wait([self._signing_in])  # unlike a cancelled caller, the sign-in goes on
        return self._accounts.was_accepted

    async def aclose(self) -> None:
        if self._signing_in is not None:
            self._signing_in.cancel()
            await asyncio.wait([self._signing_in])

    async def _sign_in(self) -> None:
        await asyncio.gather(*map(self._sign_in_as, self._clients))

    async def _sign_in_as(self, client: Client) -> None:
        try:
            await client.sign_in(SIGN_IN_SECONDS)
        except GatewayError as error:
            upstream_failed(error)
        else:
            self._accounts.was_accepted = True


@dataclass(frozen=True, kw_only=True)
class Google:
    """Google for the service; `sheets` sends its calls through the `pipeline`."""

    sheets: GoogleSheets
    pipeline: Pipeline
    acceptance: Acceptance


OpenSpent = Callable[[str], AbstractAsyncContextManager[SpentQuota]]
"""Opens the stored spent quota of the account or project with this name."""


@asynccontextmanager
async def open_budgets(
    settings: Settings,
    clients: Mapping[str, Client],
    open_spent: OpenSpent,
    share: Share | None = None,
) -> AsyncIterator[Mapping[str, Budget]]:
    """Open the quota of each account, minus the spent quota, or shared with other processes."""
    google = settings.google
    # An account without a project shares no quota.
    projects = {name: each.project or f"of-{name}" for name, each in clients.items()}
    shared = {project for project, count in Counter(projects.values()).items() if count > 1}
    by_account = google.by_account()
    async with AsyncExitStack() as stack:

        async def spent(name: str) -> SpentQuota | None:
            return None if share else await stack.enter_async_context(open_spent(name))

        quotas: Mapping[str, Quota] = {
            project: open_quota(
                google.project_reads_per_minute,
                google.project_writes_per_minute,
                spent=await spent(f"project-{project}"),
            )
            for project in shared
        }
        yield {
            name: open_budget(
                by_account.get(name, google),
                spent=await spent(name),
                project=quotas.get(project),
                share=share,
                names=[f"account:{name}", *([f"project:{project}"] if project in shared else [])],
            )
            for name, project in projects.items()
        }


def assemble(
    clients: Mapping[str, Client],
    budgets: Mapping[str, Budget],
    *,
    turn_seconds: float | None,
) -> Google:
    """Build the service's accounts and pipeline; `turn_seconds` is the maximum wait of a write."""
    accounts = Accounts(
        [
            Account(name=name, make=client.make, budget=budgets[name])
            for name, client in clients.items()
        ],
        clock=time.monotonic,
        rested=account_rested,
    )
    pipeline = Pipeline(
        accounts,
        breaker=Breaker(changed=breaker_changed),
        retries=Retries(),
        turn_seconds=turn_seconds,
    )
    return Google(
        sheets=GoogleSheets(pipeline.send),
        pipeline=pipeline,
        acceptance=Acceptance([*clients.values()], accounts),
    )
