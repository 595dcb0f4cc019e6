"""Problems of readers' answers and of the number of calls to Google, and their reports.

Rules
- Pure: replies and times of calls go in, a line per problem comes out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.simulation.reads.stage import Reply
from tests.simulation.report import Problem, Report

SERVED_SHARE = 0.999
PROBE_SECONDS = 5.0
RETURN_SECONDS = 10.0
ROUNDING_SECONDS = 0.2
AT_ONCE_SECONDS = 2.0
PROBED_SECONDS = 25.0
"""What is sent to see whether Google is back may hang until the deadline of a read."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Condition under which an outage is noticed: a number of failed calls within a time.

    Calls may be running by then, or be sent before the last one has failed.
    """

    calls: int
    seconds: float = 1.0
    most_calls: int = 12
    refusal_seconds: float = AT_ONCE_SECONDS
    """How long it may take from then on to refuse what needs Google."""


BREAKER = Opening(calls=5, seconds=2.0)
HANGING = Opening(calls=5, seconds=25.0, most_calls=40)
"""Calls that get no answer fail after the deadline of a read."""
REFUSING = Opening(calls=1, refusal_seconds=11.0)
"""A 429 says it at once; who needs Google may wait until its budget is back."""


def unserved(replies: Sequence[Reply], share: float = SERVED_SHARE) -> Iterator[str]:
    """Fewer than this share of the reads were answered 200."""
    others = Counter((each.status, each.code) for each in replies if each.status != 200)
    if others.total() > (1 - share) * len(replies):
        yield f"{others.total()} of {len(replies)} reads were not answered 200: {dict(others)}"


def mismarked(replies: Sequence[Reply], *, gone: float, ttl_seconds: float) -> Iterator[str]:
    """Answers given while Google was gone, whose marks do not say so.

    `gone` is when it went. A life may have been stretched to twice the ttl by then.
    """
    for reply in (each for each in replies if each.status == 200 and each.began >= gone):
        mark, seconds = reply.mark, reply.began - gone
        if mark is None:
            yield f"{reply.path} has no mark, {seconds:.1f} s after Google went"
        elif mark.age_seconds < int(seconds):
            yield f"{reply.path} has Age {mark.age_seconds}, {seconds:.1f} s after Google went"
        elif mark.is_stale != bool(mark.detail):
            yield f"{reply.path} has ttl {mark.ttl_seconds} and the reason {mark.detail!r}"
        elif seconds > 2 * ttl_seconds + 1 and not (mark.is_stale and mark.is_hit):
            yield f"{reply.path} is not marked stale, {seconds:.1f} s after Google went: {mark}"


def crowded(calls: Sequence[float], opening: Opening) -> Iterator[str]:
    """Calls too close to each other, after those by which a Google that has gone was noticed."""
    since = noticed(calls, opening)
    before = sum(at <= since for at in calls)
    if before > opening.most_calls:
        yield f"{before} calls before it was noticed that Google is gone"
    apart = [second - first for first, second in pairwise(at for at in calls if at > since)]
    close = [each for each in apart if each < PROBE_SECONDS - ROUNDING_SECONDS]
    if close:
        yield f"{len(close)} of {len(apart)} times calls were close, {min(close):.2f} s at least"


def noticed(calls: Sequence[float], opening: Opening) -> float:
    """Latest time at which the outage must be noticed; never if it need not be."""
    if len(calls) < opening.calls:
        return float("inf")
    return calls[opening.calls - 1] + opening.seconds


def unrefused(
    replies: Sequence[Reply], *, probes: int, seconds: float = AT_ONCE_SECONDS
) -> Iterator[str]:
    """Reads that could not be answered without Google, and were not refused in time and rightly.

    `probes` of them may have been what asked Google whether it is back.
    """
    wrong = [
        f"{each.path}: {each.status}, code {each.code}, Retry-After {each.retry_after!r}, "
        f"after {each.seconds:.1f} s"
        for each in replies
        if not _is_refusal(each, seconds)
        and not (each.is_fresh and each.mark and not each.mark.forward)
    ]
    if len(wrong) > probes:
        yield f"{len(wrong)} of {len(replies)} were not refused as they should: {wrong[:5]}"


def unrecovered(
    replies: Sequence[Reply], paths: Sequence[str], *, back: float, within_seconds: float
) -> Iterator[str]:
    """Worksheets of which nothing read after Google's return was served in time."""
    for path, seconds in recovery_seconds(replies, paths, back=back).items():
        if seconds > within_seconds:
            yield f"{path} was fresh {seconds:.1f} s after Google's return"


def recovery_seconds(
    replies: Sequence[Reply], paths: Sequence[str], *, back: float
) -> Mapping[str, float]:
    """Time from Google's return until each worksheet was served with fresh data."""
    found = dict.fromkeys(paths, float("inf"))
    for reply in replies:
        ended = reply.began + reply.seconds
        is_new = reply.mark is not None and reply.mark.age_seconds <= ended - back
        if reply.is_fresh and is_new and reply.path in found and reply.began >= back:
            found[reply.path] = min(found[reply.path], ended - back)
    return found


def starved(
    refreshes: Mapping[str, int], ages: Mapping[str, int], *, most_seconds: float
) -> Iterator[str]:
    """Worksheets that were refreshed far less than others, or served too old."""
    fewest, most = min(refreshes.values()), max(refreshes.values())
    if fewest < 1 or most > 2 * fewest + 1:
        yield f"some worksheets were read {fewest} times, others {most} times: {dict(refreshes)}"
    oldest = max(ages, key=lambda title: ages[title])
    if ages[oldest] > most_seconds:
        yield f"{oldest} was {ages[oldest]} s old, more than {most_seconds:.0f}"


def percentile(replies: Sequence[Reply], share: float) -> float:
    """The time within which this share of the replies came, in seconds."""
    ordered = sorted(each.seconds for each in replies)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _is_refusal(reply: Reply, seconds: float) -> bool:
    is_told = reply.retry_after.isdigit() and int(reply.retry_after) >= 1
    return (reply.status, reply.code) == (503, 5030) and is_told and (reply.seconds < seconds)


def reported(lines: Sequence[str], problems: Iterable[str]) -> Report:
    """The report of a campaign of readers."""
    return Report(lines=lines, problems=[Problem(kind="reads", detail=each) for each in problems])


def described(name: str, replies: Sequence[Reply]) -> str:
    """Some replies in one line: what they were, how long they took, and how old they were."""
    statuses = Counter(
        f"{each.status}/{each.code}" if each.code else f"{each.status}" for each in replies
    )
    ages = sorted(each.mark.age_seconds for each in replies if each.mark is not None) or [0]
    reasons = Counter(
        each.mark.detail for each in replies if each.mark is not None and each.mark.is_stale
    )
    times = ", ".join(
        f"p{share * 100:g} {percentile(replies, share) * 1000:.0f} ms" for share in (0.5, 0.99, 1)
    )
    return (
        f"{name}: {len(replies)} reads, {dict(statuses)}; {times}; "
        f"age {ages[len(ages) // 2]} s, {ages[-1]} s at most; stale {dict(reasons) or 'never'}"
    )
