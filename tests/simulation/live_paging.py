"""Read all pages by cursor over HTTP from several gateway processes, while a script edits rows.

Usage: python -m tests.simulation.live_paging --seconds 60 --gateways 2 [--planted]

A walk is one read of all pages of a list.

Rules
- Time is real. The gateways share one PostgreSQL, one Redis and one pepper; each page comes from a
  random gateway.
- The script makes `edits_per_second` random edits at Google. Each is one batch that edits other
  fields, or inserts, deletes or moves rows.
- A row that existed from `OLDEST_SECONDS` before a walk until its end, and did not move, must be in
  the walk exactly once. A walk that ends with status 410 is not checked.
- A page that contradicts its own `order` or `where` is torn: displayed and sorted values come from
  different versions. `--skew-ms` delays every third call to Google to provoke that. `--no-ordered`
  omits lists with `order` or `where`.
- A retryable 502, as for a worksheet that changes too fast, is retried.
- The planted bug pages by row number (`skip`) instead of by cursor.
"""

import asyncio
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx2
from pydantic import SecretStr

from gateway.settings.database import PostgresUrl
from gateway.storage.key_store import Grants, KeyRequest
from tests.journeys.conftest import (
    DEMO,
    LOOKS_EACH_TIME,
    Api,
    EmulatorControl,
    create_keys,
    make_keys,
    running_emulator,
)
from tests.journeys.standalone import standing_alone
from tests.sheets_emulator.crash import Client, connected
from tests.simulation.command import exit_status, parsed
from tests.simulation.fleet.engines import running_engines
from tests.simulation.fleet.members import PEPPER
from tests.simulation.paging import EDITS, LISTS, TIES, misgiven
from tests.simulation.report import Report

KEYS = {"paid": KeyRequest(name="paid", grants=Grants(spreadsheets=DEMO))}
TITLE = "Edited"
PLAIN = next(name for name, parameters in LISTS.items() if not parameters)
IN_ORDER: Mapping[str, Callable[[Sequence[int], Sequence[int]], bool]] = {
    "with order": lambda ids, _: [*ids] == sorted(ids),
    "with many ties": lambda _, ties: [*ties] == sorted(ties, reverse=True),
    "without order": lambda *_: True,
    "by filter": lambda _, ties: [*ties] == sorted(ties) and TIES - 1 not in ties,
}
"""Checks by list name: whether the fields of a page's rows agree with `order` or `where`."""
OLDEST_SECONDS = 5.0
"""Upper limit of the age of an answer; gateways cache rows for a shorter time."""
LEAST_ROWS = 10
SKEWED_CALLS = 3_000


@dataclass(frozen=True, kw_only=True)
class LivePaging:
    """Duration of the campaign, number of gateways, and speed of the edits."""

    seconds: float = 60.0
    gateways: int = 1
    walkers: int = 8
    rows: int = 120
    edits_per_second: float = 10.0
    most_seconds: float = 0.5
    """Longest pause between two pages."""
    rows_ttl_seconds: float = 0.3
    is_ordered: bool = True
    """False to omit lists with `order` or `where`, which need typed values."""
    skew_ms: int = 0
    seed: int = 1
    is_planted: bool = False


@dataclass(kw_only=True)
class Script:
    """A thread that edits rows; other threads ask which rows did not move."""

    client: Client
    chance: Random
    ids: list[int]
    """Values of the field `id`, in row order."""
    ties: dict[int, int]
    changed_at: dict[int, float] = field(default_factory=dict)
    """Time of the last insertion or move of each row; infinity during the move."""
    edits: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def stayed(self, since: float) -> Sequence[int]:
        """Return the IDs of the rows that did not move since the given time."""
        with self._lock:
            return [each for each in self.ids if self.changed_at.get(each, 0.0) < since]

    def run(self, per_second: float, ended: threading.Event) -> None:
        start = time.monotonic()
        while not ended.wait(start + self.edits.total() / per_second - time.monotonic()):
            self.edit()

    def edit(self) -> None:
        """Make one random edit of a random row."""
        chance, kind = self.chance, self.chance.choice(EDITS)
        at = chance.randrange(len(self.ids))
        if len(self.ids) <= LEAST_ROWS and kind in ("delete", "move"):
            kind = "note"
        self.edits[kind] += 1
        number, requests = self.ids[at], list[Mapping[str, Any]]()
        with self._lock:
            if kind == "note":
                requests.append(_written(at, 2, f"note {self.edits.total()}"))
            elif kind == "insert":
                number = chance.randrange(1000, 1_000_000) * 1000 + self.edits.total() % 1000
                self.ties[number] = chance.randrange(TIES)
                self.ids.insert(at, number)
                requests.append({"insertDimension": {"range": _rows(at)}})
                requests.append(_written(at, 0, number, self.ties[number], "new"))
            else:
                del self.ids[at]
                requests.append({"deleteDimension": {"range": _rows(at)}})
            if kind == "move":
                to = chance.randrange(len(self.ids) + 1)
                self.ids.insert(to, number)
                goal = 1 + to + (to >= at)
                requests = [{"moveDimension": {"source": _rows(at), "destinationIndex": goal}}]
            if kind != "note":
                self.changed_at[number] = float("inf")
        self.client.send("POST", ":batchUpdate", {"requests": requests})
        if kind != "note":
            with self._lock:
                self.changed_at[number] = time.monotonic()


def _rows(at: int) -> Mapping[str, object]:
    return {"sheetId": 0, "dimension": "ROWS", "startIndex": at + 1, "endIndex": at + 2}


def _written(at: int, column: int, *values: int | str) -> Mapping[str, Any]:
    """Return the request that writes `values` into a row, starting at `column`."""
    cells = [
        {"userEnteredValue": {"stringValue" if isinstance(each, str) else "numberValue": each}}
        for each in values
    ]
    start = {"sheetId": 0, "rowIndex": at + 1, "columnIndex": column}
    return {"updateCells": {"start": start, "rows": [{"values": cells}], "fields": "*"}}


def run_live(folder: Path, campaign: LivePaging) -> Report:
    """Run all readers, and return the report of all their walks."""
    chance = Random(campaign.seed)  # noqa: S311
    ids = [*range(1000, 1000 + campaign.rows)]
    ties = {each: chance.randrange(TIES) for each in ids}
    lines = ["id,tie,note", *(f"{each},{ties[each]},note" for each in ids)]
    with (
        running_emulator(folder, {"demo": {TITLE: "\n".join(lines) + "\n"}}) as emulator,
        gateways(folder, emulator, campaign) as apis,
        ThreadPoolExecutor(campaign.walkers + 1) as pool,
    ):
        account = json.loads(emulator.credentials.read_text())
        client = connected(emulator.url, account, "demo")
        emulator.faults(
            *(
                {"call": "*", "skip": 3 * number, "hold_ms": campaign.skew_ms}
                for number in range(SKEWED_CALLS if campaign.skew_ms else 0)
            )
        )
        script = Script(client=client, chance=chance, ids=ids, ties=ties)
        ended = threading.Event()
        edits = pool.submit(script.run, campaign.edits_per_second, ended)
        try:
            walks = [
                pool.submit(walked_for, campaign, apis, script, number)
                for number in range(campaign.walkers)
            ]
            reports = [each.result() for each in walks]
        finally:
            ended.set()
        edits.result()
        client.connection.close()
    figures = Counter({f"edits: {kind}": times for kind, times in script.edits.items()})
    return sum(reports, Report(title="live paging", figures=figures))


@contextmanager
def gateways(
    folder: Path, emulator: EmulatorControl, campaign: LivePaging
) -> Iterator[Sequence[Api]]:
    """Yield one gateway with its own store, or several that share stores and pepper."""
    settings: dict[str, object] = {
        **LOOKS_EACH_TIME,
        "cache.rows_ttl_seconds": campaign.rows_ttl_seconds,
    }
    with ExitStack() as stack:
        database, keys = make_keys(folder, KEYS)
        if campaign.gateways > 1:
            engines = stack.enter_context(running_engines(folder))
            url = PostgresUrl(SecretStr(engines.database))
            keys = asyncio.run(create_keys(url, KEYS, pepper=PEPPER))
            settings |= {
                "access.database": engines.database,
                "access.pepper": PEPPER,
                "cluster.redis": engines.redis.url,
            }
        apis = []
        for number in range(campaign.gateways):
            own = folder / f"gateway-{number}"
            own.mkdir()
            (own / "config.toml").touch(mode=0o600)
            alone = standing_alone(own, emulator, (database, keys), settings)
            apis.append(stack.enter_context(alone).api)
        yield apis


def walked_for(campaign: LivePaging, apis: Sequence[Api], script: Script, walker: int) -> Report:
    """Run the walks of one client until the time is over."""
    chance = Random(f"{campaign.seed} {walker}")  # noqa: S311
    outcomes, figures = Counter[str](), Counter[str]()
    problems = []
    end = time.monotonic() + campaign.seconds
    while (start := time.monotonic()) < end:
        name = chance.choice([*LISTS] if campaign.is_ordered else [PLAIN])
        given = walked(campaign, apis, chance, name, figures)
        stayed = script.stayed(start - OLDEST_SECONDS)
        outcomes[f"{name}: {'lost, 410' if given is None else 'whole'}"] += 1
        if given is None:
            continue
        if "where" in LISTS[name]:
            stayed = [each for each in stayed if script.ties[each] != TIES - 1]
        figures["rows that stayed"] += len(stayed)
        walk = f"{name}, walker {walker}, walk {outcomes.total()}"
        problems += misgiven(walk, given, stayed)
    return Report(outcomes=outcomes, figures=figures, problems=problems)


def walked(
    campaign: LivePaging,
    apis: Sequence[Api],
    chance: Random,
    name: str,
    figures: Counter[str],
) -> Counter[int] | None:
    """Return how often each row was returned, or None after status 410. Updates `figures`."""
    given, cursor, last = Counter[int](), "", apis[0]
    while True:
        api = chance.choice(apis)
        paging = f"skip={given.total()}" if campaign.is_planted else f"cursor={cursor}"
        answer = api.get(f"{TITLE}?{LISTS[name]}&limit={chance.choice((5, 10, 24))}&{paging}")
        figures["pages"] += 1
        figures["pages of another gateway than the one before"] += api is not last and bool(given)
        if answer.status_code == 410:
            return None
        if answer.status_code == 502 and answer.json()["retryable"]:
            figures["502, repeated"] += 1
            continue
        _check(answer)
        body, last = answer.json(), api
        ids, ties = ([int(row[each]) for row in body["results"]] for each in ("id", "tie"))
        figures["torn pages"] += not IN_ORDER[name](ids, ties)
        given.update(ids)
        if not body["hasNextPage"]:
            return given
        cursor = body.get("cursor", "")
        time.sleep(chance.uniform(0, campaign.most_seconds))


def _check(answer: httpx2.Response) -> None:
    if answer.status_code != 200:
        raise RuntimeError(f"{answer.status_code}: {answer.text}")
    if float(answer.headers["age"]) > OLDEST_SECONDS - 1:
        raise RuntimeError(f"The rows are {answer.headers['age']} s old.")


def main() -> int:
    """Print the report. Returns 1 if a row was repeated or missing."""
    campaign = parsed(LivePaging())
    return exit_status(lambda folder: run_live(folder, campaign))


if __name__ == "__main__":
    sys.exit(main())
