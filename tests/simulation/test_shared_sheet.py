"""Two gateways and a script on one worksheet: no row is overwritten, moved or taken for another.

The long form is `python -m tests.simulation.shared_sheet --operations 20000`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from sheets_emulator.app import EmulatorOptions, create_emulator
from tests.simulation.fire.ledger import Change, Effect, Entry, Fields, UpdateEntry
from tests.simulation.fire.witness import SentBatch, Witness
from tests.simulation.repeats import run_until_met
from tests.simulation.shared_sheet.campaign import Outcome, Sharing, run
from tests.simulation.shared_sheet.clients import ConditionalUpdate
from tests.simulation.shared_sheet.defects import (
    Defect,
    guessing_numbers,
    ignoring_tags,
    overwriting,
)
from tests.simulation.shared_sheet.looks import Look, Sent
from tests.simulation.shared_sheet.sheet import TITLE
from tests.simulation.shared_sheet.verdicts import (
    ROWS_MOVED,
    judge_numbers,
    met,
    misreported,
    silent,
    unseen,
    wrongly_refused,
)

ONE: Fields = (("code", "id:1"),)
ONE_EDITED: Fields = (("code", "id:1"), ("note", "note:9"))
TWO: Fields = (("id", "id:2"),)
NUMBER = 3_000_000_000
LOOK = Look(4.0, 5.0)
QUICK = Sharing(operations=60, fault_share=0.0, latest_ms=0)


@dataclass(frozen=True, kw_only=True)
class Told:
    """A truth in which row 2 held these, each from a moment on."""

    effects: Sequence[Effect] = ()
    changes: Sequence[Change] = ()
    held: Sequence[tuple[float, Fields]] = ((0.0, ONE),)

    def contents_between(
        self, worksheet: str, row: int, since: float, until: float
    ) -> Sequence[Fields]:
        """What the row held."""
        ends = [*(begin for begin, _ in self.held[1:]), float("inf")]
        return [
            fields
            for (begin, fields), end in zip(self.held, ends, strict=True)
            if begin <= until and end > since
        ]


def changed(before: Fields, at: float = 6.0) -> Change:
    return Change(at=at, worksheet=TITLE, number=NUMBER, row=2, before=before)


def update(status: int = 200, *, shown: Fields = ()) -> ConditionalUpdate:
    """An update of row 2 that named the first record, asked for at 3 s and answered at 7 s."""
    return ConditionalUpdate(
        entry=UpdateEntry(
            worksheet=TITLE,
            row=2,
            number=NUMBER,
            outcome="created" if status == 200 else "not_applied",
            asked_at=3.0,
            answered_at=7.0,
        ),
        named=ONE,
        status=status,
        shown=shown,
    )


@pytest.mark.parametrize(
    ("before", "held", "kinds"),
    [
        pytest.param(ONE, [(0.0, ONE)], [], id="as named"),
        pytest.param(TWO, [(0.0, ONE), (5.5, TWO)], [], id="moved after the look"),
        pytest.param(TWO, [(0.0, ONE), (4.5, TWO)], [], id="moved during the look"),
        pytest.param(TWO, [(0.0, ONE), (3.5, TWO)], ["another record"], id="moved before it"),
        pytest.param(ONE_EDITED, [(0.0, ONE), (5.5, ONE_EDITED)], [], id="edited after the look"),
        pytest.param(
            ONE_EDITED, [(0.0, ONE), (3.5, ONE_EDITED)], ["another state"], id="edited before it"
        ),
    ],
)
def test_an_update_meets_the_state_that_it_names(
    before: Fields, held: Sequence[tuple[float, Fields]], kinds: list[str]
) -> None:
    """What was in the row before the look has to be noticed; what came after it cannot be."""
    truth = Told(changes=[changed(before)], held=held)

    found = met([update()], truth, lambda *_: Sent(5.1, LOOK))

    assert [each.is_as_named for each in found] == [before == ONE]
    assert [each.kind for each in unseen(found)] == kinds


@pytest.mark.parametrize(
    ("sent", "kinds"),
    [
        pytest.param(Sent(5.1, LOOK), [], id="fresh"),
        pytest.param(Sent(5.9, LOOK), ["old look"], id="fresh answer of a slow look"),
        pytest.param(Sent(8.0, LOOK), ["old look"], id="old"),
        pytest.param(Sent(5.1, None), ["old look"], id="none"),
    ],
)
def test_a_look_is_fresh(sent: Sent, kinds: list[str]) -> None:
    """An update that is sent long after its look, or without one, is a problem."""
    found = met([update()], Told(changes=[changed(ONE, at=9.0)]), lambda *_: sent)

    assert [each.kind for each in unseen(found)] == kinds


@pytest.mark.parametrize(
    ("before", "status", "kinds"),
    [
        pytest.param(ONE, 200, [], id="as named"),
        pytest.param(ONE_EDITED, 200, [], id="the same record"),
        pytest.param(TWO, 200, ["silent"], id="another record"),
        pytest.param(TWO, 409, [], id="another record, and told"),
        pytest.param(ONE, 409, ["answer"], id="told for nothing"),
    ],
)
def test_another_record_is_told(before: Fields, status: int, kinds: list[str]) -> None:
    """An update in another record says so, unless Google failed meanwhile."""
    made = replace(update(status), code=0 if status == 200 else ROWS_MOVED)
    found = met([made], Told(changes=[changed(before)]), lambda *_: Sent(5.1, LOOK))

    assert [each.kind for each in silent(found, lambda *_: False)] == kinds


def test_a_refused_update_needs_a_reason() -> None:
    """A 412 is true if the row was another at some moment between request and answer."""
    refused = [update(412)]

    assert [each.kind for each in wrongly_refused(refused, Told())] == ["false outcome"]
    assert [*wrongly_refused(refused, Told(held=[(0.0, ONE), (6.0, TWO)]))] == []
    assert [*wrongly_refused(refused, Told(held=[(0.0, TWO), (1.0, ONE)]))] != []
    assert [*wrongly_refused([update(200)], Told())] == []


@pytest.mark.parametrize(
    ("shown", "is_fine"),
    [((("note", f"note:{NUMBER}"),), True), ((("note", "note:1"),), False)],
    ids=["its own", "another's"],
)
def test_an_update_is_answered_with_what_it_wrote(shown: Fields, is_fine: bool) -> None:
    """Another note in the answer is a problem, unless Google failed meanwhile."""
    truth = Told(changes=[changed(ONE)])
    found = met([update(shown=shown)], truth, lambda *_: Sent(5.1, LOOK))

    assert ([*misreported(found, lambda *_: False)] == []) is is_fine
    assert [*misreported(found, lambda *_: True)] == []


@dataclass(frozen=True, kw_only=True)
class Case:
    """Where a row was created, what its answer said, and whether its batch was answered."""

    row: int
    place: int
    unseen: set[int] = field(default_factory=set)


@pytest.mark.parametrize(
    ("case", "figures"),
    [
        pytest.param(Case(row=3, place=3), (1, 0, 0), id="true"),
        pytest.param(Case(row=3, place=4), (0, 0, 1), id="false"),
        pytest.param(Case(row=3, place=4, unseen={1}), (0, 1, 0), id="looked for later"),
    ],
)
def test_row_numbers_are_those_of_the_commit(case: Case, figures: tuple[int, int, int]) -> None:
    """Only a row that no answer shows may have the number of a later look."""
    effect = Effect(at=5.0, batch=1, worksheet=TITLE, number=1, row=case.row, fields=ONE)
    entry = Entry(worksheet=TITLE, rows=(ONE,), outcome="created", places=(case.place,))

    found = judge_numbers([entry], Told(effects=[effect]), case.unseen)

    assert (found.at_commit, found.later, len(found.problems)) == figures


@pytest.mark.parametrize(
    ("row", "unseen"),
    [pytest.param(3, set(), id="shown"), pytest.param(2, {1}, id="above the answer's rows")],
)
def test_rows_outside_of_their_answer(tmp_path: Path, row: int, unseen: set[int]) -> None:
    """A row is looked for once more if it stands above the range that the answer shows."""
    witness = Witness(app=create_emulator(EmulatorOptions(seed=tmp_path)).app, patience_seconds=1.0)
    effect = Effect(at=5.0, batch=1, worksheet=TITLE, number=1, row=row, fields=ONE)
    witness.truth.effects.append(effect)
    body = rb"""{"values": ["id:1"], "responseRanges": ["'T'!1:1", "'T'!A3:ZZZ"]}"""
    witness.sent[7] = SentBatch(sent_at=4.0, body=body)

    assert witness.outside_answers() == unseen


def test_two_gateways_and_a_script(tmp_path: Path) -> None:
    """On sparse rows, with every fault, both gateways keep all rows and all conditions."""

    def happened(outcome: Outcome) -> bool:
        return (
            outcome.figures["moves of rows by the script"] > 100
            and outcome.figures["rows in batches without a good answer"] > 0
            and min(outcome.updates["created, 200"], outcome.updates["not_applied, 412"]) > 0
        )

    outcome = run_until_met(
        lambda seed, own: asyncio.run(run(own, Sharing(operations=160, seed=seed))),
        happened,
        tmp_path,
    )

    assert outcome.problems == (), str(outcome)
    assert outcome.figures["worksheets with fences of both gateways"] == 1
    assert happened(outcome), str(outcome)


BUSY = Sharing(operations=100, fault_share=0.03)


@pytest.mark.parametrize(
    "campaign",
    [
        pytest.param(replace(BUSY, slowest_look_ms=3000, look_share=0.2), id="slow looks"),
        pytest.param(replace(BUSY, trip_share=0.3), id="rows sorted on the way"),
        pytest.param(replace(BUSY, full_seconds=2.0), id="metadata that is full"),
    ],
)
async def test_two_gateways_where_more_happens(tmp_path: Path, campaign: Sharing) -> None:
    """Both gateways keep all rows and all conditions, or say that they met another record."""
    outcome = await run(tmp_path, campaign)

    assert outcome.problems == (), str(outcome)


@pytest.mark.parametrize(
    ("defect", "kinds"),
    [
        pytest.param(overwriting(), {"overwritten", "lost"}, id="overwriting"),
        pytest.param(guessing_numbers(), {"misplaced"}, id="guessing row numbers"),
        pytest.param(ignoring_tags(), {"another record", "another state"}, id="ignoring tags"),
    ],
)
async def test_planted_bugs_are_found(tmp_path: Path, defect: Defect, kinds: set[str]) -> None:
    """Planted bug: what a gateway does wrong among others shows as problems of the right sorts."""
    outcome = await run(tmp_path, QUICK, defect)

    assert outcome.kinds & kinds == kinds, str(outcome)
