"""Several service accounts: keys, projects, and users on whose behalf accounts act."""

from dataclasses import replace
from pathlib import Path

import pytest

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import NO_CALLS, Bench, bench_of_account, values_path
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.kept import running_on

DATA = values_path("Data")
USER = "ada@example.com"
THREE = EmulatorOptions(projects=("emulator", "emulator", "other"))


@pytest.fixture
def accounts(build: BenchBuilder, tmp_path: Path) -> tuple[Bench, Bench, Bench]:
    """Clients of three accounts of an emulator. The third account is in another project."""
    first = build({"Data": "x\n"}, THREE)
    second, third = (bench_of_account(first, number, tmp_path) for number in (2, 3))
    return first, second, third


def statuses(benches: tuple[Bench, ...]) -> list[int]:
    """The status of a read by each account."""
    return [bench.call("GET", DATA).status_code for bench in benches]


def control(bench: Bench, path: str) -> int:
    """The status of a POST to this control path, such as `reset`."""
    return bench.client.post(f"/_emulator/{path}").status_code


def acting_as(bench: Bench, user: str) -> Bench:
    """The client of an account that acts on behalf of a user."""
    return replace(bench, token=bench.token_for(sub=user))


def test_every_account_has_its_own_key_file(accounts: tuple[Bench, Bench, Bench]) -> None:
    """The e-mail address, key and client id in a key file differ between accounts."""
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


def test_key_of_another_account_is_not_accepted(accounts: tuple[Bench, Bench, Bench]) -> None:
    """An assertion for one account that is signed with the key of another gets 400."""
    first, second, _ = accounts
    answer = second.ask_token(iss=first.account["client_email"])

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


def test_all_keys_are_valid_after_a_restart(tmp_path: Path) -> None:
    """After a restart, assertions of two accounts get tokens, each signed with its own key."""
    options = EmulatorOptions(projects=("emulator", "other"))
    with running_on(tmp_path / "book.db", options=options) as bench:
        both = (bench, bench_of_account(bench, 2, tmp_path))
        assertions = [each.signed({}) for each in both]
    with running_on(tmp_path / "book.db", options=options) as bench:
        answers = [bench.post_assertion(each) for each in assertions]

    assert [each.status_code for each in answers] == [200, 200]
    assert both[0].account["private_key"] != both[1].account["private_key"]


def test_revoked_account_loses_its_tokens_and_gets_no_new_one(
    accounts: tuple[Bench, Bench, Bench],
) -> None:
    """A revoked account gets 401, also for users, and no new token. Other accounts continue."""
    first, second, _ = accounts
    as_user = acting_as(second, USER)
    status = control(second, f"accounts/{second.account['client_email']}/revoke")
    answer = second.ask_token()

    assert status == 200
    assert statuses((first, second, as_user)) == [200, 401, 401]
    assert answer.status_code == 400
    assert answer.json() == {
        "error": "invalid_grant",
        "error_description": "Invalid JWT Signature.",
    }
    assert first.ask_token().status_code == 200


def test_restored_account_gets_tokens_again(accounts: tuple[Bench, Bench, Bench]) -> None:
    """A restored account gets new tokens. Tokens from before the revocation stay invalid."""
    _, second, _ = accounts
    for verb in ("revoke", "restore"):
        control(second, f"accounts/{second.account['client_email']}/{verb}")

    assert statuses((second, replace(second, token=second.token_for()))) == [401, 200]


def test_disabled_api_gives_403_to_all_accounts_of_the_project(
    accounts: tuple[Bench, Bench, Bench],
) -> None:
    """All accounts of the project get 403 without effect. Drive and other projects continue."""
    first, second, third = accounts
    control(first, "projects/emulator/disable")
    refused = [*statuses((first, second)), second.append("Data", [["y"]]).status_code]

    assert refused == [403, 403, 403]
    assert statuses((third,)) == [200]
    assert third.grid("Data") == [["x"]]
    assert second.call("GET", "/drive/v3/files/book").status_code == 200
    assert second.ask_token().status_code == 200


def test_enabled_api_accepts_old_tokens(accounts: tuple[Bench, Bench, Bench]) -> None:
    """After the API is disabled and enabled again, old tokens are still valid."""
    for verb in ("disable", "enable"):
        control(accounts[0], f"projects/emulator/{verb}")

    assert statuses(accounts) == [200, 200, 200]


def test_calls_to_a_disabled_api_are_only_counted_as_refused(
    accounts: tuple[Bench, Bench, Bench],
) -> None:
    """In the statistics, calls to a disabled API count as refused, and for no limit."""
    _, _, third = accounts
    control(third, "projects/other/disable")
    error = third.call("GET", DATA).json()["error"]
    stats = third.stats()
    usage = stats["projects"]["other"]["accounts"][third.account["client_email"]]

    assert error["details"][0]["reason"] == "SERVICE_DISABLED"
    assert error["details"][0]["metadata"]["consumer"] != "projects/123456789012"
    assert (stats["calls"], stats["refused"]) == ({}, 1)
    assert (usage["reads"], usage["refused"], usage["peak_reads"]) == (0, 1, 0)


def test_stats_count_per_account_and_project(accounts: tuple[Bench, Bench, Bench]) -> None:
    """Reads and writes are counted per account. A project has the sums of its accounts."""
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


def test_limit_of_a_user_counts_calls_on_behalf_of_the_user(
    build: BenchBuilder, tmp_path: Path
) -> None:
    """A call on behalf of a user counts for the user's limit, not for the account's limit."""
    options = replace(THREE, reads_per_minute=1)
    first = build({"Data": "x\n"}, options)
    second, third = (bench_of_account(first, number, tmp_path) for number in (2, 3))
    as_user = tuple(acting_as(each, USER) for each in (first, second, third))
    itself = acting_as(first, first.account["client_email"])

    assert statuses(as_user) == [200, 429, 200]
    assert statuses((acting_as(first, "bob@example.com"), itself, first)) == [200, 200, 429]


def test_user_of_an_account_cannot_write_protected_cells(
    accounts: tuple[Bench, Bench, Bench],
) -> None:
    """A user on whose behalf an account acts cannot write cells that the account protected."""
    first, _, _ = accounts
    first.edit({"addProtectedRange": {"protectedRange": {"range": {"sheetId": 0}}}})

    assert acting_as(first, USER).update("Data!A1", [["y"]]).status_code == 400
    assert first.update("Data!A1", [["y"]]).status_code == 200


def test_reset_restores_accounts_and_projects(accounts: tuple[Bench, Bench, Bench]) -> None:
    """A reset lets a revoked account get new tokens, and enables the API of a project."""
    first, second, third = accounts
    control(first, f"accounts/{first.account['client_email']}/revoke")
    control(first, "projects/emulator/disable")
    second.call("GET", DATA)
    control(first, "reset")
    stats = first.stats()

    assert stats == NO_CALLS
    assert statuses((first, second, third)) == [401, 200, 200]
    assert first.ask_token().status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "accounts/nobody@emulator.iam.gserviceaccount.com/revoke",
        "accounts/nobody@emulator.iam.gserviceaccount.com/restore",
        "projects/none/disable",
        "projects/none/enable",
    ],
)
def test_unknown_accounts_and_projects_are_not_found(bench: Bench, path: str) -> None:
    """An unknown account or project in a control path gets 404."""
    assert control(bench, path) == 404
