"""Test cases of the client libraries: calls, faults, and expected effects.

Rules
- A case uses the names of the Python client. Each sender calls its own library with its own names.
- Answers must equal the expectation. An error can have members that the expectation omits.
- Cells that the expectation omits must stay unchanged.
- In every case all requests of a write have one Idempotency-Key. No other write has that key, and
  the failure of the write names it. Other requests have no key.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import ANY
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest

from tests.clients.case import KEY, all_cells, changed
from tests.clients.libraries.senders import Call, Sender, Waits
from tests.clients.middlebox import Fault, Machine, Middlebox
from tests.clients.outcomes import differences
from tests.journeys.conftest import Api

URL, OWN = "<url>", "<own>"
"""Placeholders for the gateway's URL, and for the Idempotency-Key that the caller passes."""
CLOSED, CLOSED_BY_NAME = "<closed>", "<closed by name>"
"""Placeholders for URLs without a server, with an address and with a name."""

PYTHON, TYPESCRIPT = ("sync", "async"), ("typescript",)
SENDERS = (*PYTHON, *TYPESCRIPT)
WRITES = frozenset(
    {"create", "update", "update_many", "upsert", "update_where", "delete", "delete_where"}
)


@dataclass(frozen=True)
class Of:
    """A member of the answer to an earlier call, as an option or an expectation."""

    step: int
    member: str


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Expected members of an error, and words of its message in Python and in TypeScript.

    `|` separates alternative words.
    """

    members: Mapping[str, Any]
    words: tuple[str, str]
    hides: str | None
    """Text that no member of the error contains."""


Step = tuple[Call, Any]
"""A call with its expected answer, or with its expected `Failure`."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Calls in sequence, on a newly seeded emulator.

    `client` are options of the client, `of_sheet` options of the worksheet. `google` are faults of
    the emulator until the client first waits. `sent` are expected values of a request parameter, or
    of `path`. With `waits_really` the waits take real time.
    """

    name: str
    steps: Sequence[Step]
    sheet: Any = "Cities"
    client: Mapping[str, Any] = field(default_factory=dict)
    of_sheet: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    google: Sequence[Mapping[str, Any]] = ()
    faults: Sequence[Fault] = ()
    changes: Mapping[str, object] = field(default_factory=dict)
    requests: int | None = None
    sent: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    waits: Sequence[float] | None = None
    waits_really: bool = False
    senders: Sequence[str] = SENDERS


def case(name: str, *pairs: Any, steps: Sequence[Step] = (), **members: Any) -> Case:
    """Return a case of `steps`, then of `pairs`: alternately a call and its expectation."""
    own = zip(pairs[::2], pairs[1::2], strict=True)
    return Case(name=name, steps=[*steps, *own], **members)


def with_its_senders(cases: Sequence[Case]) -> pytest.MarkDecorator:
    """Parametrize `case` and `sender` of a test: each case with each of its senders."""
    pairs = [(case, sender) for case in cases for sender in case.senders]
    return pytest.mark.parametrize(
        ("case", "sender"), pairs, ids=[f"{sender}: {case.name}" for case, sender in pairs]
    )


def call(method: str, *arguments: Any, **options: Any) -> Call:
    return Call(method=method, arguments=arguments, options=options)


def fails(
    words: str = "", typescript: str | None = None, *, hides: str | None = None, **members: Any
) -> Failure:
    """Expect an error answer, or no answer."""
    both = (words, words if typescript is None else typescript)
    return Failure(members=members, words=both, hides=hides)


def mistake(words: str, typescript: str | None = None, *, hides: str | None = None) -> Failure:
    """Expect an error for a wrong argument, before a request is sent."""
    return fails(words, typescript, hides=hides, kind="Mistake")


def quoted(value: object, words: str) -> tuple[str, str]:
    """Return words after a value, quoted as in Python and as in TypeScript."""
    return f"{value!r} {words}", f"{json.dumps(value)} {words}"


def row(row_index: int, fields: Mapping[str, Any], **members: Any) -> Mapping[str, Any]:
    return {"rowIndex": row_index, "fields": fields, **members}


def tagged(row_index: int, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with its ETag."""
    return row(row_index, fields, etag=ANY)


def page(*rows: Mapping[str, Any], more: bool = False, **members: Any) -> Mapping[str, Any]:
    return {"rows": list(rows), "hasNextPage": more, **members}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A gateway on the emulator, and a machine in front of it that makes faults."""

    api: Api
    machine: Machine
    seeded: Mapping[str, object]
    """All cells of the emulator before a case."""
    closed_url: str
    own_key: str = ""

    @contextmanager
    def with_faults(self, faults: Sequence[Fault]) -> Iterator[Middlebox]:
        """Yield the faulty machine of a case, and reset the emulator afterwards."""
        middlebox = self.machine.renewed()
        middlebox.fail(*faults)
        try:
            yield middlebox
        finally:
            middlebox.release()
            if middlebox.arrived:
                self.api.emulator.reset()

    def filled(self, text: Any) -> Any:
        """Replace placeholders of URLs and keys in a string; return other values unchanged."""
        if not isinstance(text, str):
            return text
        own = {
            URL: self.machine.url,
            URL.upper(): self.machine.url.upper(),
            CLOSED: self.closed_url,
            CLOSED_BY_NAME: self.closed_url.replace("127.0.0.1", "localhost"),
            OWN: self.own_key,
            KEY: self.api.keys["paid"],
        }
        for placeholder, meant in own.items():
            text = text.replace(placeholder, meant)
        return text


def complaints(case: Case, sender: Sender, stage: Stage) -> list[str]:
    """Return the differences from the expectation of a case, as lines of text."""
    stage, emulator = replace(stage, own_key=str(uuid4())), stage.api.emulator
    waits = Waits(is_real=case.waits_really)
    client = {"base_url": URL, "api_key": KEY, "spreadsheet_id": "demo", **case.client}
    sender.open({name: stage.filled(each) for name, each in client.items()}, waits)
    with stage.with_faults(case.faults) as middlebox:
        if case.google:
            emulator.faults(*case.google)
            waits.on_wait = emulator.faults
        found = _of_steps(case, sender, stage, middlebox)
        changes = changed(stage.seeded, all_cells(emulator)) if middlebox.arrived else {}
    found += [f"cells: {each}" for each in _different(changes, case.changes)]
    return found + _of_requests(case, middlebox, waits)


def _of_steps(case: Case, sender: Sender, stage: Stage, middlebox: Middlebox) -> list[str]:
    outcomes: list[Mapping[str, Any]] = []
    keys: list[str] = []
    found: list[str] = []
    for number, (asked, expected) in enumerate(case.steps):
        sent_before = len(middlebox.arrived)
        options = _filled_in(asked.options, outcomes)
        asked = replace(asked, options={name: stage.filled(each) for name, each in options.items()})
        if isinstance(expected, Failure):
            expected = replace(expected, members=_filled_in(expected.members, outcomes))
        else:
            expected = _filled_in(expected, outcomes)
        outcome = sender.outcome(case.sheet, case.of_sheet, asked)
        outcomes.append(outcome)
        own = {each.headers.get("idempotency-key") for each in middlebox.arrived[sent_before:]}
        wrong = [*_of_outcome(outcome, expected, sender, stage), *_of_keys(asked, own, outcome)]
        found += [f"{number}: {each}" for each in wrong]
        if asked.options.get("idempotency_key") is None:
            keys += [each for each in own if each is not None]
    if len(set(keys)) != len(keys):
        found.append("two writes have one key")
    return found


def _filled_in(value: Any, outcomes: Sequence[Mapping[str, Any]]) -> Any:
    """Return a value in which members of earlier answers replace `Of`."""
    if isinstance(value, Of):
        return outcomes[value.step]["value"][value.member]
    if isinstance(value, Mapping):
        return {name: _filled_in(each, outcomes) for name, each in value.items()}
    return value


def _of_outcome(
    outcome: Mapping[str, Any], expected: Any, sender: Sender, stage: Stage
) -> list[str]:
    if not isinstance(expected, Failure):
        is_right = "value" in outcome and expected == outcome["value"]
        return [] if is_right else [f"{outcome}, not {expected!r}"]
    error = outcome.get("error")
    if error is None:
        return [f"no error: {outcome}"]
    words = stage.filled(expected.words[sender.is_typescript])
    found = differences(expected.members, error)
    if not any(each in error["message"] for each in words.split("|")):
        found.append(f"{error['message']!r} is without {words!r}")
    if expected.hides is not None and expected.hides in str(error):
        found.append(f"{error} has {expected.hides!r}")
    may_be_applied = error.get("outcome") in ("applied", "unknown")
    if error["kind"] != "Mistake" and error["mayBeApplied"] is not may_be_applied:
        found.append(f"mayBeApplied of {error.get('outcome')}")
    return found


def _of_keys(asked: Call, own: set[str | None], outcome: Mapping[str, Any]) -> list[str]:
    if not own:
        return []
    if asked.method not in WRITES:
        return [] if own == {None} else [f"keys of a read: {own}"]
    if len(own) > 1 or None in own:
        return [f"keys of one write: {own}"]
    named = outcome.get("error", {}).get("idempotencyKey")
    return [f"the error names {named}"] if "error" in outcome and named not in own else []


def _of_requests(case: Case, middlebox: Middlebox, waits: Waits) -> list[str]:
    urls = [urlsplit(each.target) for each in middlebox.arrived]
    queries = [parse_qs(url.query, keep_blank_values=True) for url in urls]
    sent: dict[str, Any] = {
        name: [query.get(name, [None])[0] for query in queries] for name in case.sent
    }
    if "path" in case.sent:
        sent["path"] = [url.path for url in urls]
    found = [f"{name} of requests: {sent[name]}" for name in _different(sent, case.sent)]
    if case.requests not in (None, len(urls)):
        found.append(f"{len(urls)} requests: {[url.path for url in urls]}")
    is_wrong = case.waits is not None and list(case.waits) != waits.seconds
    if is_wrong or (case.waits_really and not waits.seconds):
        found.append(f"waits: {waits.seconds}")
    return found


def _different(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    return [
        f"{name}: {found.get(name)!r}, not {expected.get(name)!r}"
        for name in sorted({*found, *expected})
        if found.get(name) != expected.get(name)
    ]
