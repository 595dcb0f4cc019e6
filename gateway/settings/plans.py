"""Plans: rights and limits of the keys on each."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from gateway.settings.section import CountOrZero, Section


class PlanSettings(Section):
    """`[plans.NAME]`: what a key on this plan may do."""

    where_and_order: bool = True
    """Whether lists may be filtered and sorted."""
    max_limit: Annotated[int, Field(ge=1, le=1000)] = 100
    """Most rows in one answer; a larger `limit` is cut to it."""
    writes: bool = True
    """Whether rows may be created and updated."""
    require_if_match: bool = False
    """Whether an update must say in If-Match which state of the row it was made for."""
    requests_per_minute: CountOrZero = 600
    """Most requests a minute of one key, and a tenth as many (10 at least) at once; 0: no limit."""
    max_concurrent: CountOrZero = 250
    """Most requests of one key that are under way at once; 0: no limit."""


BUILT_IN_PLANS: Mapping[str, Mapping[str, object]] = {
    "free": {"where_and_order": False},
    "paid": {},
}

_LIMITS = ("requests_per_minute", "max_concurrent")


def missing_limits(plan: PlanSettings) -> Sequence[str]:
    """The settings that leave a key of this plan unlimited."""
    return [name for name in _LIMITS if getattr(plan, name) == 0]
