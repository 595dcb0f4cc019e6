"""What is wrong with the writes of a campaign, judged by the states of the worksheets.

Rules
- A write that sets cells has its effect where its mark appears, in one commit of the gateway. Of a
  delete the removals themselves tell: each is explained by one delete, and each acknowledged delete
  by one removal.
- Between the look of a write and its commit a person may change rows: what is wrong with the row
  that a write met is no problem if a person edited the worksheet within `ROUND_TRIP_SECONDS`.
- A write without an Idempotency-Key whose outcome is unknown may take effect at any later time.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.simulation.verbs.clients import UPSERT_KEYS, Operation
from tests.simulation.verbs.history import Commit, History, texts_of

ROUND_TRIP_SECONDS = 1.5
"""Usual time from a look to the commit of its write, at most: 1 s, and the call."""

ID, GROUP, NOTE = range(3)
AT_LEAST = {"done": 1, "applied": 1, "not_applied": 0, "unknown": 0}
AT_MOST = {"done": 1, "applied": 1, "not_applied": 0, "unknown": 1}


@dataclass(frozen=True, kw_only=True)
class Problem:
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


@dataclass(frozen=True, kw_only=True)
class _Removal:
    """Rows that one commit removed: their numbers before it, and their texts."""

    commit: Commit
    rows: Mapping[int, tuple[str, ...]]


@dataclass(kw_only=True)
class Verdict:
    history: History
    problems: list[Problem] = field(default_factory=list)
    excused: int = 0
    """Wrong rows that a person's edit within the round trip excuses."""

    def judge(self, worksheet: str, operations: Sequence[Operation]) -> None:
        """Judge all writes to one worksheet."""
        commits = [each for each in self.history.commits[worksheet] if each.is_ours]
        marked = _marked(commits)
        for each in operations:
            if each.complaint:
                self._complain("answer", each, each.complaint)
            if each.key and each.outcome == "unknown":
                self._complain("unsettled", each, f"{each.status} {each.code}")
            if each.mark:
                self._judge_marked(each, marked.get(each.mark, []))
        known = {each.mark for each in operations}
        for mark in marked.keys() - known:
            self.problems.append(Problem(kind="nobody's", detail=mark))
        self._judge_removals(worksheet, commits, operations)
        self._judge_others(worksheet, commits)
        self._judge_keys(worksheet, commits)

    def _judge_marked(self, operation: Operation, commits: Sequence[Commit]) -> None:
        """One effect for each acknowledged write, before its answer, in the right rows."""
        may_be_nothing = operation.kind in ("update where", "upsert")
        least = 0 if may_be_nothing else AT_LEAST[operation.outcome]
        if not least <= len(commits) <= AT_MOST[operation.outcome]:
            self._complain("times", operation, f"{len(commits)} effects")
        for commit in commits[:1]:
            if operation.outcome == "done" and commit.at > operation.answered_at:
                self._complain("early", operation, "told before its effect")
            rows = {row for row, _ in _with_mark(commit, operation.mark)}
            match operation.kind:
                case "create":
                    self._judge_new(operation, commit, operation.ids, rows)
                case "update" | "update rows":
                    self._judge_updated(operation, commit, rows)
                case "update where":
                    self._judge_matched(operation, commit, rows)
                case "upsert":
                    self._judge_upserted(operation, commit, rows)
            if operation.kind in ("create", "upsert"):
                self._judge_repeated(operation, commit)
        if not commits and operation.outcome == "done":
            self._judge_unwritten(operation)

    def _judge_new(
        self, operation: Operation, commit: Commit, ids: Sequence[str], rows: set[int]
    ) -> None:
        last = _last(commit)
        if min(rows) <= last:
            self._complain("overwrote", operation, f"rows {rows}, the last one was {last}")
        found = {texts_of(commit.after[row - 1])[ID]: row for row in sorted(rows)}
        if [*found] != [*ids]:
            self._complain("torn", operation, f"{found}")
        for record in operation.results:
            self._judge_place(operation, commit, record, found)

    def _judge_place(
        self,
        operation: Operation,
        commit: Commit,
        record: Mapping[str, object],
        found: Mapping[str, int],
    ) -> None:
        """A row was where its answer says, at its commit or later, up to the answer."""
        row, id_ = record["rowIndex"], str(record["id"])
        if found.get(id_) == row:
            return
        later = self.history.between(operation.worksheet, commit.at, operation.answered_at)
        was_there = any(_has(each.after, row, id_) for each in later)
        if not was_there and not self._excused(operation, commit):
            self._complain("misplaced", operation, f"{record}, was in {found.get(id_)}")

    def _judge_repeated(self, operation: Operation, commit: Commit) -> None:
        """Numbers in repeated answers follow the rows that the gateway removed meanwhile."""
        until = operation.repeated_at
        states = self.history.between(operation.worksheet, commit.at, until)
        for record in operation.repeated:
            row, id_ = record["rowIndex"], str(record["id"])
            if any(
                _has(each.after, row, id_) for each in states if each.at >= operation.answered_at
            ):
                continue
            is_known = _has(states[-1].after, row, id_) if states else True
            if not is_known and not self.history.was_edited(operation.worksheet, commit.at, until):
                self._complain("repeated", operation, f"{record}")

    def _judge_updated(self, operation: Operation, commit: Commit, rows: set[int]) -> None:
        if rows != {*operation.rows}:
            self._complain("misplaced", operation, f"changed {rows}")
        if operation.seen is not None:
            (row,) = operation.rows
            self._judge_seen(operation, commit, row)

    def _judge_seen(self, operation: Operation, commit: Commit, row: int) -> None:
        seen = operation.seen or {}
        expected = tuple(str(seen.get(name) or "") for name in ("id", "group", "note"))
        was = texts_of(commit.before[row - 1])
        if was != _trimmed(expected) and not self._excused(operation, commit):
            self._complain("condition", operation, f"{expected} had become {was}")

    def _judge_matched(self, operation: Operation, commit: Commit, rows: set[int]) -> None:
        matched = {
            row
            for row, cells in enumerate(commit.before, start=1)
            if row > 1 and texts_of(cells)[GROUP : GROUP + 1] == (operation.group,)
        }
        told = {record["rowIndex"] for record in operation.results}
        is_right = rows == matched and (operation.outcome != "done" or told == rows)
        if operation.outcome == "done" and operation.count != len(told):
            self._complain("count", operation, f"{operation.count} of {told}")
        if not is_right and not self._excused(operation, commit):
            self._complain("filter", operation, f"matched {matched}, changed {rows}, told {told}")

    def _judge_upserted(self, operation: Operation, commit: Commit, rows: set[int]) -> None:
        before = _rows_by_id(commit.before)
        after = _rows_by_id(commit.after)
        new = {id_ for id_ in operation.ids if not before[id_]}
        changed = new if operation.ignores else {*operation.ids}
        marked = {texts_of(commit.after[row - 1])[ID] for row in rows}
        if marked != changed and not self._excused(operation, commit):
            self._complain("upsert", operation, f"{changed} should have changed, {marked} did")
        if any(len(after[id_]) > 1 for id_ in new) and not self._excused(operation, commit):
            self._complain("doubled", operation, f"{[after[id_] for id_ in operation.ids]}")
        for record in operation.results:
            id_ = str(record["id"])
            if record["created"] != (id_ in new) and not self._excused(operation, commit):
                self._complain("created", operation, f"{record}")
            self._judge_place(
                operation, commit, record, {id_: after[id_][-1]} if after[id_] else {}
            )

    def _judge_unwritten(self, operation: Operation) -> None:
        """An acknowledged write without an effect had nothing to write at some moment."""
        commits = self.history.between(
            operation.worksheet, operation.asked_at - 600, operation.answered_at
        )
        states = [
            each.after
            for at, each in enumerate(commits)
            if at + 1 == len(commits) or commits[at + 1].at >= operation.asked_at
        ]
        if operation.kind == "update where":
            is_fine = operation.count == 0 and (
                not states
                or any(
                    all(texts_of(row)[GROUP : GROUP + 1] != (operation.group,) for row in state)
                    for state in states
                )
            )
        else:
            is_fine = operation.ignores and all(not each["created"] for each in operation.results)
        if not is_fine:
            self._complain("lost", operation, "acknowledged without an effect")

    def _judge_removals(
        self, worksheet: str, commits: Sequence[Commit], operations: Sequence[Operation]
    ) -> None:
        removals = [
            _Removal(
                commit=each,
                rows={row: texts_of(each.before[row - 1]) for row in each.removed},
            )
            for each in commits
            if len(each.after) < len(each.before)
        ]
        left = {id(each): dict(each.rows) for each in removals}
        filters = [each for each in operations if each.kind == "delete where"]
        for operation in sorted(filters, key=lambda each: each.outcome != "done"):
            self._explain_filter(operation, removals, left)
        by_number = [each for each in operations if each.kind == "delete"]
        wanted: dict[int, list[tuple[Commit, tuple[str, ...]]]] = defaultdict(list)
        for removal in removals:
            for row, texts in left[id(removal)].items():
                wanted[row].append((removal.commit, texts))
        for row in wanted.keys() | {each.rows[0] for each in by_number}:
            self._match(
                worksheet, row, wanted[row], [each for each in by_number if each.rows[0] == row]
            )

    def _explain_filter(
        self,
        operation: Operation,
        removals: Sequence[_Removal],
        left: Mapping[int, dict[int, tuple[str, ...]]],
    ) -> None:
        """Take the removal of a delete by filter out of those that are left to explain."""
        if operation.outcome == "not_applied" or operation.count == 0:
            return
        until = operation.answered_at if operation.outcome == "done" else float("inf")
        possible = [each for each in removals if operation.asked_at <= each.commit.at <= until]
        for removal in possible:
            rows = left[id(removal)]
            own = [row for row, texts in rows.items() if texts and texts[ID] in operation.ids]
            before = _rows_by_id(removal.commit.before)
            matched = [row for id_ in operation.ids for row in before[id_]]
            if not own or {*own} != {*matched}:
                continue
            if operation.outcome == "done" and not self._is_told(operation, own, removal):
                continue
            for row in own:
                del rows[row]
            return
        if operation.outcome not in ("done", "applied") or self._met_others(
            operation, possible, left
        ):
            return
        self._complain("lost", operation, f"{operation.results} of {operation.ids}")

    def _met_others(
        self,
        operation: Operation,
        removals: Sequence[_Removal],
        left: Mapping[int, dict[int, tuple[str, ...]]],
    ) -> bool:
        """True if a person moved the rows of a filter between its look and its commit."""
        told = [record["rowIndex"] for record in operation.results]
        for removal in removals:
            rows = left[id(removal)]
            if told and all(row in rows for row in told):
                if not self._excused(operation, removal.commit):
                    continue
                for row in told:
                    del rows[row]
                return True
        return False

    def _is_told(self, operation: Operation, own: Sequence[int], removal: _Removal) -> bool:
        """True if an answer names these rows, each less the rows that others removed before."""
        told = sorted(record["rowIndex"] for record in operation.results)
        others = [row for row in removal.rows if row not in own]
        return operation.count == len(own) == len(told) and all(
            row - bisect_left(others, row) <= number <= row
            for row, number in zip(sorted(own), told, strict=True)
        )

    def _match(
        self,
        worksheet: str,
        row: int,
        removals: Sequence[tuple[Commit, tuple[str, ...]]],
        deletes: Sequence[Operation],
    ) -> None:
        """Assign each removal of a row number to one delete of it."""
        taken: dict[int, int] = {}
        sure = [at for at, each in enumerate(deletes) if each.outcome in ("done", "applied")]
        for at in sure:
            if not self._assign(at, row, removals, deletes, taken, set()):
                self._complain("lost", deletes[at], f"row {row} was not removed")
        maybe = [at for at, each in enumerate(deletes) if each.outcome == "unknown"]
        for at in maybe:
            self._assign(at, row, removals, deletes, taken, set())
        for number, (commit, texts) in enumerate(removals):
            if number in taken:
                self._judge_read_after(deletes[taken[number]], commit, texts)
            else:
                detail = f"{worksheet} row {row} at {commit.at:.2f}: {texts}"
                self.problems.append(Problem(kind="removed by nobody", detail=detail))

    def _judge_read_after(self, delete: Operation, commit: Commit, texts: tuple[str, ...]) -> None:
        """A read after the answer does not show the removed record in its row."""
        if not texts or delete.read_after != texts[ID]:
            return
        others = _rows_by_id(commit.after)[texts[ID]]
        if not others and not self._excused(delete, commit):
            self._complain("stale", delete, f"{texts} was shown after it was deleted")

    def _assign(
        self,
        at: int,
        row: int,
        removals: Sequence[tuple[Commit, tuple[str, ...]]],
        deletes: Sequence[Operation],
        taken: dict[int, int],
        tried: set[int],
    ) -> bool:
        """Find a removal for a delete, by moving others if need be (Kuhn's algorithm)."""
        for number, (commit, _) in enumerate(removals):
            if number in tried or not self._explains(deletes[at], commit, row):
                continue
            tried.add(number)
            if number not in taken or self._assign(
                taken[number], row, removals, deletes, taken, tried
            ):
                taken[number] = at
                return True
        return False

    def _explains(self, delete: Operation, commit: Commit, row: int) -> bool:
        until = delete.answered_at if delete.outcome == "done" else float("inf")
        if not delete.asked_at <= commit.at <= until:
            return False
        if delete.seen is None:
            return True
        expected = tuple(str(delete.seen.get(name) or "") for name in ("id", "group", "note"))
        is_seen = texts_of(commit.before[row - 1]) == _trimmed(expected)
        return is_seen or self.history.was_edited(
            delete.worksheet, commit.at - ROUND_TRIP_SECONDS, commit.at
        )

    def _judge_others(self, worksheet: str, commits: Sequence[Commit]) -> None:
        """A batch that removes rows changes no other; one that does not changes notes alone."""
        for commit in commits:
            if commit.removed:
                kept = len(commit.before) - len(commit.removed)
                if kept != len(commit.after):
                    self._tell("changed others", worksheet, commit, "a removal")
                continue
            for row, was in enumerate(commit.before, start=1):
                old, new = texts_of(was), texts_of(commit.after[row - 1])
                if old and old[:NOTE] != (*new, "", "")[: len(old[:NOTE])]:
                    self._tell("changed others", worksheet, commit, f"row {row}: {old} to {new}")

    def _judge_keys(self, worksheet: str, commits: Sequence[Commit]) -> None:
        """No batch of ours adds a second row of an upsert's key."""
        for commit in commits:
            before, after = _rows_by_id(commit.before), _rows_by_id(commit.after)
            for key in UPSERT_KEYS:
                was_added = len(after[key]) > max(1, len(before[key]))
                near = (commit.at - ROUND_TRIP_SECONDS, commit.at)
                if was_added and not self.history.was_edited(worksheet, *near):
                    self._tell("doubled", worksheet, commit, f"{key} in {after[key]}")

    def _excused(self, operation: Operation, commit: Commit) -> bool:
        was_edited = self.history.was_edited(
            operation.worksheet, commit.at - ROUND_TRIP_SECONDS, commit.at
        )
        self.excused += was_edited
        return was_edited

    def _complain(self, kind: str, operation: Operation, detail: str) -> None:
        self.problems.append(
            Problem(
                kind=kind,
                detail=f"{operation.kind} {operation.method} {operation.worksheet}{operation.path} "
                f"{operation.mark} ({operation.outcome} {operation.status}): {detail}",
            )
        )

    def _tell(self, kind: str, worksheet: str, commit: Commit, detail: str) -> None:
        self.problems.append(Problem(kind=kind, detail=f"{worksheet} {commit.at:.2f}: {detail}"))


def _marked(commits: Sequence[Commit]) -> Mapping[str, list[Commit]]:
    """The commits in which a mark appears, by mark."""
    found: dict[str, list[Commit]] = defaultdict(list)
    for commit in commits:
        if not commit.removed:
            for mark in dict.fromkeys(mark for _, mark in _changed_notes(commit)):
                found[mark].append(commit)
    return found


def _changed_notes(commit: Commit) -> Iterator[tuple[int, str]]:
    for row, cells in enumerate(commit.after, start=1):
        was = commit.before[row - 1] if row <= len(commit.before) else ()
        if cells is not was:
            texts = texts_of(cells)
            note = texts[NOTE] if len(texts) > NOTE else ""
            if note.startswith("note:") and note not in texts_of(was)[NOTE:]:
                yield row, note


def _with_mark(commit: Commit, mark: str) -> Iterator[tuple[int, str]]:
    return ((row, note) for row, note in _changed_notes(commit) if note == mark)


def _rows_by_id(rows: Sequence[Sequence[object]]) -> Mapping[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for row, cells in enumerate(rows, start=1):
        texts = texts_of(cells)  # type: ignore[arg-type]
        if texts and texts[ID]:
            found[texts[ID]].append(row)
    return found


def _last(commit: Commit) -> int:
    """The last row that was not blank."""
    filled = [row for row, cells in enumerate(commit.before, start=1) if texts_of(cells)]
    return filled[-1] if filled else 0


def _has(rows: Sequence[Sequence[object]], row: object, id_: str) -> bool:
    if not isinstance(row, int) or row > len(rows):
        return False
    texts = texts_of(rows[row - 1])  # type: ignore[arg-type]
    return bool(texts) and texts[ID] == id_


def _trimmed(texts: Sequence[str]) -> tuple[str, ...]:
    kept = [*texts]
    while kept and not kept[-1]:
        kept.pop()
    return tuple(kept)


def kinds_of(problems: Sequence[Problem]) -> Counter[str]:
    return Counter(each.kind for each in problems)
