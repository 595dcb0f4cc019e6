"""Statistics of calls since the last reset."""

from collections import Counter
from dataclasses import dataclass, field

COUNTERS = {"read": "reads", "write": "writes"}


@dataclass(kw_only=True)
class Tally:
    """Counts of calls, by name and by kind ("reads", "writes").

    A call that a limit refuses counts only in `refused`. A call that a fault answers counts in
    `calls`. A call without a valid token does not count.
    """

    calls: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    refused: int = 0

    def count(self, name: str, kind: str | None) -> None:
        """Count a call. `kind` is None for a token request, which is neither a read nor a write."""
        self.calls[name] += 1
        if kind is not None:
            self.kinds[COUNTERS[kind]] += 1

    def refuse(self) -> None:
        self.refused += 1

    def reset(self) -> None:
        self.calls.clear()
        self.kinds.clear()
        self.refused = 0

    def describe(self) -> dict[str, object]:
        """Return the counts in `/_emulator/stats`."""
        return {
            "calls": dict(self.calls),
            "reads": self.kinds["reads"],
            "writes": self.kinds["writes"],
            "refused": self.refused,
        }
