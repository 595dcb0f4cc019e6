"""What becomes of the other writes of a group, whatever happens to one or to all that went."""

from gateway.errors import (
    InternalError,
    InvalidBody,
    PreconditionFailed,
    QuotaSpent,
    RowNotFound,
    WriteOutcomeUnknown,
)
from gateway.table.tag import IfMatch
from gateway.worksheets.writes import Create, Update, WriteIdentity
from tests.worksheets.conftest import TARGET, WORKSHEET, Bench, MakeBench

SPENT = QuotaSpent("spent", outcome="not_applied", retry_after_seconds=60)


def one(**fields: str | int | None) -> Create:
    return Create(rows=(fields,))


def keyed(name: str) -> Create:
    identity = WriteIdentity(
        scope=name, fingerprint=name, worksheet=WORKSHEET, key_id="", is_create=True
    )
    return Create(rows=({"name": name},), identity=identity)


async def test_an_invalid_create_is_told_so_though_the_others_failed(bench: Bench) -> None:
    """The error of those that were sent is theirs alone."""
    bench.sheets.before("append_rows", SPENT)
    wrong, right = await bench.together(one(colour="red"), one(name="a"))

    assert isinstance(wrong, InvalidBody)
    assert isinstance(right, QuotaSpent)


async def test_updates_that_were_not_sent_end_as_they_would_alone(bench: Bench) -> None:
    """Conditions, rows that are not there and unchanged rows do not share another one's failure."""
    bench.sheets.before("write_cells", SPENT)
    changed, stale, unchanged, missing = await bench.together(
        Update(row=2, fields={"name": "Salem"}),
        Update(row=3, fields={"name": "Aspen"}, condition=IfMatch(tags=frozenset({'"old"'}))),
        Update(row=4, fields={"name": "Austin"}),
        Update(row=5, fields={"name": "Nowhere"}),
    )

    assert isinstance(changed, QuotaSpent)
    assert isinstance(stale, PreconditionFailed)
    assert not isinstance(unchanged, BaseException)
    assert isinstance(missing, RowNotFound)


async def test_writes_without_a_key_do_not_need_the_ledger(bench: Bench) -> None:
    """Only the write that could not be noted is not sent."""
    bench.ledger.trouble = InternalError("the disk is full", outcome="not_applied")
    plain, noted = await bench.together(one(name="plain"), keyed("noted"))

    assert not isinstance(plain, BaseException)
    assert isinstance(noted, InternalError)
    assert bench.cities.lines()[4:] == [["plain"]]


async def test_a_grid_that_grew_for_a_failed_append_does_not_grow_again(
    make_bench: MakeBench,
) -> None:
    """The next append finds the room that the one before it made."""
    bench = make_bench([["name", "state"], ["Boston", "MA"], [None, "CO"]], rows=3)
    bench.sheets.before("append_rows", SPENT)
    first = (await bench.together(one(name="a")))[0]
    second = (await bench.together(one(name="b")))[0]

    assert isinstance(first, QuotaSpent)
    assert not isinstance(second, BaseException)
    assert bench.sheets.count("grow_grid") == 1


async def test_an_update_that_is_sent_again_is_noted_again(bench: Bench) -> None:
    """Its age counts from the last time that it was sent."""
    identity = WriteIdentity(
        scope="u", fingerprint="u", worksheet=WORKSHEET, key_id="", is_create=False
    )
    unanswered = WriteOutcomeUnknown("no answer", retry_after_seconds=185)
    bench.sheets.before("write_cells", unanswered)
    await bench.service.update_row(
        TARGET, Update(row=2, fields={"name": "Salem"}, identity=identity)
    )

    assert bench.sheets.count("write_cells") == 2
    assert bench.ledger.calls.count("sending") == 2
