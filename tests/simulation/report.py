"""Report of a campaign: figures and problems."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_SHOWN = 30


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A violated guarantee: its kind (lost, doubled, misplaced, ...) and the evidence."""

    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


@dataclass(frozen=True, kw_only=True)
class Report:
    """Results of one campaign, or the sum of several."""

    title: str = ""
    lines: Sequence[str] = ()
    outcomes: Counter[str] = field(default_factory=Counter)
    """Number of operations by kind and answer."""
    figures: Counter[str] = field(default_factory=Counter)
    problems: Sequence[Problem] = ()
    chronicles: Sequence[str] = ()
    """Event logs of some writes that failed the check."""
    seconds: float = 0.0

    @property
    def kinds(self) -> set[str]:
        return {problem.kind for problem in self.problems}

    def __add__(self, other: "Report") -> "Report":
        figures = Counter(self.figures)
        figures.update(other.figures)
        return Report(
            title=other.title or self.title,
            lines=[*self.lines, *other.lines],
            outcomes=self.outcomes + other.outcomes,
            figures=figures,
            problems=[*self.problems, *other.problems],
            chronicles=[*self.chronicles, *other.chronicles],
            seconds=self.seconds + other.seconds,
        )

    def __str__(self) -> str:
        sorts = Counter(problem.kind for problem in self.problems)
        shown: dict[str, int] = defaultdict(int)
        lines = [
            *([f"{self.title}{self.seconds:.0f} s"] if self.seconds else []),
            *self.lines,
            *(f"  {name}: {number}" for name, number in sorted(self.outcomes.items())),
            *(f"{name}: {number}" for name, number in self.figures.items()),
            f"problems: {dict(sorts) or 'none'}",
        ]
        for each in self.problems:
            shown[each.kind] += 1
            if shown[each.kind] * len(sorts) <= MOST_SHOWN:
                lines.append(f"  {each}")
        return "\n".join([*lines, *self.chronicles])
