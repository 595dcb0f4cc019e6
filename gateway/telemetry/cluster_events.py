"""Events of several processes; rules as in `gateway.telemetry.events`."""

from gateway.telemetry.events import log, tallies


def store_opened() -> None:
    """Note that there is a Redis, which was not asked yet."""
    tallies.is_store_available = False


def store_changed(error: str | None) -> None:
    """Record that Redis is unavailable, for this reason, or is there."""
    tallies.is_store_available = error is None
    log.warning("redis", is_available=error is None, error=error)


def processes_counted(count: int) -> None:
    """Set the number of processes that share the quota."""
    tallies.processes = count


def key_signals_changed(error: str | None) -> None:
    """Signals of changed keys stopped, by an error of this type, or come again."""
    log.warning("key-signals", is_available=error is None, error=error)


def worker_ended(number: int, status: int, pause_seconds: float) -> None:
    """A worker process ended by itself; another one takes its place after the pause."""
    log.error("worker-ended", worker=number, status=status, pause_seconds=pause_seconds)
