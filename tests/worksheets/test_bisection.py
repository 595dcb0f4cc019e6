"""Finding the write that made Google refuse a whole group, with few tries."""

from collections.abc import Mapping, Sequence

import pytest

from gateway.errors import (
    GatewayError,
    ProtectedCells,
    QuotaSpent,
    UpstreamError,
    UpstreamRefusal,
    WriteOutcomeUnknown,
)
from gateway.worksheets.bisection import MAX_EXTRA_WRITES, separate
from gateway.worksheets.writes import Outcome

REFUSAL = UpstreamRefusal("the first one")
FIFTY = range(1, 51)
SPENT = QuotaSpent("x", outcome="not_applied")


class Google:
    """Takes groups of numbers, unless one of them is bad."""

    def __init__(self, *bad: int) -> None:
        self.bad = set(bad)
        self.sent: list[list[int]] = []
        self.failures: dict[int, GatewayError] = {}
        """Other errors, by the number of the try, from 1."""

    async def send(self, parts: Sequence[int]) -> Mapping[int, Outcome]:
        self.sent.append(list(parts))
        if len(self.sent) in self.failures:
            raise self.failures[len(self.sent)]
        if self.bad & set(parts):
            raise UpstreamRefusal("again")
        return dict.fromkeys(parts, ())

    @property
    def written(self) -> list[int]:
        """What was taken, each as often as it was."""
        return sorted(part for parts in self.sent if not self.bad & set(parts) for part in parts)


def alike(parts: Sequence[int]) -> dict[int, Sequence[object]]:
    """Parts of which none looks odd."""
    return {part: [part] for part in parts}


async def refused(
    google: Google, parts: Mapping[int, Sequence[object]], *, tries: int = MAX_EXTRA_WRITES
) -> set[int]:
    """The parts that had the refusal for an outcome; all others were written, once."""
    outcomes = await separate(parts, google.send, REFUSAL, tries=tries)
    left = {part for part, outcome in outcomes.items() if isinstance(outcome, UpstreamError)}

    assert list(outcomes) == list(parts)
    assert google.written == sorted(set(parts) - left)
    assert len(google.sent) <= tries
    return left


@pytest.mark.parametrize("bad", [1, 25, 50])
async def test_the_odd_one_is_left_out_first(bad: int) -> None:
    """If the one unlike all others is to blame, one more write is enough for them."""
    google = Google(bad)

    assert await refused(google, {**alike(FIFTY), bad: ["=BOOM()"]}) == {bad}
    assert google.sent == [[number for number in FIFTY if number != bad]]


@pytest.mark.parametrize("bad", range(1, 9))
async def test_one_of_eight_is_found(bad: int) -> None:
    """Four tries find any one of eight, and the other seven are written."""
    assert await refused(Google(bad), alike(range(1, 9))) == {bad}


@pytest.mark.parametrize("bad", FIFTY)
async def test_one_among_many_takes_few_with_it(bad: int) -> None:
    """Where four tries do not tell, those that were not told apart are refused with it."""
    left = await refused(Google(bad), alike(FIFTY))

    assert bad in left
    assert len(left) <= 7


@pytest.mark.parametrize("bad", FIFTY)
async def test_an_odd_one_that_is_not_to_blame(bad: int) -> None:
    """A wrong suspicion costs a try; the one suspected is written all the same."""
    odd = 50 if bad != 50 else 1

    left = await refused(Google(bad), {**alike(FIFTY), odd: ["=BOOM()"]})

    assert odd not in left
    assert len(left) <= 13


@pytest.mark.parametrize("bad", [{1, 2}, {1, 50}, {49, 50}, {7, 8, 9}, set(FIFTY)], ids=str)
@pytest.mark.parametrize("odd", [None, 1, 50])
async def test_several_bad_ones(bad: set[int], odd: int | None) -> None:
    """None of them is ever written, and nobody is written twice."""
    parts = alike(FIFTY) if odd is None else {**alike(FIFTY), odd: ["x y"]}

    assert bad <= await refused(Google(*bad), parts)


@pytest.mark.parametrize(
    ("tries", "left"),
    [(0, 8), (1, 8), (2, 4), (3, 2), (4, 1)],
)
async def test_no_more_tries_than_there_are(tries: int, left: int) -> None:
    """The last try is for those that surely are not to blame."""
    assert len(await refused(Google(3), alike(range(1, 9)), tries=tries)) == left


async def test_tries_that_are_not_needed_are_not_made() -> None:
    """Once nobody but the culprit is left nothing more is sent."""
    google = Google(2)

    assert await refused(google, alike([1, 2])) == {2}
    assert google.sent == [[1]]


async def test_one_alone_is_to_blame() -> None:
    """A group of one needs no try."""
    google = Google(1)

    assert await refused(google, alike([1])) == {1}
    assert google.sent == []


async def test_each_try_keeps_the_order_of_the_group() -> None:
    """Whoever is suspected, rows are written in the order of their requests."""
    google = Google(4)

    await refused(google, {**alike(range(1, 9)), 1: ["a"]})

    assert all(parts == sorted(parts) for parts in google.sent)


async def test_another_refusal_that_was_not_applied_ends_the_search() -> None:
    """Where Google takes nothing more all that is left may come back, as its error says."""
    google = Google(3)
    google.failures[2] = SPENT

    outcomes = await separate(alike(range(1, 9)), google.send, REFUSAL, tries=MAX_EXTRA_WRITES)

    assert len(google.sent) == 2
    assert set(outcomes.values()) == {SPENT}


async def test_an_open_outcome_is_of_those_that_were_sent() -> None:
    """What became of a try may stay unknown; what was not in it was surely not applied."""
    google = Google(3)
    unknown = WriteOutcomeUnknown("?")
    google.failures[2] = unknown

    outcomes = await separate(alike(range(1, 9)), google.send, REFUSAL, tries=MAX_EXTRA_WRITES)

    sent = set(google.sent[1])
    assert {part for part, outcome in outcomes.items() if outcome is unknown} == sent
    assert {part for part, outcome in outcomes.items() if isinstance(outcome, UpstreamError)} == (
        set(range(1, 9)) - sent
    )


async def test_what_was_written_stays_so() -> None:
    """An error after a part of the group was written is not told to that part."""
    google = Google(7)
    google.failures[2] = SPENT

    outcomes = await separate(alike(range(1, 9)), google.send, REFUSAL, tries=MAX_EXTRA_WRITES)

    assert google.sent[0] == [1, 2, 3, 4]
    assert [outcomes[part] for part in range(1, 9)] == [()] * 4 + [SPENT] * 4


@pytest.mark.parametrize(
    ("writes", "odd"),
    [
        pytest.param([["a", 1], [True, 1], ["b", 22]], 1, id="kind"),
        pytest.param([["", 1], ["Oslo", 2], ["Bern", 3]], 0, id="blank"),
        pytest.param([["Oslo"], ["Bern"], ["Bern", "CH"], ["Rom"]], 2, id="more values"),
        pytest.param([["Oslo 7"], ["=BOOM()"], ["Bern 12"]], 1, id="signs"),
        pytest.param([["a@b.c"], ["d@e.f"], ["nobody"]], 2, id="form"),
        pytest.param([[["a"], ["b"]], [["a"]], [["c"]]], 0, id="more rows"),
    ],
)
async def test_what_is_unlike_the_others_is_suspected(
    writes: Sequence[Sequence[object]], odd: int
) -> None:
    """Words and numbers of whatever length are alike; everything else is not."""
    google = Google(odd)

    await refused(google, dict(enumerate(writes)))

    assert google.sent == [[number for number in range(len(writes)) if number != odd]]


async def test_innocent_ones_are_told_to_come_again() -> None:
    """Whoever may be innocent is refused with an error that a retry mends."""
    outcomes = await separate(alike(range(1, 9)), Google(*range(1, 9)).send, REFUSAL, tries=1)

    assert {type(outcome) for outcome in outcomes.values()} == {UpstreamError}
    assert all(isinstance(each, UpstreamError) and each.retryable for each in outcomes.values())


async def test_a_write_to_other_columns_is_not_told_that_cells_are_protected() -> None:
    """Where the tries do not suffice, only writes to the same columns share such an error."""
    protected = ProtectedCells("protected", outcome="not_applied")
    parts: dict[str, Sequence[object]] = {f"a{n}": ["x"] for n in range(3)}
    parts |= {f"b{n}": [None, "y"] for n in range(3)}

    async def refuse(_: Sequence[str]) -> Mapping[str, Outcome]:
        raise UpstreamRefusal("protected")

    mixed = await separate(parts, refuse, protected, tries=2)
    alike = await separate({f"b{n}": [None, "y"] for n in range(3)}, refuse, protected, tries=2)

    assert {type(error) for error in mixed.values()} == {UpstreamError}
    assert set(alike.values()) == {protected}
