"""Run schemathesis with many cases on /openapi.json, without a key and for several keys.

Usage: python -m tests.fuzz.document --cases 500
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateway.telemetry.events import configure_logging, reset_logging
from tests.fuzz.exploration import Exploration, Findings, explored
from tests.journeys.conftest import (
    KEYS,
    Api,
    make_keys,
    running_emulator,
    running_gateways,
)
from tests.journeys.workbook import WORKBOOK

TITLES = ("Cities", "Mixed", "A%2FB", "a'!B1:Z9,'x", "x:y!z", "Städte 🏙", "%252F", "Commas")
"""Worksheets by the file names of the seed."""

BOOK: Mapping[str, Mapping[str, str]] = {
    "demo": {title: WORKBOOK["demo"][title] for title in TITLES},
}
SETTINGS: Mapping[str, object] = {
    "cache.rows_ttl_seconds": 600,
    "cache.header_ttl_seconds": 600,
    "cache.max_stale_seconds": 3600,
}
"""Settings with long caching, so that few requests call Google."""

FIXED: Mapping[str, str] = {"path.sheetName": "Cities", "header.X-Spreadsheet-Id": "demo"}
OF_KEYS = ("paid", "free", "read-only", "cities")
FIELDS_UNKNOWN = ("positive_data_acceptance",)
"""Checks that are disabled without a key, because the general document lacks the fields
that most requests need.
"""

LESS_ALLOWED = ("allow_header_conformance",)
"""Checks that are disabled, because OPTIONS without a key answers with the methods of all keys."""


def explore_general(api: Api, **more: Any) -> Findings:
    """Run schemathesis on the general document, with an existing worksheet."""
    document = api.get("/openapi.json", key=None, spreadsheet=None).json()
    return explored(
        Exploration(
            url=api.url,
            key=api.keys["paid"],
            document=document,
            fixed=FIXED,
            checks_left_out=(*FIELDS_UNKNOWN, *LESS_ALLOWED),
            **more,
        )
    )


def explore_of_key(api: Api, name: str, **more: Any) -> Findings:
    """Run schemathesis on the document of a key's worksheets."""
    document = api.get("/openapi.json", key=name).json()
    return explored(
        Exploration(
            url=api.url,
            key=api.keys[name],
            document=document,
            checks_left_out=LESS_ALLOWED,
            **more,
        )
    )


def main() -> int:
    """Print the findings, and return 1 if there was a problem."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.document")
    parser.add_argument("--cases", type=int, default=500, help="made up for each operation")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    more = {"cases": options.cases, "seed": options.seed}
    are_problems = False
    with tempfile.TemporaryDirectory() as name, Path(name, "log").open("w") as log:
        (emulators := Path(name, "emulator")).mkdir()
        (access := Path(name, "access")).mkdir()
        configure_logging(log)
        keys = make_keys(access, KEYS, revoked=["revoked"])
        with running_emulator(emulators, BOOK) as emulator, running_gateways(emulator, keys) as at:
            api = at(SETTINGS)
            for name_of_key in (None, *OF_KEYS):
                if name_of_key is None:
                    findings = explore_general(api, **more)
                else:
                    findings = explore_of_key(api, name_of_key, **more)
                are_problems |= bool(findings.problems)
                said = f"{name_of_key or 'in general'}: {findings}"
                print(said.encode("ascii", "backslashreplace").decode(), flush=True)
        reset_logging()
        faults = [line for line in Path(name, "log").read_text().splitlines() if '"fault"' in line]
        print(f"{len(faults)} faults in the log", *faults[:5], sep="\n")
    return 1 if are_problems or faults else 0


if __name__ == "__main__":
    sys.exit(main())
