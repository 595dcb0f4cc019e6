"""Check how the gateway reads displayed dates.  Usage: python -m benchmarks.calendar_readings

The emulator displays random and difficult numbers in each format of tests/table/number_formats.py,
and the gateway parses the displayed text. The table has the cells, wrong results and microseconds
per cell, by kind of format. Each wrong result is printed, and the exit status is then 1. Texts that
cells of another kind display, too (`TWINS`), are counted separately.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from random import Random

from benchmarks.report import print_header, print_row, surroundings
from gateway.table.moments import displayed_moment
from tests.table.number_formats import FORMATS, drawn_number, is_twin

CELLS = 1_600
"""Number of cells for each format."""
TITLES = ("kind", "formats", "cells", "listed", "wrong", "µs a cell")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=CELLS, help="number of cells for each format")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    random = Random(asked.seed)  # noqa: S311 - cases, not secrets
    formats, cells, twins, wrong = (Counter[str]() for _ in range(4))
    seconds: dict[str, float] = defaultdict(float)
    for form in FORMATS:
        numbers = [drawn_number(form.kind, random) for _ in range(asked.cells)]
        displays = list(map(form.display, numbers))
        start = time.process_time()
        moments = list(map(displayed_moment, displays, numbers))
        seconds[form.kind] += time.process_time() - start
        formats[form.kind] += 1
        cells[form.kind] += len(numbers)
        for number, display, moment in zip(numbers, displays, moments, strict=True):
            if moment == form.moment(number):
                continue
            if is_twin(form, number):
                twins[form.kind] += 1
            else:
                wrong[form.kind] += 1
                print(f"{form}: {number!r} as {display!r} is read as {moment}")
    print(surroundings())
    print_header(TITLES)
    for kind in (*formats, "all"):
        counts = [
            sum(each.values()) if kind == "all" else each[kind]
            for each in (formats, cells, twins, wrong)
        ]
        cost = sum(seconds.values()) if kind == "all" else seconds[kind]
        print_row((kind, *(f"{count:,}" for count in counts), f"{cost / counts[1] * 1e6:.1f}"))
    sys.exit(sum(wrong.values()) > 0)


if __name__ == "__main__":
    main()
