"""Configuration of all tests: event loop, clock, slow files, reports."""

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

from tests.clock import ManualClock
from tests.postgres import PostgresServer, running_server

# Child processes inherit ignored signals. A test run in the background or under nohup could not
# end them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Hypothesis fails no test because of its duration.
settings.register_profile("gateway", settings.get_profile("default"), deadline=None)
settings.load_profile("gateway")

TESTS = Path(__file__).parent

SLOW: Mapping[str, str] = {
    "access": """
        keys_at_server
    """,
    "benchmarks": """
        instructions
    """,
    "browser": """
        clients_in_browser console_accessibility console_edits console_keys console_overview
        console_pictures docs_operations docs_page forms home_page pages_of_docs recorder site
        typescript_client
    """,
    "clients": """
        deletes
    """,
    "clients/codegen": """
        python typescript
    """,
    "clients/libraries": """
        planted refusing_gateway
    """,
    "clients/typescript": """
        aborting package readme typed types
    """,
    "cluster": """
        garbage_rates garbage_rows gateway key_rates key_rates_processes processes quota
        rolling_upgrade shared_rows shared_rows_outages storm workers write_lock write_lock_outages
        wrong_redis
    """,
    "commands": """
        terminal
    """,
    "contract": """
        open_facts place
    """,
    "docs": """
        all_rows answers dockerfile moving proxies samples shell site
    """,
    "server": """
        deadlines limits parts server
    """,
    "sheets_emulator": """
        any_request crash every_route round_trips
    """,
    "sheets_emulator/edits": """
        merge_requests
    """,
    "sheets_emulator/state": """
        disk store
    """,
    "fuzz": """
        campaign splitting
    """,
    "journeys": """
        calls check_key_file check_spreadsheet clients columns commands conditional
        demo document document_answers edge_floods edge_handover edge_stop edits errors formulas
        full_disk groups hostile_bodies hostile_google idempotency init interleavings key_store_down
        live_keys matrix matrix_cursors metrics open_outcomes parallel postgres
        process rates revocation schemathesis start stopping tenants twins
        upstream_errors wrong_keys
    """,
    "journeys/typed_writes": """
        typed_forms typed_writes
    """,
    "packages": """
        release wheel
    """,
    "query": """
        evaluate_reference one_relation query_cost
    """,
    "simulation": """
        fire fleet kills linear live_paging monotonic overwritten paging reads_freshness
        reads_joining reads_load reads_outage reads_own_writes shared_sheet verbs
    """,
    "storage": """
        damaged_rows database_server key_signals migrations sent_batches session_lock
        write_ledger_room
    """,
    "surfaces": """
        cursors exports header_rows schema
    """,
    "worksheets": """
        write_cost
    """,
}
"""Files that take 5 seconds or more, by folder, as names without `test_` and `.py`.

`./scripts/test` omits these files, and `--all` runs them. `pytest --durations=0` measures all
tests.
"""


@pytest.fixture
def anyio_backend() -> str:
    """Name of the gateway's event loop."""
    return "asyncio"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Run a PostgreSQL server for the tests of this process."""
    with running_server() as server:
        yield server


def slow_files() -> Iterator[Path]:
    """Yield the files of `SLOW`."""
    for folder, names in SLOW.items():
        yield from (TESTS / folder / f"test_{name}.py" for name in names.split())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without garbage collection, which would double the time.

    Modules and tests are then frozen, so that later garbage collections skip them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of slow files before `-m` selects tests. Workers start with slow files."""
    slow = {path: number for number, path in enumerate(slow_files())}
    for item in items:
        if item.path in slow:
            item.add_marker("slow")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: slow.get(item.path, len(slow)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Return the number of workers for `-n auto`, more than cores because tests also wait
    for processes.
    """
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    return _cores() * 3 // 2


def _cores() -> int:
    """Return the number of cores that this process can use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape lone surrogates in captured output, because pytest-xdist sends reports as UTF-8."""
    report = yield
    report.sections = [
        (title, text.encode("utf-8", "backslashreplace").decode())
        for title, text in report.sections
    ]
    return report
