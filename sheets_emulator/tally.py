"""What the emulator has been asked since the last reset."""

from collections import Counter
from dataclasses import dataclass, field

COUNTERS = {"read": "reads", "write": "writes"}


@dataclass(kw_only=True)
class Tally:
    """Counts of calls. A call that a limit refused is in `refused` only, one that a fault answers
    is in `calls` like any other; a call without a valid token is not counted."""

    calls: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    refused: int = 0

    def count(self, name: str, kind: str | None) -> None:
        """Count a call; kind None: neither a read nor a write (`token`)."""
        self.calls[name] += 1
        if kind is not None:
            self.kinds[COUNTERS[kind]] += 1

    def refuse(self) -> None:
        """Count a call that a limit refused."""
        self.refused += 1

    def reset(self) -> None:
        """Start again at zero."""
        self.calls.clear()
        self.kinds.clear()
        self.refused = 0

    def describe(self) -> dict[str, object]:
        """The body of `/_emulator/stats`."""
        return {
            "calls": dict(self.calls),
            "reads": self.kinds["reads"],
            "writes": self.kinds["writes"],
            "refused": self.refused,
        }
