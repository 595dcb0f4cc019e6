"""An in-memory `Ledger`, whose records a test can inspect."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from gateway.errors import GatewayError
from gateway.google.sheets import Fence
from gateway.worksheets.access import WorksheetId
from gateway.worksheets.idempotency import Answer, Entry, Sending
from gateway.worksheets.writes import Results, WriteIdentity


class FakeLedger:
    def __init__(self, clock: Callable[[], float]) -> None:
        self.entries: dict[str, Entry] = {}
        self.calls: list[str] = []
        self.batches: dict[Fence, tuple[Sequence[Sending], bool | None]] = {}
        """The stored writes of each batch, and whether the batch was applied."""
        self.trouble: Exception | None = None
        """Error that the ledger raises instead of storing anything."""
        self.cannot_read: Exception | None = None
        self.lack_of_room: GatewayError | None = None
        self._clock = clock

    async def find(self, scope: str, texts: Collection[str] = ()) -> Entry | None:
        self.calls.append("find")
        if self.cannot_read is not None:
            raise self.cannot_read
        return self.entries.get(scope)

    def check_room(self, identity: WriteIdentity) -> None:
        if self.lack_of_room is not None:
            raise self.lack_of_room

    async def sending(
        self,
        worksheet: WorksheetId,
        sendings: Sequence[Sending],
        fence: Fence,
        sheet_id: int | None = None,
    ) -> Collection[WriteIdentity]:
        if self.trouble is not None and sendings:
            raise self.trouble
        noted = [each for each in sendings if each.updated or each.removed or each.is_exclusive]
        if noted:
            self.calls.append("noting")
            self.batches[fence] = (noted, None)
        for identity, first_row, rows, numbers, *_ in sendings:
            if identity is not None:
                self.calls.append("sending")
                self.entries[identity.scope] = Entry(
                    fingerprint=identity.fingerprint,
                    sent_at=self._clock(),
                    first_row=first_row,
                    rows=rows,
                    numbers=numbers,
                    fence=fence,
                )
        return ()

    async def twins(self, identities: Sequence[WriteIdentity]) -> Collection[WriteIdentity]:
        return ()

    async def settled(self, worksheet: WorksheetId, fence: Fence, *, is_applied: bool) -> None:
        noted, _ = self.batches.get(fence, ((), None))
        self.batches[fence] = (noted, is_applied)

    async def completed(self, results: Sequence[tuple[WriteIdentity, Results]]) -> None:
        for identity, answer in results:
            self.calls.append("completed")
            self._answer(identity, answer)

    async def complete(self, identity: WriteIdentity, answer: Answer) -> None:
        self.calls.append("complete")
        self._answer(identity, answer)

    async def renew(self, identity: WriteIdentity) -> None:
        self.calls.append("renew")
        entry = self.entries.get(identity.scope)
        if entry is not None:
            self.entries[identity.scope] = replace(entry, sent_at=self._clock())

    async def drop(self, identity: WriteIdentity) -> None:
        self.calls.append("drop")
        self.entries.pop(identity.scope, None)

    def _answer(self, identity: WriteIdentity, answer: Answer) -> None:
        self.entries[identity.scope] = Entry(
            fingerprint=identity.fingerprint,
            sent_at=self._clock(),
            first_row=0,
            rows=(),
            answer=answer,
        )
