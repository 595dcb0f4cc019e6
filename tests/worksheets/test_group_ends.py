"""Outcomes of the other writes of a group when one write or the batch fails."""

import pytest

from gateway.errors import (
    GatewayError,
    InternalError,
    InvalidBody,
    PreconditionFailed,
    QuotaSpent,
    RecordsUnavailable,
    RowNotFound,
    StorageFull,
    UpstreamAuth,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.table.header import IfMatch
from gateway.worksheets.writes import Write, WriteIdentity
from tests.forwarding import Kind
from tests.worksheets.conftest import (
    TARGET,
    WORKSHEET,
    Bench,
)

SPENT = QuotaSpent("spent", outcome="not_applied", retry_after_seconds=60)
UNANSWERED = WriteOutcomeUnknown("no answer", outcome="unknown", retry_after_seconds=185)
FULL = (
    "Invalid requests[1].appendCells: This action would increase the number of cells in the "
    "workbook above the limit"
)


def one(**fields: str | int | None) -> Write:
    return Write.create(rows=(fields,))


def keyed(name: str) -> Write:
    identity = WriteIdentity(scope=name, fingerprint=name, worksheet=WORKSHEET, key_id="")
    return Write.create(rows=({"name": name},), identity=identity)


FAILURES = pytest.mark.parametrize(
    "failure",
    [
        pytest.param(SPENT, id="not sent"),
        pytest.param(UNANSWERED, id="open"),
        pytest.param(UpstreamRefusal(FULL), id="refused"),
    ],
)


EXPECTED = {
    QuotaSpent: QuotaSpent,
    WriteOutcomeUnknown: WriteOutcomeUnknown,
    UpstreamRefusal: StorageFull,
}


def fail(bench: Bench, kind: Kind, failure: GatewayError) -> None:
    """Make the next write of a kind fail, and no search find its fence."""
    bench.sheets.before(kind, failure)
    bench.sheets.before("fence_tokens", UpstreamAuth("no token"))


@FAILURES
async def test_an_invalid_create_is_told_so_though_the_others_failed(
    bench: Bench, failure: GatewayError
) -> None:
    """An invalid create gets its own error, and only sent creates get the batch's error."""
    fail(bench, "apply", failure)
    wrong, right = await bench.together(one(colour="red"), one(name="a"))

    assert isinstance(wrong, InvalidBody)
    assert isinstance(right, EXPECTED[type(failure)])


@FAILURES
async def test_updates_that_were_not_sent_end_as_they_would_alone(
    bench: Bench, failure: GatewayError
) -> None:
    """Failed conditions, missing rows and unchanged rows keep their own results."""
    fail(bench, "apply", failure)
    changed, stale, unchanged, missing = await bench.together(
        Write.update(row=2, fields={"name": "Salem"}),
        Write.update(row=3, fields={"name": "Aspen"}, condition=IfMatch(tags=frozenset({'"old"'}))),
        Write.update(row=4, fields={"name": "Austin"}),
        Write.update(row=5, fields={"name": "Nowhere"}),
    )

    assert isinstance(changed, EXPECTED[type(failure)])
    assert isinstance(stale, PreconditionFailed)
    assert not isinstance(unchanged, BaseException)
    assert isinstance(missing, RowNotFound)


async def test_creates_without_a_key_do_not_need_the_ledger(bench: Bench) -> None:
    """Only the write that could not be stored is not sent."""
    bench.ledger.trouble = RecordsUnavailable("the database is away", outcome="not_applied")
    plain, noted = await bench.together(one(name="plain"), keyed("noted"))

    assert not isinstance(plain, BaseException)
    assert isinstance(noted, RecordsUnavailable)
    assert bench.cities.lines()[4:] == [["plain"]]


async def test_a_write_that_was_not_noted_is_not_open(bench: Bench) -> None:
    """A write that was not sent is not open. Updates are stored even without a key."""
    bench.ledger.trouble = InternalError("the disk is full", outcome="not_applied")
    fail(bench, "apply", UNANSWERED)
    plain, noted = await bench.together(one(name="plain"), keyed("noted"))
    identity = WriteIdentity(scope="u", fingerprint="u", worksheet=WORKSHEET, key_id="")
    one_update, other = await bench.together(
        Write.update(row=2, fields={"name": "Salem"}),
        Write.update(row=3, fields={"name": "Aspen"}, identity=identity),
    )

    assert isinstance(plain, WriteOutcomeUnknown)
    assert isinstance(noted, InternalError)
    assert isinstance(one_update, InternalError)
    assert isinstance(other, InternalError)
    assert bench.sheets.count("apply") == 1


async def test_a_create_without_a_key_touches_no_record(bench: Bench) -> None:
    """A create without a key costs no storage, and no other write waits for it."""
    for _ in range(2):
        settled = await bench.service.write(TARGET, Write.create(rows=({"name": "Salem"},)))
        assert not settled.is_replayed

    assert set(bench.ledger.calls) <= {"sending"}
    assert bench.sheets.count("apply") == 2


async def test_an_update_that_is_sent_anew_is_noted_anew(bench: Bench) -> None:
    """Before it is sent again, the record gets the fence of the new batch."""
    identity = WriteIdentity(scope="u", fingerprint="u", worksheet=WORKSHEET, key_id="")
    fences = []

    def look() -> None:
        fences.append(bench.ledger.entries["u"].fence)

    bench.sheets.before("apply", look, lambda: bench.clock.advance(2.0), UNANSWERED)
    bench.sheets.before("apply", look, nth=2)
    await bench.service.write(
        TARGET, Write.update(row=2, fields={"name": "Salem"}, identity=identity)
    )

    assert bench.sheets.count("apply") == 2
    assert bench.ledger.calls.count("sending") == 2
    assert len({fence.id for fence in fences if fence is not None}) == 2
    assert fences[1] in bench.fake.fences
