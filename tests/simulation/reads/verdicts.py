"""Find problems in readers' answers and in the number of calls to Google.

Rules
- Pure: the functions take replies and times of calls, and yield one line per problem.
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
"""Longest time of a call that probes whether Google is back: the deadline of a read."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Condition under which the gateway must notice an outage: `calls` failed in `seconds`.

    `most_calls` allows for calls that are already running, or start before the last one failed.
    """

    calls: int
    seconds: float = 1.0
    most_calls: int = 12
    refusal_seconds: float = AT_ONCE_SECONDS
    """Time from then on within which requests that need Google get an error."""


BREAKER = Opening(calls=5, seconds=2.0)
HANGING = Opening(calls=5, seconds=25.0, most_calls=40)
"""Condition if calls get no answer and fail at the deadline of a read."""
REFUSING = Opening(calls=1, refusal_seconds=11.0)
"""Condition for status 429: one answer is enough; requests can wait for quota first."""


def unserved(replies: Sequence[Reply], share: float = SERVED_SHARE) -> Iterator[str]:
    """Yield a problem if fewer than this share of the reads got 200."""
    others = Counter((each.status, each.code) for each in replies if each.status != 200)
    if others.total() > (1 - share) * len(replies):
        yield f"{others.total()} of {len(replies)} reads were not answered 200: {dict(others)}"


def mismarked(replies: Sequence[Reply], *, gone: float, ttl_seconds: float) -> Iterator[str]:
    """Yield answers during the outage whose headers do not show their true age.

    `gone` is the start of the outage. Later than twice `ttl_seconds` every answer must be marked as
    stale.
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
    """Yield a problem for too many calls before the outage is noticed, or for close calls after."""
    since = noticed(calls, opening)
    before = sum(at <= since for at in calls)
    if before > opening.most_calls:
        yield f"{before} calls before it was noticed that Google is gone"
    apart = [second - first for first, second in pairwise(at for at in calls if at > since)]
    close = [each for each in apart if each < PROBE_SECONDS - ROUNDING_SECONDS]
    if close:
        yield f"{len(close)} of {len(apart)} times calls were close, {min(close):.2f} s at least"


def noticed(calls: Sequence[float], opening: Opening) -> float:
    """Return the latest time at which the gateway must notice the outage; infinity if never."""
    if len(calls) < opening.calls:
        return float("inf")
    return calls[opening.calls - 1] + opening.seconds


def unrefused(
    replies: Sequence[Reply], *, probes: int, seconds: float = AT_ONCE_SECONDS
) -> Iterator[str]:
    """Yield a problem if more than `probes` reads got a wrong answer or waited too long.

    Right answers are an error within `seconds`, or a fresh answer from the cache. `probes` is the
    number of reads that can be slower, because they probe whether Google is back.
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
    """Yield worksheets without a fresh answer within `within_seconds` after Google's return."""
    for path, seconds in recovery_seconds(replies, paths, back=back).items():
        if seconds > within_seconds:
            yield f"{path} was fresh {seconds:.1f} s after Google's return"


def recovery_seconds(
    replies: Sequence[Reply], paths: Sequence[str], *, back: float
) -> Mapping[str, float]:
    """Return the seconds from Google's return to the first fresh answer, by path."""
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
    """Yield worksheets that were refreshed far less than others, or served too old."""
    fewest, most = min(refreshes.values()), max(refreshes.values())
    if fewest < 1 or most > 2 * fewest + 1:
        yield f"some worksheets were read {fewest} times, others {most} times: {dict(refreshes)}"
    oldest = max(ages, key=lambda title: ages[title])
    if ages[oldest] > most_seconds:
        yield f"{oldest} was {ages[oldest]} s old, more than {most_seconds:.0f}"


def percentile(replies: Sequence[Reply], share: float) -> float:
    """Return the seconds within which this share of the replies came."""
    ordered = sorted(each.seconds for each in replies)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _is_refusal(reply: Reply, seconds: float) -> bool:
    is_told = reply.retry_after.isdigit() and int(reply.retry_after) >= 1
    return (reply.status, reply.code) == (503, 5030) and is_told and (reply.seconds < seconds)


def reported(lines: Sequence[str], problems: Iterable[str]) -> Report:
    """Return a report with `lines` as its figures."""
    return Report(lines=lines, problems=[Problem(kind="reads", detail=each) for each in problems])


def described(name: str, replies: Sequence[Reply]) -> str:
    """Return one line about replies: number, response times and ages."""
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
