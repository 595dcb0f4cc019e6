"""Dates and times as Google stores them: days since 30 December 1899, the time as a fraction."""

from datetime import datetime, timedelta

EPOCH = datetime(1899, 12, 30)
MILLISECONDS_PER_DAY = 86_400_000


def from_moment(moment: datetime) -> float:
    """The serial of a wall-clock moment."""
    return (moment - EPOCH) / timedelta(days=1)


def from_time(*, hour: int, minute: int, second: int) -> float:
    """The serial of a time of day without a date."""
    return (hour * 3600 + minute * 60 + second) / 86_400


def to_moment(serial: float) -> datetime | None:
    """The wall-clock moment of a serial, to the millisecond; None outside the years 1 to 9999."""
    try:
        return EPOCH + timedelta(milliseconds=round(serial * MILLISECONDS_PER_DAY))
    except (OverflowError, ValueError):
        return None
