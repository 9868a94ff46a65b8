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

import servers  # first: it makes tools/ importable
import cases
import keyed
import pgbench
from pomelo_cluster import host
from rounds import Figures, spread

RESULTS = Path(__file__).resolve().parent / "results"


def main():
    options = parse_options()
    plan = cases.make_plan(options)
    results, failed = [], []
    started = time.monotonic()
    say(f"{machine()}\nSettings of all servers: {', '.join(f'{k}={v}' for k, v in servers.SETTINGS.items())}")
    say(f"\n{'what':<55} {'side':<9} {'plain':>9} {'side':>9}  {'ratio (min .. max)':<22} "
        f"{'CPU':<5}  CPU us a transaction: plain; side")
    for kind in dict.fromkeys(kind for name, (_, kind) in cases.CASES.items() if name in options.only):
        with servers.start(kind, options.base_port, options.baselines) as sides:
            for name in options.only:
                if cases.CASES[name][1] == kind:
                    run_case(name, sides, plan, results, failed)
    write_json(results, options, time.monotonic() - started)
    for name, error in failed:
        say(f"{name} failed: {error}")
    return 1 if failed else 0


def parse_options():
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__.splitlines()[0],
                                     epilog="All lists are separated by commas.")
    parser.add_argument("--quick", action="store_true", help="about two minutes, with wider spreads")
    parser.add_argument("--rounds", type=int, help="rounds of each measurement")
    parser.add_argument("--seconds", type=int, help="seconds of each pgbench run")
    parser.add_argument("--rows", type=int, help=f"rows of the big tables (default {cases.FULL.rows:,})")
    parser.add_argument("--only", type=one_of(cases.CASES), default=tuple(cases.CASES),
                        help=f"groups: {', '.join(cases.CASES)} (default all)")
    parser.add_argument("--case", type=names, default=(), help="transactions within the groups, such as select,tpcb")
    parser.add_argument("--protocol", type=one_of(keyed.PROTOCOLS), default=(), help=", ".join(keyed.PROTOCOLS))
    parser.add_argument("--clients", type=numbers, default=(), help="numbers of clients")
    parser.add_argument("--entry", type=one_of(pgbench.ENTRIES), default=(),
                        help=f"where clients connect: {', '.join(pgbench.ENTRIES)}")
    parser.add_argument("--baselines", type=one_of(servers.BASELINES),
                        help="further sides: fdw (postgres_fdw over hash partitions), hop (the bare libpq hop); "
                             "default all in a full run, none in a quick one")
    parser.add_argument("--base-port", type=int, default=servers.BASE_PORT,
                        help="first of the ports (default %(default)s)")
    options = parser.parse_args()
    if options.baselines is None:
        options.baselines = () if options.quick else servers.BASELINES
    return options


def names(text):
    return tuple(name for name in text.split(",") if name)


def numbers(text):
    return tuple(int(number) for number in names(text))


def one_of(known):
    """An argument that is a list of known names."""
    def parse(text):
        for name in names(text):
            if name not in known:
                raise argparse.ArgumentTypeError(f"no \"{name}\"; there are {', '.join(known)}")
        return names(text)
    return parse


def run_case(name, sides, plan, results, failed):
    """Run one case; an error ends this case, not the others."""
    say(f"{name}: {cases.CASES[name][0].__doc__}")
    try:
        for result in cases.CASES[name][0](sides, plan, say):
            results.append(result)
            if isinstance(result, Figures):
                figures = ", ".join(f"{what} {value:,}" for what, value in result.values.items())
                say(f"  {result.config}: {figures} {result.unit}")
                continue
            for side in result.samples:
                if side != result.baseline:
                    say(line(result, result.baseline, side))
    except Exception as error:  # pylint: disable=broad-except
        failed.append((name, str(error).strip()))
        say(f"  failed: {failed[-1][1]}")


def line(result, plain, ours):
    ratio = spread(result.ratios(ours))
    cpu = spread(result.ratios(ours, "server_cpu"))
    roles = ", ".join(f"{role} {digits(figures['median'])}" for role, figures in result.cpu(ours).items())
    theirs = next(iter(result.cpu(plain).values()))["median"]
    return (f"  {result.config:<53} {ours:<9} {statistics.median(result.rates(plain)):>9,.0f} "
            f"{statistics.median(result.rates(ours)):>9,.0f}  "
            f"{ratio['median']:.3f} ({ratio['min']:.3f} .. {ratio['max']:.3f})   "
            f"{cpu['median'] if cpu else 0:<5.2f}  {digits(theirs)}; {roles}"
            f"{f'; {result.failed(ours)} failed' if result.failed(ours) else ''}")


def digits(value):
    """Three significant digits, or all before the point."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def machine():
    """One line about the machine and the server."""
    model = next((text.split(":", 1)[1].strip() for text in Path("/proc/cpuinfo").read_text().splitlines()
                  if text.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    config = host.pg_config()
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
