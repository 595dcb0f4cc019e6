"""Google's limits per minute, as sliding windows per account and per project."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

WINDOW_SECONDS = 60.0
COUNTERS = {"read": "reads", "write": "writes"}


@dataclass(kw_only=True)
class Usage:
    """Calls of an account or a project by kind ("read", "write").

    `peaks` are the highest numbers of calls in a minute. `recent` has the times of the last
    minute's calls. Refused calls count only in `refused`.
    """

    totals: Counter[str] = field(default_factory=Counter)
    peaks: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    recent: defaultdict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))

    def has_spent(self, kind: str, limit: int, moment: float) -> bool:
        """True if the last minute has at least `limit` calls. A limit of 0 means no limit."""
        return 0 < limit <= len(self._window(kind, moment))

    def count(self, kind: str, moment: float) -> None:
        window = self._window(kind, moment)
        window.append(moment)
        self.totals[kind] += 1
        self.peaks[kind] = max(self.peaks[kind], len(window))

    def describe(self) -> dict[str, int]:
        return {
            **{name: self.totals[kind] for kind, name in COUNTERS.items()},
            "refused": self.refused,
            **{f"peak_{name}": self.peaks[kind] for kind, name in COUNTERS.items()},
        }

    def _window(self, kind: str, moment: float) -> deque[float]:
        window = self.recent[kind]
        while window and window[0] <= moment - WINDOW_SECONDS:
            window.popleft()
        return window


@dataclass(kw_only=True)
class Quota:
    """Counters and limits of projects and accounts.

    `limits` are calls per minute by scope and kind, and 0 for no limit. The scopes are "project"
    and "user". A user is an account of a project, or a user for whom an account acts.
    """

    limits: Mapping[str, Mapping[str, int]]
    now: Callable[[], float]
    projects: defaultdict[str, Usage] = field(default_factory=lambda: defaultdict(Usage))
    accounts: defaultdict[tuple[str, str], Usage] = field(
        default_factory=lambda: defaultdict(Usage)
    )

    def take(self, account: str, project: str, kind: str) -> str | None:
        """Count a call.

        If a limit refuses the call, return the scope of the limit and do not count.
        """
        moment = self.now()
        usages = {"user": self.accounts[project, account], "project": self.projects[project]}
        for scope, usage in usages.items():
            if usage.has_spent(kind, self.limits[scope][kind], moment):
                return scope
        for usage in usages.values():
            usage.count(kind, moment)
        return None

    def refuse(self, account: str, project: str) -> None:
        """Count a refused call."""
        self.accounts[project, account].refused += 1
        self.projects[project].refused += 1

    def reset(self) -> None:
        self.projects.clear()
        self.accounts.clear()

    def describe(self) -> dict[str, object]:
        """Return the member `projects` of `/_emulator/stats`: counts by project and account."""
        return {
            project: {
                **usage.describe(),
                "accounts": {
                    account: each.describe()
                    for (its_project, account), each in self.accounts.items()
                    if its_project == project
                },
            }
            for project, usage in self.projects.items()
        }
