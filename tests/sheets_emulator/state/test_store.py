"""Spreadsheets of an emulator across restarts and resets."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sheets_emulator.app import EmulatorOptions, create_emulator
from sheets_emulator.grid.workbook import Workbook, new_sheet
from sheets_emulator.refusal import Refusal
from sheets_emulator.state.disk import DiskError, open_disk
from sheets_emulator.state.seed import SeedError
from sheets_emulator.state.store import Store
from tests.sheets_emulator.bench import Bench, values_path, write_seed
from tests.sheets_emulator.kept import created, everything, running_on
from tests.sheets_emulator.requests_of import dimension
from tests.sheets_emulator.steps import REQUESTS, STEPS, Step, take

RAW = {"valueInputOption": "RAW"}


def book(spreadsheet_id: str) -> Workbook:
    """A spreadsheet with this id and one new worksheet."""
    return Workbook(spreadsheet_id=spreadsheet_id, title="Book", sheets=[new_sheet()])


@settings(max_examples=25)
@given(st.lists(STEPS, max_size=12), st.lists(STEPS, max_size=4))
@example([("edit", request) for request in REQUESTS], [])
def test_a_restart_changes_no_answer(first: list[Step], second: list[Step]) -> None:
    """All reads have the same answers before and after each of two restarts."""
    with TemporaryDirectory() as folder:
        db = Path(folder) / "book.db"
        with running_on(db) as bench:
            spreadsheet_id = created(bench)
            for step in first:
                take(bench, spreadsheet_id, step)
            before = everything(bench)
        with running_on(db) as bench:
            after = everything(bench)
            for step in second:
                take(bench, spreadsheet_id, step)
            later = everything(bench)
        with running_on(db) as bench:
            last = everything(bench)

    assert after == before
    assert last == later


def test_ids_are_not_used_again_after_a_restart(tmp_path: Path) -> None:
    """After a restart, no new spreadsheet or worksheet gets an id that was used before."""
    add: dict[str, Any] = {"requests": [{"addSheet": {}}]}

    def new_ids(bench: Bench) -> tuple[str, int]:
        answer = bench.call("POST", f"/v4/spreadsheets/{first}:batchUpdate", add).json()
        return created(bench), answer["replies"][0]["addSheet"]["properties"]["sheetId"]

    with running_on(tmp_path / "book.db") as bench:
        first = created(bench)
        before = new_ids(bench)
        bench.emulator.service.store.discard(before[0])
    with running_on(tmp_path / "book.db"):
        pass  # a start without a write keeps the count of ids
    with running_on(tmp_path / "book.db") as bench:
        after = new_ids(bench)

    assert len({first, before[0], after[0]}) == 3
    assert before[1] != after[1]


def test_credentials_are_valid_after_a_restart(tmp_path: Path) -> None:
    """After a restart, an old assertion gets a token, but an old token gets 401."""
    with running_on(tmp_path / "book.db") as bench:
        assertion = bench.signed({})
        account, token = bench.account, bench.token
    with running_on(tmp_path / "book.db") as bench:
        granted = bench.post_assertion(assertion)
        bench.token = token
        refused = bench.call("GET", "/v4/spreadsheets/any")

        assert bench.account == account
        assert granted.status_code == 200
        assert refused.status_code == 401  # clients request a new token then


def test_the_file_takes_precedence_over_the_seed(tmp_path: Path) -> None:
    """A seed only adds spreadsheets that the file does not have."""
    seed = write_seed(tmp_path / "seed", {"one/A.csv": "seeded\n"})
    with running_on(tmp_path / "book.db", seed) as bench:
        bench.call("PUT", values_path("A1", "one"), {"values": [["written"]]}, **RAW)
    write_seed(seed, {"one/A.csv": "changed\n", "two/A.csv": "new\n"})
    with running_on(tmp_path / "book.db", seed) as bench:
        grids = bench.grid("A", "one"), bench.grid("A", "two")
    with running_on(tmp_path / "book.db") as bench:
        unseeded = bench.grid("A", "one"), bench.grid("A", "two")

    assert grids == unseeded == ([["written"]], [["new"]])


@pytest.mark.parametrize("is_restarted", [False, True], ids=["same process", "after a restart"])
def test_a_reset_restores_the_seed_in_memory_and_in_the_file(
    tmp_path: Path, is_restarted: bool
) -> None:
    """A reset restores seeded spreadsheets and deletes all others, also in the file."""
    db = tmp_path / "book.db"
    seed = write_seed(tmp_path / "seed", {"one/A.csv": "a\nb\nc\n", "two/A.csv": "x\n"})
    with running_on(db, seed) as bench:
        made = created(bench)
        fresh = everything(bench)
        bench.call("PUT", values_path("A2", "one"), {"values": [["B"], [""], ["D"]]}, **RAW)
        bench.emulator.service.store.discard("two")
        if not is_restarted:
            bench.client.post("/_emulator/reset")
    with running_on(db, seed) as bench:
        if is_restarted:
            bench.client.post("/_emulator/reset")
        after_reset = everything(bench)
        made_again = created(bench)
    with running_on(db) as bench:
        unknown = bench.call("GET", "/v4/spreadsheets/none")
        after_restart = everything(bench)
        bench.client.post("/_emulator/reset")
        unseeded = everything(bench)

    assert unknown.status_code == 404
    assert after_reset == {name: each for name, each in fresh.items() if not name.startswith(made)}
    assert made_again == made
    assert after_restart == after_reset | {
        name: each for name, each in fresh.items() if name.startswith(made)
    }
    assert unseeded == {}


def test_a_write_that_cannot_be_saved_is_a_500_without_effect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A write that the file cannot store gets 500 and has no effect. The log has no cell values."""
    with running_on(tmp_path / "book.db") as bench:
        spreadsheet_id = created(bench)
        before = everything(bench)
        bench.emulator.close()
        path = values_path("A1", spreadsheet_id)
        answers = [
            bench.call("PUT", path, {"values": [["secret"]]}, **RAW),
            bench.call("POST", "/v4/spreadsheets", {}),
            bench.client.post("/_emulator/reset"),
        ]
        after = everything(bench)
    with running_on(tmp_path / "book.db") as bench:
        kept = everything(bench)

    assert [answer.status_code for answer in answers] == [500] * 3
    assert answers[0].json()["error"]["status"] == "INTERNAL"
    assert before == after == kept
    assert "book.db: " in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param({}, None, id="fault without an effect"),
        pytest.param({"edit": {"requests": []}}, None, id="edit that is refused"),
        pytest.param({"apply": True}, [["x"]], id="fault with its effect"),
        pytest.param({"late_ms": 50}, [["x"]], id="effect that comes late"),
        pytest.param(
            {"edit": {"requests": [dimension("insertDimension", "ROWS", 0, 1)]}},
            [[], ["x"]],
            id="edit before an append",
        ),
    ],
)
def test_only_the_effect_of_a_fault_is_saved(
    tmp_path: Path, fault: dict[str, Any], expected: list[list[str]] | None
) -> None:
    """The file has the effect that a fault specifies. A call without an effect saves nothing."""
    seed = write_seed(tmp_path / "seed", {"book/A.csv": "\n"})
    with running_on(tmp_path / "book.db", seed) as bench:
        bench.fault({"call": "values.update", **fault})
        text = "A2" if "edit" in fault else "A1"
        bench.update(text, [["x"]])
        bench.clock.advance(1)
        before = everything(bench)
    with running_on(tmp_path / "book.db") as bench:
        after = everything(bench)
        values = bench.values("A").get("values")

    assert after == before
    assert values == expected


def test_an_invalid_seed_leaves_the_file_unlocked(tmp_path: Path) -> None:
    """After a start that failed because of the seed, the file can be opened again."""
    db = tmp_path / "book.db"
    open_disk(db).close()
    with pytest.raises(SeedError):
        create_emulator(EmulatorOptions(db=db, seed=tmp_path / "none"))

    open_disk(db).close()


def test_a_file_that_cannot_be_loaded_is_unlocked(tmp_path: Path) -> None:
    """A file with an invalid key can be opened again after the failed start."""
    db = tmp_path / "book.db"
    disk = open_disk(db)
    disk.remember("private_key", "none")
    disk.close()
    with pytest.raises(DiskError, match="key in this file is damaged"):
        create_emulator(EmulatorOptions(db=db))

    open_disk(db).close()


def test_an_unshared_spreadsheet_of_the_seed_gets_403(tmp_path: Path) -> None:
    """A spreadsheet that the seed marks as unshared gets 403, even if the file has cells of it."""
    seed = write_seed(tmp_path / "seed", {"book/A.csv": "x\n"})
    with running_on(tmp_path / "book.db", seed):
        pass
    unshared = write_seed(tmp_path / "unshared", {"book.unshared": ""})
    with running_on(tmp_path / "book.db", unshared) as bench:
        answer = bench.call("GET", "/v4/spreadsheets/book")

    assert answer.status_code == 403


def test_a_rehearsal_has_no_effect() -> None:
    """Changes in a copy made by `rehearsal` are neither in the store nor in the file."""
    store = Store(workbooks={"a": book("a")})
    rehearsal = store.rehearsal()
    rehearsal.keep(book("b"))
    rehearsal.discard("a")

    assert list(store.workbooks) == ["a"]
    assert store.created == 0
    assert rehearsal.disk is None


def test_a_deleted_spreadsheet_is_not_found() -> None:
    """A deleted spreadsheet gets 404, and the id is not used again."""
    store = Store()
    spreadsheet_id = store.new_id()
    store.keep(book(spreadsheet_id))
    store.discard(spreadsheet_id)
    with pytest.raises(Refusal, match="not found"):
        store.workbook(spreadsheet_id)
    with pytest.raises(Refusal, match="not found"):
        store.discard(spreadsheet_id)

    assert store.new_id() != spreadsheet_id


def test_a_new_id_is_never_one_of_the_seed() -> None:
    """`new_id` skips an id that a seeded spreadsheet already has."""
    taken = Store().new_id()

    assert Store(workbooks={taken: book(taken)}).new_id() != taken


def test_formulas_are_computed_once_for_each_version() -> None:
    """Formula results are cached until a write, a reset or the deletion of the spreadsheet."""
    store = Store(workbooks={"book": book("book"), "other": book("other")})
    first = store.results(store.workbook("book"))
    again = store.results(store.workbook("book"))
    other = store.results(store.workbook("other"))
    draft = store.draft("book")
    drafted = store.results(draft)
    store.keep(draft)
    written = store.results(store.workbook("book"))
    store.restore({"book": book("book")})
    restored = store.results(store.workbook("book"))
    store.discard("book")

    assert first is again
    assert drafted.workbook is draft
    assert len({id(each) for each in (first, other, drafted, written, restored)}) == 5
    assert store.computed == {}


def test_a_rehearsal_does_not_change_cached_formula_results() -> None:
    """A call on a copy made by `rehearsal` does not change the store's cached formula results."""
    store = Store(workbooks={"book": book("book")})
    known = store.results(store.workbook("book"))
    rehearsal = store.rehearsal()
    shared = rehearsal.results(rehearsal.workbook("book"))
    rehearsal.keep(rehearsal.draft("book"))
    tried = rehearsal.results(rehearsal.workbook("book"))

    assert shared is known
    assert tried is not known
    assert store.results(store.workbook("book")) is known
