"""The gatekeeper: from the key of a request to its caller."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gateway.access.caller import Caller, Grants
from gateway.access.keys import digest, is_well_formed
from gateway.access.store import KeyRecord, KeyStore
from gateway.config import PlanSettings
from gateway.errors import InvalidApiKey, MissingApiKey, PlanLimit

NO_KEY = (
    "A key is needed. Send it as 'Authorization: Bearer KEY', in the header API-Key or X-API-Key, "
    "or, to read only, in the query parameter apiKey."
)
# One text for all reasons: which of them it was is nobody's business but the operator's.
BAD_KEY = (
    "This key is not valid: it is mistyped, unknown, revoked or expired. Copy it once more, or "
    "ask the gateway's operator for a new one."
)


@dataclass(frozen=True)
class Gatekeeper:
    """Knows every key of the store; `clock` gives the present instant in UTC."""

    store: KeyStore
    pepper: bytes = field(repr=False)
    plans: Mapping[str, PlanSettings]
    clock: Callable[[], datetime]

    async def identify(self, key: str | None) -> Caller:
        """The caller who holds this key; any text may come, and costs one look-up at most.

        Raises `MissingApiKey` for none or a blank one, `InvalidApiKey` alike for all others that
        do not count, `PlanLimit` for a valid key whose plan is not configured any more.
        """
        if key is None or not key.strip():
            raise MissingApiKey(NO_KEY)
        record = await self._valid_record(key)
        if record is None:
            raise InvalidApiKey(BAD_KEY)
        plan = self.plans.get(record.plan)
        if plan is None:
            raise PlanLimit(
                f"The plan '{record.plan}' of this key is not configured any more. Ask the "
                "gateway's operator to bring it back, or for a key on another plan."
            )
        return _caller(record, plan)

    async def _valid_record(self, key: str) -> KeyRecord | None:
        if not is_well_formed(key):
            return None
        record = await self.store.find(digest(key, self.pepper))
        return record if record is not None and _is_valid(record, self.clock()) else None


def _is_valid(record: KeyRecord, now: datetime) -> bool:
    is_expired = record.expires_at is not None and record.expires_at <= now
    return record.revoked_at is None and not is_expired


def _caller(record: KeyRecord, plan: PlanSettings) -> Caller:
    grants = Grants(
        spreadsheets=record.spreadsheets,
        worksheets=record.worksheets,
        read_only=record.read_only,
        origins=record.origins,
    )
    return Caller(
        key_id=record.id, name=record.name, plan_name=record.plan, plan=plan, grants=grants
    )
