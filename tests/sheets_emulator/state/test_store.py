"""Contents of an emulator across restarts."""

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
    return Workbook(spreadsheet_id=spreadsheet_id, title="Book", sheets=[new_sheet()])


@settings(max_examples=25)
@given(st.lists(STEPS, max_size=12), st.lists(STEPS, max_size=4))
@example([("edit", request) for request in REQUESTS], [])
def test_a_restart_changes_no_answer(first: list[Step], second: list[Step]) -> None:
    """All that can be read is the same after a restart, and after what is written then."""
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


def test_ids_go_on_after_a_restart(tmp_path: Path) -> None:
    """No new spreadsheet or worksheet gets the id of one that there was before."""
    add: dict[str, Any] = {"requests": [{"addSheet": {}}]}

    def new_ids(bench: Bench) -> tuple[str, int]:
        answer = bench.call("POST", f"/v4/spreadsheets/{first}:batchUpdate", add).json()
        return created(bench), answer["replies"][0]["addSheet"]["properties"]["sheetId"]

    with running_on(tmp_path / "book.db") as bench:
        first = created(bench)
        before = new_ids(bench)
        bench.emulator.service.store.discard(before[0])
    with running_on(tmp_path / "book.db"):
        pass  # a start without a write loses no count
    with running_on(tmp_path / "book.db") as bench:
        after = new_ids(bench)

    assert len({first, before[0], after[0]}) == 3
    assert before[1] != after[1]


def test_credentials_outlive_the_process(tmp_path: Path) -> None:
    """An assertion signed with the key of the first start gets a token after a restart."""
    with running_on(tmp_path / "book.db") as bench:
        assertion = bench.signed({})
        account, token = bench.account, bench.token
    with running_on(tmp_path / "book.db") as bench:
        granted = bench.post_assertion(assertion)
        bench.token = token
        refused = bench.call("GET", "/v4/spreadsheets/any")

        assert bench.account == account
        assert granted.status_code == 200
        assert refused.status_code == 401  # clients ask for a new one then


def test_the_file_wins_over_the_seed(tmp_path: Path) -> None:
    """Of the seed the file takes in what it lacks; what it has is as it was left."""
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
def test_a_reset_goes_back_to_the_seed_for_good(tmp_path: Path, is_restarted: bool) -> None:
    """Seeded spreadsheets are as seeded, the others are gone: in the file, too."""
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


def test_a_write_that_cannot_be_kept_is_a_500_without_effect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the file nor what is read afterwards has any of it; the log says why, no cell."""
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
def test_faults_keep_what_took_effect_and_no_more(
    tmp_path: Path, fault: dict[str, Any], expected: list[list[str]] | None
) -> None:
    """A call that is only tried leaves no trace in the file."""
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


def test_a_seed_that_cannot_be_used_gives_the_file_back(tmp_path: Path) -> None:
    """A start that fails leaves no lock behind."""
    db = tmp_path / "book.db"
    open_disk(db).close()
    with pytest.raises(SeedError):
        create_emulator(EmulatorOptions(db=db, seed=tmp_path / "none"))

    open_disk(db).close()


def test_a_file_that_cannot_be_loaded_is_given_back(tmp_path: Path) -> None:
    """A start that fails on what the file keeps leaves no lock behind."""
    db = tmp_path / "book.db"
    disk = open_disk(db)
    disk.remember("private_key", "none")
    disk.close()
    with pytest.raises(DiskError, match="key cannot be read"):
        create_emulator(EmulatorOptions(db=db))

    open_disk(db).close()


def test_an_unshared_spreadsheet_stays_as_the_seed_says(tmp_path: Path) -> None:
    """403 while the seed says so, independent of the file."""
    seed = write_seed(tmp_path / "seed", {"book/A.csv": "x\n"})
    with running_on(tmp_path / "book.db", seed):
        pass
    unshared = write_seed(tmp_path / "unshared", {"book.unshared": ""})
    with running_on(tmp_path / "book.db", unshared) as bench:
        answer = bench.call("GET", "/v4/spreadsheets/book")

    assert answer.status_code == 403


def test_a_rehearsal_has_no_effect() -> None:
    store = Store(workbooks={"a": book("a")})
    rehearsal = store.rehearsal()
    rehearsal.keep(book("b"))
    rehearsal.discard("a")

    assert list(store.workbooks) == ["a"]
    assert store.created == 0
    assert rehearsal.disk is None


def test_a_discarded_spreadsheet_is_not_there_any_more() -> None:
    """It is 404 from then on, and its id is not given again."""
    store = Store()
    spreadsheet_id = store.new_id()
    store.keep(book(spreadsheet_id))
    store.discard(spreadsheet_id)
    with pytest.raises(Refusal, match="not found"):
        store.workbook(spreadsheet_id)
    with pytest.raises(Refusal, match="not found"):
        store.discard(spreadsheet_id)

    assert store.new_id() != spreadsheet_id


def test_no_given_id_is_taken() -> None:
    """An id that a seeded spreadsheet has is ignored."""
    taken = Store().new_id()

    assert Store(workbooks={taken: book(taken)}).new_id() != taken


def test_formulas_are_computed_once_for_each_version() -> None:
    """Reads share what was computed, until a write, a reset or the end of the spreadsheet."""
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


def test_what_a_rehearsal_computes_is_not_the_stores() -> None:
    """A call that is only tried leaves the formulas of the real spreadsheet known."""
    store = Store(workbooks={"book": book("book")})
    known = store.results(store.workbook("book"))
    rehearsal = store.rehearsal()
    shared = rehearsal.results(rehearsal.workbook("book"))
    rehearsal.keep(rehearsal.draft("book"))
    tried = rehearsal.results(rehearsal.workbook("book"))

    assert shared is known
    assert tried is not known
    assert store.results(store.workbook("book")) is known
