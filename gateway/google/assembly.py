"""The `Sheets` of the service: accounts with their quota, behind retries and a circuit breaker."""

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from gateway.google.accounts import Account, Accounts
from gateway.google.adapter import GoogleSheets
from gateway.google.guards import Breaker, Counted, GuardedSheets, LastCheck, Retrying
from gateway.google.merging import MergingSheets
from gateway.google.quota import (
    Budgeted,
    Quota,
    Share,
    ShareByName,
    open_budget,
    open_quota,
)
from gateway.google.sheets import Sheets
from gateway.google.spent import SpentQuota
from gateway.settings.model import GoogleSettings, Settings
from gateway.telemetry.events import account_rested, breaker_changed, budget_waited


@dataclass(frozen=True, kw_only=True)
class Google:
    """`sheets` makes the calls of the service as one of the `accounts`."""

    sheets: Sheets
    accounts: Accounts


OpenSpent = Callable[[str], AbstractAsyncContextManager[SpentQuota]]
"""What an earlier process spent of the quota of an account or project of this name."""


@asynccontextmanager
async def open_budgets(
    settings: Settings,
    opened: Mapping[str, Sheets],
    open_spent: OpenSpent,
    share: ShareByName | None = None,
) -> AsyncIterator[Mapping[str, Budgeted]]:
    """The quota of each account, less what an earlier process spent; or shared with others."""
    google = settings.google
    projects = {name: _project(name, sheets) for name, sheets in opened.items()}
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
            name: Budgeted(
                open_budget(
                    by_account.get(name, google),
                    spent=await spent(name),
                    project=quotas.get(project),
                    share=_shared(share, name, project if project in shared else None),
                ),
                waited=budget_waited,
                turn_seconds=settings.writes.max_waiting_seconds,
            )
            for name, project in projects.items()
        }


def assemble(
    settings: GoogleSettings, opened: Mapping[str, Sheets], budgets: Mapping[str, Budgeted]
) -> Google:
    """Each attempt passes the breaker, gets an account, then waits for its quota."""
    breaker = Breaker(changed=breaker_changed)
    accounts = Accounts(
        [
            Account(
                name=name,
                sheets=GuardedSheets(sheets, budgets[name], LastCheck(breaker), Counted(name)),
                budgeted=budgets[name],
            )
            for name, sheets in opened.items()
        ],
        clock=time.monotonic,
        max_waiting_seconds=settings.max_waiting_seconds,
        rested=account_rested,
    )
    retrying = Retrying(may_retry=lambda: not breaker.is_open)
    sheets = MergingSheets(GuardedSheets(accounts, retrying, breaker), clock=time.monotonic)
    return Google(sheets=sheets, accounts=accounts)


def _project(name: str, sheets: Sheets) -> str:
    """The project whose quota an account uses; without one, it shares with no other."""
    project = sheets.project if isinstance(sheets, GoogleSheets) else None
    return project or f"of-{name}"


def _shared(
    share: ShareByName | None, name: str, project: str | None
) -> Callable[[bool], Share] | None:
    """What shares an account's rates of each kind, and its project's if others use it, too."""
    if share is None:
        return None
    names = [f"account:{name}"] if project is None else [f"account:{name}", f"project:{project}"]

    def of_kind(is_write: bool) -> Share:
        kind = "writes" if is_write else "reads"
        return share(*(f"{kind}:{each}" for each in names))

    return of_kind
