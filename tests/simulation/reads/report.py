"""Report of a campaign: figures and problems."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tests.simulation.reads.verdicts import percentile
from tests.simulation.reads.visitor import Reply
from tests.simulation.report import Problem, Report


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
