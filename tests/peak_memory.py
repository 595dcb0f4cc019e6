"""Peak memory of a process. As a program, run a module and print its peak in the last line.

Usage: python -m tests.peak_memory MODULE ARGUMENT...
"""

import resource
import runpy
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_kib() -> int:
    """Return the peak memory of this process in KiB.

    Linux counts from the start of the program. `ru_maxrss` would include the process that forked
    this process.
    """
    if not STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = STATUS.read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])


def main() -> None:
    """Run the module named on the command line."""
    del sys.argv[0]
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    finally:
        print(peak_kib(), file=sys.stderr)


if __name__ == "__main__":
    main()
