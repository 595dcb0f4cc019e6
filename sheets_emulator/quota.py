"""Google's per-minute limits as sliding windows per service account."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

WINDOW_SECONDS = 60.0


@dataclass(kw_only=True)
class Quota:
    """Counts calls; `limits` are calls per minute by kind ("read", "write"), 0 for no limit.

    Refused calls do not count.
    """

    limits: Mapping[str, int]
    now: Callable[[], float]
    taken: dict[tuple[str, str], deque[float]] = field(default_factory=dict)

    def take(self, account: str, kind: str) -> bool:
        """Count a call; False if it must be refused."""
        limit = self.limits[kind]
        if not limit:
            return True
        moment = self.now()
        window = self.taken.setdefault((account, kind), deque())
        while window and window[0] <= moment - WINDOW_SECONDS:
            window.popleft()
        if len(window) >= limit:
            return False
        window.append(moment)
        return True

    def reset(self) -> None:
        self.taken.clear()
