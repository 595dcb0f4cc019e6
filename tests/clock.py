"""A manual clock."""


class ManualClock:
    """Monotonic clock in seconds that only `advance` changes."""

    def __init__(self) -> None:
        self._seconds = 1000.0

    def __call__(self) -> float:
        return self._seconds

    def advance(self, seconds: float) -> None:
        self._seconds += seconds
