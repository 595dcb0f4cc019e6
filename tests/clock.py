"""A manual clock."""


class ManualClock:
    """Seconds of a monotonic clock, which pass only where a test says so."""

    def __init__(self) -> None:
        self._seconds = 1000.0

    def __call__(self) -> float:
        return self._seconds

    def advance(self, seconds: float) -> None:
        self._seconds += seconds
