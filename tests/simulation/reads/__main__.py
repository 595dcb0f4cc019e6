"""Run a campaign of readers.  Usage: python -m tests.simulation.reads polling --seconds 600"""

import argparse
import asyncio
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path

from tests.simulation.command import add_options, exit_status, with_options
from tests.simulation.reads import abuse, aging, outage, polling
from tests.simulation.reads.verdicts import BREAKER, HANGING, REFUSING, Opening
from tests.simulation.report import Report

Campaign = polling.Polling | abuse.Abuse | outage.Outage | aging.Aging

CAMPAIGNS: Mapping[str, Campaign] = {
    "polling": polling.Polling(),
    "abuse": abuse.Abuse(),
    "outage": outage.Outage(),
    "aging": aging.Aging(),
}
OPENINGS: Mapping[str, Opening] = {
    "503": BREAKER,
    "drop": BREAKER,
    "hole": HANGING,
    "429": REFUSING,
}
"""Conditions under which the gateway notices an outage, by its first kind of failure."""


def main() -> int:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="journey", required=True)
    for name, usual in CAMPAIGNS.items():
        command = commands.add_parser(name)
        add_options(command, usual)
        if isinstance(usual, outage.Outage):
            known = ", ".join(outage.FAULTS)
            command.add_argument("--phases", default=",".join(usual.phases), help=known)
    options = parser.parse_args()
    if options.journey == "outage":
        options.phases = options.phases.split(",")
    campaign = with_options(CAMPAIGNS[options.journey], options)
    return exit_status(lambda folder: asyncio.run(_run(folder, campaign)))


def _run(folder: Path, campaign: Campaign) -> Coroutine[None, None, Report]:
    match campaign:
        case polling.Polling():
            return polling.run(folder, campaign)
        case abuse.Abuse():
            return abuse.run(folder, campaign)
        case aging.Aging():
            return aging.run(folder, campaign)
    return outage.run(folder, replace(campaign, opening=OPENINGS[campaign.phases[0]]))


if __name__ == "__main__":
    sys.exit(main())
