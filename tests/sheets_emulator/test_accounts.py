"""Several service accounts: their keys, their projects, and users on whose behalf they act."""

from dataclasses import replace
from pathlib import Path

import pytest

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import Bench, bench_of_account, values_path
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.kept import running_on

DATA = values_path("Data")
USER = "ada@example.com"
THREE = EmulatorOptions(projects=("emulator", "emulator", "other"))


@pytest.fixture
def accounts(build: BenchBuilder, tmp_path: Path) -> tuple[Bench, Bench, Bench]:
    """Benches of three accounts of an emulator; the third one is in another project."""
    first = build({"Data": "x\n"}, THREE)
    second, third = (bench_of_account(first, number, tmp_path) for number in (2, 3))
    return first, second, third


def statuses(benches: tuple[Bench, ...]) -> list[int]:
    """Statuses of a read by each account."""
    return [bench.call("GET", DATA).status_code for bench in benches]


def acting_as(bench: Bench, user: str) -> Bench:
    """The bench of an account that acts on behalf of a user."""
    return replace(bench, token=bench.token_for(sub=user))


def test_every_account_has_a_key_file_of_its_own(accounts: tuple[Bench, Bench, Bench]) -> None:
    """E-mail address, key, project and IDs; the first account's are those of an only account."""
    files = [bench.account for bench in accounts]

    assert [(each["client_email"], each["project_id"]) for each in files] == [
        ("gateway@emulator.iam.gserviceaccount.com", "emulator"),
        ("gateway-2@emulator.iam.gserviceaccount.com", "emulator"),
        ("gateway-3@other.iam.gserviceaccount.com", "other"),
    ]
    assert [(each["private_key_id"], each["client_id"]) for each in files] == [
        ("emulator-key", "100000000000000000001"),
        ("emulator-key-2", "100000000000000000002"),
        ("emulator-key-3", "100000000000000000003"),
    ]
    assert len({each["private_key"] for each in files}) == 3
    assert statuses(accounts) == [200, 200, 200]


def test_key_of_another_account_signs_nothing(accounts: tuple[Bench, Bench, Bench]) -> None:
    """An account's assertion needs its own key."""
    first, second, _ = accounts
    answer = second.ask_token(iss=first.account["client_email"])

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


def test_all_keys_outlive_the_process(tmp_path: Path) -> None:
    """Assertions of both accounts, each with its key, get tokens after a restart."""
    options = EmulatorOptions(projects=("emulator", "other"))
    with running_on(tmp_path / "book.db", options=options) as bench:
        both = (bench, bench_of_account(bench, 2, tmp_path))
        assertions = [each.signed({}) for each in both]
    with running_on(tmp_path / "book.db", options=options) as bench:
        answers = [bench.post_assertion(each) for each in assertions]

    assert [each.status_code for each in answers] == [200, 200]
    assert both[0].account["private_key"] != both[1].account["private_key"]


def test_stats_count_per_account_and_project(accounts: tuple[Bench, Bench, Bench]) -> None:
    """A project has the sum of its accounts."""
    first, second, third = accounts
    statuses((first, second, second, third))
    second.append("Data", [["y"]])
    stats = first.stats()
    counts = {
        project: (
            (usage["reads"], usage["writes"]),
            {email: (each["reads"], each["writes"]) for email, each in usage["accounts"].items()},
        )
        for project, usage in stats["projects"].items()
    }

    assert (stats["reads"], stats["writes"]) == (4, 1)
    assert counts == {
        "emulator": (
            (3, 1),
            {first.account["client_email"]: (1, 0), second.account["client_email"]: (2, 1)},
        ),
        "other": ((1, 0), {third.account["client_email"]: (1, 0)}),
    }


def test_user_on_whose_behalf_an_account_acts_has_the_limit(
    build: BenchBuilder, tmp_path: Path
) -> None:
    """In each project; the account's own calls, or with itself as the user, are apart."""
    options = replace(THREE, reads_per_minute=1)
    first = build({"Data": "x\n"}, options)
    second, third = (bench_of_account(first, number, tmp_path) for number in (2, 3))
    as_user = tuple(acting_as(each, USER) for each in (first, second, third))
    itself = acting_as(first, first.account["client_email"])

    assert statuses(as_user) == [200, 429, 200]
    assert statuses((acting_as(first, "bob@example.com"), itself, first)) == [200, 200, 429]


def test_user_is_protected_against_like_anybody(accounts: tuple[Bench, Bench, Bench]) -> None:
    """Cells that an account protected are not for the user on whose behalf it acts."""
    first, _, _ = accounts
    first.edit({"addProtectedRange": {"protectedRange": {"range": {"sheetId": 0}}}})

    assert acting_as(first, USER).update("Data!A1", [["y"]]).status_code == 400
    assert first.update("Data!A1", [["y"]]).status_code == 200
