"""``python -m benchmarks [SUITE …]``: measure and print; no network but loopback."""

import argparse
import resource
import sys
import time
from pathlib import Path

from benchmarks.measure import Results, machine
from benchmarks.suites import SUITES, Options


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"{', '.join(SUITES)}; default: all but coverage")
    parser.add_argument("--quick", action="store_true", help="a few minutes in all: shows that it works")
    parser.add_argument("--rounds", type=int, help="rounds of each measurement (default 3; quick 1)")
    parser.add_argument("--in-flight", default="64,256,1000", help="of throughput (default 64,256,1000)")
    parser.add_argument("--calls", type=int, default=4400, help="of one measurement of throughput (default 4400)")
    parser.add_argument("--clients", default="", help="of throughput, by name; default: all but coverage")
    parser.add_argument("--inspect-python", help="a Python with Inspect AI, to run the same work in it")
    parser.add_argument("--json", type=Path, help="write the results here too")
    given = parser.parse_args()
    if unknown := [name for name in given.suites if name not in SUITES]:
        parser.error(f"no suite {unknown[0]!r}; there are {', '.join(SUITES)}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65_536)), hard))
    options = Options(
        rounds=given.rounds or (1 if given.quick else 3),
        quick=given.quick,
        clients=tuple(filter(None, given.clients.split(","))),
        inspect_python=given.inspect_python,
        calls=given.calls,
        in_flight=tuple(int(n) for n in given.in_flight.split(",")),
    )
    results = Results(targets=not given.quick)
    sys.stdout.write(f"{machine()}\n")
    for name in given.suites or [name for name in SUITES if name != "coverage"]:
        start = time.perf_counter()
        SUITES[name](results, options)
        sys.stdout.write(f"-- {name} took {time.perf_counter() - start:.0f} s\n")
        if given.json:
            results.write(given.json)  # suite by suite, for the next one may fail


if __name__ == "__main__":
    main()
