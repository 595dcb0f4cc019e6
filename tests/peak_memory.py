"""Peak memory of a process. As a program: runs a module, then prints its peak as the last line.

Usage: python -m tests.peak_memory MODULE ARGUMENT...
"""

import resource
import runpy
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_kib() -> int:
    """Peak memory of this process, in KiB.

    Linux counts it from the start of the program. `ru_maxrss` has the memory of the process that
    forked this one, too.
    """
    if not STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = STATUS.read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])


def main() -> None:
    """Run the module of the command line."""
    del sys.argv[0]
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    finally:
        print(peak_kib(), file=sys.stderr)


if __name__ == "__main__":
    main()
