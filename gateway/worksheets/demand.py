"""Demand for a worksheet: when its rows were last requested, and how the last read ended."""

from dataclasses import dataclass


@dataclass(kw_only=True)
class Demand:
    """Last requests for a worksheet and the result of its last read, by a monotonic clock."""

    spreadsheet: str
    asked_seconds: float = float("-inf")
    typed_seconds: float = float("-inf")
    """Last request for typed rows."""
    forced_seconds: float = float("-inf")
    """Last read for `no-cache`."""
    failed_seconds: float = float("-inf")
    failure: str = ""
    """Failure of its last read, one word."""

    def note(self, now: float, *, has_types: bool) -> None:
        self.asked_seconds = now
        if has_types:
            self.typed_seconds = now
