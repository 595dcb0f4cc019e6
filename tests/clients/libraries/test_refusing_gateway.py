"""Cases of errors of the real gateway that take seconds: rate limits and unknown outcomes."""

from collections.abc import Sequence

from tests.clients.libraries.case import Case, call, case, complaints, tagged, with_its_senders
from tests.clients.libraries.conftest import SenderOf, StageOf
from tests.clients.libraries.failures import create

CASES: Sequence[Case] = [
    *[
        case(
            "a client over its rate waits, and then all its rows are written once",
            senders=(sender,),
            settings={"plans.paid.requests_per_minute": rate},  # each case has its own gateway
            waits_really=True,
            steps=[
                (call("create", {"name": str(number)}), tagged(12 + number, {"name": str(number)}))
                for number in range(14)
            ],
            changes={f"Cities!{12 + number}.1": str(number) for number in range(14)},
        )
        for sender, rate in (("async", 60), ("typescript", 61))
    ],
    *[
        create(
            f"an unknown outcome is resolved by the key: {name}",
            senders=senders,
            settings={"google.read_timeout_seconds": 1.0},
            google=[
                {"call": "spreadsheets.batchUpdate", "apply": is_done, "status": 503},
                {"call": "developerMetadata.search", "times": 999, "status": 503},
            ],
            waits=[10],
        )
        for name, is_done, senders in (
            ("applied", True, ("async", "typescript")),
            ("not applied", False, ("sync",)),
        )
    ],
]


@with_its_senders(CASES)
def test_a_case(case: Case, sender: str, sender_of: SenderOf, stage_of: StageOf) -> None:
    """Answers, errors, cells, requests and waits of a case are as expected."""
    assert complaints(case, sender_of(sender), stage_of(case.settings)) == []
