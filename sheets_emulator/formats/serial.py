"""Serial numbers of dates and times: days since 30 December 1899, with the time as a fraction.

Earlier days have negative serial numbers, and 1900 is not a leap year (Google's guide to formats).
"""

from datetime import datetime, timedelta

EPOCH = datetime(1899, 12, 30)
MILLISECONDS_PER_DAY = 86_400_000
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def from_moment(moment: datetime) -> float:
    """Return the serial number of a local date and time."""
    return (moment - EPOCH) / timedelta(days=1)


def from_time(*, hour: int, minute: int, second: int, millisecond: int = 0) -> float:
    """Return the serial number of a time of day, or of a duration with any number of hours."""
    seconds = hour * 3600 + minute * 60 + second
    return (seconds * 1000 + millisecond) / MILLISECONDS_PER_DAY


def to_milliseconds(serial: float) -> int | None:
    """Return milliseconds since 30 December 1899, or None if the serial number is too large."""
    try:
        return round(serial * MILLISECONDS_PER_DAY)
    except (OverflowError, ValueError):
        return None
