"""Base class and number types of settings, and the settings of plans."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Port = Annotated[int, Field(ge=0, le=65535)]
Count = Annotated[int, Field(ge=1)]
CountOrZero = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]
SecondsOrZero = Annotated[float, Field(ge=0)]


class Section(BaseModel):
    """Base class for a table of settings. The string below each setting describes it."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )


class PlanSettings(Section):
    """`[plans.NAME]`: rights and limits of the keys that have this plan."""

    where_and_order: bool = True
    """Allows filters and sorting in lists."""
    max_limit: Annotated[int, Field(ge=1, le=1000)] = 100
    """Maximum number of rows in one answer; a larger `limit` is reduced to it."""
    max_export_rows: CountOrZero = 50_000
    """Maximum number of rows of an export; 0: no exports."""
    writes: bool = True
    """Allows creating and updating rows."""
    deletes: bool = False
    """Allows deleting rows with keys that have the right to delete."""
    max_affected: CountOrZero = 100
    """Maximum number of rows that a write by filter can change; 0: no writes by filter."""
    require_if_match: bool = False
    """Requires If-Match with the ETag of the row for updates and deletes."""
    requests_per_minute: CountOrZero = 600
    """Requests per minute and key, plus a burst of a tenth (at least 10); 0: no limit."""
    max_concurrent: CountOrZero = 250
    """Maximum number of concurrent requests of one key; 0: no limit."""


BUILT_IN_PLANS: Mapping[str, Mapping[str, object]] = {
    "free": {"where_and_order": False},
    "paid": {},
}


def missing_limits(plan: PlanSettings) -> Sequence[str]:
    """Return the names of the rate limits that are 0, which means no limit."""
    limits = ("requests_per_minute", "max_concurrent")
    return [name for name in limits if getattr(plan, name) == 0]
