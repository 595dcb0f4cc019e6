"""Callers for tests of code that gets a caller."""

from datetime import UTC, datetime

from gateway.access.caller import Caller
from gateway.settings.model import PlanSettings
from gateway.storage.key_store import Grants, KeyRecord


def make_caller(
    grants: Grants, plan: PlanSettings | None = None, *, key_id: str = "k1", plan_name: str = "paid"
) -> Caller:
    """Return the caller of a key with these grants. `plan` is by default without settings."""
    made = datetime(2026, 7, 1, tzinfo=UTC)
    key = KeyRecord(
        id=key_id, name="tests", last4="wxyz", plan=plan_name, grants=grants, created_at=made
    )
    return Caller(key=key, plan=plan or PlanSettings())
