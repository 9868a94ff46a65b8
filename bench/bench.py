"""Benchmarks, each against a plain PostgreSQL in the same run. Prints a table, writes JSON.

Run it with `make bench`, or bench/run --quick for two minutes. How to read it: README.md in this folder.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import cases
import servers
from rounds import spread

RESULTS = Path(__file__).resolve().parent / "results"


def main():
    options = parse_options()
    effort = cases.effort(options.quick, options.rounds, options.seconds)
    results, failed = [], []
    started = time.monotonic()
    say(f"{machine()}\nSettings of all servers: {', '.join(f'{k}={v}' for k, v in servers.SETTINGS.items())}")
    say(f"\n{'what':<50} {'side':<9} {'plain':>9} {'side':>9}  {'ratio (min .. max)':<22} {'CPU ratio':<9}")
    for kind in dict.fromkeys(kind for name, (_, kind) in cases.CASES.items() if name in options.only):
        with servers.start(kind, options.base_port, options.fdw and kind == "cluster") as sides:
            for name in options.only:
                if cases.CASES[name][1] == kind:
                    run_case(name, sides, effort, results, failed)
    write_json(results, options, time.monotonic() - started)
    for name, error in failed:
        say(f"{name} failed: {error}")
    return 1 if failed else 0


def parse_options():
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="about two minutes, with wider spreads")
    parser.add_argument("--rounds", type=int, help="rounds of each measurement")
    parser.add_argument("--seconds", type=int, help="seconds of each pgbench run")
    parser.add_argument("--only", default=",".join(cases.CASES),
                        help="cases, separated by commas (default %(default)s)")
    parser.add_argument("--fdw", action="store_true",
                        help="compare with postgres_fdw over hash partitions too (cases on a cluster)")
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT,
                        help="first of the ports (default %(default)s)")
    options = parser.parse_args()
    options.only = options.only.split(",")
    for name in options.only:
        if name not in cases.CASES:
            parser.error(f"no case \"{name}\"; there are {', '.join(cases.CASES)}")
    return options


def run_case(name, sides, effort, results, failed):
    """Run one case; an error ends this case, not the others."""
    say(f"{name}: {cases.CASES[name][0].__doc__}")
    try:
        for result in cases.CASES[name][0](sides, effort, say):
            results.append(result)
            for side in sides[1:]:
                say(line(result, sides[0].name, side.name))
    except Exception as error:  # pylint: disable=broad-except
        failed.append((name, str(error).strip()))
        say(f"  failed: {failed[-1][1]}")


def line(result, plain, ours):
    ratio = spread(result.ratios(ours))
    cpu = spread(result.ratios(ours, "server_cpu"))
    return (f"  {result.config:<48} {ours:<9} {statistics.median(result.rates(plain)):>9,.0f} "
            f"{statistics.median(result.rates(ours)):>9,.0f}  "
            f"{ratio['median']:.3f} ({ratio['min']:.3f} .. {ratio['max']:.3f})   "
            f"{cpu['median'] if cpu else 0:.3f}")


def machine():
    """One line about the machine and the server."""
    model = next((text.split(":", 1)[1].strip() for text in Path("/proc/cpuinfo").read_text().splitlines()
                  if text.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    config = os.environ.get("PG_CONFIG", "/usr/lib/postgresql/15/bin/pg_config")
    version = subprocess.run([config, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{len(os.sched_getaffinity(0))} cores ({model}), {memory:.0f} GiB, {version}"


def write_json(results, options, seconds):
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "latest.json"
    path.write_text(json.dumps({
        "machine": machine(), "settings": servers.SETTINGS, "quick": options.quick, "seconds": round(seconds),
        "results": [result.as_dict() for result in results]}, indent=1) + "\n")
    say(f"\n{seconds:.0f} s; figures with all spreads in {path}")


def say(text):
    print(text, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except servers.ClusterError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
