"""Freshness of an answer, and why it is not fresher."""

from typing import NamedTuple


class Freshness(NamedTuple):
    """The age of what an answer rests on, and what is left of its life."""

    age_seconds: float
    """Since the read began that the answer rests on."""
    ttl_seconds: float
    """Until it is read anew; negative for a stale answer."""
    is_hit: bool
    """Whether no call to Google was waited for."""
    reason: str = ""
    """Why it is stale, one word; "" for a fresh answer."""

    def later(self, seconds: float) -> "Freshness":
        """The same after so much time."""
        return self._replace(
            age_seconds=self.age_seconds + seconds, ttl_seconds=self.ttl_seconds - seconds
        )
