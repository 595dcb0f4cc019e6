"""Command line of a campaign: its options, the printed report, and the exit status.

A campaign is a dataclass whose fields are the options of one long simulation.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from shutil import rmtree
from typing import Any, TypeVar

from tests.simulation.report import Report

C = TypeVar("C", bound=Any)


def add_options(parser: argparse.ArgumentParser, campaign: Any) -> None:
    """Add an option for each number and boolean of a dataclass, such as `--seconds`."""
    for field in fields(campaign):
        usual = getattr(campaign, field.name)
        option = "--" + field.name.removeprefix("is_").removeprefix("has_").replace("_", "-")
        if isinstance(usual, bool):
            parser.add_argument(
                option, dest=field.name, action=argparse.BooleanOptionalAction, default=usual
            )
        elif isinstance(usual, int | float):
            parser.add_argument(
                option, dest=field.name, type=type(usual), default=usual, help=f"default: {usual}"
            )


def parsed(campaign: C) -> C:
    """Return the campaign with the options of the command line."""
    parser = argparse.ArgumentParser()
    add_options(parser, campaign)
    return with_options(campaign, parser.parse_args())


def with_options(campaign: C, options: argparse.Namespace) -> C:
    """Return a copy of the campaign with the parsed options."""
    changed = {
        field.name: getattr(options, field.name)
        for field in fields(campaign)
        if hasattr(options, field.name)
    }
    return replace(campaign, **changed)


def in_turn(folder: Path, runs: Mapping[int, Callable[[Path], Report]]) -> Report:
    """Run a campaign once per seed, print each report, and return the sum of the reports."""
    total = Report()
    for seed, run in runs.items():
        own = folder / f"{seed}"
        own.mkdir()
        found = run(own)
        total += found
        rmtree(own)
        print(f"Seed {seed}: {found}", flush=True)
    return total


def exit_status(run: Callable[[Path], Report]) -> int:
    """Run a campaign in a temporary directory and print its report. Returns 1 for problems."""
    with tempfile.TemporaryDirectory() as folder:
        report = run(Path(folder))
    print(report)
    return 1 if report.problems else 0
