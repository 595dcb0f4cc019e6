"""Choice of the account for a call: by access to the spreadsheet, quota, and Google's refusals."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from gateway.errors import (
    GatewayError,
    QuotaSpent,
    SpreadsheetNotFound,
    SpreadsheetNotShared,
    UpstreamAuth,
)
from gateway.google.calls import GoogleSheets
from gateway.google.pipeline import (
    LACKING_SECONDS,
    REST_SECONDS,
    Account,
    Accounts,
    Breaker,
    Pipeline,
    Retries,
)
from gateway.google.quota import Quota, open_budget, open_quota
from gateway.google.sheets import Fence, Values
from gateway.settings.model import GoogleSettings
from tests.fakes import BOOK, FakeSheets
from tests.google.timers import ManualTimers
from tests.stand_in import StandIn

NOT_SHARED = SpreadsheetNotShared("The spreadsheet is not shared.")
REFUSED = UpstreamAuth("Google refused the account.", outcome="not_applied")
BURST = 6
A_MINUTE = 60


class GoogleAs(FakeSheets):
    """Google as one account sees it; reads raise `refusal`, and writes raise `write_refusal`."""

    def __init__(self, log: list[str], name: str) -> None:
        super().__init__()
        self.add("T", [["a"], [1]])
        self._log = log
        self._name = name
        self.refusal: GatewayError | None = None
        self.write_refusal: GatewayError | None = None

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> list[Values]:
        await asyncio.sleep(0)
        self._log.append(self._name)
        if self.refusal is not None:
            raise self.refusal
        return []

    async def put_fence(
        self, spreadsheet: str, *fences: Fence, forgotten: Sequence[int] = ()
    ) -> None:
        await asyncio.sleep(0)
        self._log.append(self._name)
        refusal = self.write_refusal or self.refusal
        if refusal is not None:
            raise refusal


@dataclass
class Scene:
    """Accounts on a manual clock; `log` has the account of each call that reached Google."""

    names: tuple[str, ...] = ("a", "b", "c")
    max_waiting_seconds: float = 0.0
    project: Quota | None = None
    timers: ManualTimers = field(default_factory=ManualTimers)
    log: list[str] = field(default_factory=list)
    rested: list[tuple[str, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.google = {name: GoogleAs(self.log, name) for name in self.names}
        settings = GoogleSettings(max_waiting_seconds=self.max_waiting_seconds)
        clock = self.timers.clock
        self.accounts = Accounts(
            [
                Account(
                    name=name,
                    make=StandIn(self.google[name]).make,
                    budget=open_budget(
                        settings, clock=clock, set_timer=self.timers, project=self.project
                    ),
                )
                for name in self.names
            ],
            clock=clock,
            rested=lambda name, is_refused: self.rested.append((name, is_refused)),
        )
        self.pipeline = Pipeline(
            self.accounts,
            breaker=Breaker(clock=clock),
            retries=Retries(),
            turn_seconds=0.0,
            clock=clock,
        )
        self.sheets = GoogleSheets(self.pipeline.send)

    def not_shared(self, *names: str) -> None:
        for name in names:
            self.google[name].refusal = NOT_SHARED

    async def read(self, spreadsheet: str = BOOK) -> list[str]:
        """Return the accounts that one read used, in order."""
        before = len(self.log)
        await self.sheets.read_ranges(spreadsheet, ["A1"])
        return self.log[before:]

    async def write(self, spreadsheet: str = BOOK) -> list[str]:
        before = len(self.log)
        await self.sheets.put_fence(spreadsheet, Fence.random("k"))
        return self.log[before:]

    async def reads(self, count: int) -> Counter[str]:
        """Return the number of reads that each account received of `count` concurrent reads."""
        before = len(self.log)
        calls = (self.sheets.read_ranges(BOOK, ["A1"]) for _ in range(count))
        await asyncio.gather(*calls, return_exceptions=True)
        return Counter(self.log[before:])


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_three_accounts_have_three_times_the_quota(scene: Scene) -> None:
    """Reads of one spreadsheet use the quota of every account that has access."""
    for _ in range(len(scene.names)):  # accounts learn their access when quota is short
        await scene.reads(A_MINUTE)
        scene.timers.clock.advance(A_MINUTE)

    assert await scene.reads(A_MINUTE) == dict.fromkeys(scene.names, BURST)


async def test_an_account_without_access_is_not_used_for_an_hour(scene: Scene) -> None:
    """A read tries an account without access again only after `LACKING_SECONDS`."""
    scene.not_shared("a", "c")

    assert await scene.read() == ["a", "b"]
    assert await scene.reads(A_MINUTE) == {"b": BURST - 1, "c": 1}
    scene.timers.clock.advance(A_MINUTE)
    assert await scene.reads(A_MINUTE) == {"b": BURST}
    scene.timers.clock.advance(LACKING_SECONDS)
    assert await scene.reads(A_MINUTE) == {"a": 1, "b": BURST, "c": 1}


async def test_reads_use_the_account_with_most_quota(scene: Scene) -> None:
    """Each read uses the account with the most quota left."""
    for _ in range(3):
        await scene.reads(A_MINUTE)
        scene.timers.clock.advance(A_MINUTE)
    await scene.write("other")

    assert Counter([(await scene.read())[0] for _ in range(6)]) == {"a": 2, "b": 2, "c": 2}


async def test_writes_stay_with_one_account(scene: Scene) -> None:
    """Writes change to another account only if the quota is spent, and stay with that account."""
    writers = [await scene.write() for _ in range(BURST + 2)]

    assert writers == [["a"]] * BURST + [["b"]] * 2
    scene.timers.clock.advance(A_MINUTE)
    assert await scene.write() == ["b"]


async def test_an_account_that_can_only_read_does_not_write(scene: Scene) -> None:
    """After Google refuses a write of a read-only account, writes use another account."""
    scene.google["a"].write_refusal = NOT_SHARED
    assert await scene.read() == ["a"]
    assert await scene.write() == ["a", "b"]
    assert await scene.write() == ["b"]
    assert await scene.read() in (["a"], ["b"])


async def test_a_refused_write_does_not_wait_for_quota(scene: Scene) -> None:
    """A write that its account cannot make fails at once if no other account has quota."""
    patient = Scene(max_waiting_seconds=60.0, names=("a", "b"))
    patient.google["a"].write_refusal = NOT_SHARED
    for _ in range(BURST):
        with await patient.pipeline.write_turn("other"):
            await patient.sheets.put_fence("other", Fence.random("k"))
    patient.log.clear()

    turn = await patient.pipeline.write_turn(BOOK)
    with turn, pytest.raises(QuotaSpent) as refused:
        await patient.sheets.put_fence(BOOK, Fence.random("k"))

    assert patient.log == ["a"]
    assert refused.value.outcome == "not_applied"


async def test_a_write_uses_the_account_of_its_reservation(scene: Scene) -> None:
    """A write uses the account whose quota `write_turn` has reserved."""
    for _ in range(BURST - 1):
        await scene.write()
    with await scene.pipeline.write_turn(BOOK):
        with await scene.pipeline.write_turn(BOOK):
            assert await scene.write() == ["b"]
        assert await scene.write() == ["a"]


@pytest.mark.parametrize("error", [NOT_SHARED, SpreadsheetNotFound()], ids=["403", "404"])
async def test_a_spreadsheet_without_access(scene: Scene, error: GatewayError) -> None:
    """If no account has access, a request tries the first account and one other in rotation."""
    for google in scene.google.values():
        google.refusal = error
    asked = []
    for _ in range(4):
        before = len(scene.log)
        with pytest.raises(type(error)):
            await scene.read()
        asked.append(scene.log[before:])
        scene.timers.clock.advance(5)

    assert asked == [["a", "b", "c"], ["a", "b"], ["a", "c"], ["a", "b"]]
    scene.google["c"].refusal = None
    assert (await scene.read())[-1] == "c"


async def test_a_single_account_is_always_tried() -> None:
    """A single account without access is tried for each read, because access can be granted."""
    scene = Scene(names=("a",))
    scene.not_shared("a")
    for _ in range(2):
        with pytest.raises(SpreadsheetNotShared):
            await scene.read()
    scene.google["a"].refusal = None

    assert await scene.read() == ["a"]


async def test_a_refused_account_rests(scene: Scene) -> None:
    """Calls avoid an account that Google refused; one read a minute probes it until accepted."""
    scene.google["a"].refusal = REFUSED
    assert await scene.read() == ["a", "b"]
    assert [await scene.read() for _ in range(2)] == [["b"], ["b"]]
    assert (scene.rested, scene.accounts.refused_count) == ([("a", True)], 1)

    scene.timers.clock.advance(REST_SECONDS)
    assert await scene.write() == ["b"]
    await scene.reads(2 * A_MINUTE)
    assert Counter(scene.log)["a"] == 2
    scene.google["a"].refusal = None
    scene.timers.clock.advance(REST_SECONDS)
    await scene.reads(A_MINUTE)

    assert scene.rested == [("a", True), ("a", False)]
    assert scene.accounts.refused_count == 0


async def test_all_accounts_are_refused(scene: Scene) -> None:
    """If Google refuses all accounts, each read tries the first account again."""
    for google in scene.google.values():
        google.refusal = REFUSED
    for _ in range(2):
        with pytest.raises(UpstreamAuth):
            await scene.read()
    assert scene.log == ["a", "b", "c", "a"]
    scene.google["a"].refusal = None

    assert await scene.read() == ["a"]


async def test_the_only_account_of_a_spreadsheet_is_refused(scene: Scene) -> None:
    """If Google refuses the only account with access, the error is UpstreamAuth."""
    scene.not_shared("b", "c")
    await scene.reads(A_MINUTE)
    scene.timers.clock.advance(A_MINUTE)
    scene.google["a"].refusal = REFUSED
    for _ in range(2):
        with pytest.raises(UpstreamAuth):
            await scene.read()


async def test_a_429_sends_a_read_to_the_next_account(scene: Scene) -> None:
    """A read that gets a 429 is sent with the next account, and the first account pauses."""
    scene.google["a"].refusal = QuotaSpent("spent", is_from_google=True, limit=60)

    assert await scene.read() == ["a", "b"]
    assert await scene.read() == ["b"]


async def test_a_429_of_the_project_pauses_all_its_accounts() -> None:
    """A 429 of the project's limit pauses the reads of all accounts of the project."""
    clock = ManualTimers()
    scene = Scene(project=open_quota(270, 270, clock=clock.clock), timers=clock)
    scene.google["a"].refusal = QuotaSpent(
        "spent", is_from_google=True, limit=300, limit_name="ReadRequestsPerMinutePerProject"
    )
    with pytest.raises(QuotaSpent):
        await scene.read()
    with pytest.raises(QuotaSpent):
        await scene.read()

    assert scene.log == ["a"]
    scene.google["a"].refusal = None
    assert await scene.write() == ["a"]


async def test_accounts_share_the_quota_of_their_project() -> None:
    """A project quota with a burst of one read allows one read for all accounts together."""
    timers = ManualTimers()
    scene = Scene(project=open_quota(9, 270, clock=timers.clock), timers=timers)

    for _ in range(3):
        await scene.reads(A_MINUTE)

    assert len(scene.log) == 1


async def test_a_429_of_another_limit_pauses_no_account(scene: Scene) -> None:
    """A 429 of a limit that is neither the account's nor the project's pauses no account."""
    await scene.read()
    scene.google["a"].refusal = QuotaSpent(
        "spent", is_from_google=True, limit=10, limit_name="ReadRequestsPerMinutePerSpreadsheet"
    )
    with pytest.raises(QuotaSpent):
        await scene.read()
    scene.google["a"].refusal = None

    assert scene.log == ["a", "a"]
    assert await scene.read() == await scene.read("other") == await scene.write() == ["a"]


async def test_the_read_budget_counts_accounts_with_access(scene: Scene) -> None:
    """A spreadsheet's read budget is of accounts known to have access; at first, of one account."""
    assert list(scene.accounts.reads_per_second(BOOK)) == ["a"]
    scene.not_shared("c")
    for _ in range(3):
        await scene.reads(A_MINUTE)
        scene.timers.clock.advance(A_MINUTE)

    assert scene.accounts.reads_per_second(BOOK) == pytest.approx({"a": 0.9, "b": 0.9})
